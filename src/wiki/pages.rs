//! Pages: canonical Markdown that may only cite sources that exist.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::Serialize;

use super::claims;
use super::links::Lookup;
use super::prepared::PreparedPage;
use super::put::{self, IndexChanges};
use super::root::Wiki;
use super::session::{MAX_KEPT_BYTES, Reading, Writing, page_of};
use super::sources::{self, character_range};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, PageId, SourceId, fold_case};
use crate::page;
use crate::search::index_v1;
use crate::store::{
    Batch, How, IntentOp, IntentRecord, NameKind, RevisionRecord, StampRecord, View,
};
use crate::tree::{Durability, FileRead, RelPath, Staged, Tree, TreeError};

/// What the caller believes about the page before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expectation {
    /// Nothing: write whatever is there.
    #[default]
    Any,
    /// The page must not exist.
    Absent,
    /// The page file must hash to this.
    Sha256(ContentHash),
}

/// A page to write.
#[derive(Debug, Clone)]
pub struct UpsertPage {
    /// Id of the page.
    pub id: PageId,
    /// Title, one line, not blank.
    pub title: String,
    /// Summary, one line, not blank.
    pub summary: String,
    /// Ids of the cited sources, at least one; every one must exist.
    pub sources: Vec<SourceId>,
    /// Markdown body, not blank.
    pub body: String,
    /// What must hold before the write.
    pub expected: Expectation,
    /// Why, as recorded in the revision; empty when not given.
    pub message: String,
}

/// What `upsert-page` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpsertPageReport {
    /// Id of the page.
    pub id: String,
    /// Whether the page is new.
    pub created: bool,
    /// Whether the text was already just so; nothing was written then.
    pub unchanged: bool,
    /// SHA-256 of the page file.
    pub sha256: String,
    /// Sequence number of the revision.
    pub revision: u64,
    /// Text that somebody saved while this write went on, or that was no page and so never taken
    /// in: kept as this revision, not lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displaced: Option<u64>,
    /// Whether this call made the wiki.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wiki_created: bool,
}

/// Frontmatter of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageMetadata {
    /// Title.
    pub title: String,
    /// Summary.
    pub summary: String,
    /// Ids of the cited sources, sorted.
    pub sources: Vec<String>,
}

/// A page as read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadPageReport {
    /// Id of the page.
    pub id: String,
    /// The page file, or the range of it that was asked for.
    pub markdown: String,
    /// First byte of the range.
    pub byte_start: u64,
    /// End of the range, exclusive; pass it as the next offset.
    pub byte_end: u64,
    /// Length of the whole page file.
    pub byte_count: u64,
    /// Its frontmatter.
    pub metadata: PageMetadata,
    /// SHA-256 of the page file.
    pub sha256: String,
    /// Revision that holds this text.
    pub revision: u64,
    /// Pages that link here, in id order.
    pub backlinks: Vec<String>,
    /// Sources that the page cites and the wiki lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_sources: Vec<String>,
    /// Why this text, which a person saved in the place of the page, is no page; its metadata is
    /// blank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The exact bytes in base64, where they are not UTF-8; `markdown` shows what can be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown_base64: Option<String>,
    /// The exact bytes where they are not UTF-8, for callers that do not want JSON.
    #[serde(skip)]
    #[schemars(skip)]
    pub raw: Option<Vec<u8>>,
}

