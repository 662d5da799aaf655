//! Writing: one delta row for each write, and folding delta rows into the postings.

use std::collections::BTreeMap;

use super::super::batch::Batch;
use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::delta::{self, Changes, DeltaRow, TermChange};
use super::terms::{self, term_key};
use super::{
    IndexSet, NumberedRows, SLICE_EVERY, SLICES, STATE_KEY, State, TermRows, lengths, postings,
};
use crate::search::AnalyzedSection;
use crate::search::postings::{Posting, Row};

/// A write that changes more postings than this is folded at once: a delta row is for readers to
/// look into.
const AT_ONCE_EVENTS: usize = 16_384;

/// Takes sections out of the index and puts others in.
///
/// `removed` names the terms of each section that is gone, as they were when it was added; the
/// caller has them from analysing the old text again. Ids in `added` must be above every id that
/// was ever added.
///
/// # Errors
/// `Damaged` when a removed section is not in the index (the index should be rebuilt), `Misuse`
/// for an id that was used before.
pub fn apply(
    batch: &mut Batch,
    set: IndexSet,
    removed: &[(u32, Vec<String>)],
    added: &[(u32, &AnalyzedSection)],
) -> Result<(), StoreError> {
    if removed.is_empty() && added.is_empty() {
        return Ok(());
    }
    batch.touch_index();
    let view: &View = batch;
    guard(|| {
        let mut delta = view.rows_mut(set.delta())?;
        let mut state = State::read(set, &delta)?;
        let changes = collect(&mut state, removed, added)?;
        change_lengths(view, set, &mut state, &changes)?;
        state.sequence += 1;
        let events = changes.events();
        let row = changes.into_row()?;
        let sequence = state.sequence;
        if events > AT_ONCE_EVENTS {
            let all: Vec<usize> = (0..SLICES).collect();
            fold(view, set, &mut state, &mut delta, &all, Some(row))?;
        } else {
            delta::write(set, &mut delta, sequence, &row)?;
            if sequence.is_multiple_of(SLICE_EVERY) {
                let slice = (sequence / SLICE_EVERY % SLICES as u64) as usize;
                fold(view, set, &mut state, &mut delta, &[slice], None)?;
            }
        }
        state.write(set, &mut delta)
    })
}

/// Empties the index. Section ids stay used.
///
/// # Errors
/// [`StoreError`].
pub fn clear(batch: &mut Batch, set: IndexSet) -> Result<(), StoreError> {
    batch.touch_index();
    let view: &View = batch;
    guard(|| {
        let state = reset(view, set)?;
        let mut delta = view.rows_mut(set.delta())?;
        state.write(set, &mut delta)
    })
}

/// Drops all tables; answers the state of an empty index of the next generation.
pub(super) fn reset(view: &View, set: IndexSet) -> Result<State, StoreError> {
    // What cannot be read is replaced all the same: this is also how damage is mended.
    let old = State::read(set, &view.rows_mut(set.delta())?).unwrap_or_else(|_| State {
        // A generation that no reader of this store has seen, whatever the damaged row said.
        generation: u64::from(u32::MAX),
        ..State::default()
    });
    let txn = view.write_txn()?;
    txn.delete_table(set.terms())?;
    txn.delete_table(set.postings())?;
    txn.delete_table(set.lengths())?;
    txn.delete_table(set.delta())?;
    Ok(State {
        generation: old.generation + 1,
        next_section: old.next_section,
        ..State::default()
    })
}

