//! The tree, read for lint: walks the root, reads each file once. Changes nothing, opens nothing but
//! regular files, and waits for nothing.
//!
//! A second look takes over what still has the stamp that it was read with. Memory holds what rules
//! need, never the bytes of a source: those are hashed as they stream by.

use std::io::Read;
use std::iter::Peekable;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use super::facts::{
    ContentFacts, DirectoryFacts, EntryFacts, EventsFacts, Facts, IndexFacts, IndexFile,
    MetadataFacts, PageFacts, PageFile, PageName, RootFacts, SchemaFacts, SourceFacts, StagedFacts,
};
use super::graph::link_up;
use super::reading;
use crate::config::root_file_fault;
use crate::context::Context;
use crate::error::Error;
use crate::id::{ContentHash, PageId};
use crate::search::Analysis;
use crate::search::index_v1::{self, IndexFault};
use crate::source::LineCounter;
use crate::source::{examine_metadata, parse_events};
use crate::tree::{
    Flow, Folder, Kind, RelPath, StagedEntry, Stamp, Tree, TreeError, WalkEntry, Walked, now_ns,
};
use crate::wiki::ABANDONED_NS;

/// Largest `metadata.json` that is read; a real one has a few hundred bytes.
const MAX_METADATA_BYTES: u64 = 1 << 20;
/// Largest `events.jsonl` that is read.
const MAX_EVENTS_BYTES: u64 = 64 << 20;
/// Largest `schema.md` that is read.
const MAX_SCHEMA_BYTES: u64 = 64 << 20;
/// How much of a source is in memory at a time.
const CHUNK_BYTES: usize = 64 << 10;
/// How many files one thread takes at a time.
const BATCH: usize = 32;
/// From how many files on a second thread pays.
const PARALLEL_FROM: usize = 256;

/// What to gather beyond the usual.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// Anchors of headings, for `BROKEN_FRAGMENT`.
    pub(crate) anchors: bool,
    /// How the store cut pages into sections; none where no store is to be compared.
    pub(crate) analysis: Option<Analysis>,
}

/// How a file looked when it was read.
#[derive(Debug, Clone, Copy)]
struct Sighting {
    stamp: Stamp,
    /// The file may have changed since without another stamp.
    is_racy: bool,
}

impl Sighting {
    fn new(stamp: Stamp, seen_ns: i64) -> Self {
        Self {
            stamp,
            is_racy: stamp.is_racy(seen_ns),
        }
    }
}

/// Whether what was read before is what would be read now.
fn still_holds(before: Option<Sighting>, now: Met) -> bool {
    match (before, now) {
        (Some(before), Met::File(Some(stamp))) => !before.is_racy && before.stamp == stamp,
        (None, Met::Missing) => true,
        _ => false,
    }
}

/// What a walk met under a name.
#[derive(Debug, Clone, Copy, Default)]
enum Met {
    #[default]
    Missing,
    /// A regular file, and its stamp where the walk looked at it.
    File(Option<Stamp>),
    Other(Kind),
}

impl Met {
    fn of(entry: &WalkEntry<'_>) -> Self {
        match entry.kind {
            Kind::File => Self::File(entry.stamp),
            kind => Self::Other(kind),
        }
    }
}

/// What is known about the tree, and how its files looked when that was learnt.
#[derive(Debug)]
pub(crate) struct TreeLook {
    /// All but what `facts.store` tells.
    pub(crate) facts: Facts,
    /// What `.store` is.
    pub(crate) store: DirectoryFacts,
    schema: Option<Sighting>,
    search: Option<Sighting>,
    state: Option<Sighting>,
    /// Content, metadata and events of each source.
    sources: Vec<[Option<Sighting>; 3]>,
    /// Each page.
    pages: Vec<Option<Sighting>>,
    /// Each directory, the root first, before its entries were read; none that could not be read.
    directories: Vec<(Vec<u8>, Sighting)>,
}

