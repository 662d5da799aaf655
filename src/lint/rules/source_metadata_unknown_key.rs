//! `SOURCE_METADATA_UNKNOWN_KEY`: a record has a key that the format does not know; each is reported.
use crate::lint::facts::MetadataFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_METADATA_UNKNOWN_KEY"),
    severity: Severity::Error,
    on_request: false,
    meaning: "metadata.json of a source has a key that the format does not know",
    hint: "remove the key; what a page has to say about a source belongs into the page",
    bad: "{\"id\": \"ba78...\", ..., \"note\": \"good\"}",
    good: "{\"id\": \"ba78...\", ...}",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_some()
        && let MetadataFacts::Read(examined) = &source.metadata
    {
        for key in &examined.unknown_keys {
            sink.report(
                &RULE,
                format!("{}/metadata.json", source.path),
                format!("unknown key {key:?}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source};

    #[test]
    fn fires_for_each_unknown_key_of_a_record() {
        assert_reports(
            &super::RULE,
            source(b"abc").with_extra_key("constructor"),
            1,
        );
        assert_reports(
            &super::RULE,
            source(b"abc").with_metadata("{\"a\": 1, \"b\": 2}"),
            2,
        );
        assert_reports(&super::RULE, source(b"abc").with_metadata("[\"a\"]"), 0);
        assert_reports(&super::RULE, source(b"abc"), 0);
    }
}
