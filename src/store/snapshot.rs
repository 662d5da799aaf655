//! Reading: [`View`] is one consistent state of the store, seen through a read transaction
//! ([`Snapshot`]) or from inside a write transaction ([`Batch`](super::Batch)).
//!
//! Every row is checked and decoded as it is read. Iterators read a run of rows at a time and
//! yield them in byte order of their keys; each method says what that order means. Inside a batch
//! an iterator sees changes made ahead of it.
//!
//! A snapshot lives for one request: the file cannot reuse pages while one that needs them is open.

use std::collections::VecDeque;
use std::ops::{Bound, Deref, RangeBounds};
use std::sync::{Arc, Mutex, PoisonError};

use redb::{
    AccessGuard, Key, ReadOnlyTable, ReadTransaction, ReadableTable, TableDefinition, TableError,
    Value, WriteTransaction,
};

use super::codec::{self, Record};
use super::error::{StoreError, guard};
use super::schema::{CODE_KEY, CodeStateRow, Meta};
use super::tables::citations::{self, CitationIndex, CitationsRecord};
use super::tables::code_chunks::CodeChunksRecord;
use super::tables::code_files::CodeFileRecord;
use super::tables::code_texts::CodeTextRecord;
use super::tables::folders::FolderRecord;
use super::tables::intents::IntentRecord;
use super::tables::links::{self, LinkIndex, LinksRecord};
use super::tables::pages::PageRecord;
use super::tables::projects::{ProjectPageRecord, ProjectRecord, page_key};
use super::tables::revisions::{self, RevisionIndex, RevisionRecord};
use super::tables::sections::SectionRecord;
use super::tables::skipped::SkippedRecord;
use super::tables::source_events::SourceEvent;
use super::tables::sources::SourceRecord;
use super::tables::stamps::StampRecord;
use super::tables::titles::{self, NameIndex, NameKind, NamesRecord};
use super::tables::{BytesTable, ROW, after_prefix, bytes_table};
use crate::id::{PageId, SourceId};

type BytesRows = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The transaction below a view.
#[expect(
    clippy::large_enum_variant,
    reason = "one to a transaction, never in a list"
)]
pub(crate) enum Txn {
    /// Opened tables are kept: opening one costs as much as reading a row.
    Read {
        txn: ReadTransaction,
        opened: Mutex<Vec<(&'static str, Arc<BytesRows>)>>,
    },
    Write(OpenWrite),
}

/// A write transaction that is aborted on drop, inside the guard.
pub(crate) struct OpenWrite(Option<WriteTransaction>);

impl OpenWrite {
    pub(crate) fn new(txn: WriteTransaction) -> Self {
        Self(Some(txn))
    }

    fn get(&self) -> Result<&WriteTransaction, StoreError> {
        self.0.as_ref().ok_or(StoreError::Closed)
    }

    pub(crate) fn take(&mut self) -> Result<WriteTransaction, StoreError> {
        self.0.take().ok_or(StoreError::Closed)
    }
}

impl Drop for OpenWrite {
    fn drop(&mut self) {
        if let Some(txn) = self.0.take() {
            // Aborting is what drop is for; a failure of it leaves the old state all the same.
            let _ = guard(|| {
                drop(txn);
                Ok(())
            });
        }
    }
}

/// One consistent state of the store.
pub struct View {
    txn: Txn,
    pub(crate) meta: Meta,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

/// Rows of one table, in whichever kind of transaction.
///
/// Used inside `store` only, where a whole operation runs inside [`guard`]: the guards that redb
/// hands out may panic on a damaged page when their value is taken.
pub(crate) enum Rows<'txn, K: Key + 'static, V: Value + 'static> {
    /// Of a read transaction.
    Read(ReadOnlyTable<K, V>),
    /// Of a write transaction; `None` only while it is dropped.
    Write(Option<redb::Table<'txn, K, V>>),
}

impl<K: Key + 'static, V: Value + 'static> Drop for Rows<'_, K, V> {
    fn drop(&mut self) {
        // Closing a table after a panic inside redb panics again. Caught here, because a second
        // panic that leaves a drop while the first unwinds would end the process.
        if let Self::Write(table) = self
            && let Some(table) = table.take()
        {
            let _ = guard(|| {
                drop(table);
                Ok(())
            });
        }
    }
}

impl<'txn, K: Key + 'static, V: Value + 'static> Rows<'txn, K, V> {
    fn table(&self) -> Result<&redb::Table<'txn, K, V>, StoreError> {
        match self {
            Self::Write(Some(table)) => Ok(table),
            _ => Err(StoreError::Closed),
        }
    }

