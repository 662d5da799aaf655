//! `INDEX_INCOMPATIBLE`: the index was written in a format that this version does not know: a store of
//! a newer version, or `.index` files that do not say format version 1.
use crate::lint::facts::IndexFile;
use crate::lint::store_facts::{STORE_PATH, StoreState};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("INDEX_INCOMPATIBLE"),
    severity: Severity::Error,
    on_request: false,
    meaning: "the index has a format that this version does not know",
    hint: "use the newer llmwiki that wrote it, or remove .index",
    bad: ".index/state.json with \"formatVersion\": 2",
    good: ".index/state.json with \"formatVersion\": 1",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    for (path, file) in [
        (".index/search.json", &facts.index.search),
        (".index/state.json", &facts.index.state),
    ] {
        if let IndexFile::Incompatible(reason) = file {
            sink.report(&RULE, path, reason.clone());
        }
    }
    if let StoreState::TooNew(reason) = &facts.store.state {
        sink.report(&RULE, STORE_PATH, reason.clone());
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::IndexFile;
    use crate::lint::testing::{assert_reports, sound_wiki};

    #[test]
    fn fires_on_each_file_of_another_version() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.index.state = IndexFile::Incompatible("says format version 2".to_owned());
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.index.search = IndexFile::Malformed("is not JSON".to_owned());
        assert_reports(&super::RULE, facts, 1);
    }
}
