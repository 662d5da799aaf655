//! Killed at any instruction: the wiki is the old one or the new one, and the next command mends
//! what was left over.

use std::fs;
use std::sync::Arc;

use llmwiki::tree::{FailFrom, TreeOptions};

use crate::wikis::{TestWiki, page_id};

const OLD: &str = "# A\n\nold words\n";
const NEW: &str = "# A\n\nnew words\n";

/// A wiki with one page and one source.
fn prepared() -> (TestWiki, llmwiki::id::SourceId) {
    let wiki = TestWiki::new();
    let source = wiki.source("Evidence.\n");
    wiki.page("a", source, OLD);
    (wiki, source)
}

/// What must hold after a crash in an upsert of `a`, whatever was acknowledged.
fn check_after(wiki: &TestWiki, acknowledged: bool, at: &str) {
    let next = wiki.again();
    let found = (next.search("new").len(), next.search("old").len());
    assert!(
        found == (1, 0) || found == (0, 1),
        "{at}: old or new, not {found:?}"
    );
    if acknowledged {
        assert_eq!(found, (1, 0), "{at}: an acknowledged write is there");
    }
    // The next write mends what was left over, and the tree says what the store says.
    let source = next.source("More evidence.\n");
    next.page("b", source, "# B\n\nbeta\n");
    let file = fs::read_to_string(next.file("a")).unwrap();
    assert_eq!(file, next.text("a"), "{at}");
    assert!(
        file.contains("new words") == (next.search("new").len() == 1),
        "{at}"
    );
    next.page("b", source, "# B\n\nbeta again\n");
    let staged: Vec<_> = fs::read_dir(next.root().join(".store/tmp"))
        .unwrap()
        .collect();
    assert!(staged.len() <= 1, "{at}: {staged:?}");
    next.must_be_sound();
}

#[test]
fn an_upsert_that_dies_at_any_call_of_the_tree_is_done_or_not() {
    for allowed in 0.. {
        let (wiki, source) = prepared();
        let faults = Arc::new(FailFrom::new(allowed));
        let options = TreeOptions {
            faults: Some(faults.clone()),
            ..TreeOptions::default()
        };
        let dying = TestWiki::at(Arc::clone(&wiki.dir), options);
        let result = dying.try_page("a", source, NEW);
        drop(dying);
        check_after(&wiki, result.is_ok(), &format!("tree call {allowed}"));
        if faults.seen() <= allowed {
            assert!(allowed > 4, "a write makes more calls than {allowed}");
            break;
        }
    }
}

#[test]
fn an_upsert_that_dies_at_any_call_of_the_store_is_done_or_not() {
    for allowed in 0.. {
        let (wiki, source) = prepared();
        let faults = Arc::new(FailFrom::new(allowed));
        let dying = wiki.again().with_store_faults(faults.clone());
        let result = dying.try_page("a", source, NEW);
        drop(dying);
        check_after(&wiki, result.is_ok(), &format!("store call {allowed}"));
        if faults.seen() <= allowed {
            assert!(allowed > 4, "a commit makes more calls than {allowed}");
            break;
        }
    }
}

#[test]
fn a_delete_that_dies_at_any_call_of_the_tree_is_done_or_not() {
    for allowed in 0.. {
        let (wiki, _) = prepared();
        let faults = Arc::new(FailFrom::new(allowed));
        let options = TreeOptions {
            faults: Some(faults.clone()),
            ..TreeOptions::default()
        };
        let dying = TestWiki::at(Arc::clone(&wiki.dir), options);
        let id = page_id("a");
        let result = dying
            .wiki
            .delete_page(&dying.ctx, &id, llmwiki::wiki::Expectation::Any, "");
        drop(dying);
        let next = wiki.again();
        let source = next.source("More evidence.\n");
        next.page("b", source, "# B\n\nbeta\n");
        let gone = next.search("old").is_empty();
        assert_eq!(gone, !next.file("a").exists(), "tree call {allowed}");
        if result.is_ok() {
            assert!(gone, "tree call {allowed}: an acknowledged deletion holds");
        }
        next.must_be_sound();
        if faults.seen() <= allowed {
            break;
        }
    }
}

#[test]
fn a_capture_that_dies_at_any_call_of_the_tree_heals_at_the_next_one() {
    for allowed in 0.. {
        let (wiki, _) = prepared();
        let faults = Arc::new(FailFrom::new(allowed));
        let options = TreeOptions {
            faults: Some(faults.clone()),
            ..TreeOptions::default()
        };
        let dying = TestWiki::at(Arc::clone(&wiki.dir), options);
        let source = llmwiki::wiki::NewSource {
            name: "n".into(),
            content: b"fresh".to_vec(),
            ..llmwiki::wiki::NewSource::default()
        };
        let result = dying.wiki.add_source(&dying.ctx, source);
        drop(dying);
        let next = wiki.again();
        if let Ok(report) = &result {
            let id = report.id.parse().unwrap();
            assert_eq!(
                next.wiki
                    .read_source(&next.ctx, id, None, None)
                    .unwrap()
                    .bytes,
                b"fresh"
            );
        }
        let id = next.source("fresh");
        assert_eq!(
            next.wiki
                .read_source(&next.ctx, id, None, None)
                .unwrap()
                .bytes,
            b"fresh"
        );
        next.page("c", id, "# C\n\ngamma\n");
        next.must_be_sound();
        if faults.seen() <= allowed {
            break;
        }
    }
}

