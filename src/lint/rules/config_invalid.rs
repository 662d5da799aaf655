//! `CONFIG_INVALID`: config.toml beside the wiki cannot be read, or has a key or a value that does
//! not exist. Every command but this one refuses to work then; lint goes on with the defaults.
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("CONFIG_INVALID"),
    severity: Severity::Error,
    on_request: false,
    meaning: "config.toml of the wiki cannot be read or has a key or value that does not exist",
    hint: "correct the line, or remove the file to use the defaults",
    bad: "max_result = 20",
    good: "max_results = 20",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if let Some((line, cause)) = &facts.config_fault {
        sink.report_at(&RULE, "config.toml", *line, cause.clone());
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, sound_wiki};

    #[test]
    fn fires_on_a_fault_at_its_line_and_not_without_one() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.config_fault = Some((Some(3), "unknown key \"x\"".to_owned()));
        let found = assert_reports(&super::RULE, facts, 1);
        assert_eq!(found[0].line, Some(3));
    }
}
