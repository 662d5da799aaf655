//! `STORE_WRITE_UNFINISHED`: a commit changed a page in the store, and the process ended before the
//! file in the tree followed. The next command that writes finishes it. A file that a person has
//! edited since is left as it is and is none.
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("STORE_WRITE_UNFINISHED"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "a committed change of a page has not reached its file yet",
    hint: "run any command that writes, for example `llmwiki reindex`",
    bad: "pages/setup.md with the old text after `kill -9` within an upsert",
    good: "pages/setup.md with the new text",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    let Some(contents) = facts.store.contents() else {
        return;
    };
    for (path, intent) in &contents.intents {
        if let Some(what) = facts.owes(path, intent) {
            sink.report(&RULE, path, what.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::id::ContentHash;
    use crate::lint::store_facts::{StoreContents, StoreState};
    use crate::lint::testing::{assert_reports, page, sound_store, wiki};
    use crate::store::{IntentOp, IntentRecord};

    #[test]
    fn fires_while_the_file_is_the_old_one_and_not_on_edits() {
        let here = page("a", "A", "x");
        let hash = here.hash();
        let other = Some(ContentHash::of(b"other"));
        let third = Some(ContentHash::of(b"third"));
        for (op, path, old, new, count) in [
            (IntentOp::Put, "pages/a.md", hash, other, 1),
            (IntentOp::Put, "pages/a.md", other, hash, 0),
            (IntentOp::Put, "pages/a.md", other, third, 0),
            (IntentOp::Put, "pages/b.md", None, other, 1),
            (IntentOp::Put, "pages/b.md", third, other, 0),
            (IntentOp::Delete, "pages/a.md", hash, None, 1),
            (IntentOp::Delete, "pages/a.md", other, None, 0),
            (IntentOp::Delete, "pages/b.md", other, None, 0),
        ] {
            let intent = IntentRecord {
                op,
                new,
                old,
                staged: String::new(),
                old_size: 0,
                old_inode: 0,
                old_mtime_ns: 0,
                revision: 1,
            };
            let mut facts = wiki([here.clone()], []);
            facts.store = sound_store();
            facts.store.state = StoreState::Read(Box::new(StoreContents {
                intents: vec![(path.to_owned(), intent)],
                ..StoreContents::default()
            }));
            assert_reports(&super::RULE, facts, count);
        }
    }
}