impl ReadPageReport {
    /// Keeps a range of the page file: at most `limit` bytes from `offset`, moved to the borders
    /// of characters.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED` for an offset behind the end and for a limit of zero.
    pub fn keep_range(&mut self, offset: u64, limit: Option<u64>) -> Result<()> {
        let refuse = |what: String| Err(Error::new(ErrorCode::LimitExceeded, what));
        let length = self.raw.as_ref().map_or(self.markdown.len(), Vec::len);
        if limit == Some(0) {
            return refuse("limit 0 is not at least 1".to_owned());
        }
        let offset = match usize::try_from(offset) {
            Ok(offset) if offset <= length => offset,
            _ => {
                let id = &self.id;
                return refuse(format!(
                    "offset {offset} lies behind the end of page {id}, which has {length} bytes"
                ));
            }
        };
        let limit = limit.map_or(length, |it| usize::try_from(it).unwrap_or(usize::MAX));
        let (start, end) = if let Some(raw) = &mut self.raw {
            let end = offset.saturating_add(limit).min(length);
            *raw = raw[offset..end].to_vec();
            (offset, end)
        } else {
            let (start, end) = character_range(&self.markdown, offset, limit);
            self.markdown = self.markdown[start..end].to_owned();
            (start, end)
        };
        self.byte_start = start as u64;
        self.byte_end = end as u64;
        self.show_raw();
        Ok(())
    }

    /// Keeps the first `count` bytes of the range, where that is less than it has. In text, they
    /// end at the border of a character.
    pub fn keep(&mut self, count: usize) {
        let length = self.raw.as_ref().map_or(self.markdown.len(), Vec::len);
        if count >= length {
            return;
        }
        match &mut self.raw {
            Some(raw) => raw.truncate(count),
            None => self.markdown.truncate(count),
        }
        self.byte_end = self.byte_start + count as u64;
        self.show_raw();
    }

    fn show_raw(&mut self) {
        if let Some(raw) = &self.raw {
            self.markdown = String::from_utf8_lossy(raw).into_owned();
            self.markdown_base64 = Some(BASE64.encode(raw));
        }
    }
}

/// One line of a page list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageSummary {
    /// Id of the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Summary.
    pub summary: String,
}

/// Pages in id order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListPagesReport {
    /// The pages.
    pub pages: Vec<PageSummary>,
    /// Pass it as `cursor` to go on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What `delete-page` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletePageReport {
    /// Id of the page.
    pub id: String,
    /// SHA-256 of the text that was deleted; `restore` brings it back.
    pub sha256: String,
    /// Sequence number of the revision that records the deletion.
    pub revision: u64,
    /// Pages that still link here, in id order.
    pub backlinks: Vec<String>,
    /// Text in the place of the page that no revision held: kept as this one, not lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displaced: Option<u64>,
}

/// Whether a page file hashes to what the caller believes.
fn check_expected(id: &PageId, expected: Expectation, current: Option<ContentHash>) -> Result<()> {
    let conflict = |message: String| {
        Err(Error::new(ErrorCode::Conflict, message)
            .with_hint("read the page again and merge your change into it"))
    };
    match (expected, current) {
        (Expectation::Any, _) | (Expectation::Absent, None) => Ok(()),
        (Expectation::Sha256(wanted), Some(current)) if wanted == current => Ok(()),
        (Expectation::Absent, Some(current)) => {
            conflict(format!("page {id} exists already, its sha256 is {current}"))
        }
        (Expectation::Sha256(wanted), Some(current)) => {
            conflict(format!("page {id} has sha256 {current}, not {wanted}"))
        }
        (Expectation::Sha256(wanted), None) => conflict(format!(
            "page {id} does not exist, so its sha256 is not {wanted}"
        )),
    }
}

fn not_found(id: &PageId) -> Error {
    Error::new(ErrorCode::PageNotFound, format!("there is no page {id}")).with_hint(
        "`llmwiki list-pages` lists those that there are, `llmwiki history` those that were",
    )
}

/// The file that a write finds in its place.
struct Present {
    file: Option<FileRead>,
    sha256: Option<ContentHash>,
}

/// What a page write did under the lock, before it is made public.
pub(super) struct Written {
    pub(super) created: bool,
    pub(super) unchanged: bool,
    pub(super) revision: u64,
    pub(super) displaced: Option<u64>,
}

/// A staged file and the promise to put it into place.
struct Swap {
    path: RelPath,
    staged: Staged,
    intent: IntentRecord,
}

/// Page writes of one batch.
pub(super) struct PageWrite {
    durability: Durability,
    index: IndexChanges,
    swaps: Vec<Swap>,
    /// Files of the version 1 index, which the write makes stale.
    derived: Vec<RelPath>,
}

