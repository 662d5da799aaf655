//! What lint knows about a wiki: plain values, gathered once, on which every rule works. Nothing
//! here refers to a file that is still to be read. Paths are relative to the root, with `/`;
//! bytes that are not UTF-8 are escaped as `\xNN`.

use super::graph::LinkFact;
use super::marks::PageMarks;
use super::store_facts::StoreFacts;
use crate::id::{ContentHash, PageId, SourceId};
use crate::page::Citation;
use crate::source::{ExaminedMetadata, SourceEvent};
use crate::tree::{Kind, Stamp};

/// The root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootFacts {
    /// Nothing is there.
    Missing,
    /// Something else than a directory.
    NotDirectory,
    /// A symbolic link.
    Symlink,
    /// A directory. What it holds is in the other facts.
    Directory,
}

/// An entry that may be a fault wherever it stands: a symbolic link, or anything but a directory
/// whose name starts with a dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryFacts {
    /// Where it stands.
    pub(crate) path: String,
    /// What it is.
    pub(crate) kind: Kind,
}

impl EntryFacts {
    /// The last component of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// `schema.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SchemaFacts {
    /// Nothing is there.
    Missing,
    /// Something else than a regular file.
    NotFile(Kind),
    /// It cannot be read; the reason.
    Unreadable(String),
    /// Valid UTF-8.
    Text,
    /// The first byte that is not UTF-8, counted from 0.
    NotUtf8 {
        /// Where the fault is.
        at: usize,
    },
}

/// Name of an entry of `sources/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SourceName {
    /// 64 lower-case hexadecimal digits.
    Id(SourceId),
    /// Anything else, as printed.
    Invalid(String),
}

/// `content` of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ContentFacts {
    /// Nothing is there.
    Missing,
    /// Something else than a regular file.
    NotFile(Kind),
    /// It cannot be read; the reason.
    Unreadable(String),
    /// It was read to the end.
    Read {
        /// SHA-256 of the bytes.
        hash: ContentHash,
        /// How many bytes there are.
        byte_count: u64,
        /// How many lines: line feeds, and one more if the last line has none.
        line_count: u64,
    },
}

/// `metadata.json` of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MetadataFacts {
    /// Nothing is there.
    Missing,
    /// Something else than a regular file.
    NotFile(Kind),
    /// It cannot be read; the reason.
    Unreadable(String),
    /// It was read; what it says.
    Read(ExaminedMetadata),
}

/// `events.jsonl` of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventsFacts {
    /// Nothing is there, as is usual.
    Missing,
    /// Something else than a regular file.
    NotFile(Kind),
    /// It cannot be read; the reason.
    Unreadable(String),
    /// It was read.
    Read {
        /// What happened to the source since it was captured, as far as it can be read.
        events: Vec<SourceEvent>,
        /// Lines that cannot be read, from 1.
        bad_lines: Vec<u64>,
    },
}

/// One entry of `sources/`. Symbolic links are not among them: `UNSAFE_SYMLINK` has those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFacts {
    /// `sources/<name>`.
    pub(crate) path: String,
    /// Its name.
    pub(crate) name: SourceName,
    /// What it is; content and metadata are only looked at in a directory.
    pub(crate) kind: Kind,
    /// Its bytes.
    pub(crate) content: ContentFacts,
    /// What is recorded about them.
    pub(crate) metadata: MetadataFacts,
    /// What happened to it since.
    pub(crate) events: EventsFacts,
}

impl SourceFacts {
    /// The id, if the entry is a directory with the name of one.
    pub(crate) fn id(&self) -> Option<SourceId> {
        match self.name {
            SourceName::Id(id) if self.kind == Kind::Directory => Some(id),
            _ => None,
        }
    }

    /// Whether a page may cite it: bytes with the right hash, and a record that fits them.
    /// Unknown keys in the record are a fault of their own and do not spoil the evidence.
    pub(crate) fn is_sound(&self) -> bool {
        let Some(id) = self.id() else { return false };
        match (&self.content, &self.metadata) {
            (
                ContentFacts::Read {
                    hash, byte_count, ..
                },
                MetadataFacts::Read(examined),
            ) => {
                *hash == id.hash()
                    && examined
                        .record
                        .as_ref()
                        .is_ok_and(|record| record.id == id && record.byte_count == *byte_count)
            }
            _ => false,
        }
    }

    /// What happened to it since, as far as it can be read.
    pub(crate) fn events(&self) -> &[SourceEvent] {
        match &self.events {
            EventsFacts::Read { events, .. } => events,
            _ => &[],
        }
    }

    /// How many lines the content has, when it was read.
    pub(crate) fn line_count(&self) -> Option<u64> {
        match self.content {
            ContentFacts::Read { line_count, .. } => Some(line_count),
            _ => None,
        }
    }
}

/// Name of an entry below `pages/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageName {
    /// A page id followed by `.md`.
    Id(PageId),
    /// Anything else; why it names no page.
    Invalid(String),
}