impl TreeLook {
    /// Reads all of the tree.
    ///
    /// # Errors
    /// `UNSAFE_FILESYSTEM` where the root cannot be looked at, `ABORTED`.
    pub(crate) fn first(tree: &Tree, ctx: &Context, wanted: Wanted) -> Result<Self, Error> {
        let nothing = Self {
            facts: Facts::of_root(RootFacts::Directory),
            store: DirectoryFacts::Missing,
            schema: None,
            search: None,
            state: None,
            sources: Vec::new(),
            pages: Vec::new(),
            directories: Vec::new(),
        };
        let found = walk(tree, ctx, false)?;
        Ok(nothing.take_over(found, tree, ctx, wanted)?.0)
    }

    /// Looks again and reads what changed. Answers whether anything did.
    ///
    /// # Errors
    /// As [`TreeLook::first`].
    pub(crate) fn again(
        self,
        tree: &Tree,
        ctx: &Context,
        wanted: Wanted,
    ) -> Result<(Self, bool), Error> {
        if self.still_holds(tree) {
            return Ok((self, false));
        }
        let found = walk(tree, ctx, true)?;
        self.take_over(found, tree, ctx, wanted)
    }

    /// Whether every directory and every file still has the stamp that it was read with. Where
    /// something could not be read that says nothing.
    fn still_holds(&self, tree: &Tree) -> bool {
        let Facts { sources, pages, .. } = &self.facts;
        let holds = |path: &[u8], seen: Option<Sighting>| {
            seen.is_none_or(|seen| !seen.is_racy && tree.glance(path) == Some(seen.stamp))
        };
        let unread_source = |source: &SourceFacts| {
            matches!(source.content, ContentFacts::Unreadable(_))
                || matches!(source.metadata, MetadataFacts::Unreadable(_))
                || matches!(source.events, EventsFacts::Unreadable(_))
        };
        let unread_page = |page: &PageFacts| matches!(page.file, PageFile::Unreadable(_));
        !self.directories.is_empty()
            && self.facts.unreadable_directories.is_empty()
            && !sources.iter().any(unread_source)
            && !pages.iter().any(unread_page)
            && self
                .directories
                .iter()
                .all(|(path, seen)| holds(path, Some(*seen)))
            && holds(b"schema.md", self.schema)
            && holds(b".index/search.json", self.search)
            && holds(b".index/state.json", self.state)
            && sources.iter().zip(&self.sources).all(|(source, seen)| {
                ["content", "metadata.json", "events.jsonl"]
                    .into_iter()
                    .zip(seen)
                    .all(|(name, seen)| {
                        let path = || format!("{}/{name}", source.path);
                        seen.is_none() || holds(path().as_bytes(), *seen)
                    })
            })
            && pages
                .iter()
                .zip(&self.pages)
                .all(|(page, seen)| holds(page.path.as_bytes(), *seen))
    }

    fn take_over(
        self,
        found: Found,
        tree: &Tree,
        ctx: &Context,
        wanted: Wanted,
    ) -> Result<(Self, bool), Error> {
        let before = self.facts;
        let mut facts = Facts {
            sources: Vec::new(),
            pages: Vec::new(),
            ..found.facts
        };
        let mut changed = facts.root != before.root
            || facts.entries != before.entries
            || facts.sources_directory != before.sources_directory
            || facts.pages_directory != before.pages_directory
            || facts.index.directory != before.index.directory
            || facts.unreadable_directories != before.unreadable_directories
            || facts.staged != before.staged
            || facts.config_fault != before.config_fault
            || found.store != self.store;

        let mut schema = self.schema;
        facts.schema = if still_holds(schema, found.schema) {
            before.schema
        } else {
            let read = read_schema(tree, found.schema, &mut schema);
            changed |= read != before.schema;
            read
        };

        let (sources, sources_changed) = read_sources(
            Known::new(before.sources, self.sources, |facts| &facts.path),
            found.sources,
            tree,
            ctx,
        )?;
        let (pages, pages_changed) = read_pages(
            Known::new(before.pages, self.pages, |facts| &facts.path),
            found.pages,
            tree,
            ctx,
            wanted,
        )?;
        changed |= sources_changed | pages_changed;
        let (source_facts, source_sightings) = sources.into_iter().unzip();
        let (page_facts, page_sightings) = pages.into_iter().unzip();
        facts.sources = source_facts;
        facts.pages = page_facts;
        if pages_changed {
            link_up(&mut facts.pages);
        }

        let (mut search, mut state) = (self.search, self.state);
        let index_holds =
            !pages_changed && still_holds(search, found.search) && still_holds(state, found.state);
        if index_holds {
            facts.index = IndexFacts {
                directory: facts.index.directory,
                ..before.index
            };
        } else {
            (search, state) = read_index(tree, found.search, found.state, &mut facts);
            changed |= facts.index != before.index;
        }
        facts.files_examined = facts.count_files();
        let look = Self {
            facts,
            store: found.store,
            schema,
            search,
            state,
            sources: source_sightings,
            pages: page_sightings,
            directories: found.directories,
        };
        Ok((look, changed))
    }
}

