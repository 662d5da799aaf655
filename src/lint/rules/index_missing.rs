//! `INDEX_MISSING`: there is neither a store nor a whole `.index` of format version 1, so the first
//! search has to build one.
use crate::lint::facts::{DirectoryFacts, IndexFile, RootFacts};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("INDEX_MISSING"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "nothing has been indexed yet",
    hint: "run `llmwiki reindex`, or search once",
    bad: "a fresh clone, without .store and .index",
    good: ".store/wiki.redb",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if facts.root != RootFacts::Directory || facts.store.is_present() {
        return;
    }
    let missing = match facts.index.directory {
        DirectoryFacts::Missing => true,
        DirectoryFacts::Directory => [&facts.index.search, &facts.index.state]
            .iter()
            .any(|file| **file == IndexFile::Missing),
        DirectoryFacts::NotDirectory(_) | DirectoryFacts::Unreadable => false,
    };
    if missing {
        sink.report(&RULE, ".index", "the wiki has no index yet".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::{DirectoryFacts, IndexFile, RootFacts};
    use crate::lint::testing::{assert_reports, root, sound_wiki};
    use crate::tree::Kind;

    #[test]
    fn fires_without_store_and_index_only() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.index.search = IndexFile::Missing;
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.index.directory = DirectoryFacts::Missing;
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.index.directory = DirectoryFacts::NotDirectory(Kind::File);
        assert_reports(&super::RULE, facts, 0);
        assert_reports(&super::RULE, root(RootFacts::Missing), 0);
    }

    #[test]
    fn a_store_is_an_index() {
        let mut facts = sound_wiki();
        facts.index.directory = DirectoryFacts::Missing;
        facts.store = crate::lint::testing::sound_store();
        assert_reports(&super::RULE, facts, 0);
    }
}
