//! Writing: a [`Batch`] is one write transaction, done whole by [`Batch::commit`] or not at all.
//!
//! A batch also reads, and sees its own changes. It keeps the counts of `meta` and both directions
//! of `titles`, `links` and `citations` in step by itself.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::codec::{self, Record};
use super::error::{StoreError, guard};
use super::schema::{CODE_KEY, CodeStateRow, Meta, SCHEMA_KEY, STATE_KEY, SchemaRow, StateRow};
use super::snapshot::{OpenWrite, Txn, View};
use super::tables::bytes_table;
use super::tables::citations::{self, CitationIndex, CitationsRecord};
use super::tables::code_chunks::CodeChunksRecord;
use super::tables::code_files::CodeFileRecord;
use super::tables::code_texts::CodeTextRecord;
use super::tables::folders::FolderRecord;
use super::tables::intents::IntentRecord;
use super::tables::links::{self, LinkIndex, LinksRecord};
use super::tables::pages::PageRecord;
use super::tables::projects::{ProjectPageRecord, ProjectRecord, page_key, page_prefix};
use super::tables::revisions::{self, RevisionIndex, RevisionRecord};
use super::tables::sections::SectionRecord;
use super::tables::skipped::SkippedRecord;
use super::tables::source_events::{self, SourceEvent};
use super::tables::sources::SourceRecord;
use super::tables::stamps::StampRecord;
use super::tables::titles::{self, NameIndex, NamesRecord};
use crate::id::{PageId, SourceId};

/// One write transaction. Dereferences to [`View`] for reading; dropping it aborts.
#[derive(Debug)]
pub struct Batch {
    view: View,
    committed_schema: u32,
    index_changed: bool,
    /// A change failed, perhaps half done: such a batch is never committed.
    failed: bool,
}

impl Deref for Batch {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl Batch {
    /// A batch on a transaction whose store has this state; `meta` is what it holds.
    pub(crate) fn new(txn: OpenWrite, meta: Meta) -> Self {
        let committed_schema = meta.schema_version;
        Self {
            view: View::new(Txn::Write(txn), meta),
            committed_schema,
            index_changed: false,
            failed: false,
        }
    }

    /// What the store will say about itself.
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.view.meta
    }

    /// The number that [`Meta::commits`] will have once this batch is committed.
    pub fn commit_number(&self) -> u64 {
        self.view.meta.commits.saturating_add(1)
    }

    /// Says that this batch changes what a search can find: the epoch grows with the commit.
    /// Changes of pages and sections say so by themselves.
    pub fn touch_index(&mut self) {
        self.index_changed = true;
    }

    /// Makes everything durable: when this returns, it survives a crash.
    ///
    /// # Errors
    /// [`StoreError`]. Mostly nothing of the batch is kept then; but where the disk fails at the
    /// very end (`Io`, `Full`, `Closed`) the commit may stand all the same. Ask
    /// [`Store::landed`](super::Store::landed) with [`Batch::commit_number`], then open the store
    /// again.
    pub fn commit(mut self) -> Result<Meta, StoreError> {
        if self.failed {
            return Err(StoreError::Misuse {
                what: "a commit after a failed change".to_owned(),
            });
        }
        self.view.meta.commits = self.commit_number();
        self.view.meta.epoch += u64::from(self.index_changed);
        let state = self.view.meta.state();
        self.put::<StateRow>(STATE_KEY, &state)?;
        let version = self.view.meta.schema_version;
        if version != self.committed_schema {
            self.put(SCHEMA_KEY, &SchemaRow { version })?;
        }
        let txn = self.view.take_write()?;
        guard(|| Ok(txn.commit()?))?;
        Ok(self.view.meta.clone())
    }

    /// Changes rows; a failure, after which some may be changed and some not, forbids the commit.
    pub(crate) fn change<T>(
        &mut self,
        work: impl FnOnce(&View) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let view = &self.view;
        let outcome = guard(|| work(view));
        self.failed |= outcome.is_err();
        outcome
    }

