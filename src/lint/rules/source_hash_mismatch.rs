//! `SOURCE_HASH_MISMATCH`: the preserved bytes are not the bytes that were cited.
//! Absent content belongs to `SOURCE_CONTENT_MISSING`.
use crate::lint::facts::ContentFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_HASH_MISMATCH"),
    severity: Severity::Error,
    on_request: false,
    meaning: "source id does not match the SHA-256 of its content",
    hint: "restore the content from a backup or with `llmwiki restore ID`; do not rename the source",
    bad: "sources/ba78.../content after an edit or a line-end conversion",
    good: "sources/ba78.../content, byte for byte as it was added",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if let Some(id) = source.id()
        && let ContentFacts::Read { hash, .. } = source.content
        && hash != id.hash()
    {
        sink.report(
            &RULE,
            format!("{}/content", source.path),
            format!("hashes to {hash}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source};

    #[test]
    fn fires_on_a_changed_byte_only() {
        assert_reports(&super::RULE, source(b"old"), 0);
        assert_reports(&super::RULE, source(b"old").with_content(b"new"), 1);
        assert_reports(&super::RULE, source(b"old").without_content(), 0);
    }
}
