//! `STORE_RECORD_DAMAGED`: a record of the store that cannot be made again from the tree (a source, a
//! page, a revision, their bytes) fails its checksum, is missing or contradicts another. Damage to
//! what can be made again belongs to `INDEX_MALFORMED`.
use crate::lint::store_facts::STORE_PATH;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("STORE_RECORD_DAMAGED"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a record of the store that cannot be made again is damaged",
    hint: "keep a copy of .store, then run `llmwiki verify`; what the tree holds is not touched",
    bad: "revisions: row 17 fails its checksum",
    good: "every row as it was written",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    let faults = facts
        .store
        .contents()
        .map(|contents| contents.durable_faults.as_slice());
    for fault in faults.unwrap_or_default() {
        sink.report(&RULE, STORE_PATH, fault.clone());
    }
    for (id, heading, _) in facts.contradictions() {
        if heading {
            let message =
                format!("title, summary or sources of page {id} are not those of its text");
            sink.report(&RULE, STORE_PATH, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::store_facts::{StoreContents, StoreState};
    use crate::lint::testing::{
        assert_reports, page, sound_store, store_of, stored, wiki, with_store,
    };

    #[test]
    fn fires_on_a_page_whose_record_contradicts_its_text() {
        let mut facts = wiki([page("a", "A", "x")], []);
        facts.store = store_of(&facts);
        assert_reports(&super::RULE, facts.clone(), 0);
        stored(&mut facts).heading = Some(0);
        assert_reports(&super::RULE, facts.clone(), 1);
        facts.pages[0] = page("a", "B", "x");
        assert_reports(&super::RULE, facts, 0);
    }

    #[test]
    fn fires_for_each_durable_fault_and_not_for_derived_ones() {
        let mut store = sound_store();
        store.state = StoreState::Read(Box::new(StoreContents {
            durable_faults: vec!["revisions: x".to_owned(), "pages: y".to_owned()],
            derived_faults: vec!["links: z".to_owned()],
            ..StoreContents::default()
        }));
        assert_reports(&super::RULE, with_store(store), 2);
        assert_reports(&super::RULE, with_store(sound_store()), 0);
    }
}
