//! The list of rules, in the order of the documents, and what a rule is. A new rule is a file in
//! `rules/`, a line here and a fixture in `tests/data/lint/<CODE>/`.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{Facts, PageFacts, SourceFacts};
use super::rules;
use super::run::Diagnostic;
use crate::page::{Citation, Columns, Link};

/// Name of a diagnostic, for example `SOURCE_HASH_MISMATCH`. Names are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(&'static str);

impl Code {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// The name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The wiki breaks a promise: something cannot be read, cited or followed.
    Error,
    /// The wiki works, but somebody should look.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One rule: a code, what it means, and the function that finds it.
#[derive(Debug)]
pub struct Rule {
    /// Its code.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// Whether it is only looked for with `--all`.
    pub on_request: bool,
    /// The fault in one sentence, lower case, no full stop.
    pub meaning: &'static str,
    /// What to do about it.
    pub hint: &'static str,
    /// An example of the fault.
    pub bad: &'static str,
    /// The same, sound.
    pub good: &'static str,
    pub(crate) check: Check,
}

/// What a rule looks at. A rule for one subject is called once for each; a rule for the wiki is
/// called once.
pub(crate) enum Check {
    /// One entry of `sources/`.
    Source(fn(&SourceFacts, &mut Sink)),
    /// One entry below `pages/`.
    Page(fn(&PageFacts, &Facts, &mut Sink)),
    /// Everything at once.
    Wiki(fn(&Facts, &mut Sink)),
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source(_) => "Source",
            Self::Page(_) => "Page",
            Self::Wiki(_) => "Wiki",
        })
    }
}

/// A place in a file, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spot {
    line: Option<u32>,
    columns: Option<Columns>,
}

impl Spot {
    /// Where a link stands.
    pub(crate) fn of_link(link: &Link) -> Self {
        Self {
            line: Some(link.line),
            columns: link.columns,
        }
    }

    /// Where a citation stands.
    pub(crate) fn of_citation(citation: &Citation) -> Self {
        Self {
            line: Some(citation.line),
            columns: Some(citation.columns),
        }
    }
}

impl From<Option<u32>> for Spot {
    /// A line, from 1.
    fn from(line: Option<u32>) -> Self {
        Self {
            line,
            columns: None,
        }
    }
}

impl From<u32> for Spot {
    /// A line, from 1.
    fn from(line: u32) -> Self {
        Some(line).into()
    }
}

/// Takes what the rules find.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    found: Vec<Diagnostic>,
}

impl Sink {
    /// A fault of `path` as a whole.
    pub(crate) fn report(&mut self, rule: &Rule, path: impl Into<String>, message: String) {
        self.report_at(rule, path, Spot::default(), message);
    }

    /// A fault at one place of `path`.
    pub(crate) fn report_at(
        &mut self,
        rule: &Rule,
        path: impl Into<String>,
        spot: impl Into<Spot>,
        message: String,
    ) {
        let Spot { line, columns } = spot.into();
        self.found.push(Diagnostic {
            code: rule.code.as_str(),
            severity: rule.severity,
            path: path.into(),
            line,
            column: columns.map(|columns| columns.start),
            end_column: columns.map(|columns| columns.end),
            message,
            hint: (!rule.hint.is_empty()).then_some(rule.hint),
        });
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found
    }
}

/// Every rule, in the order of the documents.
pub static RULES: &[&Rule] = &[
    &rules::root_missing::RULE,
    &rules::root_not_directory::RULE,
    &rules::unsafe_symlink::RULE,
    &rules::required_directory_missing::RULE,
    &rules::required_path_not_directory::RULE,
    &rules::schema_missing::RULE,
    &rules::config_invalid::RULE,
    &rules::invalid_utf8::RULE,
    &rules::temp_file_abandoned::RULE,
    &rules::source_invalid_id::RULE,
    &rules::source_content_missing::RULE,
    &rules::source_content_not_file::RULE,
    &rules::source_hash_mismatch::RULE,
    &rules::source_metadata_missing::RULE,
    &rules::source_metadata_not_file::RULE,
    &rules::source_metadata_malformed::RULE,
    &rules::source_metadata_invalid::RULE,
    &rules::source_metadata_unknown_key::RULE,
    &rules::source_metadata_id_mismatch::RULE,
    &rules::source_metadata_byte_count_mismatch::RULE,
    &rules::source_events_malformed::RULE,
    &rules::page_invalid_path::RULE,
    &rules::page_invalid_markdown::RULE,
    &rules::page_missing_source::RULE,
    &rules::citation_broken::RULE,
    &rules::citation_undeclared::RULE,
    &rules::link_escapes_pages::RULE,
    &rules::broken_page_link::RULE,
    &rules::duplicate_title::RULE,
    &rules::orphan_page::RULE,
    &rules::index_missing::RULE,
    &rules::index_stale::RULE,
    &rules::index_malformed::RULE,
    &rules::index_incompatible::RULE,
    &rules::store_needs_repair::RULE,
    &rules::store_unreadable::RULE,
    &rules::store_record_damaged::RULE,
    &rules::store_write_unfinished::RULE,
    &rules::store_source_not_in_tree::RULE,
    &rules::store_source_differs::RULE,
    &rules::source_uncited::RULE,
    &rules::source_superseded::RULE,
    &rules::page_case_conflict::RULE,
    &rules::broken_fragment::RULE,
];

/// The rule with this code, in upper or lower case.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES
        .iter()
        .copied()
        .find(|rule| rule.code.as_str().eq_ignore_ascii_case(code))
}

/// The code that was most likely meant by what is none.
pub fn nearest_code(text: &str) -> Option<&'static str> {
    let codes: Vec<&'static str> = RULES.iter().map(|rule| rule.code.as_str()).collect();
    let text = text.to_ascii_uppercase().replace('-', "_");
    // A part of a code is as good as a slip in it.
    let part = codes
        .iter()
        .find(|code| text.len() > 3 && code.contains(&text));
    part.copied()
        .or_else(|| similar::get_close_matches(text.as_str(), &codes, 1, 0.6).pop())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_and_spelled_alike() {
        let codes: BTreeSet<&str> = RULES.iter().map(|rule| rule.code.as_str()).collect();
        assert_eq!(codes.len(), RULES.len());
        for code in codes {
            assert!(
                code.bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            );
        }
    }

    #[test]
    fn codes_are_found_in_any_case_and_the_nearest_one_is_guessed() {
        assert_eq!(rule("orphan_page").unwrap().code.as_str(), "ORPHAN_PAGE");
        for (text, meant) in [
            ("ORPHAN", Some("ORPHAN_PAGE")),
            ("ORPHAN_PAGES", Some("ORPHAN_PAGE")),
            ("broken-page-link", Some("BROKEN_PAGE_LINK")),
            ("SOURCE_HASH_MISSMATCH", Some("SOURCE_HASH_MISMATCH")),
            ("E501", None),
            ("", None),
        ] {
            assert_eq!(nearest_code(text), meant, "{text}");
        }
    }

    #[test]
    fn every_rule_says_what_it_means_and_what_to_do() {
        for rule in RULES {
            for text in [rule.meaning, rule.hint, rule.bad, rule.good] {
                assert!(!text.trim().is_empty(), "{}", rule.code);
            }
            assert!(!rule.meaning.ends_with('.'), "{}", rule.code);
            assert_ne!(rule.bad, rule.good, "{}", rule.code);
        }
    }
}
