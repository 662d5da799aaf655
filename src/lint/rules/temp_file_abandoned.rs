//! `TEMP_FILE_ABANDONED`: a write of a tool of this format was cut off and left its temporary file,
//! named `.<name>.tmp-<process>-<hexadecimal>`; or something lies in `.store/tmp` that no commit
//! promised to put into place, and longer than any write takes. The next command that writes removes
//! the latter, but what it took out of the tree only if the store has its text.
use std::collections::BTreeSet;

use crate::lint::facts::EntryFacts;
use crate::lint::store_facts::StoreState;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("TEMP_FILE_ABANDONED"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "a temporary file of a write that was cut off was left behind",
    hint: "remove it, unless it holds a text that you miss; the write it belonged to never took effect",
    bad: "pages/.alpha.md.tmp-123-0a1b2c",
    good: "pages/alpha.md",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    for entry in &facts.entries {
        check_entry(entry, sink);
    }
    let promised: BTreeSet<&str> = match &facts.store.state {
        StoreState::Read(contents) => {
            let intents = contents.intents.iter();
            intents.map(|(_, intent)| intent.staged.as_str()).collect()
        }
        StoreState::Absent => BTreeSet::new(),
        // What is promised cannot be known.
        _ => return,
    };
    for staged in &facts.staged {
        if staged.is_old && !promised.contains(staged.name.as_str()) {
            let what = if staged.was_taken_out {
                "was taken out of the tree by a deletion that was cut off, and may be the only copy \
                 of a text that was saved meanwhile"
            } else {
                "was left behind by a write that was cut off; the next command that writes removes it"
            };
            let path = format!(".store/tmp/{}", staged.name);
            sink.report(&RULE, path, what.to_owned());
        }
    }
}

fn check_entry(entry: &EntryFacts, sink: &mut Sink) {
    if !matches!(entry.kind, Kind::Directory | Kind::Symlink) && is_temporary(entry.name()) {
        sink.report(
            &RULE,
            &entry.path,
            "was left behind by a write that was cut off".to_owned(),
        );
    }
}

/// `.`, a name, `.tmp-`, decimal digits, `-`, lower-case hexadecimal digits.
fn is_temporary(name: &str) -> bool {
    let Some((rest, random)) = name.rsplit_once('-') else {
        return false;
    };
    let Some((rest, process)) = rest.rsplit_once('-') else {
        return false;
    };
    let Some(stem) = rest
        .strip_suffix(".tmp")
        .and_then(|rest| rest.strip_prefix('.'))
    else {
        return false;
    };
    !stem.is_empty()
        && !process.is_empty()
        && process.bytes().all(|b| b.is_ascii_digit())
        && !random.is_empty()
        && random
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::StagedFacts;
    use crate::lint::store_facts::StoreState;
    use crate::lint::testing::{assert_reports, entry, sound_store, sound_wiki};
    use crate::store::{IntentOp, IntentRecord};
    use crate::tree::Kind;

    #[test]
    fn fires_on_the_pattern_and_not_on_look_alikes() {
        for name in [
            ".alpha.md.tmp-123-0a1b2c",
            "pages/sub/.b.tmp-4-0",
            ".a.tmp-1-2.tmp-1-ab",
        ] {
            assert_reports(&super::RULE, entry(name, Kind::File), 1);
        }
        for name in [
            "attic/.alpha.md.tmp-1-",
            "attic/.alpha.md.tmp-1-XY",
            "attic/alpha.md.tmp-1-ab",
            "attic/..tmp-1-ab",
            "attic/.a.tmp--1-ab",
            "attic/.tmp-1-ab",
        ] {
            assert_reports(&super::RULE, entry(name, Kind::File), 0);
        }
    }

    #[test]
    fn fires_on_what_is_staged_for_long_and_not_promised() {
        let staged = |name: &str, is_old| StagedFacts {
            name: name.to_owned(),
            was_taken_out: name.starts_with("old-"),
            is_old,
        };
        let mut facts = sound_wiki();
        facts.store = sound_store();
        facts.staged = vec![
            staged("new-1", true),
            staged("old-2", true),
            staged("young-3", false),
            staged("promised-4", true),
        ];
        if let StoreState::Read(contents) = &mut facts.store.state {
            let intent = IntentRecord {
                op: IntentOp::Put,
                new: None,
                old: None,
                staged: "promised-4".to_owned(),
                old_size: 0,
                old_inode: 0,
                old_mtime_ns: 0,
                revision: 1,
            };
            contents.intents.push(("pages/a.md".to_owned(), intent));
        }
        let found = assert_reports(&super::RULE, facts.clone(), 2);
        assert_eq!(found[0].path, ".store/tmp/new-1");
        assert!(
            found[1].message.contains("only copy"),
            "{}",
            found[1].message
        );
        // Where nothing promises anything all that is old is abandoned; where that cannot be
        // known nothing is.
        facts.store.state = StoreState::Absent;
        assert_reports(&super::RULE, facts.clone(), 3);
        facts.store.state = StoreState::NeedsRepair;
        assert_reports(&super::RULE, facts, 0);
    }

    #[test]
    fn a_pipe_of_that_name_counts_and_a_link_is_another_codes() {
        assert_reports(&super::RULE, entry(".a.tmp-1-ab", Kind::Fifo), 1);
        assert_reports(&super::RULE, entry(".a.tmp-1-ab", Kind::Symlink), 0);
    }
}
