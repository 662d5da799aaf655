//! `STORE_SOURCE_NOT_IN_TREE`: the store still holds a source whose directory the tree has lost. A
//! `sources` that is gone as a whole belongs to `REQUIRED_DIRECTORY_MISSING`.
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("STORE_SOURCE_NOT_IN_TREE"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "a source is in the store but no longer in the tree",
    hint: "`llmwiki restore --missing` writes it back",
    bad: "sources/ba78.../ removed by hand",
    good: "sources/ba78.../ as the store knows it",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    for id in facts.source_differences().0 {
        sink.report(
            &RULE,
            format!("sources/{id}"),
            "only the store still has it".to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source, store_of, wiki};

    #[test]
    fn fires_on_a_source_that_only_the_store_has() {
        let mut facts = wiki([], [source(b"abc")]);
        facts.store = store_of(&facts);
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.sources.clear();
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.sources_directory = crate::lint::facts::DirectoryFacts::Missing;
        assert_reports(&super::RULE, facts, 0);
    }
}
