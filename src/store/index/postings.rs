//! Tables `postings` and `code_postings`: the closed rows of terms, since schema 1.
//! Key: term id in the high half; in the low half a section id that no section of the row exceeds
//! and every section of the next row does. Value: a row of `search::postings`, sealed.
//! Written by folds and bulk loads. Invariants: rows are not empty; their sections are below those
//! of the term's open row, which stands in `terms`.

use super::super::codec;
use super::super::error::StoreError;
use super::{IndexSet, NumberedRows, ROW_VERSION};
use crate::search::postings::{ROW_POSTINGS, Row, RowFacts, RowReader, TermPostings, VisitPosting};

pub(crate) const fn key(term: u32, section: u32) -> u64 {
    ((term as u64) << 32) | section as u64
}

fn unseal(set: IndexSet, key: u64, value: &[u8]) -> Result<&[u8], StoreError> {
    codec::unseal(set.names()[1], &key.to_be_bytes(), ROW_VERSION, value)
}

/// Names the row in an error of its payload.
fn damaged(set: IndexSet, key: u64, error: impl std::fmt::Display) -> StoreError {
    StoreError::damaged(format!("row {key:x} of {}: {error}", set.names()[1]))
}

pub(crate) fn decode(set: IndexSet, key: u64, value: &[u8]) -> Result<Row, StoreError> {
    Row::decode(unseal(set, key, value)?).map_err(|error| damaged(set, key, error))
}

/// As [`decode`], showing each posting instead of keeping it.
pub(crate) fn read(
    set: IndexSet,
    key: u64,
    value: &[u8],
    reader: &mut RowReader,
    visit: &mut VisitPosting<'_>,
) -> Result<RowFacts, StoreError> {
    let row = unseal(set, key, value)?;
    reader
        .read(row, visit)
        .map_err(|error| damaged(set, key, error))
}

/// Writes an encoded row.
pub(crate) fn put(
    set: IndexSet,
    postings: &mut NumberedRows<'_>,
    key: u64,
    payload: &[u8],
) -> Result<(), StoreError> {
    let value = codec::seal(set.names()[1], &key.to_be_bytes(), ROW_VERSION, payload);
    postings.insert(key, value.as_slice())?;
    Ok(())
}

pub(crate) fn write(
    set: IndexSet,
    postings: &mut NumberedRows<'_>,
    key: u64,
    row: &Row,
) -> Result<(), StoreError> {
    let mut payload = Vec::new();
    row.encode(&mut payload);
    put(set, postings, key, &payload)
}

/// Reads the closed rows of a term for queries.
pub(crate) fn load(
    set: IndexSet,
    postings: &NumberedRows<'_>,
    term: u32,
    into: &mut TermPostings,
) -> Result<(), StoreError> {
    for entry in postings.range(key(term, 0)..=key(term, u32::MAX))? {
        let (row_key, value) = entry?;
        let row_key = row_key.value();
        let payload = unseal(set, row_key, value.value())?;
        into.push_row(payload)
            .map_err(|error| damaged(set, row_key, error))?;
    }
    Ok(())
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
