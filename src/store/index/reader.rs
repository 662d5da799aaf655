//! Searching one state of the index, and what is kept between searches.
//!
//! An [`IndexCache`] belongs to one store handle and one set. It keeps parsed delta rows, section
//! lengths, the rows of terms and their plans, each under the state that it was read in: a write
//! costs the next search one delta row, not the cache. A reader of an older state than the cache's
//! works without it.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::error::{StoreError, guard};
use super::super::snapshot::View;
use super::delta::{self, DeltaRow};
use super::terms::{self, term_key};
use super::{IndexSet, RowKey, State, lengths, postings};
use crate::search::Analysis;
use crate::search::bm25::{self, Scorer};
use crate::search::lengths::Lengths;
use crate::search::postings::{BlockBuffer, Posting, TermPostings};
use crate::search::topk::{Hit, Norms, Plan, QueryTerm, top_k};

/// Memory for encoded rows, and for plans made of them.
const ROWS_BUDGET: usize = 96 << 20;
const PLANS_BUDGET: usize = 32 << 20;

/// What ties are broken by: page id in UTF-16 order, then start line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TieKey {
    /// Page id.
    pub page: String,
    /// First line of the section.
    pub line: u32,
}

impl PartialOrd for TieKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TieKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.page
            .encode_utf16()
            .cmp(other.page.encode_utf16())
            .then(self.line.cmp(&other.line))
    }
}

/// What a long-lived store handle keeps of one index. Bounded: least recently used terms go first.
#[derive(Debug, Default)]
pub struct IndexCache {
    inner: Mutex<Cached>,
}

#[derive(Debug, Default)]
struct Cached {
    generation: u64,
    sequence: u64,
    deltas: BTreeMap<RowKey, Arc<DeltaRow>>,
    lengths: Option<Arc<Lengths>>,
    norms: Option<Arc<Norms>>,
    rows: Recent<TermRowsAt>,
    plans: Recent<Arc<Planned>>,
}

/// The rows of a term when they held all writes up to one; none for an unknown term.
#[derive(Debug, Clone)]
struct TermRowsAt {
    folded: u64,
    rows: Option<Arc<TermPostings>>,
}

#[derive(Debug)]
struct Planned {
    document_frequency: u64,
    plan: Plan,
}

/// A map that forgets: when the young half is full, it becomes the old half, and the old is gone.
#[derive(Debug)]
struct Recent<T> {
    young: HashMap<Box<[u8]>, (T, usize)>,
    old: HashMap<Box<[u8]>, (T, usize)>,
    size: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            size: 0,
        }
    }
}

impl<T: Clone> Recent<T> {
    fn get(&mut self, key: &[u8], budget: usize) -> Option<T> {
        if let Some((value, _)) = self.young.get(key) {
            return Some(value.clone());
        }
        let (key, (value, size)) = self.old.remove_entry(key)?;
        self.put(key, value.clone(), size, budget);
        Some(value)
    }

