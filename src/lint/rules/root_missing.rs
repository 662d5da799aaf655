//! `ROOT_MISSING`: there is no wiki where one was expected. Nothing else is reported then.
use crate::lint::facts::RootFacts;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("ROOT_MISSING"),
    severity: Severity::Error,
    on_request: false,
    meaning: "there is nothing at the root of the wiki",
    hint: "run `llmwiki init` there, or name the right root with `--root`",
    bad: "(no directory .llmwiki)",
    good: ".llmwiki/ with schema.md, pages/ and sources/",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if facts.root == RootFacts::Missing {
        sink.report(&RULE, ".", "there is no wiki here".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::RootFacts;
    use crate::lint::testing::{assert_reports, root, sound_wiki};

    #[test]
    fn fires_where_nothing_is_only() {
        assert_reports(&super::RULE, root(RootFacts::Missing), 1);
        assert_reports(&super::RULE, root(RootFacts::NotDirectory), 0);
        assert_reports(&super::RULE, sound_wiki(), 0);
    }
}
