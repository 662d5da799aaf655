//! Verifying an index: every row decodes, the rows agree with each other, and, on demand, with
//! the sections that were analysed anew.

use std::collections::{BTreeMap, BTreeSet};

use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::delta::{self, DeltaRow};
use super::{IndexSet, RowKey, STATE_KEY, State, lengths, postings, terms};
use crate::search::AnalyzedSection;
use crate::search::lengths::Lengths;
use crate::search::postings::{Posting, RowReader, bounds};

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
        let mut deltas: Vec<(RowKey, DeltaRow)> = Vec::new();
        for entry in rows.range::<u64>(STATE_KEY + 1..)? {
            let key = RowKey(entry?.0.value());
            if !state.rows.contains(&key) {
                found.problem(format!("the state does not know delta row {}", key.0));
            }
        }
        for &key in &state.rows {
            let read = delta::read(set, &rows, key.0).and_then(|row| row.check().map(|()| row));
            match read {
                Ok(row) => deltas.push((key, row)),
                Err(error) if error.is_damage() => found.problem(error.to_string()),
                Err(error) => return Err(error),
            }
            if key.sequence() <= state.folded || key.sequence() > state.sequence {
                found.problem(format!("delta row {} is out of place", key.0));
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
        let context = Context {
            state: &state,
            deltas: &deltas,
            lengths: &lengths,
        };
        check_postings(view, set, &context, &mut found, &mut held)?;
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

/// A term with closed rows.
struct Term {
    bytes: Vec<u8>,
    frequency: u32,
    /// First section of the open row.
    first_open: Option<u32>,
    postings: u64,
    last: Option<u32>,
}

/// What the rows of a term are compared with.
struct Context<'a> {
    state: &'a State,
    deltas: &'a [(RowKey, DeltaRow)],
    lengths: &'a Lengths,
}

fn check_postings(
    view: &View,
    set: IndexSet,
    context: &Context<'_>,
    found: &mut IndexCheck,
    held: &mut Option<Sums>,
) -> Result<(), StoreError> {
    let mut by_id: BTreeMap<u32, Term> = BTreeMap::new();
    let mut reader = RowReader::default();
    let mut postings: Vec<Seen> = Vec::new();
    if let Some(rows) = view.rows(set.terms())? {
        terms::visit(&rows, b"", &mut |bytes, value| {
            found.terms += 1;
            postings.clear();
            let read = terms::read(set, bytes, value, &mut reader, &mut |_, posting, front| {
                postings.push(Seen::new(posting, front, context.lengths));
            });
            let (id, row) = match read {
                Ok(read) => read,
                Err(error) if error.is_damage() => {
                    found.problem(error.to_string());
                    return Ok(true);
                }
                Err(error) => return Err(error),
            };
            let name = || format!("row \"{}\" of terms", bytes.escape_ascii());
            hold_row(&postings, bytes, held);
            check_row(&name, bytes, &postings, context, found)?;
            let frequency = row.document_frequency;
            let count = row.postings as u64;
            if frequency == 0 || id.is_none() && u64::from(frequency) != count {
                found.problem(format!(
                    "{} has {count} postings and says {frequency}",
                    name()
                ));
            }
            if let Some(id) = id {
                let term = Term {
                    bytes: bytes.to_vec(),
                    frequency,
                    first_open: row.first_section,
                    postings: count,
                    last: None,
                };
                if by_id.insert(id, term).is_some() || u64::from(id) >= context.state.next_term {
                    found.problem(format!("term id {id} is not one term's"));
                }
            }
            Ok(true)
        })?;
    }
    if let Some(rows) = view.rows(set.postings())? {
        for entry in rows.range::<u64>(..)? {
            let (key, value) = entry?;
            let key = key.value();
            let name = || format!("posting row {key:x}");
            let Some(term) = by_id.get_mut(&((key >> 32) as u32)) else {
                found.problem(format!("{} has no term", name()));
                continue;
            };
            postings.clear();
            let read = postings::read(
                set,
                key,
                value.value(),
                &mut reader,
                &mut |_, posting, front| {
                    postings.push(Seen::new(posting, front, context.lengths));
                },
            );
            match read {
                Ok(row) => {
                    let inside = row.first_section > term.last
                        && row.last_section.is_some_and(|last| last <= key as u32)
                        && term
                            .first_open
                            .is_none_or(|open| row.last_section < Some(open));
                    if !inside || row.document_frequency != 0 {
                        found.problem(format!("{} is out of place", name()));
                    }
                    term.postings += row.postings as u64;
                    term.last = row.last_section;
                    hold_row(&postings, &term.bytes, held);
                    check_row(&name, &term.bytes, &postings, context, found)?;
                }
                Err(error) if error.is_damage() => found.problem(error.to_string()),
                Err(error) => return Err(error),
            }
        }
    }
    for (id, term) in &by_id {
        if u64::from(term.frequency) != term.postings {
            found.problem(format!(
                "term {id} has {} postings and says {}",
                term.postings, term.frequency
            ));
        }
    }
    Ok(())
}

/// A posting of a row, and whether its front bounds it; none where its section has no length.
struct Seen {
    posting: Posting,
    is_bounded: Option<bool>,
}

impl Seen {
    fn new(posting: Posting, front: &[(u32, u32)], lengths: &Lengths) -> Self {
        let length = lengths.get(posting.section);
        Self {
            posting,
            is_bounded: length.map(|length| bounds(front, posting.weight, length)),
        }
    }
}

/// Adds what a row holds of sections that are still there.
fn hold_row(postings: &[Seen], term: &[u8], held: &mut Option<Sums>) {
    let Some(held) = held else { return };
    for seen in postings.iter().filter(|seen| seen.is_bounded.is_some()) {
        add(held, term, seen.posting.section, seen.posting.weight);
    }
}

/// Adds what delta rows hold that is in no row yet, of sections that are still there.
fn hold_deltas(
    state: &State,
    deltas: &[(RowKey, DeltaRow)],
    lengths: &Lengths,
    held: &mut Sums,
) -> Result<(), StoreError> {
    for (key, delta) in deltas {
        for entry in delta.terms_from(0) {
            let (term, change) = entry?;
            if state.is_folded(*key, term) {
                continue;
            }
            for (posting, _) in &change.added {
                if lengths.get(posting.section).is_some() {
                    add(held, term, posting.section, posting.weight);
                }
            }
        }
    }
    Ok(())
}

/// Sections whose postings of a term are still to be taken out of its rows.
fn removals(term: &[u8], context: &Context<'_>) -> Result<BTreeSet<u32>, StoreError> {
    let mut removed = BTreeSet::new();
    for (key, delta) in context.deltas {
        if !context.state.is_folded(*key, term)
            && let Some(change) = delta.get(term)?
        {
            removed.extend(change.removed);
        }
    }
    Ok(removed)
}

/// Every posting is of a section that exists or whose removal waits, and within its front.
fn check_row(
    name: &dyn Fn() -> String,
    term: &[u8],
    postings: &[Seen],
    context: &Context<'_>,
    found: &mut IndexCheck,
) -> Result<(), StoreError> {
    // Asked for only where a section is gone, and then once for all of the row.
    let mut waiting: Option<BTreeSet<u32>> = None;
    for Seen {
        posting,
        is_bounded,
    } in postings
    {
        found.postings += 1;
        let sound = match is_bounded {
            Some(is_bounded) => *is_bounded,
            None => {
                let waiting = match &mut waiting {
                    Some(waiting) => waiting,
                    None => waiting.insert(removals(term, context)?),
                };
                waiting.contains(&posting.section)
            }
        };
        if !sound {
            found.problem(format!(
                "{} is wrong about section {}",
                name(),
                posting.section
            ));
        }
    }
    Ok(())
}
