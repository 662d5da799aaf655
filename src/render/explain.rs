//! What a code means.

use std::fmt::Write as _;

use super::style::Palette;
use crate::ops::ExplainReport;

/// The code, then each of its meanings with what to do.
pub(crate) fn explain(report: &ExplainReport, palette: Palette) -> String {
    let mut out = String::new();
    for explanation in &report.explanations {
        let mut kind = explanation.kind.clone();
        if let Some(severity) = &explanation.severity {
            kind = format!("{kind}, {severity}");
        }
        if let Some(status) = explanation.exit_status {
            kind = format!("{kind}, exit status {status}");
        }
        let _ = writeln!(out, "{} ({kind})", palette.strong(&report.code));
        let _ = writeln!(out, "  {}", explanation.meaning);
        if let Some(hint) = &explanation.hint {
            let _ = writeln!(out, "  what to do: {hint}");
        }
        for (label, example) in [("wrong", &explanation.wrong), ("right", &explanation.right)] {
            let Some(example) = example else { continue };
            let _ = writeln!(out, "  {label}:");
            for line in example.lines() {
                let _ = writeln!(out, "    {}", palette.dim(line));
            }
        }
    }
    out
}