    fn put(&mut self, key: Box<[u8]>, value: T, size: usize, budget: usize) {
        let size = size + key.len() + 64;
        if self.size + size > budget / 2 {
            self.old = std::mem::take(&mut self.young);
            self.size = 0;
        }
        self.size += size;
        if let Some((_, replaced)) = self.young.insert(key, (value, size)) {
            self.size = self.size.saturating_sub(replaced);
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}

impl IndexCache {
    fn lock(&self) -> MutexGuard<'_, Cached> {
        // What a panic left behind is complete: entries are replaced whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The index in one state.
#[derive(Debug)]
pub struct IndexReader<'a> {
    view: &'a View,
    set: IndexSet,
    state: State,
    deltas: Vec<(RowKey, Arc<DeltaRow>)>,
    lengths: Arc<Lengths>,
    norms: Arc<Norms>,
    shared: &'a IndexCache,
    /// In place of `shared` for an old state.
    own: Option<IndexCache>,
}

impl<'a> IndexReader<'a> {
    /// Opens the index of a view. Reads the state and what the cache lacks: at first the lengths
    /// of all sections, later the delta rows of new writes.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn open(
        view: &'a View,
        set: IndexSet,
        analysis: Analysis,
        cache: &'a IndexCache,
    ) -> Result<Self, StoreError> {
        let nothing = || Arc::new(Norms::new(Scorer::new(analysis, 0.0), &Lengths::default()));
        guard(|| {
            let Some(delta) = view.rows(set.delta())? else {
                return Ok(Self {
                    view,
                    set,
                    state: State::default(),
                    deltas: Vec::new(),
                    lengths: Arc::default(),
                    norms: nothing(),
                    shared: cache,
                    own: Some(IndexCache::default()),
                });
            };
            let state = State::read(set, &delta)?;
            let own = {
                let cached = cache.lock();
                let newer = (cached.generation, cached.sequence);
                (newer > (state.generation, state.sequence)).then(IndexCache::default)
            };
            let mut cached = own.as_ref().unwrap_or(cache).lock();
            cached.advance(view, set, analysis, &delta, &state)?;
            let deltas = cached
                .deltas
                .iter()
                .map(|(&at, row)| (at, Arc::clone(row)))
                .collect();
            let (lengths, norms) = (cached.lengths.clone(), cached.norms.clone());
            drop(cached);
            Ok(Self {
                view,
                set,
                state,
                deltas,
                lengths: lengths.unwrap_or_default(),
                norms: norms.unwrap_or_else(nothing),
                shared: cache,
                own,
            })
        })
    }

    fn cache(&self) -> &IndexCache {
        self.own.as_ref().unwrap_or(self.shared)
    }

    /// The cache, unless another reader has moved it to a newer state meanwhile.
    fn cached(&self) -> Option<MutexGuard<'_, Cached>> {
        let cached = self.cache().lock();
        let same =
            (cached.generation, cached.sequence) == (self.state.generation, self.state.sequence);
        same.then_some(cached)
    }

    /// Number of sections.
    pub fn document_count(&self) -> u64 {
        self.state.sections
    }

    /// Average length of a section in tokens; 0 without sections.
    pub fn average_length(&self) -> f64 {
        self.state.average_length()
    }

    /// The scorer of this state.
    pub fn scorer(&self) -> Scorer {
        *self.norms.scorer()
    }

    /// Length of a section in tokens, if it is indexed.
    pub fn length(&self, section: u32) -> Option<u32> {
        self.lengths.get(section)
    }

