//! `REQUIRED_DIRECTORY_MISSING`: `pages` or `sources` is not there. Git keeps no empty directories,
//! so a fresh clone may lack one; with a store that knows more, it is a loss.
use crate::lint::facts::{DirectoryFacts, RootFacts};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("REQUIRED_DIRECTORY_MISSING"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a directory that every wiki has is missing",
    hint: "create it, check it out again, or run `llmwiki restore --missing`",
    bad: ".llmwiki/ without pages/",
    good: ".llmwiki/pages/ (it may be empty)",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if facts.root != RootFacts::Directory {
        return;
    }
    for (name, directory) in [
        ("pages", facts.pages_directory),
        ("sources", facts.sources_directory),
    ] {
        if directory == DirectoryFacts::Missing {
            sink.report(&RULE, name, format!("directory {name} is missing"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::{DirectoryFacts, RootFacts};
    use crate::lint::testing::{assert_reports, root, sound_wiki};
    use crate::tree::Kind;

    #[test]
    fn fires_for_each_directory_that_is_absent() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.pages_directory = DirectoryFacts::Missing;
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.sources_directory = DirectoryFacts::NotDirectory(Kind::File);
        assert_reports(&super::RULE, facts, 1);
        assert_reports(&super::RULE, root(RootFacts::Missing), 0);
    }
}