/// What a page file says.
#[derive(Debug, Clone)]
pub(crate) struct PageText {
    /// SHA-256 of the file's bytes.
    pub(crate) hash: ContentHash,
    /// Title.
    pub(crate) title: String,
    /// What titles are compared by.
    pub(crate) folded_title: String,
    /// Sources of the frontmatter, sorted.
    pub(crate) sources: Vec<SourceId>,
    /// Links to pages, with what each leads to once all pages are known.
    pub(crate) links: Vec<LinkFact>,
    /// Citations of source lines in the body.
    pub(crate) citations: Vec<Citation>,
    /// Anchors of the headings, sorted, as GitHub makes them; empty unless asked for.
    pub(crate) anchors: Vec<String>,
    /// What a store must hold of it; none where there is no store.
    pub(crate) marks: Option<PageMarks>,
}

/// The file of a page.
#[derive(Debug, Clone)]
pub(crate) enum PageFile {
    /// It was not looked at, because its name is no page's.
    NotRead,
    /// Something else than a regular file.
    NotFile(Kind),
    /// It cannot be read; the reason.
    Unreadable(String),
    /// It breaks the page grammar.
    Invalid {
        /// SHA-256 of the file's bytes.
        hash: ContentHash,
        /// The cause.
        cause: String,
        /// Line of the fault, from 1.
        line: Option<u32>,
    },
    /// It is a page.
    Page(Box<PageText>),
}

/// One entry below `pages/` that is neither directory nor symbolic link.
#[derive(Debug, Clone)]
pub(crate) struct PageFacts {
    /// `pages/...`.
    pub(crate) path: String,
    /// Its name.
    pub(crate) name: PageName,
    /// Its file.
    pub(crate) file: PageFile,
    /// What `stat` said of the file that was read.
    pub(crate) stamp: Option<Stamp>,
}

/// Something that lies where writes wait to be whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StagedFacts {
    /// Its name in `.store/tmp`.
    pub(crate) name: String,
    /// Whether it came out of the tree instead of being on its way in.
    pub(crate) was_taken_out: bool,
    /// Whether no write that still goes on can have made it.
    pub(crate) is_old: bool,
}

impl PageFacts {
    /// SHA-256 of the file's bytes, if it was read.
    pub(crate) fn hash(&self) -> Option<ContentHash> {
        match &self.file {
            PageFile::Page(text) => Some(text.hash),
            PageFile::Invalid { hash, .. } => Some(*hash),
            PageFile::NotRead | PageFile::NotFile(_) | PageFile::Unreadable(_) => None,
        }
    }

    /// Whether two facts tell the same of a file, as far as that depends on the file alone.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        use PageFile::{Invalid, NotFile, NotRead, Page, Unreadable};
        let place = |page: &Self| {
            let stamp = page.stamp.as_ref();
            stamp.map(|stamp| (stamp.inode, stamp.mtime_ns, stamp.size))
        };
        self.path == other.path
            && place(self) == place(other)
            && match (&self.file, &other.file) {
                (NotRead, NotRead) => true,
                (NotFile(one), NotFile(two)) => one == two,
                (Unreadable(one), Unreadable(two)) => one == two,
                (Page(_), Page(_)) | (Invalid { .. }, Invalid { .. }) => {
                    self.hash() == other.hash()
                }
                _ => false,
            }
    }

    /// Id and text, if this is a sound page.
    pub(crate) fn page(&self) -> Option<(&PageId, &PageText)> {
        match (&self.name, &self.file) {
            (PageName::Id(id), PageFile::Page(text)) => Some((id, text)),
            _ => None,
        }
    }
}

/// Something that must be a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DirectoryFacts {
    /// Nothing is there.
    Missing,
    /// Something else.
    NotDirectory(Kind),
    /// A directory that we may not read.
    Unreadable,
    /// A directory.
    Directory,
}

/// One file of the `.index` that format version 1 wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexFile {
    /// Nothing is there.
    Missing,
    /// Something else than a regular file.
    NotFile(Kind),
    /// It cannot be read; the reason.
    Unreadable(String),
    /// It was not looked at, because its partner is missing or not a file.
    NotRead,
    /// It breaks the format; the reason.
    Malformed(String),
    /// It says another format version.
    Incompatible(String),
    /// It fits the format.
    Sound,
}

/// `.index` as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexFacts {
    /// `.index` itself.
    pub(crate) directory: DirectoryFacts,
    /// `.index/search.json`.
    pub(crate) search: IndexFile,
    /// `.index/state.json`.
    pub(crate) state: IndexFile,
    /// Why two sound files do not describe the pages of the tree; none if they do.
    pub(crate) stale: Option<String>,
}

