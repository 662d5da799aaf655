//! Taking in what people, git and editors did to the tree.
//!
//! [`scan`] compares the tree with the stamps of the store, by directory handle and without
//! reading what did not change. [`adopt`] takes the differences in, under the lock: sources before
//! pages, deletions before additions. What may be half-saved waits; what is no valid page is kept
//! out and named, and stops nothing.
//!
//! Invariants: bytes whose hash is not their folder's name are never taken in; a whole folder
//! gone is damage and deletes nothing; no text that was ever taken in is lost.

use std::collections::BTreeSet;

use super::prepared::PreparedPage;
use super::put::{self, IndexChanges};
use super::reindex;
use super::session::{Writing, page_of, stamp_record};
use super::sources;
use super::status::SkippedFile;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, PageId, SourceId};
use crate::store::index::{self, IndexSet};
use crate::store::{Batch, How, PageRecord, SkippedRecord, StampRecord, View};
use crate::tree::{self, Flow, Kind, RelPath, Stamp, Tree, TreeError, Walked};

/// A file that was saved less than this ago may still be in the middle of it.
const SETTLED_NS: i64 = 2_000_000_000;
/// Files whose stamp cannot tell are hashed at each look; from here on a write is cheaper.
const STALE_STAMPS: usize = 32;
/// Most operations, and most bytes of text, that one transaction takes in.
pub(super) const BATCH_OPERATIONS: usize = 256;
pub(super) const BATCH_BYTES: usize = 32 << 20;

/// What the tree has and the store does not know.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Page files that are new or changed.
    changed: Vec<RelPath>,
    /// Paths of page files that are gone.
    gone: Vec<Vec<u8>>,
    /// Sources that are new.
    sources: Vec<SourceId>,
    /// Sources whose folder is gone.
    gone_sources: Vec<SourceId>,
    /// Unchanged files whose stamp does not prove it.
    stale: Vec<(RelPath, StampRecord)>,
    /// Whether so many stamps prove nothing that they are worth a write.
    pub(super) is_stale: bool,
    /// What can never be taken in as it is, and why; known from names alone.
    pub(super) misfits: Vec<SkippedFile>,
    /// A symbolic link, which no wiki may hold: reads refuse to answer around it.
    pub(super) link: Option<TreeError>,
}

/// What adoption does about files that may be half-saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// They wait until they are two seconds old.
    Waits,
    /// They are taken as they are.
    None,
}

/// What is left after adoption.
#[derive(Debug, Default)]
pub(super) struct Adopted {
    /// Changes that wait.
    pub(super) pending: u64,
    /// What is kept out and not noted in the store.
    pub(super) misfits: Vec<SkippedFile>,
    /// A symbolic link that was met.
    pub(super) link: Option<TreeError>,
}

impl Difference {
    /// How many changes wait to be taken in.
    pub(super) fn count(&self) -> u64 {
        (self.changed.len() + self.gone.len() + self.sources.len() + self.gone_sources.len()) as u64
    }
}

/// Compares the tree with the stamps.
///
/// # Errors
/// Those of tree and store. A symbolic link is noted, not followed.
pub(super) fn scan(tree: &Tree, view: &View) -> Result<Difference> {
    let mut difference = Difference::default();
    scan_pages(tree, view, &mut difference)?;
    scan_sources(tree, view, &mut difference)?;
    difference.is_stale = difference.stale.len() > STALE_STAMPS;
    Ok(difference)
}

