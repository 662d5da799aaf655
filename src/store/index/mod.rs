//! The search index: which sections hold which terms, kept in step with the pages.
//!
//! Answers for the tables below and for exact answers from them; what a section's terms are and
//! how they score is decided in `search`. Pages and code have one set of tables each.
//!
//! ```text
//! terms     term bytes -> term id, exact document frequency and open row of postings, sealed
//! postings  (term id << 32 | last section id of the row) -> closed row of postings, sealed
//! lengths   section id / 1024 -> lengths of those sections, sealed
//! delta     sequence number -> what one write added and removed, sealed; 0 -> state
//! ```
//!
//! A write adds one row to `delta` and leaves the postings alone. `MERGE` such rows become one;
//! `FREEZE` merged rows become the one row that is being folded: every `FOLD_EVERY`th write folds
//! its next terms, in byte order, so that what one fold touches lies together in the dictionary.
//! Many writes share the cost of a term, no single one pays for all, and at most 32 rows are
//! overlaid by readers. The state names the rows and the last term that is folded. Everything is
//! folded at once when the rows grow too large to overlay, and at the end of bulk work.
//!
//! Invariants: section ids are never used twice and rise from write to write, so what is added
//! comes after all rows; postings of a removed section may linger in rows while its removal waits
//! in `delta`, but it has no length any more, and scoring ignores it; document frequency, number of
//! sections and total length are exact in every state.

#![allow(
    clippy::cast_possible_truncation,
    reason = "keys are put together from u32 halves, and section and term ids are u32 by construction"
)]

mod bulk;
mod check;
mod delta;
mod fold;
mod lengths;
mod postings;
mod reader;
mod terms;

pub use bulk::BulkIndexer;
pub use check::{ExpectedPostings, IndexCheck, check, check_against};
#[doc(hidden)]
pub use delta::decode as decode_delta;
pub use fold::{apply, clear, tidy};
pub use reader::{IndexCache, IndexReader, TieKey};

use redb::TableDefinition;

use super::codec;
use super::error::{StoreError, guard};
use super::snapshot::{Rows, View};

/// So many rows of one write are merged into one.
const MERGE: usize = if cfg!(test) { 3 } else { 16 };
/// So many merged rows become the row that is folded.
const FREEZE: usize = if cfg!(test) { 3 } else { 15 };
/// A write in this many folds a part of it; it is folded when the next one is due.
const FOLD_EVERY: u64 = if cfg!(test) { 2 } else { 4 };
// What readers overlay: unit tests come to every turn of this sooner.
const _: () = assert!(MERGE + FREEZE < 32);

const STATE_VERSION: u8 = 1;
const ROW_VERSION: u8 = 1;
/// Key of the state in `delta`; sequence numbers begin with 1.
const STATE_KEY: u64 = 0;

/// Which of the two indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexSet {
    /// Sections of pages.
    Pages,
    /// Chunks of code.
    Code,
}

type TermTable = TableDefinition<'static, &'static [u8], &'static [u8]>;
type RowTable = TableDefinition<'static, u64, &'static [u8]>;
type BlockTable = TableDefinition<'static, u32, &'static [u8]>;

impl IndexSet {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Pages, Self::Code];

    /// Names of terms, postings, lengths and delta.
    const fn names(self) -> [&'static str; 4] {
        match self {
            Self::Pages => ["terms", "postings", "lengths", "delta"],
            Self::Code => ["code_terms", "code_postings", "code_lengths", "code_delta"],
        }
    }

    pub(crate) const fn terms(self) -> TermTable {
        TableDefinition::new(self.names()[0])
    }

    pub(crate) const fn postings(self) -> RowTable {
        TableDefinition::new(self.names()[1])
    }

    pub(crate) const fn lengths(self) -> BlockTable {
        TableDefinition::new(self.names()[2])
    }

    pub(crate) const fn delta(self) -> RowTable {
        TableDefinition::new(self.names()[3])
    }
}

type TermRows<'txn> = Rows<'txn, &'static [u8], &'static [u8]>;
type NumberedRows<'txn> = Rows<'txn, u64, &'static [u8]>;
type BlockRows<'txn> = Rows<'txn, u32, &'static [u8]>;

/// A row of `delta` by its key: which write it ends with, and its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RowKey(u64);

/// A row of one write, of merged writes, and the one that is being folded.
const SINGLE: u64 = 0;
const MERGED: u64 = 1;
const FOLDING: u64 = 2;

impl RowKey {
    fn new(sequence: u64, level: u64) -> Self {
        Self(sequence * 4 + level)
    }

    fn sequence(self) -> u64 {
        self.0 / 4
    }

    fn level(self) -> u64 {
        self.0 % 4
    }
}

