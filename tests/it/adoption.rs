//! People, git and editors change the tree behind our back: nobody's text is lost, nothing is
//! resurrected.

use std::fs;
use std::sync::Arc;

use llmwiki::error::ErrorCode;
use llmwiki::tree::{FailFrom, FaultOp, Faults, TreeOptions};
use llmwiki::wiki::{Expectation, RestoreRequest, SearchRequest, UpsertPage};

use crate::wikis::{TestWiki, age, page, page_id, page_text};

fn one_page() -> (TestWiki, llmwiki::id::SourceId) {
    let wiki = TestWiki::new();
    let source = wiki.source("Evidence.\n");
    wiki.page("a", source, "# A\n\nalpha words\n");
    (wiki, source)
}

#[test]
fn an_edit_in_place_is_found_by_the_next_search() {
    let (wiki, source) = one_page();
    assert_eq!(wiki.search("alpha"), ["a"]);
    fs::write(
        wiki.file("a"),
        page_text("a", source, "# A\n\nbeta words\n"),
    )
    .unwrap();
    assert_eq!(wiki.search("beta"), ["a"]);
    assert!(wiki.search("alpha").is_empty());
    assert_eq!(wiki.story("a"), ["written", "adopted"]);
    wiki.must_be_sound();
}

#[test]
fn an_edit_that_keeps_size_and_modification_time_is_found() {
    let (wiki, source) = one_page();
    wiki.search("alpha");
    let before = fs::metadata(wiki.file("a")).unwrap().modified().unwrap();
    fs::write(
        wiki.file("a"),
        page_text("a", source, "# A\n\ngamma words\n"),
    )
    .unwrap();
    fs::File::options()
        .write(true)
        .open(wiki.file("a"))
        .unwrap()
        .set_modified(before)
        .unwrap();
    assert_eq!(wiki.search("gamma"), ["a"]);
}

#[test]
fn a_save_by_rename_is_found() {
    let (wiki, source) = one_page();
    let beside = wiki.root().join("pages/.a.md.swp");
    fs::write(&beside, page_text("a", source, "# A\n\ndelta words\n")).unwrap();
    fs::rename(beside, wiki.file("a")).unwrap();
    assert_eq!(wiki.search("delta"), ["a"]);
}

#[test]
fn a_truncated_moment_is_waited_out() {
    let (wiki, source) = one_page();
    fs::write(wiki.file("a"), "").unwrap();
    let request = SearchRequest {
        query: "alpha".into(),
        limit: None,
        explain: false,
    };
    let report = wiki.wiki.search(&wiki.ctx, &request).unwrap();
    assert_eq!(
        (report.hits.len(), report.pending),
        (1, 1),
        "the old text still answers"
    );
    fs::write(wiki.file("a"), "---\ntitle: \"half").unwrap();
    let report = wiki.wiki.search(&wiki.ctx, &request).unwrap();
    assert_eq!((report.hits.len(), report.pending), (1, 1));
    fs::write(
        wiki.file("a"),
        page_text("a", source, "# A\n\nepsilon words\n"),
    )
    .unwrap();
    assert_eq!(wiki.search("epsilon"), ["a"]);
}

#[test]
fn a_page_that_stays_invalid_is_kept_out_and_named() {
    let (wiki, source) = one_page();
    wiki.page("b", source, "# B\n\nbeta\n");
    fs::write(wiki.file("a"), "no page at all\n").unwrap();
    age(&wiki.file("a"));
    let request = SearchRequest {
        query: "alpha beta".into(),
        limit: None,
        explain: false,
    };
    let report = wiki.wiki.search(&wiki.ctx, &request).unwrap();
    let pages: Vec<&str> = report.hits.iter().map(|hit| hit.page_id.as_str()).collect();
    assert_eq!(pages, ["b"]);
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].path, "pages/a.md");
    assert_eq!(report.skipped[0].code, "INVALID_PAGE");
    let error = wiki
        .wiki
        .read_page(&wiki.ctx, &page_id("a"), None)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPage);
    // Mended, it is back.
    fs::write(
        wiki.file("a"),
        page_text("a", source, "# A\n\nalpha again\n"),
    )
    .unwrap();
    assert_eq!(wiki.search("alpha"), ["a"]);
    wiki.must_be_sound();
}