    fn table_mut(&mut self) -> Result<&mut redb::Table<'txn, K, V>, StoreError> {
        match self {
            Self::Write(Some(table)) => Ok(table),
            Self::Write(None) => Err(StoreError::Closed),
            Self::Read(_) => Err(StoreError::Misuse {
                what: "a write in a read transaction".to_owned(),
            }),
        }
    }

    /// The value under `key`.
    pub(crate) fn get<'k>(
        &self,
        key: impl std::borrow::Borrow<K::SelfType<'k>>,
    ) -> Result<Option<AccessGuard<'_, V>>, StoreError> {
        Ok(match self {
            Self::Read(table) => table.get(key)?,
            Self::Write(_) => self.table()?.get(key)?,
        })
    }

    /// The rows of a range of keys, in key order, from both ends.
    pub(crate) fn range<'k, B>(
        &self,
        range: impl RangeBounds<B> + 'k,
    ) -> Result<redb::Range<'_, K, V>, StoreError>
    where
        B: std::borrow::Borrow<K::SelfType<'k>> + 'k,
    {
        Ok(match self {
            Self::Read(table) => table.range::<B>(range)?,
            Self::Write(_) => self.table()?.range::<B>(range)?,
        })
    }

    /// Puts a row; answers the value that it replaced.
    pub(crate) fn insert<'k, 'v>(
        &mut self,
        key: impl std::borrow::Borrow<K::SelfType<'k>>,
        value: impl std::borrow::Borrow<V::SelfType<'v>>,
    ) -> Result<Option<AccessGuard<'_, V>>, StoreError> {
        Ok(self.table_mut()?.insert(key, value)?)
    }

    /// Removes a row; answers its value.
    pub(crate) fn remove<'k>(
        &mut self,
        key: impl std::borrow::Borrow<K::SelfType<'k>>,
    ) -> Result<Option<AccessGuard<'_, V>>, StoreError> {
        Ok(self.table_mut()?.remove(key)?)
    }
}

impl View {
    pub(crate) fn new(txn: Txn, meta: Meta) -> Self {
        Self { txn, meta }
    }

    pub(crate) fn read(txn: ReadTransaction, meta: Meta) -> Self {
        Self::new(
            Txn::Read {
                txn,
                opened: Mutex::new(Vec::new()),
            },
            meta,
        )
    }

    pub(crate) fn write_txn(&self) -> Result<&WriteTransaction, StoreError> {
        match &self.txn {
            Txn::Write(open) => open.get(),
            Txn::Read { .. } => Err(StoreError::Misuse {
                what: "a write in a read transaction".to_owned(),
            }),
        }
    }

    pub(crate) fn take_write(&mut self) -> Result<WriteTransaction, StoreError> {
        match &mut self.txn {
            Txn::Write(open) => open.take(),
            Txn::Read { .. } => Err(StoreError::Closed),
        }
    }

