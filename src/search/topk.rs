//! The exact k best sections of a query, without scoring all of them.
//!
//! Answers for the order of hits: by score, ties by a key that the caller knows (page id in UTF-16
//! order, then start line). Scores are summed in the order of the query's terms in `f64`, by
//! [`Scorer::term_score`], so they do not depend on how the sections were found: the pruned answer
//! equals the exhaustive one bit for bit (the tests below compare them).
//!
//! How it prunes: ids are cut into windows of [`WINDOW`]. The fronts of the sub-blocks bound what
//! each term can add in each window. Windows are visited by falling bound, which raises the
//! threshold early; the first window below the threshold ends the search. Inside a window the terms
//! are split as in MAXSCORE (Turtle and Flood 1995, with block-max bounds as in Ding and Suel
//! 2011): the lists that a hit cannot do without are summed up in an array, the others are only
//! asked about sections that can still reach the threshold. These sums are `f32`; they choose
//! candidates, with a margin above their rounding error, and never become scores.
//!
//! A [`Plan`] holds what does not depend on the other terms of a query, so that a server keeps it
//! between queries.

#![allow(
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    clippy::needless_range_loop,
    reason = "f32 sums only choose candidates; exact ties are what is asked for; arrays are walked side by side"
)]

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};

use super::bm25::Scorer;
use super::lengths::{LENGTH_BLOCK, Lengths};
use super::postings::{BlockBuffer, Posting, SUB_BLOCK, TermPostings};

/// Section ids of one window.
pub const WINDOW: usize = 1024;
const WINDOW_MASK: usize = WINDOW - 1;
const WINDOW_BITS: u32 = WINDOW.trailing_zeros();

/// Lists of at most this many sub-blocks are kept decoded. (Unit tests have small corpora.)
const FLAT_BLOCKS: usize = if cfg!(test) { 1 } else { 16 };
/// Asking a list about one section costs as much as summing up so many of its postings.
const ASKING_COSTS: usize = 10;
/// Queries with at most this many postings are merged without pruning.
const MERGE_POSTINGS: usize = if cfg!(test) { 64 } else { 512 };

/// Beyond this many section ids an array of sums for all of them is too much memory.
const SCATTER_SECTIONS: usize = 1 << 22;

thread_local! {
    /// Sums of [`Search::scatter`], all zero between queries.
    static SUMS: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// A section that answers a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Its id.
    pub section: u32,
    /// Its BM25 score.
    pub score: f64,
}

/// The length part of the formula, tabulated.
#[derive(Debug, Clone)]
pub struct Norms {
    scorer: Scorer,
    /// `weight / (weight + table[code])` is what [`Scorer::term_score`] multiplies with
    /// `idf * (k1 + 1)`, where `code` is length + 1. Infinite for code 0, which is no section. The
    /// last entry stands for all greater lengths: a bound, since shorter sections score higher.
    table: Box<[f32; NORMS]>,
    /// The entry of each section, in whole windows.
    sections: Vec<f32>,
}

const NORMS: usize = 4096;

impl Norms {
    /// The table for a scorer and the sections that it is to score.
    pub fn new(scorer: Scorer, lengths: &Lengths) -> Self {
        let mut table = Box::new([f32::INFINITY; NORMS]);
        let per_token = if scorer.avg > 0.0 {
            scorer.b / scorer.avg
        } else {
            0.0
        };
        for (length, slot) in table[1..].iter_mut().enumerate() {
            let norm = scorer.k1 * (1.0 - scorer.b + per_token * length as f64);
            *slot = (norm * f64::from(super::WEIGHT_UNIT)) as f32;
        }
        let windows = lengths.id_end().div_ceil(WINDOW);
        let mut sections = Vec::with_capacity(windows * WINDOW);
        for block in 0..windows * (WINDOW / LENGTH_BLOCK) {
            let codes = lengths.codes(block).iter();
            sections.extend(codes.map(|&code| table[usize::from(code).min(NORMS - 1)]));
        }
        Self {
            scorer,
            table,
            sections,
        }
    }

    /// The scorer that the table was made for.
    pub fn scorer(&self) -> &Scorer {
        &self.scorer
    }

    /// Infinite for what is no section.
    fn of_section(&self, section: u32) -> f32 {
        self.sections
            .get(section as usize)
            .copied()
            .unwrap_or(f32::INFINITY)
    }

    /// Those of a window.
    fn of_window(&self, window: usize) -> &[f32; WINDOW] {
        const NONE: &[f32; WINDOW] = &[f32::INFINITY; WINDOW];
        let start = window << WINDOW_BITS;
        self.sections
            .get(start..start + WINDOW)
            .and_then(|norms| norms.try_into().ok())
            .unwrap_or(NONE)
    }

    /// About how much memory this takes.
    pub fn memory(&self) -> usize {
        (NORMS + self.sections.capacity()) * size_of::<f32>()
    }

    fn of_length(&self, length: u32) -> f32 {
        self.table[(length as usize).saturating_add(1).min(NORMS - 1)]
    }
}

/// A weight as `f32`; beyond 2^31 the saturation of the formula is complete anyway.
#[expect(clippy::cast_possible_wrap, reason = "capped to the range of i32")]
fn weight_f32(weight: u32) -> f32 {
    // Through i32: conversion from u32 has no vector instruction in the baseline.
    (weight.min(i32::MAX as u32) as i32) as f32
}

