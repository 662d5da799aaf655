//! Brings together the facts: walks the root once, reads each file once, opens the store for
//! reading. Changes nothing, opens nothing but regular files, and waits for nothing.
//!
//! Memory holds what rules need, never the bytes of a source: those are hashed as they stream by.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};

use super::facts::{
    ContentFacts, DirectoryFacts, EntryFacts, Facts, IndexFile, MetadataFacts, PageFacts, PageFile,
    PageName, RootFacts, SchemaFacts, SourceFacts,
};
use super::gather_store::read_store;
use super::graph::link_up;
use super::reading;
use super::store_facts::StoreFacts;
use crate::context::Context;
use crate::error::Error;
use crate::id::{ContentHash, PageId};
use crate::search::index_v1::{self, IndexFault};
use crate::source::LineCounter;
use crate::source::{examine_metadata, parse_events};
use crate::store::StoreOptions;
use crate::tree::{self, Flow, Kind, RelPath, RootState, Tree, TreeError, WalkEntry, Walked};

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
    /// Events of sources, for `SOURCE_SUPERSEDED`.
    pub(crate) events: bool,
}

/// Gathers everything that is to be known about the wiki at `root`.
///
/// # Errors
/// `UNSAFE_FILESYSTEM` where the root cannot be looked at, `ABORTED`.
pub(crate) fn gather(
    root: &Path,
    ctx: &Context,
    wanted: Wanted,
    store: &StoreOptions,
) -> Result<Facts, Error> {
    let tree = match tree::locate(root)? {
        RootState::Missing => return Ok(Facts::of_root(RootFacts::Missing)),
        RootState::NotDirectory(_) => return Ok(Facts::of_root(RootFacts::NotDirectory)),
        RootState::Symlink => return Ok(Facts::of_root(RootFacts::Symlink)),
        RootState::Ready(tree) => tree,
    };
    let mut facts = Facts::of_root(RootFacts::Directory);
    let found = walk(&tree, &mut facts, ctx)?;
    read_schema(&tree, found.schema, &mut facts);
    read_sources(&tree, &found.sources, ctx, wanted, &mut facts)?;
    read_pages(&tree, &found.pages, ctx, wanted, &mut facts)?;
    link_up(&mut facts.pages);
    read_index(&tree, found.search, found.state, &mut facts);
    let state = read_store(&tree, found.store, store, ctx)?;
    facts.store = StoreFacts {
        directory: found.store,
        state,
    };
    Ok(facts)
}

/// What the walk met, to be read.
struct Found {
    schema: Option<Kind>,
    store: DirectoryFacts,
    search: Option<Kind>,
    state: Option<Kind>,
    sources: Vec<FoundSource>,
    pages: Vec<FoundPage>,
}

struct FoundSource {
    facts: SourceFacts,
    content: Option<Kind>,
    metadata: Option<Kind>,
    has_events: bool,
}

struct FoundPage {
    facts: PageFacts,
    path: Vec<u8>,
    kind: Kind,
}

fn walk(tree: &Tree, facts: &mut Facts, ctx: &Context) -> Result<Found, Error> {
    let mut found = Found {
        schema: None,
        store: DirectoryFacts::Missing,
        search: None,
        state: None,
        sources: Vec::new(),
        pages: Vec::new(),
    };
    let walked = tree.walk(&RelPath::root(), &mut |entry| {
        if ctx.check().is_err() {
            return Flow::Stop;
        }
        visit(entry, facts, &mut found)
    });
    ctx.check()?;
    if walked? == Walked::Missing {
        facts.root = RootFacts::Missing;
    }
    facts.entries.sort_by(|a, b| a.path.cmp(&b.path));
    found
        .sources
        .sort_by(|a, b| a.facts.path.cmp(&b.facts.path));
    found.pages.sort_by(|a, b| a.facts.path.cmp(&b.facts.path));
    Ok(found)
}

