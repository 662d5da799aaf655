//! The compact answer to "what is there".

use std::fmt::Write as _;

use super::code;
use super::style::{Palette, counted, safe_line, size};
use crate::wiki::StatusReport;

/// How many skipped files are named; the JSON names all.
const SKIPPED_SHOWN: usize = 10;

/// The status; `chosen` says who chose the root.
pub(crate) fn status(report: &StatusReport, chosen: &str, palette: Palette) -> String {
    let mut out = String::new();
    let mut row = |label: &str, value: &str| {
        let _ = writeln!(out, "{} {value}", palette.dim(&format!("{label:<8}")));
    };
    row("root", &format!("{} ({chosen})", safe_line(&report.root)));
    if !report.initialized {
        row("wiki", &palette.warning("none here yet"));
        return out;
    }
    row("sources", &report.source_count.to_string());
    row("pages", &report.page_count.to_string());
    let index = &report.index;
    let state = match (index.present, index.fresh) {
        (false, _) => palette.warning("none yet"),
        (true, true) => palette.good("fresh"),
        (true, false) => palette.warning("stale"),
    };
    let sections = if index.present {
        format!(", {}", counted(index.section_count, "section"))
    } else {
        String::new()
    };
    let pending = if report.pending > 0 {
        format!(", {} not taken in yet", counted(report.pending, "change"))
    } else {
        String::new()
    };
    row("index", &format!("{state}{sections}{pending}"));
    if let Some(store) = &report.store {
        row(
            "store",
            &format!(
                "{}, schema {}, analysis {}",
                size(store.bytes),
                store.schema_version,
                store.analysis
            ),
        );
    }
    if let Some(code) = &report.code {
        let state = if code.fresh {
            palette.good("fresh")
        } else {
            palette.warning(&format!("{} behind", counted(code.pending, "file")))
        };
        row("code", &format!("{state}, {}", code::summary(code)));
        row("", &code::languages(code));
        if let Some(skipped) = code::skipped(code) {
            row("", &format!("left out: {skipped}"));
        }
        for file in code.skipped_files.iter().flatten() {
            row(
                "",
                &format!("{}: {}", palette.name(&file.path), safe_line(&file.reason)),
            );
        }
    }
    for (at, file) in report.skipped.iter().enumerate() {
        if at == SKIPPED_SHOWN {
            row(
                "",
                &format!("and {} more", report.skipped.len() - SKIPPED_SHOWN),
            );
            break;
        }
        row(
            if at == 0 { "skipped" } else { "" },
            &format!(
                "{}: {} ({})",
                palette.name(&file.path),
                safe_line(&file.reason),
                safe_line(&file.code)
            ),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wiki::{IndexStatus, SkippedFile};

    fn report() -> StatusReport {
        StatusReport {
            initialized: true,
            root: "/w/.llmwiki".into(),
            source_count: 2,
            page_count: 1,
            schema_text: None,
            index: IndexStatus {
                present: true,
                fresh: false,
                format_version: Some(1),
                section_count: 1,
            },
            store: None,
            code: None,
            pending: 1,
            skipped: vec![SkippedFile {
                path: "pages/bad.md".into(),
                code: "INVALID_PAGE".into(),
                reason: "no title".into(),
            }],
        }
    }

    #[test]
    fn status_is_compact_and_names_what_was_skipped() {
        assert_eq!(
            status(&report(), "--root", Palette::new(false)),
            "root     /w/.llmwiki (--root)\n\
             sources  2\n\
             pages    1\n\
             index    stale, 1 section, 1 change not taken in yet\n\
             skipped  pages/bad.md: no title (INVALID_PAGE)\n"
        );
    }

    #[test]
    fn a_root_without_a_wiki_says_so_and_no_more() {
        let report = StatusReport {
            initialized: false,
            ..report()
        };
        assert_eq!(
            status(&report, "the default", Palette::new(false)),
            "root     /w/.llmwiki (the default)\nwiki     none here yet\n"
        );
    }
}
