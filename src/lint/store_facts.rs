//! What lint knows about the store: whether it is there, whether it can be read, and where it
//! differs from itself and from the tree. Plain values, as `facts`.

use std::collections::BTreeSet;

use super::facts::{DirectoryFacts, Facts, MetadataFacts, PageFile};
use super::marks::StoredMarks;
use crate::id::{ContentHash, PageId, SourceId};
use crate::store::{IntentOp, IntentRecord, SourceRecord};
use crate::tree::Kind;

/// Where the store lies, as reports name it.
pub(crate) const STORE_PATH: &str = ".store/wiki.redb";

/// The store, as far as it could be opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum StoreState {
    /// There is none.
    #[default]
    Absent,
    /// Something else than a regular file stands there.
    NotFile(Kind),
    /// It cannot be opened for a reason that is not in the file; the reason.
    Unreadable(String),
    /// A writer was killed and nobody has mended the file yet; it was not read.
    NeedsRepair,
    /// The file as a whole cannot be read; the reason.
    Damaged(String),
    /// It was written by a newer version; the reason.
    TooNew(String),
    /// It was written by an older version, and the next write brings it up to date.
    TooOld(String),
    /// It was read.
    Read(Box<StoreContents>),
}

/// What reading the store gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StoreContents {
    /// What is wrong with rows that cannot be made again, in table order.
    pub(crate) durable_faults: Vec<String>,
    /// What is wrong with rows that can, in table order.
    pub(crate) derived_faults: Vec<String>,
    /// How many commits made this state.
    pub(crate) commits: u64,
    /// Pages by id, in byte order.
    pub(crate) pages: Vec<StoredPage>,
    /// Sources by id.
    pub(crate) sources: Vec<(SourceId, SourceRecord)>,
    /// What commits may still owe the tree, by path.
    pub(crate) intents: Vec<(String, IntentRecord)>,
    /// Files that are known to be kept out, sorted.
    pub(crate) skipped: Vec<String>,
}

/// A page as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredPage {
    /// Its id.
    pub(crate) id: String,
    /// The hash of the text that is indexed.
    pub(crate) sha256: ContentHash,
    /// What is recorded of it beside the text; nothing where that was not looked at.
    pub(crate) marks: StoredMarks,
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

impl StoreFacts {
    /// Whether there is a store, sound or not.
    pub(crate) fn is_present(&self) -> bool {
        self.state != StoreState::Absent
    }

    /// What was read, if it could be.
    pub(crate) fn contents(&self) -> Option<&StoreContents> {
        match &self.state {
            StoreState::Read(contents) => Some(contents),
            _ => None,
        }
    }
}

impl Facts {
    /// Where the pages and sources of the tree are not those of the store: what the next command
    /// takes in. A `pages` or `sources` that is gone as a whole is no such difference but a loss,
    /// and what a commit still owes the tree is none either.
    pub(crate) fn differences(&self) -> Differences {
        let mut differences = Differences::default();
        let Some(contents) = self.store.contents() else {
            return differences;
        };
        if self.pages_directory == DirectoryFacts::Directory {
            self.page_differences(contents, &mut differences);
        }
        if self.sources_directory == DirectoryFacts::Directory {
            for source in &self.sources {
                if let Some(id) = source.id()
                    && source.is_sound()
                    && contents
                        .sources
                        .binary_search_by_key(&id, |(id, _)| *id)
                        .is_err()
                {
                    differences.added.push(source.path.clone());
                }
            }
        }
        differences
    }

    fn page_differences(&self, contents: &StoreContents, differences: &mut Differences) {
        let owed: BTreeSet<&str> = self.owed().map(|(path, _)| path).collect();
        let is_owed = |path: &str| owed.contains(path);
        for page in &self.pages {
            let Some((id, text)) = page.page() else {
                continue;
            };
            if is_owed(&page.path) {
                continue;
            }
            match contents.page(id.as_str()) {
                None => differences.added.push(page.path.clone()),
                Some(hash) if hash != text.hash => differences.changed.push(page.path.clone()),
                Some(_) => {}
            }
        }
        for stored in &contents.pages {
            let path = format!("pages/{}.md", stored.id);
            let here = self
                .pages
                .binary_search_by(|page| page.path.as_str().cmp(&path))
                .ok();
            if is_owed(&path) {
                continue;
            }
            match here.map(|at| &self.pages[at].file) {
                None => differences.removed.push(path),
                // It became unreadable as a page. Unless that is known, it is news.
                Some(file) if !matches!(file, PageFile::Page(_)) => {
                    if contents.skipped.binary_search(&path).is_err() {
                        differences.changed.push(path);
                    }
                }
                Some(_) => {}
            }
        }
        differences.changed.sort_unstable();
    }

