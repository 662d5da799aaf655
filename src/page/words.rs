//! A stretch of Markdown as its words, without its marks, for who shows a snippet.
//!
//! Reports keep the original text; only here link targets, emphasis, heading marks, bars of tables,
//! HTML and footnote marks are left out. A snippet is a stretch of a page, so what is cut at its
//! ends stays as it is.

use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Original text with byte ranges of matches, as its words in pieces that are matched or not.
pub(crate) fn words(text: &str, matches: &[(usize, usize)]) -> Vec<(String, bool)> {
    let mut words = Words {
        text,
        matches: matches
            .iter()
            .copied()
            .filter(|&(start, end)| text.get(start..end).is_some())
            .collect(),
        pieces: Vec::new(),
        skipped: 0,
    };
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS;
    // Number of the next item of each open list; none where they have none.
    let mut lists: Vec<Option<u64>> = Vec::new();
    let mut is_code = false;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::Text(shown) if is_code => words.show(&shown, range),
            Event::Text(shown) => words.text(&shown, range),
            // A block of HTML with the words between its tags.
            Event::Html(_) => words.html(range),
            Event::Code(shown) => {
                let place = inside_ticks(text, &range, shown.len());
                words.show(&shown, place);
            }
            Event::InlineMath(shown) | Event::DisplayMath(shown) => words.show(&shown, range),
            Event::Start(Tag::List(first)) => lists.push(first),
            Event::End(TagEnd::List(_)) => drop(lists.pop()),
            Event::Start(Tag::Item) => {
                words.end_line();
                let mut mark = "  ".repeat(lists.len().saturating_sub(1));
                match lists.last_mut() {
                    Some(Some(number)) => {
                        let _ = write!(mark, "{number}. ");
                        *number += 1;
                    }
                    _ => mark.push_str("- "),
                }
                words.put(&mark, false);
            }
            Event::TaskListMarker(done) => words.put(if done { "[x] " } else { "[ ] " }, false),
            Event::End(TagEnd::TableCell) => words.put("  ", false),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::TableHead
                | TagEnd::TableRow
                | TagEnd::HtmlBlock
                | TagEnd::FootnoteDefinition,
            ) => words.end_line(),
            Event::End(TagEnd::CodeBlock) => {
                is_code = false;
                words.end_line();
            }
            _ => {}
        }
    }
    if words.is_blank() {
        // Nothing but marks: better those than nothing.
        words.pieces.clear();
        words.show(text, 0..text.len());
    }
    words.pieces
}

/// Where the words of a code span stand: between its backticks and the blanks that the parser takes
/// off. All of the span where the parser shows something else, such as an escaped bar in a table.
fn inside_ticks(text: &str, range: &Range<usize>, length: usize) -> Range<usize> {
    let span = &text[range.clone()];
    let ticks = span.len() - span.trim_start_matches('`').len();
    let start = match span.len().checked_sub(2 * ticks + length) {
        Some(0) => range.start + ticks,
        Some(2) => range.start + ticks + 1,
        _ => return range.clone(),
    };
    start..start + length
}

/// What is shown, in pieces that are matched or not.
struct Words<'a> {
    text: &'a str,
    matches: Vec<(usize, usize)>,
    pieces: Vec<(String, bool)>,
    /// End of a footnote mark whose note is not in the snippet, which the parser takes for text.
    skipped: usize,
}