    /// Number of sections that hold a term.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn document_frequency(&self, term: &str) -> Result<u64, StoreError> {
        self.frequency(&term_key(term.as_bytes()))
    }

    fn frequency(&self, term: &[u8]) -> Result<u64, StoreError> {
        let mut frequency = 0;
        guard(|| {
            if let Some(terms) = self.view.rows(self.set.terms())?
                && let Some(value) = terms.get(term)?
            {
                let (_, row) = terms::open(self.set, term, value.value())?;
                frequency = u64::from(terms::frequency(self.set, term, row)?);
            }
            Ok(())
        })?;
        for row in self.unfolded(term) {
            if let Some(change) = row.get(term)? {
                let sum = frequency + change.added.len() as u64;
                frequency = sum.saturating_sub(change.removed.len() as u64);
            }
        }
        Ok(frequency)
    }

    /// Terms that begin with `prefix`, in byte order, with the number of sections that hold them;
    /// at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn terms(&self, prefix: &str, limit: usize) -> Result<Vec<(String, u64)>, StoreError> {
        let prefix = prefix.as_bytes();
        let mut recent: BTreeSet<Vec<u8>> = BTreeSet::new();
        for (_, row) in &self.deltas {
            recent.extend(row.terms_with(prefix).map(<[u8]>::to_vec));
        }
        let mut known: BTreeSet<Vec<u8>> = BTreeSet::new();
        guard(|| {
            if let Some(terms) = self.view.rows(self.set.terms())? {
                // A term may have lost its last section in a delta row: read so many more.
                let enough = limit.saturating_add(recent.len());
                terms::visit(&terms, prefix, &mut |term, _| {
                    known.insert(term.to_vec());
                    Ok(known.len() < enough)
                })?;
            }
            Ok(())
        })?;
        known.append(&mut recent);
        // What stands for a long term is no term.
        known.retain(|term| !term.contains(&0));
        let mut found = Vec::new();
        for term in known {
            if found.len() >= limit {
                break;
            }
            let frequency = self.frequency(&term)?;
            if frequency > 0 {
                found.push((String::from_utf8_lossy(&term).into_owned(), frequency));
            }
        }
        Ok(found)
    }

    /// All postings of a term, by rising section id. Some may be of sections that have no length
    /// any more.
    ///
    /// # Errors
    /// [`StoreError`]; a damaged row is `Damaged`.
    pub fn postings(&self, term: &str) -> Result<Vec<Posting>, StoreError> {
        let key = term_key(term.as_bytes());
        let mut postings = Vec::new();
        if let Some(rows) = self.rows_of(&key)? {
            let mut buffer = BlockBuffer::default();
            for at in 0..rows.blocks().len() {
                let count = rows.decode_block(at, &mut buffer);
                let pairs = buffer.sections.iter().zip(&buffer.weights).take(count);
                postings.extend(pairs.map(|(&section, &weight)| Posting { section, weight }));
            }
        }
        for row in self.unfolded(&key) {
            if let Some(change) = row.get(&key)? {
                postings.extend(change.added.iter().map(|(posting, _)| *posting));
            }
        }
        Ok(postings)
    }

    /// The delta rows whose changes of a term the postings do not hold yet, oldest first.
    fn unfolded(&self, term: &[u8]) -> impl Iterator<Item = &DeltaRow> {
        self.deltas
            .iter()
            .filter(move |(key, _)| !self.state.is_folded(*key, term))
            .map(|(_, row)| &**row)
    }

    fn rows_of(&self, term: &[u8]) -> Result<Option<Arc<TermPostings>>, StoreError> {
        let folded = self.state.folded_of(term);
        if let Some(mut cached) = self.cached()
            && let Some(found) = cached.rows.get(term, ROWS_BUDGET)
            && found.folded == folded
        {
            return Ok(found.rows);
        }
        let rows = guard(|| {
            let Some(terms) = self.view.rows(self.set.terms())? else {
                return Ok(None);
            };
            let Some(value) = terms.get(term)? else {
                return Ok(None);
            };
            let (id, open) = terms::open(self.set, term, value.value())?;
            let mut loaded = TermPostings::default();
            if let Some(id) = id
                && let Some(rows) = self.view.rows(self.set.postings())?
            {
                postings::load(self.set, &rows, id, &mut loaded)?;
            }
            loaded
                .push_row(open)
                .map_err(|error| StoreError::damaged(error.to_string()))?;
            loaded.shrink();
            Ok(Some(Arc::new(loaded)))
        })?;
        if let Some(mut cached) = self.cached() {
            let size = rows.as_ref().map_or(0, |rows| rows.memory());
            let entry = TermRowsAt {
                folded,
                rows: rows.clone(),
            };
            cached.rows.put(term.into(), entry, size, ROWS_BUDGET);
        }
        Ok(rows)
    }

    fn plan(&self, term: &[u8]) -> Result<Arc<Planned>, StoreError> {
        if let Some(mut cached) = self.cached()
            && let Some(found) = cached.plans.get(term, PLANS_BUDGET)
        {
            return Ok(found);
        }
        let rows = self.rows_of(term)?;
        let mut frequency = rows
            .as_ref()
            .map_or(0, |rows| u64::from(rows.document_frequency));
        let mut recent: Vec<Posting> = Vec::new();
        for row in self.unfolded(term) {
            if let Some(change) = row.get(term)? {
                frequency = (frequency + change.added.len() as u64)
                    .saturating_sub(change.removed.len() as u64);
                // Removed ones have no length any more.
                let live = change.added.iter().map(|(posting, _)| *posting);
                recent.extend(live.filter(|posting| self.lengths.get(posting.section).is_some()));
            }
        }
        let plan = Plan::new(rows, &recent, &self.norms);
        let planned = Arc::new(Planned {
            document_frequency: frequency,
            plan,
        });
        if let Some(mut cached) = self.cached() {
            let size = planned.plan.memory();
            cached
                .plans
                .put(term.into(), Arc::clone(&planned), size, PLANS_BUDGET);
        }
        Ok(planned)
    }

    /// The `k` best sections for these terms (each with how often it counts), best first. Scores
    /// are summed in the order of `terms`.
    ///
    /// `accept` filters; it is asked at most once for a section, only for those that could be among
    /// the best. `tie` tells page id and start line of sections whose scores are exactly equal.
    ///
    /// # Errors
    /// [`StoreError`], and those of the callbacks.
    pub fn search<E: From<StoreError>>(
        &self,
        terms: &[(String, u32)],
        k: usize,
        accept: &mut dyn FnMut(u32) -> Result<bool, E>,
        tie: &mut dyn FnMut(u32) -> Result<(String, u32), E>,
    ) -> Result<Vec<Hit>, E> {
        let mut plans = Vec::with_capacity(terms.len());
        for (term, count) in terms {
            let planned = self.plan(&term_key(term.as_bytes()))?;
            if planned.document_frequency > 0 && *count > 0 {
                plans.push((planned, *count));
            }
        }
        let query: Vec<QueryTerm<'_>> = plans
            .iter()
            .map(|(planned, count)| QueryTerm {
                plan: &planned.plan,
                idf: bm25::idf(self.state.sections, planned.document_frequency),
                count: *count,
            })
            .collect();
        let mut key = |section: u32| {
            let (page, line) = tie(section)?;
            Ok(TieKey { page, line })
        };
        top_k(&query, &self.lengths, &self.norms, k, accept, &mut key)
    }
}