/// What the index says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    /// Grows when everything is replaced.
    generation: u64,
    /// Number of the last write.
    sequence: u64,
    /// All writes up to this one are folded whole.
    folded: u64,
    /// Sections in the index.
    sections: u64,
    /// Sum of their lengths.
    total_length: u64,
    /// Smallest section id that may be added.
    next_section: u64,
    /// Next term id.
    next_term: u64,
    /// In how many more parts the row that is being folded is to be folded.
    parts: u64,
    /// Bytes of all delta rows.
    delta_bytes: u64,
    /// The delta rows, by rising key: the row that is being folded, merged ones, single ones.
    rows: Vec<RowKey>,
    /// The last term that is folded of the first row, when that is being folded.
    cursor: Option<Vec<u8>>,
}

impl State {
    const NUMBERS: usize = 9;

    /// Average section length in tokens.
    fn average_length(&self) -> f64 {
        if self.sections == 0 {
            0.0
        } else {
            self.total_length as f64 / self.sections as f64
        }
    }

    /// Number of rows of a level.
    fn count(&self, level: u64) -> usize {
        self.rows.iter().filter(|key| key.level() == level).count()
    }

    /// The row that is being folded, if there is one.
    fn folding(&self) -> Option<RowKey> {
        self.rows
            .first()
            .copied()
            .filter(|key| key.level() == FOLDING)
    }

    /// Whether the postings of a term already hold what a row did to it.
    fn is_folded(&self, key: RowKey, term: &[u8]) -> bool {
        key.level() == FOLDING && self.cursor.as_deref().is_some_and(|cursor| term <= cursor)
    }

    /// The last write that the postings of a term hold. Two states of one generation that agree
    /// about it have the same rows for the term.
    fn folded_of(&self, term: &[u8]) -> u64 {
        match self.folding() {
            Some(key) if self.is_folded(key, term) => key.sequence(),
            _ => self.folded,
        }
    }

    fn read(set: IndexSet, delta: &NumberedRows<'_>) -> Result<Self, StoreError> {
        let damaged = || StoreError::damaged("the state of the index breaks its layout");
        let Some(value) = delta.get(STATE_KEY)? else {
            return Ok(Self::default());
        };
        let payload = codec::unseal(
            set.names()[3],
            &STATE_KEY.to_be_bytes(),
            STATE_VERSION,
            value.value(),
        )?;
        let mut rest = payload;
        let mut next = || {
            let (number, tail) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
            rest = tail;
            Ok::<u64, StoreError>(u64::from_le_bytes(*number))
        };
        let mut state = Self {
            generation: next()?,
            sequence: next()?,
            folded: next()?,
            sections: next()?,
            total_length: next()?,
            next_section: next()?,
            next_term: next()?,
            parts: next()?,
            delta_bytes: next()?,
            rows: Vec::new(),
            cursor: None,
        };
        for _ in 0..next()? {
            state.rows.push(RowKey(next()?));
        }
        match rest.split_first() {
            Some((0, [])) => {}
            Some((1, cursor)) => state.cursor = Some(cursor.to_vec()),
            _ => return Err(damaged()),
        }
        let rising = state.rows.windows(2).all(|pair| pair[0] < pair[1]);
        if !rising || state.rows.iter().any(|key| key.0 == STATE_KEY) {
            return Err(damaged());
        }
        Ok(state)
    }

    fn write(&self, set: IndexSet, delta: &mut NumberedRows<'_>) -> Result<(), StoreError> {
        let numbers: [u64; Self::NUMBERS] = [
            self.generation,
            self.sequence,
            self.folded,
            self.sections,
            self.total_length,
            self.next_section,
            self.next_term,
            self.parts,
            self.delta_bytes,
        ];
        let rows = self.rows.iter().map(|key| key.0);
        let mut payload = Vec::new();
        for number in numbers
            .into_iter()
            .chain([self.rows.len() as u64])
            .chain(rows)
        {
            payload.extend_from_slice(&number.to_le_bytes());
        }
        payload.push(u8::from(self.cursor.is_some()));
        payload.extend_from_slice(self.cursor.as_deref().unwrap_or_default());
        let value = codec::seal(
            set.names()[3],
            &STATE_KEY.to_be_bytes(),
            STATE_VERSION,
            &payload,
        );
        delta.insert(STATE_KEY, value.as_slice())?;
        Ok(())
    }
}

/// The smallest section id that may be added to an index.
///
/// # Errors
/// [`StoreError`]; a damaged state is `Damaged`.
pub fn next_section(view: &View, set: IndexSet) -> Result<u32, StoreError> {
    guard(|| {
        let next = match view.rows(set.delta())? {
            Some(delta) => State::read(set, &delta)?.next_section,
            None => 0,
        };
        u32::try_from(next).map_err(|_| StoreError::TooLarge {
            what: "the number of sections ever made",
            limit: u64::from(u32::MAX),
        })
    })
}

#[cfg(test)]
mod tests;
