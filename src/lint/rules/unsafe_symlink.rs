//! `UNSAFE_SYMLINK`: a symbolic link is the root or stands below it, at any depth. It could lead
//! readers out of the wiki, so it is never followed, wherever it leads. Links among the ancestors of
//! the root are no fault.
use crate::lint::facts::RootFacts;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("UNSAFE_SYMLINK"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a symbolic link stands where only real files and directories are read",
    hint: "replace the link by what it leads to, or remove it",
    bad: "pages/today.md -> ../../notes/today.md",
    good: "pages/today.md (a file of its own)",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if facts.root == RootFacts::Symlink {
        sink.report(&RULE, ".", "the root is a symbolic link".to_owned());
    }
    for entry in &facts.entries {
        if entry.kind == Kind::Symlink {
            sink.report(
                &RULE,
                &entry.path,
                "is a symbolic link, which is never followed".to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::RootFacts;
    use crate::lint::testing::{assert_reports, entry, root};
    use crate::tree::Kind;

    #[test]
    fn fires_on_links_wherever_they_stand() {
        assert_reports(&super::RULE, root(RootFacts::Symlink), 1);
        assert_reports(&super::RULE, entry("attic/deep/x", Kind::Symlink), 1);
        assert_reports(&super::RULE, entry("attic/deep/.x", Kind::File), 0);
        assert_reports(&super::RULE, root(RootFacts::NotDirectory), 0);
    }
}