/// What was known before, in the order of paths, to be asked for in that order.
struct Known<F, S> {
    items: Peekable<std::vec::IntoIter<(F, S)>>,
    path: fn(&F) -> &str,
    /// Something that was known is no longer there.
    lost: bool,
}

impl<F, S> Known<F, S> {
    fn new(facts: Vec<F>, sightings: Vec<S>, path: fn(&F) -> &str) -> Self {
        let items: Vec<(F, S)> = facts.into_iter().zip(sightings).collect();
        Self {
            items: items.into_iter().peekable(),
            path,
            lost: false,
        }
    }

    /// What was known about this path.
    fn take(&mut self, path: &str) -> Option<(F, S)> {
        while let Some((facts, _)) = self.items.peek() {
            match (self.path)(facts).cmp(path) {
                std::cmp::Ordering::Less => self.lost = true,
                std::cmp::Ordering::Equal => return self.items.next(),
                std::cmp::Ordering::Greater => return None,
            }
            self.items.next();
        }
        None
    }

    /// Whether nothing was known.
    fn is_empty(&mut self) -> bool {
        self.items.peek().is_none()
    }

    /// Whether something that was known was not asked for.
    fn has_lost(mut self) -> bool {
        self.lost || self.items.next().is_some()
    }
}

/// What the walk met, to be read.
struct Found {
    /// Directories and odd entries.
    facts: Facts,
    store: DirectoryFacts,
    schema: Met,
    search: Met,
    state: Met,
    sources: Vec<FoundSource>,
    pages: Vec<FoundPage>,
    directories: Vec<(Vec<u8>, Sighting)>,
}

struct FoundSource {
    facts: SourceFacts,
    content: Met,
    metadata: Met,
    events: Met,
}

struct FoundPage {
    facts: PageFacts,
    path: Vec<u8>,
    file: Met,
}

fn walk(tree: &Tree, ctx: &Context, at_files: bool) -> Result<Found, Error> {
    let mut found = Found {
        facts: Facts::of_root(RootFacts::Directory),
        store: DirectoryFacts::Missing,
        schema: Met::Missing,
        search: Met::Missing,
        state: Met::Missing,
        sources: Vec::new(),
        pages: Vec::new(),
        directories: Vec::new(),
    };
    let seen_ns = now_ns();
    if let (false, Some(root)) = (at_files, tree.glance(b"")) {
        found
            .directories
            .push((Vec::new(), Sighting::new(root, seen_ns)));
    }
    let mut visitor = |entry: &WalkEntry<'_>| {
        if ctx.check().is_err() {
            return Flow::Stop;
        }
        if let (Kind::Directory, Some(stamp)) = (entry.kind, entry.stamp) {
            found
                .directories
                .push((entry.path.to_vec(), Sighting::new(stamp, seen_ns)));
        }
        visit(entry, &mut found)
    };
    let walked = if at_files {
        tree.walk(&RelPath::root(), &mut visitor)
    } else {
        tree.walk_names(&RelPath::root(), &mut visitor)
    };
    ctx.check()?;
    if walked? == Walked::Missing {
        found.facts.root = RootFacts::Missing;
    }
    found.facts.staged = staged(tree, seen_ns);
    let fault = root_file_fault(tree);
    found.facts.config_fault = fault.map(|(line, error)| match error.hint() {
        Some(hint) => (line, format!("{}; {hint}", error.message())),
        None => (line, error.message().to_owned()),
    });
    found.facts.entries.sort_by(|a, b| a.path.cmp(&b.path));
    found
        .sources
        .sort_by(|a, b| a.facts.path.cmp(&b.facts.path));
    found.pages.sort_by(|a, b| a.facts.path.cmp(&b.facts.path));
    Ok(found)
}

