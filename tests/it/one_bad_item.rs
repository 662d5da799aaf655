//! One bad item stops nothing else, and is named: links and special files among the pages, a
//! damaged log of a source, a text that is no page, a disk that cannot be written.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use llmwiki::context::{Context, NoticeSink};
use llmwiki::error::ErrorCode;
use llmwiki::id::SourceId;
use llmwiki::tree::{FaultOp, Faults, TreeOptions};
use llmwiki::wiki::{Expectation, HistoryRequest, SearchRequest};

use crate::wikis::{TestWiki, age, page_id, page_text};

/// Hears what is told beside the reports.
#[derive(Default)]
struct Ear(Mutex<Vec<String>>);

impl NoticeSink for Ear {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// A context whose notices are heard.
fn listening(wiki: &TestWiki) -> (Context, Arc<Ear>) {
    let ear = Arc::new(Ear::default());
    (wiki.ctx.clone().with_notices(ear.clone()), ear)
}

impl Ear {
    /// What was told since the last look.
    fn heard(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap()).join("\n")
    }
}

fn two_pages() -> (TestWiki, SourceId) {
    let wiki = TestWiki::new();
    let source = wiki.source("Evidence.\n");
    wiki.page("guides/a", source, "# A\n\nalpha words\n");
    wiki.page("guides/b", source, "# B\n\nbeta words\n");
    (wiki, source)
}

fn find(wiki: &TestWiki, query: &str) -> Result<Vec<(String, u32, f64)>, ErrorCode> {
    let request = SearchRequest {
        query: query.into(),
        limit: None,
        explain: false,
    };
    let report = wiki.wiki.search(&wiki.ctx, &request);
    report
        .map(|report| {
            let hits = report.hits.into_iter();
            hits.map(|hit| (hit.page_id, hit.start_line, hit.score))
                .collect()
        })
        .map_err(|error| error.code())
}

#[test]
fn a_symbolic_link_among_the_pages_stops_no_other_page_and_is_named() {
    let (wiki, source) = two_pages();
    let (ctx, ear) = listening(&wiki);
    symlink("a.md", wiki.file("guides/l")).unwrap();
    let read = |id: &str| wiki.wiki.read_page(&ctx, &page_id(id), None);
    assert!(read("guides/a").unwrap().markdown.contains("alpha"));
    assert!(ear.heard().contains("pages/guides/l.md is a symbolic link"));
    assert_eq!(
        read("guides/l").unwrap_err().code(),
        ErrorCode::UnsafeFilesystem
    );
    assert_eq!(
        wiki.wiki.list_pages(&ctx, "", None, 9).unwrap().pages.len(),
        2
    );
    assert_eq!(
        wiki.wiki.list_sources(&ctx, None, 9).unwrap().sources.len(),
        1
    );
    assert!(wiki.wiki.read_source(&ctx, source, None, None).is_ok());
    let history = HistoryRequest {
        limit: 9,
        ..HistoryRequest::default()
    };
    assert_eq!(
        wiki.wiki.history(&ctx, &history).unwrap().revisions.len(),
        2
    );
    assert_eq!(wiki.wiki.export_index_v1(&ctx).unwrap().page_count, 2);
    // An answer about the whole wiki is refused, as the format asks.
    assert_eq!(find(&wiki, "alpha"), Err(ErrorCode::UnsafeFilesystem));
}

