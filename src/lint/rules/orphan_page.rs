//! `ORPHAN_PAGE`: no other page links to this one, so only search finds it. A page named `index` or
//! `README` is an entry and needs no link, nor does the only page of a wiki.
use std::collections::HashSet;

use crate::id::PageId;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};
use crate::page::Resolution;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("ORPHAN_PAGE"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "no other page links to this page",
    hint: "link to it from a page that readers pass",
    bad: "pages/setup.md that no page links to",
    good: "pages/index.md with [setup](setup.md)",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    let pages = || {
        facts
            .pages
            .iter()
            .filter_map(|page| Some((page, page.page()?)))
    };
    if pages().count() < 2 {
        return;
    }
    let mut linked: HashSet<&PageId> = HashSet::new();
    for (_, (id, text)) in pages() {
        for fact in &text.links {
            if let Resolution::Page(target) = &fact.resolution
                && target != id
            {
                linked.insert(target);
            }
        }
    }
    for (page, (id, _)) in pages() {
        if !linked.contains(id) && !is_entry(id) {
            sink.report(
                &RULE,
                &page.path,
                "no other page links to this page".to_owned(),
            );
        }
    }
}

/// Whether a page is one where readers start: `index` or `README`, in any case, at any level.
fn is_entry(id: &PageId) -> bool {
    let name = id.base_name();
    name.eq_ignore_ascii_case("index") || name.eq_ignore_ascii_case("readme")
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, page, page_of_bytes, wiki};

    #[test]
    fn orphan_page_ignores_self_links_and_links_of_invalid_pages() {
        let two = |a: &str, b: &str| wiki([page("a", "A", a), page("b", "B", b)], []);
        assert_reports(&super::RULE, two("[b](b.md)", "[a](a.md)"), 0);
        assert_reports(&super::RULE, two("[a](a.md)", "[a](a.md)"), 1);
        assert_reports(&super::RULE, two("x", "y"), 2);
        let invalid = page_of_bytes("c", b"[b](b.md)");
        let facts = wiki(
            [page("a", "A", "x"), page("b", "B", "[a](a.md)"), invalid],
            [],
        );
        assert_reports(&super::RULE, facts, 1);
    }

    #[test]
    fn entry_pages_and_the_only_page_are_no_orphans() {
        assert_reports(&super::RULE, wiki([page("a", "A", "x")], []), 0);
        for entry in ["index", "guides/README"] {
            let facts = wiki([page(entry, "Home", "[a](/a)"), page("a", "A", "x")], []);
            assert_reports(&super::RULE, facts, 1);
        }
    }
}
