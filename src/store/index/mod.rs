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
//! A write adds one row to `delta` and leaves the postings alone. Terms are dealt into `SLICES`
//! slices by a hash; every `SLICE_EVERY`th write folds the next slice of all delta rows into
//! the postings, so a row is folded whole, and dropped, after at most 32 writes, and no single
//! write pays for all of it. The state says up to which sequence number each slice is folded;
//! readers overlay what is not. Large writes are folded at once.
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
pub use fold::{apply, clear};
pub use reader::{IndexCache, IndexReader, TieKey};

use redb::TableDefinition;

use super::codec;
use super::error::StoreError;
use super::snapshot::Rows;

/// Number of parts that the terms are dealt into for folding.
pub(crate) const SLICES: usize = 8;
/// A write in this many folds a slice. With the above: no row waits for more than 32 writes.
pub(crate) const SLICE_EVERY: u64 = 4;

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

/// The slice that a term belongs to.
fn slice_of(term: &[u8]) -> usize {
    (xxhash_rust::xxh3::xxh3_64(term) % SLICES as u64) as usize
}

/// What the index says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct State {
    /// Grows when everything is replaced.
    pub(crate) generation: u64,
    /// Number of the last write.
    pub(crate) sequence: u64,
    /// For each slice, up to which write it is folded.
    pub(crate) folded: [u64; SLICES],
    /// Sections in the index.
    pub(crate) sections: u64,
    /// Sum of their lengths.
    pub(crate) total_length: u64,
    /// Smallest section id that may be added.
    pub(crate) next_section: u64,
    /// Next term id.
    pub(crate) next_term: u64,
}

impl State {
    fn numbers(&self) -> [u64; 6 + SLICES] {
        let mut numbers = [0; 6 + SLICES];
        numbers[..6].copy_from_slice(&[
            self.generation,
            self.sequence,
            self.sections,
            self.total_length,
            self.next_section,
            self.next_term,
        ]);
        numbers[6..].copy_from_slice(&self.folded);
        numbers
    }

    /// The write up to which all slices are folded.
    fn folded_whole(&self) -> u64 {
        self.folded.iter().copied().min().unwrap_or(0)
    }

    /// Average section length in tokens.
    fn average_length(&self) -> f64 {
        if self.sections == 0 {
            0.0
        } else {
            self.total_length as f64 / self.sections as f64
        }
    }

    fn read(set: IndexSet, delta: &NumberedRows<'_>) -> Result<Self, StoreError> {
        let Some(value) = delta.get(STATE_KEY)? else {
            return Ok(Self::default());
        };
        let payload = codec::unseal(
            set.names()[3],
            &STATE_KEY.to_be_bytes(),
            STATE_VERSION,
            value.value(),
        )?;
        let (numbers, rest) = payload.as_chunks::<8>();
        if numbers.len() != 6 + SLICES || !rest.is_empty() {
            return Err(StoreError::damaged(
                "the state of the index has another size",
            ));
        }
        let mut numbers = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let mut next = || numbers.next().unwrap_or(0);
        let mut state = Self {
            generation: next(),
            sequence: next(),
            sections: next(),
            total_length: next(),
            next_section: next(),
            next_term: next(),
            folded: [0; SLICES],
        };
        state.folded = std::array::from_fn(|_| next());
        Ok(state)
    }

    fn write(&self, set: IndexSet, delta: &mut NumberedRows<'_>) -> Result<(), StoreError> {
        let mut payload = Vec::new();
        for number in self.numbers() {
            payload.extend_from_slice(&number.to_le_bytes());
        }
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

#[cfg(test)]
mod tests;
