//! Looks at every row, and at what rows say about each other. Reads only.
//!
//! Answers faults instead of stopping at the first: a damaged derived row is cured by rebuilding
//! the derived tables, a damaged durable one by salvage, so each fault says which it is. The
//! posting tables check themselves (`index::check`).

use std::ops::Bound;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::codec::Record;
use super::error::StoreError;
use super::rows::{self, AnyRow};
use super::schema::{Nature, TABLES};
use super::snapshot::View;
use super::tables::ROW;
use super::tables::blobs::{self, BLOBS};
use super::tables::citations::{self, CitationsRecord};
use super::tables::links::{self, LinksRecord};
use super::tables::pages::PageRecord;
use super::tables::revisions::{self, RevisionRecord};
use super::tables::sections::SectionRecord;
use super::tables::source_events::SourceEvent;
use super::tables::titles::{self, NamesRecord};
use crate::context::Context;
use crate::error::Result;
use crate::id::{ContentHash, PageId, SourceId};

/// Something that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFault {
    /// Name of the table.
    pub table: &'static str,
    /// What its rows are worth.
    pub nature: Nature,
    /// What is wrong, lower case, without a full stop.
    pub what: String,
}

/// What verification found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Rows of each table, in the order of the schema.
    pub rows: Vec<(&'static str, u64)>,
    /// Content that was read and hashed.
    pub contents: u64,
    /// Faults, by table in the order of the schema, then in key order.
    pub faults: Vec<StoreFault>,
}

/// Rows read between two looks at the cancellation flag.
const STEP: u64 = 1024;

struct Check<'a> {
    view: &'a View,
    context: &'a Context,
    found: Verification,
    done: u64,
    /// The page that a section was last looked for in, with its sections, sorted; none where the
    /// page cannot be read. A page may have many sections, and they lie side by side.
    asked: Option<(String, Option<Vec<u32>>)>,
}

/// A row that was read well.
pub(crate) struct SeenRow<'a> {
    pub(crate) key: &'a [u8],
    /// The sealed record.
    pub(crate) value: &'a [u8],
    pub(crate) row: AnyRow,
}

/// Checks every row of the sealed tables and how they fit together; with `contents`, also reads
/// and hashes all preserved content.
///
/// # Errors
/// `ABORTED` when cancelled. Faults are no errors.
pub fn verify(view: &View, contents: bool, context: &Context) -> Result<Verification> {
    verify_seeing(view, contents, context, &mut |_| {})
}

