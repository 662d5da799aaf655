//! Pages: what a write did, and lists.

use std::fmt::Write as _;

use super::style::{Palette, safe_line};
use crate::wiki::{ListPagesReport, UpsertPageReport};

/// `guides/install created, revision 3, sha256 ..`.
pub(crate) fn upsert_page(report: &UpsertPageReport, palette: Palette) -> String {
    let what = match (report.created, report.unchanged) {
        (true, _) => "created",
        (false, true) => "unchanged",
        (false, false) => "updated",
    };
    format!(
        "{} {what}, revision {}, sha256 {}\n",
        palette.name(&report.id),
        report.revision,
        report.sha256
    )
}

/// One page a line, then its title and summary.
pub(crate) fn list_pages(report: &ListPagesReport, palette: Palette) -> String {
    let mut out = String::new();
    for page in &report.pages {
        let _ = writeln!(
            out,
            "{}  {}  {}",
            palette.name(&page.id),
            palette.strong(&safe_line(&page.title)),
            palette.dim(&safe_line(&page.summary))
        );
    }
    out
}
