//! Tables `postings` and `code_postings`: the rows of all terms, since schema 1.
//! Key: term id in the high half; in the low half a section id that no section of the row exceeds
//! and every section of the next row does, or `u32::MAX` for the open row. Value: a row of
//! `search::postings`, sealed.
//! Written by folds and bulk loads. Invariants: every term has an open row; its document frequency
//! is the number of postings in all rows of the term; closed rows are not empty.

use super::super::codec;
use super::super::error::StoreError;
use super::{IndexSet, NumberedRows, ROW_VERSION};
use crate::search::postings::{ROW_POSTINGS, Row, TermPostings};

/// Low half of the key of an open row.
const OPEN: u32 = u32::MAX;

pub(crate) const fn key(term: u32, section: u32) -> u64 {
    ((term as u64) << 32) | section as u64
}

pub(crate) const fn open_key(term: u32) -> u64 {
    key(term, OPEN)
}

pub(crate) fn seal(set: IndexSet, key: u64, payload: &[u8]) -> Vec<u8> {
    codec::seal(set.names()[1], &key.to_be_bytes(), ROW_VERSION, payload)
}

fn unseal(set: IndexSet, key: u64, value: &[u8]) -> Result<&[u8], StoreError> {
    codec::unseal(set.names()[1], &key.to_be_bytes(), ROW_VERSION, value)
}

/// Names the row in an error of its payload.
fn damaged(set: IndexSet, key: u64, error: impl std::fmt::Display) -> StoreError {
    StoreError::damaged(format!("row {:x} of {}: {error}", key, set.names()[1]))
}

pub(crate) fn decode(set: IndexSet, key: u64, value: &[u8]) -> Result<Row, StoreError> {
    Row::decode(unseal(set, key, value)?).map_err(|error| damaged(set, key, error))
}

pub(crate) fn put(
    set: IndexSet,
    postings: &mut NumberedRows<'_>,
    key: u64,
    row: &Row,
) -> Result<(), StoreError> {
    let mut payload = Vec::new();
    row.encode(&mut payload);
    postings.insert(key, seal(set, key, &payload).as_slice())?;
    Ok(())
}

/// Reads all rows of a term for queries.
pub(crate) fn load(
    set: IndexSet,
    postings: &NumberedRows<'_>,
    term: u32,
) -> Result<TermPostings, StoreError> {
    let mut loaded = TermPostings::default();
    let mut open = false;
    for entry in postings.range(key(term, 0)..=open_key(term))? {
        let (row_key, value) = entry?;
        let row_key = row_key.value();
        open = row_key == open_key(term);
        let payload = unseal(set, row_key, value.value())?;
        loaded
            .push_row(payload)
            .map_err(|error| damaged(set, row_key, error))?;
    }
    if !open {
        return Err(StoreError::damaged(format!("term {term} has no open row")));
    }
    loaded.shrink();
    Ok(loaded)
}

/// The exact document frequency in rows, read from the open row alone.
pub(crate) fn document_frequency(
    set: IndexSet,
    postings: &NumberedRows<'_>,
    term: u32,
) -> Result<u32, StoreError> {
    let key = open_key(term);
    let Some(value) = postings.get(key)? else {
        return Err(StoreError::damaged(format!("term {term} has no open row")));
    };
    let mut row = TermPostings::default();
    row.push_row(unseal(set, key, value.value())?)
        .map_err(|error| damaged(set, key, error))?;
    Ok(row.document_frequency)
}

/// Splits full rows off the front of an open row that has grown too long.
pub(crate) fn split(open: &mut Row) -> Vec<Row> {
    let mut closed = Vec::new();
    while open.len() > ROW_POSTINGS {
        let mut count = 0;
        let blocks = open
            .blocks
            .iter()
            .take_while(|block| {
                count += block.postings.len();
                count <= ROW_POSTINGS
            })
            .count();
        let rest = open.blocks.split_off(blocks);
        let full = std::mem::replace(&mut open.blocks, rest);
        closed.push(Row {
            document_frequency: 0,
            blocks: full,
        });
    }
    closed
}
