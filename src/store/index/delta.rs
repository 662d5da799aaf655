//! Tables `delta` and `code_delta`: what recent writes changed, since schema 1.
//! Key: number of the last write of the row times 4, plus its level; 0 for the state of the index.
//! Value, sealed (numbers are LEB128 unless said otherwise):
//!
//! ```text
//! removed sections: count, ids each minus the one before
//! added sections:   count, (id minus the one before, length)*
//! terms:            u32 count, u32 place of each in what follows (little-endian), then by rising
//!                   term bytes: length, bytes, count of (place in added, weight)*,
//!                   count of (place in removed)*
//! ```
//!
//! A row is of one write (level 0), of merged writes (1), or is being folded (2). Sections that came
//! and went within a merged row stand in `removed` without a term.
//! Written by each write, dropped when folded. Invariant: the state names every row; at most 32.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::codec;
use super::super::error::StoreError;
use super::{IndexSet, NumberedRows, ROW_VERSION};
use crate::search::postings::{Posting, PostingsError, put, take};

/// What happens to one term.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TermChange {
    /// Postings of new sections, each with the section's length, by rising id.
    pub(crate) added: Vec<(Posting, u32)>,
    /// Sections that held the term and are gone.
    pub(crate) removed: Vec<u32>,
}

impl TermChange {
    /// Puts a later change on top.
    fn then(&mut self, later: TermChange) {
        for section in later.removed {
            match self
                .added
                .binary_search_by_key(&section, |(posting, _)| posting.section)
            {
                Ok(at) => drop(self.added.remove(at)),
                Err(_) => self.removed.push(section),
            }
        }
        self.added.extend(later.added);
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// What one or several writes change.
#[derive(Debug, Default)]
pub(crate) struct Changes<'a> {
    /// Sections that are gone, by rising id.
    pub(crate) removed: Vec<u32>,
    /// Sections that are new, by rising id, with their lengths.
    pub(crate) added: Vec<(u32, u32)>,
    /// By rising term bytes, each term once, no change empty.
    pub(crate) terms: Vec<(&'a [u8], TermChange)>,
}

impl<'a> Changes<'a> {
    /// Sorts and joins the changes of each term, which are given in the order of writes.
    pub(crate) fn of_terms(mut terms: Vec<(&'a [u8], TermChange)>) -> Vec<(&'a [u8], TermChange)> {
        // Stable: equal terms stay in the order of writes.
        terms.sort_by(|a, b| a.0.cmp(b.0));
        let mut joined: Vec<(&[u8], TermChange)> = Vec::with_capacity(terms.len());
        for (term, change) in terms {
            match joined.last_mut() {
                Some((last, sum)) if *last == term => sum.then(change),
                _ => joined.push((term, change)),
            }
        }
        joined.retain(|(_, change)| !change.is_empty());
        joined
    }

    /// Several rows, in the order of writes, as one.
    pub(crate) fn merge(rows: &'a [DeltaRow]) -> Result<Self, StoreError> {
        let mut changes = Self::default();
        for row in rows {
            changes.removed.extend_from_slice(&row.removed);
            changes.added.extend_from_slice(&row.added);
        }
        changes.removed.sort_unstable();
        let removed = &changes.removed;
        changes
            .added
            .retain(|(section, _)| removed.binary_search(section).is_err());
        changes.terms = join(rows.iter().map(|row| (row, 0))).collect::<Result<_, _>>()?;
        Ok(changes)
    }

    fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let misfit = || StoreError::damaged("a term of a section that is not in its delta row");
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
        let mut places = Vec::with_capacity(self.terms.len() * 4);
        let mut terms = Vec::new();
        for (term, change) in &self.terms {
            places.extend_from_slice(&count(terms.len()).to_le_bytes());
            put(&mut terms, count(term.len()));
            terms.extend_from_slice(term);
            put(&mut terms, count(change.added.len()));
            for (posting, _) in &change.added {
                let place = self
                    .added
                    .binary_search_by_key(&posting.section, |&(section, _)| section)
                    .map_err(|_| misfit())?;
                put(&mut terms, count(place));
                put(&mut terms, posting.weight);
            }
            put(&mut terms, count(change.removed.len()));
            for section in &change.removed {
                let place = self.removed.binary_search(section).map_err(|_| misfit())?;
                put(&mut terms, count(place));
            }
        }
        out.extend_from_slice(&count(self.terms.len()).to_le_bytes());
        out.extend_from_slice(&places);
        out.extend_from_slice(&terms);
        Ok(out)
    }

    /// The changes as they are stored and as readers see them.
    pub(crate) fn into_row(self) -> Result<DeltaRow, StoreError> {
        DeltaRow::parse(self.encode()?).map_err(|_| layout())
    }
}

/// The changes of several rows, in the order of writes, each from one of its places on: every term
/// once, by rising bytes, without changes that cancel each other. Decodes one term at a time.
pub(crate) fn join<'a>(
    rows: impl Iterator<Item = (&'a DeltaRow, usize)>,
) -> impl Iterator<Item = Result<(&'a [u8], TermChange), StoreError>> {
    let rows: Vec<(&DeltaRow, usize)> = rows.collect();
    let mut next: BinaryHeap<Reverse<(&[u8], usize, usize)>> = rows
        .iter()
        .enumerate()
        .filter(|(_, (row, start))| *start < row.count)
        .map(|(at, (row, start))| Reverse((row.entry(*start).0, at, *start)))
        .collect();
    let mut take = move || {
        let mut joined: Option<(&'a [u8], TermChange)> = None;
        // Equal terms come in the order of writes.
        while let Some(&Reverse((term, at, place))) = next.peek() {
            if joined.as_ref().is_some_and(|(known, _)| *known != term) {
                break;
            }
            next.pop();
            let row = rows[at].0;
            if place + 1 < row.count {
                next.push(Reverse((row.entry(place + 1).0, at, place + 1)));
            }
            let change = match row.change(row.entry(place).1) {
                Ok(change) => change,
                Err(error) => return Some(Err(error)),
            };
            match &mut joined {
                Some((_, sum)) => sum.then(change),
                None => joined = Some((term, change)),
            }
        }
        joined.map(Ok)
    };
    std::iter::from_fn(move || {
        loop {
            match take()? {
                Ok((_, change)) if change.is_empty() => {}
                entry => return Some(entry),
            }
        }
    })
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn layout() -> StoreError {
    StoreError::damaged("a delta row breaks its layout")
}

/// One row: terms are found by binary search, without decoding the others.
#[derive(Debug)]
pub(crate) struct DeltaRow {
    /// Sections that are gone, by rising id.
    pub(crate) removed: Vec<u32>,
    /// Sections that are new, by rising id, with their lengths.
    pub(crate) added: Vec<(u32, u32)>,
    bytes: Vec<u8>,
    /// Where the places of the terms begin, and how many there are.
    places: usize,
    count: usize,
}

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
        let removed = ids(&mut rest, false)?
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        let added = ids(&mut rest, true)?;
        let (number, rest) = rest
            .split_first_chunk::<4>()
            .ok_or(PostingsError::new("ends too early"))?;
        let count = u32::from_le_bytes(*number) as usize;
        if rest.len() / 4 < count {
            return Err(PostingsError::new("ends too early"));
        }
        let places = bytes.len() - rest.len();
        Ok(Self {
            removed,
            added,
            bytes,
            places,
            count,
        })
    }

    /// Number of terms.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Term and encoded change of an entry; nothing where the bytes are damaged.
    fn entry(&self, at: usize) -> (&[u8], &[u8]) {
        let place = self.bytes[self.places..]
            .get(at * 4..at * 4 + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map_or(usize::MAX, |bytes| u32::from_le_bytes(bytes) as usize);
        let start = self.places + self.count * 4;
        let mut rest = start
            .checked_add(place)
            .and_then(|start| self.bytes.get(start..))
            .unwrap_or_default();
        let length = take(&mut rest).unwrap_or(0) as usize;
        rest.split_at_checked(length).unwrap_or_default()
    }

    fn change(&self, mut rest: &[u8]) -> Result<TermChange, StoreError> {
        let rest = &mut rest;
        let mut next = || take(rest).map_err(|_| layout());
        let mut change = TermChange::default();
        for _ in 0..next()? {
            let (place, weight) = (next()? as usize, next()?);
            let &(section, length) = self.added.get(place).ok_or_else(layout)?;
            let rises = change
                .added
                .last()
                .is_none_or(|(last, _)| last.section < section);
            if !rises || weight == 0 {
                return Err(layout());
            }
            change.added.push((Posting { section, weight }, length));
        }
        for _ in 0..next()? {
            let place = next()? as usize;
            change
                .removed
                .push(*self.removed.get(place).ok_or_else(layout)?);
        }
        Ok(change)
    }

    /// What happens to a term, if anything.
    pub(crate) fn get(&self, term: &[u8]) -> Result<Option<TermChange>, StoreError> {
        let at = self.place_of(term);
        match (at < self.count).then(|| self.entry(at)) {
            Some((found, rest)) if found == term => self.change(rest).map(Some),
            _ => Ok(None),
        }
    }

    /// The place of the first term that is not below this one.
    pub(crate) fn place_of(&self, term: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.entry(middle).0 < term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The terms from a place on, by rising bytes.
    pub(crate) fn terms_from(
        &self,
        start: usize,
    ) -> impl Iterator<Item = Result<(&[u8], TermChange), StoreError>> + '_ {
        (start..self.count).map(|at| {
            let (term, rest) = self.entry(at);
            Ok((term, self.change(rest)?))
        })
    }

    /// The terms that begin with `prefix`, by rising bytes.
    pub(crate) fn terms_with<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        (self.place_of(prefix)..self.count)
            .map(|at| self.entry(at).0)
            .take_while(move |term| term.starts_with(prefix))
    }

    /// About how many bytes this takes, in memory and in the store.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + self.removed.len() * 4 + self.added.len() * 8
    }

    /// Whether the terms rise and all changes decode.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let mut before: Option<&[u8]> = None;
        for entry in self.terms_from(0) {
            let (term, _) = entry?;
            if before.is_some_and(|before| before >= term) {
                return Err(layout());
            }
            before = Some(term);
        }
        Ok(())
    }
}

