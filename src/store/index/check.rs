//! Verifying an index: every row decodes, the rows agree with each other, and, on demand, with
//! the sections that were analysed anew.

use std::collections::BTreeMap;

use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::delta::{self, DeltaRow};
use super::{IndexSet, SLICES, State, lengths, postings, slice_of, terms};
use crate::search::AnalyzedSection;
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
    check_with(view, set, None)
}

/// [`check`], and whether the index holds exactly these postings.
///
/// # Errors
/// As [`check`].
pub fn check_against(
    view: &View,
    set: IndexSet,
    expected: &ExpectedPostings,
) -> Result<IndexCheck, StoreError> {
    check_with(view, set, Some(expected))
}

/// The postings that an index must hold, as one sum for each term: memory grows with the
/// dictionary, not with the postings.
#[derive(Debug, Default)]
pub struct ExpectedPostings(Sums);

type Sums = BTreeMap<Box<[u8]>, u64>;

impl ExpectedPostings {
    /// Adds a section that was analysed anew.
    pub fn add(&mut self, section: u32, analyzed: &AnalyzedSection) {
        let mut last: Option<&str> = None;
        for (term, weight) in &analyzed.terms {
            // A term named twice counts once, as in `apply`.
            if *weight > 0 && last != Some(term) {
                add(
                    &mut self.0,
                    &terms::term_key(term.as_bytes()),
                    section,
                    *weight,
                );
            }
            last = Some(term);
        }
        add(&mut self.0, LENGTHS, section, analyzed.length);
    }
}

/// Stands for the lengths among the terms; no term is empty.
const LENGTHS: &[u8] = b"";

fn add(sums: &mut Sums, term: &[u8], section: u32, value: u32) {
    let pair = (u64::from(section) << 32) | u64::from(value);
    let digest = xxhash_rust::xxh3::xxh3_64(&pair.to_le_bytes());
    match sums.get_mut(term) {
        Some(sum) => *sum = sum.wrapping_add(digest),
        None => drop(sums.insert(term.into(), digest)),
    }
}

fn compare(held: &Sums, expected: &Sums, found: &mut IndexCheck) {
    let mut differ = |term: &[u8], what: &str| {
        if term.is_empty() {
            found.problem("the lengths are not those of the pages' sections");
        } else {
            found.problem(format!(
                "the postings of \"{}\" {what}",
                term.escape_ascii()
            ));
        }
    };
    for (term, sum) in expected {
        match held.get(term) {
            Some(held) if held == sum => {}
            Some(_) => differ(term, "are not those of the pages"),
            None => differ(term, "are missing"),
        }
    }
    for term in held.keys().filter(|term| !expected.contains_key(*term)) {
        differ(term, "are of no page");
    }
}

fn check_with(
    view: &View,
    set: IndexSet,
    expected: Option<&ExpectedPostings>,
) -> Result<IndexCheck, StoreError> {
    guard(|| {
        let mut found = IndexCheck::default();
        let mut held = expected.map(|_| Sums::new());
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
        check_postings(view, set, &state, &deltas, &lengths, &mut found, &mut held)?;
        if let (Some(mut held), Some(expected)) = (held, expected) {
            for (section, length) in lengths.iter() {
                add(&mut held, LENGTHS, section, length);
            }
            hold_deltas(&state, &deltas, &lengths, &mut held)?;
            compare(&held, &expected.0, &mut found);
        }
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
    held: &mut Option<Sums>,
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
                Ok(row) => {
                    if let Some(held) = held {
                        hold_row(&row, &term.bytes, lengths, held);
                    }
                    check_row(key, &row, term, state, deltas, lengths, found)?;
                }
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

/// Adds what a row holds of sections that are still there.
fn hold_row(row: &Row, term: &[u8], lengths: &Lengths, held: &mut Sums) {
    for posting in row.blocks.iter().flat_map(|block| &block.postings) {
        if lengths.get(posting.section).is_some() {
            add(held, term, posting.section, posting.weight);
        }
    }
}

/// Adds what delta rows hold that is in no row yet, of sections that are still there.
fn hold_deltas(
    state: &State,
    deltas: &[(u64, DeltaRow)],
    lengths: &Lengths,
    held: &mut Sums,
) -> Result<(), StoreError> {
    for slice in 0..SLICES {
        for (_, delta) in deltas.iter().filter(|(at, _)| *at > state.folded[slice]) {
            for entry in delta.slice(slice) {
                let (term, change) = entry?;
                for (posting, _) in &change.added {
                    if lengths.get(posting.section).is_some() {
                        add(held, term, posting.section, posting.weight);
                    }
                }
            }
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
