//! `PAGE_INVALID_MARKDOWN`: a page breaks the page grammar, is not UTF-8, is too large or cannot be
//! read. The message says which line and why. Such a page is kept out of search.
use crate::lint::facts::{PageFile, PageName};
use crate::lint::{Check, Code, Facts, PageFacts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("PAGE_INVALID_MARKDOWN"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a page breaks the page grammar",
    hint: "correct the line that the message names; `docs/format.md` has the grammar",
    bad: "---\ntitle: Release notes\nsummary: \"One line.\"\nsources:\n  - \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"\n---\n\nText.",
    good: "---\ntitle: \"Release notes\"\nsummary: \"One line.\"\nsources:\n  - \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"\n---\n\nText.",
    check: Check::Page(check),
};

fn check(page: &PageFacts, _: &Facts, sink: &mut Sink) {
    if !matches!(page.name, PageName::Id(_)) {
        return;
    }
    match &page.file {
        PageFile::Invalid { cause, line, .. } => {
            sink.report_at(&RULE, &page.path, *line, cause.clone());
        }
        PageFile::Unreadable(reason) => {
            sink.report(&RULE, &page.path, format!("cannot be read: {reason}"));
        }
        PageFile::NotRead | PageFile::NotFile(_) | PageFile::Page(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, page_of_bytes};

    #[test]
    fn fires_on_broken_frontmatter_with_line_and_cause() {
        assert_reports(&super::RULE, page("a", "A", "x"), 0);
        assert_reports(&super::RULE, page_of_bytes("a", b"# A\n"), 1);
        assert_reports(
            &super::RULE,
            page_of_bytes("a", b"---\ntitle: \"\xff\"\n"),
            1,
        );
        let id = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let text = format!(
            "---\ntitle: Release notes: May\nsummary: \"s\"\nsources:\n  - \"{id}\"\n---\n\nx\n"
        );
        let found = assert_reports(&super::RULE, page_of_bytes("a", text.as_bytes()), 1);
        assert_eq!(found[0].line, Some(2));
        assert!(found[0].message.contains("title"), "{}", found[0].message);
    }
}
