//! `STORE_SOURCE_DIFFERS`: `metadata.json` of a source says something else than was recorded when it
//! was captured. Provenance is never updated, so one of the two was changed by hand.
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("STORE_SOURCE_DIFFERS"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "metadata.json of a source is not what was recorded",
    hint: "restore metadata.json, or leave the note in a page",
    bad: "\"name\": \"renamed.txt\" where \"notes.txt\" was recorded",
    good: "\"name\": \"notes.txt\"",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    for (path, keys) in facts.source_differences().1 {
        sink.report(
            &RULE,
            path,
            format!("differs from the store in {}", keys.join(", ")),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, record, source, store_of, wiki};

    #[test]
    fn fires_on_a_record_that_was_changed() {
        let mut facts = wiki([], [source(b"abc")]);
        facts.store = store_of(&facts);
        assert_reports(&super::RULE, facts.clone(), 0);
        let renamed = record(b"abc").replace("notes.txt", "renamed.txt");
        facts.sources = vec![source(b"abc").with_metadata(&renamed)];
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.sources = vec![source(b"abc").with_metadata("{}")];
        assert_reports(&super::RULE, facts, 0);
    }
}
