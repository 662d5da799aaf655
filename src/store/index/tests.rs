//! The index as a whole, against a model: sections with their terms in a `BTreeMap`.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::search::bm25::{Scorer, idf};
use crate::search::topk::Hit;
use crate::search::{Analysis, AnalyzedSection};
use crate::store::testing::Place;
use crate::store::{Batch, Store, StoreError, View};

const SET: IndexSet = IndexSet::Pages;

/// What is indexed: section id -> analysed section.
#[derive(Debug, Clone, Default)]
struct Model {
    sections: BTreeMap<u32, AnalyzedSection>,
    next: u32,
}

fn section(length: u32, terms: &[(String, u32)]) -> AnalyzedSection {
    let mut terms = terms.to_vec();
    terms.sort();
    terms.dedup_by(|a, b| a.0 == b.0);
    AnalyzedSection {
        heading_trail: Vec::new(),
        start_line: 1,
        end_line: 1,
        length,
        terms,
        fingerprint: [0; 16],
    }
}

/// One write: which of the sections that exist go, and what comes.
#[derive(Debug, Clone)]
struct Step {
    remove: Vec<prop::sample::Index>,
    add: Vec<(u32, Vec<(u8, u32)>)>,
}

impl Model {
    fn exhaustive(&self, query: &[(String, u32)], k: usize) -> Vec<Hit> {
        let total: u64 = self.sections.values().map(|s| u64::from(s.length)).sum();
        let count = self.sections.len() as u64;
        let scorer = Scorer::new(
            Analysis::Standard,
            if count == 0 {
                0.0
            } else {
                total as f64 / count as f64
            },
        );
        let weight = |section: &AnalyzedSection, term: &str| {
            section
                .terms
                .iter()
                .find(|(known, _)| known == term)
                .map(|(_, weight)| *weight)
        };
        let frequency = |term: &str| {
            self.sections
                .values()
                .filter(|s| weight(s, term).is_some())
                .count()
        };
        let idfs: Vec<f64> = query
            .iter()
            .map(|(term, _)| idf(count, frequency(term) as u64))
            .collect();
        let mut hits = Vec::new();
        for (&id, section) in &self.sections {
            let mut score = 0.0;
            let mut found = false;
            for ((term, counts), idf) in query.iter().zip(&idfs) {
                if let Some(weight) = weight(section, term) {
                    let share = scorer.term_score(*idf, weight, section.length);
                    score += share * f64::from(*counts);
                    found = true;
                }
            }
            if found {
                hits.push(Hit { section: id, score });
            }
        }
        hits.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| tie(a.section).cmp(&tie(b.section)))
        });
        hits.truncate(k);
        hits
    }

    /// A section more, less, longer or with another weight does not pass for the index.
    fn check_differences(&self, view: &View) {
        let Some((&id, section)) = self
            .sections
            .iter()
            .find(|(_, section)| !section.terms.is_empty())
        else {
            return;
        };
        let mut heavier = section.clone();
        heavier.terms[0].1 += 1;
        let mut longer = section.clone();
        longer.length += 1;
        let others = |out: &mut ExpectedPostings| {
            for (&other, section) in self.sections.iter().filter(|(other, _)| **other != id) {
                out.add(other, section);
            }
        };
        for wrong in [Some(&heavier), Some(&longer), None] {
            let mut expected = ExpectedPostings::default();
            others(&mut expected);
            if let Some(wrong) = wrong {
                expected.add(id, wrong);
            }
            assert!(
                !check_against(view, SET, &expected)
                    .unwrap()
                    .problems
                    .is_empty()
            );
        }
    }

    fn check(&self, store: &Store, cache: &IndexCache, queries: &[Vec<(String, u32)>]) {
        let snapshot = store.read().unwrap();
        self.check_view(&snapshot, cache, queries);
    }

    fn check_view(&self, view: &View, cache: &IndexCache, queries: &[Vec<(String, u32)>]) {
        let reader = IndexReader::open(view, SET, Analysis::Standard, cache).unwrap();
        assert_eq!(reader.document_count(), self.sections.len() as u64);
        for query in queries {
            for k in [1, 5, 50] {
                assert_eq!(
                    search(&reader, query, k),
                    self.exhaustive(query, k),
                    "{query:?}"
                );
            }
        }
        let mut expected = ExpectedPostings::default();
        for (&id, section) in &self.sections {
            expected.add(id, section);
        }
        let found = check_against(view, SET, &expected).unwrap();
        self.check_differences(view);
        assert_eq!(found.problems, Vec::<String>::new());
        let mut frequencies: BTreeMap<String, u64> = BTreeMap::new();
        for section in self.sections.values() {
            for (term, _) in &section.terms {
                *frequencies.entry(term.clone()).or_default() += 1;
            }
        }
        let with = |prefix: &str| -> Vec<(String, u64)> {
            frequencies
                .iter()
                .filter(|(term, _)| term.starts_with(prefix))
                .map(|(term, count)| (term.clone(), *count))
                .collect()
        };
        assert_eq!(reader.terms("", usize::MAX).unwrap(), with(""));
        let few: Vec<_> = with("t1").into_iter().take(2).collect();
        assert_eq!(reader.terms("t1", 2).unwrap(), few);
    }

    /// Removes some sections and adds others, in the model and in the batch.
    fn write(&mut self, batch: &mut Batch, step: &Step) {
        let ids: Vec<u32> = self.sections.keys().copied().collect();
        let mut gone = BTreeMap::new();
        for index in &step.remove {
            if !ids.is_empty() {
                let id = ids[index.index(ids.len())];
                if let Some(section) = self.sections.remove(&id) {
                    let terms = section.terms.into_iter().map(|(term, _)| term).collect();
                    gone.insert(id, terms);
                }
            }
        }
        let mut added = Vec::new();
        for (length, terms) in &step.add {
            let terms: Vec<(String, u32)> = terms
                .iter()
                .map(|(term, weight)| (format!("t{term}"), *weight))
                .collect();
            let analyzed = section(*length, &terms);
            self.sections.insert(self.next, analyzed.clone());
            added.push((self.next, analyzed));
            self.next += 1 + u32::from(self.next.is_multiple_of(5));
        }
        let removed: Vec<(u32, Vec<String>)> = gone.into_iter().collect();
        let added: Vec<(u32, &AnalyzedSection)> =
            added.iter().map(|(id, section)| (*id, section)).collect();
        apply(batch, SET, &removed, &added).unwrap();
    }
}