    pub(crate) fn put<R: Record>(&mut self, key: &[u8], record: &R) -> Result<(), StoreError> {
        let value = codec::encode(key, record)?;
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(R::TABLE))?;
            rows.insert(key, value.as_slice())?;
            Ok(())
        })
    }

    /// Puts a record and answers whether the key is new.
    fn put_new<R: Record>(&mut self, key: &[u8], record: &R) -> Result<bool, StoreError> {
        let value = codec::encode(key, record)?;
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(R::TABLE))?;
            let old = rows.insert(key, value.as_slice())?;
            Ok(old.is_none())
        })
    }

    /// Removes a row and answers whether there was one. Never decodes it, so that a damaged row
    /// can be removed.
    pub(crate) fn delete(&mut self, table: &'static str, key: &[u8]) -> Result<bool, StoreError> {
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(table))?;
            let old = rows.remove(key)?;
            Ok(old.is_some())
        })
    }

    /// Puts or removes a record that has index entries, changing only the entries that differ.
    fn put_indexed<R: Record, I: Record>(
        &mut self,
        row_key: &[u8],
        record: Option<&R>,
        entries: impl Fn(&R) -> Vec<Vec<u8>>,
        entry: &I,
    ) -> Result<(), StoreError> {
        let value = record
            .map(|record| codec::encode(row_key, record))
            .transpose()?;
        let stored = self.view.raw(R::TABLE, row_key)?;
        if stored.is_some() && stored == value {
            return Ok(());
        }
        let old = stored
            .map(|bytes| codec::decode::<R>(row_key, &bytes))
            .transpose()?;
        let before: BTreeSet<_> = old
            .as_ref()
            .map(&entries)
            .unwrap_or_default()
            .into_iter()
            .collect();
        let after: BTreeSet<_> = record
            .map(&entries)
            .unwrap_or_default()
            .into_iter()
            .collect();
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(R::TABLE))?;
            for gone in before.difference(&after) {
                rows.remove(gone.as_slice())?;
            }
            for new in after.difference(&before) {
                rows.insert(new.as_slice(), codec::encode(new, entry)?.as_slice())?;
            }
            match &value {
                Some(value) => drop(rows.insert(row_key, value.as_slice())?),
                None => drop(rows.remove(row_key)?),
            }
            Ok(())
        })
    }

    // ---- pages ----

    /// Puts the present state of a page. Its names, links, citations, sections and revision are
    /// put apart.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_page(&mut self, id: &PageId, page: &PageRecord) -> Result<(), StoreError> {
        self.index_changed = true;
        if self.put_new(id.as_str().as_bytes(), page)? {
            self.view.meta.page_count += 1;
        }
        Ok(())
    }

    /// Removes a page with its names, links and citations; its history stays. Answers whether
    /// there was one. Its sections are removed apart.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_page(&mut self, id: &PageId) -> Result<bool, StoreError> {
        self.index_changed = true;
        self.put_names(id, None)?;
        self.put_links(id, None)?;
        self.put_citations(id, None)?;
        let was = self.delete(PageRecord::TABLE, id.as_str().as_bytes())?;
        if was {
            self.view.meta.page_count = self.view.meta.page_count.saturating_sub(1);
        }
        Ok(was)
    }

    /// Puts (or with `None` removes) the folded names of a page.
    ///
    /// # Errors
    /// [`StoreError`]; `Misuse` for a name with a NUL.
    pub fn put_names(
        &mut self,
        id: &PageId,
        names: Option<&NamesRecord>,
    ) -> Result<(), StoreError> {
        if let Some(names) = names {
            no_nul([names.title.as_str(), &names.base_name, &names.id])?;
        }
        let page = id.as_str();
        let entries = |names: &NamesRecord| titles::index_keys(page, names);
        self.put_indexed(&titles::row_key(page), names, entries, &NameIndex)
    }

    /// Puts (or with `None` removes) the links of a page.
    ///
    /// # Errors
    /// [`StoreError`]; `Misuse` for a needle with a NUL.
    pub fn put_links(
        &mut self,
        id: &PageId,
        links: Option<&LinksRecord>,
    ) -> Result<(), StoreError> {
        if let Some(links) = links {
            no_nul(links.needles.iter().map(String::as_str))?;
        }
        let page = id.as_str();
        let entries = |links: &LinksRecord| links::index_keys(page, links);
        self.put_indexed(&links::row_key(page), links, entries, &LinkIndex)
    }

    /// Puts (or with `None` removes) what a page cites.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_citations(
        &mut self,
        id: &PageId,
        cited: Option<&CitationsRecord>,
    ) -> Result<(), StoreError> {
        let page = id.as_str();
        let entries = |cited: &CitationsRecord| citations::index_keys(page, cited);
        self.put_indexed(&citations::row_key(page), cited, entries, &CitationIndex)
    }

    // ---- sources ----

    /// Puts what is known about a source. Its bytes are put with [`Batch::put_blob`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_source(&mut self, id: SourceId, source: &SourceRecord) -> Result<(), StoreError> {
        if self.put_new(id.as_bytes(), source)? {
            self.view.meta.source_count += 1;
        }
        Ok(())
    }

    /// Removes a source and its events; its bytes are removed apart. Answers whether there was one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_source(&mut self, id: SourceId) -> Result<bool, StoreError> {
        self.delete_prefix(SourceEvent::TABLE, id.as_bytes())?;
        let was = self.delete(SourceRecord::TABLE, id.as_bytes())?;
        if was {
            self.view.meta.source_count = self.view.meta.source_count.saturating_sub(1);
        }
        Ok(was)
    }

    /// Adds an event of a source. Answers whether it is new; the same event twice is once.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_source_event(
        &mut self,
        source: SourceId,
        event: &SourceEvent,
    ) -> Result<bool, StoreError> {
        self.put_new(
            &source_events::row_key(source, event.identity(source)),
            event,
        )
    }

    // ---- history ----

    /// Adds a revision and answers its number, one more than the last.
    ///
    /// # Errors
    /// [`StoreError`]; `Misuse` for a page id with a NUL.
    pub fn add_revision(&mut self, revision: &RevisionRecord) -> Result<u64, StoreError> {
        let seq = self.view.meta.next_revision;
        self.put_revision_at(seq, revision)?;
        self.view.meta.next_revision = seq.checked_add(1).ok_or(StoreError::TooLarge {
            what: "the number of revisions",
            limit: u64::MAX,
        })?;
        Ok(seq)
    }

    /// Puts a revision under a number that it had before (salvage).
    pub(crate) fn put_revision_at(
        &mut self,
        seq: u64,
        revision: &RevisionRecord,
    ) -> Result<(), StoreError> {
        no_nul([revision.page.as_str()])?;
        let row_key = revisions::row_key(seq);
        let index_key = revisions::index_key(&revision.page, seq);
        let row = codec::encode(&row_key, revision)?;
        let entry = codec::encode(&index_key, &RevisionIndex)?;
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(RevisionRecord::TABLE))?;
            rows.insert(row_key.as_slice(), row.as_slice())?;
            rows.insert(index_key.as_slice(), entry.as_slice())?;
            Ok(())
        })
    }

    // ---- the tree ----

    /// Promises a change of the tree.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_intent(&mut self, path: &[u8], intent: &IntentRecord) -> Result<(), StoreError> {
        self.put(path, intent)
    }

    /// Forgets a promise that was kept or has become void.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_intent(&mut self, path: &[u8]) -> Result<bool, StoreError> {
        self.delete(IntentRecord::TABLE, path)
    }

    /// Says how a file looked when it was read or written.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_stamp(&mut self, path: &[u8], stamp: &StampRecord) -> Result<(), StoreError> {
        self.put(path, stamp)
    }

    /// Forgets how a file looked.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_stamp(&mut self, path: &[u8]) -> Result<bool, StoreError> {
        self.delete(StampRecord::TABLE, path)
    }

    /// Says how a directory looked when it was read.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_folder(&mut self, path: &[u8], folder: &FolderRecord) -> Result<(), StoreError> {
        self.put(path, folder)
    }

    /// Forgets a directory.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_folder(&mut self, path: &[u8]) -> Result<bool, StoreError> {
        self.delete(FolderRecord::TABLE, path)
    }

    /// Says that a file is kept out, and why.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_skipped(&mut self, path: &[u8], why: &SkippedRecord) -> Result<(), StoreError> {
        self.put(path, why)
    }

    /// Says that a file is no longer kept out.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_skipped(&mut self, path: &[u8]) -> Result<bool, StoreError> {
        self.delete(SkippedRecord::TABLE, path)
    }

    // ---- other projects ----

    /// Puts what is known of another project.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_project(&mut self, name: &str, project: &ProjectRecord) -> Result<(), StoreError> {
        self.put(name.as_bytes(), project)
    }

    /// Forgets another project and its pages.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_project(&mut self, name: &str) -> Result<bool, StoreError> {
        let pages: Vec<Vec<u8>> = self
            .scan::<ProjectPageRecord>(&page_prefix(name))
            .map(|row| row.map(|(key, _)| key))
            .collect::<Result<_, _>>()?;
        for key in pages {
            self.delete(ProjectPageRecord::TABLE, &key)?;
        }
        self.delete(ProjectRecord::TABLE, name.as_bytes())
    }

    /// Puts a page of another project as it was read.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_project_page(
        &mut self,
        project: &str,
        path: &str,
        page: &ProjectPageRecord,
    ) -> Result<(), StoreError> {
        self.put(&page_key(project, path), page)
    }

    // ---- sections ----

    /// A section id that was never used.
    ///
    /// # Errors
    /// `TooLarge` after 2^32 - 1 sections; a rebuild numbers them anew.
    pub fn new_section_id(&mut self) -> Result<u32, StoreError> {
        let id = self.view.meta.next_section;
        self.view.meta.next_section = id.checked_add(1).ok_or(StoreError::TooLarge {
            what: "the number of sections ever made",
            limit: u64::from(u32::MAX),
        })?;
        Ok(id)
    }

    /// Puts sections, and keeps count and total length in step. Cheapest with all sections of a
    /// page in one call.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_sections<'a>(
        &mut self,
        sections: impl IntoIterator<Item = (u32, &'a SectionRecord)>,
    ) -> Result<(), StoreError> {
        let (mut count, mut length) = (self.view.meta.section_count, self.view.meta.total_length);
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(SectionRecord::TABLE))?;
            for (id, section) in sections {
                let key = id.to_be_bytes();
                let value = codec::encode(&key, section)?;
                if let Some(old) = rows.get(key.as_slice())?
                    && old.value() == value
                {
                    continue;
                }
                let old = rows.insert(key.as_slice(), value.as_slice())?;
                match old {
                    Some(old) => {
                        let old = codec::decode::<SectionRecord>(&key, old.value())?;
                        length = length.saturating_sub(u64::from(old.length));
                    }
                    None => count += 1,
                }
                length += u64::from(section.length);
            }
            Ok(())
        })?;
        self.index_changed = true;
        self.view.meta.section_count = count;
        self.view.meta.total_length = length;
        Ok(())
    }

    /// Removes sections, and keeps count and total length in step.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_sections(&mut self, ids: &[u32]) -> Result<(), StoreError> {
        let (mut count, mut length) = (self.view.meta.section_count, self.view.meta.total_length);
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(SectionRecord::TABLE))?;
            for id in ids {
                let key = id.to_be_bytes();
                if let Some(old) = rows.remove(key.as_slice())? {
                    let old = codec::decode::<SectionRecord>(&key, old.value())?;
                    count = count.saturating_sub(1);
                    length = length.saturating_sub(u64::from(old.length));
                }
            }
            Ok(())
        })?;
        self.index_changed = true;
        self.view.meta.section_count = count;
        self.view.meta.total_length = length;
        Ok(())
    }

    // ---- whole tables ----

    /// Removes every row whose key begins with `prefix`.
    fn delete_prefix(&mut self, table: &'static str, prefix: &[u8]) -> Result<(), StoreError> {
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(table))?;
            let keys = rows
                .range::<&[u8]>(prefix..)?
                .map(|row| row.map(|(key, _)| key.value().to_vec()))
                .take_while(|key| key.as_ref().map_or(true, |key| key.starts_with(prefix)))
                .collect::<Result<Vec<_>, _>>()?;
            for key in keys {
                rows.remove(key.as_slice())?;
            }
            Ok(())
        })
    }

    // ---- code ----

    /// Says what made the code index.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_code_state(&mut self, state: &CodeStateRow) -> Result<(), StoreError> {
        self.put(CODE_KEY, state)
    }

    /// Puts what is known of a project's file. Its chunks are put with [`Batch::put_code_chunks`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_code_file(&mut self, path: &[u8], file: &CodeFileRecord) -> Result<(), StoreError> {
        self.put(path, file)
    }

    /// Puts how a file is cut, and its text. Its postings are put apart.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_code_chunks(
        &mut self,
        path: &[u8],
        chunks: &CodeChunksRecord,
        text: &CodeTextRecord,
    ) -> Result<(), StoreError> {
        self.put(path, chunks)?;
        self.put(path, text)
    }

    /// Forgets a project's file; its postings are removed apart.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_code_file(&mut self, path: &[u8]) -> Result<(), StoreError> {
        self.delete(CodeFileRecord::TABLE, path)?;
        self.delete(CodeChunksRecord::TABLE, path)?;
        self.delete(CodeTextRecord::TABLE, path)?;
        Ok(())
    }

    /// Forgets all files of the project; the postings are dropped by `index::clear`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn clear_code(&mut self) -> Result<(), StoreError> {
        self.change(|view| {
            let txn = view.write_txn()?;
            for name in [
                CodeFileRecord::TABLE,
                CodeChunksRecord::TABLE,
                CodeTextRecord::TABLE,
            ] {
                txn.delete_table(bytes_table(name))?;
            }
            Ok(())
        })
    }

    /// Forgets how files looked and which are kept out; the next look at the tree reads all of it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn clear_local(&mut self) -> Result<(), StoreError> {
        self.clear_tables(super::schema::Nature::Local)
    }

    fn clear_tables(&mut self, wanted: super::schema::Nature) -> Result<(), StoreError> {
        self.change(|view| {
            let txn = view.write_txn()?;
            for &(name, nature) in super::schema::TABLES {
                if nature == wanted {
                    txn.delete_table(bytes_table(name))?;
                    drop(txn.open_table(bytes_table(name))?);
                }
            }
            Ok(())
        })
    }

    /// Drops the derived tables that this module keeps (sections, titles, links, citations, code); the
    /// posting tables are dropped by `index::clear`. Section ids are not used again.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn clear_derived(&mut self) -> Result<(), StoreError> {
        self.clear_tables(super::schema::Nature::Derived)?;
        self.delete(CodeStateRow::TABLE, CODE_KEY)?;
        self.index_changed = true;
        self.view.meta.section_count = 0;
        self.view.meta.total_length = 0;
        Ok(())
    }
}

