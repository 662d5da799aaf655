//! Lists of sources.

use std::fmt::Write as _;

use super::style::{Palette, safe_line, size};
use crate::wiki::ListSourcesReport;

/// One line a source: id, size, when, name.
pub(crate) fn list_sources(report: &ListSourcesReport, palette: Palette) -> String {
    let mut out = String::new();
    for source in &report.sources {
        let _ = writeln!(
            out,
            "{}  {:>9}  {}  {}",
            palette.name(&source.id),
            size(source.byte_count),
            palette.dim(&safe_line(&source.captured_at)),
            safe_line(&source.name)
        );
    }
    out
}
