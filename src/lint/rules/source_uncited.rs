//! `SOURCE_UNCITED`: no page cites this source. That is no fault in itself, so it is only reported
//! when asked for.
use std::collections::BTreeSet;

use crate::id::SourceId;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_UNCITED"),
    severity: Severity::Warning,
    on_request: true,
    meaning: "no page cites this source",
    hint: "write a page that uses it, or leave it for later",
    bad: "sources/ba78.../ that no page lists",
    good: "a page with \"ba78...\" in its `sources`",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    let cited: BTreeSet<SourceId> = facts.cited_sources().map(|(_, id)| id).collect();
    for source in &facts.sources {
        if let Some(id) = source.id()
            && !cited.contains(&id)
        {
            sink.report(&RULE, &source.path, "no page cites this source".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::id::SourceId;
    use crate::lint::testing::{assert_reports, page_citing, source, wiki};

    #[test]
    fn fires_on_sources_that_neither_frontmatter_nor_body_names() {
        let id = SourceId::of(b"def");
        let facts = |body: &str| {
            wiki(
                [page_citing("a", &[b"abc"], body)],
                [source(b"abc"), source(b"def")],
            )
        };
        assert_reports(&super::RULE, facts("x"), 1);
        assert_reports(
            &super::RULE,
            facts(&format!("[x](llmwiki://source/{id})")),
            0,
        );
    }
}
