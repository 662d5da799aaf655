//! Search hits: page, heading trail, lines and score on one line, then the snippet.

use std::fmt::Write as _;

use super::snippet::snippet;
use super::style::{Palette, safe, safe_line};
use crate::ops::{FoundHit, SearchAnswer};
use crate::wiki::{CodeHit, Explanation, SearchHit};

/// The hits, best first; nothing when there are none.
pub(crate) fn search(report: &SearchAnswer, palette: Palette) -> String {
    let mut out = String::new();
    for (at, hit) in report.hits.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let hit = match hit {
            FoundHit::Page(hit) => hit,
            FoundHit::Code(hit) => {
                code(hit, &mut out, palette);
                continue;
            }
        };
        let _ = write!(
            out,
            "{}:{}-{}",
            palette.name(&hit.page_id),
            hit.start_line,
            hit.end_line
        );
        // A list of pages is not ranked.
        let score = if hit.score > 0.0 {
            format!("  {}", palette.dim(&format!("{:.2}", hit.score)))
        } else {
            String::new()
        };
        let _ = writeln!(out, "  {}{score}", trail(hit));
        for line in snippet(&hit.snippet, &hit.matches, palette)
            .lines()
            .filter(|line| !line.trim().is_empty())
        {
            let _ = writeln!(out, "    {line}");
        }
        if let Some(explanation) = &hit.explanation {
            explain(explanation, &mut out, palette);
        }
    }
    out
}

/// What each term adds to a score, a line each.
fn explain(explanation: &Explanation, out: &mut String, palette: Palette) {
    for share in &explanation.terms {
        let times = if share.count > 1 {
            format!(" x {}", share.count)
        } else {
            String::new()
        };
        let line = format!(
            "{:8.3}  {}{times}: {} here, in {} of {} sections (idf {:.3})",
            share.score,
            safe_line(&share.term),
            share.frequency,
            share.document_frequency,
            explanation.section_count,
            share.idf
        );
        let _ = writeln!(out, "    {}", palette.dim(&line));
    }
    let line = format!(
        "the section has {} terms, {:.1} is the average; k1 {}, b {}",
        explanation.length, explanation.average_length, explanation.k1, explanation.b
    );
    let _ = writeln!(out, "    {}", palette.dim(&line));
}

fn code(hit: &CodeHit, out: &mut String, palette: Palette) {
    let _ = writeln!(
        out,
        "{}:{}-{}  {}  {}",
        palette.name(&hit.file),
        hit.start_line,
        hit.end_line,
        safe_line(&hit.symbol),
        palette.dim(&format!("{:.2}", hit.score))
    );
    for line in hit.snippet.lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(out, "    {}", safe(line.trim_end()));
    }
}

/// Title and headings, without naming the title twice.
fn trail(hit: &SearchHit) -> String {
    let mut parts = vec![hit.title.as_str()];
    for heading in &hit.heading_trail {
        if parts.last() != Some(&heading.as_str()) {
            parts.push(heading);
        }
    }
    safe_line(&parts.join(" > ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(snippet: &str, matches: &[(usize, usize)]) -> SearchHit {
        SearchHit {
            page_id: "guides/install".into(),
            title: "Install".into(),
            heading_trail: vec!["Install".into(), "Linux".into()],
            start_line: 12,
            end_line: 20,
            score: 8.306,
            snippet: snippet.into(),
            matches: matches.to_vec(),
            source_ids: Vec::new(),
            explanation: None,
        }
    }

    fn text(hits: Vec<SearchHit>) -> String {
        let report = SearchAnswer {
            hits: hits.into_iter().map(FoundHit::Page).collect(),
            did_you_mean: None,
            note: None,
            skipped: Vec::new(),
            pending: 0,
        };
        search(&report, Palette::new(false))
    }

    #[test]
    fn a_hit_shows_page_lines_trail_and_marked_words() {
        assert_eq!(
            text(vec![hit(
                "Run the installer.\n\nThen run it.",
                &[(0, 3), (25, 28)]
            )]),
            "guides/install:12-20  Install > Linux  8.31\n    **Run** the installer.\n    Then **run** it.\n"
        );
    }

    #[test]
    fn a_range_that_does_not_fit_the_snippet_is_left_unmarked() {
        let text = text(vec![hit("short", &[(2, 99)])]);
        assert!(text.contains("    short\n"), "{text}");
    }
}
