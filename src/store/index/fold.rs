//! Writing: one delta row for each write, and folding delta rows into the postings.

use std::borrow::Cow;

use super::super::batch::Batch;
use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::delta::{self, Changes, DeltaRow, TermChange};
use super::terms::{self, term_key};
use super::{
    FOLD_EVERY, FOLDING, FREEZE, IndexSet, MERGE, MERGED, NumberedRows, RowKey, SINGLE, State,
    TermRows, lengths, postings,
};
use crate::search::AnalyzedSection;
use crate::search::postings::{Posting, Row};

/// Delta rows of more than so many bytes are folded at once. A fold of this much goes through most
/// of the dictionary, so bulk writes share it: the more they save up, the fewer folds there are.
const AT_ONCE_BYTES: u64 = if cfg!(test) { 16 << 10 } else { 64 << 20 };
/// What bulk work may leave for readers to overlay, see [`tidy`].
const TIDY_BYTES: u64 = if cfg!(test) { 128 } else { 1 << 20 };
/// In how many parts a row is folded: one for every few writes, until the next row is due.
const PARTS: u64 = (MERGE * FREEZE) as u64 / FOLD_EVERY;

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
        let removed = by_section(removed);
        let added = by_section(added);
        let keys = Keys::of(&removed, &added);
        let changes = collect(&mut state, &removed, &added, &keys)?;
        change_lengths(view, set, &mut state, &changes)?;
        state.sequence += 1;
        let row = changes.into_row()?;
        let mut log = Log {
            view,
            set,
            state: &mut state,
            delta: &mut delta,
        };
        if log.state.delta_bytes + row.size() as u64 > AT_ONCE_BYTES {
            log.fold_all(Some(row))?;
        } else {
            let key = RowKey::new(log.state.sequence, SINGLE);
            log.put(key, &row)?;
            log.keep_short()?;
        }
        state.write(set, &mut delta)
    })
}

/// Folds what bulk work has left in delta rows, if it is more than readers should overlay.
/// Answers whether it was.
///
/// # Errors
/// [`StoreError`].
pub fn tidy(batch: &mut Batch, set: IndexSet) -> Result<bool, StoreError> {
    let view: &View = batch;
    let folded = guard(|| {
        let mut delta = view.rows_mut(set.delta())?;
        let mut state = State::read(set, &delta)?;
        if state.delta_bytes <= TIDY_BYTES {
            return Ok(false);
        }
        // Caches tell states of the index apart by the sequence.
        state.sequence += 1;
        let mut log = Log {
            view,
            set,
            state: &mut state,
            delta: &mut delta,
        };
        log.fold_all(None)?;
        state.write(set, &mut delta)?;
        Ok(true)
    })?;
    if folded {
        batch.touch_index();
    }
    Ok(folded)
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

/// By rising id, each section once.
fn by_section<T>(sections: &[(u32, T)]) -> Vec<&(u32, T)> {
    let mut sorted: Vec<&(u32, T)> = sections.iter().collect();
    sorted.sort_by_key(|(section, _)| *section);
    sorted.dedup_by_key(|(section, _)| *section);
    sorted
}

/// The keys of terms, as [`collect`] goes through them.
struct Keys<'a> {
    removed: Vec<Vec<Cow<'a, [u8]>>>,
    added: Vec<Vec<Cow<'a, [u8]>>>,
}

impl<'a> Keys<'a> {
    fn of(removed: &[&'a (u32, Vec<String>)], added: &[&'a (u32, &AnalyzedSection)]) -> Self {
        let keys = |terms: &mut dyn Iterator<Item = &'a String>| -> Vec<Cow<'a, [u8]>> {
            let mut keys: Vec<_> = terms.map(|term| term_key(term.as_bytes())).collect();
            if !keys.is_sorted() {
                keys.sort();
            }
            keys
        };
        Self {
            removed: removed
                .iter()
                .map(|(_, terms)| {
                    let mut keys = keys(&mut terms.iter());
                    // A term may be named twice.
                    keys.dedup();
                    keys
                })
                .collect(),
            added: added
                .iter()
                .map(|(_, analyzed)| {
                    analyzed
                        .terms
                        .iter()
                        .map(|(term, _)| term_key(term.as_bytes()))
                        .collect()
                })
                .collect(),
        }
    }
}

fn collect<'a>(
    state: &mut State,
    removed: &[&(u32, Vec<String>)],
    added: &[&(u32, &AnalyzedSection)],
    keys: &'a Keys<'_>,
) -> Result<Changes<'a>, StoreError> {
    let mut changes = Changes::default();
    let mut terms: Vec<(&[u8], TermChange)> = Vec::new();
    for ((section, _), keys) in removed.iter().zip(&keys.removed) {
        changes.removed.push(*section);
        terms.extend(keys.iter().map(|key| {
            let removed = vec![*section];
            (
                &**key,
                TermChange {
                    removed,
                    ..TermChange::default()
                },
            )
        }));
    }
    for ((section, analyzed), keys) in added.iter().zip(&keys.added) {
        if u64::from(*section) < state.next_section || *section == u32::MAX {
            let what = format!("section id {section} was used before");
            return Err(StoreError::Misuse { what });
        }
        let section = *section;
        state.next_section = u64::from(section) + 1;
        changes.added.push((section, analyzed.length));
        let mut last: Option<&[u8]> = None;
        for ((_, weight), key) in analyzed.terms.iter().zip(keys) {
            // A term named twice counts once.
            if *weight > 0 && last != Some(&**key) {
                let added = vec![(
                    Posting {
                        section,
                        weight: *weight,
                    },
                    analyzed.length,
                )];
                terms.push((
                    &**key,
                    TermChange {
                        added,
                        ..TermChange::default()
                    },
                ));
            }
            last = Some(&**key);
        }
    }
    changes.terms = Changes::of_terms(terms);
    Ok(changes)
}