#[test]
fn the_first_write_of_a_wiki_that_dies_at_any_call_leaves_a_wiki_that_works() {
    for allowed in 0.. {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let faults = Arc::new(FailFrom::new(allowed));
        let options = TreeOptions {
            faults: Some(faults.clone()),
            ..TreeOptions::default()
        };
        let dying = TestWiki::at(Arc::clone(&dir), options);
        let source = llmwiki::wiki::NewSource {
            name: "n".into(),
            content: b"fresh".to_vec(),
            ..llmwiki::wiki::NewSource::default()
        };
        let _ = dying.wiki.add_source(&dying.ctx, source);
        drop(dying);
        let next = TestWiki::at(dir, TreeOptions::default());
        let id = next.source("fresh");
        next.page("c", id, "# C\n\ngamma\n");
        assert_eq!(next.search("gamma"), ["c"]);
        next.must_be_sound();
        if faults.seen() <= allowed {
            break;
        }
    }
}

#[test]
fn damage_of_the_store_is_mended_from_the_tree_and_sources_stay_intact() {
    for (name, harm) in [
        (
            "empty",
            &(|bytes: &mut Vec<u8>| bytes.clear()) as &dyn Fn(&mut Vec<u8>),
        ),
        ("half", &|bytes: &mut Vec<u8>| {
            bytes.truncate(bytes.len() / 2);
        }),
        ("not a store", &|bytes: &mut Vec<u8>| {
            *bytes = b"hello".to_vec();
        }),
        ("header gone", &|bytes: &mut Vec<u8>| bytes[..512].fill(0)),
    ] {
        let (wiki, source) = prepared();
        let path = wiki.root().join(".store/wiki.redb");
        let mut bytes = fs::read(&path).unwrap();
        harm(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let next = wiki.again();
        assert_eq!(next.search("old"), ["a"], "{name}");
        let read = next
            .wiki
            .read_source(&next.ctx, source, None, None)
            .unwrap();
        assert_eq!(read.bytes, b"Evidence.\n", "{name}");
        let kept = fs::read_dir(next.root().join(".store")).unwrap();
        let kept = kept.filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .starts_with("wiki.redb.bad-")
        });
        assert_eq!(kept.count(), 1, "{name}: the damaged file is kept");
        next.must_be_sound();
    }
}

/// Numbers that look random and are the same in every run.
fn scattered(seed: u64) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(29)
        .wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[test]
fn any_flipped_bit_of_the_store_is_mended_and_sources_stay_intact() {
    let (wiki, source) = prepared();
    for number in 0..8 {
        let text = format!("# B\n\nbeta number{number}\n\n## More\n\nmore words\n");
        wiki.page(&format!("b{number}"), source, &text);
    }
    wiki.search("beta");
    let path = wiki.root().join(".store/wiki.redb");
    drop(wiki.again());
    let dir = Arc::clone(&wiki.dir);
    drop(wiki);
    let sound = fs::read(&path).unwrap();
    for round in 0..40u64 {
        let bit = scattered(round + 1) % (sound.len() as u64 * 8);
        let mut bytes = sound.clone();
        bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        let next = TestWiki::at(Arc::clone(&dir), TreeOptions::default());
        let request = llmwiki::wiki::SearchRequest {
            query: "beta".into(),
            limit: None,
            explain: false,
        };
        // Looking says what is wrong, whatever it is, and changes nothing.
        let verified = next.wiki.verify(&next.ctx);
        assert!(verified.is_ok(), "bit {bit}: {:?}", verified.err());
        let report = next.wiki.search(&next.ctx, &request);
        let report = report.unwrap_or_else(|error| panic!("bit {bit}: {error}"));
        assert_eq!(report.hits.len(), 8, "bit {bit}");
        let read = next
            .wiki
            .read_source(&next.ctx, source, None, None)
            .unwrap();
        assert_eq!(read.bytes, b"Evidence.\n", "bit {bit}");
        let after = next.source("More evidence.\n");
        next.page("c", after, "# C\n\ngamma\n");
        assert_eq!(next.search("gamma"), ["c"], "bit {bit}");
        assert_eq!(next.search("beta").len(), 8, "bit {bit}");
        drop(next);
        fs::remove_file(dir.path().join("wiki/pages/c.md")).unwrap();
    }
}