/// Another order than that of ids, with pages of several sections.
fn tie(section: u32) -> (String, u32) {
    (format!("page-{}", section.wrapping_mul(7) % 11), section)
}

fn search(reader: &IndexReader<'_>, query: &[(String, u32)], k: usize) -> Vec<Hit> {
    reader
        .search::<StoreError>(query, k, &mut |_| Ok(true), &mut |section| Ok(tie(section)))
        .unwrap()
}

fn step() -> impl Strategy<Value = Step> {
    let section = (1u32..6, proptest::collection::vec((0u8..20, 1u32..4), 0..8));
    (
        proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        proptest::collection::vec(section, 0..6),
    )
        .prop_map(|(remove, add)| Step { remove, add })
}

fn queries() -> impl Strategy<Value = Vec<Vec<(String, u32)>>> {
    let term = (0u8..22, 1u32..3).prop_map(|(term, count)| (format!("t{term}"), count));
    proptest::collection::vec(proptest::collection::vec(term, 1..5), 3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_index_equals_its_model_and_a_rebuilt_one_after_every_write(
        steps in proptest::collection::vec(step(), 1..90),
        queries in queries(),
        looks in any::<u64>(),
    ) {
        let place = Place::new();
        let store = place.create();
        let cache = IndexCache::default();
        let mut model = Model::default();
        for (at, step) in steps.iter().enumerate() {
            let mut batch = store.write().unwrap();
            model.write(&mut batch, step);
            if looks >> (at % 61) & 3 == 3 {
                tidy(&mut batch, SET).unwrap();
            }
            batch.commit().unwrap();
            if looks >> (at % 64) & 1 == 1 {
                model.check(&store, &cache, &queries);
            }
            if looks >> (at % 53) & 7 == 6 {
                // Between writes, as bulk work ends.
                let mut batch = store.write().unwrap();
                if tidy(&mut batch, SET).unwrap() {
                    batch.commit().unwrap();
                    model.check(&store, &cache, &queries);
                }
            }
        }
        model.check(&store, &cache, &queries);
        model.check(&store, &IndexCache::default(), &queries);
        let mut bulk = BulkIndexer::new();
        for (&id, section) in &model.sections {
            bulk.push(id, section).unwrap();
        }
        let mut batch = store.write().unwrap();
        bulk.finish(&mut batch, SET).unwrap();
        batch.commit().unwrap();
        model.check(&store, &cache, &queries);
        // And on from there.
        let mut batch = store.write().unwrap();
        for step in steps.iter().take(6) {
            model.write(&mut batch, step);
        }
        model.check_view(&batch, &IndexCache::default(), &queries);
        batch.commit().unwrap();
        model.check(&store, &cache, &queries);
    }
}

/// Sections enough for rows of several sub-blocks and several rows.
fn large(model: &mut Model, store: &Store, writes: u32, each: u32) {
    for write in 0..writes {
        let add = (0..each)
            .map(|at| {
                let word = |n: u32| ((write * 31 + at * n) % 20) as u8;
                let terms = (0..6).map(|n| (word(n), 1 + (at + n) % 3)).collect();
                (3 + (write + at) % 9, terms)
            })
            .collect();
        let remove = (0..each / 8)
            .map(|at| index_of(write.wrapping_mul(2_654_435_761).wrapping_add(at * 77)))
            .collect();
        let mut batch = store.write().unwrap();
        model.write(&mut batch, &Step { remove, add });
        batch.commit().unwrap();
    }
}

/// An index as proptest draws it, from a number.
fn index_of(number: u32) -> prop::sample::Index {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::{Config, RngSeed, TestRunner};
    let seed = RngSeed::Fixed(u64::from(number));
    let config = Config {
        rng_seed: seed,
        ..Config::default()
    };
    any::<prop::sample::Index>()
        .new_tree(&mut TestRunner::new(config))
        .unwrap()
        .current()
}

fn words(query: &[(&str, u32)]) -> Vec<(String, u32)> {
    query
        .iter()
        .map(|&(term, count)| (term.to_owned(), count))
        .collect()
}

#[test]
fn many_sections_fill_rows_and_lose_some_again() {
    let place = Place::new();
    let store = place.create();
    let cache = IndexCache::default();
    let mut model = Model::default();
    let queries = [
        words(&[("t3", 1)]),
        words(&[("t1", 1), ("t7", 2), ("t12", 1)]),
    ];
    // Small writes leave delta rows; large ones are folded at once.
    for (writes, each) in [(3, 3000), (40, 40), (1, 4000), (9, 8)] {
        large(&mut model, &store, writes, each);
        model.check(&store, &cache, &queries);
    }
    let removed: Vec<(u32, Vec<String>)> = model
        .sections
        .iter()
        .map(|(&id, s)| (id, s.terms.iter().map(|(term, _)| term.clone()).collect()))
        .collect();
    let mut batch = store.write().unwrap();
    apply(&mut batch, SET, &removed, &[]).unwrap();
    batch.commit().unwrap();
    model.sections.clear();
    model.check(&store, &cache, &queries);
    let found = check(&store.read().unwrap(), SET).unwrap();
    assert_eq!(found, IndexCheck::default());
}

#[test]
fn an_old_snapshot_answers_from_its_own_state_beside_a_newer_cache() {
    let place = Place::new();
    let store = place.create();
    let cache = IndexCache::default();
    let mut model = Model::default();
    large(&mut model, &store, 2, 30);
    let queries = [words(&[("t3", 1), ("t4", 1)])];
    let old = store.read().unwrap();
    let old_model = model.clone();
    large(&mut model, &store, 40, 30);
    model.check(&store, &cache, &queries);
    old_model.check_view(&old, &cache, &queries);
    model.check(&store, &cache, &queries);
}

#[test]
fn an_id_is_never_used_twice_and_an_unknown_section_is_damage() {
    let place = Place::new();
    let store = place.create();
    let mut batch = store.write().unwrap();
    let one = section(3, &words(&[("a", 2)]));
    apply(&mut batch, SET, &[], &[(7, &one)]).unwrap();
    let again = apply(&mut batch, SET, &[], &[(7, &one)]);
    assert!(matches!(again, Err(StoreError::Misuse { .. })), "{again:?}");
    drop(batch);
    let mut batch = store.write().unwrap();
    let gone = apply(&mut batch, SET, &[(5, vec!["a".to_owned()])], &[]);
    assert!(gone.unwrap_err().is_damage());
    drop(batch);
    let mut batch = store.write().unwrap();
    apply(&mut batch, SET, &[], &[(7, &one)]).unwrap();
    clear(&mut batch, SET).unwrap();
    let again = apply(&mut batch, SET, &[], &[(7, &one)]);
    assert!(matches!(again, Err(StoreError::Misuse { .. })), "{again:?}");
}

#[test]
fn pages_and_code_do_not_meet_and_long_terms_are_found() {
    let place = Place::new();
    let store = place.create();
    let cache = IndexCache::default();
    let long = "x".repeat(70_000);
    let one = section(3, &words(&[(&long, 2), ("a", 2)]));
    let mut batch = store.write().unwrap();
    apply(&mut batch, IndexSet::Code, &[], &[(1, &one)]).unwrap();
    batch.commit().unwrap();
    let snapshot = store.read().unwrap();
    let code = IndexReader::open(&snapshot, IndexSet::Code, Analysis::Standard, &cache).unwrap();
    assert_eq!(search(&code, &words(&[(&long, 1)]), 5).len(), 1);
    assert_eq!(search(&code, &words(&[(&long[1..], 1)]), 5).len(), 0);
    assert_eq!(code.document_frequency(&long).unwrap(), 1);
    let other = IndexCache::default();
    let pages = IndexReader::open(&snapshot, SET, Analysis::Standard, &other).unwrap();
    assert_eq!(search(&pages, &words(&[("a", 1)]), 5), vec![]);
}