fn visit(entry: &WalkEntry<'_>, facts: &mut Facts, found: &mut Found) -> Flow {
    let (path, kind) = (entry.path, entry.kind);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let parts = path.split(|byte| *byte == b'/').count();
    let in_store = path == b".store" || path.starts_with(b".store/");
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
        b"schema.md" => found.schema = Some(kind),
        b"pages" => facts.pages_directory = directory(entry),
        b"sources" => facts.sources_directory = directory(entry),
        b".index" => facts.index.directory = directory(entry),
        b".store" => found.store = directory(entry),
        b".index/search.json" => found.search = Some(kind),
        b".index/state.json" => found.state = Some(kind),
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
                kind,
            }),
        }
    } else if let Some(below) = path.strip_prefix(b"sources/") {
        if parts == 2 {
            if kind != Kind::Symlink {
                let mut source = FoundSource {
                    facts: reading::source_entry(below, kind),
                    content: None,
                    metadata: None,
                    has_events: false,
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
                b"content" => source.content = Some(kind),
                b"metadata.json" => source.metadata = Some(kind),
                b"events.jsonl" => source.has_events = kind == Kind::File,
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
enum Got {
    Bytes(Vec<u8>),
    Missing,
    NotFile(Kind),
    Unreadable(String),
}

fn read(tree: &Tree, path: &[u8], limit: u64) -> Got {
    let result = RelPath::new(path).and_then(|rel| tree.read(&rel, limit));
    match result {
        Ok(Some(file)) => Got::Bytes(file.bytes),
        Ok(None) => Got::Missing,
        Err(error) => match other_kind(&error) {
            Some(kind) => Got::NotFile(kind),
            None => Got::Unreadable(reason(&error)),
        },
    }
}

fn read_schema(tree: &Tree, kind: Option<Kind>, facts: &mut Facts) {
    facts.schema = match kind {
        None => SchemaFacts::Missing,
        Some(Kind::File) => match read(tree, b"schema.md", MAX_SCHEMA_BYTES) {
            Got::Bytes(bytes) => {
                facts.files_examined += 1;
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
        Some(kind) => SchemaFacts::NotFile(kind),
    };
}

fn read_sources(
    tree: &Tree,
    found: &[FoundSource],
    ctx: &Context,
    wanted: Wanted,
    facts: &mut Facts,
) -> Result<(), Error> {
    let read = in_parallel(ctx, "reading sources", found, &|source: &FoundSource| {
        let mut facts = source.facts.clone();
        if facts.id().is_none() {
            return (facts, 0);
        }
        let mut examined = 0;
        if let Some(kind) = source.content {
            let path = format!("{}/content", facts.path);
            facts.content = read_content(tree, path.as_bytes(), kind);
            examined += u64::from(matches!(facts.content, ContentFacts::Read { .. }));
        }
        if let Some(kind) = source.metadata {
            let path = format!("{}/metadata.json", facts.path);
            facts.metadata = read_metadata(tree, path.as_bytes(), kind);
            examined += u64::from(matches!(facts.metadata, MetadataFacts::Read(_)));
        }
        if wanted.events && source.has_events {
            let path = format!("{}/events.jsonl", facts.path);
            if let Got::Bytes(bytes) = read(tree, path.as_bytes(), MAX_EVENTS_BYTES) {
                facts.events = parse_events(&bytes).0;
            }
        }
        (facts, examined)
    })?;
    for (source, examined) in read {
        facts.files_examined += examined;
        facts.sources.push(source);
    }
    Ok(())
}

fn read_content(tree: &Tree, path: &[u8], kind: Kind) -> ContentFacts {
    if kind != Kind::File {
        return ContentFacts::NotFile(kind);
    }
    let opened = RelPath::new(path).and_then(|rel| tree.open_file(&rel));
    let (mut file, stamp) = match opened {
        Ok(Some(opened)) => opened,
        Ok(None) => return ContentFacts::Missing,
        Err(error) => {
            return match other_kind(&error) {
                Some(kind) => ContentFacts::NotFile(kind),
                None => ContentFacts::Unreadable(reason(&error)),
            };
        }
    };
    // Most sources are small, and clearing a large buffer costs more than reading them.
    let size = usize::try_from(stamp.size).unwrap_or(CHUNK_BYTES);
    let mut buffer = vec![0; size.clamp(1, CHUNK_BYTES)];
    let mut hasher = Sha256::new();
    let mut lines = LineCounter::default();
    let mut byte_count = 0_u64;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => {
                let bytes = &buffer[..length];
                hasher.update(bytes);
                byte_count += length as u64;
                lines.update(bytes);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return ContentFacts::Unreadable(error.to_string()),
        }
    }
    ContentFacts::Read {
        hash: ContentHash::from_bytes(hasher.finalize().into()),
        byte_count,
        line_count: lines.count(),
    }
}

fn read_metadata(tree: &Tree, path: &[u8], kind: Kind) -> MetadataFacts {
    if kind != Kind::File {
        return MetadataFacts::NotFile(kind);
    }
    match read(tree, path, MAX_METADATA_BYTES) {
        Got::Bytes(bytes) => MetadataFacts::Read(examine_metadata(&bytes)),
        Got::Missing => MetadataFacts::Missing,
        Got::NotFile(kind) => MetadataFacts::NotFile(kind),
        Got::Unreadable(reason) => MetadataFacts::Unreadable(reason),
    }
}

fn read_pages(
    tree: &Tree,
    found: &[FoundPage],
    ctx: &Context,
    wanted: Wanted,
    facts: &mut Facts,
) -> Result<(), Error> {
    let limit = ctx.limits.max_page_bytes;
    let read = in_parallel(ctx, "reading pages", found, &|page: &FoundPage| {
        let mut facts = page.facts.clone();
        if page.kind != Kind::File || !matches!(facts.name, PageName::Id(_)) {
            return Some((facts, 0));
        }
        let mut examined = 0;
        facts.file = match read(tree, &page.path, limit) {
            Got::Bytes(bytes) => {
                examined = 1;
                reading::page_file(&bytes, wanted.anchors)
            }
            // It vanished since the walk: as if it had never been there.
            Got::Missing => return None,
            Got::NotFile(kind) => PageFile::NotFile(kind),
            Got::Unreadable(reason) => PageFile::Unreadable(reason),
        };
        Some((facts, examined))
    })?;
    for (page, examined) in read.into_iter().flatten() {
        facts.files_examined += examined;
        facts.pages.push(page);
    }
    Ok(())
}

/// Applies `work` to every item, in order, on a second thread too where that pays.
fn in_parallel<T: Sync, R: Send>(
    ctx: &Context,
    stage: &'static str,
    items: &[T],
    work: &(dyn Fn(&T) -> R + Sync),
) -> Result<Vec<R>, Error> {
    let total = items.len();
    let next = AtomicUsize::new(0);
    let worker = |reports: bool| {
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            if start >= total || ctx.check().is_err() {
                return done;
            }
            if reports {
                ctx.progress(stage, start as u64, Some(total as u64));
            }
            let end = (start + BATCH).min(total);
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

fn read_index(tree: &Tree, search: Option<Kind>, state: Option<Kind>, facts: &mut Facts) {
    let file = |kind: Option<Kind>| match kind {
        None => IndexFile::Missing,
        Some(Kind::File) => IndexFile::NotRead,
        Some(kind) => IndexFile::NotFile(kind),
    };
    facts.index.search = file(search);
    facts.index.state = file(state);
    // One alone is no index, whatever it holds.
    if facts.index.search != IndexFile::NotRead || facts.index.state != IndexFile::NotRead {
        return;
    }
    let search = index_bytes(tree, b".index/search.json", &mut facts.index.search);
    let state = index_bytes(tree, b".index/state.json", &mut facts.index.state);
    let (Some(search), Some(state)) = (search, state) else {
        return;
    };
    facts.files_examined += 2;
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
}

fn index_bytes(tree: &Tree, path: &[u8], file: &mut IndexFile) -> Option<Vec<u8>> {
    *file = match read(tree, path, u64::MAX) {
        Got::Bytes(bytes) => return Some(bytes),
        Got::Missing => IndexFile::Missing,
        Got::NotFile(kind) => IndexFile::NotFile(kind),
        Got::Unreadable(reason) => IndexFile::Unreadable(reason),
    };
    None
}