#[test]
fn a_deleted_file_is_a_deletion_and_can_be_restored() {
    let (wiki, _) = one_page();
    let text = wiki.text("a");
    fs::remove_file(wiki.file("a")).unwrap();
    assert!(wiki.search("alpha").is_empty());
    assert_eq!(wiki.story("a"), ["written", "vanished"]);
    let request = RestoreRequest::Page {
        id: page_id("a"),
        revision: None,
    };
    let plan = wiki.wiki.restore(&wiki.ctx, &request, true).unwrap();
    assert_eq!(
        (plan.applied, plan.items[0].action.as_str()),
        (false, "create")
    );
    assert!(!wiki.file("a").exists(), "a plan writes nothing");
    assert!(
        wiki.wiki
            .restore(&wiki.ctx, &request, false)
            .unwrap()
            .applied
    );
    assert_eq!(fs::read_to_string(wiki.file("a")).unwrap(), text);
    assert_eq!(wiki.search("alpha"), ["a"]);
    wiki.must_be_sound();
}

#[test]
fn a_new_page_that_a_person_deletes_is_not_brought_back_by_the_next_process() {
    let (wiki, source) = one_page();
    wiki.page("b", source, "# B\n\nbeta words\n");
    let next = wiki.again();
    drop(wiki);
    fs::remove_file(next.file("b")).unwrap();
    next.page("c", source, "# C\n\ngamma words\n");
    assert!(!next.file("b").exists(), "a deletion is not undone");
    assert!(next.search("beta").is_empty());
    assert_eq!(next.story("b"), ["written", "vanished"]);
    // Its name is free, also in another case.
    next.page("B", source, "# B\n\nbeta again\n");
    assert_eq!(next.search("beta"), ["B"]);
    next.must_be_sound();
}

#[test]
fn a_page_deleted_and_recreated_is_the_new_one() {
    let (wiki, source) = one_page();
    fs::remove_file(wiki.file("a")).unwrap();
    fs::write(
        wiki.file("a"),
        page_text("a", source, "# A\n\nzeta words\n"),
    )
    .unwrap();
    assert_eq!(wiki.search("zeta"), ["a"]);
    assert!(wiki.search("alpha").is_empty());
}

#[test]
fn a_case_only_rename_is_one_page_under_its_new_name() {
    let (wiki, _) = one_page();
    fs::rename(wiki.file("a"), wiki.file("A")).unwrap();
    assert_eq!(wiki.search("alpha"), ["A"]);
    wiki.must_be_sound();
}

#[test]
fn a_whole_folder_gone_is_damage_and_deletes_nothing() {
    let (wiki, _) = one_page();
    wiki.search("alpha");
    fs::rename(wiki.root().join("pages"), wiki.root().join("away")).unwrap();
    assert_eq!(wiki.search("alpha"), ["a"]);
    fs::rename(wiki.root().join("away"), wiki.root().join("pages")).unwrap();
    assert_eq!(wiki.search("alpha"), ["a"]);
    assert_eq!(wiki.story("a"), ["written"]);
}