/// [`verify`], showing each row that can be read, table by table in the order of the schema, in
/// key order.
///
/// # Errors
/// As [`verify`].
pub(crate) fn verify_seeing(
    view: &View,
    contents: bool,
    context: &Context,
    see: &mut dyn FnMut(SeenRow<'_>),
) -> Result<Verification> {
    let mut check = Check {
        view,
        context,
        found: Verification::default(),
        done: 0,
        asked: None,
    };
    let mut counts = Counts::default();
    let mut sketch = Sketch::default();
    // Each table with its faults: a table in doubt is looked at once more.
    let mut faults = Vec::with_capacity(TABLES.len());
    for &(table, nature) in TABLES {
        let mut rows = 0;
        let mut parts = Parts::default();
        let mut scanned = scan(view, table, &mut |key, value| {
            rows += 1;
            check.tick()?;
            sketch.key(table, key);
            match rows::read(table, key, value) {
                Ok(AnyRow::Blob {
                    parts: of,
                    content_bytes,
                    ..
                }) => {
                    sketch.length(key, content_bytes);
                    if let Some(hash) = parts.add(key, of) {
                        check.fault(table, nature, torn(hash));
                    }
                }
                Ok(row) => {
                    counts.add(&row);
                    sketch.row(table, key, &row);
                    see(SeenRow { key, value, row });
                }
                Err(error) => check.fault(table, nature, error.to_string()),
            }
            Ok(())
        })?;
        if let Some(hash) = parts.end() {
            check.fault(table, nature, torn(hash));
        }
        if let Some(error) = scanned.take() {
            check.fault(table, nature, error.to_string());
        }
        check.found.rows.push((table, rows));
        faults.push(std::mem::take(&mut check.found.faults));
    }
    let doubts = sketch.doubts();
    for (&(table, nature), mut faults) in TABLES.iter().zip(faults) {
        if doubts.contains(&table) {
            faults = check.misfits(table, nature)?;
        }
        check.found.faults.append(&mut faults);
    }
    check.counts(&counts);
    if contents {
        check.contents()?;
    }
    Ok(check.found)
}

/// Visits each raw row of a table where it lies, in key order. Answers the error that ended the
/// scan early, if one did; what `visit` fails with ends it as a failure. `visit` runs inside the
/// guard and must not turn to the view again.
fn scan(view: &View, table: &'static str, visit: &mut VisitRow<'_>) -> Result<Option<StoreError>> {
    let mut failed = None;
    let scanned = view.with_bytes(table, |rows| {
        for row in rows.range(Bound::Unbounded, Bound::Unbounded)? {
            let (key, value) = row?;
            if let Err(error) = visit(key.value(), value.value()) {
                failed = Some(error);
                break;
            }
        }
        Ok(())
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(scanned.err()),
    }
}

/// Takes the key and the value of a raw row.
pub(crate) type VisitRow<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Most rows that a walk reads at a time, and most bytes.
const RUN_ROWS: usize = 256;
const RUN_BYTES: usize = 1 << 20;

/// Calls `visit` for each raw row of a table, in key order. Answers the error that ended the walk
/// early, if one did; what `visit` fails with ends it as a failure.
pub(crate) fn walk(
    view: &View,
    table: &'static str,
    visit: &mut VisitRow<'_>,
) -> Result<Option<StoreError>> {
    let mut from = Bound::Unbounded;
    loop {
        let mut run = Run::default();
        let read = view.with_bytes(table, |rows| {
            let rows = rows.range(from.as_ref().map(Vec::as_slice), Bound::Unbounded)?;
            run.fill(rows)
        });
        match run.visit(read, visit)? {
            Next::After(key) => from = Bound::Excluded(key),
            Next::End(error) => return Ok(error),
        }
    }
}

/// As [`walk`], from the largest key down to those above `floor`.
pub(crate) fn walk_back(
    view: &View,
    table: &'static str,
    floor: &[u8],
    visit: &mut VisitRow<'_>,
) -> Result<Option<StoreError>> {
    let mut to = None::<Vec<u8>>;
    loop {
        let mut run = Run::default();
        let read = view.with_bytes(table, |rows| {
            let to = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            run.fill(rows.range(Bound::Excluded(floor), to)?.rev())
        });
        match run.visit(read, visit)? {
            Next::After(key) => to = Some(key),
            Next::End(error) => return Ok(error),
        }
    }
}

/// Raw rows read in one go.
#[derive(Default)]
struct Run(Vec<(Vec<u8>, Vec<u8>)>);

/// How to go on after a run.
enum Next {
    After(Vec<u8>),
    End(Option<StoreError>),
}

impl Run {
    /// Reads rows until the run is full. Answers whether it is.
    fn fill<'a>(
        &mut self,
        rows: impl Iterator<
            Item = Result<
                (
                    redb::AccessGuard<'a, &'static [u8]>,
                    redb::AccessGuard<'a, &'static [u8]>,
                ),
                redb::StorageError,
            >,
        >,
    ) -> Result<bool, StoreError> {
        let mut bytes = 0;
        for row in rows {
            let (key, value) = row?;
            bytes += value.value().len();
            self.0.push((key.value().to_vec(), value.value().to_vec()));
            if self.0.len() >= RUN_ROWS || bytes >= RUN_BYTES {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Visits what was read; rows before a failure were read well.
    fn visit(
        mut self,
        read: Result<Option<bool>, StoreError>,
        visit: &mut VisitRow<'_>,
    ) -> Result<Next> {
        for (key, value) in &self.0 {
            visit(key, value)?;
        }
        Ok(match (read, self.0.pop()) {
            (Err(error), _) => Next::End(Some(error)),
            (Ok(Some(true)), Some((key, _))) => Next::After(key),
            _ => Next::End(None),
        })
    }
}

fn torn(hash: ContentHash) -> String {
    format!("the parts of the preserved content {hash} do not fit together")
}

/// What `meta` counts.
#[derive(Debug, Default)]
struct Counts {
    pages: u64,
    sources: u64,
    sections: u64,
    length: u64,
}

impl Counts {
    fn add(&mut self, row: &AnyRow) {
        match row {
            AnyRow::Page(_) => self.pages += 1,
            AnyRow::Source(_) => self.sources += 1,
            AnyRow::Section(section) => {
                self.sections += 1;
                self.length += u64::from(section.length);
            }
            _ => {}
        }
    }
}

/// Follows the parts of blobs, which are neighbours in key order.
#[derive(Debug, Default)]
struct Parts {
    /// The blob at hand: its hash, how many parts it has, how many were seen in order.
    open: Option<(ContentHash, u32, u32)>,
}

impl Parts {
    /// Takes the next row; answers the blob that turns out not to be whole.
    fn add(&mut self, key: &[u8], parts: u32) -> Option<ContentHash> {
        let (hash, number) = blobs::split_key(key)?;
        match &mut self.open {
            Some((open, of, seen)) if *open == hash => {
                if *of == parts && *seen == number {
                    *seen += 1;
                }
                None
            }
            _ => {
                let broken = self.end();
                self.open = Some((hash, parts, u32::from(number == 0)));
                broken
            }
        }
    }

    /// The blob at hand, if it is not whole.
    fn end(&mut self) -> Option<ContentHash> {
        self.open
            .take()
            .filter(|(_, of, seen)| of != seen)
            .map(|(hash, ..)| hash)
    }
}

/// What tables say about each other, in so little memory that one pass over the rows can check it:
/// two sets that must be equal are compared by the sums of their members' hashes, and what must be
/// found in a table is looked for in its sorted keys. Where something does not fit, the table is in
/// doubt, and [`Check::misfit`] names what it is.
#[derive(Debug, Default)]
struct Sketch {
    doubts: Vec<&'static str>,
    /// Each preserved content, by hash.
    blobs: Vec<Content>,
    /// Revision of each page, sorted once the pages were read.
    page_revisions: Vec<u64>,
    /// How many of them were met among the revisions, or passed.
    met: usize,
    /// All pages.
    pages: u64,
    /// Sections with their pages, as pages list them less as sections say.
    sections: u64,
    indexed: [Indexed; INDEXED.len()],
}

#[derive(Debug, Clone, Copy)]
struct Content {
    hash: ContentHash,
    /// None where its first part is unreadable.
    length: Option<u64>,
}

/// The tables that hold an index of their own rows.
const INDEXED: [&str; 4] = [
    RevisionRecord::TABLE,
    CitationsRecord::TABLE,
    LinksRecord::TABLE,
    NamesRecord::TABLE,
];

#[derive(Debug, Default, Clone, Copy)]
struct Indexed {
    /// Entries that rows demand, less those that are there.
    entries: u64,
    /// Pages that have a row; each must have one, but for revisions.
    pages: u64,
}

impl Sketch {
    /// Takes the key of the next row, readable or not.
    fn key(&mut self, table: &'static str, key: &[u8]) {
        match table {
            BLOBS => {
                if let Some((hash, 0)) = blobs::split_key(key) {
                    self.blobs.push(Content { hash, length: None });
                }
            }
            RevisionRecord::TABLE if key.first() == Some(&ROW) => {
                if self.met == 0 {
                    self.page_revisions.sort_unstable();
                }
                let seq = revisions::seq_of(key).unwrap_or_default();
                while let Some(&wanted) = self.page_revisions.get(self.met)
                    && wanted <= seq
                {
                    if wanted < seq {
                        self.doubt(PageRecord::TABLE);
                    }
                    self.met += 1;
                }
            }
            _ => {}
        }
    }

    /// Takes the length of a content, which the part with this key tells.
    fn length(&mut self, key: &[u8], content_bytes: u64) {
        if let (Some((hash, 0)), Some(last)) = (blobs::split_key(key), self.blobs.last_mut())
            && last.hash == hash
        {
            last.length = Some(content_bytes);
        }
    }

    /// Takes a row that was read.
    fn row(&mut self, table: &'static str, key: &[u8], row: &AnyRow) {
        match row {
            AnyRow::Source(source) => {
                let content = hash_of(key).and_then(|hash| self.blob(&hash));
                let fits = |length: u64| length == source.byte_count;
                if content.is_none_or(|content| !content.length.is_none_or(fits)) {
                    self.doubt(table);
                }
            }
            AnyRow::SourceEvent(event)
                if names_its_event(key, event).is_none_or(|(_, named)| !named) =>
            {
                self.doubt(table);
            }
            AnyRow::Page(page) => {
                let named = std::str::from_utf8(key).is_ok_and(|id| PageId::parse(id).is_ok());
                if !named || self.blob(&page.sha256).is_none() {
                    self.doubt(table);
                }
                self.page_revisions.push(page.revision);
                self.pages = self.pages.wrapping_add(xxh3_64(key));
                for &section in &page.sections {
                    self.sections = self.sections.wrapping_add(section_mark(section, key));
                }
            }
            AnyRow::Section(section) => {
                let Ok(number) = key.try_into().map(u32::from_be_bytes) else {
                    return;
                };
                let mark = section_mark(number, section.page.as_bytes());
                self.sections = self.sections.wrapping_sub(mark);
            }
            AnyRow::Revision(revision) => {
                if revision
                    .sha256
                    .is_some_and(|hash| self.blob(&hash).is_none())
                {
                    self.doubt(table);
                }
                let seq = revisions::seq_of(key).unwrap_or_default();
                let entry = xxh3_64(&revisions::index_key(&revision.page, seq));
                if let Some(indexed) = self.indexed(table) {
                    indexed.entries = indexed.entries.wrapping_add(entry);
                }
            }
            AnyRow::Names(_) | AnyRow::Links(_) | AnyRow::Citations(_) => {
                let page = key.get(1..).unwrap_or_default();
                let demanded = match std::str::from_utf8(page) {
                    Ok(page) => entries_of(page, row),
                    Err(_) => return self.doubt(table),
                };
                if let Some(indexed) = self.indexed(table) {
                    indexed.pages = indexed.pages.wrapping_add(xxh3_64(page));
                    for entry in demanded {
                        indexed.entries = indexed.entries.wrapping_add(xxh3_64(&entry));
                    }
                }
            }
            AnyRow::Entry => {
                if let Some(indexed) = self.indexed(table) {
                    indexed.entries = indexed.entries.wrapping_sub(xxh3_64(key));
                }
            }
            _ => {}
        }
    }

    fn doubt(&mut self, table: &'static str) {
        if !self.doubts.contains(&table) {
            self.doubts.push(table);
        }
    }

    /// This content, if it is here.
    fn blob(&self, hash: &ContentHash) -> Option<Content> {
        let at = self
            .blobs
            .binary_search_by_key(hash, |content| content.hash);
        at.ok().map(|at| self.blobs[at])
    }

    fn indexed(&mut self, table: &str) -> Option<&mut Indexed> {
        let at = INDEXED.iter().position(|known| *known == table)?;
        self.indexed.get_mut(at)
    }

    /// The tables whose rows are to be looked at one by one.
    fn doubts(mut self) -> Vec<&'static str> {
        if self.met < self.page_revisions.len() {
            self.doubt(PageRecord::TABLE);
        }
        if self.sections != 0 {
            self.doubt(PageRecord::TABLE);
            self.doubt(SectionRecord::TABLE);
        }
        for (table, Indexed { entries, pages }) in INDEXED.into_iter().zip(self.indexed) {
            if entries != 0 || table != RevisionRecord::TABLE && pages != self.pages {
                self.doubt(table);
            }
        }
        self.doubts
    }
}

/// Stands for a section and its page.
fn section_mark(section: u32, page: &[u8]) -> u64 {
    xxh3_64_with_seed(page, u64::from(section))
}

/// The source of an event's key, and whether the key names just this event.
fn names_its_event(key: &[u8], event: &SourceEvent) -> Option<(SourceId, bool)> {
    let source = SourceId::from_hash(hash_of(key)?);
    let named = key.get(32..) == Some(event.identity(source).as_bytes().as_slice());
    Some((source, named))
}

impl Check<'_> {
    /// The faults of a table, each row compared with those that it speaks of.
    fn misfits(&mut self, table: &'static str, nature: Nature) -> Result<Vec<StoreFault>> {
        let walked = walk(self.view, table, &mut |key, value| {
            self.tick()?;
            match rows::read(table, key, value) {
                Ok(row) => {
                    if let Some(what) = self.misfit(table, key, &row) {
                        self.fault(table, nature, what);
                    }
                }
                Err(error) => self.fault(table, nature, error.to_string()),
            }
            Ok(())
        })?;
        if let Some(error) = walked {
            self.fault(table, nature, error.to_string());
        }
        if INDEXED.contains(&table) && table != RevisionRecord::TABLE {
            // What ends the walk of the pages early is told of that table.
            walk(self.view, PageRecord::TABLE, &mut |page, _| {
                self.tick()?;
                let row = super::tables::key(ROW, &[page]);
                if matches!(self.view.has(table, &row), Ok(false)) {
                    let what = format!("page \"{}\" is not in {table}", page.escape_ascii());
                    self.fault(table, nature, what);
                }
                Ok(())
            })?;
        }
        Ok(std::mem::take(&mut self.found.faults))
    }

    fn tick(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(STEP) {
            self.context.check()?;
            self.context.progress("checking the store", self.done, None);
        }
        Ok(())
    }

    fn fault(&mut self, table: &'static str, nature: Nature, what: String) {
        self.found.faults.push(StoreFault {
            table,
            nature,
            what,
        });
    }

    /// How a readable row contradicts other rows. What cannot be read is reported where it stands,
    /// so an unreadable other row is no contradiction.
    fn misfit(&mut self, table: &'static str, key: &[u8], row: &AnyRow) -> Option<String> {
        let view = self.view;
        match row {
            AnyRow::Source(source) => {
                let hash = hash_of(key)?;
                match view.blob_len(&hash) {
                    Ok(None) => Some(format!("the content of source {hash} is missing")),
                    Ok(Some(length)) if length != source.byte_count => Some(format!(
                        "source {hash} is said to have {} bytes and has {length}",
                        source.byte_count
                    )),
                    _ => None,
                }
            }
            AnyRow::SourceEvent(event) => {
                let (source, named) = names_its_event(key, event)?;
                (!named).then(|| format!("an event of source {source} is not the one of its key"))
            }
            AnyRow::Page(page) => {
                let id = std::str::from_utf8(key)
                    .ok()
                    .and_then(|id| PageId::parse(id).ok());
                let Some(id) = id else {
                    return Some(format!("\"{}\" is no page id", key.escape_ascii()));
                };
                if matches!(view.has_blob(&page.sha256), Ok(false)) {
                    return Some(format!("the text of page {id} is missing"));
                }
                if matches!(view.revision(page.revision), Ok(None)) {
                    return Some(format!(
                        "revision {} of page {id} is missing",
                        page.revision
                    ));
                }
                let foreign = |section: &u32| match view.section(*section) {
                    Ok(found) => found.is_none_or(|found| found.page != id.as_str()),
                    Err(_) => false,
                };
                page.sections
                    .iter()
                    .any(foreign)
                    .then(|| format!("page {id} lists sections that are not its own"))
            }
            AnyRow::Section(section) => {
                let number = u32::from_be_bytes(key.try_into().ok()?);
                let listed = match &self.asked {
                    Some((page, listed)) if *page == section.page => listed,
                    _ => {
                        let listed = match view.get::<PageRecord>(section.page.as_bytes()) {
                            Ok(page) => {
                                let mut listed = page.map(|page| page.sections).unwrap_or_default();
                                listed.sort_unstable();
                                Some(listed)
                            }
                            Err(_) => None,
                        };
                        &self.asked.insert((section.page.clone(), listed)).1
                    }
                };
                let listed = listed
                    .as_ref()
                    .is_none_or(|listed| listed.binary_search(&number).is_ok());
                (!listed).then(|| format!("section {number} belongs to no page"))
            }
            AnyRow::Revision(revision) => {
                let seq = revisions::seq_of(key)?;
                let entry = revisions::index_key(&revision.page, seq);
                if matches!(view.has(table, &entry), Ok(false)) {
                    return Some(format!("revision {seq} is not in the history of its page"));
                }
                let lost = |hash| matches!(view.has_blob(&hash), Ok(false));
                revision
                    .sha256
                    .is_some_and(lost)
                    .then(|| format!("the text of revision {seq} is missing"))
            }
            AnyRow::Names(_) | AnyRow::Links(_) | AnyRow::Citations(_) => {
                let page = std::str::from_utf8(key.get(1..)?).ok()?;
                let missing = |entry: &Vec<u8>| matches!(view.has(table, entry), Ok(false));
                if entries_of(page, row).iter().any(missing) {
                    return Some(format!("page {page} is not found by all its {table}"));
                }
                matches!(view.has(PageRecord::TABLE, page.as_bytes()), Ok(false))
                    .then(|| format!("{table} of page {page}, which does not exist"))
            }
            AnyRow::Entry => self.stray(table, key),
            _ => None,
        }
    }

    /// Whether an index entry lacks the record that it was made from.
    fn stray(&self, table: &'static str, key: &[u8]) -> Option<String> {
        let page_of = |table: &str| -> Option<&str> {
            let rest = key.get(1..)?;
            let page = match table {
                CitationsRecord::TABLE => rest.get(32..)?,
                RevisionRecord::TABLE => rest.get(..rest.len().checked_sub(9)?)?,
                _ => rest.get(rest.iter().position(|&byte| byte == 0)? + 1..)?,
            };
            std::str::from_utf8(page).ok()
        };
        let found = || format!("a stray index entry \"{}\"", key.escape_ascii());
        let Some(page) = page_of(table) else {
            return Some(found());
        };
        if table == RevisionRecord::TABLE {
            let revision = self.view.revision(revisions::seq_of(key)?);
            let named = match revision {
                Ok(revision) => revision.is_some_and(|revision| revision.page == page),
                Err(_) => true,
            };
            return (!named).then(found);
        }
        let row_key = super::tables::key(ROW, &[page.as_bytes()]);
        let record = self
            .view
            .with_bytes(table, |rows| match rows.get(&row_key)? {
                Some(value) => rows::read(table, &row_key, value.value()).map(Some),
                None => Ok(None),
            });
        match record.map(Option::flatten) {
            Ok(Some(row)) if entries_of(page, &row).iter().any(|entry| entry == key) => None,
            Err(_) => None,
            Ok(_) => Some(found()),
        }
    }

    fn counts(&mut self, counted: &Counts) {
        let meta = &self.view.meta;
        for (what, said, found) in [
            ("pages", meta.page_count, counted.pages),
            ("sources", meta.source_count, counted.sources),
            ("sections", meta.section_count, counted.sections),
            ("tokens", meta.total_length, counted.length),
        ] {
            if said != found {
                let what = format!("the store counts {said} {what} and holds {found}");
                self.fault("meta", Nature::Derived, what);
            }
        }
    }

    fn contents(&mut self) -> Result<()> {
        let hashes = match self.view.blob_hashes() {
            Ok(hashes) => hashes,
            Err(error) => {
                self.fault(BLOBS, Nature::Durable, error.to_string());
                return Ok(());
            }
        };
        let total = hashes.len() as u64;
        for (done, hash) in hashes.iter().enumerate() {
            self.context.check()?;
            self.context
                .progress("checking preserved content", done as u64, Some(total));
            if let Err(error) = self.view.blob(hash) {
                self.fault(BLOBS, Nature::Durable, error.to_string());
            }
            self.found.contents += 1;
        }
        Ok(())
    }
}

/// The index entries that a record of `page` must have.
fn entries_of(page: &str, row: &AnyRow) -> Vec<Vec<u8>> {
    match row {
        AnyRow::Names(names) => titles::index_keys(page, names),
        AnyRow::Links(record) => links::index_keys(page, record),
        AnyRow::Citations(record) => citations::index_keys(page, record),
        _ => Vec::new(),
    }
}

fn hash_of(key: &[u8]) -> Option<ContentHash> {
    key.first_chunk::<32>()
        .map(|bytes| ContentHash::from_bytes(*bytes))
}