    /// What the store says about itself in this state.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Opens a table; `None` when it is not there, which means that it has no rows. In a write
    /// transaction a missing table is created, and a table can be open only once at a time.
    pub(crate) fn rows<K: Key + 'static, V: Value + 'static>(
        &self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<Option<Rows<'_, K, V>>, StoreError> {
        match &self.txn {
            Txn::Read { txn, .. } => guard(|| match txn.open_table(table) {
                Ok(rows) => Ok(Some(Rows::Read(rows))),
                Err(TableError::TableDoesNotExist(_)) => Ok(None),
                Err(error) => Err(error.into()),
            }),
            Txn::Write(open) => {
                let txn = open.get()?;
                guard(|| Ok(Some(Rows::Write(Some(txn.open_table(table)?)))))
            }
        }
    }

    /// Opens a table for writing.
    pub(crate) fn rows_mut<K: Key + 'static, V: Value + 'static>(
        &self,
        table: TableDefinition<'static, K, V>,
    ) -> Result<Rows<'_, K, V>, StoreError> {
        let txn = self.write_txn()?;
        guard(|| Ok(Rows::Write(Some(txn.open_table(table)?))))
    }

    /// Calls `work` with the table of that name, or answers `None` when it is not there.
    pub(crate) fn with_bytes<T>(
        &self,
        name: &'static str,
        work: impl FnOnce(&BytesView<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        guard(|| {
            let table: BytesTable = bytes_table(name);
            match &self.txn {
                Txn::Read { txn, opened } => {
                    let mut known = opened.lock().unwrap_or_else(PoisonError::into_inner);
                    let rows = match known.iter().find(|(known, _)| *known == name) {
                        Some((_, rows)) => Arc::clone(rows),
                        None => match txn.open_table(table) {
                            Ok(rows) => {
                                let rows = Arc::new(rows);
                                known.push((name, Arc::clone(&rows)));
                                rows
                            }
                            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
                            Err(error) => return Err(error.into()),
                        },
                    };
                    drop(known);
                    work(&BytesView::Read(&rows)).map(Some)
                }
                Txn::Write(_) => {
                    let rows = self.rows_mut(table)?;
                    work(&BytesView::Write(&rows)).map(Some)
                }
            }
        })
    }

    /// The record under `key`.
    pub(crate) fn get<R: Record>(&self, key: &[u8]) -> Result<Option<R>, StoreError> {
        let found = self.with_bytes(R::TABLE, |rows| match rows.get(key)? {
            Some(value) => codec::decode(key, value.value()).map(Some),
            None => Ok(None),
        })?;
        Ok(found.flatten())
    }

    /// The bytes of the row under `key`, as they are.
    pub(crate) fn raw(
        &self,
        table: &'static str,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.with_bytes(table, |rows| {
            Ok(rows.get(key)?.map(|value| value.value().to_vec()))
        })?;
        Ok(found.flatten())
    }

    /// Whether there is a row under `key`, readable or not.
    pub(crate) fn has(&self, table: &'static str, key: &[u8]) -> Result<bool, StoreError> {
        let found = self.with_bytes(table, |rows| Ok(rows.get(key)?.is_some()))?;
        Ok(found.unwrap_or(false))
    }

    /// All records of a table whose keys begin with `prefix`, in key order.
    pub(crate) fn scan<R: Record>(&self, prefix: &[u8]) -> Scan<'_, R> {
        self.scan_from(Bound::Included(prefix.to_vec()), after_prefix(prefix))
    }

    /// The records from `from` up to but without `end`, in key order.
    pub(crate) fn scan_from<R: Record>(
        &self,
        from: Bound<Vec<u8>>,
        end: Option<Vec<u8>>,
    ) -> Scan<'_, R> {
        Scan {
            view: self,
            from: Some(from),
            end,
            buffer: VecDeque::new(),
        }
    }

    /// Page ids at the end of the keys of an index.
    fn indexed_pages<R: Record>(&self, prefix: &[u8]) -> Result<Vec<PageId>, StoreError> {
        self.scan::<R>(prefix)
            .map(|entry| entry.and_then(|(key, _)| page_id(R::TABLE, &key[prefix.len()..])))
            .collect()
    }

    // ---- pages ----

    /// The present state of a page.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn page(&self, id: &PageId) -> Result<Option<PageRecord>, StoreError> {
        self.get(id.as_str().as_bytes())
    }

    /// Pages whose id begins with `prefix`, in byte order of ids; with `after`, those behind it.
    pub fn pages(
        &self,
        prefix: &str,
        after: Option<&PageId>,
    ) -> impl Iterator<Item = Result<(PageId, PageRecord), StoreError>> + use<'_> {
        let from = match after {
            Some(id) if id.as_str() >= prefix => Bound::Excluded(id.as_str().as_bytes().to_vec()),
            _ => Bound::Included(prefix.as_bytes().to_vec()),
        };
        self.page_rows(from, prefix)
    }

    /// Pages whose id begins with `prefix`, from the first whose id is not before `from`.
    pub fn pages_from(
        &self,
        from: &str,
        prefix: &str,
    ) -> impl Iterator<Item = Result<(PageId, PageRecord), StoreError>> + use<'_> {
        self.page_rows(Bound::Included(from.as_bytes().to_vec()), prefix)
    }

    fn page_rows(
        &self,
        from: Bound<Vec<u8>>,
        prefix: &str,
    ) -> impl Iterator<Item = Result<(PageId, PageRecord), StoreError>> + use<'_> {
        self.scan_from::<PageRecord>(from, after_prefix(prefix.as_bytes()))
            .map(|row| {
                let (key, record) = row?;
                Ok((page_id(PageRecord::TABLE, &key)?, record))
            })
    }

    /// Pages with this folded name, in byte order of ids.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn pages_named(&self, kind: NameKind, folded: &str) -> Result<Vec<PageId>, StoreError> {
        self.indexed_pages::<NameIndex>(&titles::name_prefix(kind, folded))
    }

    /// Pages whose folded id begins with this, in the order of folded ids.
    pub fn pages_folded(
        &self,
        folded: &str,
    ) -> impl Iterator<Item = Result<PageId, StoreError>> + '_ {
        let prefix = titles::name_beginning(NameKind::Id, folded);
        self.scan::<NameIndex>(&prefix).map(|row| {
            let (key, _) = row?;
            let at = key.iter().position(|&byte| byte == 0);
            let id = at.map_or(&[][..], |at| &key[at + 1..]);
            page_id(NameIndex::TABLE, id)
        })
    }

    /// The folded names of a page.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn names(&self, id: &PageId) -> Result<Option<NamesRecord>, StoreError> {
        self.get(&titles::row_key(id.as_str()))
    }

    /// The names of all pages, in byte order of page ids.
    pub fn all_names(
        &self,
    ) -> impl Iterator<Item = Result<(PageId, NamesRecord), StoreError>> + '_ {
        self.scan::<NamesRecord>(&[ROW]).map(|row| {
            let (key, record) = row?;
            Ok((page_id(NamesRecord::TABLE, &key[1..])?, record))
        })
    }

    // ---- links and citations ----

    /// The links of a page; `None` when the page is not indexed.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn links_from(&self, id: &PageId) -> Result<Option<LinksRecord>, StoreError> {
        self.get(&links::row_key(id.as_str()))
    }

    /// Pages that have a link with this needle, in byte order of ids: the candidates for
    /// backlinks, whose links are resolved against the pages of now.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn pages_linking(&self, needle: &str) -> Result<Vec<PageId>, StoreError> {
        self.indexed_pages::<LinkIndex>(&links::needle_prefix(needle))
    }

    /// What a page cites; `None` when the page is not indexed.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn citations_of(&self, id: &PageId) -> Result<Option<CitationsRecord>, StoreError> {
        self.get(&citations::row_key(id.as_str()))
    }

    /// Pages that name a source, preserved here or not, in byte order of ids.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn pages_citing(&self, source: SourceId) -> Result<Vec<PageId>, StoreError> {
        self.indexed_pages::<CitationIndex>(&citations::source_prefix(source))
    }

    // ---- sources ----

    /// What is known about a source.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn source(&self, id: SourceId) -> Result<Option<SourceRecord>, StoreError> {
        self.get(id.as_bytes())
    }

    /// Sources in the order of their ids; with `after`, those behind it.
    pub fn sources(
        &self,
        after: Option<SourceId>,
    ) -> impl Iterator<Item = Result<(SourceId, SourceRecord), StoreError>> + '_ {
        let from = match after {
            Some(id) => Bound::Excluded(id.as_bytes().to_vec()),
            None => Bound::Unbounded,
        };
        self.scan_from::<SourceRecord>(from, None).map(|row| {
            let (key, record) = row?;
            Ok((source_id(SourceRecord::TABLE, &key)?, record))
        })
    }

    /// Events of a source, by time, then by identity.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn source_events(&self, id: SourceId) -> Result<Vec<SourceEvent>, StoreError> {
        let mut events = self
            .scan::<SourceEvent>(id.as_bytes())
            .map(|row| row.map(|(_, event)| event))
            .collect::<Result<Vec<_>, _>>()?;
        // Rows come by identity, so a stable sort leaves ties in that order.
        events.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(events)
    }

    // ---- history ----

    /// A revision by its number.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn revision(&self, seq: u64) -> Result<Option<RevisionRecord>, StoreError> {
        self.get(&revisions::row_key(seq))
    }

    /// All revisions from number `from` on, oldest first.
    pub fn revisions(
        &self,
        from: u64,
    ) -> impl Iterator<Item = Result<(u64, RevisionRecord), StoreError>> + '_ {
        let end = after_prefix(&[ROW]);
        self.scan_from::<RevisionRecord>(Bound::Included(revisions::row_key(from)), end)
            .map(|row| {
                let (key, record) = row?;
                Ok((seq(&key)?, record))
            })
    }

    /// Numbers of the revisions of a page, oldest first. The page need not exist any more.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn revision_numbers(&self, id: &PageId) -> Result<Vec<u64>, StoreError> {
        self.scan::<RevisionIndex>(&revisions::page_prefix(id.as_str()))
            .map(|row| row.and_then(|(key, _)| seq(&key)))
            .collect()
    }

    /// The revisions of a page, oldest first. The page need not exist any more.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`, and so is an index entry without its row.
    pub fn revisions_of(&self, id: &PageId) -> Result<Vec<(u64, RevisionRecord)>, StoreError> {
        let read = |seq| match self.revision(seq)? {
            Some(revision) => Ok((seq, revision)),
            None => Err(StoreError::damaged(format!(
                "revision {seq} of {id} is missing"
            ))),
        };
        self.revision_numbers(id)?.into_iter().map(read).collect()
    }

    /// The newest revision of a page.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn last_revision(&self, id: &PageId) -> Result<Option<(u64, RevisionRecord)>, StoreError> {
        let prefix = revisions::page_prefix(id.as_str());
        let newest = self
            .with_bytes(RevisionRecord::TABLE, |rows| rows.last_key(&prefix))?
            .flatten();
        let Some(key) = newest else { return Ok(None) };
        let seq = seq(&key)?;
        Ok(self.revision(seq)?.map(|revision| (seq, revision)))
    }

    // ---- the tree ----

    /// What earlier commits still owe the tree, in byte order of paths.
    pub fn intents(
        &self,
    ) -> impl Iterator<Item = Result<(Vec<u8>, IntentRecord), StoreError>> + '_ {
        self.scan(&[])
    }

    /// What is owed for a path.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn intent(&self, path: &[u8]) -> Result<Option<IntentRecord>, StoreError> {
        self.get(path)
    }

    /// How the file at a path looked when it was read.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn stamp(&self, path: &[u8]) -> Result<Option<StampRecord>, StoreError> {
        self.get(path)
    }

    /// Stamps of the paths that begin with `prefix`, in byte order of paths.
    pub fn stamps(
        &self,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<(Vec<u8>, StampRecord), StoreError>> + '_ {
        self.scan(prefix)
    }

    /// How the directories below `pages` looked when they were read, in byte order of paths.
    pub fn folders(
        &self,
    ) -> impl Iterator<Item = Result<(Vec<u8>, FolderRecord), StoreError>> + '_ {
        self.scan(&[])
    }

    /// Why the file at a path is kept out.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn skipped_at(&self, path: &[u8]) -> Result<Option<SkippedRecord>, StoreError> {
        self.get(path)
    }

    /// Files that are kept out and why, in byte order of paths.
    pub fn skipped(
        &self,
    ) -> impl Iterator<Item = Result<(Vec<u8>, SkippedRecord), StoreError>> + '_ {
        self.scan(&[])
    }

    // ---- other projects ----

    /// A project that can be asked.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn project(&self, name: &str) -> Result<Option<ProjectRecord>, StoreError> {
        self.get(name.as_bytes())
    }

    /// The projects that can be asked, in byte order of names.
    pub fn projects(
        &self,
    ) -> impl Iterator<Item = Result<(String, ProjectRecord), StoreError>> + '_ {
        self.scan::<ProjectRecord>(&[]).map(|row| {
            let (key, record) = row?;
            let name = String::from_utf8(key).map_err(|key| bad_key("projects", key.as_bytes()))?;
            Ok((name, record))
        })
    }

    /// A page of another project as it was read last.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn project_page(
        &self,
        project: &str,
        path: &str,
    ) -> Result<Option<ProjectPageRecord>, StoreError> {
        self.get(&page_key(project, path))
    }

    // ---- code ----

    /// What made the code index; the default when code was never indexed.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn code_state(&self) -> Result<CodeStateRow, StoreError> {
        Ok(self.get(CODE_KEY)?.unwrap_or_default())
    }

    /// What is known of a file of the project.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn code_file(&self, path: &[u8]) -> Result<Option<CodeFileRecord>, StoreError> {
        self.get(path)
    }

    /// The files of the project that are known, in byte order of paths.
    pub fn code_files(
        &self,
    ) -> impl Iterator<Item = Result<(Vec<u8>, CodeFileRecord), StoreError>> + '_ {
        self.scan(&[])
    }

    /// How a file is cut and what it defines.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn code_chunks(&self, path: &[u8]) -> Result<Option<CodeChunksRecord>, StoreError> {
        self.get(path)
    }

    /// How every file is cut and what it defines, in byte order of paths.
    pub fn all_code_chunks(
        &self,
    ) -> impl Iterator<Item = Result<(Vec<u8>, CodeChunksRecord), StoreError>> + '_ {
        self.scan(&[])
    }

    /// The text of an indexed file as it was analysed.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn code_text(&self, path: &[u8]) -> Result<Option<String>, StoreError> {
        let row: Option<CodeTextRecord> = self.get(path)?;
        row.map(|row| row.text()).transpose()
    }

    // ---- sections ----

    /// Where a section is.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn section(&self, id: u32) -> Result<Option<SectionRecord>, StoreError> {
        self.get(&id.to_be_bytes())
    }

    /// All sections, in the order of their ids.
    pub fn sections(&self) -> impl Iterator<Item = Result<(u32, SectionRecord), StoreError>> + '_ {
        self.scan::<SectionRecord>(&[]).map(|row| {
            let (key, record) = row?;
            let id = <[u8; 4]>::try_from(key.as_slice())
                .map_err(|_| bad_key(SectionRecord::TABLE, &key))?;
            Ok((u32::from_be_bytes(id), record))
        })
    }
}

