//! `PAGE_CASE_CONFLICT`: two pages have ids that differ only by letter case or Unicode normalisation.
//! Some file systems take them for one file, and a checkout there loses one of them.
use crate::lint::graph::shared;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("PAGE_CASE_CONFLICT"),
    severity: Severity::Warning,
    on_request: true,
    meaning: "two page ids differ only by letter case or Unicode normalisation",
    hint: "rename one of the pages",
    bad: "pages/Install.md and pages/install.md",
    good: "pages/install.md and pages/install-faq.md",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    let ids = facts.pages.iter().filter_map(|page| {
        let (id, _) = page.page()?;
        Some((id.fold_key(), (page, id)))
    });
    for group in shared(ids).values() {
        for (page, id) in group {
            if let Some((_, other)) = group.iter().find(|(_, other)| other != id) {
                sink.report(
                    &RULE,
                    &page.path,
                    format!(
                        "differs from page {:?} only by case or normalisation",
                        other.as_str()
                    ),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, wiki};

    #[test]
    fn fires_on_both_pages_of_a_pair() {
        let pair = |a: &str, b: &str| wiki([page(a, "A", "x"), page(b, "B", "x")], []);
        assert_reports(&super::RULE, pair("Install", "install"), 2);
        assert_reports(&super::RULE, pair("caf\u{e9}", "cafe\u{301}"), 2);
        assert_reports(&super::RULE, pair("a/install", "b/install"), 0);
    }
}
