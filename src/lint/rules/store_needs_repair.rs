//! `STORE_NEEDS_REPAIR`: a process that wrote the store was killed, and nobody has opened it for
//! writing since. The store was not read; the tree was linted all the same.
use crate::lint::store_facts::{STORE_PATH, StoreState};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("STORE_NEEDS_REPAIR"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "a writer of the store was killed and the store was not read",
    hint: "run any command that writes, for example `llmwiki reindex`; it mends the store in milliseconds",
    bad: ".store/wiki.redb after `kill -9` of a writer",
    good: ".store/wiki.redb after the next command",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if facts.store.state == StoreState::NeedsRepair {
        sink.report(
            &RULE,
            STORE_PATH,
            "a writer was killed; the store was not read".to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::store_facts::StoreState;
    use crate::lint::testing::{assert_reports, sound_store, with_store};

    #[test]
    fn fires_on_a_store_that_a_killed_writer_left() {
        let mut store = sound_store();
        assert_reports(&super::RULE, with_store(store.clone()), 0);
        store.state = StoreState::NeedsRepair;
        assert_reports(&super::RULE, with_store(store.clone()), 1);
        store.state = StoreState::Absent;
        assert_reports(&super::RULE, with_store(store), 0);
    }
}
