//! Family `lint`: what lint reports on a tree, code for code.

use std::collections::BTreeMap;

use llmwiki::context::Context;
use llmwiki::lint::{LintOptions, LintReport, run};
use serde_json::Value;

use crate::lint_trees::arrange;
use crate::vectors::{Exceptions, Failures, cases, id};

/// What a case wants or what we found: code, severity, path, line, in report order.
type Lines = Vec<(String, String, String, Option<u64>)>;

fn expected_lines(report: &Value) -> Lines {
    report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            let text = |key: &str| found[key].as_str().unwrap().to_owned();
            (
                text("code"),
                text("severity"),
                text("path"),
                found["line"].as_u64(),
            )
        })
        .collect()
}

/// Our report in the same terms. A line counts only where the peer has one for that code: for
/// links.
fn our_lines(report: &LintReport) -> Lines {
    let has_line = |code: &str| matches!(code, "BROKEN_PAGE_LINK" | "LINK_ESCAPES_PAGES");
    report
        .diagnostics
        .iter()
        .map(|found| {
            let line = found.line.filter(|_| has_line(found.code)).map(u64::from);
            (
                found.code.to_owned(),
                found.severity.as_str().to_owned(),
                found.path.clone(),
                line,
            )
        })
        .collect()
}

fn agrees(report: &LintReport, expected: &Value) -> bool {
    our_lines(report) == expected_lines(expected)
        && [
            report.error_count,
            report.warning_count,
            report.files_examined,
        ] == ["errorCount", "warningCount", "filesExamined"]
            .map(|key| expected[key].as_u64().unwrap())
}

/// The ways in which our report may differ on purpose, as far as they hold for this case.
fn kinds(case: &Value, report: &LintReport) -> Vec<&'static str> {
    let Some(expected) = case["expected"].get("report") else {
        return failure_kinds(case, report);
    };
    let differs = Differs::new(case, expected, report);
    let mut kinds = Vec::new();
    let mut note = |kind, holds: bool| {
        if holds {
            kinds.push(kind);
        }
    };
    note("links_not_seen", differs.is_of_links(&LINKS_NOT_SEEN));
    note(
        "links_seen_where_none",
        differs.is_of_links(&LINKS_SEEN_WHERE_NONE),
    );
    note("wikilinks", differs.is_of_links(&WIKILINKS));
    note("entry_page", differs.is_of_entry_pages());
    note("stricter_page_id", differs.is_of_page_ids());
    note("lone_surrogate", differs.is_of_lone_surrogates());
    note(
        "root_below_a_file",
        case["parentFile"].is_string() && is_root_fault(report),
    );
    kinds
}

/// Where the peer failed or hung: we must have reported all the same, naming what it failed on.
fn failure_kinds(case: &Value, report: &LintReport) -> Vec<&'static str> {
    let inner = &case["expected"]["lintWikiReport"];
    let always = if inner.is_object() {
        agrees(report, inner)
    } else if case["parentFile"].is_string() {
        is_root_fault(report)
    } else {
        let special = |path: &str| {
            entries(case).any(|entry| entry["path"] == path && entry["kind"] != "file")
        };
        report
            .diagnostics
            .iter()
            .any(|found| found.severity.as_str() == "error" && special(&found.path))
    };
    if always {
        vec!["always_reports"]
    } else {
        Vec::new()
    }
}

fn is_root_fault(report: &LintReport) -> bool {
    matches!(report.diagnostics.as_slice(), [only] if only.path == "." && only.code.starts_with("ROOT_"))
}

fn entries(case: &Value) -> impl Iterator<Item = &Value> {
    case["entries"].as_array().unwrap().iter()
}