/// What waits in `.store/tmp`. Where that cannot be listed nothing is known to wait; what keeps it
/// from being listed is told by other facts.
fn staged(tree: &Tree, seen_ns: i64) -> Vec<StagedFacts> {
    let fact = |entry: StagedEntry| StagedFacts {
        was_taken_out: entry.staged.was_taken_out(),
        is_old: entry.stamp.ctime_ns < seen_ns.saturating_sub(ABANDONED_NS),
        name: entry.staged.name().to_owned(),
    };
    let entries = tree.list_staged().unwrap_or_default();
    let mut staged: Vec<StagedFacts> = entries.into_iter().map(fact).collect();
    staged.sort_by(|a, b| a.name.cmp(&b.name));
    staged
}

fn visit(entry: &WalkEntry<'_>, found: &mut Found) -> Flow {
    let (path, kind) = (entry.path, entry.kind);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let parts = path.split(|byte| *byte == b'/').count();
    let in_store = path == b".store" || path.starts_with(b".store/");
    let facts = &mut found.facts;
    // What stands in `.store/tmp` is a write under way or the engine's to mend, and `.git` is
    // git's.
    let noteworthy =
        kind == Kind::Symlink || kind != Kind::Directory && name.starts_with(b".") && !in_store;
    if noteworthy {
        facts.entries.push(EntryFacts {
            path: reading::printable(path),
            kind,
        });
    }

    match path {
        b".git" if kind == Kind::Directory => return Flow::SkipDirectory,
        b"schema.md" => found.schema = Met::of(entry),
        b"pages" => facts.pages_directory = directory(entry),
        b"sources" => facts.sources_directory = directory(entry),
        b".index" => facts.index.directory = directory(entry),
        b".store" => found.store = directory(entry),
        b".index/search.json" => found.search = Met::of(entry),
        b".index/state.json" => found.state = Met::of(entry),
        _ => {}
    }
    if let Some(below) = path.strip_prefix(b"pages/") {
        match kind {
            Kind::Symlink => {}
            Kind::Directory => {
                if let Some(error) = entry.unreadable {
                    facts
                        .unreadable_directories
                        .push((reading::printable(path), reason(error)));
                }
            }
            _ => found.pages.push(FoundPage {
                facts: reading::page_entry(below, kind),
                path: path.to_vec(),
                file: Met::of(entry),
            }),
        }
    } else if let Some(below) = path.strip_prefix(b"sources/") {
        if parts == 2 {
            if kind != Kind::Symlink {
                let mut source = FoundSource {
                    facts: reading::source_entry(below, kind),
                    content: Met::Missing,
                    metadata: Met::Missing,
                    events: Met::Missing,
                };
                if let Some(error) = entry.unreadable {
                    source.facts.content = ContentFacts::Unreadable(reason(error));
                    source.facts.metadata = MetadataFacts::Unreadable(reason(error));
                }
                found.sources.push(source);
            }
        } else if parts == 3
            && let Some(source) = found.sources.last_mut()
            && below.starts_with(&source.facts.path.as_bytes()[b"sources/".len()..])
        {
            match name {
                b"content" => source.content = Met::of(entry),
                b"metadata.json" => source.metadata = Met::of(entry),
                b"events.jsonl" => source.events = Met::of(entry),
                _ => {}
            }
        }
    }
    Flow::Continue
}

