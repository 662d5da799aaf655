//! Takes what is whole out of a damaged store and puts it into a new one. Never writes the old
//! file: redb opens it through an overlay that keeps its repairs in memory.
//!
//! First the tables are walked, from both ends where the middle is torn. Only for a table whose
//! walk failed are rows then carved: every page of the file that looks like a leaf is read, and a
//! row counts when its checksum, which covers table and key, holds. Carving also finds rows that
//! were removed, so a table that reads whole is never carved, and a source that was purged on
//! purpose stays purged. Content counts when it hashes to its name.
//!
//! Salvaged are contents, sources with their events, revisions, and intents. Present pages are
//! answered, not put: adoption compares them with the tree. Local and derived rows are forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;

use redb::{Builder, Database, ReadableDatabase};

use super::backend::Overlay;
use super::blobs::Assembly;
use super::codec::Record;
use super::error::{StoreError, guard};
use super::open::Store;
use super::rows::{self, AnyRow};
use super::schema::{Meta, StateRow};
use super::snapshot::View;
use super::tables::blobs::{self, BLOBS};
use super::tables::intents::IntentRecord;
use super::tables::pages::PageRecord;
use super::tables::projects::ProjectRecord;
use super::tables::revisions::{self, RevisionRecord};
use super::tables::source_events::{SourceEvent, SourceEventKind};
use super::tables::sources::SourceRecord;
use super::verify::{walk, walk_back};
use crate::context::Context;
use crate::error::Result;
use crate::id::{ContentHash, PageId, SourceId};
use crate::tree::{StoreOpen, Tree};

/// Memory for pages while the old file is read.
const CACHE_BYTES: usize = 64 << 20;
/// Most rows and bytes in one batch of the new store.
const BATCH_ROWS: usize = 256;
const BATCH_BYTES: usize = 32 << 20;

/// What was taken out of a damaged store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Sources put into the new store.
    pub sources: u64,
    /// Events of sources put into the new store.
    pub events: u64,
    /// Revisions put into the new store, under the numbers they had.
    pub revisions: u64,
    /// Contents put into the new store.
    pub contents: u64,
    /// Promises to the tree put into the new store.
    pub intents: u64,
    /// Rows found by carving, among those above and their contents' parts.
    pub carved: u64,
    /// Present pages as the old store knew them, by id; not put into the new store.
    pub pages: BTreeMap<PageId, PageRecord>,
    /// What could not be saved, in words; empty when nothing is known to be lost.
    pub lost: Vec<String>,
}

/// Looks for content elsewhere (in the tree) when the old store has lost it.
pub type FindContent<'a> = dyn FnMut(ContentHash) -> Option<Vec<u8>> + 'a;

/// Salvages the store file `name` of `tree` into `new`.
///
/// # Errors
/// `ABORTED` when cancelled, and failures of the new store. Damage of the old one is no error.
pub fn salvage(
    tree: &Tree,
    name: &str,
    new: &Store,
    find: &mut FindContent<'_>,
    context: &Context,
) -> Result<Salvage> {
    let mut finds = Finds::default();
    let mut report = Salvage::default();
    let Some(old) = tree.store_file(name, StoreOpen::ReadOnly)? else {
        return Ok(report);
    };
    let file = old.file;
    let reopened = file.try_clone().map_err(StoreError::from)?;
    let database = open_overlay(reopened);
    let view = database.as_ref().ok().and_then(view_of);
    let mut torn = BTreeSet::new();
    for table in WANTED {
        if let Some(error) = finds.walk(view.as_ref(), table, context)? {
            torn.insert(table);
            report
                .lost
                .push(format!("not all of {table} can be read in order ({error})"));
        }
    }
    let mut parts = CarvedParts::new();
    if !torn.is_empty() {
        report.carved = finds.carve(&file, &torn, &mut parts, context)?;
    }
    finds.put(
        view.as_ref(),
        &file,
        &parts,
        new,
        find,
        &mut report,
        context,
    )?;
    // The snapshot ends before its database.
    drop(view);
    if let Ok(database) = database {
        let _ = guard(|| {
            drop(database);
            Ok(())
        });
    }
    Ok(report)
}

/// Tables that are salvaged, in the order of their importance.
const WANTED: [&str; 8] = [
    StateRow::TABLE,
    BLOBS,
    SourceRecord::TABLE,
    SourceEvent::TABLE,
    RevisionRecord::TABLE,
    PageRecord::TABLE,
    IntentRecord::TABLE,
    ProjectRecord::TABLE,
];

/// Tables whose rows are never updated, so that an old row is as good as a new one.
fn may_be_carved(table: &str) -> bool {
    [
        BLOBS,
        SourceRecord::TABLE,
        SourceEvent::TABLE,
        RevisionRecord::TABLE,
    ]
    .contains(&table)
}

