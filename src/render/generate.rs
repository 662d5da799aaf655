//! The code wiki: what was written, and what it says.

use std::fmt::Write as _;

use super::style::{Palette, counted, safe, safe_line};
use crate::generate::{GenerateReport, SectionChange, ShowReport};

/// What `generate` did: each page that is not as it was.
pub(crate) fn generate(report: &GenerateReport, palette: Palette) -> String {
    let mut out = String::new();
    let mut unchanged = 0;
    for section in &report.sections {
        let word = match section.change {
            SectionChange::Unchanged => {
                unchanged += 1;
                continue;
            }
            SectionChange::Created => palette.good("created"),
            SectionChange::Updated => palette.good("updated"),
            SectionChange::Removed => palette.warning("removed"),
            SectionChange::Edited => palette.warning("kept"),
            SectionChange::Failed => palette.warning("failed"),
        };
        let _ = writeln!(
            out,
            "{word}  {}  {}",
            palette.name(&section.page),
            palette.dim(&safe_line(&section.reason))
        );
    }
    if report.up_to_date {
        let _ = writeln!(out, "{}", palette.good("up to date"));
    } else if report.dry_run {
        let _ = writeln!(out, "nothing was written: this is what would be done");
    }
    let _ = writeln!(
        out,
        "{}, {} unchanged, {} preserved",
        counted(report.sections.len() as u64, "section"),
        unchanged,
        counted(report.snapshots, "snapshot")
    );
    out
}

/// The sections. All of them: their ids and titles, and the first one's text; one: its text.
pub(crate) fn show(report: &ShowReport, palette: Palette) -> String {
    let mut out = String::new();
    if let [only] = report.sections.as_slice() {
        out.push_str(&safe(&only.body));
        return out;
    }
    if let Some(first) = report.sections.first() {
        let _ = writeln!(out, "{}", safe(first.body.trim_end()));
        out.push('\n');
    }
    for section in &report.sections {
        let _ = writeln!(
            out,
            "{}  {}",
            palette.name(&section.id),
            safe_line(&section.title)
        );
    }
    out
}
