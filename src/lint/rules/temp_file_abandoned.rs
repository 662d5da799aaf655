//! `TEMP_FILE_ABANDONED`: a write of a tool of this format was cut off and left its temporary file,
//! named `.<name>.tmp-<process>-<hexadecimal>`, outside `.store/tmp`, which the engine mends itself.
use crate::lint::facts::EntryFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("TEMP_FILE_ABANDONED"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "a temporary file of a write that was cut off was left behind",
    hint: "remove it; the write it belonged to never took effect",
    bad: "pages/.alpha.md.tmp-123-0a1b2c",
    good: "pages/alpha.md",
    check: Check::Entry(check),
};

fn check(entry: &EntryFacts, sink: &mut Sink) {
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
    use crate::lint::testing::{assert_reports, entry};
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
    fn a_pipe_of_that_name_counts_and_a_link_is_another_codes() {
        assert_reports(&super::RULE, entry(".a.tmp-1-ab", Kind::Fifo), 1);
        assert_reports(&super::RULE, entry(".a.tmp-1-ab", Kind::Symlink), 0);
    }
}
