//! `lint` on real trees: the fixtures of each code, and the documents made from the rules.

use std::path::{Path, PathBuf};

use llmwiki::context::Context;
use llmwiki::id::{ContentHash, PageId};
use llmwiki::lint::{LintOptions, LintReport, RULES, diagnostics_page, run};
use llmwiki::page::parse_bytes;
use llmwiki::search::index_v1::export;
use serde_json::Value;

use crate::lint_trees::put;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/lint")
        .join(name)
}

fn read_json(path: &Path) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything, rules on request too.
fn lint_all(root: &Path) -> LintReport {
    run(
        root,
        &Context::default(),
        &LintOptions {
            all: true,
            ..LintOptions::default()
        },
    )
    .unwrap()
}

/// Where a report has a code, in its order.
fn places(report: &LintReport, code: &str) -> Vec<(String, Option<u64>)> {
    report
        .diagnostics
        .iter()
        .filter(|found| found.code == code)
        .map(|found| (found.path.clone(), found.line.map(u64::from)))
        .collect()
}

/// The sound wiki that fixtures start from.
fn sound_wiki(folder: &Path, indexed: bool) -> PathBuf {
    let root = folder.join("wiki");
    put(&root, read_json(&data("base.json")).as_array().unwrap());
    if indexed {
        write_index(&root, &["index", "guides/setup"]);
    }
    root
}

/// Writes `.index` as the peer would.
fn write_index(root: &Path, ids: &[&str]) {
    let pages: Vec<_> = ids
        .iter()
        .map(|id| {
            let bytes = std::fs::read(root.join(format!("pages/{id}.md"))).unwrap();
            let page = parse_bytes(&bytes).unwrap();
            (PageId::parse(id).unwrap(), ContentHash::of(&bytes), page)
        })
        .collect();
    let index = export(&pages);
    std::fs::create_dir(root.join(".index")).unwrap();
    std::fs::write(root.join(".index/search.json"), index.search_json).unwrap();
    std::fs::write(root.join(".index/state.json"), index.state_json).unwrap();
}

#[test]
fn sound_wiki_has_no_fault_but_the_missing_index() {
    let folder = tempfile::tempdir().unwrap();
    let report = lint_all(&sound_wiki(folder.path(), false));
    let codes: Vec<_> = report.diagnostics.iter().map(|found| found.code).collect();
    assert_eq!(codes, ["INDEX_MISSING"]);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(lint_all(&sound_wiki(folder.path(), true)).diagnostics, []);
}

#[test]
fn every_code_fires_on_its_fixture_and_not_on_its_innocent_neighbour() {
    for rule in RULES {
        let code = rule.code.as_str();
        if code.starts_with("STORE_") {
            continue;
        }
        let trees = read_json(&data(code).join("trees.json"));
        let lint = |which: &str| {
            let folder = tempfile::tempdir().unwrap();
            let indexed = [which, "both"].contains(&trees["indexed"].as_str().unwrap_or("both"));
            let root = sound_wiki(folder.path(), indexed);
            put(&root, trees[which].as_array().unwrap());
            places(&lint_all(&root), code)
        };
        let wanted: Vec<(String, Option<u64>)> = trees["places"]
            .as_array()
            .unwrap()
            .iter()
            .map(|place| (place[0].as_str().unwrap().to_owned(), place[1].as_u64()))
            .collect();
        assert!(!wanted.is_empty(), "{code}");
        assert_eq!(lint("bad"), wanted, "{code} on its fixture");
        assert_eq!(lint("good"), [], "{code} on its neighbour");
    }
}

#[test]
fn every_fixture_belongs_to_a_code() {
    for entry in std::fs::read_dir(data("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = name == "base.json" || RULES.iter().any(|rule| rule.code.as_str() == name);
        assert!(known, "{name}");
    }
}

#[test]
fn diagnostics_page_is_what_the_rules_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/diagnostics.md");
    if std::env::var_os("LLMWIKI_UPDATE").is_some() {
        std::fs::write(&path, diagnostics_page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == diagnostics_page(),
        "docs/diagnostics.md is stale: run `LLMWIKI_UPDATE=1 cargo test diagnostics_page`"
    );
}
