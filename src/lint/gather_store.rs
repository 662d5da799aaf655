//! The store, read for lint: opened for reading only, so that not even a repair is written, and
//! every row looked at once. A second look reads only what rules compare with the tree.

use super::marks::StoredMarks;
use super::reading::printable;
use super::store_facts::{StoreContents, StoreState, StoredPage};
use crate::context::Context;
use crate::error::{Error, ErrorCode};
use crate::id::{ContentHash, SourceId};
use crate::search::Analysis;
use crate::store::index::{IndexSet, check};
use crate::store::{
    Access, AnyRow, Nature, Opened, SeenRow, Store, StoreError, StoreOptions, View, mark,
    verify_seeing,
};
use crate::tree::{Kind, RelPath, STORE_FILE, Tree, TreeError};

/// Memory for pages of the store: each is read once, so few need to be kept.
const CACHE_BYTES: usize = 8 << 20;

/// The store, open as long as lint needs it, or why it is not.
pub(crate) enum StoreSide {
    Open(Box<Store>),
    Closed(StoreState),
}

impl StoreSide {
    /// Opens the store of a tree. A `.store` that is no directory holds none.
    pub(crate) fn open(tree: &Tree, options: &StoreOptions) -> Self {
        let directory = RelPath::new(".store").and_then(|rel| tree.stat(&rel));
        match directory {
            Ok(Some(stamp)) if stamp.kind == Kind::Directory => {}
            Ok(_) => return Self::Closed(StoreState::Absent),
            Err(error) => return Self::Closed(failed(error.into())),
        }
        let options = StoreOptions {
            cache_bytes: Some(options.cache_bytes.unwrap_or(CACHE_BYTES).min(CACHE_BYTES)),
            ..options.clone()
        };
        match Store::open(tree, STORE_FILE, Access::ReadOnly, &options) {
            Ok(Opened::Ready(store)) => Self::Open(Box::new(store)),
            Ok(Opened::Absent) => Self::Closed(StoreState::Absent),
            Ok(Opened::NeedsRepair) => Self::Closed(StoreState::NeedsRepair),
            Ok(Opened::Damaged(what)) => Self::Closed(StoreState::Damaged(what)),
            Ok(Opened::TooNew(schema)) => Self::Closed(StoreState::TooNew(too_new(schema))),
            Err(error) => Self::Closed(failed(error)),
        }
    }

    /// How it cuts pages into sections; none where another version of this program did it.
    pub(crate) fn analysis(&self) -> Option<Analysis> {
        match self {
            Self::Open(store) => {
                let label = store.meta_now().ok()?.analysis;
                let mut known = Analysis::ALL.iter().copied();
                known.find(|analysis| analysis.label() == label)
            }
            Self::Closed(_) => None,
        }
    }

    /// Reads all of it. What the file itself says is never an error.
    ///
    /// # Errors
    /// `ABORTED`.
    pub(crate) fn read(&self, ctx: &Context) -> Result<StoreState, Error> {
        let store = match self {
            Self::Open(store) => store,
            Self::Closed(state) => return Ok(state.clone()),
        };
        let read = match store.read() {
            Ok(snapshot) => read_contents(&snapshot, ctx),
            Err(error) => return Ok(failed(error)),
        };
        match read {
            Ok(contents) => Ok(StoreState::Read(Box::new(contents))),
            Err(error) if error.code() == ErrorCode::Aborted => Err(error),
            Err(error) => Ok(StoreState::Damaged(error.message().to_owned())),
        }
    }

    /// Looks whether anything was committed since `before` was read, and brings what rules compare
    /// with the tree up to date. Answers whether there was. `None` where it is no longer the same
    /// store, which must be opened anew.
    pub(crate) fn refresh(&self, before: &mut StoreState) -> Option<bool> {
        let (Self::Open(store), StoreState::Read(contents)) = (self, before) else {
            return None;
        };
        let snapshot = store.read().ok()?;
        if snapshot.meta().commits == contents.commits {
            return Some(false);
        }
        contents.refresh(&snapshot);
        Some(true)
    }
}

fn too_new(schema: u32) -> String {
    format!("was written by a newer version, with schema {schema}")
}

/// What a store that cannot be read means.
fn failed(error: StoreError) -> StoreState {
    match error {
        StoreError::Damaged { what } => StoreState::Damaged(what),
        StoreError::NeedsRepair => StoreState::NeedsRepair,
        StoreError::TooNew { found, .. } => StoreState::TooNew(too_new(found)),
        StoreError::TooOld { found, .. } => {
            StoreState::TooOld(format!("has the older schema {found}"))
        }
        StoreError::Tree(TreeError::NotRegular { kind, .. }) => StoreState::NotFile(kind),
        StoreError::Tree(TreeError::Symlink { .. }) => StoreState::NotFile(Kind::Symlink),
        StoreError::Denied { .. } | StoreError::Tree(TreeError::Denied { .. }) => {
            StoreState::Unreadable("permission denied".to_owned())
        }
        other => StoreState::Unreadable(other.to_string()),
    }
}

