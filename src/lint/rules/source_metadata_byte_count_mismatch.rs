//! `SOURCE_METADATA_BYTE_COUNT_MISMATCH`: the record gives another length than the content has.
use crate::lint::facts::{ContentFacts, MetadataFacts};
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_METADATA_BYTE_COUNT_MISMATCH"),
    severity: Severity::Error,
    on_request: false,
    meaning: "byteCount in metadata.json is not the length of the content",
    hint: "if the content hashes to its id, correct byteCount; else restore the content",
    bad: "\"byteCount\": 4 beside a content of 3 bytes",
    good: "\"byteCount\": 3 beside a content of 3 bytes",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_some()
        && let ContentFacts::Read { byte_count, .. } = source.content
        && let MetadataFacts::Read(examined) = &source.metadata
        && let Ok(record) = &examined.record
        && record.byte_count != byte_count
    {
        sink.report(
            &RULE,
            format!("{}/metadata.json", source.path),
            format!(
                "byteCount says {}, content has {byte_count} bytes",
                record.byte_count
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source};

    #[test]
    fn fires_on_another_length_and_not_on_another_text() {
        assert_reports(&super::RULE, source(b"abc").with_content(b"abcd"), 1);
        assert_reports(&super::RULE, source(b"abc").with_content(b"abd"), 0);
        assert_reports(&super::RULE, source(b"abc").without_content(), 0);
    }
}