fn scan_pages(tree: &Tree, view: &View, difference: &mut Difference) -> Result<()> {
    let mut stamps = view.stamps(b"pages/").peekable();
    let mut failed: Option<Error> = None;
    let mut gone: Vec<Vec<u8>> = Vec::new();
    // What is below a folder that cannot be read is unknown, not gone.
    let mut unknown: Vec<Vec<u8>> = Vec::new();
    let walked = tree.walk(&RelPath::pages(), &mut |entry| {
        let mut step = || -> Result<()> {
            if entry.kind == Kind::Symlink {
                let path = tree::escape(entry.path);
                difference.link.get_or_insert(TreeError::Symlink { path });
                return Ok(());
            }
            if let Some(error) = entry.unreadable {
                if entry.kind == Kind::Directory {
                    unknown.push([entry.path, b"/"].concat());
                }
                difference.misfits.push(SkippedFile {
                    path: tree::escape(entry.path),
                    code: ErrorCode::UnsafeFilesystem.as_str().to_owned(),
                    reason: error.to_string(),
                });
                return Ok(());
            }
            let is_page = entry.path.ends_with(b".md");
            match entry.kind {
                Kind::File if is_page => {}
                Kind::File => return Ok(()),
                Kind::Directory if !is_page => return Ok(()),
                kind => {
                    difference.misfits.push(SkippedFile {
                        path: tree::escape(entry.path),
                        code: ErrorCode::UnsafeFilesystem.as_str().to_owned(),
                        reason: format!("is {kind}, not a page file"),
                    });
                    return Ok(());
                }
            }
            // Everything below the path of this file that was known and not met is gone.
            let mut known = None;
            while let Some(next) = stamps.peek() {
                match next {
                    Ok((path, _)) if path.as_slice() < entry.path => {
                        gone.push(path.clone());
                        stamps.next();
                    }
                    Ok((path, record)) => {
                        if path.as_slice() == entry.path {
                            known = Some(*record);
                            stamps.next();
                        }
                        break;
                    }
                    Err(_) => {
                        if let Some(Err(error)) = stamps.next() {
                            return Err(error.into());
                        }
                    }
                }
            }
            let path = RelPath::new(entry.path)?;
            let id = match page_id(entry.path) {
                Ok(id) => id,
                Err(reason) => {
                    difference.misfits.push(SkippedFile {
                        path: tree::escape(entry.path),
                        code: ErrorCode::InvalidPath.as_str().to_owned(),
                        reason,
                    });
                    return Ok(());
                }
            };
            if let (Some(known), Some(stamp)) = (&known, &entry.stamp)
                && same_stamp(known, stamp)
                && !stamp.is_racy(known.seen_ns)
            {
                return Ok(());
            }
            let expected = match &known {
                Some(known) => Some(known.sha256),
                // Written by us, and the stamp not yet noted.
                None => view.page(&id)?.map(|page| page.sha256),
            };
            if let Some(expected) = expected
                && let Ok(Some(file)) = tree.read(&path, u64::MAX)
                && ContentHash::of(&file.bytes) == expected
            {
                difference
                    .stale
                    .push((path, stamp_record(&file.stamp, file.seen_ns, expected)));
                return Ok(());
            }
            difference.changed.push(path);
            Ok(())
        };
        match step() {
            Ok(()) => Flow::Continue,
            Err(error) => {
                failed = Some(error);
                Flow::Stop
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    if walked == Walked::Complete {
        for row in stamps {
            gone.push(row?.0);
        }
        gone.retain(|path| !unknown.iter().any(|folder| path.starts_with(folder)));
        difference.gone = gone;
    }
    Ok(())
}

/// The page id of a file below `pages/`, or what is wrong with its name.
pub(super) fn page_id(path: &[u8]) -> std::result::Result<PageId, String> {
    let name = std::str::from_utf8(path).map_err(|_| "the name is not UTF-8".to_owned())?;
    let name = name.strip_prefix("pages/").unwrap_or(name);
    let name = name.strip_suffix(".md").unwrap_or(name);
    PageId::parse(name).map_err(|error| error.to_string())
}

fn same_stamp(known: &StampRecord, stamp: &Stamp) -> bool {
    (known.size, known.inode, known.mtime_ns, known.ctime_ns)
        == (stamp.size, stamp.inode, stamp.mtime_ns, stamp.ctime_ns)
}

fn scan_sources(tree: &Tree, view: &View, difference: &mut Difference) -> Result<()> {
    let Some(entries) = tree.source_names()? else {
        return Ok(());
    };
    let mut stamps = view.stamps(b"sources/").peekable();
    for entry in &entries {
        if entry.kind == Kind::Symlink {
            let path = format!("sources/{}", tree::escape(&entry.name));
            difference.link.get_or_insert(TreeError::Symlink { path });
            continue;
        }
        let Some(id) = entry.name_str().and_then(|name| SourceId::parse(name).ok()) else {
            continue;
        };
        let path = stamp_path(id);
        let mut known = false;
        while let Some(next) = stamps.next_if(|row| match row {
            Ok((stamped, _)) => stamped.as_slice() <= path.as_slice(),
            Err(_) => true,
        }) {
            let (stamped, _) = next?;
            if stamped == path {
                known = true;
                break;
            }
            difference.gone_sources.extend(source_of(&stamped));
        }
        if known {
            continue;
        }
        match view.skipped_at(&path)? {
            // Looked at before and found wanting: it may have been mended since.
            Some(why) => match sources::examine(tree, id) {
                Ok(_) => difference.sources.push(id),
                Err(error) => difference.misfits.push(SkippedFile {
                    path: format!("sources/{id}"),
                    code: why.code,
                    reason: error.to_string(),
                }),
            },
            None => difference.sources.push(id),
        }
    }
    for row in stamps {
        difference.gone_sources.extend(source_of(&row?.0));
    }
    Ok(())
}

/// Path under which the store notes that a source is in the tree.
pub(super) fn stamp_path(id: SourceId) -> Vec<u8> {
    format!("sources/{id}").into_bytes()
}

fn source_of(path: &[u8]) -> Option<SourceId> {
    let name = std::str::from_utf8(path).ok()?.strip_prefix("sources/")?;
    SourceId::parse(name).ok()
}

/// The stamp of a source: that it is there.
pub(super) fn source_stamp(id: SourceId) -> StampRecord {
    StampRecord {
        size: 0,
        inode: 0,
        mtime_ns: 0,
        ctime_ns: 0,
        seen_ns: 0,
        sha256: id.hash(),
    }
}

/// Takes in what changed in the tree. Returns what still waits: files that may be half-saved, or
/// everything while git is switching branches.
///
/// # Errors
/// `UNSAFE_FILESYSTEM`, `STORE_FULL`; what was taken in before stays.
pub(super) fn adopt(writing: &Writing<'_>, patience: Patience) -> Result<Adopted> {
    let view = writing.store.read()?;
    let mut difference = scan(&writing.tree, &view)?;
    let mut adopted = Adopted {
        pending: 0,
        misfits: std::mem::take(&mut difference.misfits),
        link: difference.link.take(),
    };
    if difference.count() == 0 && !difference.is_stale {
        return Ok(adopted);
    }
    if patience == Patience::Waits && tree::git_is_busy(writing.tree.path()) {
        adopted.pending = difference.count();
        return Ok(adopted);
    }
    let known = view.meta().page_count;
    drop(view);
    let many = difference.changed.len() as u64;
    if many > BATCH_OPERATIONS as u64 && many * 4 > known {
        adopt_whole(writing, patience, &difference, &mut adopted)?;
    } else {
        adopt_in_batches(writing, patience, &difference, &mut adopted)?;
    }
    Ok(adopted)
}

/// One transaction, the index made anew at its end: for a store that knows little of the tree.
fn adopt_whole(
    writing: &Writing<'_>,
    patience: Patience,
    difference: &Difference,
    adopted: &mut Adopted,
) -> Result<()> {
    let mut batch = writing.batch()?;
    let mut taker = Taker::new(writing, patience, IndexChanges::deferred());
    let total = work(difference).count() as u64;
    for (done, work) in (1..).zip(work(difference)) {
        writing.ctx.check()?;
        taker.take(&mut batch, &work)?;
        writing.ctx.progress("reading the tree", done, Some(total));
    }
    put_stamps(&mut batch, &difference.stale)?;
    taker.mend_citations(&mut batch)?;
    reindex::rebuild_index(writing.ctx, &mut batch, writing.analysis())?;
    writing.commit(batch)?;
    taker.left(adopted);
    Ok(())
}

fn adopt_in_batches(
    writing: &Writing<'_>,
    patience: Patience,
    difference: &Difference,
    adopted: &mut Adopted,
) -> Result<()> {
    let total = work(difference).count() as u64;
    let mut done = 0;
    let mut queue = work(difference).peekable();
    let mut stale = Some(&difference.stale);
    while queue.peek().is_some() || stale.is_some() {
        writing.ctx.check()?;
        let mut batch = writing.batch()?;
        let mut taker = Taker::new(writing, patience, IndexChanges::default());
        for _ in 0..BATCH_OPERATIONS {
            if taker.bytes >= BATCH_BYTES {
                break;
            }
            let Some(next) = queue.next() else { break };
            taker.take(&mut batch, &next)?;
            done += 1;
            writing.ctx.progress("reading the tree", done, Some(total));
        }
        if let Some(stale) = stale.take() {
            put_stamps(&mut batch, stale)?;
        }
        taker.mend_citations(&mut batch)?;
        std::mem::take(&mut taker.index).apply(&mut batch)?;
        if queue.peek().is_none() && total > BATCH_OPERATIONS as u64 {
            index::tidy(&mut batch, IndexSet::Pages)?;
        }
        writing.commit(batch)?;
        taker.left(adopted);
    }
    Ok(())
}

/// What there is to do, in the order in which it is safe: sources before the pages that cite
/// them, deletions before additions.
fn work(difference: &Difference) -> impl Iterator<Item = Work<'_>> {
    let sources = difference.sources.iter().map(|&id| Work::Source(id));
    let gone_sources = difference
        .gone_sources
        .iter()
        .map(|&id| Work::SourceGone(id));
    let gone = difference.gone.iter().map(|path| Work::PageGone(path));
    let changed = difference.changed.iter().map(Work::Page);
    sources.chain(gone_sources).chain(gone).chain(changed)
}

/// A source whose folder is gone. The bytes stay in the store: only `purge-source` removes
/// evidence.
fn source_gone(batch: &mut Batch, id: SourceId) -> Result<()> {
    batch.remove_stamp(&stamp_path(id))?;
    Ok(())
}

fn put_stamps(batch: &mut Batch, stamps: &[(RelPath, StampRecord)]) -> Result<()> {
    for (path, stamp) in stamps {
        batch.put_stamp(path.as_bytes(), stamp)?;
    }
    Ok(())
}

enum Work<'a> {
    Source(SourceId),
    SourceGone(SourceId),
    PageGone(&'a [u8]),
    Page(&'a RelPath),
}

/// Takes single things into one batch.
struct Taker<'w> {
    writing: &'w Writing<'w>,
    index: IndexChanges,
    /// Sources that came in: pages that cite them no longer miss them.
    arrived: BTreeSet<SourceId>,
    patience: Patience,
    pending: u64,
    /// Files that may be half-saved, and what is wrong with them as they are.
    waiting: Vec<SkippedFile>,
    bytes: usize,
}

impl<'w> Taker<'w> {
    fn new(writing: &'w Writing<'w>, patience: Patience, index: IndexChanges) -> Self {
        let (arrived, waiting) = (BTreeSet::new(), Vec::new());
        Self {
            writing,
            index,
            arrived,
            patience,
            pending: 0,
            waiting,
            bytes: 0,
        }
    }

    fn take(&mut self, batch: &mut Batch, work: &Work<'_>) -> Result<()> {
        match *work {
            Work::Source(id) => self.source(batch, id),
            Work::SourceGone(id) => source_gone(batch, id),
            Work::PageGone(path) => self.page_gone(batch, path),
            Work::Page(path) => self.page(batch, path),
        }
    }

    /// Adds what this left to what others left.
    fn left(self, adopted: &mut Adopted) {
        adopted.pending += self.pending;
        adopted.misfits.extend(self.waiting);
    }

    /// A file that may be half-saved: nothing is done about it for now.
    fn wait(&mut self, path: &RelPath, code: ErrorCode, reason: String) {
        self.pending += 1;
        self.waiting.push(SkippedFile {
            path: path.to_string(),
            code: code.as_str().to_owned(),
            reason,
        });
    }

    fn source(&mut self, batch: &mut Batch, id: SourceId) -> Result<()> {
        let path = stamp_path(id);
        match sources::examine(&self.writing.tree, id) {
            Ok(found) => {
                self.bytes += found.content.len();
                sources::put(batch, id, &found)?;
                batch.put_stamp(&path, &source_stamp(id))?;
                batch.remove_skipped(&path)?;
                self.arrived.insert(id);
            }
            Err(error) => {
                let why = SkippedRecord {
                    code: error.code().as_str().to_owned(),
                    message: error.message().to_owned(),
                    line: None,
                };
                batch.put_skipped(&path, &why)?;
            }
        }
        Ok(())
    }

    fn page_gone(&mut self, batch: &mut Batch, path: &[u8]) -> Result<()> {
        let rel = RelPath::new(path)?;
        // It may be back by now: the next look finds it.
        if self.writing.tree.stat(&rel)?.is_some() {
            self.pending += 1;
            return Ok(());
        }
        batch.remove_stamp(path)?;
        batch.remove_skipped(path)?;
        if let Some(id) = page_of(&rel) {
            let note = self.writing.note(How::VANISHED, "");
            put::remove_page(
                batch,
                self.writing.analysis(),
                &id,
                Some(&note),
                &mut self.index,
            )?;
        }
        Ok(())
    }

    fn page(&mut self, batch: &mut Batch, path: &RelPath) -> Result<()> {
        let Some(id) = page_of(path) else {
            return Ok(());
        };
        let limit = self.writing.ctx.limits.max_page_bytes;
        let file = match self.writing.tree.read(path, limit) {
            Ok(Some(file)) => file,
            Ok(None) => {
                self.pending += 1;
                return Ok(());
            }
            Err(error @ TreeError::TooLarge { .. }) => {
                let Some(stamp) = self.writing.tree.stat(path)? else {
                    return Ok(());
                };
                let error = Error::from(error);
                // Not read, so not hashed: the stamp alone says when to look again.
                let stamp = stamp_record(&stamp, tree::now_ns(), ContentHash::of(&[]));
                return self.keep_out(batch, path, &id, stamp, error.code(), error.message(), None);
            }
            Err(error) => return Err(error.into()),
        };
        let known = batch.stamp(path.as_bytes())?;
        let young = self.patience == Patience::Waits
            && tree::now_ns().saturating_sub(file.stamp.mtime_ns) < SETTLED_NS;
        let shrank = known.is_some_and(|known| file.bytes.len() as u64 * 2 < known.size);
        if young && (file.bytes.is_empty() || shrank) {
            self.wait(
                path,
                ErrorCode::InvalidPage,
                "it seems to be half-saved".to_owned(),
            );
            return Ok(());
        }
        self.bytes += file.bytes.len();
        let sha256 = ContentHash::of(&file.bytes);
        let stamp = stamp_record(&file.stamp, file.seen_ns, sha256);
        let same = batch.page(&id)?.is_some_and(|page| page.sha256 == sha256);
        if same {
            batch.put_stamp(path.as_bytes(), &stamp)?;
            return Ok(());
        }
        match PreparedPage::new(self.writing.analysis(), id.clone(), file.bytes) {
            Ok(prepared) => {
                let note = self.writing.note(How::ADOPTED, "");
                put::put_page(
                    batch,
                    self.writing.analysis(),
                    &prepared,
                    &note,
                    &mut self.index,
                )?;
                batch.put_stamp(path.as_bytes(), &stamp)?;
                batch.remove_skipped(path.as_bytes())?;
                Ok(())
            }
            Err(error) if young => {
                self.wait(path, ErrorCode::InvalidPage, error.to_string());
                Ok(())
            }
            Err(error) => {
                let line = error.line;
                let code = ErrorCode::InvalidPage;
                self.keep_out(batch, path, &id, stamp, code, &error.to_string(), line)
            }
        }
    }

    /// Names a file that is no valid page. What the page was before stays in the history.
    #[expect(
        clippy::too_many_arguments,
        reason = "one row of `skipped`, spelled out"
    )]
    fn keep_out(
        &mut self,
        batch: &mut Batch,
        path: &RelPath,
        id: &PageId,
        stamp: StampRecord,
        code: ErrorCode,
        message: &str,
        line: Option<u32>,
    ) -> Result<()> {
        put::remove_page(batch, self.writing.analysis(), id, None, &mut self.index)?;
        batch.put_stamp(path.as_bytes(), &stamp)?;
        let why = SkippedRecord {
            code: code.as_str().to_owned(),
            message: message.to_owned(),
            line,
        };
        batch.put_skipped(path.as_bytes(), &why)?;
        Ok(())
    }

    /// Pages that cite a source which has come in have it now.
    fn mend_citations(&mut self, batch: &mut Batch) -> Result<()> {
        for source in std::mem::take(&mut self.arrived) {
            sources::mend_citations(batch, source)?;
        }
        Ok(())
    }
}

/// Whether a page record misses a source.
pub(super) fn misses(page: &PageRecord, source: SourceId) -> bool {
    page.missing_sources.contains(&source)
}
