//! `INVALID_UTF8`: `schema.md` is not UTF-8. A page that is not belongs to `PAGE_INVALID_MARKDOWN`.
use crate::lint::facts::SchemaFacts;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("INVALID_UTF8"),
    severity: Severity::Error,
    on_request: false,
    meaning: "schema.md is not UTF-8",
    hint: "save the file as UTF-8",
    bad: "schema.md holds the byte FF",
    good: "schema.md holds UTF-8 text",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if let SchemaFacts::NotUtf8 { at } = facts.schema {
        sink.report(
            &RULE,
            "schema.md",
            format!("is not UTF-8 at byte {}", at.saturating_add(1)),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::SchemaFacts;
    use crate::lint::testing::{assert_reports, sound_wiki};

    #[test]
    fn fires_on_a_schema_of_other_bytes() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.schema = SchemaFacts::NotUtf8 { at: 1 };
        assert_reports(&super::RULE, facts, 1);
    }
}