fn change_lengths(
    view: &View,
    set: IndexSet,
    state: &mut State,
    changes: &Changes<'_>,
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

/// The delta rows of an index that is being written.
struct Log<'a, 'txn> {
    view: &'a View,
    set: IndexSet,
    state: &'a mut State,
    delta: &'a mut NumberedRows<'txn>,
}

impl Log<'_, '_> {
    fn read(&self, key: RowKey) -> Result<DeltaRow, StoreError> {
        delta::read(self.set, self.delta, key.0)
    }

    fn put(&mut self, key: RowKey, row: &DeltaRow) -> Result<(), StoreError> {
        delta::write(self.set, self.delta, key.0, row)?;
        self.state.delta_bytes += row.size() as u64;
        self.state.rows.push(key);
        self.state.rows.sort_unstable();
        Ok(())
    }

    fn remove(&mut self, key: RowKey, row: &DeltaRow) -> Result<(), StoreError> {
        self.delta.remove(key.0)?;
        self.state.delta_bytes = self.state.delta_bytes.saturating_sub(row.size() as u64);
        self.state.rows.retain(|known| *known != key);
        Ok(())
    }

    /// Merges rows, and folds a part, where one is due.
    fn keep_short(&mut self) -> Result<(), StoreError> {
        if self.state.count(SINGLE) >= MERGE {
            self.merge(SINGLE, MERGED)?;
        }
        if self.state.count(MERGED) >= FREEZE {
            // The row before has had its parts; but a clock that stood still changes nothing.
            self.fold_parts(self.state.parts)?;
            self.merge(MERGED, FOLDING)?;
            self.state.parts = PARTS;
        } else if self.state.sequence.is_multiple_of(FOLD_EVERY) {
            self.fold_parts(1)?;
        }
        Ok(())
    }

    /// Makes one row of all rows of a level.
    fn merge(&mut self, from: u64, to: u64) -> Result<(), StoreError> {
        let of_level = |key: &RowKey| key.level() == from;
        let keys: Vec<RowKey> = self.state.rows.iter().copied().filter(of_level).collect();
        let Some(last) = keys.last() else {
            return Ok(());
        };
        let rows = keys
            .iter()
            .map(|key| self.read(*key))
            .collect::<Result<Vec<_>, _>>()?;
        let merged = Changes::merge(&rows)?.into_row()?;
        for (key, row) in keys.iter().zip(&rows) {
            self.remove(*key, row)?;
        }
        self.put(RowKey::new(last.sequence(), to), &merged)
    }

    /// Folds so many parts of the row that is being folded, if there is one.
    fn fold_parts(&mut self, parts: u64) -> Result<(), StoreError> {
        let Some(key) = self.state.folding() else {
            return Ok(());
        };
        let row = self.read(key)?;
        let start = self.after_cursor(&row);
        let rest = row.len() - start;
        let left = self.state.parts.max(1);
        let now = if parts >= left {
            rest
        } else {
            // Below the rest, which fits.
            (rest as u64 * parts).div_ceil(left) as usize
        };
        let changes = row
            .terms_from(start)
            .take(now)
            .collect::<Result<Vec<_>, _>>()?;
        let last = changes.last().map(|(term, _)| term.to_vec());
        self.fold_terms(changes.into_iter().map(Ok))?;
        if now == rest {
            self.state.folded = key.sequence();
            self.state.cursor = None;
            self.state.parts = 0;
            self.remove(key, &row)
        } else {
            self.state.cursor = last.or(self.state.cursor.take());
            self.state.parts = left - parts;
            Ok(())
        }
    }

    /// The place of the first term of the folding row that is not folded.
    fn after_cursor(&self, row: &DeltaRow) -> usize {
        let Some(cursor) = &self.state.cursor else {
            return 0;
        };
        let mut after = cursor.clone();
        after.push(0);
        row.place_of(&after)
    }

    /// Folds all rows, and the row of this write, which is not in the table.
    fn fold_all(&mut self, own: Option<DeltaRow>) -> Result<(), StoreError> {
        let keys = self.state.rows.clone();
        let mut rows = keys
            .iter()
            .map(|key| self.read(*key))
            .collect::<Result<Vec<_>, _>>()?;
        rows.extend(own);
        let start = |(at, row): (usize, &DeltaRow)| match keys.get(at) {
            Some(key) if key.level() == FOLDING => self.after_cursor(row),
            _ => 0,
        };
        let starts: Vec<usize> = rows.iter().enumerate().map(start).collect();
        self.fold_terms(delta::join(rows.iter().zip(starts)))?;
        for (key, row) in keys.iter().zip(&rows) {
            self.remove(*key, row)?;
        }
        self.state.folded = self.state.sequence;
        self.state.cursor = None;
        self.state.parts = 0;
        Ok(())
    }

    fn fold_terms<'a>(
        &mut self,
        changes: impl Iterator<Item = Result<(&'a [u8], TermChange), StoreError>>,
    ) -> Result<(), StoreError> {
        let mut terms = self.view.rows_mut(self.set.terms())?;
        let mut postings = self.view.rows_mut(self.set.postings())?;
        for entry in changes {
            let (term, change) = entry?;
            fold_term(
                self.set,
                &mut terms,
                &mut postings,
                self.state,
                term,
                change,
            )?;
        }
        Ok(())
    }
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
