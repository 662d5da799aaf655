//! An answer, then where it comes from.

use std::fmt::Write as _;

use super::style::{Palette, safe, safe_line};
use crate::ask::{AskReport, Citation};

/// What the reader has not seen of the answer, and its citations; with evidence, that instead.
pub(crate) fn ask(report: &AskReport, rest: &str, palette: Palette) -> String {
    let mut out = String::new();
    if let Some(evidence) = &report.evidence {
        for item in evidence {
            let _ = writeln!(
                out,
                "{}  {}",
                palette.name(&place(&item.place)),
                safe_line(&item.symbol)
            );
            for line in item.text.lines() {
                let _ = writeln!(out, "    {}", safe(line));
            }
            out.push('\n');
        }
        return out;
    }
    if report.answer.is_empty() {
        return out;
    }
    let rest = rest.trim_end();
    if !rest.is_empty() {
        let _ = writeln!(out, "{}\n", safe(rest));
    }
    for citation in &report.citations {
        let _ = writeln!(out, "{}", palette.name(&place(citation)));
    }
    out
}

fn place(citation: &Citation) -> String {
    match citation {
        Citation::Code {
            file,
            line,
            end_line,
            ..
        } => format!("{file}:{line}-{end_line}"),
        Citation::Page {
            page,
            start_line,
            end_line,
            ..
        } => format!("{page}:{start_line}-{end_line}"),
    }
}
