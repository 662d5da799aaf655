//! `SOURCE_METADATA_INVALID`: `metadata.json` is JSON, but not the record of a source. One report
//! names every key that is wrong. Keys too many belong to `SOURCE_METADATA_UNKNOWN_KEY`.
use crate::lint::facts::MetadataFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};
use crate::source::MetadataFault;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_METADATA_INVALID"),
    severity: Severity::Error,
    on_request: false,
    meaning: "metadata.json of a source lacks a key or holds a wrong value",
    hint: "correct the keys that the message names",
    bad: "{\"id\": \"ba78...\", \"name\": \"\", \"mediaType\": \"text/plain\", \"byteCount\": 3, \"capturedAt\": \"yesterday\"}",
    good: "{\"id\": \"ba78...\", \"name\": \"notes.txt\", \"mediaType\": \"text/plain\", \"byteCount\": 3, \"capturedAt\": \"2026-02-03T04:05:06.789Z\"}",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_some()
        && let MetadataFacts::Read(examined) = &source.metadata
        && let Err(MetadataFault::Invalid(causes)) = &examined.record
    {
        sink.report(
            &RULE,
            format!("{}/metadata.json", source.path),
            causes.clone(),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source};

    #[test]
    fn fires_once_however_many_keys_are_wrong() {
        for text in ["null", "[]", "{}", "{\"id\": 1}"] {
            assert_reports(&super::RULE, source(b"abc").with_metadata(text), 1);
        }
        assert_reports(&super::RULE, source(b"abc").with_metadata("{"), 0);
        assert_reports(&super::RULE, source(b"abc").with_extra_key("note"), 0);
    }
}
