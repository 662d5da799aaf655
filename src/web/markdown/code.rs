//! Source code as HTML, its parts told apart.

use std::ops::Range;

use super::escape;
use crate::code::{Language, highlight};

/// The language that the word behind a fence means.
pub(in super::super) fn language_of(word: &str) -> &'static Language {
    let word = word.to_ascii_lowercase();
    let word = match word.as_str() {
        "shell" | "console" => "bash",
        "golang" => "go",
        word => word,
    };
    let named = Language::named(word);
    if named.name == word {
        return named;
    }
    Language::of_path(&format!("x.{word}"))
}

/// The text, its parts in spans.
pub(in super::super) fn code_html(out: &mut String, language: &Language, text: &str) {
    parts_html(out, text, 0..text.len(), &highlight(language, text));
}

/// A range of a text whose parts are known; parts that reach beyond it are cut.
pub(in super::super) fn parts_html(
    out: &mut String,
    text: &str,
    range: Range<usize>,
    parts: &[(Range<usize>, &'static str)],
) {
    let mut at = range.start;
    let first = parts.partition_point(|(part, _)| part.end <= range.start);
    for (part, kind) in &parts[first..] {
        if part.start >= range.end {
            break;
        }
        let (start, end) = (part.start.max(at), part.end.min(range.end));
        if start >= end {
            continue;
        }
        escape(out, &text[at..start]);
        out.push_str("<span class=\"hl-");
        out.push_str(kind);
        out.push_str("\">");
        escape(out, &text[start..end]);
        out.push_str("</span>");
        at = end;
    }
    escape(out, &text[at..range.end]);
}
