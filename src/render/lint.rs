//! Findings of lint for people: what is wrong, where, the line with a caret below the fault, what
//! to do; then counts by code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::style::{Palette, counted, safe_line};
use crate::lint::{Diagnostic, LintReport, Severity};

/// Repeats of this code say little one by one.
const FOLDED: &str = "ORPHAN_PAGE";
/// How many paths a folded code names.
const FOLDED_PATHS: usize = 5;

/// How to print a report.
pub(crate) struct LintText<'a> {
    /// At most this many findings.
    pub(crate) limit: usize,
    /// Print every finding of its own, also those that are folded into one line otherwise.
    pub(crate) verbose: bool,
    pub(crate) palette: Palette,
    /// Gives a line of a file by path and number.
    pub(crate) line: &'a mut dyn FnMut(&str, u32) -> Option<String>,
}

/// The findings, as many as are wanted, then how many there are of each code, then the count.
pub(crate) fn lint(report: &LintReport, how: &mut LintText<'_>) -> String {
    let renderer = if how.palette.is_colored() {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let folds = |found: &&Diagnostic| !how.verbose && found.code == FOLDED;
    let folded: Vec<&Diagnostic> = report.diagnostics.iter().filter(folds).collect();
    let folded = if folded.len() > 1 { folded } else { Vec::new() };
    let single: Vec<&Diagnostic> = report
        .diagnostics
        .iter()
        .filter(|found| folded.is_empty() || !folds(found))
        .collect();

    let mut out = String::new();
    for found in single.iter().take(how.limit) {
        out.push_str(&finding(found, &renderer, how.line));
        out.push_str("\n\n");
    }
    let more = single.len().saturating_sub(how.limit);
    if more > 0 {
        let _ = writeln!(out, "... {more} more; --limit N or --json shows them\n");
    }
    if !folded.is_empty() {
        out.push_str(&fold(&folded, how.palette));
    }
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for found in &report.diagnostics {
        *counts.entry(found.code).or_default() += 1;
    }
    for (code, count) in counts {
        let _ = writeln!(out, "{count:>6} {code}");
    }
    let _ = writeln!(
        out,
        "{}, {} in {}",
        counted(report.error_count, "error"),
        counted(report.warning_count, "warning"),
        counted(report.files_examined, "file")
    );
    out
}

/// One finding with the line that it is about.
fn finding(
    found: &Diagnostic,
    renderer: &Renderer,
    line: &mut dyn FnMut(&str, u32) -> Option<String>,
) -> String {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let message = safe_line(&found.message).into_owned();
    let path = safe_line(&found.path).into_owned();
    let shown = found
        .line
        .and_then(|number| line(&found.path, number))
        .map(|text| {
            let range = found
                .columns()
                .and_then(|columns| columns.of_line(&text))
                .map(|part| {
                    let start = safe_line(&text[..part.start]).len();
                    start..start + safe_line(&text[part]).len()
                });
            let text = safe_line(&text).into_owned();
            let range = range.unwrap_or_else(|| mark(&text, &found.message));
            (text, range)
        });
    let mut group = Group::with_title(level.primary_title(message).id(found.code));
    group = match (&shown, found.line) {
        (Some((text, range)), Some(number)) => group.element(
            Snippet::source(text.as_str())
                .line_start(usize::try_from(number).unwrap_or(1))
                .path(path)
                .annotation(AnnotationKind::Primary.span(range.clone())),
        ),
        (_, Some(number)) => {
            group.element(Origin::path(path).line(usize::try_from(number).unwrap_or(1)))
        }
        (_, None) => group.element(Origin::path(path)),
    };
    if let Some(hint) = found.hint {
        group = group.element(Level::HELP.message(hint));
    }
    renderer.render(&[group])
}

/// The part of a line that a message is about where no column says so: what it quotes, whole or by its last part, else
/// all of the line but white space around it.
fn mark(line: &str, message: &str) -> Range<usize> {
    let quoted = message.split('"').skip(1).step_by(2);
    for text in quoted.filter(|text| !text.is_empty()) {
        let last = text.rsplit('/').next().unwrap_or(text);
        for candidate in [text, last] {
            if let Some(start) = line.find(candidate).filter(|_| !candidate.is_empty()) {
                return start..start + candidate.len();
            }
        }
    }
    let start = line.len() - line.trim_start().len();
    start..line.trim_end().len().max(start)
}

/// Many findings of one code in one line.
fn fold(folded: &[&Diagnostic], palette: Palette) -> String {
    let names: Vec<String> = folded
        .iter()
        .take(FOLDED_PATHS)
        .map(|found| palette.name(&found.path))
        .collect();
    let rest = if folded.len() > FOLDED_PATHS {
        ", ..."
    } else {
        ""
    };
    format!(
        "{}: no other page links to {} pages: {}{rest}; -v lists them\n\n",
        palette.warning(&format!("warning[{FOLDED}]")),
        folded.len(),
        names.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: &'static str, path: &str, line: Option<u32>, message: &str) -> Diagnostic {
        Diagnostic {
            code,
            severity: if code == FOLDED {
                Severity::Warning
            } else {
                Severity::Error
            },
            path: path.into(),
            line,
            column: None,
            end_column: None,
            message: message.into(),
            hint: Some("write the page"),
        }
    }

    fn report(diagnostics: Vec<Diagnostic>) -> LintReport {
        let errors = diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error);
        let error_count = errors.count() as u64;
        LintReport {
            warning_count: diagnostics.len() as u64 - error_count,
            error_count,
            files_examined: 3,
            diagnostics,
        }
    }

    fn print(report: &LintReport, limit: usize, verbose: bool) -> String {
        let mut how = LintText {
            limit,
            verbose,
            palette: Palette::new(false),
            line: &mut |path, line| {
                (path == "pages/a.md").then(|| format!("See [x](gone.md) {line}"))
            },
        };
        lint(report, &mut how)
    }

    #[test]
    fn findings_show_the_line_and_what_is_cut_is_counted() {
        let broken = |line| {
            finding(
                "BROKEN_PAGE_LINK",
                "pages/a.md",
                line,
                "page \"sub/gone\" does not exist",
            )
        };
        let report = report(vec![
            broken(Some(9)),
            finding("SCHEMA_MISSING", "schema.md", None, "there is no schema.md"),
            broken(None),
        ]);
        let text = print(&report, 2, false);
        let wanted = "\
error[BROKEN_PAGE_LINK]: page \"sub/gone\" does not exist
 --> pages/a.md:9:9
  |
9 | See [x](gone.md) 9
  |         ^^^^
  |
  = help: write the page

error[SCHEMA_MISSING]: there is no schema.md
--> schema.md
 = help: write the page

... 1 more; --limit N or --json shows them

     2 BROKEN_PAGE_LINK
     1 SCHEMA_MISSING
3 errors, 0 warnings in 3 files
";
        assert_eq!(text, wanted);
    }

    #[test]
    fn the_caret_stands_below_the_columns_whatever_comes_before_them() {
        let mut found = finding("CITATION_BROKEN", "pages/a.md", Some(3), "no such line");
        (found.column, found.end_column) = (Some(6), Some(9));
        let report = report(vec![found]);
        let mut how = LintText {
            limit: 9,
            verbose: false,
            palette: Palette::new(false),
            line: &mut |_, _| Some("\u{1f600}\u{1b}a [b] no such [b]".to_owned()),
        };
        let text = lint(&report, &mut how);
        let lines: Vec<&str> = text.lines().collect();
        let (shown, caret) = (lines[3], lines[4]);
        let at = shown.find("[b]").unwrap();
        let width = |text: &str| text.chars().map(|c| 1 + usize::from(c > '\u{ffff}')).sum();
        let columns: usize = width(&shown[..at]);
        assert_eq!(caret.find('^'), Some(columns), "{text}");
        assert_eq!(caret.matches('^').count(), 3, "{text}");
    }

    #[test]
    fn orphans_are_folded_unless_each_is_wanted() {
        let orphans = (0..7)
            .map(|n| {
                finding(
                    FOLDED,
                    &format!("pages/{n}.md"),
                    None,
                    "no other page links here",
                )
            })
            .collect();
        let report = report(orphans);
        let text = print(&report, 20, false);
        assert!(
            text.starts_with("warning[ORPHAN_PAGE]: no other page links to 7 pages: pages/0.md, ")
        );
        assert!(
            text.contains("     7 ORPHAN_PAGE\n0 errors, 7 warnings"),
            "{text}"
        );
        assert_eq!(
            print(&report, 20, true)
                .matches("warning[ORPHAN_PAGE]")
                .count(),
            7
        );
    }

    #[test]
    fn nothing_in_a_file_steers_the_terminal() {
        let report = report(vec![finding(
            "X",
            "a\u{1b}[2J",
            Some(1),
            "bad\u{1b}[2J\nline",
        )]);
        let mut how = LintText {
            limit: 9,
            verbose: false,
            palette: Palette::new(false),
            line: &mut |_, _| Some("\u{1b}[2J\u{202e}".to_owned()),
        };
        let text = lint(&report, &mut how);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
}
