//! A citation that cannot be opened cannot be stored; what people wrote themselves is taken in,
//! and comes back as it was.

use std::fs;

use llmwiki::error::ErrorCode;
use llmwiki::wiki::RestoreRequest;

use crate::wikis::{TestWiki, age, page_id, page_text};

#[test]
fn a_page_that_cites_what_cannot_be_opened_is_refused_and_named() {
    let wiki = TestWiki::new();
    let source = wiki.source("one\ntwo\n");
    let absent = "c".repeat(64);
    let id = source.to_string();
    for good in [id.clone(), format!("{id}#L2"), format!("{id}#L1-L2")] {
        wiki.page("good", source, &format!("[x](llmwiki://source/{good})\n"));
    }
    for (bad, code) in [
        (format!("{id}#L3"), ErrorCode::InvalidPage),
        (format!("{id}#L2-L9"), ErrorCode::InvalidPage),
        (format!("{id}#L0"), ErrorCode::InvalidPage),
        (format!("{id}#there"), ErrorCode::InvalidPage),
        ("nonsense#L1".to_owned(), ErrorCode::InvalidPage),
        (format!("{absent}#L1"), ErrorCode::SourceNotFound),
        (absent.clone(), ErrorCode::SourceNotFound),
    ] {
        let body = format!("Text.\n\n[x](llmwiki://source/{bad})\n");
        let error = wiki.try_page("bad", source, &body).unwrap_err();
        assert_eq!(error.code(), code, "{bad}: {error}");
        assert!(error.message().contains("line 10 of page bad"), "{error}");
        assert!(!wiki.file("bad").exists());
    }
    // In code it is no citation.
    wiki.page("code", source, "`llmwiki://source/nonsense#L1`\n");
    wiki.must_be_sound();
}

#[test]
fn what_a_person_wrote_is_taken_in_and_comes_back_whatever_it_cites() {
    let wiki = TestWiki::new();
    let source = wiki.source("one\n");
    wiki.page("a", source, "words\n");
    let text = page_text("a", source, &format!("[x](llmwiki://source/{source}#L7)\n"));
    fs::write(wiki.file("a"), &text).unwrap();
    age(&wiki.file("a"));
    assert_eq!(wiki.text("a"), text);
    fs::remove_file(wiki.file("a")).unwrap();
    assert!(wiki.search("words").is_empty());
    let request = RestoreRequest::Page {
        id: page_id("a"),
        revision: None,
    };
    wiki.wiki.restore(&wiki.ctx, &request, false).unwrap();
    assert_eq!(fs::read_to_string(wiki.file("a")).unwrap(), text);
}
