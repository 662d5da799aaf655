//! Building an index whole: rows are written once, by rising term id, without delta rows.
//!
//! Memory: the dictionary, at most 1024 postings of each term in two to three bytes each, and the
//! encoded rows (about 1.5 bytes a posting): some 300 MiB for 75 million postings.

use std::collections::HashMap;

use super::super::batch::Batch;
use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::terms::{self, term_key};
use super::{IndexSet, SLICES, fold, lengths, postings};
use crate::search::AnalyzedSection;
use crate::search::lengths::Lengths;
use crate::search::postings::{Posting, ROW_POSTINGS, Row, put, take};

/// Collects sections by rising id, then replaces an index.
#[derive(Debug, Default)]
pub struct BulkIndexer {
    ids: HashMap<Box<[u8]>, u32>,
    lists: Vec<List>,
    lengths: Lengths,
    sections: u64,
    total_length: u64,
    next_section: u64,
}

/// The postings of one term.
#[derive(Debug, Default)]
struct List {
    /// Closed rows: last section, encoded row.
    rows: Vec<(u32, Box<[u8]>)>,
    /// (gap, weight)* as LEB128, of the postings that are in no row yet.
    pending: Vec<u8>,
    pending_count: u32,
    /// Section before the first pending one, and the last one.
    base: u32,
    last: u32,
    document_frequency: u32,
}

impl List {
    fn pending_row(&self, lengths: &Lengths) -> Result<Row, StoreError> {
        let lost = || StoreError::damaged("postings that were just collected");
        let mut rest = self.pending.as_slice();
        let mut section = self.base;
        let mut row = Row::default();
        for _ in 0..self.pending_count {
            section = section.wrapping_add(take(&mut rest).map_err(|_| lost())?);
            let weight = take(&mut rest).map_err(|_| lost())?;
            row.push(
                Posting { section, weight },
                lengths.get(section).unwrap_or(0),
            );
        }
        Ok(row)
    }
}

impl BulkIndexer {
    /// An indexer that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a section. Ids must rise.
    ///
    /// # Errors
    /// `Misuse` for an id that does not rise.
    pub fn push(&mut self, section: u32, analyzed: &AnalyzedSection) -> Result<(), StoreError> {
        if u64::from(section) < self.next_section || section == u32::MAX {
            let what = format!("section id {section} does not rise");
            return Err(StoreError::Misuse { what });
        }
        self.next_section = u64::from(section) + 1;
        self.sections += 1;
        self.total_length += u64::from(analyzed.length);
        self.lengths.set(section, Some(analyzed.length));
        for (term, weight) in &analyzed.terms {
            if *weight > 0 {
                self.push_term(section, &term_key(term.as_bytes()), *weight)?;
            }
        }
        Ok(())
    }

    fn push_term(&mut self, section: u32, term: &[u8], weight: u32) -> Result<(), StoreError> {
        let id = match self.ids.get(term) {
            Some(&id) => id,
            None => {
                let id = u32::try_from(self.lists.len()).map_err(|_| StoreError::TooLarge {
                    what: "the dictionary",
                    limit: 1 << 32,
                })?;
                self.ids.insert(term.into(), id);
                self.lists.push(List {
                    base: u32::MAX,
                    last: u32::MAX,
                    ..List::default()
                });
                id
            }
        };
        let list = &mut self.lists[id as usize];
        if list.document_frequency > 0 && list.last == section {
            // A term named twice counts once, as in `apply`.
            return Ok(());
        }
        put(&mut list.pending, section.wrapping_sub(list.last));
        put(&mut list.pending, weight);
        list.last = section;
        list.pending_count += 1;
        list.document_frequency += 1;
        // The postings of this section are complete only for terms that were seen, but its length
        // is known, which is all that a row needs.
        if list.pending_count as usize == ROW_POSTINGS {
            let mut bytes = Vec::new();
            list.pending_row(&self.lengths)?.encode(&mut bytes);
            list.rows.push((section, bytes.into_boxed_slice()));
            list.pending.clear();
            list.pending_count = 0;
            list.base = section;
        }
        Ok(())
    }

    /// Number of sections so far.
    pub fn len(&self) -> u64 {
        self.sections
    }

    /// Whether there is no section yet.
    pub fn is_empty(&self) -> bool {
        self.sections == 0
    }

    /// Puts what was collected in the place of the index.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish(self, batch: &mut Batch, set: IndexSet) -> Result<(), StoreError> {
        batch.touch_index();
        let view: &View = batch;
        guard(|| {
            let mut state = fold::reset(view, set)?;
            state.sections = self.sections;
            state.total_length = self.total_length;
            state.next_section = state.next_section.max(self.next_section);
            state.next_term = self.lists.len() as u64;
            state.folded = [state.sequence; SLICES];
            lengths::store(set, &mut view.rows_mut(set.lengths())?, &self.lengths)?;
            let mut rows = view.rows_mut(set.postings())?;
            for (id, list) in (0u32..).zip(self.lists) {
                let mut open = list.pending_row(&self.lengths)?;
                open.document_frequency = list.document_frequency;
                for (last, bytes) in list.rows {
                    let key = postings::key(id, last);
                    rows.insert(key, postings::seal(set, key, &bytes).as_slice())?;
                }
                postings::put(set, &mut rows, postings::open_key(id), &open)?;
            }
            drop(rows);
            let mut dictionary: Vec<(Box<[u8]>, u32)> = self.ids.into_iter().collect();
            dictionary.sort_unstable();
            let mut rows = view.rows_mut(set.terms())?;
            for (term, id) in dictionary {
                terms::put(&mut rows, &term, id)?;
            }
            drop(rows);
            state.write(set, &mut view.rows_mut(set.delta())?)
        })
    }
}
