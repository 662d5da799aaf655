//! What a code means.

use std::fmt::Write as _;

use super::style::Palette;
use crate::ops::ExplainReport;

/// The code, then each of its meanings with what to do; or the list of all codes.
pub(crate) fn explain(report: &ExplainReport, palette: Palette) -> String {
    let mut out = String::new();
    let width = report.codes.iter().map(|known| known.code.len()).max();
    for known in &report.codes {
        let name = format!("{:<1$}", known.code, width.unwrap_or(0));
        let _ = writeln!(out, "{}  {}", palette.strong(&name), known.meaning);
    }
    let code = report.code.as_deref().unwrap_or_default();
    for explanation in &report.explanations {
        let mut kind = explanation.kind.clone();
        if let Some(severity) = &explanation.severity {
            kind = format!("{kind}, {severity}");
        }
        if let Some(status) = explanation.exit_status {
            kind = format!("{kind}, exit status {status}");
        }
        let _ = writeln!(out, "{} ({kind})", palette.strong(code));
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
