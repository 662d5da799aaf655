//! Tables `terms` and `code_terms`: the dictionary, since schema 1.
//! Key: the bytes of a term, so that a prefix is a range. Value: the term's id in the low half, a
//! check of term and id in the high half: the value has no room for the codec's envelope, and a
//! wrong id would answer with another term's sections.
//! Written by folds and bulk loads. Invariant: every id has an open row in `postings`.

use std::borrow::Cow;

use super::super::error::StoreError;
use super::TermRows;

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

fn seal(term: &[u8], id: u32) -> u64 {
    let check = xxhash_rust::xxh3::xxh3_64_with_seed(term, u64::from(id));
    (check << 32) | u64::from(id)
}

fn unseal(term: &[u8], value: u64) -> Result<u32, StoreError> {
    let id = value as u32;
    if seal(term, id) == value {
        return Ok(id);
    }
    Err(StoreError::damaged(format!(
        "row \"{}\" of terms fails its check",
        term.escape_ascii()
    )))
}

/// The id of a term.
pub(crate) fn get(terms: &TermRows<'_>, term: &[u8]) -> Result<Option<u32>, StoreError> {
    match terms.get(term)? {
        Some(value) => unseal(term, value.value()).map(Some),
        None => Ok(None),
    }
}

pub(crate) fn put(terms: &mut TermRows<'_>, term: &[u8], id: u32) -> Result<(), StoreError> {
    terms.insert(term, seal(term, id))?;
    Ok(())
}

pub(crate) fn remove(terms: &mut TermRows<'_>, term: &[u8]) -> Result<(), StoreError> {
    terms.remove(term)?;
    Ok(())
}

/// Calls `visit` with each term that begins with `prefix`, in byte order, until it answers false.
pub(crate) fn visit(
    terms: &TermRows<'_>,
    prefix: &[u8],
    visit: &mut dyn FnMut(&[u8], u32) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for entry in terms.range::<&[u8]>(prefix..)? {
        let (term, value) = entry?;
        let term = term.value();
        if !term.starts_with(prefix) || !visit(term, unseal(term, value.value())?)? {
            break;
        }
    }
    Ok(())
}