/// `weight / (weight + norm)`: the share of its maximum that a term reaches.
fn saturation(weight: u32, norm: f32) -> f32 {
    let weight = weight_f32(weight);
    weight / (weight + norm)
}

/// Maximum of a list in one window.
#[derive(Debug, Clone, Copy)]
struct WindowMax {
    window: u32,
    start: u32,
    max: f32,
}

/// A list that is kept decoded.
#[derive(Debug, Clone, Default)]
struct Flat {
    sections: Vec<u32>,
    weights: Vec<u32>,
    saturations: Vec<f32>,
    windows: Vec<WindowMax>,
}

impl Flat {
    fn push(&mut self, posting: Posting, norms: &Norms) {
        let window = posting.section >> WINDOW_BITS;
        let saturation = saturation(posting.weight, norms.of_section(posting.section));
        let start = u32::try_from(self.sections.len()).unwrap_or(u32::MAX);
        match self.windows.last_mut() {
            Some(last) if last.window == window => last.max = last.max.max(saturation),
            _ => self.windows.push(WindowMax {
                window,
                start,
                max: saturation,
            }),
        }
        self.sections.push(posting.section);
        self.weights.push(posting.weight);
        self.saturations.push(saturation);
    }
}

/// A list that stays encoded.
#[derive(Debug, Clone)]
struct Packed {
    postings: Arc<TermPostings>,
    /// Greatest saturation of each sub-block, by its front.
    maxima: Vec<f32>,
    /// Sub-blocks by falling maximum, made when a query of one term asks.
    order: OnceLock<Vec<u32>>,
    /// Greatest saturation of each window.
    windows: Vec<f32>,
    /// First sub-block that reaches into each window, or beyond.
    starts: Vec<u32>,
}

impl Packed {
    fn new(postings: Arc<TermPostings>, norms: &Norms) -> Self {
        let blocks = postings.blocks();
        let mut maxima = Vec::with_capacity(blocks.len());
        let mut windows: Vec<f32> = Vec::new();
        let mut starts: Vec<u32> = Vec::new();
        for (at, block) in (0u32..).zip(blocks) {
            let max = postings
                .front(block)
                .iter()
                .map(|&(weight, length)| saturation(weight, norms.of_length(length)))
                .fold(0.0, f32::max);
            maxima.push(max);
            let first = (block.lowest() >> WINDOW_BITS) as usize;
            let last = (block.last >> WINDOW_BITS) as usize;
            if windows.len() <= last {
                windows.resize(last + 1, 0.0);
                starts.resize(last + 1, at);
            }
            for window in &mut windows[first..=last] {
                *window = window.max(max);
            }
        }
        Self {
            postings,
            maxima,
            order: OnceLock::new(),
            windows,
            starts,
        }
    }

    fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            let mut order: Vec<u32> = (0u32..).take(self.maxima.len()).collect();
            order.sort_unstable_by(|&a, &b| {
                self.maxima[b as usize].total_cmp(&self.maxima[a as usize])
            });
            order
        })
    }
}

/// One term of the index, prepared for queries against one state of the index.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    packed: Option<Packed>,
    flat: Vec<Flat>,
    postings: usize,
}

impl Plan {
    /// Prepares a term from its rows and from the postings that are not in rows yet (by rising
    /// section id). Both may hold postings of sections that have no length any more.
    pub fn new(rows: Option<Arc<TermPostings>>, recent: &[Posting], norms: &Norms) -> Self {
        let mut plan = Self::default();
        if let Some(rows) = rows {
            plan.postings += rows
                .blocks()
                .iter()
                .map(super::postings::BlockHead::len)
                .sum::<usize>();
            if rows.blocks().len() > FLAT_BLOCKS {
                plan.packed = Some(Packed::new(rows, norms));
            } else {
                let mut flat = Flat::default();
                let mut buffer = BlockBuffer::default();
                for at in 0..rows.blocks().len() {
                    let count = rows.decode_block(at, &mut buffer);
                    for (&section, &weight) in
                        buffer.sections.iter().zip(&buffer.weights).take(count)
                    {
                        flat.push(Posting { section, weight }, norms);
                    }
                }
                if !flat.sections.is_empty() {
                    plan.flat.push(flat);
                }
            }
        }
        if !recent.is_empty() {
            let mut flat = Flat::default();
            for &posting in recent {
                flat.push(posting, norms);
            }
            plan.postings += recent.len();
            plan.flat.push(flat);
        }
        plan
    }

    /// About how much memory this takes, without the encoded rows.
    pub fn memory(&self) -> usize {
        let flat: usize = self
            .flat
            .iter()
            .map(|flat| flat.sections.capacity() * 12 + flat.windows.capacity() * 12)
            .sum();
        let packed = self.packed.as_ref().map_or(0, |packed| {
            packed.maxima.capacity() * 8 + packed.windows.capacity() * 8
        });
        size_of::<Self>() + self.flat.len() * size_of::<Flat>() + flat + packed
    }
}

/// One term of a query.
#[derive(Debug, Clone, Copy)]
pub struct QueryTerm<'a> {
    /// Where it occurs.
    pub plan: &'a Plan,
    /// Its inverse document frequency.
    pub idf: f64,
    /// How often it counts.
    pub count: u32,
}