fn read_contents(view: &View, ctx: &Context) -> Result<StoreContents, Error> {
    let mut contents = StoreContents {
        commits: view.meta().commits,
        ..StoreContents::default()
    };
    // Rows that cannot be read are faults; the rest is taken as it passes by.
    let mut last = 0;
    let faults =
        verify_seeing(view, false, ctx, &mut |seen| contents.take(seen, &mut last))?.faults;
    for fault in faults {
        let faults = match fault.nature {
            Nature::Durable => &mut contents.durable_faults,
            Nature::Local | Nature::Derived => &mut contents.derived_faults,
        };
        faults.push(format!("{}: {}", fault.table, fault.what));
    }
    for set in [IndexSet::Pages, IndexSet::Code] {
        match check(view, set) {
            Ok(found) => contents.derived_faults.extend(found.problems),
            Err(error) => contents.derived_faults.push(error.to_string()),
        }
    }
    contents.skipped.sort_unstable();
    Ok(contents)
}

impl StoreContents {
    /// Keeps what rules ask for of a row. `last` is the place of the page that was asked for last.
    fn take(&mut self, seen: SeenRow<'_>, last: &mut usize) {
        match seen.row {
            AnyRow::Page(page) => {
                // One whose key is no text is a fault already.
                if let Ok(id) = std::str::from_utf8(seen.key) {
                    self.pages.push(StoredPage {
                        id: id.to_owned(),
                        sha256: page.sha256,
                        marks: StoredMarks::of(&page),
                    });
                }
            }
            AnyRow::Source(source) => {
                if let Ok(id) = <[u8; 32]>::try_from(seen.key) {
                    let id = SourceId::from_hash(ContentHash::from_bytes(id));
                    self.sources.push((id, source));
                }
            }
            AnyRow::Intent(intent) => self.intents.push((printable(seen.key), intent)),
            AnyRow::Skipped(_) => self.skipped.push(printable(seen.key)),
            AnyRow::Links(_) => {
                if let Some(marks) = self.marks(seen.key.get(1..), last) {
                    marks.links = Some(mark(seen.value));
                }
            }
            AnyRow::Citations(_) => {
                if let Some(marks) = self.marks(seen.key.get(1..), last) {
                    marks.citations = Some(mark(seen.value));
                }
            }
            AnyRow::Names(_) => {
                if let Some(marks) = self.marks(seen.key.get(1..), last) {
                    marks.names = Some(mark(seen.value));
                }
            }
            AnyRow::Section(section) => {
                if let Some(marks) = self.marks(Some(section.page.as_bytes()), last) {
                    marks.add(&section);
                }
            }
            _ => {}
        }
    }

    /// The marks of a page. Rows come mostly in the order of pages, so the one asked for last and
    /// the one behind it are looked at first.
    fn marks(&mut self, id: Option<&[u8]>, last: &mut usize) -> Option<&mut StoredMarks> {
        let id = id?;
        let is = |at: usize| {
            self.pages
                .get(at)
                .is_some_and(|page| page.id.as_bytes() == id)
        };
        if !is(*last) {
            *last = if is(*last + 1) {
                *last + 1
            } else {
                self.pages
                    .binary_search_by(|page| page.id.as_bytes().cmp(id))
                    .ok()?
            };
        }
        self.pages.get_mut(*last).map(|page| &mut page.marks)
    }

    /// Reads anew what is compared with the tree. What is wrong with rows is left as it was found,
    /// and so is what is recorded of pages that still have the same text.
    fn refresh(&mut self, view: &View) {
        let before = std::mem::take(self);
        self.commits = view.meta().commits;
        self.pages = view
            .pages("", None)
            .filter_map(Result::ok)
            .map(|(id, record)| {
                let known = before.stored_page(id.as_str());
                let known = known.filter(|known| known.sha256 == record.sha256);
                StoredPage {
                    id: id.as_str().to_owned(),
                    sha256: record.sha256,
                    marks: known.map(|known| known.marks).unwrap_or_default(),
                }
            })
            .collect();
        self.sources = view.sources(None).filter_map(Result::ok).collect();
        self.intents = view
            .intents()
            .filter_map(Result::ok)
            .map(|(path, intent)| (printable(&path), intent))
            .collect();
        self.skipped = view
            .skipped()
            .filter_map(Result::ok)
            .map(|(path, _)| printable(&path))
            .collect();
        self.skipped.sort_unstable();
        self.durable_faults = before.durable_faults;
        self.derived_faults = before.derived_faults;
    }
}