/// What would make the lost folder anew, and so say that all of it was deleted, is refused.
#[test]
fn nothing_makes_a_lost_folder_anew_but_a_restore_of_all() {
    let (wiki, source) = one_page();
    wiki.page("b", source, "# B\n\nbeta\n");
    for lost in [
        &["pages"][..],
        &["sources"],
        &["pages", "sources", "schema.md"],
    ] {
        for name in lost {
            let path = wiki.root().join(name);
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        for handle in [&wiki, &wiki.again()] {
            let refused = [
                handle.wiki.init(&handle.ctx).map(drop),
                handle.try_page("c", source, "# C\n").map(drop),
                handle.wiki.restore(&handle.ctx, &one("a"), false).map(drop),
            ];
            for (at, outcome) in refused.into_iter().enumerate() {
                let error = outcome.unwrap_err();
                assert_eq!(error.code(), ErrorCode::UnsafeFilesystem, "{at}: {error}");
                assert!(error.hint().unwrap().contains("--missing"), "{error:?}");
            }
        }
        assert_eq!(wiki.search("beta"), ["b"]);
        let report = wiki
            .wiki
            .restore(&wiki.ctx, &RestoreRequest::Missing, false)
            .unwrap();
        assert!(report.items.iter().all(|item| item.action == "create"));
        assert_eq!(wiki.search("alpha"), ["a"]);
        assert!(!wiki.story("b").contains(&"vanished".to_owned()));
        wiki.wiki.init(&wiki.ctx).unwrap();
        wiki.must_be_sound();
    }
}

/// Killed after its first page, a restore of everything leaves nothing that looks deleted.
#[test]
fn a_restore_of_all_that_dies_half_way_can_go_on() {
    let (wiki, source) = one_page();
    for id in ["b", "c", "d"] {
        wiki.page(id, source, "# T\n\ntext\n");
    }
    fs::remove_dir_all(wiki.root().join("pages")).unwrap();
    for allowed in (0..200).step_by(7) {
        let faults = Arc::new(FailFrom::new(allowed));
        let options = TreeOptions {
            faults: Some(faults),
            ..TreeOptions::default()
        };
        let dying = TestWiki::at(Arc::clone(&wiki.dir), options);
        let _ = dying
            .wiki
            .restore(&dying.ctx, &RestoreRequest::Missing, false);
        wiki.search("text");
    }
    let next = wiki.again();
    next.wiki
        .restore(&next.ctx, &RestoreRequest::Missing, false)
        .unwrap();
    for id in ["a", "b", "c", "d"] {
        assert!(next.file(id).exists(), "{id}");
        assert!(!next.story(id).contains(&"vanished".to_owned()), "{id}");
    }
}

#[test]
fn one_page_that_cannot_come_back_stops_no_other() {
    let (wiki, source) = one_page();
    wiki.page("b", source, "# B\n\nbeta\n");
    for id in ["a", "b"] {
        wiki.wiki
            .delete_page(&wiki.ctx, &page_id(id), Expectation::Any, "")
            .unwrap();
    }
    wiki.page("A", source, "# Other\n\nother\n");
    let since = RestoreRequest::DeletedSince("2020-01-01T00:00:00Z".parse().unwrap());
    for dry_run in [true, false] {
        let report = wiki.wiki.restore(&wiki.ctx, &since, dry_run).unwrap();
        let actions: Vec<(&str, &str)> = report
            .items
            .iter()
            .map(|item| (item.path.as_str(), item.action.as_str()))
            .collect();
        assert_eq!(
            actions,
            [("pages/a.md", "refused"), ("pages/b.md", "create")]
        );
        let reason = report.items[0].reason.as_deref().unwrap();
        assert!(reason.contains("only by case"), "{reason}");
        assert_eq!(wiki.file("b").exists(), !dry_run);
        // Asked for alone, the plan says it as the deed does.
        let alone = wiki.wiki.restore(&wiki.ctx, &one("a"), dry_run);
        assert_eq!(alone.unwrap_err().code(), ErrorCode::InvalidPath);
    }
}

fn one(id: &str) -> RestoreRequest {
    RestoreRequest::Page {
        id: page_id(id),
        revision: None,
    }
}

#[test]
fn an_upsert_keeps_what_a_person_saved_before_it() {
    let (wiki, source) = one_page();
    let theirs = page_text("a", source, "# A\n\ntheir words\n");
    fs::write(wiki.file("a"), &theirs).unwrap();
    wiki.page("a", source, "# A\n\nour words\n");
    assert_eq!(wiki.story("a"), ["written", "adopted", "written"]);
    let old = wiki
        .wiki
        .read_page(&wiki.ctx, &page_id("a"), Some("2"))
        .unwrap();
    assert_eq!(old.markdown, theirs);
}

#[test]
fn an_upsert_over_text_that_is_no_page_keeps_it_too() {
    let (wiki, source) = one_page();
    fs::write(wiki.file("a"), "a person's notes\n").unwrap();
    let report = wiki.page("a", source, "# A\n\nour words\n");
    assert_eq!(wiki.story("a"), ["written", "displaced", "written"]);
    let displaced = report.displaced.expect("the text is reported");
    let at = displaced.to_string();
    let kept = wiki.wiki.read_page(&wiki.ctx, &page_id("a"), Some(&at));
    assert_eq!(kept.unwrap().markdown, "a person's notes\n");
}

#[test]
fn what_the_tree_lost_is_no_sound_wiki() {
    let (wiki, source) = one_page();
    wiki.page("b", source, "See [a](a.md).\n");
    let lost = || -> Vec<(String, bool)> {
        let report = wiki.wiki.verify(&wiki.ctx).unwrap();
        assert_eq!(report.sound, report.findings.is_empty());
        let hints = |message: &str| message.contains("llmwiki restore --missing");
        let findings = report.findings.into_iter();
        findings
            .map(|found| (found.subject, hints(&found.message)))
            .collect()
    };
    assert_eq!(lost(), []);
    fs::remove_file(wiki.file("a")).unwrap();
    let folder = wiki.root().join(format!("sources/{source}"));
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        lost(),
        [
            (format!("sources/{source}"), true),
            ("pages/a.md".into(), true)
        ]
    );
    wiki.wiki
        .restore(&wiki.ctx, &RestoreRequest::Missing, false)
        .unwrap();
    assert_eq!(lost(), []);
    // A page that a person deleted is gone for good with the next command.
    fs::remove_file(wiki.file("b")).unwrap();
    assert_eq!(lost(), [("pages/b.md".into(), true)]);
    wiki.search("words");
    assert_eq!(lost(), []);
    // Nothing of the tree is left.
    fs::remove_dir_all(wiki.root().join("pages")).unwrap();
    assert_eq!(lost(), [("pages/a.md".into(), true)]);
}