fn directory(entry: &WalkEntry<'_>) -> DirectoryFacts {
    match entry.kind {
        Kind::Directory if entry.unreadable.is_some() => DirectoryFacts::Unreadable,
        Kind::Directory => DirectoryFacts::Directory,
        kind => DirectoryFacts::NotDirectory(kind),
    }
}

/// Why something cannot be read, without its path, which the report has already.
fn reason(error: &TreeError) -> String {
    match error {
        TreeError::Denied { .. } => "permission denied".to_owned(),
        TreeError::TooLarge { limit, actual, .. } => {
            format!("it has {actual} bytes, more than the {limit} that are read")
        }
        TreeError::Io { source, .. } => source.to_string(),
        TreeError::BadPath { reason, .. } => (*reason).to_owned(),
        other => other.to_string(),
    }
}

/// What stands at a path instead of a regular file, if that is why it cannot be read.
fn other_kind(error: &TreeError) -> Option<Kind> {
    match error {
        TreeError::Symlink { .. } => Some(Kind::Symlink),
        TreeError::NotRegular { kind, .. } => Some(*kind),
        _ => None,
    }
}

/// A file that was read, or why not.
enum Got<T> {
    Read(T, Sighting),
    Missing,
    NotFile(Kind),
    Unreadable(String),
}

impl<T> Got<T> {
    fn of(result: Result<Option<(T, Sighting)>, TreeError>) -> Self {
        match result {
            Ok(Some((read, sighting))) => Self::Read(read, sighting),
            Ok(None) => Self::Missing,
            Err(error) => match other_kind(&error) {
                Some(kind) => Self::NotFile(kind),
                None => Self::Unreadable(reason(&error)),
            },
        }
    }
}

/// What one thread keeps between files.
#[derive(Default)]
struct Desk {
    /// The directory of the file before.
    folder: Option<Folder>,
    /// Room for a piece of a source.
    buffer: Vec<u8>,
}

impl Desk {
    /// The directory that a path lies in, and its last name.
    fn folder<'a>(
        &mut self,
        tree: &Tree,
        path: &'a [u8],
    ) -> Result<Option<(&Folder, &'a [u8])>, TreeError> {
        let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        let is_open = |folder: &Folder| folder.rel().as_bytes() == parent;
        if !self.folder.as_ref().is_some_and(is_open) {
            let rel = if parent.is_empty() {
                RelPath::root()
            } else {
                RelPath::new(parent)?
            };
            self.folder = tree.folder(&rel)?;
        }
        Ok(self.folder.as_ref().map(|folder| (folder, name)))
    }

    /// Reads a whole file.
    fn read(&mut self, tree: &Tree, path: &[u8], limit: u64) -> Got<Vec<u8>> {
        let read = self.folder(tree, path).and_then(|found| match found {
            Some((folder, name)) => folder.read(name, limit),
            None => Ok(None),
        });
        Got::of(
            read.map(|file| file.map(|file| (file.bytes, Sighting::new(file.stamp, file.seen_ns)))),
        )
    }

    /// Hashes the content of a source.
    fn read_content(&mut self, tree: &Tree, path: &[u8]) -> Got<ContentFacts> {
        let seen_ns = now_ns();
        let opened = self.folder(tree, path).and_then(|found| match found {
            Some((folder, name)) => folder.open_file(name),
            None => Ok(None),
        });
        let (mut file, stamp) = match opened {
            Ok(Some(opened)) => opened,
            Ok(None) => return Got::Missing,
            Err(error) => return Got::of(Err(error)),
        };
        // Most sources are small, and clearing a large buffer costs more than reading them.
        let size = usize::try_from(stamp.size).unwrap_or(CHUNK_BYTES);
        let wanted = size.saturating_add(1).min(CHUNK_BYTES);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let mut hasher = Sha256::new();
        let mut lines = LineCounter::default();
        let mut byte_count = 0_u64;
        loop {
            match file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(length) => {
                    let bytes = &self.buffer[..length];
                    hasher.update(bytes);
                    byte_count += length as u64;
                    lines.update(bytes);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Got::Unreadable(error.to_string()),
            }
        }
        let content = ContentFacts::Read {
            hash: ContentHash::from_bytes(hasher.finalize().into()),
            byte_count,
            line_count: lines.count(),
        };
        Got::Read(content, Sighting::new(stamp, seen_ns))
    }
}

