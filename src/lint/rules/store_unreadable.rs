//! `STORE_UNREADABLE`: the store cannot be opened, for a reason that is not in its bytes: a missing
//! permission, a lock, a failing disk. Damage belongs to `INDEX_MALFORMED`.
use crate::lint::store_facts::{STORE_PATH, StoreState};
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("STORE_UNREADABLE"),
    severity: Severity::Error,
    on_request: false,
    meaning: "the store cannot be opened",
    hint: "see that this user may read .store/wiki.redb and that no other program holds it",
    bad: ".store/wiki.redb that belongs to another user",
    good: ".store/wiki.redb that you may read",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    if let StoreState::Unreadable(reason) = &facts.store.state {
        sink.report(&RULE, STORE_PATH, format!("cannot be opened: {reason}"));
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::store_facts::StoreState;
    use crate::lint::testing::{assert_reports, sound_store, with_store};

    #[test]
    fn fires_on_what_is_no_damage() {
        let mut store = sound_store();
        store.state = StoreState::Unreadable("permission denied".to_owned());
        assert_reports(&super::RULE, with_store(store.clone()), 1);
        store.state = StoreState::Damaged("bad magic".to_owned());
        assert_reports(&super::RULE, with_store(store), 0);
    }
}