#[test]
fn a_page_of_git_that_cites_a_source_we_lack_says_so_until_it_comes() {
    let (wiki, source) = one_page();
    let other = TestWiki::new();
    let theirs = other.source("Their evidence.\n");
    fs::write(wiki.file("b"), page_text("b", theirs, "# B\n\nbeta\n")).unwrap();
    assert_eq!(wiki.search("beta"), ["b"]);
    let report = wiki.wiki.read_page(&wiki.ctx, &page_id("b"), None).unwrap();
    assert_eq!(report.missing_sources, [theirs.to_string()]);
    let folder = format!("sources/{theirs}");
    fs::create_dir(wiki.root().join(&folder)).unwrap();
    for name in ["content", "metadata.json"] {
        let name = format!("{folder}/{name}");
        fs::copy(other.root().join(&name), wiki.root().join(&name)).unwrap();
    }
    let report = wiki.wiki.read_page(&wiki.ctx, &page_id("b"), None).unwrap();
    assert!(report.missing_sources.is_empty());
    assert_ne!(theirs, source);
    wiki.must_be_sound();
}

#[test]
fn bytes_that_are_not_their_folders_name_are_never_taken_in() {
    let (wiki, source) = one_page();
    let fake = "0".repeat(64);
    let folder = wiki.root().join("sources").join(&fake);
    fs::create_dir(&folder).unwrap();
    let metadata = fs::read_to_string(wiki.root().join(format!("sources/{source}/metadata.json")));
    fs::write(
        folder.join("metadata.json"),
        metadata.unwrap().replace(&source.to_string(), &fake),
    )
    .unwrap();
    fs::write(folder.join("content"), "Evidence.\n").unwrap();
    assert_eq!(wiki.search("alpha"), ["a"]);
    let error = wiki
        .wiki
        .read_source(&wiki.ctx, fake.parse().unwrap(), None, None)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidPage);
}

#[test]
fn nothing_is_taken_in_while_git_is_at_work() {
    let (wiki, source) = one_page();
    wiki.search("alpha");
    fs::create_dir(wiki.dir.path().join(".git")).unwrap();
    fs::write(wiki.dir.path().join(".git/index.lock"), "").unwrap();
    fs::write(wiki.file("b"), page_text("b", source, "# B\n\nbeta\n")).unwrap();
    let request = SearchRequest {
        query: "beta".into(),
        limit: None,
        explain: false,
    };
    let report = wiki.wiki.search(&wiki.ctx, &request).unwrap();
    assert_eq!((report.hits.len(), report.pending), (0, 1));
    fs::remove_file(wiki.dir.path().join(".git/index.lock")).unwrap();
    assert_eq!(wiki.search("beta"), ["b"]);
}

#[test]
fn status_counts_the_tree_and_adopts_nothing() {
    let (wiki, source) = one_page();
    fs::write(wiki.file("b"), page_text("b", source, "# B\n\nbeta\n")).unwrap();
    let status = wiki.wiki.status(&wiki.ctx).unwrap();
    assert_eq!(
        (status.page_count, status.pending, status.index.fresh),
        (2, 1, false)
    );
    let status = wiki.wiki.status(&wiki.ctx).unwrap();
    assert_eq!(status.pending, 1, "looking changes nothing");
    wiki.search("beta");
    let status = wiki.wiki.status(&wiki.ctx).unwrap();
    assert_eq!((status.pending, status.index.fresh), (0, true));
}