impl Words<'_> {
    fn put(&mut self, shown: &str, is_match: bool) {
        match self.pieces.last_mut() {
            Some((last, was_match)) if *was_match == is_match => last.push_str(shown),
            _ if shown.is_empty() => {}
            _ => self.pieces.push((shown.to_owned(), is_match)),
        }
    }

    fn end_line(&mut self) {
        if self
            .pieces
            .last()
            .is_some_and(|(last, _)| !last.ends_with('\n'))
        {
            self.put("\n", false);
        }
    }

    /// Text of a paragraph, perhaps a row of a table whose head is not in the snippet.
    fn text(&mut self, shown: &str, range: Range<usize>) {
        if let Some(label) = self.text[range.start..].strip_prefix("[^")
            && let Some((label, _)) = label.split_once(']')
            && label
                .chars()
                .all(|c| c.is_alphanumeric() || "-_.".contains(c))
        {
            self.skipped = range.start + label.len() + "[^]".len();
        }
        if range.end <= self.skipped {
            return;
        }
        let line_start = self.text[..range.start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        if !self.text[line_start..].trim_start().starts_with('|') {
            return self.show(shown, range);
        }
        let is_rule = |c: char| matches!(c, '-' | ':' | '|' | ' ');
        if shown.chars().all(is_rule) && shown.contains("--") {
            return;
        }
        // As long as it was, so that places stay.
        self.show(&shown.replace('|', " "), range);
    }

    /// The words between the tags of some HTML.
    fn html(&mut self, range: Range<usize>) {
        let mut from = range.start;
        while from < range.end {
            let rest = &self.text[from..range.end];
            let tag = rest.find('<').unwrap_or(rest.len());
            if !rest[..tag].trim().is_empty() {
                self.show(&rest[..tag], from..from + tag);
            }
            let (start, end) = if rest[tag..].starts_with("<!--") {
                (tag + 4, "-->")
            } else {
                (tag, ">")
            };
            let after = rest[start..].find(end).map(|at| start + at + end.len());
            from += after.unwrap_or(rest.len());
        }
    }

    /// Words that stand in this range of the text.
    fn show(&mut self, shown: &str, range: Range<usize>) {
        let overlaps = |&&(start, end): &&(usize, usize)| start < range.end && range.start < end;
        let here: Vec<(usize, usize)> = self.matches.iter().filter(overlaps).copied().collect();
        if shown.len() != range.len() {
            // An entity, which is matched or not as a whole.
            return self.put(shown, !here.is_empty());
        }
        let mut from = 0;
        for (start, end) in here {
            let start = start.saturating_sub(range.start).max(from);
            let end = end.min(range.end) - range.start;
            let (Some(before), Some(word)) = (shown.get(from..start), shown.get(start..end)) else {
                continue;
            };
            self.put(before, false);
            self.put(word, true);
            from = end;
        }
        self.put(shown.get(from..).unwrap_or_default(), false);
    }

    fn is_blank(&self) -> bool {
        self.pieces.iter().all(|(shown, _)| shown.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn painted(text: &str, matches: &[(usize, usize)]) -> String {
        let pieces = words(text, matches).into_iter();
        let pieces = pieces.map(|(shown, is_match)| {
            if is_match && !shown.trim().is_empty() {
                format!("**{shown}**")
            } else {
                shown
            }
        });
        pieces.collect()
    }

    fn shown(text: &str, word: &str) -> String {
        let matches: Vec<(usize, usize)> = text
            .match_indices(word)
            .map(|(at, found)| (at, at + found.len()))
            .collect();
        painted(text, &matches)
    }

    #[test]
    fn marks_of_markdown_are_left_out_and_words_stay_marked() {
        for (text, expected) in [
            (
                "## The *night* [ferry](../ferry.md#x \"t\")[^1]\n\nruns `ferry()`.",
                "The night **ferry**\nruns **ferry**().\n",
            ),
            (
                "See [[Night ferry|the ferry]] and ![a ferry](f.png) <br> <!-- ferry -->now.",
                "See the **ferry** and a **ferry**  now.\n",
            ),
            (
                "| a | b |\n| --- | ---: |\n| ferry | 7 |\n",
                "a  b  \n**ferry**  7  \n",
            ),
            // The head of the table is not in the snippet.
            ("| ferry | 7 |\n| x | y |", "  **ferry**   7  \n  x   y  \n"),
            (
                "- [x] a ferry\n  1. two\n- three",
                "- [x] a **ferry**\n  1. two\n- three\n",
            ),
            ("fish &amp; ferry \\*", "fish & **ferry** *\n"),
            ("<div>", "<div>"),
            (
                "<details>\n<summary>The ferry</summary>\n<!-- a ferry > -->\n\nIt runs.",
                "The **ferry**\nIt runs.\n",
            ),
            (
                "```\n| grep ferry\n|---|\n```\n",
                "| grep **ferry**\n|---|\n",
            ),
        ] {
            let (squeezed, expected): (Vec<String>, Vec<String>) =
                (lines(&shown(text, "ferry")), lines(expected));
            assert_eq!(squeezed, expected, "{text}");
        }
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn words_of_code_are_marked_where_they_stand() {
        for (text, matches, expected) in [
            ("`ab\ncd`", (1, 3), "**ab** cd\n"),
            ("`` a`ferry ``", (5, 10), "a`**ferry**\n"),
            ("`fe`", (1, 3), "**fe**\n"),
        ] {
            assert_eq!(painted(text, &[matches]), expected);
        }
    }

    #[test]
    fn a_match_over_a_mark_is_one_word() {
        assert_eq!(painted("a max\\_size b", &[(2, 11)]), "a **max_size** b\n");
    }

    proptest! {
        #[test]
        fn every_word_outside_of_marks_is_shown_and_any_range_is_taken(
            words in proptest::collection::vec("[a-z\u{e9}]{1,6}", 1..12),
            between in proptest::collection::vec(prop::sample::select(vec![
                " ", "\n", "\n\n", " **", "** ", " `", "` ", "\n- ", "\n# ", " | ", "\n> ", "&lt;", "\\",
            ]), 12),
            matches in proptest::collection::vec((0usize..90, 0usize..90), 0..4),
        ) {
            let text: String = words.iter().zip(&between).flat_map(|(a, b)| [a.as_str(), *b]).collect();
            let mut matches = matches;
            matches.sort_unstable();
            let shown = painted(&text, &matches).replace("**", "");
            for word in &words {
                prop_assert!(shown.contains(word.as_str()), "{text:?} -> {shown:?}");
            }
        }
    }
}