#[test]
fn what_a_link_or_special_file_stands_in_the_place_of_is_not_deleted() {
    let (wiki, _) = two_pages();
    let (ctx, _) = listening(&wiki);
    let aside = wiki.root().join("aside");
    let texts = |id: &str| wiki.wiki.read_page(&ctx, &page_id(id), None).map(drop);
    // A page replaced by a link, then the whole folder.
    fs::rename(wiki.file("guides/a"), &aside).unwrap();
    symlink("b.md", wiki.file("guides/a")).unwrap();
    texts("guides/b").unwrap();
    fs::remove_file(wiki.file("guides/a")).unwrap();
    fs::rename(&aside, wiki.file("guides/a")).unwrap();
    let folder = wiki.root().join("pages/guides");
    fs::rename(&folder, &aside).unwrap();
    symlink(&aside, &folder).unwrap();
    texts("guides/b").unwrap();
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    assert_eq!(wiki.search("words"), ["guides/a", "guides/b"]);
    assert_eq!(wiki.story("guides/a"), ["written"]);
    assert_eq!(wiki.story("guides/b"), ["written"]);
}

#[test]
fn a_log_of_events_that_cannot_be_read_stops_no_source_and_is_named() {
    for spoil in ["directory", "fifo", "torn"] {
        let (wiki, source) = two_pages();
        let (ctx, ear) = listening(&wiki);
        let log = wiki.root().join(format!("sources/{source}/events.jsonl"));
        match spoil {
            "directory" => fs::create_dir(&log).unwrap(),
            "fifo" => {
                let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
                let kind = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, &log, kind, mode, 0).unwrap();
            }
            _ => fs::write(&log, "{\"event\":\"cap").unwrap(),
        }
        // Built anew from the tree, which reads the log.
        fs::remove_dir_all(wiki.root().join(".store")).unwrap();
        let wiki = wiki.again();
        let read = wiki.wiki.read_source(&ctx, source, None, None).unwrap();
        assert_eq!(read.content.as_deref(), Some("Evidence.\n"), "{spoil}");
        assert!(ear.heard().contains("events.jsonl"), "{spoil}");
        assert_eq!(
            wiki.wiki.list_sources(&ctx, None, 9).unwrap().sources.len(),
            1
        );
        let skipped = || {
            let request = SearchRequest {
                query: "words".into(),
                limit: None,
                explain: false,
            };
            let report = wiki.wiki.search(&ctx, &request).unwrap();
            assert_eq!(report.hits.len(), 2, "{spoil}");
            let paths = report.skipped.into_iter().map(|file| file.path);
            paths.collect::<Vec<_>>()
        };
        assert_eq!(
            skipped(),
            [format!("sources/{source}/events.jsonl")],
            "{spoil}"
        );
        match spoil {
            "directory" => fs::remove_dir(&log).unwrap(),
            _ => fs::remove_file(&log).unwrap(),
        }
        assert!(skipped().is_empty(), "{spoil}");
        ear.heard();
        wiki.wiki.read_source(&ctx, source, None, None).unwrap();
        assert_eq!(ear.heard(), "", "{spoil}");
    }
}

#[test]
fn a_text_that_is_no_page_and_is_written_over_is_reported_and_readable() {
    let (wiki, source) = two_pages();
    for text in [&b"no page at all\n"[..], b"caf\xe9\x01 no page\n"] {
        fs::write(wiki.file("guides/a"), text).unwrap();
        let done = wiki.page("guides/a", source, &format!("# A\n\n{}\n", text.len()));
        let displaced = done.displaced.expect("it is reported").to_string();
        let at = |revision: &str| {
            wiki.wiki
                .read_page(&wiki.ctx, &page_id("guides/a"), Some(revision))
                .unwrap()
        };
        let mut read = at(&displaced);
        assert!(read.fault.is_some() && read.metadata.title.is_empty());
        assert_eq!(read.byte_count, text.len() as u64);
        match std::str::from_utf8(text) {
            Ok(text) => assert_eq!((read.markdown.as_str(), read.raw), (text, None)),
            Err(_) => {
                assert_eq!(read.raw.as_deref(), Some(text));
                assert_eq!(read.markdown, "caf\u{fffd}\u{1} no page\n");
                read.keep_range(2, Some(3)).unwrap();
                assert_eq!(read.raw.as_deref(), Some(&text[2..5]));
                assert_eq!((read.byte_start, read.byte_end), (2, 5));
                assert_eq!(read.markdown_base64.as_deref(), Some("ZukB"));
                read.keep(1);
                assert_eq!((read.byte_end, read.markdown.as_str()), (3, "f"));
            }
        }
    }
    // What the next write has to take the place of, and a deletion too.
    fs::write(wiki.file("guides/b"), "half").unwrap();
    let id = page_id("guides/b");
    let done = wiki
        .wiki
        .delete_page(&wiki.ctx, &id, Expectation::Any, "")
        .unwrap();
    let kept = done.displaced.unwrap().to_string();
    let read = wiki.wiki.read_page(&wiki.ctx, &id, Some(&kept)).unwrap();
    assert_eq!(read.markdown, "half");
    // Now and without a revision it is no page.
    fs::write(wiki.file("guides/b"), "half").unwrap();
    let error = wiki.wiki.read_page(&wiki.ctx, &id, None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPage);
}