impl QueryTerm<'_> {
    /// Its share in the score of a section.
    fn score(&self, scorer: &Scorer, weight: u32, length: u32) -> f64 {
        scorer.term_score(self.idf, weight, length) * f64::from(self.count)
    }
}

/// The `k` best sections that `accept` agrees to, best first.
///
/// `accept` is asked at most once for a section, and only for those whose score could bring them
/// into the answer; `tie` is asked only for sections whose scores are exactly equal and whose order
/// matters.
///
/// # Errors
/// Those of the two callbacks.
pub fn top_k<T: Ord, E>(
    terms: &[QueryTerm<'_>],
    lengths: &Lengths,
    norms: &Norms,
    k: usize,
    accept: &mut dyn FnMut(u32) -> Result<bool, E>,
    tie: &mut dyn FnMut(u32) -> Result<T, E>,
) -> Result<Vec<Hit>, E> {
    if k == 0 {
        return Ok(Vec::new());
    }
    let mut search = Search {
        terms,
        lengths,
        norms,
        best: Best::new(k),
        accept,
        margin: 0.0,
    };
    let lists: usize = terms.iter().map(|term| term.plan.flat.len() + 1).sum();
    // Each operation on f32 errs by 2^-24 at most; a score takes a handful and a sum one a list.
    search.margin = 1.0 - (2e-6 + 2e-7 * lists as f32);
    let postings: usize = terms.iter().map(|term| term.plan.postings).sum();
    if let [term] = terms {
        search.one_term(term)?;
    } else if terms.iter().any(|term| term.plan.packed.is_some()) {
        search.windows()?;
    } else if postings <= MERGE_POSTINGS {
        search.merge()?;
    } else if norms.sections.len() <= SCATTER_SECTIONS {
        search.scatter()?;
    } else {
        search.windows()?;
    }
    let Search { best, accept, .. } = search;
    best.finish(accept, tie)
}

/// The best so far, and what ties with the worst of them.
struct Best {
    k: usize,
    heap: BinaryHeap<Reverse<Scored>>,
    /// Sections that score exactly like the worst of a full heap; whether they were accepted.
    tied: Vec<(u32, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Scored(f64, u32);

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Scored {}
impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Best {
    fn new(k: usize) -> Self {
        Self {
            k,
            heap: BinaryHeap::new(),
            tied: Vec::new(),
        }
    }

    /// Score of the worst of a full heap.
    fn threshold(&self) -> Option<f64> {
        if self.heap.len() < self.k {
            return None;
        }
        self.heap.peek().map(|Reverse(worst)| worst.0)
    }

    fn offer<E>(
        &mut self,
        section: u32,
        score: f64,
        accept: &mut dyn FnMut(u32) -> Result<bool, E>,
    ) -> Result<(), E> {
        match self.threshold() {
            None => {
                if accept(section)? {
                    self.heap.push(Reverse(Scored(score, section)));
                }
            }
            Some(threshold) if score > threshold => {
                if accept(section)? {
                    self.heap.push(Reverse(Scored(score, section)));
                    if let Some(Reverse(out)) = self.heap.pop() {
                        if self.threshold() == Some(out.0) {
                            self.tied.push((out.1, true));
                        } else {
                            self.tied.clear();
                        }
                    }
                }
            }
            // Whether it is in is decided once it is known how much room there is.
            Some(threshold) if score == threshold => self.tied.push((section, false)),
            Some(_) => {}
        }
        Ok(())
    }

    fn finish<T: Ord, E>(
        self,
        accept: &mut dyn FnMut(u32) -> Result<bool, E>,
        tie: &mut dyn FnMut(u32) -> Result<T, E>,
    ) -> Result<Vec<Hit>, E> {
        let mut hits: Vec<Hit> = self
            .heap
            .into_iter()
            .map(|Reverse(Scored(score, section))| Hit { section, score })
            .collect();
        hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        let mut sorted = Vec::with_capacity(hits.len());
        for group in hits.chunk_by(|a, b| a.score == b.score) {
            let last = sorted.len() + group.len() == hits.len();
            if group.len() == 1 && (!last || self.tied.is_empty()) {
                sorted.extend_from_slice(group);
                continue;
            }
            let mut keyed = Vec::with_capacity(group.len());
            for hit in group {
                keyed.push((tie(hit.section)?, hit.section, true));
            }
            if last {
                for &(section, accepted) in &self.tied {
                    keyed.push((tie(section)?, section, accepted));
                }
            }
            keyed.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
            for (_, section, accepted) in keyed {
                if sorted.len() == self.k || (!last && sorted.len() == hits.len()) {
                    break;
                }
                if accepted || accept(section)? {
                    sorted.push(Hit {
                        section,
                        score: group[0].score,
                    });
                }
            }
        }
        Ok(sorted)
    }
}

struct Search<'a, 'c, E> {
    terms: &'a [QueryTerm<'a>],
    lengths: &'a Lengths,
    norms: &'a Norms,
    best: Best,
    accept: &'c mut dyn FnMut(u32) -> Result<bool, E>,
    margin: f32,
}

/// One list of a query: a term may have two, of rows and of recent postings.
struct List<'a> {
    term: usize,
    scale: f32,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Flat(&'a Flat),
    Packed {
        packed: &'a Packed,
        buffer: Box<BlockBuffer>,
        decoded: usize,
        weighted: bool,
    },
}

/// A list inside the window at hand.
#[derive(Debug, Clone, Copy)]
struct Active {
    list: usize,
    start: usize,
    bound: f32,
}

impl<'a, E> Search<'a, '_, E> {
    fn scale(&self, term: &QueryTerm<'_>) -> f32 {
        (term.idf * f64::from(term.count) * (self.norms.scorer.k1 + 1.0)) as f32
    }

    /// What a sum must reach to be looked at: just below the threshold.
    fn bar(&self) -> f32 {
        self.best
            .threshold()
            .map_or(f32::NEG_INFINITY, |score| score as f32 * self.margin)
    }

    fn offer(&mut self, section: u32, score: f64) -> Result<(), E> {
        self.best.offer(section, score, self.accept)
    }

    fn one_term(&mut self, term: &QueryTerm<'_>) -> Result<(), E> {
        let scale = self.scale(term);
        for flat in &term.plan.flat {
            let mut bar = self.bar();
            for (at, &saturation) in flat.saturations.iter().enumerate() {
                let sum = saturation * scale;
                if sum > 0.0 && sum >= bar {
                    self.offer_one(term, flat.sections[at], flat.weights[at])?;
                    bar = self.bar();
                }
            }
        }
        let Some(packed) = &term.plan.packed else {
            return Ok(());
        };
        let mut buffer = BlockBuffer::default();
        let mut saturations = [0f32; SUB_BLOCK];
        for &at in packed.order() {
            let at = at as usize;
            let mut bar = self.bar();
            if packed.maxima[at] * scale < bar {
                break;
            }
            let count = packed.postings.decode_block(at, &mut buffer);
            self.saturations(&buffer, &mut saturations);
            for place in 0..count {
                let sum = saturations[place] * scale;
                if sum > 0.0 && sum >= bar {
                    self.offer_one(term, buffer.sections[place], buffer.weights[place])?;
                    bar = self.bar();
                }
            }
        }
        Ok(())
    }

    fn offer_one(&mut self, term: &QueryTerm<'_>, section: u32, weight: u32) -> Result<(), E> {
        match self.lengths.get(section) {
            Some(length) => {
                // A sum of one, as `exact` makes it.
                let score = 0.0 + term.score(&self.norms.scorer, weight, length);
                self.offer(section, score)
            }
            None => Ok(()),
        }
    }

    /// Saturations of a decoded sub-block, whatever windows it spans.
    fn saturations(&self, buffer: &BlockBuffer, out: &mut [f32; SUB_BLOCK]) {
        for (slot, &section) in out.iter_mut().zip(&buffer.sections) {
            *slot = self.norms.of_section(section);
        }
        for (slot, &weight) in out.iter_mut().zip(&buffer.weights) {
            *slot = saturation(weight, *slot);
        }
    }

    /// Scores every posting of short lists.
    fn merge(&mut self) -> Result<(), E> {
        let mut cursors: Vec<(usize, &Flat, usize)> = Vec::new();
        for (at, term) in self.terms.iter().enumerate() {
            cursors.extend(term.plan.flat.iter().map(|flat| (at, flat, 0)));
        }
        loop {
            let mut section = u32::MAX;
            for (_, flat, place) in &cursors {
                section = section.min(flat.sections.get(*place).copied().unwrap_or(u32::MAX));
            }
            if section == u32::MAX {
                return Ok(());
            }
            let length = self.lengths.get(section);
            let mut score = 0.0;
            for (term, flat, place) in &mut cursors {
                if flat.sections.get(*place) == Some(&section) {
                    if let Some(length) = length {
                        let weight = flat.weights[*place];
                        score += self.terms[*term].score(&self.norms.scorer, weight, length);
                    }
                    *place += 1;
                }
            }
            if length.is_some() {
                self.offer(section, score)?;
            }
        }
    }

    /// Sums up short lists in one array for all sections, then looks at each sum once.
    fn scatter(&mut self) -> Result<(), E> {
        // Taken out, so that a failing callback leaves no sums behind.
        let mut sums = SUMS.take();
        if sums.len() < self.norms.sections.len() {
            sums.resize(self.norms.sections.len(), 0.0);
        }
        let mut flats: Vec<(usize, f32, &Flat)> = Vec::new();
        for (at, term) in self.terms.iter().enumerate() {
            let scale = self.scale(term);
            flats.extend(term.plan.flat.iter().map(|flat| (at, scale, flat)));
        }
        for (_, scale, flat) in &flats {
            for (&section, &saturation) in flat.sections.iter().zip(&flat.saturations) {
                if let Some(sum) = sums.get_mut(section as usize) {
                    *sum += saturation * scale;
                }
            }
        }
        let mut bar = self.bar();
        for (_, _, flat) in &flats {
            for &section in &flat.sections {
                let Some(sum) = sums.get_mut(section as usize) else {
                    continue;
                };
                let sum = std::mem::take(sum);
                if sum > 0.0 && sum >= bar {
                    self.offer_flat(section, &flats)?;
                    bar = self.bar();
                }
            }
        }
        SUMS.set(sums);
        Ok(())
    }

    fn offer_flat(&mut self, section: u32, flats: &[(usize, f32, &Flat)]) -> Result<(), E> {
        let Some(length) = self.lengths.get(section) else {
            return Ok(());
        };
        let mut score = 0.0;
        for (term, _, flat) in flats {
            if let Ok(at) = flat.sections.binary_search(&section) {
                score += self.terms[*term].score(&self.norms.scorer, flat.weights[at], length);
            }
        }
        self.offer(section, score)
    }

    fn windows(&mut self) -> Result<(), E> {
        let mut lists: Vec<List<'a>> = Vec::new();
        let windows = self.norms.sections.len() / WINDOW;
        let mut sums = vec![0f32; windows];
        for (at, term) in self.terms.iter().enumerate() {
            let scale = self.scale(term);
            if let Some(packed) = &term.plan.packed {
                for (sum, &max) in sums.iter_mut().zip(&packed.windows) {
                    *sum += max * scale;
                }
                let buffer = Box::default();
                let kind = Kind::Packed {
                    packed,
                    buffer,
                    decoded: usize::MAX,
                    weighted: false,
                };
                lists.push(List {
                    term: at,
                    scale,
                    kind,
                });
            }
            for flat in &term.plan.flat {
                for window in &flat.windows {
                    if let Some(sum) = sums.get_mut(window.window as usize) {
                        *sum += window.max * scale;
                    }
                }
                lists.push(List {
                    term: at,
                    scale,
                    kind: Kind::Flat(flat),
                });
            }
        }
        let mut queue: BinaryHeap<Scored> = (0u32..)
            .zip(&sums)
            .filter(|&(_, &sum)| sum > 0.0)
            .map(|(window, &sum)| Scored(f64::from(sum), window))
            .collect();
        let mut work = Work::default();
        while let Some(Scored(sum, window)) = queue.pop() {
            if (sum as f32) < self.bar() {
                break;
            }
            self.window(window as usize, &mut lists, &mut work)?;
        }
        Ok(())
    }

    fn window(&mut self, window: usize, lists: &mut [List<'a>], work: &mut Work) -> Result<(), E> {
        work.active.clear();
        for (at, list) in lists.iter().enumerate() {
            if let Some((start, max)) = list.enter(window) {
                work.active.push(Active {
                    list: at,
                    start,
                    bound: max * list.scale,
                });
            }
        }
        work.active
            .sort_unstable_by(|a, b| b.bound.total_cmp(&a.bound));
        // rest[i]: the most that the lists from i on can add.
        work.rest.clear();
        work.rest.resize(work.active.len() + 1, 0.0);
        for at in (0..work.active.len()).rev() {
            work.rest[at] = work.rest[at + 1] + work.active[at].bound;
        }
        let bar = self.bar();
        let needed = work
            .rest
            .iter()
            .take_while(|&&rest| rest >= bar && rest > 0.0)
            .count();
        let norms = self.norms.of_window(window);
        match needed {
            0 => Ok(()),
            1 => {
                self.one_list(window, norms, lists, work);
                self.complete(window, norms, 1, lists, work)
            }
            _ => {
                let summed = self.many_lists(window, norms, needed, lists, work);
                self.complete(window, norms, summed, lists, work)
            }
        }
    }

    /// Candidates of a window in which each hit must hold one of the first `needed` lists; answers
    /// how many lists their sums cover.
    fn many_lists(
        &self,
        window: usize,
        norms: &[f32; WINDOW],
        needed: usize,
        lists: &mut [List<'a>],
        work: &mut Work,
    ) -> usize {
        let bar = self.bar();
        work.sums.fill(0.0);
        work.candidates.clear();
        let mut summed = 0;
        while let Some(&active) = work.active.get(summed) {
            let list = &mut lists[active.list];
            if summed >= needed {
                // Ask this list about each candidate, or sum it up whole?
                let open = (bar - work.rest[summed]).max(f32::MIN_POSITIVE);
                let candidates: u32 = work.sums.iter().map(|&sum| u32::from(sum >= open)).sum();
                if candidates == 0 {
                    return summed;
                }
                let asking = candidates as usize * ASKING_COSTS;
                if asking < list.postings_in(window, active.start) {
                    break;
                }
            }
            let others = work.rest[0] - active.bound;
            list.add(window, active.start, bar - others, norms, &mut work.sums);
            summed += 1;
        }
        let base = (window << WINDOW_BITS) as u32;
        pick(&work.sums[..], bar - work.rest[summed], |place, sum| {
            work.candidates.push((base + place as u32, sum));
        });
        summed
    }

    /// Candidates of a window in which each hit must hold the first active list.
    fn one_list(&self, window: usize, norms: &[f32; WINDOW], lists: &[List<'a>], work: &mut Work) {
        let active = work.active[0];
        let bar = self.bar() - work.rest[1];
        let scale = lists[active.list].scale;
        let candidates = &mut work.candidates;
        candidates.clear();
        match lists[active.list].kind {
            Kind::Flat(flat) => {
                for at in active.start..flat.sections.len() {
                    let section = flat.sections[at];
                    if (section >> WINDOW_BITS) as usize != window {
                        break;
                    }
                    let sum = flat.saturations[at] * scale;
                    if sum > 0.0 && sum >= bar {
                        candidates.push((section, sum));
                    }
                }
            }
            Kind::Packed { packed, .. } => {
                let mut buffer = BlockBuffer::default();
                let mut sums = [0f32; SUB_BLOCK];
                for at in active.start..packed.maxima.len() {
                    if (packed.postings.blocks()[at].lowest() >> WINDOW_BITS) as usize > window {
                        break;
                    }
                    if packed.maxima[at] * scale < bar {
                        continue;
                    }
                    let count = packed.postings.decode_block(at, &mut buffer);
                    window_saturations(&buffer, norms, &mut sums);
                    for sum in &mut sums {
                        *sum *= scale;
                    }
                    let inside = in_window(&buffer.sections[..count], window);
                    let start = inside.start;
                    pick(&sums[inside], bar, |place, sum| {
                        candidates.push((buffer.sections[start + place], sum));
                    });
                }
            }
        }
    }

    /// Completes the sums of the candidates with the lists from `next` on, and scores those that
    /// still reach the threshold.
    fn complete(
        &mut self,
        window: usize,
        norms: &[f32; WINDOW],
        next: usize,
        lists: &mut [List<'a>],
        work: &mut Work,
    ) -> Result<(), E> {
        let bar = self.bar();
        for at in next..work.active.len() {
            let open = bar - work.rest[at];
            work.candidates.retain(|&(_, sum)| sum >= open);
            let active = work.active[at];
            let list = &mut lists[active.list];
            if work.candidates.is_empty() {
                return Ok(());
            }
            // Ask this list about each candidate, or sum it up whole?
            if work.candidates.len() * ASKING_COSTS < list.postings_in(window, active.start) {
                for (section, sum) in &mut work.candidates {
                    let weight = list.weight(*section, active.start);
                    if weight > 0 {
                        let norm = norms[*section as usize & WINDOW_MASK];
                        *sum += saturation(weight, norm) * list.scale;
                    }
                }
            } else {
                work.sums.fill(0.0);
                let others = work.rest[0] - active.bound;
                list.add(window, active.start, bar - others, norms, &mut work.sums);
                for (section, sum) in &mut work.candidates {
                    *sum += work.sums[*section as usize & WINDOW_MASK];
                }
            }
        }
        for at in 0..work.candidates.len() {
            let (section, sum) = work.candidates[at];
            if sum >= self.bar() {
                self.score(section, lists, work)?;
            }
        }
        Ok(())
    }

    /// Offers a section with its exact score.
    fn score(&mut self, section: u32, lists: &mut [List<'a>], work: &mut Work) -> Result<(), E> {
        let Some(length) = self.lengths.get(section) else {
            return Ok(());
        };
        work.weights.clear();
        work.weights.resize(self.terms.len(), 0);
        for active in &work.active {
            let list = &mut lists[active.list];
            if work.weights[list.term] == 0 {
                work.weights[list.term] = list.weight(section, active.start);
            }
        }
        let mut score = 0.0;
        for (term, &weight) in self.terms.iter().zip(&work.weights) {
            if weight > 0 {
                score += term.score(&self.norms.scorer, weight, length);
            }
        }
        self.offer(section, score)
    }
}

/// Calls `found` with the place of each sum that is positive and reaches `bar`.
fn pick(sums: &[f32], bar: f32, mut found: impl FnMut(usize, f32)) {
    let bar = bar.max(f32::MIN_POSITIVE);
    for (at, chunk) in sums.chunks(16).enumerate() {
        if chunk.iter().fold(0.0f32, |max, &sum| max.max(sum)) < bar {
            continue;
        }
        for (place, &sum) in chunk.iter().enumerate() {
            if sum >= bar {
                found(at * 16 + place, sum);
            }
        }
    }
}

/// Room that is used again from window to window.
struct Work {
    active: Vec<Active>,
    rest: Vec<f32>,
    candidates: Vec<(u32, f32)>,
    weights: Vec<u32>,
    sums: Box<[f32; WINDOW]>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            active: Vec::new(),
            rest: Vec::new(),
            candidates: Vec::new(),
            weights: Vec::new(),
            sums: Box::new([0.0; WINDOW]),
        }
    }
}

impl List<'_> {
    /// Where the list enters a window, and its greatest saturation there.
    fn enter(&self, window: usize) -> Option<(usize, f32)> {
        let (start, max) = match &self.kind {
            Kind::Flat(flat) => {
                let at = flat
                    .windows
                    .binary_search_by_key(&window, |entry| entry.window as usize)
                    .ok()?;
                (flat.windows[at].start, flat.windows[at].max)
            }
            Kind::Packed { packed, .. } => {
                (*packed.starts.get(window)?, *packed.windows.get(window)?)
            }
        };
        (max > 0.0).then_some((start as usize, max))
    }

    /// About how many postings the list has in a window.
    fn postings_in(&self, window: usize, start: usize) -> usize {
        match &self.kind {
            Kind::Flat(flat) => {
                let next = flat
                    .windows
                    .partition_point(|entry| entry.window as usize <= window);
                let end = flat
                    .windows
                    .get(next)
                    .map_or(flat.sections.len(), |w| w.start as usize);
                end - start
            }
            Kind::Packed { packed, .. } => {
                let next = packed.starts.get(window + 1);
                let end = next.map_or(packed.maxima.len(), |&start| start as usize + 1);
                (end - start) * SUB_BLOCK
            }
        }
    }

    /// Adds what the list gives to each section of a window, leaving out sub-blocks that cannot
    /// reach `bar`.
    fn add(
        &mut self,
        window: usize,
        start: usize,
        bar: f32,
        norms: &[f32; WINDOW],
        sums: &mut [f32; WINDOW],
    ) {
        let scale = self.scale;
        match &mut self.kind {
            Kind::Flat(flat) => {
                let sections = &flat.sections[start..];
                for (&section, &saturation) in sections.iter().zip(&flat.saturations[start..]) {
                    if (section >> WINDOW_BITS) as usize != window {
                        break;
                    }
                    sums[section as usize & WINDOW_MASK] += saturation * scale;
                }
            }
            Kind::Packed {
                packed,
                buffer,
                decoded,
                weighted,
            } => {
                let mut saturations = [0f32; SUB_BLOCK];
                let blocks = packed.postings.blocks();
                for at in start..blocks.len() {
                    if (blocks[at].lowest() >> WINDOW_BITS) as usize > window {
                        break;
                    }
                    if packed.maxima[at] * scale < bar {
                        continue;
                    }
                    let count = packed.postings.decode_block(at, buffer);
                    *decoded = at;
                    *weighted = true;
                    window_saturations(buffer, norms, &mut saturations);
                    for place in in_window(&buffer.sections[..count], window) {
                        sums[buffer.sections[place] as usize & WINDOW_MASK] +=
                            saturations[place] * scale;
                    }
                }
            }
        }
    }

    /// The weight of the term in a section, 0 if it is not there. `start`: where the list enters
    /// the section's window.
    fn weight(&mut self, section: u32, start: usize) -> u32 {
        match &mut self.kind {
            Kind::Flat(flat) => {
                let sections = &flat.sections[start..];
                let end = sections.len().min(WINDOW);
                match sections[..end].binary_search(&section) {
                    Ok(at) => flat.weights[start + at],
                    Err(_) => 0,
                }
            }
            Kind::Packed {
                packed,
                buffer,
                decoded,
                weighted,
            } => {
                let blocks = packed.postings.blocks();
                let Some(at) = (start..blocks.len()).find(|&at| blocks[at].last >= section) else {
                    return 0;
                };
                if blocks[at].lowest() > section {
                    return 0;
                }
                if *decoded != at {
                    packed.postings.decode_sections(at, &mut buffer.sections);
                    *decoded = at;
                    *weighted = false;
                }
                match buffer.sections[..blocks[at].len()].binary_search(&section) {
                    Ok(place) => {
                        if !*weighted {
                            packed.postings.decode_weights(at, &mut buffer.weights);
                            *weighted = true;
                        }
                        buffer.weights[place]
                    }
                    Err(_) => 0,
                }
            }
        }
    }
}

/// Saturations of a decoded sub-block; only those of sections in the window of the norms mean anything.
fn window_saturations(buffer: &BlockBuffer, norms: &[f32; WINDOW], out: &mut [f32; SUB_BLOCK]) {
    for (slot, &section) in out.iter_mut().zip(&buffer.sections) {
        *slot = norms[section as usize & WINDOW_MASK];
    }
    for (slot, &weight) in out.iter_mut().zip(&buffer.weights) {
        *slot = saturation(weight, *slot);
    }
}

/// The places of the sections that lie in a window.
fn in_window(sections: &[u32], window: usize) -> std::ops::Range<usize> {
    let inside = |section: Option<&u32>| {
        section.is_some_and(|&section| (section >> WINDOW_BITS) as usize == window)
    };
    let start = if inside(sections.first()) {
        0
    } else {
        sections.partition_point(|&section| ((section >> WINDOW_BITS) as usize) < window)
    };
    let end = if inside(sections.last()) {
        sections.len()
    } else {
        sections.partition_point(|&section| ((section >> WINDOW_BITS) as usize) <= window)
    };
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::super::Analysis;
    use super::super::bm25::idf;
    use super::super::postings::{ROW_POSTINGS, Row};
    use super::*;

    /// A corpus: lengths by section, and for each term its postings; some in rows, the rest recent.
    #[derive(Debug, Clone)]
    struct Corpus {
        lengths: BTreeMap<u32, u32>,
        terms: Vec<BTreeMap<u32, u32>>,
        dead: Vec<u32>,
        cut: u32,
    }

    impl Corpus {
        fn lengths(&self) -> Lengths {
            let mut lengths = Lengths::default();
            for (&section, &length) in &self.lengths {
                lengths.set(section, Some(length));
            }
            for &section in &self.dead {
                lengths.set(section, None);
            }
            lengths
        }

        fn plans(&self, norms: &Norms) -> Vec<Plan> {
            self.terms
                .iter()
                .map(|postings| {
                    let mut rows = TermPostings::default();
                    let in_rows: Vec<(u32, u32)> =
                        postings.range(..self.cut).map(|(&s, &w)| (s, w)).collect();
                    for part in in_rows.chunks(ROW_POSTINGS) {
                        let mut row = Row::default();
                        for &(section, weight) in part {
                            row.push(Posting { section, weight }, self.lengths[&section]);
                        }
                        let mut bytes = Vec::new();
                        row.encode(&mut bytes);
                        rows.push_row(&bytes).unwrap();
                    }
                    let recent: Vec<Posting> = postings
                        .range(self.cut..)
                        .map(|(&section, &weight)| Posting { section, weight })
                        .collect();
                    let rows = (!in_rows.is_empty()).then(|| Arc::new(rows));
                    Plan::new(rows, &recent, norms)
                })
                .collect()
        }

        fn exhaustive(
            &self,
            query: &[(usize, f64, u32)],
            lengths: &Lengths,
            scorer: &Scorer,
            k: usize,
            accept: impl Fn(u32) -> bool,
            tie: impl Fn(u32) -> u32,
        ) -> Vec<Hit> {
            let mut hits = Vec::new();
            for (section, length) in lengths.iter() {
                let mut score = 0.0;
                let mut found = false;
                for &(term, idf, count) in query {
                    if let Some(&weight) = self.terms[term].get(&section) {
                        score += scorer.term_score(idf, weight, length) * f64::from(count);
                        found = true;
                    }
                }
                if found && accept(section) {
                    hits.push(Hit { section, score });
                }
            }
            hits.sort_by(|a, b| {
                b.score
                    .total_cmp(&a.score)
                    .then(tie(a.section).cmp(&tie(b.section)))
            });
            hits.truncate(k);
            hits
        }
    }

    /// Sections are drawn from few shapes, so that exact ties abound, or from many, so that a
    /// window may have one candidate alone.
    fn corpus() -> impl Strategy<Value = Corpus> {
        (
            prop_oneof![1u32..200, 1u32..6000],
            1u32..6,
            prop_oneof![Just(1u32), Just(3), Just(40), Just(900)],
            proptest::collection::vec((1u32..60, prop_oneof![0u32..4, 20u32..200]), 1..9),
            any::<u64>(),
            0u32..3,
        )
            .prop_map(|(sections, step, shapes, terms, seed, dead)| {
                let mut state = seed | 1;
                let mut draw = move |below: u32| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 11) as u32 % below
                };
                let ids: Vec<u32> = (0..sections).map(|at| at * step + draw(step)).collect();
                let lengths: BTreeMap<u32, u32> = ids
                    .iter()
                    .map(|&id| {
                        let long = if draw(97) == 0 {
                            5000 + draw(90_000)
                        } else {
                            0
                        };
                        (id, 3 + draw(shapes) * 7 + long)
                    })
                    .collect();
                let terms = terms
                    .into_iter()
                    .map(|(rarity, spread)| {
                        let mut postings = BTreeMap::new();
                        for &id in &ids {
                            if draw(rarity) == 0 {
                                postings.insert(id, 2 + draw(spread + 1));
                            }
                        }
                        postings
                    })
                    .collect();
                let dead = ids
                    .iter()
                    .copied()
                    .filter(|_| dead > 0 && draw(5) == 0)
                    .collect();
                let cut = sections * step / 4 * (1 + draw(4));
                Corpus {
                    lengths,
                    terms,
                    dead,
                    cut,
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn the_pruned_answer_is_the_exhaustive_one_bit_for_bit(
            corpus in corpus(),
            order in proptest::collection::vec((any::<prop::sample::Index>(), 1u32..3), 1..9),
            k in prop_oneof![Just(1usize), Just(10), Just(100)],
            filter in 0u32..4,
            shuffle in any::<u32>(),
        ) {
            let lengths = corpus.lengths();
            let live: Vec<(u32, u32)> = lengths.iter().collect();
            let total: u64 = live.iter().map(|&(_, length)| u64::from(length)).sum();
            let scorer = Scorer::new(Analysis::Standard, total as f64 / live.len().max(1) as f64);
            let norms = Norms::new(scorer, &lengths);
            let plans = corpus.plans(&norms);
            let mut query: Vec<(usize, f64, u32)> = Vec::new();
            for (term, count) in order {
                let term = term.index(corpus.terms.len());
                if query.iter().all(|&(known, ..)| known != term) {
                    let df = corpus.terms[term].keys().filter(|&&s| lengths.get(s).is_some());
                    query.push((term, idf(live.len() as u64, df.count() as u64), count));
                }
            }
            let terms: Vec<QueryTerm<'_>> = query
                .iter()
                .map(|&(term, idf, count)| QueryTerm { plan: &plans[term], idf, count })
                .collect();
            let accept = |section: u32| filter == 0 || !section.is_multiple_of(filter + 1);
            let tie = |section: u32| section.wrapping_mul(shuffle | 1);
            let expected = corpus.exhaustive(&query, &lengths, &scorer, k, accept, tie);
            let mut asked = std::collections::BTreeSet::new();
            let found = top_k::<u32, Infallible>(
                &terms,
                &lengths,
                &norms,
                k,
                &mut |section| {
                    assert!(asked.insert(section), "{section} was asked about twice");
                    Ok(accept(section))
                },
                &mut |section| Ok(tie(section)),
            )
            .unwrap();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn no_term_and_no_room_find_nothing() {
        let lengths = Lengths::default();
        let norms = Norms::new(Scorer::new(Analysis::Standard, 0.0), &lengths);
        let plan = Plan::default();
        let term = QueryTerm {
            plan: &plan,
            idf: 1.0,
            count: 1,
        };
        let ask = |terms: &[QueryTerm<'_>], k| {
            top_k::<u32, Infallible>(terms, &lengths, &norms, k, &mut |_| Ok(true), &mut Ok)
        };
        assert_eq!(ask(&[], 10), Ok(vec![]));
        assert_eq!(ask(&[term], 10), Ok(vec![]));
        assert_eq!(ask(&[term, term], 10), Ok(vec![]));
        assert_eq!(ask(&[term], 0), Ok(vec![]));
    }
}
