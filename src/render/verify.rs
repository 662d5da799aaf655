//! Findings of the deep check.

use std::fmt::Write as _;

use super::style::{Palette, counted, safe_line};
use crate::wiki::VerifyReport;

/// One line a finding, then what was checked.
pub(crate) fn verify(report: &VerifyReport, palette: Palette) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let _ = writeln!(
            out,
            "{} {}: {}",
            palette.error("unsound"),
            palette.name(&finding.subject),
            safe_line(&finding.message)
        );
    }
    let verdict = if report.sound {
        palette.good("sound")
    } else {
        palette.error(&counted(report.findings.len() as u64, "finding"))
    };
    let _ = writeln!(
        out,
        "{verdict}: checked {}, {}, {}",
        counted(report.sources_checked, "source"),
        counted(report.versions_checked, "page version"),
        counted(report.sections_checked, "section")
    );
    out
}