/// Everything lint knows.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// The root itself; unless it is a directory, the rest is empty.
    pub(crate) root: RootFacts,
    /// Entries that may be faults wherever they stand, in path order.
    pub(crate) entries: Vec<EntryFacts>,
    /// `schema.md`.
    pub(crate) schema: SchemaFacts,
    /// What is wrong with `config.toml`: the line and the cause.
    pub(crate) config_fault: Option<(Option<u32>, String)>,
    /// `sources`.
    pub(crate) sources_directory: DirectoryFacts,
    /// `pages`.
    pub(crate) pages_directory: DirectoryFacts,
    /// Entries of `sources/`, by name.
    pub(crate) sources: Vec<SourceFacts>,
    /// Entries below `pages/`, in path order.
    pub(crate) pages: Vec<PageFacts>,
    /// Directories below `pages/` that we may not read, with the reason.
    pub(crate) unreadable_directories: Vec<(String, String)>,
    /// `.index`.
    pub(crate) index: IndexFacts,
    /// What `.store/tmp` holds, by name.
    pub(crate) staged: Vec<StagedFacts>,
    /// `.store`.
    pub(crate) store: StoreFacts,
    /// How many files were read.
    pub(crate) files_examined: u64,
}

impl Facts {
    /// Facts of a root that holds nothing, or is no directory.
    pub(crate) fn of_root(root: RootFacts) -> Self {
        Self {
            root,
            entries: Vec::new(),
            schema: SchemaFacts::Missing,
            config_fault: None,
            sources_directory: DirectoryFacts::Missing,
            pages_directory: DirectoryFacts::Missing,
            sources: Vec::new(),
            pages: Vec::new(),
            unreadable_directories: Vec::new(),
            staged: Vec::new(),
            index: IndexFacts {
                directory: DirectoryFacts::Missing,
                search: IndexFile::Missing,
                state: IndexFile::Missing,
                stale: None,
            },
            store: StoreFacts::default(),
            files_examined: 0,
        }
    }

    /// How many files were read to the end.
    pub(crate) fn count_files(&self) -> u64 {
        let schema = matches!(self.schema, SchemaFacts::Text | SchemaFacts::NotUtf8 { .. });
        let contents = self
            .sources
            .iter()
            .filter(|source| matches!(source.content, ContentFacts::Read { .. }));
        let records = self
            .sources
            .iter()
            .filter(|source| matches!(source.metadata, MetadataFacts::Read(_)));
        let pages = self.pages.iter().filter(|page| page.hash().is_some());
        let index = [&self.index.search, &self.index.state]
            .into_iter()
            .all(|file| {
                matches!(
                    file,
                    IndexFile::Malformed(_) | IndexFile::Incompatible(_) | IndexFile::Sound
                )
            });
        u64::from(schema)
            + contents.count() as u64
            + records.count() as u64
            + pages.count() as u64
            + 2 * u64::from(index)
    }

    /// The entry of `sources/` for this id. Entries are in the order of their names, which is
    /// that of ids; ids are compared as they stand, since rules ask this for every citation.
    pub(crate) fn source(&self, id: SourceId) -> Option<&SourceFacts> {
        let order = |source: &SourceFacts| match &source.name {
            SourceName::Id(here) => here.cmp(&id),
            SourceName::Invalid(name) => name.as_str().cmp(id.to_string().as_str()),
        };
        let at = self.sources.binary_search_by(order).ok()?;
        self.sources
            .get(at)
            .filter(|source| source.id() == Some(id))
    }

    /// Whether a page with this id, or with this name in some folder, may lie where we may not look.
    pub(crate) fn may_hide(&self, id: &str, in_any_folder: bool) -> bool {
        self.unreadable_directories.iter().any(|(directory, _)| {
            let below = directory.strip_prefix("pages/").unwrap_or(directory);
            let rest = id.strip_prefix(below);
            in_any_folder || rest.is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// The sound page with this id.
    pub(crate) fn page(&self, id: &PageId) -> Option<(&PageId, &PageText)> {
        let path = format!("pages/{id}.md");
        let at = self
            .pages
            .binary_search_by(|page| page.path.as_str().cmp(&path))
            .ok()?;
        self.pages.get(at).and_then(PageFacts::page)
    }

    /// Every source that a sound page cites, in frontmatter or body, with the page; with repeats.
    pub(crate) fn cited_sources(&self) -> impl Iterator<Item = (&PageId, SourceId)> {
        self.pages
            .iter()
            .filter_map(PageFacts::page)
            .flat_map(|(id, text)| {
                let cited = text
                    .citations
                    .iter()
                    .filter_map(|citation| citation.source.clone().ok());
                text.sources
                    .iter()
                    .copied()
                    .chain(cited)
                    .map(move |source| (id, source))
            })
    }

    /// Whether the file of the page with this id is there without being a sound page.
    pub(crate) fn has_invalid_page(&self, id: &str) -> bool {
        let path = format!("pages/{id}.md");
        self.pages
            .binary_search_by(|page| page.path.as_str().cmp(&path))
            .is_ok_and(|at| self.pages[at].page().is_none())
    }
}
