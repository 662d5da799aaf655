//! Snapshots that nothing cites.

use std::fmt::Write as _;

use super::style::{Palette, counted, safe_line};
use crate::wiki::GcReport;

/// Each snapshot, and how much they are.
pub(crate) fn gc(report: &GcReport, palette: Palette) -> String {
    let mut out = String::new();
    for snapshot in &report.snapshots {
        let _ = writeln!(
            out,
            "{}  {}  {}",
            palette.dim(&snapshot.id),
            snapshot.byte_count,
            safe_line(&snapshot.name)
        );
    }
    let what = counted(report.snapshots.len() as u64, "snapshot");
    let verb = if report.removed { "removed" } else { "uncited" };
    let _ = writeln!(
        out,
        "{what} {verb}, {} bytes; {} cited and kept",
        report.byte_count, report.kept
    );
    out
}
