//! `LINK_ESCAPES_PAGES`: a link of a page leads out of `pages/`, by `..` or by an absolute path,
//! whatever stands there.
use crate::lint::{Check, Code, Facts, PageFacts, Rule, Severity, Sink, Spot};
use crate::page::Resolution;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("LINK_ESCAPES_PAGES"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a link leads out of pages/",
    hint: "link to a page below pages/, or to a URL; cite sources by llmwiki://source/<id>",
    bad: "[the code](../../src/main.rs)",
    good: "[the code](https://example.org/src/main.rs)",
    check: Check::Page(check),
};

fn check(page: &PageFacts, _: &Facts, sink: &mut Sink) {
    let Some((_, text)) = page.page() else { return };
    for fact in &text.links {
        if fact.resolution == Resolution::Escapes {
            sink.report_at(
                &RULE,
                &page.path,
                Spot::of_link(&fact.link),
                format!("link to {:?} leads out of pages/", fact.link.target),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, wiki};

    #[test]
    fn fires_on_links_above_pages_only() {
        let linking = |target: &str| wiki([page("sub/a", "A", &format!("[x]({target})"))], []);
        for target in [
            "../../etc/passwd",
            "/top.md",
            "../../pages/sub/a.md",
            "%2e%2e/%2e%2e/x.md",
        ] {
            assert_reports(&super::RULE, linking(target), 1);
        }
        for target in ["../gone.md", "https://example.org/../..", "..", "#x"] {
            assert_reports(&super::RULE, linking(target), 0);
        }
    }
}