#[test]
fn an_import_reports_what_it_displaced() {
    let (wiki, source) = two_pages();
    fs::write(wiki.file("guides/a"), "half").unwrap();
    let line = serde_json::json!({
        "op": "upsert_page", "id": "guides/a", "title": "A", "summary": "s",
        "sources": [source.to_string()], "body": "imported\n",
    });
    let input = line.to_string();
    let report = wiki
        .wiki
        .import_jsonl(&wiki.ctx, &mut input.as_bytes(), false)
        .unwrap();
    let [kept] = report.displaced[..] else {
        panic!("{report:?}")
    };
    let id = page_id("guides/a");
    let read = wiki.wiki.read_page(&wiki.ctx, &id, Some(&kept.to_string()));
    assert_eq!(read.unwrap().markdown, "half");
}

/// A file system that is mounted read-only.
struct ReadOnly;

impl Faults for ReadOnly {
    fn before(&self, _: FaultOp, _: &str) -> io::Result<()> {
        Err(rustix::io::Errno::ROFS.into())
    }
}

#[test]
fn where_nothing_can_be_written_reads_answer_from_memory_and_say_so() {
    let (wiki, source) = two_pages();
    let store = wiki.root().join(".store");
    fs::remove_dir_all(&store).unwrap();
    let options = TreeOptions {
        faults: Some(Arc::new(ReadOnly)),
        ..TreeOptions::default()
    };
    let frozen = TestWiki::at(Arc::clone(&wiki.dir), options);
    let (ctx, ear) = listening(&frozen);
    let read = |id: &str| frozen.wiki.read_page(&ctx, &page_id(id), None);
    assert!(read("guides/a").unwrap().markdown.contains("alpha"));
    assert!(ear.heard().contains("in memory"));
    assert_eq!(frozen.search("beta"), ["guides/b"]);
    assert_eq!(
        frozen
            .wiki
            .list_pages(&ctx, "", None, 9)
            .unwrap()
            .pages
            .len(),
        2
    );
    assert_eq!(
        frozen
            .wiki
            .list_sources(&ctx, None, 9)
            .unwrap()
            .sources
            .len(),
        1
    );
    assert!(frozen.wiki.read_source(&ctx, source, None, None).is_ok());
    // Somebody else may write there all the same.
    fs::write(
        wiki.file("guides/c"),
        page_text("C", source, "# C\n\ngamma words\n"),
    )
    .unwrap();
    age(&wiki.file("guides/c"));
    assert_eq!(frozen.search("gamma"), ["guides/c"]);
    assert_eq!(frozen.wiki.status(&ctx).unwrap().store, None);
    let refused = frozen.try_page("guides/d", source, "text\n").unwrap_err();
    assert_eq!(refused.code(), ErrorCode::UnsafeFilesystem);
    assert!(!wiki.file("guides/d").exists() && !store.exists());
    // A store that comes into being is the one that counts.
    wiki.again().page("guides/e", source, "delta words\n");
    assert_eq!(frozen.search("delta"), ["guides/e"]);
    assert!(frozen.wiki.status(&ctx).unwrap().store.is_some());
}

