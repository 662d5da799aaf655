//! `SOURCE_CONTENT_NOT_FILE`: `content` of a source is something else than a file that we may read.
//! A symbolic link belongs to `UNSAFE_SYMLINK`.
use crate::lint::facts::ContentFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_CONTENT_NOT_FILE"),
    severity: Severity::Error,
    on_request: false,
    meaning: "the content of a source is no file that can be read",
    hint: "restore the content as a regular, readable file",
    bad: "sources/ba78.../content (a named pipe)",
    good: "sources/ba78.../content (a file)",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_none() {
        return;
    }
    let message = match &source.content {
        ContentFacts::NotFile(kind) if *kind != Kind::Symlink => {
            format!("is {kind}, not a file")
        }
        ContentFacts::Unreadable(reason) => format!("cannot be read: {reason}"),
        _ => return,
    };
    sink.report(&RULE, format!("{}/content", source.path), message);
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::ContentFacts;
    use crate::lint::testing::{assert_reports, source};
    use crate::tree::Kind;

    #[test]
    fn fires_on_what_is_no_readable_file_but_not_on_links() {
        for (content, count) in [
            (ContentFacts::NotFile(Kind::Fifo), 1),
            (ContentFacts::NotFile(Kind::Directory), 1),
            (ContentFacts::Unreadable("permission denied".to_owned()), 1),
            (ContentFacts::NotFile(Kind::Symlink), 0),
            (ContentFacts::Missing, 0),
        ] {
            let mut source = source(b"abc");
            source.content = content;
            assert_reports(&super::RULE, source, count);
        }
    }
}
