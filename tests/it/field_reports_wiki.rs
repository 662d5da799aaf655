//! Field reports about whole wikis: each test plays one line of
//! `tests/data/cases/field-reports.jsonl` step by step, and checks the sentences of its `right`
//! about lint, search, ids and the index. What can be decided without a wiki on disk is in
//! `field_reports_page`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use llmwiki::error::{ErrorCode, Result};
use llmwiki::id::PageId;
use llmwiki::lint::{LintOptions, LintReport, run};
use llmwiki::wiki::{
    Expectation, NewSource, ReadPageReport, SearchReport, SearchRequest, StatusReport, UpsertPage,
    UpsertPageReport,
};
use serde_json::Value;

use crate::cli_support::Shell;
use crate::wikis::TestWiki;

/// What came of a step; steps that only change files leave nothing.
#[derive(Debug)]
enum Outcome {
    Lint(LintReport),
    Search(Result<SearchReport>),
    Status(StatusReport),
    Upsert(Result<UpsertPageReport>),
    Read(Result<ReadPageReport>),
}

/// A report that is played on a wiki of its own.
struct Play {
    wiki: TestWiki,
    outcomes: VecDeque<Outcome>,
}

fn report(id: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/field-reports.jsonl");
    let lines = std::fs::read_to_string(path).unwrap();
    let mut reports = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    reports.find(|report| report["id"] == id).unwrap()
}

impl Play {
    /// Lays out sources and files.
    fn arrange(report: &Value) -> Self {
        let wiki = TestWiki::new();
        wiki.wiki.init(&wiki.ctx).unwrap();
        for source in report["input"]["sources"].as_array().unwrap() {
            let content = text(source, "text").as_bytes().to_vec();
            let name = text(source, "name").to_owned();
            let added = wiki
                .wiki
                .add_source(
                    &wiki.ctx,
                    NewSource {
                        name,
                        content,
                        ..NewSource::default()
                    },
                )
                .unwrap();
            assert_eq!(added.id, text(source, "id"));
        }
        let play = Self {
            wiki,
            outcomes: VecDeque::new(),
        };
        for file in report["input"]["files"].as_array().unwrap() {
            play.write(text(file, "path"), text(file, "text").as_bytes());
        }
        play
    }

    /// Plays all steps.
    fn of(id: &str) -> Self {
        let report = report(id);
        let mut play = Self::arrange(&report);
        for step in report["input"]["steps"].as_array().unwrap() {
            play.step(step);
        }
        play
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.wiki.root().join(relative)
    }

    fn write(&self, relative: &str, bytes: &[u8]) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn step(&mut self, step: &Value) {
        let ctx = &self.wiki.ctx;
        let outcome = match text(step, "do") {
            "lint" => Outcome::Lint(self.lint()),
            "search" => Outcome::Search(self.search(text(step, "query"))),
            "status" => Outcome::Status(self.wiki.wiki.status(ctx).unwrap()),
            "upsert_page" => Outcome::Upsert(self.upsert(step)),
            "read_page" => Outcome::Read(
                PageId::parse(text(step, "id"))
                    .map_err(Into::into)
                    .and_then(|id| self.wiki.wiki.read_page(ctx, &id, None)),
            ),
            "reindex" => {
                self.wiki.wiki.reindex(ctx).unwrap();
                return;
            }
            // Backlinks are in what `read_page` answers.
            "links_of" => return,
            _ => return self.change_file(step),
        };
        self.outcomes.push_back(outcome);
    }

    /// Changes a file behind the engine's back.
    fn change_file(&self, step: &Value) {
        let relative = text(step, "path");
        let path = self.path(relative);
        match text(step, "do") {
            "write_file" => self.write(relative, text(step, "text").as_bytes()),
            "append_to_file" => {
                let mut bytes = std::fs::read(&path).unwrap_or_default();
                bytes.extend_from_slice(text(step, "text").as_bytes());
                self.write(relative, &bytes);
            }
            "replace_in_file" => {
                let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
                let old = std::fs::read_to_string(&path).unwrap();
                let new = old.replace(text(step, "old"), text(step, "new"));
                assert_ne!(old, new);
                let file = std::fs::File::create(&path).unwrap();
                std::io::Write::write_all(&mut &file, new.as_bytes()).unwrap();
                if step["keep_mtime"] == true {
                    file.set_modified(modified).unwrap();
                }
            }
            "truncate_file" => {
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_len(step["bytes"].as_u64().unwrap()).unwrap();
            }
            "delete_file" => std::fs::remove_file(&path).unwrap(),
            other => panic!("no such step: {other}"),
        }
    }

