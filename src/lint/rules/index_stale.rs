//! `INDEX_STALE`: what was indexed is not what the tree holds: a page or source was edited, added or
//! removed and not yet taken in, or `.index` describes other pages.
use crate::lint::facts::IndexFile;
use crate::lint::store_facts::{STORE_PATH, StoreState};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("INDEX_STALE"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "the index describes an older state of the tree",
    hint: "search once, or run `llmwiki reindex`",
    bad: "an edit to pages/setup.md since the last command",
    good: "the same after `llmwiki reindex`",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if let Some(reason) = &facts.index.stale {
        sink.report(&RULE, ".index", reason.clone());
    }
    // Without a store this is INDEX_MISSING.
    if facts.store.is_present() {
        let (search, state) = (&facts.index.search, &facts.index.state);
        let alone = match (search == &IndexFile::Missing, state == &IndexFile::Missing) {
            (true, false) => Some(("state.json", "search.json")),
            (false, true) => Some(("search.json", "state.json")),
            _ => None,
        };
        if let Some((here, missing)) = alone {
            let message = format!("{here} is of no use without {missing}, which is missing");
            sink.report(&RULE, format!(".index/{here}"), message);
        }
    }
    let differences = facts.differences();
    if !differences.is_empty() {
        sink.report(&RULE, STORE_PATH, differences.describe());
    }
    if let StoreState::TooOld(reason) = &facts.store.state {
        sink.report(&RULE, STORE_PATH, reason.clone());
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::{DirectoryFacts, IndexFile};
    use crate::lint::store_facts::StoreState;
    use crate::lint::testing::{
        assert_reports, page, page_of_bytes, sound_store, sound_wiki, source, store_of, wiki,
    };

    #[test]
    fn fires_when_the_index_speaks_of_other_pages() {
        let mut facts = sound_wiki();
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.index.stale = Some("page \"a\" is not indexed".to_owned());
        assert_reports(&super::RULE, facts, 1);
    }

    #[test]
    fn fires_on_half_an_index_beside_a_store() {
        let mut facts = sound_wiki();
        facts.index.state = IndexFile::Missing;
        facts.index.search = IndexFile::NotRead;
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.store = sound_store();
        let found = assert_reports(&super::RULE, facts.clone(), 1);
        assert_eq!(found[0].path, ".index/search.json");
        facts.index.search = IndexFile::Missing;
        assert_reports(&super::RULE, facts, 0);
    }

    #[test]
    fn fires_on_pages_and_sources_that_the_store_does_not_know_so() {
        let mut facts = wiki([page("a", "A", "x"), page("b", "B", "x")], [source(b"abc")]);
        facts.store = store_of(&facts);
        assert_reports(&super::RULE, facts.clone(), 0);

        let mut changed = facts.clone();
        changed.pages[0] = page("a", "A", "y");
        let found = assert_reports(&super::RULE, changed, 1);
        assert!(
            found[0].message.contains("1 changed (pages/a.md)"),
            "{}",
            found[0].message
        );
        let mut more = facts.clone();
        more.pages.push(page("c", "C", "x"));
        more.sources.push(source(b"def"));
        more.sources.sort_by(|a, b| a.path.cmp(&b.path));
        let found = assert_reports(&super::RULE, more, 1);
        assert!(found[0].message.contains("2 added"), "{}", found[0].message);
        let mut fewer = facts.clone();
        fewer.pages.remove(0);
        assert_reports(&super::RULE, fewer, 1);
        let mut gone = facts;
        gone.pages.clear();
        gone.pages_directory = DirectoryFacts::Missing;
        assert_reports(&super::RULE, gone, 0);
    }

    #[test]
    fn a_page_that_is_known_to_be_invalid_is_no_news() {
        let mut facts = wiki([page("a", "A", "x")], [source(b"abc")]);
        facts.store = store_of(&facts);
        facts.pages[0] = page_of_bytes("a", b"broken");
        assert_reports(&super::RULE, facts.clone(), 1);
        if let StoreState::Read(contents) = &mut facts.store.state {
            contents.skipped.push("pages/a.md".to_owned());
        }
        assert_reports(&super::RULE, facts, 0);
    }
}
