//! `SOURCE_CONTENT_MISSING`: a source has no `content`: a cut-off write, or a loss.
use crate::lint::facts::ContentFacts;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_CONTENT_MISSING"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a source directory has no content file",
    hint: "add the source again, run `llmwiki restore ID`, or restore it from a backup",
    bad: "sources/ba78.../ with metadata.json alone",
    good: "sources/ba78.../ with content and metadata.json",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    if source.id().is_some() && source.content == ContentFacts::Missing {
        sink.report(
            &RULE,
            format!("{}/content", source.path),
            "the preserved bytes are gone".to_owned(),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source, source_named};
    use crate::tree::Kind;

    #[test]
    fn fires_when_content_is_absent_only() {
        assert_reports(&super::RULE, source(b"abc").without_content(), 1);
        assert_reports(&super::RULE, source(b"abc").without_metadata(), 0);
        assert_reports(&super::RULE, source_named("no id", Kind::Directory), 0);
    }
}
