//! What `standard` finds where `classic` does not, on the vectors' wikis and the field reports.

use llmwiki::id::PageId;
use llmwiki::page;
use llmwiki::search::{Analysis, snippet};
use serde_json::Value;

use crate::vectors_index_v1::wikis;
use crate::vectors_search_scoring::Exhaustive;

fn pages_found(index: &Exhaustive, query: &str) -> Vec<String> {
    let mut pages: Vec<String> = Vec::new();
    for hit in index.search(query, usize::MAX) {
        if !pages.contains(&hit.page) {
            pages.push(hit.page);
        }
    }
    pages
}

/// Whatever `classic` finds by one word, `standard` finds too. The wiki of Unicode edges is left
/// out: there `classic` finds pieces of words that it cuts at marks and soft hyphens.
#[test]
fn standard_finds_what_classic_finds() {
    for (name, family) in wikis() {
        if name.starts_with("w07") {
            continue;
        }
        let classic = Exhaustive::new(Analysis::Classic, &family["wiki"]);
        let standard = Exhaustive::new(Analysis::Standard, &family["wiki"]);
        for case in family["cases"].as_array().unwrap() {
            let query = case["query"].as_str().unwrap();
            // One word at a time, so that dropped function words change nothing.
            for word in query.split_whitespace() {
                let found = pages_found(&standard, word);
                let mut missing = pages_found(&classic, word);
                missing.retain(|page| !found.contains(page));
                assert!(missing.is_empty(), "{name}: {word:?} misses {missing:?}");
            }
        }
    }
}

/// Cases that are debatable because the peer's tokenizer is poor.
#[test]
fn standard_finds_parts_of_mixed_runs_and_other_spellings() {
    let wikis = wikis();
    let index = |name: &str| {
        let found = wikis.iter().find(|(other, _)| other.starts_with(name))?;
        Some(Exhaustive::new(Analysis::Standard, &found.1["wiki"]))
    };
    let Some(languages) = index("w03") else {
        return;
    };
    for query in [
        "2026\u{5E74}",
        "\u{30C7}\u{30FC}\u{30BF}",
        "2\u{D638}\u{C120}",
    ] {
        assert!(!pages_found(&languages, query).is_empty(), "{query}");
    }
    let Some(edges) = index("w07") else { return };
    for query in [
        "gross",
        "GRO\u{1E9E}",
        "\u{39F}\u{394}\u{39F}\u{3A3}",
        "\u{939}\u{93F}\u{928}\u{94D}\u{926}\u{940}",
    ] {
        assert!(!pages_found(&edges, query).is_empty(), "{query}");
    }
    let Some(limits) = index("w08") else { return };
    assert_eq!(pages_found(&limits, "\u{8239}"), ["cut/cjk"]);
}

/// The pages of a field report, as a wiki of the search family has them.
fn report(number: &str) -> Option<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/cases/field-reports.jsonl"
    );
    let text = std::fs::read_to_string(path).ok()?;
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|report| report["id"] == number)
}

struct Found {
    page: String,
    score: f64,
    snippet: String,
}

fn search_report(report: &Value, query: &str) -> Vec<Found> {
    let analysis = Analysis::Standard;
    let mut sections = Vec::new();
    for file in report["input"]["files"].as_array().unwrap() {
        let text = file["text"].as_str().unwrap();
        let name = file["path"].as_str().unwrap();
        let id = name.trim_start_matches("pages/").trim_end_matches(".md");
        let id = PageId::parse(id).unwrap();
        let page = page::parse(text).unwrap();
        for (cut, analyzed) in analysis
            .cut(&page)
            .into_iter()
            .zip(analysis.sections(&id, &page))
        {
            sections.push((id.clone(), page.body[cut.text].to_owned(), analyzed));
        }
    }
    let query = analysis.query(query);
    let mut found: Vec<Found> = sections
        .iter()
        .filter_map(|(id, text, section)| {
            let held = query
                .terms
                .iter()
                .filter(|(term, _)| section.terms.iter().any(|(other, _)| other == term))
                .count();
            (held > 0).then(|| Found {
                page: id.to_string(),
                score: held as f64,
                snippet: snippet(analysis, text, &query, 64).text,
            })
        })
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}

#[test]
fn words_of_languages_without_spaces_are_found() {
    let Some(report) = report("fr-07") else {
        return;
    };
    let first = |query: &str| {
        search_report(&report, query)
            .first()
            .map(|found| found.page.clone())
    };
    assert_eq!(
        first("\u{914D}\u{7F6E}\u{6587}\u{4EF6}").as_deref(),
        Some("zh")
    );
    let only = search_report(&report, "\u{6821}\u{9A8C}");
    assert_eq!(only.len(), 1);
    assert_eq!(only[0].page, "zh");
    assert!(only[0].snippet.contains("\u{6821}\u{9A8C}"));
    assert_eq!(first("\u{8A2D}\u{5B9A}").as_deref(), Some("ja"));
    assert_eq!(first("\u{C124}\u{C815}").as_deref(), Some("ko"));
    assert_eq!(first("\u{9CB8}\u{9C7C}"), None);
}

#[test]
fn emoji_hinder_nothing_and_ask_for_nothing() {
    let Some(report) = report("fr-08") else {
        return;
    };
    let found = |query: &str| search_report(&report, query).len();
    assert_eq!((found("burrow"), found("tusk"), found("launch")), (1, 1, 1));
    assert!(Analysis::Standard.query("\u{1F418}").is_empty());
}
