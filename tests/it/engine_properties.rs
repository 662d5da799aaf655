//! What must hold whatever is done in whatever order: the index that grew equals the one that is
//! made anew, the order of writes never changes an answer, a run can be repeated to the byte.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use llmwiki::wiki::{Expectation, SearchRequest};
use proptest::prelude::*;

use crate::wikis::{NOW, TestWiki, page_id};

/// One change of a wiki of a few pages.
#[derive(Debug, Clone)]
enum Change {
    Write(u8, Vec<Vec<u8>>),
    Delete(u8),
}

/// Few words, so that many sections tie exactly.
const WORDS: [&str; 6] = ["tide", "lock", "gate", "wind", "buoy", "mast"];

fn body(sections: &[Vec<u8>]) -> String {
    let mut text = String::from("# Page\n");
    for words in sections {
        let words: Vec<&str> = words
            .iter()
            .map(|&word| WORDS[usize::from(word) % WORDS.len()])
            .collect();
        text.push_str(&format!("\n## {}\n\n{}.\n", words[0], words.join(" ")));
    }
    text
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let section = prop::collection::vec(0u8..6, 1..5);
    let write = (0u8..5, prop::collection::vec(section, 0..4))
        .prop_map(|(page, sections)| Change::Write(page, sections));
    let delete = (0u8..5).prop_map(Change::Delete);
    prop::collection::vec(prop_oneof![4 => write, 1 => delete], 1..14)
}

/// Every hit of some queries: page, lines, and the bits of the score.
fn answers(wiki: &TestWiki) -> Vec<(String, u32, u32, u64)> {
    ["tide", "lock gate", "mast wind buoy tide", "page"]
        .into_iter()
        .flat_map(|query| {
            let request = SearchRequest {
                query: query.into(),
                limit: None,
                explain: false,
            };
            wiki.wiki.search(&wiki.ctx, &request).unwrap().hits
        })
        .map(|hit| {
            (
                hit.page_id,
                hit.start_line,
                hit.end_line,
                hit.score.to_bits(),
            )
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn what_grew_equals_what_is_made_anew_in_any_order(changes in changes()) {
        let wiki = TestWiki::new();
        let source = wiki.source("Evidence.\n");
        let mut model: BTreeMap<String, String> = BTreeMap::new();
        for change in &changes {
            match change {
                Change::Write(page, sections) => {
                    let id = format!("p{page}");
                    wiki.page(&id, source, &body(sections));
                    model.insert(id, body(sections));
                }
                Change::Delete(page) => {
                    let id = format!("p{page}");
                    let gone = wiki.wiki.delete_page(&wiki.ctx, &page_id(&id), Expectation::Any, "");
                    prop_assert_eq!(gone.is_ok(), model.remove(&id).is_some());
                }
            }
        }
        let grown = answers(&wiki);
        wiki.must_be_sound();
        wiki.wiki.reindex(&wiki.ctx).unwrap();
        prop_assert_eq!(&answers(&wiki), &grown);
        wiki.must_be_sound();
        let other = TestWiki::new();
        let source = other.source("Evidence.\n");
        for (id, text) in model.iter().rev() {
            other.page(id, source, text);
        }
        prop_assert_eq!(&answers(&other), &grown);
    }
}

/// Runs a script of commands in an empty folder with a fixed clock: all that it printed, and
/// every file outside the store.
fn run_script(dir: &Path) -> (Vec<String>, BTreeMap<String, Vec<u8>>) {
    std::fs::write(dir.join("a.txt"), "First evidence.\n").unwrap();
    std::fs::write(dir.join("b.txt"), "Second evidence.\n").unwrap();
    std::fs::write(
        dir.join("body.md"),
        "# Tide\n\nSee [[other]]. The tide turns.\n",
    )
    .unwrap();
    let mut printed = Vec::new();
    let mut run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_llmwiki"))
            .args(arguments)
            .arg("--json")
            .current_dir(dir)
            .env("LLMWIKI_NOW", NOW)
            .env_remove("LLMWIKI_ROOT")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        printed.push(text.replace(&dir.canonicalize().unwrap().display().to_string(), "DIR"));
    };
    let source = llmwiki::id::SourceId::of(b"First evidence.\n").to_string();
    run(&["add-source", "a.txt", "b.txt"]);
    run(&["add-source", "a.txt", "--origin", "again"]);
    for id in ["tide", "other/page"] {
        let page = [
            "--title",
            "T",
            "--summary",
            "S.",
            "--source",
            &source,
            "--body",
            "body.md",
        ];
        run(&[["upsert-page", id].as_slice(), &page].concat());
    }
    run(&["search", "tide evidence"]);
    run(&["delete-page", "other/page"]);
    run(&["history", "--diff"]);
    run(&["lint"]);
    run(&["export", "index-v1"]);
    run(&["list-sources"]);
    let mut files = BTreeMap::new();
    collect(&dir.join(".llmwiki"), "", &mut files);
    (printed, files)
}

fn collect(dir: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if name == ".store" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn one_script_run_twice_with_a_fixed_clock_gives_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (run_script(one.path()), run_script(two.path()));
    assert!(
        first.1.len() > 8 && first.0.iter().all(|text| !text.is_empty()),
        "{first:?}"
    );
    assert_eq!(first.0, second.0);
    assert_eq!(first.1, second.1);
}
