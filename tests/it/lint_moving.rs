//! Lint while others write. A wiki that is sound at each moment has no fault, though lint reads one
//! file after another.
//!
//! Short by default; `LLMWIKI_TORTURE_SECONDS=60 cargo test lint_moving` runs it for longer.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use llmwiki::context::Context;
use llmwiki::id::SourceId;
use llmwiki::lint::{Diagnostic, LintOptions, Severity, run};
use llmwiki::wiki::Expectation;

use crate::wikis::{TestWiki, page_id, page_text};

/// Pages that live at a time.
const LIVING: u32 = 6;

fn seconds() -> Duration {
    Duration::from_secs(
        std::env::var("LLMWIKI_TORTURE_SECONDS").map_or(3, |text| text.parse().unwrap()),
    )
}

fn lint(root: &Path) -> Vec<Diagnostic> {
    run(root, &Context::default(), &LintOptions::default())
        .unwrap()
        .diagnostics
}

/// Lints again and again while `write` runs with rising numbers, until time is up or `is_fault`
/// holds for something; answers that, and how often each was done.
fn meanwhile(
    root: &Path,
    write: impl Fn(u32) + Sync,
    is_fault: impl Fn(&Diagnostic) -> bool,
) -> (Option<Diagnostic>, u32, u32) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut round = 0;
            while !done.load(Ordering::Relaxed) {
                write(round);
                round += 1;
            }
            round
        });
        let start = Instant::now();
        let (mut fault, mut lints) = (None, 0);
        while fault.is_none() && start.elapsed() < seconds() && !writer.is_finished() {
            fault = lint(root).into_iter().find(|found| is_fault(found));
            lints += 1;
        }
        done.store(true, Ordering::Relaxed);
        (fault, lints, writer.join().unwrap())
    })
}

/// The pages that live in a round, and the index that links to them.
fn index_body(round: u32, living: u32) -> String {
    let links = (0..living).map(|age| format!("- [[p{}]]\n", round - age));
    format!("# Index\n\nround {round}\n\n{}", links.collect::<String>())
}

#[test]
fn what_the_engine_keeps_sound_never_has_a_fault() {
    let wiki = TestWiki::new();
    let first = wiki.source("first");
    wiki.page("index", first, "# Index\n");
    let root = wiki.root();
    let writer = wiki.again();
    let write = |round: u32| {
        let source = writer.source(&format!("evidence {round}\nline two\n"));
        let body = format!("See [it](llmwiki://source/{source}#L2) and [all](index.md).\n");
        writer.page(&format!("p{round}"), source, &body);
        let living = LIVING.min(round + 1);
        writer.page("index", first, &index_body(round, living));
        writer.page(
            &format!("p{round}"),
            source,
            &format!("{body}\nSee also [[p{round}]].\n"),
        );
        if round >= LIVING {
            // It is deleted only after nobody links to it.
            let gone = page_id(&format!("p{}", round - LIVING));
            writer
                .wiki
                .delete_page(&writer.ctx, &gone, Expectation::Any, "")
                .unwrap();
        }
    };
    // A page is written before a link to it, and deleted after the last: for a moment nobody links
    // to it.
    let is_fault = |found: &Diagnostic| found.code != "ORPHAN_PAGE";
    let (fault, lints, rounds) = meanwhile(&root, write, is_fault);
    assert_eq!(fault, None, "{lints} lints, {rounds} rounds");
    assert!(lints > 3 && rounds > 3, "{lints} lints, {rounds} rounds");
    assert_eq!(lint(&root).iter().find(|found| is_fault(found)), None);
    wiki.must_be_sound();
}

#[test]
fn what_people_keep_sound_never_has_an_error() {
    let wiki = TestWiki::new();
    let first = wiki.source("first");
    wiki.page("index", first, "# Index\n");
    let root = wiki.root();
    let save = |id: &str, text: &str| {
        // As editors and git do it: written aside, then renamed.
        let aside = wiki.dir.path().join("aside");
        std::fs::write(&aside, text).unwrap();
        std::fs::rename(&aside, wiki.file(id)).unwrap();
    };
    let write = |round: u32| {
        let content = format!("evidence {round}\n");
        let source = SourceId::of(content.as_bytes());
        let folder = wiki.dir.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("content"), &content).unwrap();
        let record = llmwiki::source::Metadata {
            id: source,
            name: "evidence".to_owned(),
            media_type: "text/plain".to_owned(),
            byte_count: content.len() as u64,
            captured_at: crate::wikis::NOW.to_owned(),
            origin: None,
        };
        std::fs::write(folder.join("metadata.json"), record.render()).unwrap();
        std::fs::rename(&folder, root.join(format!("sources/{source}"))).unwrap();
        let id = format!("p{round}");
        save(&id, &page_text(&id, source, "See [all](index.md).\n"));
        let living = LIVING.min(round + 1);
        save(
            "index",
            &page_text("index", first, &index_body(round, living)),
        );
        if round >= LIVING {
            std::fs::remove_file(wiki.file(&format!("p{}", round - LIVING))).unwrap();
        }
        std::thread::yield_now();
    };
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    let (fault, lints, rounds) = meanwhile(&root, write, is_error);
    assert_eq!(fault, None, "{lints} lints, {rounds} rounds");
    assert!(lints > 3 && rounds > 3, "{lints} lints, {rounds} rounds");
}