#[test]
fn what_is_not_taken_in_yet_is_told_by_every_read() {
    let (wiki, _) = two_pages();
    let (ctx, ear) = listening(&wiki);
    // Young and no page: it may be half-saved.
    fs::write(wiki.file("guides/b"), "half").unwrap();
    wiki.wiki
        .read_page(&ctx, &page_id("guides/a"), None)
        .unwrap();
    assert_eq!(
        ear.heard(),
        "1 change in the files could not be taken in yet"
    );
    wiki.wiki.list_sources(&ctx, None, 9).unwrap();
    assert!(ear.heard().contains("1 change"));
}

#[test]
fn a_query_that_only_names_pages_lists_their_sections() {
    let (wiki, source) = two_pages();
    wiki.page(
        "guides/b",
        source,
        "# B\n\nbeta words\n\n## Storm\n\nrough\n",
    );
    let other = wiki.source("Other.\n");
    wiki.page("z", other, "# Z\n\nstorm\n");
    let all = find(&wiki, "id:*").unwrap();
    let names: Vec<&str> = all.iter().map(|(id, ..)| id.as_str()).collect();
    assert_eq!(names, ["guides/a", "guides/b", "guides/b", "z"]);
    assert!(all[1].1 < all[2].1 && all.iter().all(|hit| hit.2 == 0.0));
    assert_eq!(find(&wiki, &format!("source:{other}")).unwrap().len(), 1);
    assert_eq!(find(&wiki, "id:guides/* -id:guides/a").unwrap().len(), 2);
    assert_eq!(find(&wiki, "id:* -storm").unwrap().len(), 2);
    assert_eq!(find(&wiki, "source:0123456789").unwrap(), []);
    assert_eq!(find(&wiki, "-id:guides/a"), Err(ErrorCode::InvalidPage));
}

#[test]
fn a_folder_is_not_spelled_in_two_ways() {
    let (wiki, source) = two_pages();
    let error = wiki.try_page("Guides/c", source, "text\n").unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPath);
    assert!(error.hint().unwrap().contains("guides/c"), "{error:?}");
    wiki.page("a/b/c", source, "text\n");
    let error = wiki.try_page("a/B/d", source, "text\n").unwrap_err();
    assert!(error.hint().unwrap().contains("a/b/d"), "{error:?}");
    // A page is no folder, and a name that only begins alike is another.
    wiki.page("Guides", source, "text\n");
    wiki.page("Guide/a", source, "text\n");
    // Where the tree has both already, either will do.
    let both = wiki.file("Guides/x");
    fs::create_dir_all(both.parent().unwrap()).unwrap();
    fs::write(&both, page_text("X", source, "text\n")).unwrap();
    age(&both);
    assert!(wiki.search("id:Guides/x").contains(&"Guides/x".to_owned()));
    wiki.page("Guides/c", source, "text\n");
    wiki.page("guides/c2", source, "text\n");
}

#[test]
fn reads_go_on_when_a_batch_was_stopped() {
    let (wiki, source) = two_pages();
    let id = source.to_string();
    let page = |name: &str, source: &str| {
        serde_json::json!({
            "op": "upsert_page", "id": name, "title": name, "summary": "s",
            "sources": [source], "body": "imported words\n",
        })
        .to_string()
    };
    let missing = "0".repeat(64);
    let lines = [
        page("i1", &id),
        page("i2", &missing),
        "{\"op\":7}".to_owned(),
        page("i3", &id),
    ];
    let input = lines.join("\n");
    let import = |strict| {
        wiki.wiki
            .import_jsonl(&wiki.ctx, &mut input.as_bytes(), strict)
            .unwrap()
    };
    let report = import(true);
    assert_eq!((report.pages_created, report.lines), (1, 3));
    // The line that stopped it is the first, though a later one was read before it was written.
    assert_eq!(report.stopped.unwrap().line, 2);
    assert_eq!(wiki.search("imported"), ["i1"]);
    let report = import(false);
    assert_eq!((report.pages_created, report.pages_unchanged), (1, 1));
    let failed: Vec<u64> = report.failures.iter().map(|it| it.line).collect();
    assert_eq!((failed, report.stopped), (vec![2, 3], None));
}