impl PageWrite {
    pub(super) fn new(durability: Durability) -> Self {
        let index = IndexChanges::default();
        Self {
            durability,
            index,
            swaps: Vec::new(),
            derived: Vec::new(),
        }
    }

    /// Whether this batch already writes the page.
    pub(super) fn holds(&self, id: &PageId) -> bool {
        self.swaps
            .iter()
            .any(|swap| page_of(&swap.path).as_ref() == Some(id))
    }

    /// Removes what was staged for a batch that is given up.
    pub(super) fn abandon(self, tree: &Tree) {
        for swap in &self.swaps {
            let _ = tree.remove_staged(&swap.staged);
        }
    }
}

impl Writing<'_> {
    fn present(&self, path: &RelPath) -> Result<Present> {
        let file = self.tree.read(path, MAX_KEPT_BYTES)?;
        let sha256 = file.as_ref().map(|file| ContentHash::of(&file.bytes));
        Ok(Present { file, sha256 })
    }

    /// Takes what a person put into the place of a page into the history, unless it is there.
    /// Returns the revision of a text that was never a state of the page, since it is no page.
    fn keep_present(
        &self,
        batch: &mut Batch,
        id: &PageId,
        present: &Present,
        index: &mut IndexChanges,
    ) -> Result<Option<u64>> {
        let known = batch.page(id)?.map(|page| page.sha256);
        let (Some(file), Some(sha256)) = (&present.file, present.sha256) else {
            return Ok(None);
        };
        if known == Some(sha256) {
            return Ok(None);
        }
        match PreparedPage::new(self.analysis(), id.clone(), file.bytes.clone()) {
            Ok(prepared) => {
                let note = self.note(How::ADOPTED, "");
                put::put_page(batch, self.analysis(), &prepared, &note, index)?;
                Ok(None)
            }
            Err(_) => {
                let note = self.note(How::DISPLACED, "");
                Ok(Some(put::keep_text(batch, id, &file.bytes, &note)?))
            }
        }
    }

    /// Writes one page: the story of a write, for one.
    ///
    /// # Errors
    /// Those of [`Wiki::upsert_page`] that depend on the state of the wiki.
    pub(super) fn write_page(
        &self,
        prepared: &PreparedPage,
        expected: Expectation,
        how: How,
        message: &str,
    ) -> Result<Written> {
        let mut batch = self.batch()?;
        let mut write = PageWrite::new(Durability::Now);
        let mut written =
            match self.write_into(&mut batch, &mut write, prepared, expected, how, message) {
                Ok(written) => written,
                Err(error) => {
                    write.abandon(&self.tree);
                    return Err(error);
                }
            };
        let kept = self.finish_write(batch, write)?.pop();
        written.displaced = kept.or(written.displaced);
        Ok(written)
    }

    /// Writes the rows of one page into a batch and stages its file. Checks come first: an error
    /// other than those of store and disk leaves the batch as it was.
    ///
    /// # Errors
    /// As [`Writing::write_page`].
    pub(super) fn write_into(
        &self,
        batch: &mut Batch,
        write: &mut PageWrite,
        prepared: &PreparedPage,
        expected: Expectation,
        how: How,
        message: &str,
    ) -> Result<Written> {
        let id = &prepared.id;
        let path = RelPath::page(id.as_str())?;
        write.derived = self.v1_index()?;
        let present = self.present(&path)?;
        check_expected(id, expected, present.sha256)?;
        for &source in &prepared.page.sources {
            sources::check_citable(&self.tree, batch, source)?;
        }
        // What is brought back comes back as it was.
        if how != How::RESTORED {
            claims::check(&self.tree, batch, prepared)?;
        }
        let created = present.file.is_none();
        if created {
            check_collision(&self.tree, batch, id)?;
        }
        let unchanged = present.sha256 == Some(prepared.sha256);
        if unchanged
            && let Some(page) = batch.page(id)?
            && page.sha256 == prepared.sha256
        {
            return Ok(Written {
                created,
                unchanged,
                revision: page.revision,
                displaced: None,
            });
        }
        for source in &prepared.page.sources {
            self.know_source(batch, *source)?;
        }
        if unchanged {
            // The file is as wanted and only the store does not know it: adoption by another name.
            let note = self.note(how, message);
            let revision =
                put::put_page(batch, self.analysis(), prepared, &note, &mut write.index)?;
            batch.put_stamp(
                path.as_bytes(),
                &unproven_stamp(prepared.bytes.len() as u64, prepared.sha256),
            )?;
            batch.remove_skipped(path.as_bytes())?;
            return Ok(Written {
                created,
                unchanged,
                revision,
                displaced: None,
            });
        }
        let displaced = self.keep_present(batch, id, &present, &mut write.index)?;
        if let Some(folder) = path.parent() {
            self.tree.make_dirs(&folder, write.durability)?;
        }
        let staged = self.tree.stage(&prepared.bytes, "page", write.durability)?;
        let old = present.file.as_ref().map(|file| file.stamp);
        let mut swap = Swap {
            path: path.clone(),
            staged,
            intent: IntentRecord {
                op: IntentOp::Put,
                new: Some(prepared.sha256),
                old: present.sha256,
                staged: String::new(),
                old_size: old.map_or(0, |stamp| stamp.size),
                old_inode: old.map_or(0, |stamp| stamp.inode),
                old_mtime_ns: old.map_or(0, |stamp| stamp.mtime_ns),
                revision: 0,
            },
        };
        swap.staged.name().clone_into(&mut swap.intent.staged);
        write.swaps.push(swap);
        let note = self.note(how, message);
        let revision = put::put_page(batch, self.analysis(), prepared, &note, &mut write.index)?;
        if let Some(swap) = write.swaps.last_mut() {
            swap.intent.revision = revision;
            batch.put_intent(path.as_bytes(), &swap.intent)?;
        }
        batch.put_stamp(
            path.as_bytes(),
            &unproven_stamp(prepared.bytes.len() as u64, prepared.sha256),
        )?;
        batch.remove_skipped(path.as_bytes())?;
        Ok(Written {
            created,
            unchanged,
            revision,
            displaced,
        })
    }

    /// Commits a batch of page writes, then swaps their files into place. Returns the revisions
    /// of what people saved in between.
    ///
    /// # Errors
    /// Those of the store; then nothing was written. After the commit nothing fails any more:
    /// what could not be swapped is owed, and the next command does it.
    pub(super) fn finish_write(&self, mut batch: Batch, write: PageWrite) -> Result<Vec<u64>> {
        let PageWrite {
            index,
            swaps,
            derived,
            durability,
        } = write;
        let commit = || -> Result<()> {
            index.apply(&mut batch)?;
            if durability == Durability::Batch {
                self.tree.sync_fs()?;
            }
            self.commit(batch)?;
            Ok(())
        };
        if let Err(error) = commit() {
            for swap in &swaps {
                let _ = self.tree.remove_staged(&swap.staged);
            }
            return Err(error);
        }
        let mut displaced = Vec::new();
        for swap in &swaps {
            match self.swap_in(&swap.path, &swap.staged, &swap.intent, durability) {
                Ok(kept) => displaced.extend(kept),
                Err(error) => tracing::warn!(path = %swap.path, %error, "the file will follow"),
            }
        }
        if durability == Durability::Batch
            && let Err(error) = self.tree.sync_fs()
        {
            tracing::warn!(%error, "the disk may lag behind");
        }
        for derived in &derived {
            if let Err(error) = self.tree.remove(derived) {
                tracing::warn!(path = %derived, %error, "a derived file stays");
            }
        }
        Ok(displaced)
    }

    /// A source that stands in the tree and was not taken in yet.
    fn know_source(&self, batch: &mut Batch, id: SourceId) -> Result<()> {
        if batch.source(id)?.is_some() {
            return Ok(());
        }
        let found = sources::examine(&self.tree, id)?;
        sources::put(batch, id, &found)?;
        batch.put_stamp(
            &super::adopt::stamp_path(id),
            &super::adopt::source_stamp(id),
        )?;
        sources::mend_citations(batch, id)?;
        Ok(())
    }

    /// Removes the version 1 index unless it describes just the pages of this state: another tool may
    /// have written it, or a person have edited pages since.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn drop_stale_v1_index(&self, view: &View) -> Result<()> {
        let read = |name: &str| self.tree.read(&RelPath::new(name)?, u64::MAX);
        let files = (read(".index/search.json"), read(".index/state.json"));
        if let (Ok(Some(search)), Ok(Some(state))) = files {
            let pages = view
                .pages("", None)
                .map(|row| row.map(|(id, page)| (id, page.sha256)))
                .collect::<Result<Vec<_>, _>>()?;
            if index_v1::check(&search.bytes, &state.bytes, &pages).is_empty() {
                return Ok(());
            }
        }
        self.drop_v1_index();
        Ok(())
    }

    /// Removes the version 1 index, as every write does, after what must not fail for it. A file that
    /// stays is told by lint.
    pub(super) fn drop_v1_index(&self) {
        let removed = self.v1_index().and_then(|files| {
            for file in &files {
                self.tree.remove(file)?;
            }
            Ok(())
        });
        if let Err(error) = removed {
            tracing::warn!(%error, "the index of version 1 stays");
        }
    }

    /// The files of the version 1 index, which a write makes stale.
    ///
    /// # Errors
    /// `UNSAFE_FILESYSTEM` when something else is in their place.
    pub(super) fn v1_index(&self) -> Result<Vec<RelPath>> {
        let mut files = Vec::new();
        for name in [".index/search.json", ".index/state.json"] {
            let path = RelPath::new(name)?;
            match self.tree.stat(&path)? {
                None => {}
                Some(stamp) if stamp.kind == crate::tree::Kind::File => files.push(path),
                Some(stamp) => {
                    return Err(TreeError::NotRegular {
                        path: name.to_owned(),
                        kind: stamp.kind,
                    }
                    .into());
                }
            }
        }
        Ok(files)
    }
}

