//! The code index: how much is in it, and what is not.

use std::fmt::Write as _;

use super::style::{Palette, counted, safe_line};
use crate::wiki::{CodeIndexReport, CodeStatus};

/// Languages that are named; the JSON names all.
const LANGUAGES_SHOWN: usize = 6;

/// What `index-code` did.
pub(crate) fn index_code(report: &CodeIndexReport, palette: Palette) -> String {
    let mut out = String::new();
    let code = &report.code;
    let _ = writeln!(out, "{}", summary(code));
    if report.added + report.changed + report.removed == 0 {
        let _ = writeln!(out, "{}", palette.good("up to date"));
    } else {
        let _ = writeln!(
            out,
            "{} added, {} changed, {} removed",
            report.added, report.changed, report.removed
        );
    }
    let _ = writeln!(out, "{}", languages(code));
    if let Some(skipped) = skipped(code) {
        let _ = writeln!(
            out,
            "left out: {skipped} (`llmwiki status --skipped` names them)"
        );
    }
    if code.lossy > 0 {
        let _ = writeln!(
            out,
            "{} not UTF-8: read with bytes replaced",
            counted(code.lossy, "file is")
        );
    }
    out
}

/// Files, lines and chunks.
pub(super) fn summary(code: &CodeStatus) -> String {
    format!(
        "{}, {}, {} in {}",
        counted(code.files, "file"),
        counted(code.lines, "line"),
        counted(code.chunks, "chunk"),
        safe_line(&code.project)
    )
}

/// The most frequent languages.
pub(super) fn languages(code: &CodeStatus) -> String {
    let mut parts: Vec<String> = code
        .languages
        .iter()
        .take(LANGUAGES_SHOWN)
        .map(|language| format!("{} {}", language.language, language.files))
        .collect();
    if code.languages.len() > LANGUAGES_SHOWN {
        parts.push(format!("{} more", code.languages.len() - LANGUAGES_SHOWN));
    }
    parts.join(", ")
}

/// What was left out, by reason.
pub(super) fn skipped(code: &CodeStatus) -> Option<String> {
    let parts: Vec<String> = code
        .skipped
        .iter()
        .map(|left_out| format!("{} {}", left_out.count, left_out.reason))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
