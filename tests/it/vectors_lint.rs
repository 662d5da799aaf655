//! Family `lint`: what lint reports on a tree, code for code.

use std::collections::BTreeMap;

use llmwiki::context::Context;
use llmwiki::lint::{LintOptions, LintReport, run};
use serde_json::Value;

use crate::lint_trees::arrange;
use crate::vectors::{Exceptions, Failures, cases, id};

/// What a case wants or what we found: code, severity, path, line, in report order.
type Lines = Vec<Line>;
type Line = (String, String, String, Option<u64>);

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

/// The ways in which our report may differ on purpose, as far as they hold for this case: each
/// entry is a set of kinds that explain the whole difference together.
fn kinds(case: &Value, report: &LintReport) -> Vec<Vec<&'static str>> {
    let Some(expected) = case["expected"].get("report") else {
        return failure_kinds(case, report);
    };
    if case["parentFile"].is_string() && is_root_fault(report) {
        return vec![vec!["root_below_a_file"]];
    }
    let differs = Differs::new(case, expected, report);
    let mut sets: Vec<Vec<&'static str>> = KINDS
        .into_iter()
        .filter(|kind| differs.is_of(kind))
        .map(|kind| vec![kind])
        .collect();
    sets.extend(differs.together());
    sets
}

/// Where the peer failed or hung: we must have reported all the same, naming what it failed on.
fn failure_kinds(case: &Value, report: &LintReport) -> Vec<Vec<&'static str>> {
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
        vec![vec!["always_reports"]]
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

/// What can explain a single line of the difference.
const KINDS: [&str; 6] = [
    "links_not_seen",
    "links_seen_where_none",
    "wikilinks",
    "entry_page",
    "stricter_page_id",
    "lone_surrogate",
];

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

    /// Lines with whether they are ours.
    fn lines(&self) -> impl Iterator<Item = (&Line, bool)> {
        let missing = self.missing.iter().map(|line| (line, false));
        missing.chain(self.extra.iter().map(|line| (line, true)))
    }

    /// How many pages are refused for their names where the peer reads them.
    fn refused(&self) -> i64 {
        let is_refused =
            |(code, _, path, _): &&Line| code == "PAGE_INVALID_PATH" && is_stricter_id(path);
        i64::try_from(self.extra.iter().filter(is_refused).count()).unwrap()
    }

    /// Whether one kind explains the whole difference.
    fn is_of(&self, kind: &str) -> bool {
        let refused = if kind == "stricter_page_id" {
            self.refused()
        } else {
            0
        };
        self.files_more == -refused
            && self.lines().next().is_some()
            && self
                .lines()
                .all(|(line, is_ours)| self.explains(kind, line, is_ours))
    }

    /// The kinds that explain the difference only together.
    fn together(&self) -> Option<Vec<&'static str>> {
        let mut used: Vec<&'static str> = Vec::new();
        for (line, is_ours) in self.lines() {
            let kind = KINDS
                .into_iter()
                .find(|kind| self.explains(kind, line, is_ours))?;
            if !used.contains(&kind) {
                used.push(kind);
            }
        }
        (used.len() > 1 && self.files_more == -self.refused()).then_some(used)
    }

    fn explains(&self, kind: &str, line: &Line, is_ours: bool) -> bool {
        match kind {
            "links_not_seen" => self.is_of_links(&LINKS_NOT_SEEN, line),
            "links_seen_where_none" => self.is_of_links(&LINKS_SEEN_WHERE_NONE, line),
            "wikilinks" => self.is_of_links(&WIKILINKS, line),
            "entry_page" => !is_ours && is_of_entry_page(line),
            "stricter_page_id" => self.is_of_page_id(line, is_ours),
            "lone_surrogate" => self.is_of_lone_surrogate(line),
            _ => panic!("no such kind: {kind}"),
        }
    }

    /// A link in a page that has such syntax, or a page that may be orphan or not for its sake.
    fn is_of_links(&self, syntax: &[&str], (code, _, path, _): &Line) -> bool {
        let has = |text: &str| {
            let mut syntax = syntax.iter();
            syntax.any(|pattern| regex::Regex::new(pattern).unwrap().is_match(text))
        };
        match code.as_str() {
            "BROKEN_PAGE_LINK" | "LINK_ESCAPES_PAGES" => has(self.page_text(path)),
            "ORPHAN_PAGE" => entries(self.case).any(|entry| {
                entry["path"].as_str().unwrap().starts_with("pages/")
                    && entry["text"].as_str().is_some_and(has)
            }),
            _ => false,
        }
    }

    /// A page that is refused for its name where the peer reads it, or what follows from that: it
    /// is neither read nor indexed, linked to nor linked from.
    fn is_of_page_id(&self, (code, _, path, _): &Line, is_ours: bool) -> bool {
        let follows = |codes: &[&str]| self.refused() > 0 && codes.contains(&code.as_str());
        match (is_ours, code.as_str()) {
            (true, "PAGE_INVALID_PATH") => is_stricter_id(path),
            (true, _) => follows(&["BROKEN_PAGE_LINK", "ORPHAN_PAGE", "INDEX_STALE"]),
            (false, _) => {
                self.refused() > 0 && is_stricter_id(path)
                    || follows(&["ORPHAN_PAGE", "INDEX_STALE"])
            }
        }
    }

    /// A lone surrogate in a JSON string, which is refused where the peer takes it, or what
    /// follows from that.
    fn is_of_lone_surrogate(&self, (code, _, path, _): &Line) -> bool {
        let has = |path: &str| {
            regex::Regex::new(r"(?i)\\ud[89a-f][0-9a-f]{2}")
                .unwrap()
                .is_match(self.page_text(path))
        };
        let follows = [
            "PAGE_MISSING_SOURCE",
            "INDEX_STALE",
            "BROKEN_PAGE_LINK",
            "ORPHAN_PAGE",
        ];
        has(path)
            || follows.contains(&code.as_str())
                && self.extra.iter().any(|(_, _, path, _)| has(path))
    }
}

/// A page named as the entry of its folder, which needs no links to it.
fn is_of_entry_page((code, _, path, _): &Line) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut entries = ["index.md", "readme.md"].iter();
    code == "ORPHAN_PAGE" && entries.any(|entry| name.eq_ignore_ascii_case(entry))
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
        let is_on_purpose = || {
            kinds(&case, &report).iter().any(|together| {
                let mut kinds = together.iter();
                kinds.all(|kind| exceptions.covers(id(&case), &[kind]))
            })
        };
        if !as_expected && !is_on_purpose() {
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
