//! Verifying an index: every row decodes, and the rows agree with each other.

use std::collections::BTreeMap;

use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::delta::{self, DeltaRow};
use super::{IndexSet, State, lengths, postings, slice_of, terms};
use crate::search::lengths::Lengths;
use crate::search::postings::Row;

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexCheck {
    /// Sections in the index.
    pub sections: u64,
    /// Terms in the dictionary.
    pub terms: u64,
    /// Postings in rows.
    pub postings: u64,
    /// What is wrong, at most 20 findings; empty for a sound index.
    pub problems: Vec<String>,
}

const MOST_PROBLEMS: usize = 20;

impl IndexCheck {
    fn problem(&mut self, what: impl Into<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(what.into());
        }
    }
}

/// Reads all of an index.
///
/// # Errors
/// [`StoreError`] when it cannot be read; rows that break their layout are findings.
pub fn check(view: &View, set: IndexSet) -> Result<IndexCheck, StoreError> {
    guard(|| {
        let mut found = IndexCheck::default();
        let Some(rows) = view.rows(set.delta())? else {
            return Ok(found);
        };
        let state = match State::read(set, &rows) {
            Ok(state) => state,
            Err(error) if error.is_damage() => {
                found.problem(error.to_string());
                return Ok(found);
            }
            Err(error) => return Err(error),
        };
        let mut deltas: Vec<(u64, DeltaRow)> = Vec::new();
        for entry in rows.range::<u64>(1..)? {
            let sequence = entry?.0.value();
            if sequence <= state.folded_whole() || sequence > state.sequence {
                found.problem(format!("delta row {sequence} is out of place"));
                continue;
            }
            match delta::read(set, &rows, sequence) {
                Ok(Some(row)) => deltas.push((sequence, row)),
                Ok(None) => {}
                Err(error) if error.is_damage() => found.problem(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        drop(rows);
        let lengths = match view.rows(set.lengths())? {
            None => Lengths::default(),
            Some(rows) => match lengths::load(set, &rows) {
                Ok(lengths) => lengths,
                Err(error) if error.is_damage() => {
                    found.problem(error.to_string());
                    return Ok(found);
                }
                Err(error) => return Err(error),
            },
        };
        check_lengths(&state, &lengths, &mut found);
        check_postings(view, set, &state, &deltas, &lengths, &mut found)?;
        Ok(found)
    })
}

fn check_lengths(state: &State, lengths: &Lengths, found: &mut IndexCheck) {
    let mut total = 0;
    for (section, length) in lengths.iter() {
        found.sections += 1;
        total += u64::from(length);
        if u64::from(section) >= state.next_section {
            found.problem(format!("section {section} has an id that was never given"));
        }
    }
    if found.sections != state.sections {
        found.problem(format!(
            "{} sections have a length, the state counts {}",
            found.sections, state.sections
        ));
    }
    if total != state.total_length {
        found.problem(format!(
            "the lengths sum up to {total}, the state says {}",
            state.total_length
        ));
    }
}

/// A term by its id: its bytes and what its rows hold.
struct Term {
    bytes: Vec<u8>,
    postings: u64,
    frequency: Option<u32>,
    last: Option<u32>,
}

fn check_postings(
    view: &View,
    set: IndexSet,
    state: &State,
    deltas: &[(u64, DeltaRow)],
    lengths: &Lengths,
    found: &mut IndexCheck,
) -> Result<(), StoreError> {
    let mut by_id: BTreeMap<u32, Term> = BTreeMap::new();
    if let Some(rows) = view.rows(set.terms())? {
        let visited = terms::visit(&rows, b"", &mut |bytes, id| {
            let term = Term {
                bytes: bytes.to_vec(),
                postings: 0,
                frequency: None,
                last: None,
            };
            if by_id.insert(id, term).is_some() || u64::from(id) >= state.next_term {
                found.problem(format!("term id {id} is not one term's"));
            }
            Ok(true)
        });
        match visited {
            Err(error) if error.is_damage() => found.problem(error.to_string()),
            other => other?,
        }
    }
    found.terms = by_id.len() as u64;
    if let Some(rows) = view.rows(set.postings())? {
        for entry in rows.range::<u64>(..)? {
            let (key, value) = entry?;
            let key = key.value();
            let id = (key >> 32) as u32;
            let Some(term) = by_id.get_mut(&id) else {
                found.problem(format!("posting row {key:x} has no term"));
                continue;
            };
            match postings::decode(set, key, value.value()) {
                Ok(row) => check_row(key, &row, term, state, deltas, lengths, found)?,
                Err(error) if error.is_damage() => found.problem(error.to_string()),
                Err(error) => return Err(error),
            }
        }
    }
    for (id, term) in &by_id {
        if term.frequency.map(u64::from) != Some(term.postings) {
            found.problem(format!(
                "term {id} has {} postings, its open row says {:?}",
                term.postings, term.frequency
            ));
        }
    }
    Ok(())
}

fn check_row(
    key: u64,
    row: &Row,
    term: &mut Term,
    state: &State,
    deltas: &[(u64, DeltaRow)],
    lengths: &Lengths,
    found: &mut IndexCheck,
) -> Result<(), StoreError> {
    let open = key == postings::open_key((key >> 32) as u32);
    if open {
        term.frequency = Some(row.document_frequency);
    } else if row.is_empty() || row.document_frequency != 0 {
        found.problem(format!("posting row {key:x} is not a closed row"));
    }
    let slice = slice_of(&term.bytes);
    for block in &row.blocks {
        for posting in &block.postings {
            found.postings += 1;
            term.postings += 1;
            let section = posting.section;
            if term.last.is_some_and(|last| last >= section) || section > key as u32 {
                found.problem(format!("posting row {key:x} has sections out of order"));
            }
            term.last = Some(section);
            let bounded = match lengths.get(section) {
                Some(length) => block.front.bounds(posting.weight, length),
                None => {
                    // A removal that waits.
                    let mut waits = false;
                    for (_, delta) in deltas.iter().filter(|(at, _)| *at > state.folded[slice]) {
                        waits |= delta
                            .get(slice, &term.bytes)?
                            .is_some_and(|change| change.removed.contains(&section));
                    }
                    waits
                }
            };
            if !bounded {
                found.problem(format!(
                    "posting row {key:x} is wrong about section {section}"
                ));
            }
        }
    }
    Ok(())
}