/// Link syntax that CommonMark has and the peer does not see: reference definitions, targets in
/// angle brackets, with parentheses, percent-encoded or with space before the closing
/// parenthesis, brackets or images or escapes in the text, links over several lines, HTML.
const LINKS_NOT_SEEN: [&str; 10] = [
    r"(?m)^ {0,3}\[[^\]]+\]: ",
    r"\]\(<",
    r"\]\([^()\s]*\([^()\s]*\)",
    r"\]\([^)\s]*%[0-9A-Fa-f]{2}",
    r"\]\([^)\n]*\S[ \t]+\)",
    r"\[[^\]\n]*\[[^\n]*\]\(",
    r"\[[^\]\n]*\\[\[\]]",
    r"\[[^\]]*\n[^\]]*\]\(",
    r"\]\(\s*\n",
    r"(?i)<a\s",
];

/// Text that the peer takes for a link and CommonMark does not: code spans, indented code,
/// comments and other raw HTML, escaped brackets, brackets in wikilinks, a bare `.md`, a second
/// `.md`, and fences that only one of the two takes for one.
const LINKS_SEEN_WHERE_NONE: [&str; 8] = [
    r"`",
    r"(?m)^(?: {4}|\t)",
    r"<!--|(?m)^ {0,3}<",
    r"\\[\[\]!(]",
    r"\[\[\[|\[\[[^\[\]]*\][^\]]",
    r"(?i)(?:\(|/|\[\[)\.md\b",
    r"(?i)\.md\.md",
    r"~~~",
];

/// Wikilinks, which we also look for from `pages/`, by base name and by title.
const WIKILINKS: [&str; 1] = [r"\[\["];

/// In what our report differs from that of the peer.
struct Differs<'a> {
    case: &'a Value,
    missing: Lines,
    extra: Lines,
    files_more: i64,
}

impl<'a> Differs<'a> {
    fn new(case: &'a Value, expected: &Value, report: &LintReport) -> Self {
        let (missing, extra) = difference(&expected_lines(expected), &our_lines(report));
        let files = |count: u64| i64::try_from(count).unwrap();
        let files_more =
            files(report.files_examined) - files(expected["filesExamined"].as_u64().unwrap());
        Self {
            case,
            missing,
            extra,
            files_more,
        }
    }

    fn page_text(&self, path: &str) -> &str {
        entries(self.case)
            .find(|entry| entry["path"] == path)
            .and_then(|entry| entry["text"].as_str())
            .unwrap_or_default()
    }

    /// Whether the reports differ in links only, each in a page that has such syntax, and in
    /// orphans only if some page has.
    fn is_of_links(&self, syntax: &[&str]) -> bool {
        let has = |text: &str| {
            syntax
                .iter()
                .any(|pattern| regex::Regex::new(pattern).unwrap().is_match(text))
        };
        let some_page_has = || {
            entries(self.case).any(|entry| {
                entry["path"].as_str().unwrap().starts_with("pages/")
                    && entry["text"].as_str().is_some_and(has)
            })
        };
        self.files_more == 0
            && self
                .missing
                .iter()
                .chain(&self.extra)
                .all(|(code, _, path, _)| match code.as_str() {
                    "BROKEN_PAGE_LINK" | "LINK_ESCAPES_PAGES" => has(self.page_text(path)),
                    "ORPHAN_PAGE" => some_page_has(),
                    _ => false,
                })
    }