#[test]
fn a_store_moved_aside_under_an_open_handle_is_not_written_to() {
    let (wiki, source) = one_page();
    wiki.search("alpha");
    let store = wiki.root().join(".store/wiki.redb");
    let aside = wiki.root().join("aside.redb");
    fs::rename(&store, &aside).unwrap();
    wiki.page("b", source, "# B\n\nbeta\n");
    let moved = fs::read(&aside).unwrap();
    let holds = |needle: &[u8]| moved.windows(needle.len()).any(|window| window == needle);
    assert!(
        holds(b"Title of a") && !holds(b"Title of b"),
        "the moved file gets no commits"
    );
    assert_eq!(wiki.search("alpha"), ["a"]);
    assert_eq!(wiki.search("beta"), ["b"]);
    assert!(store.exists());
    wiki.must_be_sound();
}

#[test]
fn a_store_removed_under_an_open_handle_is_built_anew_from_the_tree() {
    let (wiki, _) = one_page();
    let other = wiki.again();
    assert_eq!(other.search("alpha"), ["a"]);
    fs::remove_dir_all(wiki.root().join(".store")).unwrap();
    assert_eq!(wiki.search("alpha"), ["a"]);
    assert_eq!(other.search("alpha"), ["a"]);
    wiki.must_be_sound();
}

#[test]
fn recapture_keeps_the_first_record_and_notes_the_next() {
    let wiki = TestWiki::new();
    let source = |name: &str, origin: &str| llmwiki::wiki::NewSource {
        name: name.into(),
        content: b"Evidence.\n".to_vec(),
        media_type: None,
        origin: Some(origin.into()),
    };
    let first = wiki
        .wiki
        .add_source(&wiki.ctx, source("first", "here"))
        .unwrap();
    let again = wiki
        .wiki
        .add_source(&wiki.ctx, source("second", "there"))
        .unwrap();
    assert_eq!((first.deduplicated, again.deduplicated), (false, true));
    assert_eq!((again.metadata.name.as_str(), again.captures), ("first", 2));
    let events = wiki
        .root()
        .join(format!("sources/{}/events.jsonl", first.id));
    assert!(fs::read_to_string(&events).unwrap().contains("\"there\""));
    // The event survives the store.
    fs::remove_dir_all(wiki.root().join(".store")).unwrap();
    let third = wiki
        .wiki
        .add_source(&wiki.ctx, source("third", "elsewhere"))
        .unwrap();
    assert_eq!(third.captures, 3);
}

#[test]
fn a_source_that_a_crash_left_incomplete_is_completed() {
    let (wiki, source) = one_page();
    for lost in ["metadata.json", "content"] {
        fs::remove_file(wiki.root().join(format!("sources/{source}/{lost}"))).unwrap();
        assert_eq!(wiki.source("Evidence.\n"), source);
        let folder = wiki.root().join(format!("sources/{source}"));
        assert!(folder.join("content").exists() && folder.join("metadata.json").exists());
    }
    wiki.must_be_sound();
}

#[test]
fn switching_a_branch_of_many_pages_to_and_fro_settles() {
    let (wiki, source) = one_page();
    for round in 0..3 {
        for number in 0..300 {
            let word = if round % 2 == 0 { "even" } else { "odd" };
            let id = format!("many/p{number:03}");
            let text = page_text(&id, source, &format!("# P\n\n{word} number{number}\n"));
            fs::create_dir_all(wiki.root().join("pages/many")).unwrap();
            fs::write(wiki.file(&id), text).unwrap();
        }
        let (now, then) = if round % 2 == 0 {
            ("even", "odd")
        } else {
            ("odd", "even")
        };
        assert_eq!(wiki.search(now).len(), 20);
        assert!(wiki.search(then).is_empty());
        assert_eq!(wiki.search("number123"), ["many/p123"]);
    }
    fs::remove_dir_all(wiki.root().join("pages/many")).unwrap();
    assert!(wiki.search("number123").is_empty());
    wiki.must_be_sound();
}