impl Cached {
    /// Brings the cache to a state that is not older than its own.
    fn advance(
        &mut self,
        view: &View,
        set: IndexSet,
        analysis: Analysis,
        delta: &super::NumberedRows<'_>,
        state: &State,
    ) -> Result<(), StoreError> {
        if self.generation != state.generation {
            *self = Self {
                generation: state.generation,
                ..Self::default()
            };
        }
        if self.sequence == state.sequence && self.lengths.is_some() {
            return Ok(());
        }
        let known = self.sequence;
        let mut lengths = self.lengths.take();
        self.plans.clear();
        self.deltas.retain(|key, _| state.rows.contains(key));
        // All or nothing below: a failure leaves a cache that starts again.
        self.sequence = 0;
        for &key in &state.rows {
            if let Entry::Vacant(place) = self.deltas.entry(key) {
                place.insert(Arc::new(delta::read(set, delta, key.0)?));
            }
        }
        // Whether the rows tell all that happened since the cache was last here.
        let complete = known >= state.folded;
        if !complete {
            lengths = None;
        }
        let mut lengths = match lengths {
            Some(lengths) => lengths,
            None => match view.rows(set.lengths())? {
                Some(rows) => Arc::new(lengths::load(set, &rows)?),
                None => Arc::default(),
            },
        };
        if complete && known < state.sequence {
            let changed = Arc::make_mut(&mut lengths);
            let newer = |key: &RowKey| key.sequence() > known;
            for (_, row) in self.deltas.iter().filter(|(key, _)| newer(key)) {
                for &section in &row.removed {
                    changed.set(section, None);
                }
                for &(section, length) in &row.added {
                    changed.set(section, Some(length));
                }
            }
        }
        let scorer = Scorer::new(analysis, state.average_length());
        self.norms = Some(Arc::new(Norms::new(scorer, &lengths)));
        self.lengths = Some(lengths);
        self.sequence = state.sequence;
        Ok(())
    }
}