fn open_overlay(file: File) -> Result<Database, StoreError> {
    if file.metadata()?.len() == 0 {
        return Err(StoreError::damaged("the file is empty"));
    }
    guard(|| {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES);
        Ok(builder.create_with_backend(Overlay::new(file)?)?)
    })
}

fn view_of(database: &Database) -> Option<View> {
    let txn = guard(|| Ok(database.begin_read()?)).ok()?;
    Some(View::read(txn, Meta::new(String::new(), [0; 16])))
}

/// Where carving found the parts of contents: offsets and lengths of stored values in the file.
type CarvedParts = BTreeMap<(ContentHash, u32), Vec<(u64, usize)>>;

/// Rows that were found, without the contents.
#[derive(Default)]
struct Finds {
    state: Option<StateRow>,
    contents: BTreeSet<ContentHash>,
    sources: BTreeMap<SourceId, SourceRecord>,
    events: BTreeMap<(SourceId, ContentHash), SourceEvent>,
    revisions: BTreeMap<u64, RevisionRecord>,
    /// Revisions whose number another one has: of writes that were never finished.
    unnumbered: Vec<RevisionRecord>,
    pages: BTreeMap<PageId, PageRecord>,
    intents: BTreeMap<Vec<u8>, IntentRecord>,
    projects: BTreeMap<String, ProjectRecord>,
}

impl Finds {
    /// Reads a table from the front and, where that ends early, from the back. Answers why it is
    /// not whole, if it is not.
    fn walk(
        &mut self,
        view: Option<&View>,
        table: &'static str,
        context: &Context,
    ) -> Result<Option<StoreError>> {
        let Some(view) = view else {
            return Ok(Some(StoreError::damaged(
                "the file cannot be opened as a database",
            )));
        };
        let mut unreadable = None;
        let mut seen = 0u64;
        let mut last = Vec::new();
        let mut take = |finds: &mut Self, key: &[u8], value: &[u8]| {
            seen += 1;
            if seen.is_multiple_of(1024) {
                context.check()?;
                context.progress("reading the damaged store", seen, None);
            }
            match rows::read(table, key, value) {
                Ok(row) => {
                    finds.take(key, row);
                }
                Err(error) => unreadable = Some(error),
            }
            Ok(())
        };
        let front = walk(view, table, &mut |key, value| {
            key.clone_into(&mut last);
            take(self, key, value)
        })?;
        let ended = match front {
            Some(error) => {
                walk_back(view, table, &last, &mut |key, value| take(self, key, value))?;
                Some(error)
            }
            // A database that lost its catalogue has no rows and no error.
            None if seen == 0 && table == StateRow::TABLE => {
                Some(StoreError::damaged("the store does not say its state"))
            }
            None => None,
        };
        Ok(ended.or(unreadable))
    }

    /// Takes a row. Answers whether it is new.
    fn take(&mut self, key: &[u8], row: AnyRow) -> bool {
        let hash = || {
            key.first_chunk::<32>()
                .map(|bytes| ContentHash::from_bytes(*bytes))
        };
        match row {
            AnyRow::State(state) => self.state.replace(state).is_none(),
            AnyRow::Blob { .. } => hash().is_some_and(|hash| self.contents.insert(hash)),
            AnyRow::Source(record) => hash().is_some_and(|hash| {
                self.sources
                    .insert(SourceId::from_hash(hash), record)
                    .is_none()
            }),
            AnyRow::SourceEvent(event) => hash().is_some_and(|hash| {
                let source = SourceId::from_hash(hash);
                self.events
                    .insert((source, event.identity(source)), event)
                    .is_none()
            }),
            AnyRow::Revision(revision) => {
                let Some(seq) = revisions::seq_of(key) else {
                    return false;
                };
                match self.revisions.get(&seq) {
                    Some(known) if *known == revision => return false,
                    Some(_) if self.unnumbered.contains(&revision) => return false,
                    Some(_) => self.unnumbered.push(revision),
                    None => {
                        self.revisions.insert(seq, revision);
                    }
                }
                true
            }
            AnyRow::Page(page) => {
                let id = std::str::from_utf8(key)
                    .ok()
                    .and_then(|id| PageId::parse(id).ok());
                id.is_some_and(|id| self.pages.insert(id, page).is_none())
            }
            AnyRow::Intent(intent) => self.intents.insert(key.to_vec(), intent).is_none(),
            AnyRow::Project(project) => std::str::from_utf8(key)
                .is_ok_and(|name| self.projects.insert(name.to_owned(), project).is_none()),
            _ => false,
        }
    }

