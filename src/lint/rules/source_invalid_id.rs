//! `SOURCE_INVALID_ID`: an entry of `sources/` that is no directory named by a SHA-256.
//! A symbolic link belongs to `UNSAFE_SYMLINK`.
use crate::lint::facts::SourceName;
use crate::lint::{Check, Code, Rule, Severity, Sink, SourceFacts};
use crate::tree::Kind;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_INVALID_ID"),
    severity: Severity::Error,
    on_request: false,
    meaning: "an entry of sources/ is no directory named by a SHA-256 in lower-case hexadecimal",
    hint: "move it out of sources/; add its bytes with `llmwiki add-source FILE`",
    bad: "sources/readme.txt",
    good: "sources/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad/",
    check: Check::Source(check),
};

fn check(source: &SourceFacts, sink: &mut Sink) {
    match &source.name {
        SourceName::Invalid(_) => sink.report(
            &RULE,
            &source.path,
            "its name is not a SHA-256 in 64 lower-case hexadecimal digits".to_owned(),
        ),
        SourceName::Id(_) if source.kind != Kind::Directory => {
            sink.report(
                &RULE,
                &source.path,
                format!("is {}, not a directory", source.kind),
            );
        }
        SourceName::Id(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::testing::{assert_reports, source, source_named};
    use crate::tree::Kind;

    #[test]
    fn fires_on_strange_names_and_on_files() {
        let id = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_reports(&super::RULE, source(b"abc"), 0);
        assert_reports(&super::RULE, source_named(id, Kind::Directory), 0);
        assert_reports(&super::RULE, source_named(id, Kind::File), 1);
        assert_reports(&super::RULE, source_named(&id[1..], Kind::Directory), 1);
        assert_reports(
            &super::RULE,
            source_named(&id.to_uppercase(), Kind::Directory),
            1,
        );
    }
}