/// An end of input at which somebody cancels.
struct Cancels(llmwiki::context::Cancellation);
impl io::Read for Cancels {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.cancel();
        Ok(0)
    }
}

#[test]
fn a_cancelled_import_says_what_it_wrote() {
    use std::io::Read as _;
    let (wiki, _) = two_pages();
    let cancellation = llmwiki::context::Cancellation::default();
    let ctx = wiki.ctx.clone().with_cancellation(cancellation.clone());
    let line = |n: usize| format!("{{\"op\":\"add_source\",\"name\":\"n\",\"content\":\"{n}\"}}\n");
    let first: String = (0..300).map(line).collect();
    let input = first.as_bytes().chain(Cancels(cancellation));
    let mut input = io::BufReader::with_capacity(64, input);
    let report = wiki.wiki.import_jsonl(&ctx, &mut input, false).unwrap();
    let stopped = report.stopped.unwrap();
    assert_eq!((stopped.code.as_str(), stopped.line), ("ABORTED", 257));
    assert_eq!(report.sources_added, 256);
    // Before anything is written it is an error, and then nothing is.
    let error = wiki
        .wiki
        .import_jsonl(&ctx, &mut line(1000).as_bytes(), false)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Aborted);
}

#[test]
fn lines_that_are_no_operation_are_named_in_plain_words() {
    let (wiki, _) = two_pages();
    for (line, words) in [
        (
            "{\"op\":\"add_source\",\"name\":5,\"content\":\"x\"}",
            "\"name\" is a number, not text",
        ),
        (
            "{\"op\":\"add_source\",\"name\":\"n\"}",
            "\"content\" is missing",
        ),
        (
            "{\"op\":\"add_source\",\"name\":\"n\",\"content\":\"x\",\"tag\":1}",
            "no key \"tag\"",
        ),
        (
            "{\"op\":\"upsert_page\",\"id\":\"a\",\"title\":\"t\",\"summary\":\"s\",\"body\":\"b\",\"sources\":\"x\"}",
            "\"sources\" is text, not a list",
        ),
        (
            "{\"op\":\"upsert_page\",\"id\":\"a\",\"title\":\"t\",\"summary\":\"s\",\"body\":\"b\",\"sources\":[1]}",
            "\"sources\" holds a number",
        ),
        ("{\"op\":\"drop\"}", "\"op\" is \"drop\""),
        ("{}", "\"op\" is missing"),
        ("[1]", "expected a JSON object"),
        ("{\"op\":", "not JSON: "),
        (
            "{\"op\":\"add_source\",\"op\":\"add_source\"}",
            "\"op\" twice",
        ),
    ] {
        let report = wiki
            .wiki
            .import_jsonl(&wiki.ctx, &mut line.as_bytes(), false)
            .unwrap();
        let failure = &report.failures[0];
        assert!(failure.message.contains(words), "{line}: {failure:?}");
        assert!(!failure.message.contains("line 1 column"), "{failure:?}");
        assert_eq!(failure.code, "INVALID_ARGUMENT");
    }
    let marked = "\u{feff}{\"op\":\"add_source\",\"name\":\"n\",\"content\":\"marked\"}\n";
    let report = wiki
        .wiki
        .import_jsonl(&wiki.ctx, &mut marked.as_bytes(), false)
        .unwrap();
    assert_eq!(report.sources_added, 1, "{report:?}");
}