    /// Reads all pages of the file that look like leaves and takes the rows of torn tables.
    fn carve(
        &mut self,
        file: &File,
        torn: &BTreeSet<&'static str>,
        parts: &mut CarvedParts,
        context: &Context,
    ) -> Result<u64> {
        let wanted: Vec<&'static str> = torn
            .iter()
            .copied()
            .filter(|table| may_be_carved(table))
            .collect();
        let mut taken = 0;
        carve(file, context, &mut |key, value, offset| {
            for table in &wanted {
                // A part has a fixed length of key, so this test is cheap for all other rows.
                if let Ok(row) = rows::read(table, key, value) {
                    if matches!(row, AnyRow::Blob { .. })
                        && let Some(name) = blobs::split_key(key)
                    {
                        parts.entry(name).or_default().push((offset, value.len()));
                    }
                    taken += u64::from(self.take(key, row));
                    break;
                }
            }
        })?;
        Ok(taken)
    }

    fn purged(&self) -> BTreeSet<SourceId> {
        self.events
            .iter()
            .filter(|(_, event)| event.kind == SourceEventKind::PURGED)
            .map(|((source, _), _)| *source)
            .collect()
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of one function, cut for reading"
    )]
    fn put(
        mut self,
        view: Option<&View>,
        file: &File,
        parts: &CarvedParts,
        new: &Store,
        find: &mut FindContent<'_>,
        report: &mut Salvage,
        context: &Context,
    ) -> Result<()> {
        let purged = self.purged();
        self.sources.retain(|source, _| !purged.contains(source));
        let mut wanted: BTreeSet<ContentHash> = self.sources.keys().map(SourceId::hash).collect();
        let revisions = self.revisions.values().chain(&self.unnumbered);
        wanted.extend(revisions.filter_map(|revision| revision.sha256));
        wanted.extend(self.pages.values().map(|page| page.sha256));
        wanted.retain(|hash| !purged.contains(&SourceId::from_hash(*hash)));

        let total = wanted.len() as u64;
        let mut batch = new.write()?;
        let (mut waiting_rows, mut waiting_bytes) = (0, 0);
        let mut kept = BTreeSet::new();
        for (done, hash) in wanted.into_iter().enumerate() {
            context.check()?;
            context.progress("saving preserved content", done as u64, Some(total));
            let whole = view.and_then(|view| view.blob(&hash).ok().flatten());
            let bytes = whole
                .or_else(|| carved_content(file, parts, hash))
                .or_else(|| find(hash).filter(|found| ContentHash::of(found) == hash));
            let Some(bytes) = bytes else { continue };
            waiting_rows += 1;
            waiting_bytes += bytes.len();
            batch.put_blob(&bytes)?;
            kept.insert(hash);
            if waiting_rows >= BATCH_ROWS || waiting_bytes >= BATCH_BYTES {
                batch.commit()?;
                batch = new.write()?;
                (waiting_rows, waiting_bytes) = (0, 0);
            }
        }
        report.contents = kept.len() as u64;

        for (source, record) in &self.sources {
            if kept.contains(&source.hash()) {
                batch.put_source(*source, record)?;
                report.sources += 1;
            } else {
                report
                    .lost
                    .push(format!("source {source} ({}): its content", record.name));
            }
        }
        for ((source, _), event) in &self.events {
            batch.put_source_event(*source, event)?;
            report.events += 1;
        }
        if let Some(state) = &self.state {
            batch.meta_mut().replica = state.replica;
            batch.meta_mut().language.clone_from(&state.language);
        }
        let known_end = self.state.as_ref().map_or(1, |state| state.next_revision);
        let found_end = self
            .revisions
            .keys()
            .next_back()
            .map_or(1, |last| last.saturating_add(1));
        let end = known_end.max(found_end);
        // Numbers start at 1.
        let missing = (end - 1).saturating_sub(self.revisions.len() as u64);
        if missing > 0 {
            report
                .lost
                .push(format!("{missing} of {} revisions: unreadable", end - 1));
        }
        let has_text =
            |revision: &RevisionRecord| revision.sha256.is_none_or(|hash| kept.contains(&hash));
        for (seq, revision) in &self.revisions {
            if has_text(revision) {
                batch.put_revision_at(*seq, revision)?;
                report.revisions += 1;
            } else {
                report.lost.push(format!(
                    "revision {seq} of page {}: its text",
                    revision.page
                ));
            }
        }
        batch.meta_mut().next_revision = end;
        for revision in self.unnumbered.iter().filter(|revision| has_text(revision)) {
            batch.add_revision(revision)?;
            report.revisions += 1;
        }
        for (path, intent) in &self.intents {
            batch.put_intent(path, intent)?;
            report.intents += 1;
        }
        for (name, project) in &self.projects {
            batch.put_project(name, project)?;
        }
        batch.commit()?;
        report.pages = self.pages;
        Ok(())
    }
}

