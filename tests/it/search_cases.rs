//! What people expect of a search, over a small wiki of many languages: `tests/data/search`.
//!
//! `pages.json` holds the pages, each with the text of the one source that it cites. A case of
//! `cases.json` is a query, why somebody types it (`why`), and what must come: `first`, the page of
//! the best hit; `top3`, pages that are among the first three; `none`, nothing; `not`, pages that
//! must not come at all. Of `first`, the best section may have to cover a `line` of the page file
//! and its snippet to hold a `snippet`.

use std::collections::HashSet;
use std::path::Path;

use llmwiki::error::ErrorCode;
use llmwiki::id::SourceId;
use llmwiki::wiki::{SearchHit, SearchRequest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::wikis::TestWiki;

/// The most hits that a search may be set to give, so that `not` means not at all.
const LIMIT: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    id: String,
    title: String,
    summary: String,
    source: String,
    body: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    query: String,
    why: String,
    first: Option<String>,
    #[serde(default)]
    top3: Vec<String>,
    #[serde(default)]
    none: bool,
    #[serde(default)]
    not: Vec<String>,
    line: Option<u32>,
    snippet: Option<String>,
}

fn data<T: DeserializeOwned>(name: &str) -> T {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/search");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The pages as a stream that `import` reads.
fn stream(pages: &[Page]) -> String {
    let mut lines = String::new();
    for page in pages {
        let source = SourceId::of(page.source.as_bytes()).to_string();
        for line in [
            json!({"op": "add_source", "name": "notes.txt", "content": page.source}),
            json!({
                "op": "upsert_page",
                "id": page.id,
                "title": page.title,
                "summary": page.summary,
                "sources": [source],
                "body": page.body.join("\n") + "\n",
            }),
        ] {
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
    }
    lines
}

/// A wiki that holds the pages.
fn wiki_of(pages: &[Page]) -> TestWiki {
    let mut wiki = TestWiki::new();
    wiki.ctx.limits.max_results = LIMIT;
    let lines = stream(pages);
    let report = wiki
        .wiki
        .import_jsonl(&wiki.ctx, &mut lines.as_bytes(), true)
        .unwrap();
    assert_eq!(report.pages_created, pages.len() as u64);
    wiki
}

/// The hits of a query, all of them. One that asks for nothing has none.
fn hits(wiki: &TestWiki, query: &str) -> Vec<SearchHit> {
    let request = SearchRequest {
        query: query.into(),
        limit: Some(LIMIT),
        explain: true,
    };
    match wiki.wiki.search(&wiki.ctx, &request) {
        Ok(report) => report.hits,
        Err(error) if error.code() == ErrorCode::InvalidPage => Vec::new(),
        Err(error) => panic!("{query:?}: {error}"),
    }
}

/// What is wrong with the hits of a case.
fn faults(case: &Case, hits: &[SearchHit]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut order: Vec<&str> = Vec::new();
    for hit in hits {
        if !order.contains(&hit.page_id.as_str()) {
            order.push(&hit.page_id);
        }
    }
    if case.none && !hits.is_empty() {
        faults.push("should find nothing".to_owned());
    }
    for page in &case.top3 {
        if !order.iter().take(3).any(|found| found == page) {
            faults.push(format!("{page} should be among the first three"));
        }
    }
    for page in &case.not {
        if order.contains(&page.as_str()) {
            faults.push(format!("{page} should not be found"));
        }
    }
    let Some(first) = &case.first else {
        return faults;
    };
    let Some(best) = hits.first().filter(|hit| &hit.page_id == first) else {
        faults.push(format!("{first} should come first"));
        return faults;
    };
    let (from, to) = (best.start_line, best.end_line);
    if let Some(line) = case.line.filter(|line| !(from..=to).contains(line)) {
        faults.push(format!("the section should cover line {line}"));
    }
    if let Some(words) = &case.snippet
        && !best.snippet.contains(words.as_str())
    {
        faults.push(format!(
            "the snippet should hold {words:?}: {:?}",
            best.snippet
        ));
    }
    faults
}

/// The first few hits in one line.
fn told(hits: &[SearchHit]) -> String {
    let told: Vec<String> = hits
        .iter()
        .take(5)
        .map(|hit| format!("{}:{} ({:.2})", hit.page_id, hit.start_line, hit.score))
        .collect();
    if told.is_empty() {
        "nothing".to_owned()
    } else {
        told.join(", ")
    }
}

#[test]
fn people_find_what_they_mean() {
    let cases: Vec<Case> = data("cases.json");
    let wiki = wiki_of(&data::<Vec<Page>>("pages.json"));
    let mut wrong = Vec::new();
    for case in &cases {
        let hits = hits(&wiki, &case.query);
        let faults = faults(case, &hits);
        if !faults.is_empty() {
            wrong.push(format!(
                "{:?}: {}\n    {}\n    found: {}",
                case.query,
                case.why,
                faults.join("; "),
                told(&hits)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// The cases can fail: each asks for something, of pages that exist, and none is there twice.
#[test]
fn search_cases_are_two_hundred_and_each_expects_something() {
    let cases: Vec<Case> = data("cases.json");
    let pages: Vec<Page> = data("pages.json");
    assert!(cases.len() >= 200, "{}", cases.len());
    let ids: HashSet<&String> = pages.iter().map(|page| &page.id).collect();
    assert_eq!(ids.len(), pages.len());
    let mut queries = HashSet::new();
    for case in &cases {
        let query = &case.query;
        assert!(queries.insert(query), "{query:?} is there twice");
        assert!(!case.why.is_empty(), "{query:?} has no reason");
        let finds = case.first.is_some() || !case.top3.is_empty();
        assert!(
            finds != case.none,
            "{query:?} expects nothing, or two things"
        );
        assert!(
            case.first.is_some() || (case.line.is_none() && case.snippet.is_none()),
            "{query:?} wants a section of no page"
        );
        for page in case.first.iter().chain(&case.top3).chain(&case.not) {
            assert!(ids.contains(page), "{query:?} names {page}");
        }
    }
}

#[test]
fn the_shares_of_the_terms_sum_to_the_score() {
    let wiki = wiki_of(&data::<Vec<Page>>("pages.json"));
    let mut looked_at = 0;
    // Also while changes wait beside the postings, and after they came to them.
    for state in 0..2 {
        for case in data::<Vec<Case>>("cases.json") {
            for hit in hits(&wiki, &case.query) {
                let Some(explanation) = hit.explanation else {
                    // A query without words ranks nothing.
                    assert!(hit.score == 0.0, "{}", case.query);
                    continue;
                };
                let sum = explanation
                    .terms
                    .iter()
                    .fold(0.0, |sum, share| sum + share.score);
                assert!(
                    sum.to_bits() == hit.score.to_bits(),
                    "{}: {sum} and {}",
                    case.query,
                    hit.score
                );
                for share in &explanation.terms {
                    let norm = f64::from(explanation.length) / explanation.average_length;
                    let norm = explanation.k1 * (1.0 - explanation.b + explanation.b * norm);
                    let score = f64::from(share.count)
                        * share.idf
                        * share.frequency
                        * (explanation.k1 + 1.0)
                        / (share.frequency + norm);
                    assert!((score - share.score).abs() < 1e-9, "{share:?}");
                }
                looked_at += 1;
            }
        }
        if state == 0 {
            wiki.wiki.reindex(&wiki.ctx).unwrap();
        }
    }
    assert!(looked_at > 500, "{looked_at}");
}

#[test]
fn a_misspelt_word_is_corrected_and_a_quotation_in_a_question_is_no_condition() {
    let wiki = wiki_of(&data::<Vec<Page>>("pages.json"));
    let search = |query: &str| {
        let request = SearchRequest {
            query: query.into(),
            limit: None,
            explain: false,
        };
        wiki.wiki.search(&wiki.ctx, &request).unwrap()
    };
    for (wrong, right) in [
        ("idempotnet", "idempotent"),
        ("proxeis", "proxy"),
        ("id:guides/* idempotnet", "id:guides/* idempotent"),
        ("fery", "ferries"),
    ] {
        let report = search(wrong);
        assert!(report.hits.is_empty(), "{wrong}");
        assert_eq!(report.did_you_mean.as_deref(), Some(right));
        assert!(!search(right).hits.is_empty());
    }
    for query in ["idempotent", "zzzzqqqq", "xq"] {
        assert_eq!(search(query).did_you_mean, None, "{query}");
    }
    let strict = search("\"idempotent proxies\"");
    assert!(strict.hits.is_empty() && strict.note.is_none());
    let loose = search("requests with \"idempotent proxies\"");
    assert!(!loose.hits.is_empty() && loose.note.is_some());
}
