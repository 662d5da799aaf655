//! `PAGE_MISSING_SOURCE`: the frontmatter of a page cites a source that the wiki does not have, or
//! whose bytes or record are damaged; each is reported.
use crate::lint::facts::DirectoryFacts;
use crate::lint::{Check, Code, Facts, PageFacts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("PAGE_MISSING_SOURCE"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a page cites a source that is missing or damaged",
    hint: "add the source, restore it, or take its id out of the frontmatter",
    bad: "sources:\n  - \"<id of nothing in sources/>\"",
    good: "sources:\n  - \"<id of a directory in sources/>\"",
    check: Check::Page(check),
};

fn check(page: &PageFacts, facts: &Facts, sink: &mut Sink) {
    let Some((_, text)) = page.page() else { return };
    if facts.sources_directory == DirectoryFacts::Unreadable {
        return;
    }
    for id in &text.sources {
        match facts.source(*id) {
            Some(source) if source.is_sound() => {}
            Some(_) => sink.report(&RULE, &page.path, format!("source {id} is damaged")),
            None => sink.report(
                &RULE,
                &page.path,
                format!("source {id} is not in this wiki"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::DirectoryFacts;
    use crate::lint::testing::{assert_reports, page_citing, source, wiki};

    #[test]
    fn fires_for_each_source_that_cannot_be_opened() {
        let page = || page_citing("a", &[b"abc", b"def"], "x");
        assert_reports(
            &super::RULE,
            wiki([page()], [source(b"abc"), source(b"def")]),
            0,
        );
        assert_reports(&super::RULE, wiki([page()], [source(b"abc")]), 1);
        assert_reports(&super::RULE, wiki([page()], []), 2);
        // What may not be looked at is not missing.
        let mut hidden = wiki([page()], []);
        hidden.sources_directory = DirectoryFacts::Unreadable;
        assert_reports(&super::RULE, hidden, 0);
        let damaged = source(b"abc").with_content(b"abd");
        assert_reports(&super::RULE, wiki([page()], [damaged, source(b"def")]), 1);
    }

    #[test]
    fn a_source_whose_record_has_a_key_too_many_can_still_be_cited() {
        let odd = source(b"abc").with_extra_key("note");
        assert_reports(
            &super::RULE,
            wiki([page_citing("a", &[b"abc"], "x")], [odd]),
            0,
        );
    }
}