fn collect(
    state: &mut State,
    removed: &[(u32, Vec<String>)],
    added: &[(u32, &AnalyzedSection)],
) -> Result<Changes, StoreError> {
    let mut changes = Changes::default();
    let mut removed: Vec<&(u32, Vec<String>)> = removed.iter().collect();
    removed.sort_unstable_by_key(|(section, _)| *section);
    removed.dedup_by_key(|(section, _)| *section);
    for (place, (section, terms)) in (0u32..).zip(removed) {
        changes.removed.push(*section);
        for term in terms {
            let events = changes.term(&term_key(term.as_bytes()));
            // A term may be named twice.
            if events.removed.last() != Some(&place) {
                events.removed.push(place);
            }
        }
    }
    let mut added: Vec<&(u32, &AnalyzedSection)> = added.iter().collect();
    added.sort_unstable_by_key(|(section, _)| *section);
    for (place, (section, analyzed)) in (0u32..).zip(added) {
        if u64::from(*section) < state.next_section || *section == u32::MAX {
            let what = format!("section id {section} was used before");
            return Err(StoreError::Misuse { what });
        }
        state.next_section = u64::from(*section) + 1;
        changes.added.push((*section, analyzed.length));
        for (term, weight) in &analyzed.terms {
            let events = changes.term(&term_key(term.as_bytes()));
            if events.added.last().is_none_or(|&(last, _)| last != place) && *weight > 0 {
                events.added.push((place, *weight));
            }
        }
    }
    Ok(changes)
}

fn change_lengths(
    view: &View,
    set: IndexSet,
    state: &mut State,
    changes: &Changes,
) -> Result<(), StoreError> {
    let mut rows = view.rows_mut(set.lengths())?;
    let removals = changes.removed.iter().map(|&section| (section, None));
    for (section, before) in lengths::change(set, &mut rows, removals)? {
        let Some(length) = before else {
            return Err(StoreError::damaged(format!(
                "section {section} is not in the index"
            )));
        };
        state.sections = state.sections.saturating_sub(1);
        state.total_length = state.total_length.saturating_sub(u64::from(length));
    }
    let additions = changes
        .added
        .iter()
        .map(|&(section, length)| (section, Some(length)));
    for (section, before) in lengths::change(set, &mut rows, additions)? {
        if before.is_some() {
            return Err(StoreError::damaged(format!(
                "section {section} is already indexed"
            )));
        }
    }
    state.sections += changes.added.len() as u64;
    state.total_length += changes
        .added
        .iter()
        .map(|&(_, length)| u64::from(length))
        .sum::<u64>();
    Ok(())
}

/// Folds slices of all delta rows, and of `unwritten`, the row of this write if it is not in the
/// table; drops rows that are folded whole.
fn fold(
    view: &View,
    set: IndexSet,
    state: &mut State,
    delta: &mut NumberedRows<'_>,
    slices: &[usize],
    unwritten: Option<DeltaRow>,
) -> Result<(), StoreError> {
    let mut rows = Vec::new();
    for sequence in state.folded_whole() + 1..=state.sequence {
        if let Some(row) = delta::read(set, delta, sequence)? {
            rows.push((sequence, row));
        }
    }
    rows.extend(unwritten.map(|row| (state.sequence, row)));
    let mut terms = view.rows_mut(set.terms())?;
    let mut postings = view.rows_mut(set.postings())?;
    for &slice in slices {
        let changes = gather(&rows, slice, state.folded[slice])?;
        fold_terms(set, &mut terms, &mut postings, state, changes)?;
        state.folded[slice] = state.sequence;
    }
    let whole = state.folded_whole();
    for (sequence, _) in rows.iter().filter(|(sequence, _)| *sequence <= whole) {
        if *sequence != STATE_KEY {
            delta.remove(*sequence)?;
        }
    }
    Ok(())
}

/// What the rows after `folded` do to each term of a slice, taken together.
fn gather(
    rows: &[(u64, DeltaRow)],
    slice: usize,
    folded: u64,
) -> Result<BTreeMap<&[u8], TermChange>, StoreError> {
    let mut all: BTreeMap<&[u8], TermChange> = BTreeMap::new();
    for (_, row) in rows.iter().filter(|(sequence, _)| *sequence > folded) {
        for entry in row.slice(slice) {
            let (term, change) = entry?;
            let sum = all.entry(term).or_default();
            for section in change.removed {
                // Added by an earlier row of these, or waiting in the postings.
                match sum
                    .added
                    .binary_search_by_key(&section, |(posting, _)| posting.section)
                {
                    Ok(at) => {
                        sum.added.remove(at);
                    }
                    Err(_) => sum.removed.push(section),
                }
            }
            sum.added.extend(change.added);
        }
    }
    Ok(all)
}

