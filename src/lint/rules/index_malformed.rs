//! `INDEX_MALFORMED`: a file of the index cannot be read as what it is: a store that is damaged, or
//! `.index/search.json` or `state.json` that breaks format version 1.
use crate::lint::facts::IndexFile;
use crate::lint::store_facts::{STORE_PATH, StoreState};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("INDEX_MALFORMED"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a file of the index is damaged",
    hint: "run `llmwiki reindex`, which builds it anew from the tree; pages and sources are not touched",
    bad: ".index/state.json cut short",
    good: ".index/state.json as it was written",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    for (path, file) in [
        (".index/search.json", &facts.index.search),
        (".index/state.json", &facts.index.state),
    ] {
        match file {
            IndexFile::Malformed(reason) => sink.report(&RULE, path, reason.clone()),
            IndexFile::NotFile(kind) if *kind != Kind::Symlink => {
                sink.report(&RULE, path, format!("is {kind}, not a file"));
            }
            IndexFile::Unreadable(reason) => {
                sink.report(&RULE, path, format!("cannot be read: {reason}"));
            }
            _ => {}
        }
    }
    match &facts.store.state {
        StoreState::Damaged(reason) => sink.report(&RULE, STORE_PATH, reason.clone()),
        StoreState::NotFile(kind) if *kind != Kind::Symlink => {
            sink.report(&RULE, STORE_PATH, format!("is {kind}, not a file"));
        }
        StoreState::Read(contents) => {
            for fault in &contents.derived_faults {
                sink.report(&RULE, STORE_PATH, fault.clone());
            }
        }
        _ => {}
    }
    for (id, _, derived) in facts.contradictions() {
        for what in derived {
            let message = format!("{what} of page {id} are not those of its text");
            sink.report(&RULE, STORE_PATH, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::IndexFile;
    use crate::lint::marks::StoredMarks;
    use crate::lint::testing::{assert_reports, page, sound_wiki, store_of, stored, wiki};
    use crate::tree::Kind;

    type Change = fn(&mut StoredMarks);

    #[test]
    fn fires_on_each_record_that_contradicts_the_text_of_its_page() {
        let mut facts = wiki([page("a", "A", "[b](b.md)\n\n# One\n\nx\n")], []);
        facts.store = store_of(&facts);
        assert_reports(&super::RULE, facts.clone(), 0);
        let changed: [(&str, Change); 4] = [
            ("links", |marks| marks.links = Some(0)),
            ("citations", |marks| marks.citations = Some(0)),
            ("names", |marks| marks.names = Some(0)),
            ("sections", |marks| marks.sections = Some(0)),
        ];
        for (what, change) in changed {
            let mut facts = facts.clone();
            change(stored(&mut facts));
            let found = assert_reports(&super::RULE, facts.clone(), 1);
            assert!(found[0].message.starts_with(what), "{}", found[0].message);
            // Of a text that the store does not hold it says nothing.
            facts.pages[0] = page("a", "A", "other");
            assert_reports(&super::RULE, facts, 0);
        }
        // What is missing is told where rows are compared with each other.
        *stored(&mut facts) = StoredMarks::default();
        assert_reports(&super::RULE, facts, 0);
    }

    #[test]
    fn fires_on_each_file_that_breaks_the_format() {
        for (file, count) in [
            (IndexFile::Malformed("is not JSON".to_owned()), 1),
            (IndexFile::NotFile(Kind::Fifo), 1),
            (IndexFile::NotFile(Kind::Symlink), 0),
            (IndexFile::Incompatible("2".to_owned()), 0),
            (IndexFile::NotRead, 0),
            (IndexFile::Missing, 0),
        ] {
            let mut facts = sound_wiki();
            facts.index.state = file;
            assert_reports(&super::RULE, facts, count);
        }
    }
}
