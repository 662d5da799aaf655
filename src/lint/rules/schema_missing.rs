//! `SCHEMA_MISSING`: `schema.md`, which tells people and agents how this wiki is written, is not
//! there.
use crate::lint::facts::{RootFacts, SchemaFacts};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SCHEMA_MISSING"),
    severity: Severity::Error,
    on_request: false,
    meaning: "the wiki has no schema.md",
    hint: "run `llmwiki init`, which writes one, or restore yours",
    bad: ".llmwiki/ without schema.md",
    good: ".llmwiki/schema.md (any text in UTF-8)",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if facts.root == RootFacts::Directory && facts.schema == SchemaFacts::Missing {
        sink.report(&RULE, "schema.md", "there is no schema.md".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::{RootFacts, SchemaFacts};
    use crate::lint::testing::{assert_reports, root, sound_wiki};
    use crate::tree::Kind;

    #[test]
    fn fires_when_the_schema_is_absent_only() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.schema = SchemaFacts::NotFile(Kind::Directory);
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.schema = SchemaFacts::Missing;
        assert_reports(&super::RULE, facts, 1);
        assert_reports(&super::RULE, root(RootFacts::Missing), 0);
    }
}
