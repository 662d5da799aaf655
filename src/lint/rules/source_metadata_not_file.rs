//! `SOURCE_METADATA_NOT_FILE`: `metadata.json` of a source is something else than a file that we may
//! read. A symbolic link belongs to `UNSAFE_SYMLINK`.
use crate::lint::facts::MetadataFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_METADATA_NOT_FILE"),
    severity: Severity::Error,
    on_request: false,
    meaning: "the metadata.json of a source is no file that can be read",
    hint: "restore it as a regular, readable file",
    bad: "sources/ba78.../metadata.json/ (a directory)",
    good: "sources/ba78.../metadata.json (a file)",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_none() {
        return;
    }
    let message = match &source.metadata {
        MetadataFacts::NotFile(kind) if *kind != Kind::Symlink => {
            format!("is {kind}, not a file")
        }
        MetadataFacts::Unreadable(reason) => format!("cannot be read: {reason}"),
        _ => return,
    };
    sink.report(&RULE, format!("{}/metadata.json", source.path), message);
}

#[cfg(test)]
mod tests {
    use crate::lint::facts::MetadataFacts;
    use crate::lint::testing::{assert_reports, source};
    use crate::tree::Kind;

    #[test]
    fn fires_on_what_is_no_readable_file_but_not_on_links() {
        for (metadata, count) in [
            (MetadataFacts::NotFile(Kind::Fifo), 1),
            (MetadataFacts::Unreadable("permission denied".to_owned()), 1),
            (MetadataFacts::NotFile(Kind::Symlink), 0),
            (MetadataFacts::Missing, 0),
        ] {
            let mut source = source(b"abc");
            source.metadata = metadata;
            assert_reports(&super::RULE, source, count);
        }
    }
}
