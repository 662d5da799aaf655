//! What lint knows about the store: whether it is there, whether it can be read, and where it
//! differs from itself and from the tree. Plain values, as `facts`.

use super::facts::DirectoryFacts;

/// Where the store lies, as reports name it.
pub(crate) const STORE_PATH: &str = ".store/wiki.redb";

/// The store, as far as it could be opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum StoreState {
    /// There is none.
    #[default]
    Absent,
    /// A writer was killed and nobody has mended the file yet; it was not read.
    NeedsRepair,
    /// It cannot be read; the reason.
    Damaged(String),
    /// It was written by a newer version; the reason.
    TooNew(String),
    /// It was read.
    Read(Box<StoreContents>),
}

/// What reading the store whole gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StoreContents {
    /// Where the pages and sources of the tree are not those of the store.
    pub(crate) differences: Differences,
}

/// Paths that the tree and the store see differently, in path order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Differences {
    /// In the tree alone.
    pub(crate) added: Vec<String>,
    /// In both, with other bytes.
    pub(crate) changed: Vec<String>,
    /// In the store alone.
    pub(crate) removed: Vec<String>,
}

/// `.store` and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoreFacts {
    /// `.store` itself.
    pub(crate) directory: DirectoryFacts,
    /// The store.
    pub(crate) state: StoreState,
}

impl Default for StoreFacts {
    fn default() -> Self {
        Self {
            directory: DirectoryFacts::Missing,
            state: StoreState::Absent,
        }
    }
}

impl StoreFacts {
    /// Whether there is a store, sound or not.
    pub(crate) fn is_present(&self) -> bool {
        self.state != StoreState::Absent
    }

    /// How the store differs from the tree, if it does.
    pub(crate) fn stale(&self) -> Option<String> {
        let StoreState::Read(contents) = &self.state else {
            return None;
        };
        contents.differences.describe()
    }

    /// Why the store cannot be read, if it cannot.
    pub(crate) fn damage(&self) -> Option<String> {
        match &self.state {
            StoreState::Damaged(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Why this version cannot read the store, if it is too new.
    pub(crate) fn incompatibility(&self) -> Option<String> {
        match &self.state {
            StoreState::TooNew(reason) => Some(reason.clone()),
            _ => None,
        }
    }
}

impl Differences {
    /// One line that names counts and the first few paths; none where nothing differs.
    fn describe(&self) -> Option<String> {
        const SHOWN: usize = 3;
        let mut parts = Vec::new();
        for (paths, word) in [
            (&self.added, "not indexed"),
            (&self.changed, "changed"),
            (&self.removed, "removed"),
        ] {
            if paths.is_empty() {
                continue;
            }
            let mut names = paths
                .iter()
                .take(SHOWN)
                .cloned()
                .collect::<Vec<_>>()
                .join(", ");
            if paths.len() > SHOWN {
                names.push_str(", ...");
            }
            parts.push(format!("{} {word} ({names})", paths.len()));
        }
        (!parts.is_empty()).then(|| format!("since the last command: {}", parts.join("; ")))
    }
}
