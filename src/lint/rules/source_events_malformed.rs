//! `SOURCE_EVENTS_MALFORMED`: `events.jsonl` of a source has a line that is no event, as a merge or a
//! write that was cut off leaves one, or is no file that can be read. The other lines count.
use crate::lint::facts::EventsFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_EVENTS_MALFORMED"),
    severity: Severity::Warning,
    on_request: false,
    meaning: "events.jsonl of a source has a line that cannot be read",
    hint: "remove the line if it is a leftover of a merge or of a write that was cut off, else correct it",
    bad: "<<<<<<< HEAD",
    good: "{\"event\":\"captured\",\"at\":\"2026-02-03T04:05:06.789Z\",\"name\":\"notes.txt\"}",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_none() {
        return;
    }
    let path = || format!("{}/events.jsonl", source.path);
    match &source.events {
        EventsFacts::Read { bad_lines, .. } => {
            for line in bad_lines {
                let line = u32::try_from(*line).ok();
                sink.report_at(&RULE, path(), line, "is no event".to_owned());
            }
        }
        EventsFacts::NotFile(kind) if *kind != Kind::Symlink => {
            sink.report(&RULE, path(), format!("is {kind}, not a file"));
        }
        EventsFacts::Unreadable(reason) => {
            sink.report(&RULE, path(), format!("cannot be read: {reason}"));
        }
        EventsFacts::Missing | EventsFacts::NotFile(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::EventsFacts;
    use crate::lint::testing::{assert_reports, source};
    use crate::tree::Kind;

    #[test]
    fn fires_for_each_line_that_is_no_event() {
        let read = |bad_lines: &[u64]| EventsFacts::Read {
            events: Vec::new(),
            bad_lines: bad_lines.to_vec(),
        };
        for (events, count) in [
            (EventsFacts::Missing, 0),
            (read(&[]), 0),
            (read(&[2, 5]), 2),
            (EventsFacts::NotFile(Kind::Directory), 1),
            (EventsFacts::NotFile(Kind::Symlink), 0),
            (EventsFacts::Unreadable("permission denied".to_owned()), 1),
        ] {
            let mut source = source(b"abc");
            source.events = events;
            let found = assert_reports(&super::RULE, source, count);
            if count == 2 {
                assert_eq!(found[1].line, Some(5));
            }
        }
    }
}