/// The stamp of a file that is about to be swapped in: it says that the file is known, and what
/// it holds, and proves nothing until the file was looked at in its place.
pub(super) fn unproven_stamp(size: u64, sha256: ContentHash) -> StampRecord {
    StampRecord {
        size,
        inode: 0,
        mtime_ns: 0,
        ctime_ns: 0,
        seen_ns: 0,
        sha256,
    }
}

/// Refuses a new id that some file system would take for an existing one, or whose folder it would
/// take for that of other pages under another spelling. A page whose file a person took away,
/// which the store may not have noticed yet, is in nobody's way.
pub(super) fn check_collision(tree: &Tree, view: &View, id: &PageId) -> Result<()> {
    // The file of a page that this very batch writes is only promised.
    let is_there = |id: &PageId| -> Result<bool> {
        let path = RelPath::page(id.as_str())?;
        Ok(view.intent(path.as_bytes())?.is_some() || tree.stat(&path)?.is_some())
    };
    for other in view.pages_named(NameKind::Id, &id.fold_key())? {
        if other != *id && is_there(&other)? {
            return Err(Error::new(
                ErrorCode::InvalidPath,
                format!("page id {id} differs from the page {other} only by case or normalisation"),
            )
            .with_hint(format!("write to {other}, or choose another id")));
        }
    }
    let text = id.as_str();
    for (end, _) in text.match_indices('/') {
        let folder = &text[..=end];
        // Where the folder is spelled both ways already, either will do.
        if view.pages(folder, None).next().transpose()?.is_some() {
            continue;
        }
        for other in view.pages_folded(&fold_case(folder)) {
            let other = other?;
            let depth = folder.matches('/').count();
            let Some(spelled) = folder_at(&other, depth) else {
                continue;
            };
            if is_there(&other)? {
                let rest = &text[end + 1..];
                return Err(Error::new(
                    ErrorCode::InvalidPath,
                    format!(
                        "the folder of page id {id} differs from {spelled}, where the page \
                         {other} is, only by case or normalisation"
                    ),
                )
                .with_hint(format!(
                    "write to {spelled}/{rest}, or choose another folder"
                )));
            }
        }
    }
    Ok(())
}

