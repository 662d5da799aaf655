//! Tables `delta` and `code_delta`: what recent writes changed, since schema 1.
//! Key: sequence number, 0 for the state of the index. Value: as below, sealed. Numbers are LEB128:
//!
//! ```text
//! removed sections: count, ids each minus the one before
//! added sections:   count, (id minus the one before, length)*
//! 8 slices:         count of terms, then by rising term bytes
//!                   bytes of the term, term, count of (place in added, weight)*,
//!                   count of (place in removed)*
//! ```
//!
//! Written by each write, dropped by the fold that completes it. Invariant: at most 32 rows.

use std::collections::BTreeMap;

use super::super::codec;
use super::super::error::StoreError;
use super::{IndexSet, NumberedRows, ROW_VERSION, SLICES, slice_of};
use crate::search::postings::{Posting, PostingsError, put, take};

/// What one write changes, before it is encoded.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Sections that are gone, by rising id.
    pub(crate) removed: Vec<u32>,
    /// Sections that are new, by rising id, with their lengths.
    pub(crate) added: Vec<(u32, u32)>,
    /// By slice and term: (place in `added`, weight) and places in `removed`.
    pub(crate) slices: [BTreeMap<Vec<u8>, Events>; SLICES],
}

/// What happens to one term.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(crate) added: Vec<(u32, u32)>,
    pub(crate) removed: Vec<u32>,
}

impl Changes {
    pub(crate) fn term(&mut self, term: &[u8]) -> &mut Events {
        let slice = &mut self.slices[slice_of(term)];
        if !slice.contains_key(term) {
            slice.insert(term.to_vec(), Events::default());
        }
        slice.entry(term.to_vec()).or_default()
    }