fn no_nul<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
    match texts.into_iter().find(|text| text.contains('\0')) {
        Some(text) => Err(StoreError::Misuse {
            what: format!("a NUL in the key {text:?}"),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::context::Context;
    use crate::id::ContentHash;
    use crate::store::testing::{Place, page};
    use crate::store::{LinkRecord, NameKind, verify};

    fn record(revision: u64) -> PageRecord {
        PageRecord {
            sha256: ContentHash::of(b"text"),
            byte_count: 4,
            title: String::new(),
            summary: String::new(),
            sources: vec![],
            missing_sources: vec![],
            sections: vec![],
            revision,
        }
    }

    #[test]
    fn pages_come_in_byte_order_by_prefix_and_behind_a_cursor() {
        let place = Place::new();
        let store = place.create();
        let mut batch = store.write().unwrap();
        // More than one run of rows.
        let ids: Vec<String> = (0..700)
            .map(|n| format!("{}/{n:03}", ["a", "ab", "b"][n % 3]))
            .collect();
        for id in &ids {
            batch.put_page(&page(id), &record(0)).unwrap();
        }
        assert_eq!(batch.meta().page_count, 700);
        let list = |view: &View, prefix: &str, after: Option<&str>| -> Vec<String> {
            let after = after.map(page);
            view.pages(prefix, after.as_ref())
                .map(|row| row.unwrap().0.to_string())
                .collect()
        };
        let expected = |keep: &dyn Fn(&str) -> bool| -> Vec<String> {
            let mut kept: Vec<String> = ids.iter().filter(|id| keep(id)).cloned().collect();
            kept.sort();
            kept
        };
        for (prefix, after) in [
            ("", None),
            ("a/", None),
            ("a", None),
            ("ab/3", Some("ab/334")),
            ("b/", Some("a/000")),
            ("a/", Some("b/001")),
            ("zz", None),
        ] {
            assert_eq!(
                list(&batch, prefix, after),
                expected(&|id| id.starts_with(prefix) && after.is_none_or(|after| id > after)),
                "{prefix} {after:?}"
            );
        }
        batch.commit().unwrap();
        assert_eq!(list(&store.read().unwrap(), "", None), expected(&|_| true));
    }

    #[test]
    fn the_epoch_grows_with_commits_that_change_what_is_found() {
        let place = Place::new();
        let store = place.create();
        let mut batch = store.write().unwrap();
        batch.put_blob(b"x").unwrap();
        assert_eq!(batch.commit().unwrap().epoch, 0);
        let mut batch = store.write().unwrap();
        batch.put_page(&page("a"), &record(0)).unwrap();
        batch.remove_page(&page("a")).unwrap();
        assert_eq!(batch.commit().unwrap().epoch, 1);
        assert_eq!(store.meta_now().unwrap().epoch, 1);
    }

    #[test]
    fn an_event_twice_is_once() {
        let place = Place::new();
        let store = place.create();
        let source = SourceId::of(b"s");
        let event = |at: &str| SourceEvent {
            kind: crate::store::SourceEventKind::CAPTURED,
            at: at.to_owned(),
            name: "n".to_owned(),
            media_type: "text/plain".to_owned(),
            origin: None,
            successor: None,
            reason: String::new(),
            actor: String::new(),
        };
        let mut batch = store.write().unwrap();
        assert!(
            batch
                .put_source_event(source, &event("2026-02-02"))
                .unwrap()
        );
        assert!(
            batch
                .put_source_event(source, &event("2026-01-01"))
                .unwrap()
        );
        assert!(
            !batch
                .put_source_event(source, &event("2026-02-02"))
                .unwrap()
        );
        let events = batch.source_events(source).unwrap();
        assert_eq!(events, [event("2026-01-01"), event("2026-02-02")]);
    }

    #[test]
    fn keys_with_a_nul_are_refused() {
        let place = Place::new();
        let store = place.create();
        let mut batch = store.write().unwrap();
        let links = LinksRecord {
            links: vec![],
            needles: vec!["a\0b".to_owned()],
        };
        let refused = batch.put_links(&page("a"), Some(&links));
        assert!(matches!(refused, Err(StoreError::Misuse { .. })));
    }

    #[derive(Debug, Clone)]
    enum Op {
        Put {
            page: usize,
            title: usize,
            needles: Vec<usize>,
            sources: Vec<u8>,
        },
        Remove {
            page: usize,
        },
        Commit,
        Abort,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (0..6usize, 0..4usize, vec(0..5usize, 0..4), vec(0..4u8, 0..3)).prop_map(
                |(page, title, needles, sources)| Op::Put { page, title, needles, sources }
            ),
            2 => (0..6usize).prop_map(|page| Op::Remove { page }),
            2 => Just(Op::Commit),
            1 => Just(Op::Abort),
        ]
    }

    /// Title, needles, sources of a page.
    type Row = (String, BTreeSet<String>, BTreeSet<SourceId>);
    type Model = BTreeMap<String, Row>;

    fn agrees(view: &View, model: &Model) -> Result<(), TestCaseError> {
        let ids: Vec<String> = view
            .pages("", None)
            .map(|row| row.unwrap().0.to_string())
            .collect();
        prop_assert_eq!(ids, model.keys().cloned().collect::<Vec<_>>());
        prop_assert_eq!(view.meta().page_count, model.len() as u64);
        let having = |keep: &dyn Fn(&Row) -> bool| {
            model
                .iter()
                .filter(|(_, row)| keep(row))
                .map(|(id, _)| page(id))
                .collect::<Vec<_>>()
        };
        for n in 0..5 {
            let text = format!("t{n}");
            prop_assert_eq!(
                view.pages_named(NameKind::Title, &text).unwrap(),
                having(&|row| row.0 == text)
            );
            prop_assert_eq!(
                view.pages_linking(&text).unwrap(),
                having(&|row| row.1.contains(&text))
            );
            let source = SourceId::of(&[n]);
            prop_assert_eq!(
                view.pages_citing(source).unwrap(),
                having(&|row| row.2.contains(&source))
            );
        }
        // Pages of this model have no text and no history, which verification rightly says.
        let found = verify(view, false, &Context::default()).unwrap();
        prop_assert!(
            found.faults.iter().all(|fault| fault.table == "pages"),
            "{:?}",
            found.faults
        );
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn both_directions_agree_with_a_model_after_any_writes(ops in vec(op(), 1..40)) {
            let place = Place::new();
            let store = place.create();
            let (mut committed, mut model) = (Model::new(), Model::new());
            let mut batch = store.write().unwrap();
            for op in ops {
                match op {
                    Op::Put { page: n, title, needles, sources } => {
                        let id = ["a", "a/b", "b", "c/d", "ab", "z"][n];
                        let title = format!("t{title}");
                        let needles: BTreeSet<String> =
                            needles.iter().map(|n| format!("t{n}")).collect();
                        let sources: BTreeSet<SourceId> =
                            sources.iter().map(|n| SourceId::of(&[*n])).collect();
                        batch.put_page(&page(id), &record(0)).unwrap();
                        let names = NamesRecord {
                            title: title.clone(),
                            base_name: id.to_owned(),
                            id: id.to_owned(),
                        };
                        batch.put_names(&page(id), Some(&names)).unwrap();
                        let links = LinksRecord {
                            links: vec![LinkRecord {
                                kind: crate::store::LinkRecordKind::Markdown,
                                target: "x".to_owned(),
                                fragment: None,
                                line: 1,
                            }],
                            needles: needles.iter().cloned().collect(),
                        };
                        batch.put_links(&page(id), Some(&links)).unwrap();
                        let cited = CitationsRecord {
                            sources: sources.iter().copied().collect(),
                            claims: vec![],
                        };
                        batch.put_citations(&page(id), Some(&cited)).unwrap();
                        model.insert(id.to_owned(), (title, needles, sources));
                    }
                    Op::Remove { page: n } => {
                        let id = ["a", "a/b", "b", "c/d", "ab", "z"][n];
                        let was = batch.remove_page(&page(id)).unwrap();
                        prop_assert_eq!(was, model.remove(id).is_some());
                    }
                    Op::Commit => {
                        batch.commit().unwrap();
                        committed.clone_from(&model);
                        agrees(&store.read().unwrap(), &committed)?;
                        batch = store.write().unwrap();
                    }
                    Op::Abort => {
                        drop(batch);
                        model.clone_from(&committed);
                        batch = store.write().unwrap();
                    }
                }
            }
            agrees(&batch, &model)?;
        }
    }
}
