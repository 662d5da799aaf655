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
    for (path, what) in facts.owed() {
        sink.report(&RULE, path, what.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use crate::id::ContentHash;
    use crate::lint::facts::{Facts, StagedFacts};
    use crate::lint::store_facts::{StoreContents, StoreState};
    use crate::lint::testing::{assert_reports, page, sound_store, stamped, wiki};
    use crate::store::{IntentOp, IntentRecord};

    /// A wiki whose page `a` has this inode, with a commit that meant to replace inode 7.
    fn with_intent(
        inode: u64,
        op: IntentOp,
        path: &str,
        old: Option<ContentHash>,
        new: Option<ContentHash>,
    ) -> Facts {
        let here = stamped(page("a", "A", "x"), inode);
        let stamp = here.stamp.unwrap();
        let intent = IntentRecord {
            op,
            new,
            old,
            staged: "a-1".to_owned(),
            old_size: stamp.size,
            old_inode: 7,
            old_mtime_ns: stamp.mtime_ns,
            revision: 1,
        };
        let mut facts = wiki([here], []);
        facts.store = sound_store();
        facts.store.state = StoreState::Read(Box::new(StoreContents {
            intents: vec![(path.to_owned(), intent)],
            ..StoreContents::default()
        }));
        facts
    }

    #[test]
    fn fires_while_the_file_is_the_old_one_and_not_on_edits() {
        let hash = page("a", "A", "x").hash();
        let other = Some(ContentHash::of(b"other"));
        let third = Some(ContentHash::of(b"third"));
        for (op, path, old, new, count) in [
            (IntentOp::Put, "pages/a.md", hash, other, 1),
            (IntentOp::Put, "pages/a.md", other, hash, 0),
            (IntentOp::Put, "pages/a.md", other, third, 0),
            (IntentOp::Put, "pages/b.md", third, other, 0),
            (IntentOp::Delete, "pages/a.md", hash, None, 1),
            (IntentOp::Delete, "pages/a.md", other, None, 0),
            (IntentOp::Delete, "pages/b.md", other, None, 0),
        ] {
            assert_reports(&super::RULE, with_intent(7, op, path, old, new), count);
        }
    }

    #[test]
    fn a_person_who_put_the_old_text_back_has_edited_it() {
        let hash = page("a", "A", "x").hash();
        let other = Some(ContentHash::of(b"other"));
        for (op, new) in [(IntentOp::Put, other), (IntentOp::Delete, None)] {
            let facts = |inode| with_intent(inode, op, "pages/a.md", hash, new);
            assert_reports(&super::RULE, facts(7), 1);
            assert_reports(&super::RULE, facts(8), 0);
        }
    }

    #[test]
    fn a_new_page_is_owed_while_its_file_waits() {
        let new = Some(ContentHash::of(b"new"));
        let mut facts = with_intent(7, IntentOp::Put, "pages/b.md", None, new);
        assert_reports(&super::RULE, facts.clone(), 0);
        facts.staged.push(StagedFacts {
            name: "a-1".to_owned(),
            was_taken_out: false,
            is_old: false,
        });
        assert_reports(&super::RULE, facts, 1);
    }
}