    /// Number of postings added or removed.
    pub(crate) fn events(&self) -> usize {
        self.slices
            .iter()
            .flat_map(BTreeMap::values)
            .map(|events| events.added.len() + events.removed.len())
            .sum()
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, count(self.removed.len()));
        let mut before = 0;
        for &section in &self.removed {
            put(&mut out, section - before);
            before = section;
        }
        put(&mut out, count(self.added.len()));
        before = 0;
        for &(section, length) in &self.added {
            put(&mut out, section - before);
            put(&mut out, length);
            before = section;
        }
        for slice in &self.slices {
            put(&mut out, count(slice.len()));
            for (term, events) in slice {
                put(&mut out, count(term.len()));
                out.extend_from_slice(term);
                put(&mut out, count(events.added.len()));
                for &(place, weight) in &events.added {
                    put(&mut out, place);
                    put(&mut out, weight);
                }
                put(&mut out, count(events.removed.len()));
                for &place in &events.removed {
                    put(&mut out, place);
                }
            }
        }
        out
    }

    /// The changes as readers see them.
    pub(crate) fn into_row(self) -> Result<DeltaRow, StoreError> {
        DeltaRow::parse(self.encode()).map_err(|_| StoreError::damaged("a new delta row"))
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// One row, parsed: terms are found by binary search.
#[derive(Debug)]
pub(crate) struct DeltaRow {
    /// Sections that are gone, by rising id.
    pub(crate) removed: Vec<u32>,
    /// Sections that are new, by rising id, with their lengths.
    pub(crate) added: Vec<(u32, u32)>,
    bytes: Vec<u8>,
    /// Where each term begins, by slice.
    slices: [Vec<u32>; SLICES],
}

/// One term of a row.
#[derive(Debug, Default)]
pub(crate) struct TermChange {
    /// Postings of new sections, each with the section's length, by rising id.
    pub(crate) added: Vec<(Posting, u32)>,
    /// Sections that held the term and are gone, by rising id.
    pub(crate) removed: Vec<u32>,
}

const LAYOUT: fn() -> StoreError = || StoreError::damaged("a delta row breaks its layout");

impl DeltaRow {
    fn parse(bytes: Vec<u8>) -> Result<Self, PostingsError> {
        let mut rest = bytes.as_slice();
        let ids = |rest: &mut &[u8], lengths: bool| {
            let count = take(rest)? as usize;
            let mut list = Vec::new();
            let mut id = 0u32;
            for at in 0..count {
                let gap = take(rest)?;
                if gap == 0 && at > 0 {
                    return Err(PostingsError::new("repeats a section"));
                }
                id = id
                    .checked_add(gap)
                    .ok_or(PostingsError::new("exceeds the ids"))?;
                list.push((id, if lengths { take(rest)? } else { 0 }));
            }
            Ok(list)
        };
        let removed: Vec<u32> = ids(&mut rest, false)?
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        let added = ids(&mut rest, true)?;
        let mut slices: [Vec<u32>; SLICES] = Default::default();
        let places = |rest: &mut &[u8], among: usize, weights: bool| {
            let mut before = None;
            for _ in 0..take(rest)? {
                let place = take(rest)?;
                if place as usize >= among || before.is_some_and(|before| before >= place) {
                    return Err(PostingsError::new("names a section that is not there"));
                }
                if weights && take(rest)? == 0 {
                    return Err(PostingsError::new("has a weight of nothing"));
                }
                before = Some(place);
            }
            Ok(())
        };
        for slice in &mut slices {
            let mut before: Option<&[u8]> = None;
            for _ in 0..take(&mut rest)? {
                let start = bytes.len() - rest.len();
                slice.push(u32::try_from(start).map_err(|_| PostingsError::new("is too long"))?);
                let length = take(&mut rest)? as usize;
                let (term, tail) = rest
                    .split_at_checked(length)
                    .ok_or(PostingsError::new("ends too early"))?;
                if before.is_some_and(|before| before >= term) {
                    return Err(PostingsError::new("has terms out of order"));
                }
                before = Some(term);
                rest = tail;
                places(&mut rest, added.len(), true)?;
                places(&mut rest, removed.len(), false)?;
            }
        }
        if !rest.is_empty() {
            return Err(PostingsError::new("has a tail"));
        }
        Ok(Self {
            removed,
            added,
            bytes,
            slices,
        })
    }

    fn entry(&self, start: u32) -> (&[u8], &[u8]) {
        let mut rest = self.bytes.get(start as usize..).unwrap_or_default();
        let length = take(&mut rest).unwrap_or(0) as usize;
        rest.split_at_checked(length).unwrap_or_default()
    }

    fn change(&self, mut rest: &[u8]) -> Result<TermChange, StoreError> {
        let rest = &mut rest;
        let mut next = || take(rest).map_err(|_| LAYOUT());
        let mut change = TermChange::default();
        for _ in 0..next()? {
            let (place, weight) = (next()? as usize, next()?);
            let &(section, length) = self.added.get(place).ok_or_else(LAYOUT)?;
            change.added.push((Posting { section, weight }, length));
        }
        for _ in 0..next()? {
            change
                .removed
                .push(*self.removed.get(next()? as usize).ok_or_else(LAYOUT)?);
        }
        Ok(change)
    }

    /// What happens to a term of a slice, if anything.
    pub(crate) fn get(&self, slice: usize, term: &[u8]) -> Result<Option<TermChange>, StoreError> {
        let starts = &self.slices[slice];
        match starts.binary_search_by(|&start| self.entry(start).0.cmp(term)) {
            Ok(at) => self.change(self.entry(starts[at]).1).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Every term of a slice, by rising bytes.
    pub(crate) fn slice(
        &self,
        slice: usize,
    ) -> impl Iterator<Item = Result<(&[u8], TermChange), StoreError>> + '_ {
        self.slices[slice].iter().map(|&start| {
            let (term, rest) = self.entry(start);
            Ok((term, self.change(rest)?))
        })
    }

    /// The terms that begin with `prefix`, in no order.
    pub(crate) fn terms_with<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.slices
            .iter()
            .flatten()
            .map(|&start| self.entry(start).0)
            .filter(move |term| term.starts_with(prefix))
    }
}

pub(crate) fn write(
    set: IndexSet,
    delta: &mut NumberedRows<'_>,
    sequence: u64,
    row: &DeltaRow,
) -> Result<(), StoreError> {
    let name = set.names()[3];
    let value = codec::seal(name, &sequence.to_be_bytes(), ROW_VERSION, &row.bytes);
    delta.insert(sequence, value.as_slice())?;
    Ok(())
}

/// The row of a write; `None` when it was folded at once.
pub(crate) fn read(
    set: IndexSet,
    delta: &NumberedRows<'_>,
    sequence: u64,
) -> Result<Option<DeltaRow>, StoreError> {
    let Some(value) = delta.get(sequence)? else {
        return Ok(None);
    };
    let name = set.names()[3];
    let payload = codec::unseal(name, &sequence.to_be_bytes(), ROW_VERSION, value.value())?;
    DeltaRow::parse(payload.to_vec())
        .map(Some)
        .map_err(|error| StoreError::damaged(format!("row {sequence} of {name}: {error}")))
}

/// Decodes a payload as if it stood sealed in `delta`, and looks at all of it; for fuzzing, which
/// would never guess a checksum.
///
/// # Errors
/// `Damaged` for a payload that no row has.
#[doc(hidden)]
pub fn decode(payload: &[u8]) -> Result<(), StoreError> {
    let row = DeltaRow::parse(payload.to_vec()).map_err(|_| LAYOUT())?;
    for slice in 0..SLICES {
        for entry in row.slice(slice) {
            let (term, _) = entry?;
            row.get(slice, term)?.ok_or_else(LAYOUT)?;
        }
    }
    Ok(())
}
