//! `REQUIRED_PATH_NOT_DIRECTORY`: a path of the format holds something of another kind: `pages`,
//! `sources`, `.index` or `.store` is no directory that we may read, or `schema.md` is no file.
//! Symbolic links belong to `UNSAFE_SYMLINK`.
use crate::lint::facts::{DirectoryFacts, SchemaFacts};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("REQUIRED_PATH_NOT_DIRECTORY"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a path of the wiki format holds something of another kind",
    hint: "move what stands there away and restore the directory or file",
    bad: "pages (a file)",
    good: "pages/ (a directory)",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    for (name, directory) in [
        (".index", facts.index.directory),
        (".store", facts.store.directory),
        ("pages", facts.pages_directory),
        ("sources", facts.sources_directory),
    ] {
        match directory {
            DirectoryFacts::NotDirectory(Kind::Symlink)
            | DirectoryFacts::Missing
            | DirectoryFacts::Directory => {}
            DirectoryFacts::NotDirectory(kind) => {
                sink.report(&RULE, name, format!("is {kind}, not a directory"));
            }
            DirectoryFacts::Unreadable => {
                sink.report(
                    &RULE,
                    name,
                    "cannot be listed: permission denied".to_owned(),
                );
            }
        }
    }
    match &facts.schema {
        SchemaFacts::NotFile(Kind::Symlink)
        | SchemaFacts::Missing
        | SchemaFacts::Text
        | SchemaFacts::NotUtf8 { .. } => {}
        SchemaFacts::NotFile(kind) => {
            sink.report(&RULE, "schema.md", format!("is {kind}, not a file"));
        }
        SchemaFacts::Unreadable(reason) => {
            sink.report(&RULE, "schema.md", format!("cannot be read: {reason}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::{DirectoryFacts, SchemaFacts};
    use crate::lint::testing::{assert_reports, sound_wiki};
    use crate::tree::Kind;

    #[test]
    fn fires_on_another_kind_but_not_on_links_or_nothing() {
        for (kind, count) in [(Kind::File, 4), (Kind::Fifo, 4), (Kind::Symlink, 0)] {
            let mut facts = sound_wiki();
            facts.pages_directory = DirectoryFacts::NotDirectory(kind);
            facts.sources_directory = DirectoryFacts::NotDirectory(kind);
            facts.index.directory = DirectoryFacts::NotDirectory(kind);
            facts.store.directory = DirectoryFacts::NotDirectory(kind);
            assert_reports(&super::RULE, facts, count);
        }
        let mut facts = sound_wiki();
        facts.schema = SchemaFacts::NotFile(Kind::Directory);
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.schema = SchemaFacts::Missing;
        facts.pages_directory = DirectoryFacts::Missing;
        assert_reports(&super::RULE, facts, 0);
    }
}
