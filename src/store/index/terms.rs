//! Tables `terms` and `code_terms`: the dictionary with the open row of each term, since schema 1.
//! Key: the bytes of a term, so that a prefix is a range. Value, sealed: term id + 1, or 0 while
//! the term has no closed rows (LEB128), then a row of `search::postings` whose document frequency
//! is that of the term over all its rows. Most terms are rare: one look-up finds all of them.
//! Written by folds and bulk loads. Invariants: document frequency is at least 1 and the number of
//! postings in the open and the closed rows; every id has one term.

use std::borrow::Cow;

use super::super::codec;
use super::super::error::StoreError;
use super::{IndexSet, ROW_VERSION, TermRows};
use crate::search::postings::{PostingsError, Row, RowFacts, RowReader, VisitPosting, put, take};

/// Longest term that is kept as it is.
const MAX_TERM_BYTES: usize = 256;

/// The key of a term: itself, or, when it is long, its beginning and a hash of all of it behind a
/// NUL, which no term contains.
pub(crate) fn term_key(term: &[u8]) -> Cow<'_, [u8]> {
    if term.len() <= MAX_TERM_BYTES {
        return Cow::Borrowed(term);
    }
    let mut key = term[..MAX_TERM_BYTES / 2].to_vec();
    key.push(0);
    key.extend_from_slice(&xxhash_rust::xxh3::xxh3_128(term).to_be_bytes());
    Cow::Owned(key)
}

/// Names the row in an error of its payload.
fn damaged(set: IndexSet, term: &[u8], error: PostingsError) -> StoreError {
    let name = set.names()[0];
    StoreError::damaged(format!(
        "row \"{}\" of {name}: {error}",
        term.escape_ascii()
    ))
}

/// What stands under a term: its id, if it has closed rows, and its open row, encoded.
pub(crate) fn open<'v>(
    set: IndexSet,
    term: &[u8],
    value: &'v [u8],
) -> Result<(Option<u32>, &'v [u8]), StoreError> {
    let mut rest = codec::unseal(set.names()[0], term, ROW_VERSION, value)?;
    let id = take(&mut rest).map_err(|error| damaged(set, term, error))?;
    Ok((id.checked_sub(1), rest))
}

/// As [`open`], with the row decoded.
pub(crate) fn decode(
    set: IndexSet,
    term: &[u8],
    value: &[u8],
) -> Result<(Option<u32>, Row), StoreError> {
    let (id, row) = open(set, term, value)?;
    Ok((
        id,
        Row::decode(row).map_err(|error| damaged(set, term, error))?,
    ))
}

/// As [`decode`], showing each posting instead of keeping it.
pub(crate) fn read(
    set: IndexSet,
    term: &[u8],
    value: &[u8],
    reader: &mut RowReader,
    visit: &mut VisitPosting<'_>,
) -> Result<(Option<u32>, RowFacts), StoreError> {
    let (id, row) = open(set, term, value)?;
    let facts = reader
        .read(row, visit)
        .map_err(|error| damaged(set, term, error))?;
    Ok((id, facts))
}

/// The document frequency of an encoded open row.
pub(crate) fn frequency(set: IndexSet, term: &[u8], row: &[u8]) -> Result<u32, StoreError> {
    take(&mut &*row).map_err(|error| damaged(set, term, error))
}

pub(crate) fn write(
    set: IndexSet,
    terms: &mut TermRows<'_>,
    term: &[u8],
    id: Option<u32>,
    row: &Row,
) -> Result<(), StoreError> {
    let mut payload = Vec::new();
    put(&mut payload, id.map_or(0, |id| id + 1));
    row.encode(&mut payload);
    let value = codec::seal(set.names()[0], term, ROW_VERSION, &payload);
    terms.insert(term, value.as_slice())?;
    Ok(())
}

/// Calls `visit` with each term that begins with `prefix` and its value, in byte order, until it
/// answers false.
#[expect(clippy::type_complexity, reason = "the closure is spelled out once")]
pub(crate) fn visit(
    terms: &TermRows<'_>,
    prefix: &[u8],
    visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for entry in terms.range::<&[u8]>(prefix..)? {
        let (term, value) = entry?;
        let term = term.value();
        if !term.starts_with(prefix) || !visit(term, value.value())? {
            break;
        }
    }
    Ok(())
}
