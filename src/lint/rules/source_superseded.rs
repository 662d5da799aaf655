//! `SOURCE_SUPERSEDED`: a source was captured later from the same origin, or was named as its
//! successor; the message says which pages still cite the older one.
use std::collections::{BTreeMap, BTreeSet};

use crate::id::SourceId;
use crate::lint::facts::MetadataFacts;
use crate::lint::{Check, Code, Facts, Rule, Severity, Sink, SourceFacts};
use crate::source::{EventKind, Metadata};

pub(crate) static RULE: Rule = Rule {
    code: Code::new("SOURCE_SUPERSEDED"),
    severity: Severity::Warning,
    on_request: true,
    meaning: "a newer source has the same origin",
    hint: "read the newer source and cite it where the page still holds",
    bad: "pages/prices.md cites the capture of https://example.org/prices of January, and one of May is there",
    good: "pages/prices.md cites the capture of May",
    check: Check::Wiki(check),
};

fn check(facts: &Facts, sink: &mut Sink) {
    let mut newest: BTreeMap<&str, &Metadata> = BTreeMap::new();
    for record in facts.sources.iter().filter_map(record) {
        if let Some(origin) = &record.origin {
            let best = newest.entry(origin).or_insert(record);
            if record.captured_at > best.captured_at {
                *best = record;
            }
        }
    }
    let mut citing: BTreeMap<SourceId, BTreeSet<&str>> = BTreeMap::new();
    for (page, id) in facts.cited_sources() {
        citing.entry(id).or_default().insert(page.as_str());
    }
    for source in &facts.sources {
        let Some(record) = record(source) else {
            continue;
        };
        let named = source
            .events()
            .iter()
            .filter(|event| event.event == EventKind::Superseded)
            .find_map(|event| event.by.clone());
        let later = || {
            let newest = newest.get(record.origin.as_deref()?)?;
            (newest.captured_at > record.captured_at).then(|| newest.id.to_string())
        };
        let Some(successor) = named.or_else(later) else {
            continue;
        };
        let pages: Vec<&str> = citing
            .get(&record.id)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let cited = if pages.is_empty() {
            "no page cites it any more".to_owned()
        } else {
            format!("still cited by {}", pages.join(", "))
        };
        sink.report(
            &RULE,
            &source.path,
            format!("source {successor} is newer; {cited}"),
        );
    }
}

fn record(source: &SourceFacts) -> Option<&Metadata> {
    match &source.metadata {
        MetadataFacts::Read(examined) if source.is_sound() => examined.record.as_ref().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::SourceFacts;
    use crate::lint::facts::MetadataFacts;
    use crate::lint::testing::{assert_reports, page_citing, source, wiki};

    fn captured(content: &[u8], origin: &str, at: &str) -> SourceFacts {
        let mut source = source(content);
        if let MetadataFacts::Read(examined) = &mut source.metadata
            && let Ok(record) = &mut examined.record
        {
            record.origin = Some(origin.to_owned());
            at.clone_into(&mut record.captured_at);
        }
        source
    }

    #[test]
    fn fires_on_the_older_of_two_captures_and_names_the_pages() {
        let facts = |origin: &str| {
            let old = captured(b"old", "https://example.org/", "2026-01-01T00:00:00.000Z");
            let new = captured(b"new", origin, "2026-05-01T00:00:00.000Z");
            wiki([page_citing("a", &[b"old"], "x")], [old, new])
        };
        let found = assert_reports(&super::RULE, facts("https://example.org/"), 1);
        assert!(
            found[0].message.ends_with("still cited by a"),
            "{}",
            found[0].message
        );
        assert_reports(&super::RULE, facts("https://example.org/other"), 0);
    }
}