    /// Whether only orphans are missing, and each is an entry page.
    fn is_of_entry_pages(&self) -> bool {
        let is_entry = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            ["index.md", "readme.md"]
                .iter()
                .any(|entry| name.eq_ignore_ascii_case(entry))
        };
        self.files_more == 0
            && self.extra.is_empty()
            && !self.missing.is_empty()
            && self
                .missing
                .iter()
                .all(|(code, _, path, _)| code == "ORPHAN_PAGE" && is_entry(path))
    }

    /// Whether pages are refused for their names where the peer reads them, and the rest follows
    /// from that: the refused page is neither read nor indexed, linked to nor linked from.
    fn is_of_page_ids(&self) -> bool {
        let mut refused = 0;
        for (code, _, path, _) in &self.extra {
            match code.as_str() {
                "PAGE_INVALID_PATH" if is_stricter_id(path) => refused += 1,
                "BROKEN_PAGE_LINK" | "ORPHAN_PAGE" | "INDEX_STALE" => {}
                _ => return false,
            }
        }
        let follows = |(code, _, path, _): &(String, String, String, Option<u64>)| {
            is_stricter_id(path) || code == "INDEX_STALE" || code == "ORPHAN_PAGE"
        };
        refused > 0 && self.files_more == -refused && self.missing.iter().all(follows)
    }

    /// Whether a lone surrogate in a JSON string is refused where the peer takes it.
    fn is_of_lone_surrogates(&self) -> bool {
        let has = |path: &str| {
            regex::Regex::new(r"(?i)\\ud[89a-f][0-9a-f]{2}")
                .unwrap()
                .is_match(self.page_text(path))
        };
        self.files_more == 0
            && self.extra.iter().any(|(_, _, path, _)| has(path))
            && self
                .missing
                .iter()
                .chain(&self.extra)
                .all(|(code, _, path, _)| {
                    has(path)
                        || matches!(
                            code.as_str(),
                            "PAGE_MISSING_SOURCE"
                                | "INDEX_STALE"
                                | "BROKEN_PAGE_LINK"
                                | "ORPHAN_PAGE"
                        )
                })
    }
}

/// Whether a page path breaks a rule for ids that we have and the peer has not.
fn is_stricter_id(path: &str) -> bool {
    let Some(id) = path
        .strip_prefix("pages/")
        .and_then(|path| path.strip_suffix(".md"))
    else {
        return false;
    };
    let reserved = regex::Regex::new(
        r"(?i)^(?:con|prn|aux|nul|com[0-9\x{b9}\x{b2}\x{b3}]|lpt[0-9\x{b9}\x{b2}\x{b3}])(?:\..*)?$",
    )
    .unwrap();
    let bidi = |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    id.chars().any(|c| c.is_control() || bidi(c))
        || id.len() > 1024
        || id.split('/').any(|segment| {
            segment.len() > 252
                || reserved.is_match(segment.trim_end())
                || segment.to_ascii_lowercase().ends_with(".md")
        })
}

/// Lines of `a` that are not in `b`, and of `b` that are not in `a`, with repeats counted.
fn difference(a: &Lines, b: &Lines) -> (Lines, Lines) {
    let mut counts: BTreeMap<_, i64> = BTreeMap::new();
    for line in a {
        *counts.entry(line.clone()).or_default() += 1;
    }
    for line in b {
        *counts.entry(line.clone()).or_default() -= 1;
    }
    let pick = |sign: i64| {
        counts
            .iter()
            .flat_map(|(line, count)| {
                let times = usize::try_from(count * sign).unwrap_or(0);
                std::iter::repeat_n(line.clone(), times)
            })
            .collect()
    };
    (pick(1), pick(-1))
}

#[test]
fn vectors_lint() {
    let exceptions = Exceptions::of("lint");
    let mut failures = Failures::default();
    for case in cases("lint.json") {
        let folder = tempfile::tempdir().unwrap();
        let root = arrange(&case, folder.path());
        let report = match run(&root, &Context::default(), &LintOptions::default()) {
            Ok(report) => report,
            Err(error) => {
                failures.note(id(&case), format!("lint failed: {error}"));
                continue;
            }
        };
        let as_expected = case["expected"]
            .get("report")
            .is_some_and(|expected| agrees(&report, expected));
        if !as_expected && !exceptions.covers(id(&case), &kinds(&case, &report)) {
            let expected = case["expected"].get("report").unwrap_or(&case["expected"]);
            let (missing, extra) = match case["expected"].get("report") {
                Some(expected) => difference(&expected_lines(expected), &our_lines(&report)),
                None => (Vec::new(), our_lines(&report)),
            };
            failures.note(
                id(&case),
                format!(
                    "{}: missing {missing:?}, extra {extra:?}, files {} of {}",
                    case["name"], report.files_examined, expected["filesExamined"]
                ),
            );
        }
    }
    failures.check();
    exceptions.check_all_used();
}
