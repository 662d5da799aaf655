//! `CITATION_UNDECLARED`: the body cites lines of a source that the frontmatter does not list, so
//! readers of `sources` and other tools do not learn of it. Reported once for each source, at the
//! first such citation.
use std::collections::BTreeSet;

use crate::lint::{Check, Code, Facts, PageFacts, Rule, Severity, Sink, Spot};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("CITATION_UNDECLARED"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "a source is cited in the body but not listed in the frontmatter",
    hint: "add its id to `sources` in the frontmatter",
    bad: "sources:\n  - \"<id of one source>\"\n---\n\n[measured](llmwiki://source/<id of another>#L2)",
    good: "sources:\n  - \"<id of one source>\"\n  - \"<id of another>\"\n---\n\n[measured](llmwiki://source/<id of another>#L2)",
    check: Check::Page(check),
};

fn check(page: &PageFacts, facts: &Facts, sink: &mut Sink) {
    let Some((_, text)) = page.page() else { return };
    let mut seen = BTreeSet::new();
    for citation in &text.citations {
        let Ok(id) = citation.source else { continue };
        // A source that is not there is CITATION_BROKEN.
        if facts.source(id).is_some() && text.sources.binary_search(&id).is_err() && seen.insert(id)
        {
            sink.report_at(
                &RULE,
                &page.path,
                Spot::of_citation(citation),
                format!("source {id} is cited here but not listed in the frontmatter"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::id::SourceId;
    use crate::lint::testing::{assert_reports, page_citing, source, wiki};

    #[test]
    fn fires_once_for_each_source_that_the_frontmatter_lacks() {
        let id = SourceId::of(b"def");
        let body = format!("[x](llmwiki://source/{id}#L1) and [y](llmwiki://source/{id})");
        let sources = || [source(b"abc"), source(b"def")];
        assert_reports(
            &super::RULE,
            wiki([page_citing("a", &[b"abc"], &body)], sources()),
            1,
        );
        let listed = page_citing("a", &[b"abc", b"def"], &body);
        assert_reports(&super::RULE, wiki([listed], sources()), 0);
        let broken = page_citing("a", &[b"abc"], &body);
        assert_reports(&super::RULE, wiki([broken], [source(b"abc")]), 0);
    }
}