fn fold_terms(
    set: IndexSet,
    terms: &mut TermRows<'_>,
    postings: &mut NumberedRows<'_>,
    state: &mut State,
    changes: BTreeMap<&[u8], TermChange>,
) -> Result<(), StoreError> {
    for (term, change) in changes {
        if !change.added.is_empty() || !change.removed.is_empty() {
            fold_term(set, terms, postings, state, term, change)?;
        }
    }
    Ok(())
}

/// Changes the rows of one term.
fn fold_term(
    set: IndexSet,
    terms: &mut TermRows<'_>,
    postings: &mut NumberedRows<'_>,
    state: &mut State,
    term: &[u8],
    mut change: TermChange,
) -> Result<(), StoreError> {
    let absent = || {
        let term = term.escape_ascii();
        StoreError::damaged(format!(
            "the postings of \"{term}\" do not match the sections"
        ))
    };
    let (mut id, mut open) = match terms.get(term)? {
        Some(value) => terms::decode(set, term, value.value())?,
        None => (None, Row::default()),
    };
    change.removed.sort_unstable();
    let first_open = open.first_section().unwrap_or(u32::MAX);
    let in_closed = change
        .removed
        .partition_point(|&section| section < first_open);
    let (closed, opened) = change.removed.split_at(in_closed);
    if open.remove(opened) != opened.len() {
        return Err(absent());
    }
    if !closed.is_empty() {
        remove_closed(set, postings, id.ok_or_else(absent)?, closed, &absent)?;
    }
    let removed = u32::try_from(change.removed.len()).map_err(|_| absent())?;
    let added = u32::try_from(change.added.len()).map_err(|_| absent())?;
    open.document_frequency = open
        .document_frequency
        .checked_add(added)
        .and_then(|sum| sum.checked_sub(removed))
        .ok_or_else(absent)?;
    for (Posting { section, weight }, length) in change.added {
        if open.last_section().is_some_and(|last| last >= section) {
            return Err(absent());
        }
        open.push(Posting { section, weight }, length);
    }
    for row in postings::split(&mut open) {
        let term_id = match id {
            Some(id) => id,
            None => {
                let new = u32::try_from(state.next_term)
                    .ok()
                    .filter(|&new| new < u32::MAX);
                state.next_term += 1;
                new.ok_or(StoreError::TooLarge {
                    what: "the dictionary",
                    limit: 1 << 32,
                })?
            }
        };
        id = Some(term_id);
        if let Some(last) = row.last_section() {
            postings::write(set, postings, postings::key(term_id, last), &row)?;
        }
    }
    if open.document_frequency == 0 {
        terms.remove(term)?;
        return Ok(());
    }
    terms::write(set, terms, term, id, &open)
}

fn remove_closed(
    set: IndexSet,
    postings: &mut NumberedRows<'_>,
    id: u32,
    mut sections: &[u32],
    absent: &impl Fn() -> StoreError,
) -> Result<(), StoreError> {
    while let Some(&section) = sections.first() {
        let (key, mut row) = {
            let range = postings::key(id, section)..=postings::key(id, u32::MAX);
            let mut rows = postings.range(range)?;
            let (key, value) = rows.next().ok_or_else(absent)??;
            let key = key.value();
            (key, postings::decode(set, key, value.value())?)
        };
        // The low half of the key is the end of the row.
        let inside = sections.partition_point(|&section| section <= key as u32);
        let (here, rest) = sections.split_at(inside);
        if row.remove(here) != here.len() {
            return Err(absent());
        }
        if row.is_empty() {
            postings.remove(key)?;
        } else {
            postings::write(set, postings, key, &row)?;
        }
        sections = rest;
    }
    Ok(())
}
