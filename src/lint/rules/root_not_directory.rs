//! `ROOT_NOT_DIRECTORY`: something else than a directory stands at the root. A symbolic link
//! belongs to `UNSAFE_SYMLINK`.
use crate::lint::facts::RootFacts;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("ROOT_NOT_DIRECTORY"),
    severity: Severity::Error,
    on_request: false,
    meaning: "what stands at the root of the wiki is no directory",
    hint: "move it away, then run `llmwiki init`, or name the right root with `--root`",
    bad: ".llmwiki (a file)",
    good: ".llmwiki/ (a directory)",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if facts.root == RootFacts::NotDirectory {
        sink.report(&RULE, ".", "the root is not a directory".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::RootFacts;
    use crate::lint::testing::{assert_reports, root, sound_wiki};

    #[test]
    fn fires_on_a_file_and_not_on_a_link_or_nothing() {
        assert_reports(&super::RULE, root(RootFacts::NotDirectory), 1);
        assert_reports(&super::RULE, root(RootFacts::Symlink), 0);
        assert_reports(&super::RULE, root(RootFacts::Missing), 0);
        assert_reports(&super::RULE, sound_wiki(), 0);
    }
}
