//! `BROKEN_FRAGMENT`: a link names a place in a page that the page does not have. Anchors are made of
//! headings as GitHub makes them; a wikilink may also give the heading as it is written. Links to
//! blocks (`#^id`) and to pages that do not exist are not judged.
use crate::lint::{Check, Code, Facts, PageFacts, Rule, Severity, Sink, Spot};
use crate::page::Resolution;
use crate::page::slug;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("BROKEN_FRAGMENT"),
    severity: Severity::Warning,
    on_request: true,
    meaning: "a link names a heading that the page does not have",
    hint: "correct the part behind #, or the heading",
    bad: "[setup](install.md#step-tow)",
    good: "[setup](install.md#step-two)",
    check: Check::Page(check),
};

fn check(page: &PageFacts, facts: &Facts, sink: &mut Sink) {
    let Some((_, text)) = page.page() else { return };
    for fact in &text.links {
        let (Some(fragment), Resolution::Page(target)) = (&fact.link.fragment, &fact.resolution)
        else {
            continue;
        };
        let Some((_, there)) = facts.page(target) else {
            continue;
        };
        if fragment.is_empty() || fragment.eq_ignore_ascii_case("top") || fragment.starts_with('^')
        {
            continue;
        }
        // A wikilink names a chain of headings, of which the last is the place.
        let last = fragment.rsplit('#').next().unwrap_or(fragment);
        let wanted = [fragment.clone(), slug(last)];
        let is_there = |anchor: &String| there.anchors.binary_search(anchor).is_ok();
        if !wanted.iter().any(is_there) {
            sink.report_at(
                &RULE,
                &page.path,
                Spot::of_link(&fact.link),
                format!("page {:?} has no heading for #{fragment}", target.as_str()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, wiki};

    #[test]
    fn fires_on_places_that_the_page_does_not_have() {
        let there = "# Step two\n\n## Same\n\n## Same\n\n# \u{6771}\u{4eac}\n\n<a id=\"mark\"></a>";
        let facts = |link: &str| wiki([page("a", "A", link), page("b", "B", there)], []);
        for link in [
            "[x](b.md#step-two)",
            "[x](b.md#same-1)",
            "[[b#Step two]]",
            "[x](b.md#mark)",
            "[x](b.md#\u{6771}\u{4eac})",
            "[x](b.md)",
            "[[b#^block]]",
            "[x](gone.md#y)",
            "[x](b.md#)",
        ] {
            assert_reports(&super::RULE, facts(link), 0);
        }
        for link in [
            "[x](b.md#step-tow)",
            "[x](b.md#same-2)",
            "[[b#Step three]]",
            "[x](#here)",
        ] {
            assert_reports(&super::RULE, facts(link), 1);
        }
    }
}
