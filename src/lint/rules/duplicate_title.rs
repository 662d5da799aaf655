//! `DUPLICATE_TITLE`: two pages or more have titles that readers cannot tell apart (compared after
//! Unicode normalisation and case folding), so a wikilink by title is a matter of luck.
use crate::lint::graph::shared;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("DUPLICATE_TITLE"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "a page has the title of another page",
    hint: "give each page a title of its own",
    bad: "title: \"Install\" in two pages",
    good: "title: \"Install on Linux\" and title: \"Install on macOS\"",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    let titles = facts.pages.iter().filter_map(|page| {
        let (_, text) = page.page()?;
        Some((text.folded_title.as_str(), page))
    });
    for group in shared(titles).values() {
        for page in group {
            let Some((_, text)) = page.page() else {
                continue;
            };
            let Some((other, _)) = group
                .iter()
                .find(|other| other.path != page.path)
                .and_then(|other| other.page())
            else {
                continue;
            };
            sink.report(
                &RULE,
                &page.path,
                format!(
                    "title {:?} is also that of page {:?}",
                    text.title,
                    other.as_str()
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, wiki};

    #[test]
    fn fires_on_titles_that_look_alike() {
        for (a, b, count) in [
            ("Same", "Same", 2),
            ("Same", "SAME", 2),
            ("\u{ff37}ide", "wide", 2),
            ("e\u{301}", "\u{e9}", 2),
            ("Same  title", "Same title", 0),
            ("U", "V", 0),
        ] {
            assert_reports(
                &super::RULE,
                wiki([page("a", a, "x"), page("b", b, "x")], []),
                count,
            );
        }
    }
}
