//! Family `search`: scores and order of the `classic` analysis, by scoring every section in
//! memory. What the engine makes of the same wikis is tested through the engine.

use std::cmp::Ordering;
use std::collections::HashMap;

use llmwiki::search::bm25::{Scorer, idf};
use llmwiki::search::{Analysis, AnalyzedSection};
use serde_json::Value;

use crate::vectors::{self, Failures};
use crate::vectors_index_v1::{pages, wikis};

/// An index of one wiki that is all in memory and prunes nothing.
pub struct Exhaustive {
    analysis: Analysis,
    sections: Vec<(String, AnalyzedSection)>,
    document_frequencies: HashMap<String, u64>,
    scorer: Scorer,
}

/// One hit.
#[derive(Debug, PartialEq)]
pub struct Hit {
    pub page: String,
    pub start_line: u32,
    pub heading_trail: Vec<String>,
    pub score: f64,
}

impl Exhaustive {
    pub fn new(analysis: Analysis, wiki: &Value) -> Self {
        let mut sections = Vec::new();
        for (id, _, page) in pages(wiki) {
            let cut = analysis.sections(&id, &page).into_iter();
            sections.extend(cut.map(|section| (id.as_str().to_owned(), section)));
        }
        let mut document_frequencies = HashMap::new();
        for (term, _) in sections.iter().flat_map(|(_, section)| &section.terms) {
            *document_frequencies.entry(term.clone()).or_default() += 1;
        }
        let total: u64 = sections
            .iter()
            .map(|(_, section)| u64::from(section.length))
            .sum();
        let average = if sections.is_empty() {
            0.0
        } else {
            total as f64 / sections.len() as f64
        };
        Self {
            analysis,
            sections,
            document_frequencies,
            scorer: Scorer::new(analysis, average),
        }
    }

    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let query = self.analysis.query(query);
        let count = self.sections.len() as u64;
        let mut hits = Vec::new();
        for (page, section) in &self.sections {
            let mut score = 0.0;
            for (term, times) in &query.terms {
                let found = section
                    .terms
                    .binary_search_by(|(other, _)| other.as_bytes().cmp(term.as_bytes()));
                if let Ok(place) = found {
                    let idf = idf(count, self.document_frequencies[term]);
                    let weight = section.terms[place].1;
                    score +=
                        f64::from(*times) * self.scorer.term_score(idf, weight, section.length);
                }
            }
            if score > 0.0 {
                hits.push(Hit {
                    page: page.clone(),
                    start_line: section.start_line,
                    heading_trail: section.heading_trail.clone(),
                    score,
                });
            }
        }
        hits.sort_by(|a, b| {
            b.score
                .partial_cmp(&a.score)
                .unwrap_or(Ordering::Equal)
                .then_with(|| a.page.encode_utf16().cmp(b.page.encode_utf16()))
                .then_with(|| a.start_line.cmp(&b.start_line))
        });
        hits.truncate(limit);
        hits
    }
}

#[test]
fn vectors_search_scoring() {
    let mut failures = Failures::default();
    for (name, family) in wikis() {
        let wiki = &family["wiki"];
        let index = Exhaustive::new(Analysis::Classic, wiki);
        assert_eq!(
            wiki["index"]["documentCount"],
            index.sections.len(),
            "{name}: sections"
        );
        // serde_json reads numbers to the last bit but one; the exact figure is in index_v1.
        let average = wiki["index"]["averageSectionLength"].as_f64().unwrap();
        assert!(
            (index.scorer.avg - average).abs() <= 1e-15 * average,
            "{name}: average"
        );
        for case in family["cases"].as_array().unwrap() {
            // A query without a token, a limit that is none: refused before anything is scored.
            if case["ok"] != true {
                let terms = Analysis::Classic
                    .query(case["query"].as_str().unwrap())
                    .terms;
                let limit_is_wrong = case["error"]["code"] == "LIMIT_EXCEEDED";
                assert!(limit_is_wrong || terms.is_empty(), "{case}");
                continue;
            }
            let most = wiki["config"]["maxResults"].as_u64().unwrap_or(20);
            let limit = case["limit"].as_u64().map_or(most, |limit| limit.min(most));
            let hits = index.search(
                case["query"].as_str().unwrap(),
                usize::try_from(limit).unwrap(),
            );
            if let Some(what) = difference(&hits, case["hits"].as_array().unwrap()) {
                failures.note(vectors::id(case), format!("{name}: {what}"));
            }
        }
    }
    failures.check();
}

/// What tells the hits from those expected: order and places exactly, scores to 1e-12.
pub fn difference(hits: &[Hit], expected: &[Value]) -> Option<String> {
    if hits.len() != expected.len() {
        return Some(format!("{} hits, expected {}", hits.len(), expected.len()));
    }
    hits.iter().zip(expected).find_map(|(hit, expected)| {
        let score = expected["score"].as_f64().unwrap();
        let same = expected["pageId"] == hit.page.as_str()
            && expected["startLine"] == hit.start_line
            && expected["headingTrail"] == Value::from(hit.heading_trail.clone())
            && (hit.score - score).abs() <= 1e-12 * score.abs();
        (!same).then(|| format!("{hit:?}, expected {expected}"))
    })
}