fn read_schema(tree: &Tree, met: Met, sighting: &mut Option<Sighting>) -> SchemaFacts {
    *sighting = None;
    match met {
        Met::Missing => SchemaFacts::Missing,
        Met::Other(kind) => SchemaFacts::NotFile(kind),
        Met::File(_) => match Desk::default().read(tree, b"schema.md", MAX_SCHEMA_BYTES) {
            Got::Read(bytes, seen) => {
                *sighting = Some(seen);
                match std::str::from_utf8(&bytes) {
                    Ok(_) => SchemaFacts::Text,
                    Err(error) => SchemaFacts::NotUtf8 {
                        at: error.valid_up_to(),
                    },
                }
            }
            Got::Missing => SchemaFacts::Missing,
            Got::NotFile(kind) => SchemaFacts::NotFile(kind),
            Got::Unreadable(reason) => SchemaFacts::Unreadable(reason),
        },
    }
}

/// Facts and how the files looked that told them.
type Sources = Vec<(SourceFacts, [Option<Sighting>; 3])>;
type Pages = Vec<(PageFacts, Option<Sighting>)>;

/// Reads the sources that are not known. Answers whether any is new, other or gone.
fn read_sources(
    mut known: Known<SourceFacts, [Option<Sighting>; 3]>,
    found: Vec<FoundSource>,
    tree: &Tree,
    ctx: &Context,
) -> Result<(Sources, bool), Error> {
    let stage = "reading sources";
    if known.is_empty() {
        let read = in_parallel(ctx, stage, &found, &|source, desk| {
            read_source(source, tree, desk)
        })?;
        let changed = !read.is_empty();
        return Ok((read, changed));
    }
    let mut sources = Sources::with_capacity(found.len());
    let mut unread = Vec::new();
    for source in found {
        let before = known.take(&source.facts.path);
        if let Some((facts, [content, metadata, events])) = before {
            let holds = facts.kind == source.facts.kind
                && still_holds(content, source.content)
                && still_holds(metadata, source.metadata)
                && still_holds(events, source.events);
            if holds && facts.id().is_some() {
                sources.push((facts, [content, metadata, events]));
                continue;
            }
            sources.push((facts, [None; 3]));
            unread.push((sources.len() - 1, true, source));
        } else {
            sources.push((source.facts.clone(), [None; 3]));
            unread.push((sources.len() - 1, false, source));
        }
    }
    let mut changed = known.has_lost();
    let read = in_parallel(ctx, stage, &unread, &|(_, _, source), desk| {
        read_source(source, tree, desk)
    })?;
    for ((at, was_known, _), read) in unread.iter().zip(read) {
        changed |= !was_known || read.0 != sources[*at].0;
        sources[*at] = read;
    }
    Ok((sources, changed))
}