    /// What commits still owe the tree: path, and what in words. What was done, and where a
    /// person's edit came after it and wins, is not among it: an intent stays in the store until
    /// the next commit.
    pub(crate) fn owed(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let intents = self
            .store
            .contents()
            .map(|contents| contents.intents.iter());
        intents
            .into_iter()
            .flatten()
            .filter_map(|(path, intent)| Some((path.as_str(), self.owes(path, intent)?)))
    }

    /// As the engine decides it when it carries intents out.
    fn owes(&self, path: &str, intent: &IntentRecord) -> Option<&'static str> {
        let here = self
            .pages
            .binary_search_by(|page| page.path.as_str().cmp(path))
            .ok()
            .map(|at| &self.pages[at]);
        let Some(here) = here else {
            // A new page has no old file by which to tell. Its new one went into place, and a
            // person took it away since, if it no longer waits.
            let waits = || {
                self.staged
                    .iter()
                    .any(|staged| staged.name == intent.staged)
            };
            return (intent.op == IntentOp::Put && intent.old.is_none() && waits())
                .then_some("is committed but not written");
        };
        let is_untouched = here.stamp.is_some_and(|stamp| {
            here.hash() == intent.old
                && stamp.inode == intent.old_inode
                && stamp.mtime_ns == intent.old_mtime_ns
                && stamp.size == intent.old_size
        });
        match intent.op {
            _ if !is_untouched => None,
            IntentOp::Put => (intent.old != intent.new)
                .then_some("has a newer version that is committed but not written"),
            IntentOp::Delete => Some("was deleted by a commit but is still here"),
        }
    }

    /// Pages of which the store says something else than their text, where it holds that very text:
    /// whether title, summary or declared sources differ, and which derived records do.
    pub(crate) fn contradictions(
        &self,
    ) -> impl Iterator<Item = (&PageId, bool, Vec<&'static str>)> {
        let pages = self.store.contents().map(|_| self.pages.iter());
        pages.into_iter().flatten().filter_map(|page| {
            let (id, text) = page.page()?;
            let marks = text.marks.as_ref()?;
            let stored = self.store.contents()?.stored_page(id.as_str())?;
            if stored.sha256 != text.hash {
                return None;
            }
            let heading = stored
                .marks
                .heading
                .is_some_and(|held| held != marks.heading);
            let derived = stored.marks.differing(marks);
            (heading || !derived.is_empty()).then_some((id, heading, derived))
        })
    }

    /// Whether the tree and the store disagree in a way in which they do for a moment whenever
    /// something is written.
    pub(crate) fn may_be_in_flight(&self) -> bool {
        let (missing, other) = self.source_differences();
        self.index.stale.is_some()
            || !missing.is_empty()
            || !other.is_empty()
            || !self.differences().is_empty()
            || self.owed().next().is_some()
    }

    /// Sources that the store has and the tree lacks, unless all are gone, and sources whose
    /// record says something else in the tree: path, and which keys differ.
    pub(crate) fn source_differences(&self) -> (Vec<SourceId>, Vec<(String, Vec<&'static str>)>) {
        let (mut missing, mut other) = (Vec::new(), Vec::new());
        let Some(contents) = self.store.contents() else {
            return (missing, other);
        };
        if self.sources_directory != DirectoryFacts::Directory {
            return (missing, other);
        }
        for (id, record) in &contents.sources {
            let Some(source) = self.source(*id) else {
                missing.push(*id);
                continue;
            };
            let MetadataFacts::Read(examined) = &source.metadata else {
                continue;
            };
            let Ok(here) = &examined.record else { continue };
            let keys: Vec<&'static str> = [
                ("name", here.name != record.name),
                ("mediaType", here.media_type != record.media_type),
                ("capturedAt", here.captured_at != record.captured_at),
                ("origin", here.origin != record.origin),
            ]
            .into_iter()
            .filter_map(|(key, differs)| differs.then_some(key))
            .collect();
            if !keys.is_empty() {
                other.push((format!("{}/metadata.json", source.path), keys));
            }
        }
        (missing, other)
    }
}

impl StoreContents {
    /// The hash of the text of a page that is indexed.
    pub(crate) fn page(&self, id: &str) -> Option<ContentHash> {
        self.stored_page(id).map(|page| page.sha256)
    }

    /// A page that is indexed.
    pub(crate) fn stored_page(&self, id: &str) -> Option<&StoredPage> {
        let at = self
            .pages
            .binary_search_by(|known| known.id.as_str().cmp(id))
            .ok()?;
        self.pages.get(at)
    }
}

impl Differences {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    /// Counts and the first few paths.
    pub(crate) fn describe(&self) -> String {
        const SHOWN: usize = 3;
        let mut parts = Vec::new();
        for (paths, word) in [
            (&self.added, "added"),
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
        format!("since the last command: {}", parts.join("; "))
    }
}
