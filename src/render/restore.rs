//! A plan of restoring, or what came of it.

use std::fmt::Write as _;

use super::style::{Palette, safe_line};
use crate::wiki::RestoreReport;

/// One line for each path, with what is done there.
pub(crate) fn restore(report: &RestoreReport, palette: Palette) -> String {
    let mut out = String::new();
    for item in &report.items {
        let action = format!("{:<9}", safe_line(&item.action));
        let _ = writeln!(
            out,
            "{action}  {}  {}",
            item.sha256,
            palette.name(&item.path)
        );
        if let Some(reason) = &item.reason {
            let _ = writeln!(out, "           {}", safe_line(reason));
        }
    }
    out
}