fn read_source(
    source: &FoundSource,
    tree: &Tree,
    desk: &mut Desk,
) -> (SourceFacts, [Option<Sighting>; 3]) {
    let mut facts = source.facts.clone();
    let mut seen = [None; 3];
    if facts.id().is_none() {
        return (facts, seen);
    }
    match source.content {
        Met::Missing => {}
        Met::Other(kind) => facts.content = ContentFacts::NotFile(kind),
        Met::File(_) => {
            let path = format!("{}/content", facts.path);
            facts.content = match desk.read_content(tree, path.as_bytes()) {
                Got::Read(content, sighting) => {
                    seen[0] = Some(sighting);
                    content
                }
                Got::Missing => ContentFacts::Missing,
                Got::NotFile(kind) => ContentFacts::NotFile(kind),
                Got::Unreadable(reason) => ContentFacts::Unreadable(reason),
            };
        }
    }
    match source.metadata {
        Met::Missing => {}
        Met::Other(kind) => facts.metadata = MetadataFacts::NotFile(kind),
        Met::File(_) => {
            let path = format!("{}/metadata.json", facts.path);
            facts.metadata = match desk.read(tree, path.as_bytes(), MAX_METADATA_BYTES) {
                Got::Read(bytes, sighting) => {
                    seen[1] = Some(sighting);
                    MetadataFacts::Read(examine_metadata(&bytes))
                }
                Got::Missing => MetadataFacts::Missing,
                Got::NotFile(kind) => MetadataFacts::NotFile(kind),
                Got::Unreadable(reason) => MetadataFacts::Unreadable(reason),
            };
        }
    }
    match source.events {
        Met::Missing => {}
        Met::Other(kind) => facts.events = EventsFacts::NotFile(kind),
        Met::File(_) => {
            let path = format!("{}/events.jsonl", facts.path);
            facts.events = match desk.read(tree, path.as_bytes(), MAX_EVENTS_BYTES) {
                Got::Read(bytes, sighting) => {
                    seen[2] = Some(sighting);
                    let (events, bad_lines) = parse_events(&bytes);
                    EventsFacts::Read { events, bad_lines }
                }
                Got::Missing => EventsFacts::Missing,
                Got::NotFile(kind) => EventsFacts::NotFile(kind),
                Got::Unreadable(reason) => EventsFacts::Unreadable(reason),
            };
        }
    }
    (facts, seen)
}

/// Reads the pages that are not known. Answers whether any is new, other or gone.
fn read_pages(
    mut known: Known<PageFacts, Option<Sighting>>,
    found: Vec<FoundPage>,
    tree: &Tree,
    ctx: &Context,
    wanted: Wanted,
) -> Result<(Pages, bool), Error> {
    let stage = "reading pages";
    let limit = ctx.limits.max_page_bytes;
    if known.is_empty() {
        let read = in_parallel(ctx, stage, &found, &|page, desk| {
            read_page(page, tree, limit, wanted, desk)
        })?;
        let changed = !read.is_empty();
        return Ok((read.into_iter().flatten().collect(), changed));
    }
    let mut pages = Pages::with_capacity(found.len());
    let mut unread = Vec::new();
    let mut changed = false;
    for page in found {
        match known.take(&page.facts.path) {
            Some((facts, sighting)) if sighting.is_some() && still_holds(sighting, page.file) => {
                pages.push((facts, sighting));
            }
            Some((facts, _)) => {
                pages.push((facts, None));
                unread.push((pages.len() - 1, page));
            }
            None => {
                changed = true;
                pages.push((page.facts.clone(), None));
                unread.push((pages.len() - 1, page));
            }
        }
    }
    changed |= known.has_lost();
    let read = in_parallel(ctx, stage, &unread, &|(_, page), desk| {
        read_page(page, tree, limit, wanted, desk)
    })?;
    let mut vanished = Vec::new();
    for ((at, _), read) in unread.iter().zip(read) {
        match read {
            Some(read) => {
                changed |= !read.0.is_same(&pages[*at].0);
                pages[*at] = read;
            }
            None => vanished.push(*at),
        }
    }
    // What vanished since the walk is as if it had never been there.
    changed |= !vanished.is_empty();
    for at in vanished.into_iter().rev() {
        pages.remove(at);
    }
    Ok((pages, changed))
}

fn read_page(
    page: &FoundPage,
    tree: &Tree,
    limit: u64,
    wanted: Wanted,
    desk: &mut Desk,
) -> Option<(PageFacts, Option<Sighting>)> {
    let mut facts = page.facts.clone();
    let (Met::File(_), PageName::Id(id)) = (page.file, &facts.name) else {
        return Some((facts, None));
    };
    let mut seen = None;
    facts.file = match desk.read(tree, &page.path, limit) {
        Got::Read(bytes, sighting) => {
            seen = Some(sighting);
            facts.stamp = Some(sighting.stamp);
            reading::page_file(id, &bytes, wanted)
        }
        Got::Missing => return None,
        Got::NotFile(kind) => PageFile::NotFile(kind),
        Got::Unreadable(reason) => PageFile::Unreadable(reason),
    };
    Some((facts, seen))
}

