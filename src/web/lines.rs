//! A text with numbered lines that can be linked to: sources, files of code, pages as text. Of a
//! long text a window is shown, with the way to the rest.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::layout::grouped;
use super::markdown::parts_html;
use super::urls::{self, Lines};
use crate::code::{self, Language, highlight};

/// So many lines are shown at once.
const WINDOW: u32 = 2000;

/// What is shown of a text.
pub(super) struct Wanted<'a> {
    /// The address of the text, with what stands in its query beside the lines.
    pub(super) path: String,
    pub(super) query: &'a [(&'a str, &'a str)],
    /// Lines that are marked.
    pub(super) lit: Option<Lines>,
    /// The line with which the window begins; that of the marked ones when not given.
    pub(super) from: Option<u32>,
}

/// The text as numbered lines. A marked line that the text does not have is said.
pub(super) fn numbered(text: &str, language: &Language, wanted: &Wanted<'_>) -> Markup {
    let lines = code::Lines::new(text);
    let count = lines.count();
    let before = |line: u32| line.saturating_sub(WINDOW / 4).max(1);
    let first = match (wanted.from, wanted.lit) {
        (Some(from), _) => from.clamp(1, count.max(1)),
        (None, Some((lit, _))) if count > WINDOW => before(lit.min(count)),
        _ => 1,
    };
    let last = first.saturating_add(WINDOW - 1).min(count);
    let parts = highlight(language, text);
    let mut out = String::with_capacity(text.len() * 2);
    let mut at = lines.slice(1, first - 1).len();
    for line in first..=last {
        let is_lit = wanted.lit.is_some_and(|(a, b)| a <= line && line <= b);
        let class = if is_lit { "line lit" } else { "line" };
        let _ = write!(
            out,
            "<span class=\"{class}\" id=\"L{line}\"><a class=\"no\" href=\"#L{line}\" \
             aria-label=\"Line {line}\">{line}</a><span class=\"of\">"
        );
        let whole = lines.slice(line, line);
        let shown = whole.trim_end_matches(['\n', '\r']);
        parts_html(&mut out, text, at..at + shown.len(), &parts);
        at += whole.len();
        out.push_str("\n</span></span>");
    }
    let link = |from: u32| {
        let from = from.to_string();
        let query = urls::with(wanted.query, "from", &from);
        format!("{}{query}#L{from}", wanted.path)
    };
    let windows = html! {
        @if first > 1 || last < count {
            p.windows {
                "Lines " (grouped(first.into())) " to " (grouped(last.into())) " of "
                (grouped(count.into())) ". "
                @if first > 1 { a href=(link(first.saturating_sub(WINDOW).max(1))) { "Before" } " " }
                @if last < count { a href=(link(last + 1)) { "After" } }
            }
        }
    };
    html! {
        @if let Some((first, last)) = wanted.lit {
            @if last > count {
                p.warn role="status" {
                    "Lines " (first) " to " (last) " were asked for; there are " (count) "."
                }
            }
        }
        (windows)
        pre.lines tabindex="0" { code { (PreEscaped(out)) } }
        (windows)
    }
}