/// Content put together from carved parts.
fn carved_content(file: &File, parts: &CarvedParts, hash: ContentHash) -> Option<Vec<u8>> {
    let mut assembly = Assembly::default();
    for ((_, number), places) in parts.range((hash, 0)..=(hash, u32::MAX)) {
        let key = blobs::row_key(hash, *number);
        // Copies of a part are equal, but one may lie on a page that was torn since.
        let value = places.iter().find_map(|&(offset, length)| {
            let mut value = vec![0; length];
            file.read_exact_at(&mut value, offset).ok()?;
            blobs::decode(&key, &value).is_ok().then_some(value)
        })?;
        assembly
            .add(*number, &blobs::decode(&key, &value).ok()?)
            .ok()?;
    }
    assembly.finish(hash).ok()
}

/// Bytes of a page of redb.
const PAGE: usize = 4096;
/// Bytes read at a time.
const CHUNK: usize = 256 * PAGE;
/// Longest leaf that is looked at: a run of pages that holds one large row.
const MAX_LEAF: usize = 4 << 20;

/// Takes key, value, and the value's offset in the file.
type VisitCarved<'a> = dyn FnMut(&[u8], &[u8], u64) + 'a;

/// Calls `visit` with key, value and the value's offset in the file for each row of each page
/// that looks like a leaf of a table from bytes to bytes.
fn carve(file: &File, context: &Context, visit: &mut VisitCarved<'_>) -> Result<()> {
    let length = file.metadata().map_err(StoreError::from)?.len();
    let mut start = 0u64;
    while start < length {
        context.check()?;
        context.progress("searching the damaged store", start, Some(length));
        let chunk = read_up_to(file, start, CHUNK, length);
        for at in (0..chunk.len()).step_by(PAGE) {
            let Some(page) = chunk.get(at..) else { break };
            let offset = start + at as u64;
            match leaf_length(page) {
                Some(needed) if needed <= page.len() => leaf_rows(page, offset, visit),
                Some(needed) => leaf_rows(&read_up_to(file, offset, needed, length), offset, visit),
                None => {}
            }
        }
        start += CHUNK as u64;
    }
    Ok(())
}

/// The bytes from `offset` on, at most `want`; fewer where the file ends or cannot be read.
fn read_up_to(file: &File, offset: u64, want: usize, length: u64) -> Vec<u8> {
    let left = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; want.min(left)];
    if file.read_exact_at(&mut bytes, offset).is_err() {
        // A bad sector: its pages are lost, the others are read one by one.
        let mut at = 0;
        while at < bytes.len() {
            let end = (at + PAGE).min(bytes.len());
            if file
                .read_exact_at(&mut bytes[at..end], offset + at as u64)
                .is_err()
            {
                bytes[at..end].fill(0);
            }
            at = end;
        }
    }
    bytes
}

/// The layout of a leaf (redb's design document, "leaf page"): type 1, a byte of padding, the
/// number of rows, then the ends of all keys, the ends of all values, the keys, the values.
const LEAF: u8 = 1;
const LEAF_HEAD: usize = 4;
/// More rows do not fit one page, and a run of pages holds few.
const MAX_ROWS: usize = PAGE / 8;

fn leaf_row_count(page: &[u8]) -> Option<usize> {
    let head = page.first_chunk::<LEAF_HEAD>()?;
    let rows = usize::from(u16::from_le_bytes([head[2], head[3]]));
    (head[0] == LEAF && rows > 0 && rows <= MAX_ROWS).then_some(rows)
}

fn number_at(page: &[u8], index: usize) -> Option<usize> {
    let at = LEAF_HEAD + 4 * index;
    let bytes = page.get(at..at + 4)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

/// How many bytes the rows of this leaf take; none when it is no leaf.
fn leaf_length(page: &[u8]) -> Option<usize> {
    let rows = leaf_row_count(page)?;
    (0..rows)
        .filter_map(|row| number_at(page, rows + row))
        .filter(|&end| end <= MAX_LEAF)
        .max()
}

fn leaf_rows(page: &[u8], offset: u64, visit: &mut VisitCarved<'_>) {
    let Some(rows) = leaf_row_count(page) else {
        return;
    };
    let first_key = LEAF_HEAD + 8 * rows;
    let end_of = |index: usize| number_at(page, index);
    for row in 0..rows {
        let (key_start, value_start) = if row == 0 {
            (Some(first_key), end_of(rows - 1))
        } else {
            (end_of(row - 1), end_of(rows + row - 1))
        };
        let (Some(key_start), Some(value_start), Some(key_end), Some(value_end)) =
            (key_start, value_start, end_of(row), end_of(rows + row))
        else {
            continue;
        };
        if let (Some(key), Some(value)) = (
            page.get(key_start..key_end),
            page.get(value_start..value_end),
        ) {
            visit(key, value, offset + value_start as u64);
        }
    }
}
