//! `INDEX_STALE`: what was indexed is not what the tree holds: a page or source was edited, added or
//! removed and not yet taken in, or `.index` describes other pages.
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("INDEX_STALE"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "the index describes an older state of the tree",
    hint: "search once, or run `llmwiki reindex`",
    bad: "an edit to pages/setup.md since the last command",
    good: "the same after `llmwiki reindex`",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if let Some(reason) = &facts.index.stale {
        sink.report(&RULE, ".index", reason.clone());
    }
    if let Some(reason) = facts.store.stale() {
        sink.report(&RULE, super::super::store_facts::STORE_PATH, reason);
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, sound_wiki};

    #[test]
    fn fires_when_the_index_speaks_of_other_pages() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.index.stale = Some("page \"a\" is not indexed".to_owned());
        assert_reports(&super::RULE, facts, 1);
    }
}
