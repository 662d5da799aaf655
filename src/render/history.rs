//! Revisions, newest first, with their diffs when they were asked for.

use std::fmt::Write as _;

use super::style::{Palette, safe, safe_line};
use crate::wiki::HistoryReport;

/// How much of a revision's hash is printed; `--at` takes a beginning.
const SHORT_HASH: usize = 12;

/// One line a revision, its message below, then its diff.
pub(crate) fn history(report: &HistoryReport, palette: Palette) -> String {
    let mut out = String::new();
    for revision in &report.revisions {
        let short = revision.id.get(..SHORT_HASH).unwrap_or(&revision.id);
        let actor = revision
            .actor
            .as_ref()
            .map(|actor| format!("  {}", safe_line(actor)))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "{} {}  {}  {} {}  +{} -{}{actor}",
            palette.strong(&revision.seq.to_string()),
            palette.dim(short),
            palette.dim(&revision.when),
            safe_line(&revision.how),
            palette.name(&revision.page),
            revision.added,
            revision.removed,
        );
        if let Some(message) = &revision.message {
            let _ = writeln!(out, "    {}", safe_line(message));
        }
        for line in revision.diff.iter().flat_map(|diff| diff.lines()) {
            let line = safe(line);
            let painted = match line.as_bytes().first() {
                Some(b'+') => palette.good(&line),
                Some(b'-') => palette.error(&line),
                Some(b'@') => palette.dim(&line),
                _ => line.into_owned(),
            };
            let _ = writeln!(out, "    {painted}");
        }
    }
    out
}