/// The first `count` folders of a page id, when it has as many.
fn folder_at(id: &PageId, count: usize) -> Option<&str> {
    let (end, _) = id.as_str().match_indices('/').nth(count.checked_sub(1)?)?;
    Some(&id.as_str()[..end])
}

impl Wiki {
    /// Writes a page. Creates the wiki when there is none. The file is in its place, and on the
    /// disk, when this returns. What a person saved in its place meanwhile is kept in the history
    /// and named in `displaced`.
    ///
    /// # Errors
    /// `INVALID_PAGE`, `INVALID_PATH` (collision by case or normalisation), `SOURCE_NOT_FOUND`,
    /// `LIMIT_EXCEEDED`, `CONFLICT` naming the current hash; `STORE_BUSY`, `STORE_FULL`,
    /// `UNSAFE_FILESYSTEM`.
    pub fn upsert_page(&self, ctx: &Context, page: UpsertPage) -> Result<UpsertPageReport> {
        let (expected, message) = (page.expected, page.message.clone());
        let prepared = self.prepare_page(ctx, page)?;
        let (done, wiki_created) = self.mending(ctx, || {
            let writing = self.writing(ctx)?;
            let done = writing.write_page(&prepared, expected, How::WRITTEN, &message)?;
            Ok((done, writing.made.created))
        })?;
        Ok(UpsertPageReport {
            id: prepared.id.to_string(),
            created: done.created,
            unchanged: done.unchanged,
            sha256: prepared.sha256.to_string(),
            revision: done.revision,
            displaced: done.displaced,
            wiki_created,
        })
    }

