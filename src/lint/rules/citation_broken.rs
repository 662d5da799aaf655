//! `CITATION_BROKEN`: a claim citation, a link to `llmwiki://source/<id>#L<lines>`, that cannot be
//! opened: it names no source of this wiki, or lines that the source does not have. A source that is
//! damaged has codes of its own.
use crate::lint::facts::{DirectoryFacts, SourceFacts};
use crate::lint::{Check, Code, Facts, PageFacts, Rule, Severity, Sink, Spot};
use crate::page::Citation;

pub(crate) static RULE: Rule = Rule {
    code: Code::new("CITATION_BROKEN"),
    severity: Severity::Error,
    on_request: false,
    meaning: "a claim citation names a source or lines that do not exist",
    hint: "cite a source of this wiki, and lines that it has",
    bad: "[measured](llmwiki://source/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad#L90) where the source has 3 lines",
    good: "[measured](llmwiki://source/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad#L2-L3)",
    check: Check::Page(check),
};

fn check(page: &PageFacts, facts: &Facts, sink: &mut Sink) {
    let Some((_, text)) = page.page() else { return };
    for citation in &text.citations {
        if let Some(cause) = fault(citation, facts) {
            sink.report_at(&RULE, &page.path, Spot::of_citation(citation), cause);
        }
    }
}

/// Why a citation cannot be opened, if it cannot.
fn fault(citation: &Citation, facts: &Facts) -> Option<String> {
    let id = match &citation.source {
        Ok(id) => *id,
        Err(text) => return Some(format!("{text:?} is not the id of a source")),
    };
    let Some(source) = facts.source(id) else {
        // What may not be looked at is not missing.
        if facts.sources_directory == DirectoryFacts::Unreadable {
            return None;
        }
        return Some(format!("source {id} is not in this wiki"));
    };
    let (first, last) = match &citation.lines {
        Ok(None) => return None,
        Ok(Some(lines)) => *lines,
        Err(fragment) => {
            return Some(format!(
                "{fragment:?} does not name lines, as L10 or L10-L20 do"
            ));
        }
    };
    // What a damaged source says about its lines means nothing.
    let count = Some(source)
        .filter(|source| source.is_sound())
        .and_then(SourceFacts::line_count)?;
    if u64::from(last) <= count {
        return None;
    }
    let lines = if first == last {
        format!("line {first}")
    } else {
        format!("lines {first}-{last}")
    };
    Some(format!(
        "source {id} has {count} lines, so it has no {lines}"
    ))
}

#[cfg(test)]
mod tests {
    use crate::id::SourceId;
    use crate::lint::testing::{assert_reports, page_citing, source, wiki};

    #[test]
    fn fires_on_what_cannot_be_opened() {
        let id = SourceId::of(b"one\ntwo\n");
        let other = SourceId::of(b"gone");
        let cited = |target: &str| {
            let body = format!("[x](llmwiki://source/{target})");
            wiki(
                [page_citing("a", &[b"one\ntwo\n"], &body)],
                [source(b"one\ntwo\n")],
            )
        };
        for good in [format!("{id}"), format!("{id}#L1"), format!("{id}#L1-L2")] {
            assert_reports(&super::RULE, cited(&good), 0);
        }
        for bad in [
            format!("{id}#L3"),
            format!("{id}#L2-L3"),
            format!("{id}#L0"),
            format!("{id}#two"),
            format!("{other}#L1"),
            "nonsense".to_owned(),
        ] {
            let found = assert_reports(&super::RULE, cited(&bad), 1);
            assert_eq!(found[0].line, Some(8));
            assert_eq!(
                (found[0].column, found[0].message.is_empty()),
                (Some(1), false)
            );
        }
    }

    #[test]
    fn a_damaged_source_is_the_business_of_other_codes() {
        let id = SourceId::of(b"one\ntwo\n");
        let body = format!("[x](llmwiki://source/{id}#L2)");
        let damaged = source(b"one\ntwo\n").with_content(b"one");
        let facts = wiki([page_citing("a", &[b"one\ntwo\n"], &body)], [damaged]);
        assert_reports(&super::RULE, facts, 0);
    }
}
