//! `BROKEN_PAGE_LINK`: a link of a page leads to a page that does not exist or is not valid. Links out
//! of `pages/` belong to `LINK_ESCAPES_PAGES`; what is no link in CommonMark is none here.
use crate::lint::{Check, Code, Facts, PageFacts, Rule, Severity, Sink, Spot};
use crate::page::{LinkKind, Resolution};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("BROKEN_PAGE_LINK"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a link leads to a page that does not exist",
    hint: "write the page, or correct the link",
    bad: "[install](guides/instal.md)",
    good: "[install](guides/install.md)",
    check: Check::Page(check),
};

fn check(page: &PageFacts, facts: &Facts, sink: &mut Sink) {
    let Some((_, text)) = page.page() else { return };
    for fact in &text.links {
        if let Resolution::Broken(wanted) = &fact.resolution {
            if facts.may_hide(wanted, fact.link.kind != LinkKind::Markdown) {
                continue;
            }
            let why = if facts.has_invalid_page(wanted) {
                "is not valid"
            } else {
                "does not exist"
            };
            sink.report_at(
                &RULE,
                &page.path,
                Spot::of_link(&fact.link),
                format!("page {wanted:?} {why}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, page_of_bytes, wiki};

    #[test]
    fn a_page_that_may_lie_where_we_may_not_look_is_not_missing() {
        let body = "[a](sub/a.md) [b](sub2/b.md) [[c]]";
        let mut facts = wiki([page("x", "X", body)], []);
        assert_reports(&super::RULE, facts.clone(), 3);
        let denied = "permission denied".to_owned();
        let unreadable = ("pages/sub".to_owned(), denied);
        facts.unreadable_directories.push(unreadable);
        let found = assert_reports(&super::RULE, facts, 1);
        assert!(found[0].message.contains("sub2/b"), "{}", found[0].message);
    }

    #[test]
    fn fires_on_each_link_to_no_page() {
        let facts = |body: &str| wiki([page("a", "A", body), page("sub/b", "B", "x")], []);
        for body in [
            "[x](sub/b.md)",
            "[x](<sub/b.md>)",
            "[[sub/b]]",
            "[[B]]",
            "`[x](gone.md)`",
            "[x](gone)",
        ] {
            assert_reports(&super::RULE, facts(body), 0);
        }
        for body in [
            "[x](gone.md)",
            "[[gone]]",
            "[x][r]\n\n[r]: gone.md",
            "[a [b] c](gone.md)",
        ] {
            assert_reports(&super::RULE, facts(body), 1);
        }
        let found = assert_reports(&super::RULE, facts("[x](n2.md)\n\n[y](n1.md)"), 2);
        assert_eq!(
            found.iter().map(|d| d.line).collect::<Vec<_>>(),
            [Some(8), Some(10)]
        );
    }

    #[test]
    fn says_when_the_page_is_there_but_not_valid() {
        let facts = wiki(
            [page("a", "A", "[x](b.md)"), page_of_bytes("b", b"# B\n")],
            [],
        );
        let found = assert_reports(&super::RULE, facts, 1);
        assert_eq!(found[0].message, "page \"b\" is not valid");
    }
}
