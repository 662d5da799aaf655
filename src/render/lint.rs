//! Findings of lint: one line each, what to do below it, then the count.

use std::fmt::Write as _;

use super::style::{Palette, counted, safe_line};
use crate::lint::{LintReport, Severity};

/// At most `limit` findings, then the count of all.
pub(crate) fn lint(report: &LintReport, limit: usize, palette: Palette) -> String {
    let mut out = String::new();
    for found in report.diagnostics.iter().take(limit) {
        let severity = match found.severity {
            Severity::Error => palette.error("error"),
            Severity::Warning => palette.warning("warning"),
        };
        let line = found
            .line
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "{}{line}: {severity}: {} ({})",
            palette.name(&found.path),
            safe_line(&found.message),
            found.code
        );
        if let Some(hint) = found.hint {
            let _ = writeln!(out, "    {}", palette.dim(hint));
        }
    }
    let more = report.diagnostics.len().saturating_sub(limit);
    if more > 0 {
        let _ = writeln!(out, "{more} more; --limit N or --json shows them");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::Diagnostic;

    fn finding(line: Option<u32>) -> Diagnostic {
        Diagnostic {
            code: "BROKEN_PAGE_LINK",
            severity: Severity::Error,
            path: "pages/a.md".into(),
            line,
            message: "link to b, which does not exist".into(),
            hint: Some("write the page"),
        }
    }

    #[test]
    fn findings_name_path_line_and_code_and_what_is_cut_is_counted() {
        let report = LintReport {
            diagnostics: vec![finding(Some(3)), finding(None)],
            error_count: 2,
            warning_count: 0,
            files_examined: 1,
        };
        assert_eq!(
            lint(&report, 1, Palette::new(false)),
            "pages/a.md:3: error: link to b, which does not exist (BROKEN_PAGE_LINK)\n    \
             write the page\n\
             1 more; --limit N or --json shows them\n\
             2 errors, 0 warnings in 1 file\n"
        );
    }
}