    /// Renders and parses a page outside the lock.
    ///
    /// # Errors
    /// `INVALID_PAGE`, `LIMIT_EXCEEDED`.
    pub(super) fn prepare_page(&self, ctx: &Context, page: UpsertPage) -> Result<PreparedPage> {
        let text = page::render(&page.title, &page.summary, &page.sources, &page.body)?;
        let byte_count = text.len() as u64;
        if byte_count > ctx.limits.max_page_bytes {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!(
                    "page {} has {byte_count} bytes, more than max_page_bytes {}",
                    page.id, ctx.limits.max_page_bytes
                ),
            )
            .with_hint("split it into several pages, or raise max_page_bytes in config.toml"));
        }
        Ok(PreparedPage::new(
            self.analysis(),
            page.id,
            text.into_bytes(),
        )?)
    }

    /// Reads a page, now or at a revision (sequence number, or a prefix of its hash or of the
    /// text's hash).
    ///
    /// # Errors
    /// `PAGE_NOT_FOUND`, `INVALID_PAGE` naming the cause when the file is no page.
    pub fn read_page(
        &self,
        ctx: &Context,
        id: &PageId,
        at: Option<&str>,
    ) -> Result<ReadPageReport> {
        self.mending(ctx, || Self::read_page_in(&self.reading(ctx)?, ctx, id, at))
    }

    pub(super) fn read_page_in(
        reading: &Reading,
        ctx: &Context,
        id: &PageId,
        at: Option<&str>,
    ) -> Result<ReadPageReport> {
        let (sha256, revision, missing) = match at {
            Some(wanted) => {
                let (seq, found) = find_revision(&reading.snapshot, id, wanted)?;
                let sha256 = found.sha256.ok_or_else(|| {
                    Error::new(
                        ErrorCode::PageNotFound,
                        format!("revision {seq} of page {id} is a deletion"),
                    )
                    .with_hint("name an earlier revision")
                })?;
                (sha256, seq, Vec::new())
            }
            None => match reading.snapshot.page(id)? {
                Some(page) => (page.sha256, page.revision, page.missing_sources),
                None => return Err(why_no_page(reading, ctx, id)?),
            },
        };
        let bytes =
            reading
                .snapshot
                .blob(&sha256)?
                .ok_or_else(|| crate::store::StoreError::Damaged {
                    what: format!("the text of {id} is missing"),
                })?;
        let (metadata, fault) = match page::parse_bytes(&bytes) {
            Ok(page) => (
                PageMetadata {
                    title: page.title,
                    summary: page.summary,
                    sources: page.sources.iter().map(SourceId::to_string).collect(),
                },
                None,
            ),
            // A text that a person put into the place of a page.
            Err(error) if at.is_some() => (PageMetadata::default(), Some(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        let byte_count = bytes.len() as u64;
        let (markdown, raw) = match String::from_utf8(bytes) {
            Ok(markdown) => (markdown, None),
            Err(error) => (String::new(), Some(error.into_bytes())),
        };
        let mut report = ReadPageReport {
            id: id.to_string(),
            markdown,
            byte_start: 0,
            byte_end: byte_count,
            byte_count,
            metadata,
            sha256: sha256.to_string(),
            revision,
            backlinks: backlinks(&reading.snapshot, id)?,
            missing_sources: missing.iter().map(SourceId::to_string).collect(),
            fault,
            markdown_base64: None,
            raw,
        };
        report.show_raw();
        Ok(report)
    }

    /// Lists pages whose id starts with `prefix`, in id order (UTF-8 bytes), `limit` at a time
    /// after `cursor`.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `INVALID_ARGUMENT` for a cursor that is no page id.
    pub fn list_pages(
        &self,
        ctx: &Context,
        prefix: &str,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListPagesReport> {
        self.mending(ctx, || self.list_pages_once(ctx, prefix, cursor, limit))
    }

    fn list_pages_once(
        &self,
        ctx: &Context,
        prefix: &str,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListPagesReport> {
        let after = cursor.map(PageId::parse).transpose().map_err(|error| {
            Error::new(ErrorCode::InvalidArgument, format!("cursor: {error}"))
                .with_hint("pass the `next` of the answer before")
        })?;
        let reading = self.reading(ctx)?;
        let mut pages = Vec::new();
        let mut more = false;
        for row in reading.snapshot.pages(prefix, after.as_ref()) {
            let (id, page) = row?;
            if pages.len() == limit {
                more = true;
                break;
            }
            pages.push(PageSummary {
                id: id.to_string(),
                title: page.title,
                summary: page.summary,
            });
        }
        let next = if more {
            pages.last().map(|last| last.id.clone())
        } else {
            None
        };
        Ok(ListPagesReport { pages, next })
    }

    /// Deletes a page. Its text stays in the history.
    ///
    /// # Errors
    /// `PAGE_NOT_FOUND`, `CONFLICT`.
    pub fn delete_page(
        &self,
        ctx: &Context,
        id: &PageId,
        expected: Expectation,
        message: &str,
    ) -> Result<DeletePageReport> {
        self.mending(ctx, || self.delete_page_once(ctx, id, expected, message))
    }

    fn delete_page_once(
        &self,
        ctx: &Context,
        id: &PageId,
        expected: Expectation,
        message: &str,
    ) -> Result<DeletePageReport> {
        let writing = self.writing_existing(ctx)?;
        let path = RelPath::page(id.as_str())?;
        let derived = writing.v1_index()?;
        let present = writing.present(&path)?;
        let (Some(file), Some(sha256)) = (&present.file, present.sha256) else {
            return Err(not_found(id));
        };
        check_expected(id, expected, Some(sha256))?;
        let mut batch = writing.batch()?;
        let mut index = IndexChanges::default();
        let mut displaced = writing.keep_present(&mut batch, id, &present, &mut index)?;
        // Asked while the page is there: a link leads nowhere afterwards.
        let links = backlinks(&batch, id)?;
        let note = writing.note(How::DELETED, message);
        let revision =
            match put::remove_page(&mut batch, self.analysis(), id, Some(&note), &mut index)? {
                Some(revision) => revision,
                // A file that is no valid page has no row, only a place in the tree.
                None => put::tombstone(&mut batch, id, &note)?,
            };
        index.apply(&mut batch)?;
        let intent = IntentRecord {
            op: IntentOp::Delete,
            new: None,
            old: Some(sha256),
            staged: String::new(),
            old_size: file.stamp.size,
            old_inode: file.stamp.inode,
            old_mtime_ns: file.stamp.mtime_ns,
            revision,
        };
        batch.put_intent(path.as_bytes(), &intent)?;
        batch.remove_stamp(path.as_bytes())?;
        batch.remove_skipped(path.as_bytes())?;
        writing.commit(batch)?;
        match writing.take_out(&path, &intent, Durability::Now) {
            Ok(kept) => displaced = kept.or(displaced),
            Err(error) => tracing::warn!(page = %id, %error, "the file will go later"),
        }
        for derived in &derived {
            if let Err(error) = writing.tree.remove(derived) {
                tracing::warn!(path = %derived, %error, "a derived file stays");
            }
        }
        Ok(DeletePageReport {
            id: id.to_string(),
            sha256: sha256.to_string(),
            revision,
            backlinks: links,
            displaced,
        })
    }
}

/// What to say about a page that the store does not know: the file may be there and be wrong.
fn why_no_page(reading: &Reading, ctx: &Context, id: &PageId) -> Result<Error> {
    let path = RelPath::page(id.as_str())?;
    let file = match reading.tree.read(&path, ctx.limits.max_page_bytes) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(not_found(id)),
        Err(error) => return Ok(error.into()),
    };
    match page::parse_bytes(&file.bytes) {
        Err(error) => Ok(error.into()),
        Ok(_) => Ok(Error::new(
            ErrorCode::StoreBusy,
            format!("page {id} was saved just now and is not taken in yet"),
        )
        .with_hint("try again in a moment")),
    }
}

/// The pages that link to `id`, in id order, itself left out.
///
/// # Errors
/// Those of the store.
pub(super) fn backlinks(view: &View, id: &PageId) -> Result<Vec<String>> {
    Ok(Lookup::new(view)
        .backlinks(id)?
        .iter()
        .map(PageId::to_string)
        .collect())
}

/// The revision of a page that a caller means by a sequence number or a hash prefix.
///
/// # Errors
/// `PAGE_NOT_FOUND` when there is none or more than one.
pub(super) fn find_revision(
    view: &View,
    id: &PageId,
    wanted: &str,
) -> Result<(u64, RevisionRecord)> {
    let revisions = view.revisions_of(id)?;
    if revisions.is_empty() {
        return Err(not_found(id));
    }
    if let Ok(seq) = wanted.parse::<u64>()
        && let Some(found) = revisions.iter().find(|(number, _)| *number == seq)
    {
        return Ok(found.clone());
    }
    let no_such = |why: &str| {
        Error::new(
            ErrorCode::PageNotFound,
            format!("page {id} has {why} revision {wanted}"),
        )
        .with_hint(format!("`llmwiki history {id}` lists its revisions"))
    };
    if wanted.len() < 4 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(no_such("no"));
    }
    let matches = |hash: ContentHash| hash.to_string().starts_with(wanted);
    let mut found: Vec<&(u64, RevisionRecord)> = revisions
        .iter()
        .filter(|(_, revision)| {
            matches(revision.identity()) || revision.sha256.is_some_and(matches)
        })
        .collect();
    // The same text written twice is one text: the newer revision stands for both.
    found.reverse();
    found.dedup_by_key(|(_, revision)| revision.sha256);
    match found.as_slice() {
        [] => Err(no_such("no")),
        [(seq, revision)] => Ok((*seq, revision.clone())),
        _ => Err(no_such("more than one")),
    }
}