pub(crate) fn bad_key(table: &str, key: &[u8]) -> StoreError {
    StoreError::damaged(format!("key \"{}\" of {table}", key.escape_ascii()))
}

/// The page id that `bytes` of a key spell.
fn page_id(table: &str, bytes: &[u8]) -> Result<PageId, StoreError> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| PageId::parse(text).ok())
        .ok_or_else(|| bad_key(table, bytes))
}

fn source_id(table: &str, bytes: &[u8]) -> Result<SourceId, StoreError> {
    <[u8; 32]>::try_from(bytes)
        .map(|bytes| SourceId::from_hash(crate::id::ContentHash::from_bytes(bytes)))
        .map_err(|_| bad_key(table, bytes))
}

fn seq(key: &[u8]) -> Result<u64, StoreError> {
    revisions::seq_of(key).ok_or_else(|| bad_key(RevisionRecord::TABLE, key))
}

/// A bytes table in whichever kind of transaction.
pub(crate) enum BytesView<'a> {
    Read(&'a BytesRows),
    Write(&'a Rows<'a, &'static [u8], &'static [u8]>),
}

impl BytesView<'_> {
    pub(crate) fn get(
        &self,
        key: &[u8],
    ) -> Result<Option<AccessGuard<'_, &'static [u8]>>, StoreError> {
        Ok(match self {
            Self::Read(rows) => rows.get(key)?,
            Self::Write(rows) => rows.get(key)?,
        })
    }

    pub(crate) fn range(
        &self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<redb::Range<'_, &'static [u8], &'static [u8]>, StoreError> {
        // redb panics on a range whose start lies behind its end.
        if let (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end)) = (from, to)
            && start >= end
        {
            return self.range(Bound::Included(&[]), Bound::Included(&[]));
        }
        Ok(match self {
            Self::Read(rows) => rows.range::<&[u8]>((from, to))?,
            Self::Write(rows) => rows.range::<&[u8]>((from, to))?,
        })
    }

    /// The largest key with this prefix.
    pub(crate) fn last_key(&self, prefix: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let end = after_prefix(prefix);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        match self.range(Bound::Included(prefix), to)?.next_back() {
            Some(row) => Ok(Some(row?.0.value().to_vec())),
            None => Ok(None),
        }
    }
}

