//! `lint` on real trees: the fixtures of each code, and the documents made from the rules.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::id::{ContentHash, PageId, SourceId};
use llmwiki::lint::{LintOptions, LintReport, RULES, diagnostics_page, run};
use llmwiki::page::parse_bytes;
use llmwiki::search::index_v1::export;
use llmwiki::store::{
    Access, Batch, CitationsRecord, Concurrency, IntentOp, IntentRecord, LinksRecord, Opened,
    Store, StoreOptions,
};
use llmwiki::tree::{RootState, STORE_FILE, locate};
use llmwiki::wiki::{SearchRequest, Wiki};
use serde_json::Value;

use crate::cli_support::Shell;
use crate::lint_trees::put;
use crate::wikis::TestWiki;

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
pub fn lint_all(root: &Path) -> LintReport {
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
pub fn sound_wiki(folder: &Path, indexed: bool) -> PathBuf {
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
        let trees = read_json(&data(code).join("trees.json"));
        let lint = |which: &str| {
            let folder = tempfile::tempdir().unwrap();
            if let Some(how) = trees["store"][which].as_str() {
                let report = with_store(folder.path(), how, &lint_all);
                return places(&report, code);
            }
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

/// A wiki with a store, brought into the state `how`, then linted.
fn with_store(folder: &Path, how: &str, lint: &dyn Fn(&Path) -> LintReport) -> LintReport {
    let root = sound_wiki(folder, false);
    let ctx = Context::default();
    let wiki = Wiki::new(&root, Config::default());
    wiki.reindex(&ctx).unwrap();
    let source = SourceId::of(b"abc\n");
    let setup = root.join("pages/guides/setup.md");
    match how {
        "closed_writer" => drop(wiki),
        "killed_writer" => {
            // What the disk holds while a writer is at work is what a kill leaves.
            let left = folder.join("left");
            std::fs::copy(root.join(".store/wiki.redb"), &left).unwrap();
            drop(wiki);
            std::fs::copy(&left, root.join(".store/wiki.redb")).unwrap();
        }
        "held_open" => {
            let held = open_store(&root, Concurrency::Shared);
            let report = lint(&root);
            drop((held, wiki));
            return report;
        }
        "held_exclusively" => {
            drop(wiki);
            let held = open_store(&root, Concurrency::Exclusive);
            let report = lint(&root);
            drop(held);
            return report;
        }
        "damaged_source_record" => {
            drop(wiki);
            flip_near(&root, b"2026-02-03T04:05:06.789Z");
        }
        "damaged_title_entry" => {
            drop(wiki);
            flip_near(&root, b"\x02setup\0guides/setup");
        }
        "owed_put" | "finished_put" => {
            drop(wiki);
            let here = Some(ContentHash::of(&std::fs::read(&setup).unwrap()));
            let file = std::fs::metadata(&setup).unwrap();
            let other = Some(ContentHash::of(b"other"));
            let (old, new) = if how == "owed_put" {
                (here, other)
            } else {
                (other, here)
            };
            let store = open_store(&root, Concurrency::Shared);
            let mut batch = store.write().unwrap();
            let intent = IntentRecord {
                op: IntentOp::Put,
                new,
                old,
                staged: "x".to_owned(),
                old_size: file.len(),
                old_inode: file.ino(),
                old_mtime_ns: file.mtime() * 1_000_000_000 + file.mtime_nsec(),
                revision: 1,
            };
            batch.put_intent(b"pages/guides/setup.md", &intent).unwrap();
            batch.commit().unwrap();
        }
        "source_removed" => {
            std::fs::remove_dir_all(root.join(format!("sources/{source}"))).unwrap();
        }
        "edited_page" => {
            let text = std::fs::read_to_string(&setup).unwrap();
            std::fs::write(&setup, text + "\nMore.\n").unwrap();
        }
        "sources_removed" => std::fs::remove_dir_all(root.join("sources")).unwrap(),
        "record_renamed" | "record_broken" => {
            let path = root.join(format!("sources/{source}/metadata.json"));
            let text = std::fs::read_to_string(&path).unwrap();
            let changed = if how == "record_broken" {
                "{}".to_owned()
            } else {
                text.replace("notes.txt", "other.txt")
            };
            std::fs::write(&path, changed).unwrap();
        }
        _ => panic!("no such state: {how}"),
    }
    lint(&root)
}

fn open_store(root: &Path, concurrency: Concurrency) -> Store {
    let RootState::Ready(tree) = locate(root).unwrap() else {
        panic!("a root")
    };
    let options = StoreOptions {
        concurrency,
        ..StoreOptions::default()
    };
    match Store::open(&tree, STORE_FILE, Access::ReadWrite, &options).unwrap() {
        Opened::Ready(store) => store,
        other => panic!("{other:?}"),
    }
}

/// Flips one bit in the store file, in the first byte of every place where it holds `text`.
fn flip_near(root: &Path, text: &[u8]) {
    let path = root.join(".store/wiki.redb");
    let mut bytes = std::fs::read(&path).unwrap();
    let places: Vec<usize> = bytes
        .windows(text.len())
        .enumerate()
        .filter_map(|(at, window)| (window == text).then_some(at))
        .collect();
    assert!(!places.is_empty(), "the store holds {text:?}");
    for at in places {
        bytes[at] ^= 1;
    }
    std::fs::write(&path, bytes).unwrap();
}

/// Everything below a folder, with its bytes.
fn dump(folder: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            dump(&path, into);
            into.push((path, Vec::new()));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            into.push((path, bytes));
        }
    }
}

fn tree_of(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    dump(root, &mut found);
    found
}

#[test]
fn lint_leaves_every_byte_as_it_was() {
    for how in [
        "killed_writer",
        "closed_writer",
        "owed_put",
        "source_removed",
        "edited_page",
        "damaged_source_record",
    ] {
        let folder = tempfile::tempdir().unwrap();
        with_store(folder.path(), how, &|root| {
            let before = tree_of(root);
            let report = lint_all(root);
            assert!(tree_of(root) == before, "{how}");
            report
        });
    }
}

type Change = fn(&mut Batch, &PageId);

#[test]
fn records_that_contradict_the_text_of_their_page_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = sound_wiki(folder.path(), false);
    Wiki::new(&root, Config::default())
        .reindex(&Context::default())
        .unwrap();
    let id = PageId::parse("guides/setup").unwrap();
    let changes: [(&str, &str, Change); 5] = [
        ("INDEX_MALFORMED", "links", |batch, id| {
            batch.put_links(id, Some(&LinksRecord::default())).unwrap();
        }),
        ("INDEX_MALFORMED", "citations", |batch, id| {
            let other = CitationsRecord {
                sources: vec![SourceId::of(b"other")],
                claims: Vec::new(),
            };
            batch.put_citations(id, Some(&other)).unwrap();
        }),
        ("INDEX_MALFORMED", "names", |batch, id| {
            let mut names = batch.names(id).unwrap().unwrap();
            names.title.push('x');
            batch.put_names(id, Some(&names)).unwrap();
        }),
        ("INDEX_MALFORMED", "sections", |batch, id| {
            let number = batch.page(id).unwrap().unwrap().sections[0];
            let mut section = batch.section(number).unwrap().unwrap();
            section.end_line += 1;
            batch.put_sections([(number, &section)]).unwrap();
        }),
        (
            "STORE_RECORD_DAMAGED",
            "title, summary or sources",
            |batch, id| {
                let mut page = batch.page(id).unwrap().unwrap();
                page.title.push('x');
                batch.put_page(id, &page).unwrap();
            },
        ),
    ];
    let sound = std::fs::read(root.join(".store/wiki.redb")).unwrap();
    for (code, what, change) in changes {
        std::fs::write(root.join(".store/wiki.redb"), &sound).unwrap();
        assert_eq!(lint_all(&root).diagnostics, [], "{what}");
        let store = open_store(&root, Concurrency::Shared);
        let mut batch = store.write().unwrap();
        change(&mut batch, &id);
        batch.commit().unwrap();
        drop(store);
        let report = lint_all(&root);
        let [found] = report.diagnostics.as_slice() else {
            panic!("{what}: {:#?}", report.diagnostics)
        };
        assert_eq!(
            (found.code, found.path.as_str()),
            (code, ".store/wiki.redb")
        );
        let message = format!("{what} of page guides/setup are not those of its text");
        assert_eq!(found.message, message);
    }
}