    fn upsert(&self, step: &Value) -> Result<UpsertPageReport> {
        let sources = step["sources"].as_array().unwrap().iter();
        self.wiki.wiki.upsert_page(
            &self.wiki.ctx,
            UpsertPage {
                id: PageId::parse(text(step, "id"))?,
                title: text(step, "title").to_owned(),
                summary: text(step, "summary").to_owned(),
                sources: sources
                    .map(|id| id.as_str().unwrap().parse().unwrap())
                    .collect(),
                body: text(step, "body").to_owned(),
                expected: Expectation::Any,
                message: String::new(),
            },
        )
    }

    fn lint(&self) -> LintReport {
        run(&self.wiki.root(), &self.wiki.ctx, &LintOptions::default()).unwrap()
    }

    fn search(&self, query: &str) -> Result<SearchReport> {
        let request = SearchRequest {
            query: query.to_owned(),
            limit: None,
            explain: false,
        };
        self.wiki.wiki.search(&self.wiki.ctx, &request)
    }

    // What the next step must have been, and what came of it.

    fn linted(&mut self) -> Vec<(&'static str, String, String)> {
        match self.outcomes.pop_front() {
            Some(Outcome::Lint(report)) => report
                .diagnostics
                .into_iter()
                .map(|found| (found.code, found.path, found.message))
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    /// Codes and paths, without pages that nobody links to.
    fn faults(&mut self) -> Vec<(&'static str, String)> {
        self.linted()
            .into_iter()
            .filter(|(code, ..)| *code != "ORPHAN_PAGE")
            .map(|(code, path, _)| (code, path))
            .collect()
    }

    fn hits(&mut self) -> Vec<String> {
        match self.outcomes.pop_front() {
            Some(Outcome::Search(Ok(report))) => {
                report.hits.into_iter().map(|hit| hit.page_id).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn status(&mut self) -> StatusReport {
        match self.outcomes.pop_front() {
            Some(Outcome::Status(report)) => report,
            other => panic!("{other:?}"),
        }
    }

    fn refused(&mut self) -> ErrorCode {
        match self.outcomes.pop_front() {
            Some(Outcome::Upsert(Err(error)) | Outcome::Read(Err(error))) => error.code(),
            other => panic!("{other:?}"),
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn fr_01_one_bad_page_is_named_once_and_stops_nothing() {
    let report = report("fr-01");
    let mut play = Play::of("fr-01");
    let found = play.linted();
    let invalid: Vec<_> = found
        .iter()
        .filter(|(code, ..)| *code == "PAGE_INVALID_MARKDOWN")
        .collect();
    let [(_, path, message)] = invalid.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(path, "pages/release.md");
    assert!(
        message.contains("title") && message.contains("must be double-quoted"),
        "{message}"
    );
    assert_eq!(play.hits(), ["other"]);
    let before = text(&report["input"]["files"][0], "text");
    let after = std::fs::read_to_string(play.path("pages/release.md")).unwrap();
    assert_eq!(after, before);
}

#[test]
fn fr_03_a_page_with_crlf_is_counted_found_and_linked() {
    let mut play = Play::of("fr-03");
    assert_eq!(play.status().page_count, 2);
    // Not taken in yet, which is all that is to be said of it.
    assert_eq!(
        play.faults(),
        [("INDEX_STALE", ".store/wiki.redb".to_owned())]
    );
    assert_eq!(play.hits(), ["win"]);
    assert!(matches!(
        play.outcomes.pop_front(),
        Some(Outcome::Upsert(Ok(_)))
    ));
    let after = std::fs::read_to_string(play.path("pages/win.md")).unwrap();
    assert_eq!(after.lines().filter(|line| *line == "---").count(), 2);
}

#[test]
fn fr_04_one_broken_link_among_many_that_are_none() {
    let found = Play::of("fr-04").linted();
    let broken: Vec<_> = found
        .iter()
        .filter(|(code, ..)| *code == "BROKEN_PAGE_LINK")
        .map(|(_, path, message)| (path.as_str(), message.contains("\"missing\"")))
        .collect();
    assert_eq!(broken, [("pages/snippets.md", true)]);
    let orphan = |path: &str| {
        found
            .iter()
            .any(|(code, at, _)| *code == "ORPHAN_PAGE" && at == path)
    };
    assert!(!orphan("pages/snippets.md") && orphan("pages/open.md"));
    assert!(!found.iter().any(|(code, ..)| *code == "LINK_ESCAPES_PAGES"));
}

#[test]
fn fr_05_wikilinks_in_tables_reach_their_pages() {
    let mut play = Play::of("fr-05");
    let found = play.linted();
    let codes: Vec<_> = found.iter().map(|(code, ..)| *code).collect();
    assert_eq!(codes, ["INDEX_STALE"], "{found:?}");
    let beta = PageId::parse("beta").unwrap();
    let beta = play
        .wiki
        .wiki
        .read_page(&play.wiki.ctx, &beta, None)
        .unwrap();
    assert_eq!(beta.backlinks, ["hub"]);
}

#[test]
fn fr_06_targets_are_decoded_once() {
    let found = Play::of("fr-06").linted();
    let links: Vec<_> = found
        .iter()
        .filter(|(code, ..)| code.contains("LINK"))
        .map(|(code, path, _)| (*code, path.as_str()))
        .collect();
    assert_eq!(
        links,
        [
            ("LINK_ESCAPES_PAGES", "pages/home.md"),
            ("BROKEN_PAGE_LINK", "pages/home.md"),
            ("BROKEN_PAGE_LINK", "pages/home.md"),
        ]
    );
}

#[test]
fn fr_08_an_emoji_is_a_page_id_like_any_other() {
    let mut play = Play::of("fr-08");
    assert_eq!(play.status().page_count, 2);
    assert_eq!(
        play.faults(),
        [("INDEX_STALE", ".store/wiki.redb".to_owned())]
    );
    assert_eq!(play.hits(), ["plain"]);
    let emoji = play.hits();
    assert_eq!(emoji.len(), 1);
    match play.outcomes.pop_front() {
        Some(Outcome::Read(Ok(page))) => assert_eq!(page.id, emoji[0]),
        other => panic!("{other:?}"),
    }
    match play.outcomes.pop_front() {
        Some(Outcome::Search(Ok(report))) => assert!(report.hits.len() < 2),
        Some(Outcome::Search(Err(_))) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn fr_09_a_backslash_is_no_separator_and_no_name() {
    let mut play = Play::of("fr-09");
    let refused: Vec<ErrorCode> = (0..3).map(|_| play.refused()).collect();
    assert_eq!(refused, [ErrorCode::InvalidPath; 3]);
    let found = play.faults();
    assert_eq!(found, [("PAGE_INVALID_PATH", "pages/a\\b.md".to_owned())]);
    let pages: Vec<_> = std::fs::read_dir(play.path("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(pages, ["a\\b.md"]);
}

#[test]
fn fr_11_processes_that_write_at_once_lose_nothing() {
    let report = report("fr-11");
    let play = Play::arrange(&report);
    let concurrent = &report["input"]["steps"][0];
    let shell = Shell::new();
    let root = play.wiki.root();
    let base = play.search("base").unwrap();
    assert_eq!(base.hits.len(), 1);
    let shared = PageId::parse("shared").unwrap();
    let read = |id: &PageId| play.wiki.wiki.read_page(&play.wiki.ctx, id, None).unwrap();
    let hash = read(&shared).sha256;

    // One process a write, two at a time; answers how the last of each side ended.
    let side = |process: u64| {
        let fill = |text: &str, n: u64| {
            text.replace("{process}", &process.to_string())
                .replace("{n}", &n.to_string())
        };
        let upsert = |step: &Value, n: u64, more: &[&str]| {
            let body = shell.write(&format!("body-{process}"), fill(text(step, "body"), n));
            let mut command = shell.command();
            command
                .arg("--root")
                .arg(&root)
                .args(["--json", "upsert-page"]);
            command.arg(fill(text(step, "id"), n));
            command.args(["--title", &fill(text(step, "title"), n)]);
            command.args(["--summary", text(step, "summary")]);
            command.args(["--source", step["sources"][0].as_str().unwrap()]);
            command.arg("--body").arg(body).args(more);
            command.output().unwrap()
        };
        let repeat = &concurrent["each"][0];
        for n in 1..=repeat["times"].as_u64().unwrap() {
            let output = upsert(&repeat["step"], n, &[]);
            assert!(output.status.success(), "{output:?}");
        }
        upsert(&concurrent["each"][1], 0, &["--expected-sha256", &hash])
    };
    let ends = std::thread::scope(|scope| {
        let other = scope.spawn(|| side(2));
        [side(1), other.join().unwrap()]
    });

    let won: Vec<bool> = ends.iter().map(|end| end.status.success()).collect();
    assert!(won[0] != won[1], "{ends:?}");
    let loser = &ends[usize::from(won[0])];
    let error: Value = serde_json::from_slice(&loser.stdout).unwrap();
    assert_eq!(error["error"]["code"], "CONFLICT");
    let now = read(&shared);
    assert!(error.to_string().contains(&now.sha256), "{error}");
    let winner = if won[0] { 1 } else { 2 };
    assert!(now.markdown.ends_with(&format!("from {winner}\n")));
    let status = play.wiki.wiki.status(&play.wiki.ctx).unwrap();
    assert_eq!(status.page_count, 41);
    let found = play.lint();
    let fault = found
        .diagnostics
        .iter()
        .find(|found| found.code != "ORPHAN_PAGE");
    assert_eq!(fault, None);
    assert_eq!(play.search("word2x19").unwrap().hits[0].page_id, "p2-19");
}

#[test]
fn fr_12_a_damaged_index_is_told_and_hides_no_page() {
    // The index of other tools is two files, ours is the store: the same is done to each.
    let mut report = report("fr-12");
    let steps = report["input"]["steps"].as_array_mut().unwrap();
    for step in steps {
        // The temporary name that tools of the format give.
        if step["path"] == ".index/search.json.4242.tmp" {
            step["path"] = ".index/.search.json.tmp-4242-0a1b".into();
        }
    }
    let play = Play::arrange(&report);
    let kept = ["sources", "pages"].map(|folder| files_below(&play.path(folder)));
    let mut play = play;
    let steps = report["input"]["steps"].as_array().unwrap().clone();
    for step in &steps {
        if text(step, "do") == "lint" {
            // The partner of the damaged file, as the tool that wrote it would have left it.
            play.write(".index/state.json", b"{}");
        }
        let before = files_below(&play.wiki.root());
        play.step(step);
        if text(step, "do") == "lint" {
            assert!(files_below(&play.wiki.root()) == before, "lint wrote");
        }
    }
    let found = play.faults();
    assert!(
        found.contains(&("INDEX_MALFORMED", ".index/search.json".to_owned())),
        "{found:?}"
    );
    assert!(
        found.contains(&(
            "TEMP_FILE_ABANDONED",
            ".index/.search.json.tmp-4242-0a1b".to_owned()
        )),
        "{found:?}"
    );
    for _ in 0..3 {
        assert_eq!(play.hits(), ["one"]);
    }
    let now = ["sources", "pages"].map(|folder| files_below(&play.path(folder)));
    assert!(now == kept);

    // The same to the store: junk behind it, nothing left of it, a few bytes left of it.
    let store = play.path(".store/wiki.redb");
    let changes: [fn(&mut Vec<u8>); 3] = [
        |bytes| bytes.iter_mut().for_each(|byte| *byte = !*byte),
        Vec::clear,
        |bytes| bytes.truncate(7),
    ];
    for change in changes {
        let mut bytes = std::fs::read(&store).unwrap();
        change(&mut bytes);
        std::fs::write(&store, &bytes).unwrap();
        let codes: Vec<_> = play
            .lint()
            .diagnostics
            .into_iter()
            .map(|found| found.code)
            .collect();
        assert!(codes.contains(&"INDEX_MALFORMED"), "{codes:?}");
        assert!(std::fs::read(&store).unwrap() == bytes, "lint wrote");
        let hits = play.search("osprey").unwrap().hits;
        assert_eq!(hits.len(), 1);
        let now = ["sources", "pages"].map(|folder| files_below(&play.path(folder)));
        assert!(now == kept);
    }
}

/// Every file below a folder with its bytes.
fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn fr_13_edits_behind_our_back_are_stale_then_found_and_leave_no_ghost() {
    let mut play = Play::of("fr-13");
    assert!(!play.status().index.fresh);
    assert_eq!(
        play.faults(),
        [("INDEX_STALE", ".store/wiki.redb".to_owned())]
    );
    assert_eq!(play.hits(), ["c"]);
    assert!(!play.status().index.fresh);
    assert_eq!(play.hits(), ["a"]);
    assert_eq!(play.hits(), [""; 0]);
    assert_eq!(play.hits(), [""; 0]);
    let gone = PageId::parse("c").unwrap();
    let read = play.wiki.wiki.read_page(&play.wiki.ctx, &gone, None);
    assert_eq!(read.unwrap_err().code(), ErrorCode::PageNotFound);
}
