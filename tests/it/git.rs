//! git switches branches under a wiki in use: it settles on what git left, and loses nobody's text.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::wikis::{TestWiki, page_id, page_text};

/// Whether there is a git to test with.
fn has_git() -> bool {
    Command::new("git")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn git(dir: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "commit.gpgsign=false",
        ])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

const PAGES: usize = 500;

fn write_branch(wiki: &TestWiki, source: llmwiki::id::SourceId, word: &str) {
    for number in 0..PAGES {
        let id = format!("many/p{number:03}");
        fs::create_dir_all(wiki.root().join("pages/many")).unwrap();
        let text = format!("# P\n\n{word} number{number}\n");
        fs::write(wiki.file(&id), page_text(&id, source, &text)).unwrap();
    }
}

#[test]
fn switching_branches_under_readers_and_a_writer_settles_and_loses_nothing() {
    if !has_git() {
        eprintln!("skipped: there is no git");
        return;
    }
    let wiki = TestWiki::new();
    let source = wiki.source("Evidence.\n");
    let dir = wiki.dir.path().to_owned();
    git(&dir, &["init", "-q", "-b", "even", "."]);
    write_branch(&wiki, source, "even");
    git(&dir, &["add", "-A"]);
    git(&dir, &["commit", "-qm", "even"]);
    git(&dir, &["checkout", "-qb", "odd"]);
    write_branch(&wiki, source, "odd");
    git(&dir, &["commit", "-qam", "odd"]);
    assert_eq!(wiki.search("number7"), ["many/p007"]);
    let stop = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        for _ in 0..2 {
            let reader = wiki.again();
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let request = llmwiki::wiki::SearchRequest {
                        query: "number7".into(),
                        limit: None,
                        explain: false,
                    };
                    reader.wiki.search(&reader.ctx, &request).unwrap();
                }
            });
        }
        let writer = wiki.again();
        let (stop, dir) = (&stop, &dir);
        let writing = scope.spawn(move || {
            let mut acknowledged = Vec::new();
            for round in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let text = format!("# Own\n\nownword{round}\n");
                let report = writer.page("own/page", source, &text);
                acknowledged.push((report.revision, report.sha256));
            }
            acknowledged
        });
        for branch in ["even", "odd", "even", "odd", "even"] {
            git(dir, &["checkout", "-q", branch]);
        }
        stop.store(true, Ordering::Relaxed);
        writing.join().unwrap()
    });
    let deadline = Instant::now() + Duration::from_secs(30);
    // Files that git wrote less than two seconds ago and that look half-saved may wait.
    while wiki.wiki.status(&wiki.ctx).unwrap().pending > 0 && Instant::now() < deadline {
        wiki.search("even");
    }
    assert_eq!(wiki.search("even").len(), 20);
    assert!(wiki.search("odd").is_empty());
    assert_eq!(wiki.search("number321"), ["many/p321"]);
    assert!(!written.is_empty());
    for (revision, sha256) in written {
        let read =
            wiki.wiki
                .read_page(&wiki.ctx, &page_id("own/page"), Some(&revision.to_string()));
        assert_eq!(read.unwrap().sha256, sha256, "revision {revision}");
    }
    wiki.must_be_sound();
}

#[test]
fn evidence_survives_the_line_ends_that_git_is_told_to_write() {
    if !has_git() {
        eprintln!("skipped: there is no git");
        return;
    }
    let wiki = TestWiki::new();
    let source = wiki.source("one\r\ntwo\rthree\n");
    wiki.page("a", source, "# A\n\nalpha\n");
    let dir = wiki.dir.path();
    git(dir, &["init", "-q", "-b", "main", "."]);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-qm", "all"]);
    let clone = tempfile::tempdir().unwrap();
    let from = dir.display().to_string();
    git(
        clone.path(),
        &["-c", "core.autocrlf=true", "clone", "-q", &from, "."],
    );
    let content = format!("wiki/sources/{source}/content");
    assert_eq!(
        fs::read(clone.path().join(content)).unwrap(),
        b"one\r\ntwo\rthree\n"
    );
    let page = fs::read_to_string(clone.path().join("wiki/pages/a.md")).unwrap();
    assert!(!page.contains('\r'));
}