#[test]
fn a_wiki_with_a_store_has_no_fault() {
    let folder = tempfile::tempdir().unwrap();
    let report = with_store(folder.path(), "closed_writer", &lint_all);
    assert_eq!(report.diagnostics, []);
    let folder = tempfile::tempdir().unwrap();
    let report = with_store(folder.path(), "held_open", &lint_all);
    assert_eq!(report.diagnostics, []);
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
    if std::env::var_os("LLMWIKI_UPDATE_DOCS").is_some() {
        std::fs::write(&path, diagnostics_page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == diagnostics_page(),
        "docs/diagnostics.md is stale: run `LLMWIKI_UPDATE_DOCS=1 cargo test diagnostics_page`"
    );
}

#[test]
fn the_console_prints_each_format_and_exits_with_the_answer() {
    let shell = Shell::new();
    let root = sound_wiki(shell.path(), false);
    let lint = |more: &[&str]| {
        shell.run(
            ["--root", "wiki", "lint"]
                .iter()
                .chain(more)
                .copied()
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(lint(&[]).status, 0);
    assert_eq!(lint(&["--deny", "warnings"]).status, 1);
    assert_eq!(
        lint(&["--deny", "warnings", "--skip", "INDEX_MISSING"]).status,
        0
    );
    assert_eq!(lint(&["--only", "NO_SUCH"]).status, 2);

    let page = root.join("pages/index.md");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, text.replace("guides/setup.md", "guides/gone.md")).unwrap();
    let text = lint(&["--only", "BROKEN_PAGE_LINK"]);
    assert_eq!(text.status, 1);
    assert!(text.text().contains("^^^^"), "{}", text.text());
    assert_eq!(
        lint(&["--only", "BROKEN_PAGE_LINK", "--format", "github"]).text(),
        "::error file=wiki/pages/index.md,line=11,col=5,endColumn=27,title=BROKEN_PAGE_LINK::\
         page \"guides/gone\" does not exist\n"
    );
    let lines = lint(&["--format", "jsonl"]).json_lines();
    let json = lint(&["--format", "json"]).json();
    assert_eq!(json["diagnostics"].as_array().unwrap(), &lines);
    assert_eq!(json, lint(&["--json"]).json());
    let log: Value = serde_json::from_str(lint(&["--format", "sarif"]).text()).unwrap();
    assert_eq!(
        log["runs"][0]["results"].as_array().unwrap().len(),
        lines.len()
    );
    assert_eq!(
        lint(&["pages/guides", "--format", "jsonl", "--skip", "ORPHAN_PAGE"]).text(),
        ""
    );
    // As a shell completes it; and a path that names nothing is no sound one.
    let completed = lint(&["wiki/pages/index.md", "--format", "jsonl"]);
    assert_eq!(completed.json_lines()[0]["code"], "BROKEN_PAGE_LINK");
    let nothing = lint(&["pages/guide", "--json"]);
    assert_eq!(
        (nothing.status, nothing.error_code().as_str()),
        (2, "INVALID_ARGUMENT")
    );
    assert!(
        nothing.text().contains("\\\"pages/guide\\\""),
        "{}",
        nothing.text()
    );
    let slip = lint(&["guides/setpu"]);
    assert!(
        slip.stderr.contains("did you mean pages/guides/setup.md?"),
        "{}",
        slip.stderr
    );
    let slip = lint(&["--only", "broken_page_lnik"]);
    assert!(
        slip.stderr.contains("did you mean BROKEN_PAGE_LINK?"),
        "{}",
        slip.stderr
    );
    // From a folder of the wiki, and by id.
    for (folder, path) in [
        ("wiki", "pages/index.md"),
        ("wiki/pages", "index.md"),
        ("wiki/pages/guides", "../index.md"),
        ("wiki/pages/guides", "pages/index.md"),
        ("wiki/sources", "index"),
    ] {
        let mut command = shell.command();
        command
            .current_dir(shell.path().join(folder))
            .arg("--root")
            .arg(&root);
        command.args([
            "lint",
            "--only",
            "broken_page_link",
            "--format",
            "jsonl",
            path,
        ]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("BROKEN_PAGE_LINK"),
            "{folder}, {path}: {output:?}"
        );
    }
}

#[test]
fn a_faulty_configuration_is_told_with_the_rest() {
    let shell = Shell::new();
    let root = sound_wiki(shell.path(), false);
    std::fs::write(
        root.join("config.toml"),
        "max_results = 20\nmax_result = 3\n",
    )
    .unwrap();
    std::fs::remove_file(root.join("schema.md")).unwrap();
    let lint = shell.run(["--root", "wiki", "lint", "--format", "jsonl"]);
    let found: Vec<_> = lint
        .json_lines()
        .into_iter()
        .filter(|found| found["severity"] == "error")
        .map(|found| {
            (
                found["code"].clone(),
                found["path"].clone(),
                found["line"].clone(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("CONFIG_INVALID".into(), "config.toml".into(), 2.into()),
            ("SCHEMA_MISSING".into(), "schema.md".into(), Value::Null),
        ]
    );
    assert_eq!(lint.status, 1);
    // Any other command stops there.
    assert_eq!(shell.run(["--root", "wiki", "search", "x"]).status, 2);
}

#[test]
fn what_a_person_does_after_a_write_is_stale_and_no_unfinished_write() {
    let wiki = TestWiki::new();
    let source = wiki.source("evidence");
    let codes = || -> Vec<(&str, String)> {
        let found = lint_all(&wiki.root()).diagnostics.into_iter();
        found
            .filter(|found| !matches!(found.code, "ORPHAN_PAGE" | "SOURCE_UNCITED"))
            .map(|found| (found.code, found.message))
            .collect()
    };
    let stale = |what: &str| vec![("INDEX_STALE", format!("since the last command: {what}"))];
    // The rows of what a write promised stay until the next one.
    wiki.page("a", source, "One.\n");
    let first = wiki.text("a");
    assert_eq!(codes(), []);
    std::fs::remove_file(wiki.file("a")).unwrap();
    assert_eq!(codes(), stale("1 removed (pages/a.md)"));
    std::fs::write(wiki.file("a"), &first).unwrap();
    wiki.page("a", source, "Two.\n");
    assert_eq!(codes(), []);
    // Not in place, as git does not either.
    std::fs::remove_file(wiki.file("a")).unwrap();
    std::fs::write(wiki.file("a"), &first).unwrap();
    assert_eq!(codes(), stale("1 changed (pages/a.md)"));
}

#[test]
fn half_an_index_beside_a_store_is_stale_until_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let root = sound_wiki(folder.path(), false);
    let wiki = Wiki::new(&root, Config::default());
    wiki.reindex(&Context::default()).unwrap();
    assert_eq!(lint_all(&root).diagnostics, []);
    std::fs::create_dir_all(root.join(".index")).unwrap();
    std::fs::write(root.join(".index/search.json"), "{}").unwrap();
    let report = lint_all(&root);
    let [found] = report.diagnostics.as_slice() else {
        panic!("{report:#?}")
    };
    assert_eq!(
        (found.code, found.path.as_str()),
        ("INDEX_STALE", ".index/search.json")
    );
    assert!(found.message.contains("state.json"), "{}", found.message);
    wiki.reindex(&Context::default()).unwrap();
    assert_eq!(lint_all(&root).diagnostics, []);
}

#[test]
fn a_page_of_many_sections_in_doubt_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let root = sound_wiki(folder.path(), false);
    let page = root.join("pages/index.md");
    let head = std::fs::read_to_string(&page).unwrap();
    let text = |headings: usize| {
        let sections = (0..headings).map(|n| format!("\n## Part\n\n[to](#part-{n}) word{n}\n"));
        head.clone() + &sections.collect::<String>()
    };
    let wiki = Wiki::new(&root, Config::default());
    let search = || {
        let request = SearchRequest {
            query: "part".to_owned(),
            limit: None,
            explain: false,
        };
        wiki.search(&Context::default(), &request).unwrap()
    };
    std::fs::write(&page, text(8_000)).unwrap();
    wiki.reindex(&Context::default()).unwrap();
    // What waits to be taken out of the rows, and a table in doubt.
    std::fs::write(&page, text(1)).unwrap();
    search();
    std::fs::write(&page, text(8_000)).unwrap();
    search();
    let store = open_store(&root, Concurrency::Shared);
    let mut batch = store.write().unwrap();
    let id = PageId::parse("index").unwrap();
    let mut record = batch.page(&id).unwrap().unwrap();
    record.sections.pop();
    batch.put_page(&id, &record).unwrap();
    batch.commit().unwrap();
    drop(store);
    let found = lint_all(&root).diagnostics;
    assert!(
        found.iter().any(|found| found.code == "INDEX_MALFORMED"),
        "{found:?}"
    );
}
