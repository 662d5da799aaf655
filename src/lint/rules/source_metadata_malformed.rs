//! `SOURCE_METADATA_MALFORMED`: `metadata.json` is no JSON text in UTF-8. JSON of the wrong shape
//! belongs to `SOURCE_METADATA_INVALID`.
use crate::lint::facts::MetadataFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};
use crate::source::MetadataFault;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_METADATA_MALFORMED"),
    severity: Severity::Error,
    on_request: false,
    meaning: "metadata.json of a source is not JSON in UTF-8",
    hint: "restore it, or write it again as JSON",
    bad: "{'id': 'ba78...'}",
    good: "{\"id\": \"ba78...\", \"name\": \"notes.txt\", ...}",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_some()
        && let MetadataFacts::Read(examined) = &source.metadata
        && let Err(MetadataFault::Malformed(cause)) = &examined.record
    {
        sink.report(
            &RULE,
            format!("{}/metadata.json", source.path),
            format!("is not {cause}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source};

    #[test]
    fn fires_on_bad_json_and_not_on_json_of_another_shape() {
        for text in ["", "{", "{\"byteCount\": NaN}", "{'id':1}"] {
            assert_reports(&super::RULE, source(b"abc").with_metadata(text), 1);
        }
        assert_reports(&super::RULE, source(b"abc").with_metadata("null"), 0);
        assert_reports(&super::RULE, source(b"abc"), 0);
    }
}