/// Most rows that an iterator reads at a time, and most bytes.
const RUN_ROWS: usize = 256;
const RUN_BYTES: usize = 1 << 20;

/// Records of a range of keys, in key order. Ends after the first error.
pub(crate) struct Scan<'a, R> {
    view: &'a View,
    from: Option<Bound<Vec<u8>>>,
    end: Option<Vec<u8>>,
    buffer: VecDeque<Result<(Vec<u8>, R), StoreError>>,
}

impl<R: Record> Scan<'_, R> {
    fn refill(&mut self) -> Result<(), StoreError> {
        let Some(from) = self.from.take() else {
            return Ok(());
        };
        let end = self
            .end
            .as_deref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        let buffer = &mut self.buffer;
        let next = self.view.with_bytes(R::TABLE, |rows| {
            let mut bytes = 0;
            for row in rows.range(from.as_ref().map(Vec::as_slice), end)? {
                let (key, value) = row?;
                let key = key.value().to_vec();
                bytes += key.len() + value.value().len();
                let record = codec::decode(&key, value.value());
                let failed = record.is_err();
                buffer.push_back(record.map(|record| (key.clone(), record)));
                if failed {
                    return Ok(None);
                }
                if buffer.len() >= RUN_ROWS || bytes >= RUN_BYTES {
                    return Ok(Some(Bound::Excluded(key)));
                }
            }
            Ok(None)
        })?;
        self.from = next.flatten();
        Ok(())
    }
}

impl<R: Record> Iterator for Scan<'_, R> {
    type Item = Result<(Vec<u8>, R), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.buffer.is_empty()
            && let Err(error) = self.refill()
        {
            self.from = None;
            // Rows before the failure were read well; they come first.
            self.buffer.push_back(Err(error));
        }
        self.buffer.pop_front()
    }
}

/// One state of the store, read-only. Dereferences to [`View`].
#[derive(Debug)]
pub struct Snapshot {
    view: View,
}

impl Snapshot {
    pub(crate) fn new(view: View) -> Self {
        Self { view }
    }
}

impl Deref for Snapshot {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}
