//! `SOURCE_METADATA_ID_MISMATCH`: the record names another source than the directory does.
use crate::lint::facts::MetadataFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_METADATA_ID_MISMATCH"),
    severity: Severity::Error,
    on_request: false,
    meaning: "metadata.json of a source names another source",
    hint: "restore the metadata.json that belongs to this source",
    bad: "sources/ba78.../metadata.json with \"id\": \"3a6e...\"",
    good: "sources/ba78.../metadata.json with \"id\": \"ba78...\"",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if let Some(id) = source.id()
        && let MetadataFacts::Read(examined) = &source.metadata
        && let Ok(record) = &examined.record
        && record.id != id
    {
        sink.report(
            &RULE,
            format!("{}/metadata.json", source.path),
            format!("id says {}", record.id),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, record, source};

    #[test]
    fn fires_on_the_record_of_another_source() {
        assert_reports(
            &super::RULE,
            source(b"abc").with_metadata(&record(b"abd")),
            1,
        );
        assert_reports(
            &super::RULE,
            source(b"abc").with_metadata("{\"id\": \"x\"}"),
            0,
        );
        assert_reports(&super::RULE, source(b"abc"), 0);
    }
}