pub(crate) fn write(
    set: IndexSet,
    delta: &mut NumberedRows<'_>,
    key: u64,
    row: &DeltaRow,
) -> Result<(), StoreError> {
    let name = set.names()[3];
    let value = codec::seal(name, &key.to_be_bytes(), ROW_VERSION, &row.bytes);
    delta.insert(key, value.as_slice())?;
    Ok(())
}

pub(crate) fn read(
    set: IndexSet,
    delta: &NumberedRows<'_>,
    key: u64,
) -> Result<DeltaRow, StoreError> {
    let name = set.names()[3];
    let Some(value) = delta.get(key)? else {
        return Err(StoreError::damaged(format!(
            "row {key} of {name} is missing"
        )));
    };
    let payload = codec::unseal(name, &key.to_be_bytes(), ROW_VERSION, value.value())?;
    DeltaRow::parse(payload.to_vec())
        .map_err(|error| StoreError::damaged(format!("row {key} of {name}: {error}")))
}

/// Decodes a payload as if it stood sealed in `delta`, and looks at all of it; for fuzzing, which
/// would never guess a checksum.
///
/// # Errors
/// `Damaged` for a payload that no row has.
#[doc(hidden)]
pub fn decode(payload: &[u8]) -> Result<(), StoreError> {
    let row = DeltaRow::parse(payload.to_vec()).map_err(|_| layout())?;
    row.check()?;
    for entry in row.terms_from(0) {
        row.get(entry?.0)?.ok_or_else(layout)?;
    }
    Ok(())
}