/// Applies `work` to every item, in order, on a second thread too where that pays.
fn in_parallel<T: Sync, R: Send>(
    ctx: &Context,
    stage: &'static str,
    items: &[T],
    work: &(dyn Fn(&T, &mut Desk) -> R + Sync),
) -> Result<Vec<R>, Error> {
    let total = items.len();
    let next = AtomicUsize::new(0);
    let worker = |reports: bool| {
        let mut done = Vec::new();
        let mut desk = Desk::default();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            if start >= total || ctx.check().is_err() {
                return done;
            }
            if reports {
                ctx.progress(stage, start as u64, Some(total as u64));
            }
            let end = (start + BATCH).min(total);
            let work = |item| work(item, &mut desk);
            done.push((
                start,
                items[start..end].iter().map(work).collect::<Vec<R>>(),
            ));
        }
    };
    let mut batches = if total < PARALLEL_FROM {
        worker(true)
    } else {
        std::thread::scope(|scope| {
            let helper = scope.spawn(|| worker(false));
            let mut batches = worker(true);
            match helper.join() {
                Ok(more) => batches.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
            batches
        })
    };
    ctx.check()?;
    ctx.progress(stage, total as u64, Some(total as u64));
    batches.sort_unstable_by_key(|(start, _)| *start);
    Ok(batches
        .into_iter()
        .flat_map(|(_, results)| results)
        .collect())
}

/// Reads `.index` and compares it with the pages. Answers how its two files looked.
fn read_index(
    tree: &Tree,
    search: Met,
    state: Met,
    facts: &mut Facts,
) -> (Option<Sighting>, Option<Sighting>) {
    let file = |met: Met| match met {
        Met::Missing => IndexFile::Missing,
        Met::File(_) => IndexFile::NotRead,
        Met::Other(kind) => IndexFile::NotFile(kind),
    };
    facts.index.search = file(search);
    facts.index.state = file(state);
    // One alone is no index, whatever it holds.
    if facts.index.search != IndexFile::NotRead || facts.index.state != IndexFile::NotRead {
        return (None, None);
    }
    let search = index_bytes(tree, b".index/search.json", &mut facts.index.search);
    let state = index_bytes(tree, b".index/state.json", &mut facts.index.state);
    let (Some((search, search_seen)), Some((state, state_seen))) = (search, state) else {
        return (None, None);
    };
    let pages: Vec<(PageId, ContentHash)> = facts
        .pages
        .iter()
        .filter_map(|page| page.page().map(|(id, text)| (id.clone(), text.hash)))
        .collect();
    facts.index.search = IndexFile::Sound;
    facts.index.state = IndexFile::Sound;
    for fault in index_v1::check(&search, &state, &pages) {
        let (file, found) = match fault {
            IndexFault::Malformed(file, how) => (file, IndexFile::Malformed(how.to_string())),
            IndexFault::Incompatible(file) => (
                file,
                IndexFile::Incompatible("does not say format version 1".to_owned()),
            ),
            IndexFault::Stale => {
                facts.index.stale = Some("does not describe the pages of the tree".to_owned());
                continue;
            }
        };
        match file {
            index_v1::IndexFile::Search => facts.index.search = found,
            index_v1::IndexFile::State => facts.index.state = found,
        }
    }
    (Some(search_seen), Some(state_seen))
}

fn index_bytes(tree: &Tree, path: &[u8], file: &mut IndexFile) -> Option<(Vec<u8>, Sighting)> {
    *file = match Desk::default().read(tree, path, u64::MAX) {
        Got::Read(bytes, sighting) => return Some((bytes, sighting)),
        Got::Missing => IndexFile::Missing,
        Got::NotFile(kind) => IndexFile::NotFile(kind),
        Got::Unreadable(reason) => IndexFile::Unreadable(reason),
    };
    None
}
