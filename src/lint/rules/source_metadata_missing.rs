//! `SOURCE_METADATA_MISSING`: a source has no `metadata.json`.
use crate::lint::facts::MetadataFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_METADATA_MISSING"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a source directory has no metadata.json",
    hint: "add the source again, run `llmwiki restore ID`, or restore it from a backup",
    bad: "sources/ba78.../ with content alone",
    good: "sources/ba78.../ with content and metadata.json",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_some() && source.metadata == MetadataFacts::Missing {
        sink.report(
            &RULE,
            format!("{}/metadata.json", source.path),
            "the record of this source is gone".to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source};

    #[test]
    fn fires_when_the_record_is_absent_only() {
        assert_reports(&super::RULE, source(b"abc").without_metadata(), 1);
        assert_reports(&super::RULE, source(b"abc").with_metadata("{}"), 0);
    }
}