/// Saves a file at the moment when a staged one is about to be swapped in.
struct SaveInBetween {
    path: std::path::PathBuf,
    text: String,
    done: std::sync::atomic::AtomicBool,
}

impl Faults for SaveInBetween {
    fn before(&self, op: FaultOp, what: &str) -> std::io::Result<()> {
        let first = || !self.done.swap(true, std::sync::atomic::Ordering::SeqCst);
        if op == FaultOp::Rename && what == "pages/a.md" && first() {
            fs::write(&self.path, &self.text)?;
        }
        Ok(())
    }
}

#[test]
fn a_save_that_falls_into_an_upsert_is_kept_and_reported() {
    let (wiki, source) = one_page();
    let theirs = page_text("a", source, "# A\n\ntheir words\n");
    let faults = SaveInBetween {
        path: wiki.file("a"),
        text: theirs.clone(),
        done: false.into(),
    };
    let options = TreeOptions {
        faults: Some(Arc::new(faults)),
        ..TreeOptions::default()
    };
    let busy = TestWiki::at(Arc::clone(&wiki.dir), options);
    let report = busy.page("a", source, "# A\n\nour words\n");
    let displaced = report.displaced.expect("the save is reported");
    assert!(wiki.text("a").contains("our words"));
    let kept = wiki
        .wiki
        .read_page(&wiki.ctx, &page_id("a"), Some(&displaced.to_string()))
        .unwrap();
    assert_eq!(kept.markdown, theirs);
    assert_eq!(wiki.story("a"), ["written", "written", "displaced"]);
    wiki.must_be_sound();
}

#[test]
fn a_save_that_falls_into_a_deletion_is_kept() {
    let (wiki, source) = one_page();
    let theirs = page_text("a", source, "# A\n\ntheir words\n");
    let faults = SaveInBetween {
        path: wiki.file("a"),
        text: theirs.clone(),
        done: false.into(),
    };
    let options = TreeOptions {
        faults: Some(Arc::new(faults)),
        ..TreeOptions::default()
    };
    let busy = TestWiki::at(Arc::clone(&wiki.dir), options);
    busy.wiki
        .delete_page(&busy.ctx, &page_id("a"), Expectation::Any, "")
        .unwrap();
    assert_eq!(wiki.story("a"), ["written", "deleted", "displaced"]);
    let newest = wiki
        .wiki
        .read_page(&wiki.ctx, &page_id("a"), Some("3"))
        .unwrap();
    assert_eq!(newest.markdown, theirs);
}

#[test]
fn files_that_come_and_go_under_a_search_are_no_error() {
    let (wiki, source) = one_page();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let text = page_text("b", source, "# B\n\nbeta\n");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(wiki.file("b"), &text).unwrap();
                fs::remove_file(wiki.file("b")).unwrap();
            }
        });
        for _ in 0..100 {
            assert_eq!(wiki.search("alpha"), ["a"]);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(wiki.search("beta").is_empty());
    wiki.must_be_sound();
}

#[test]
fn what_expected_sha256_says_is_compared_with_the_file() {
    let (wiki, source) = one_page();
    let write = |expected| {
        let page = UpsertPage {
            expected,
            ..page("a", source, "# A\n\nnew words\n")
        };
        wiki.wiki.upsert_page(&wiki.ctx, page)
    };
    let now = wiki
        .wiki
        .read_page(&wiki.ctx, &page_id("a"), None)
        .unwrap()
        .sha256;
    let conflict = write(Expectation::Absent).unwrap_err();
    assert_eq!(conflict.code(), ErrorCode::Conflict);
    assert!(conflict.message().contains(&now), "{conflict}");
    // An edit that nobody has taken in yet counts.
    fs::write(
        wiki.file("a"),
        page_text("a", source, "# A\n\ntheir words\n"),
    )
    .unwrap();
    let expected = Expectation::Sha256(now.parse().unwrap());
    assert_eq!(write(expected).unwrap_err().code(), ErrorCode::Conflict);
    assert_eq!(wiki.search("their"), ["a"]);
    let now = wiki
        .wiki
        .read_page(&wiki.ctx, &page_id("a"), None)
        .unwrap()
        .sha256;
    assert!(
        !write(Expectation::Sha256(now.parse().unwrap()))
            .unwrap()
            .created
    );
}
