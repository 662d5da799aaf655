//! Cutting a body into sections, the units of search.
//!
//! Two cutters exist. [`sections`] goes by the headings that a CommonMark reader sees;
//! [`sections_classic`] reproduces the cutter of index format version 1, whose scores depend on
//! its mistakes. Invariant of both: every character that is no white space lies in the heading
//! or the text of exactly one section, and sections come in the order of the body.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::lines::{LineIndex, is_blank, is_space};
use super::links::OPTIONS;

/// A heading and what stands under it, up to the next heading of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Texts of the enclosing headings, outermost first, ending with the section's own.
    /// Empty before the first heading.
    pub heading_trail: Vec<String>,
    /// Level of its heading, 1 to 6; 0 before the first heading.
    pub level: u8,
    /// Line of the heading; without one, the first line of the text.
    pub start_line: u32,
    /// Last line that is not blank, at least the start line.
    pub end_line: u32,
    /// Where the text stands in the body, heading excluded, white space at the end trimmed.
    pub text: Range<usize>,
}

/// One heading as it stands in the body.
struct Heading {
    level: u8,
    title: String,
    /// The heading's lines, final newline included.
    lines: Range<usize>,
}

/// Cuts a body at the top-level headings of CommonMark (ATX and setext); `first_line` is the
/// number of its first line. Headings inside quotations and list items are part of the text
/// around them. Trails hold headings as a reader sees them, without markup.
pub fn sections(body: &str, first_line: u32) -> Vec<Section> {
    let mut reader = HeadingReader::default();
    for (event, range) in Parser::new_ext(body, OPTIONS).into_offset_iter() {
        reader.event(body, &event, &range);
    }
    reader.finish(body, &LineIndex::new(body, first_line))
}

/// Finds top-level headings. Takes the events of a body read with [`OPTIONS`].
#[derive(Default)]
pub(super) struct HeadingReader {
    found: Vec<Heading>,
    depth: usize,
    open: bool,
}

impl HeadingReader {
    pub(super) fn event(&mut self, body: &str, event: &Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(Tag::Heading { level, .. }) if self.depth == 0 => {
                let start = body[..range.start].rfind('\n').map_or(0, |at| at + 1);
                let end = line_end(body, range.end);
                self.found.push(Heading {
                    level: number(*level),
                    title: String::new(),
                    lines: start..end,
                });
                self.open = true;
                self.depth += 1;
            }
            Event::End(TagEnd::Heading(_)) => {
                self.open = false;
                self.depth -= 1;
            }
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth -= 1,
            Event::Text(text) | Event::Code(text) if self.open => push(&mut self.found, text),
            Event::SoftBreak | Event::HardBreak if self.open => push(&mut self.found, " "),
            _ => {}
        }
    }

    pub(super) fn finish(mut self, body: &str, lines: &LineIndex) -> Vec<Section> {
        for heading in &mut self.found {
            heading.title = heading.title.trim_matches(is_space).to_owned();
        }
        cut(body, &self.found, lines, |range| {
            skip_blank_lines(body, range)
        })
    }
}

fn push(found: &mut [Heading], text: &str) {
    if let Some(heading) = found.last_mut() {
        heading.title.push_str(text);
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

/// The end of the line that `end` closes or lies in, newline included.
fn line_end(body: &str, end: usize) -> usize {
    if end > 0 && body.as_bytes()[end - 1] == b'\n' {
        return end;
    }
    body[end..].find('\n').map_or(body.len(), |at| end + at + 1)
}

/// The range without the blank lines at its beginning; indentation of the first line stays.
fn skip_blank_lines(body: &str, mut range: Range<usize>) -> Range<usize> {
    while let Some(at) = body[range.clone()].find('\n') {
        if !is_blank(&body[range.start..range.start + at]) {
            break;
        }
        range.start += at + 1;
    }
    range
}

/// Cuts a body as index format version 1 does: ATX headings at the very start of a line,
/// outside of fences as that version knows them, their texts with all markup.
/// `first_line` is the number of the body's first line.
pub fn sections_classic(body: &str, first_line: u32) -> Vec<Section> {
    let lines = LineIndex::new(body, first_line);
    let mut found = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut start = 0;
    for line in body.split_inclusive('\n') {
        let text = line.strip_suffix('\n').unwrap_or(line);
        match fence {
            Some(open) if open.is_closed_by(text) => fence = None,
            Some(_) => {}
            None => {
                fence = Fence::opened_by(text);
                if let Some((level, title)) = classic_heading(text) {
                    found.push(Heading {
                        level,
                        title,
                        lines: start..start + line.len(),
                    });
                }
            }
        }
        start += line.len();
    }
    cut(body, &found, &lines, |range| range)
}

/// An open code fence: its character and how often it stood there.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// Up to three spaces or tabs, then at least three backticks or tildes; anything may follow.
    fn opened_by(line: &str) -> Option<Self> {
        let text = classic_indent(line)?;
        let mark = text.chars().next().filter(|&c| c == '`' || c == '~')?;
        let length = text.len() - text.trim_start_matches(mark).len();
        (length >= 3).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        classic_indent(line).is_some_and(|text| {
            let after = text.trim_start_matches(self.mark);
            text.len() - after.len() >= self.length && after.trim_matches([' ', '\t']).is_empty()
        })
    }
}

fn classic_indent(line: &str) -> Option<&str> {
    let text = line.trim_start_matches([' ', '\t']);
    (line.len() - text.len() <= 3).then_some(text)
}

/// One to six `#` at the start of the line, then its end or spaces and a title.
fn classic_heading(line: &str) -> Option<(u8, String)> {
    let rest = line.trim_start_matches('#');
    let level = u8::try_from(line.len() - rest.len())
        .ok()
        .filter(|level| (1..=6).contains(level))?;
    let title = rest.trim_start_matches([' ', '\t']);
    let is_heading =
        (rest.is_empty() || title.len() < rest.len()) && !title.contains(['\u{2028}', '\u{2029}']);
    is_heading.then(|| {
        (
            level,
            without_closing(title).trim_matches(is_space).to_owned(),
        )
    })
}

/// The title without a closing run of `#`, which needs a space or tab before it.
fn without_closing(title: &str) -> &str {
    let end = title.trim_end_matches([' ', '\t']);
    let before = end.trim_end_matches('#');
    if before.len() < end.len() && before.ends_with([' ', '\t']) {
        before
    } else {
        title
    }
}

/// Makes the sections between headings. `shape` may move the beginning of a text.
fn cut(
    body: &str,
    headings: &[Heading],
    lines: &LineIndex,
    shape: impl Fn(Range<usize>) -> Range<usize>,
) -> Vec<Section> {
    let text_until = |start: usize, next: usize| {
        let range = shape(start..next);
        range.start..range.start + body[range].trim_end_matches(is_space).len()
    };
    let mut sections = Vec::with_capacity(headings.len() + 1);
    let first = headings
        .first()
        .map_or(body.len(), |heading| heading.lines.start);
    let preamble = text_until(0, first);
    if !preamble.is_empty() {
        sections.push(Section {
            heading_trail: Vec::new(),
            level: 0,
            start_line: lines.line(preamble.start),
            end_line: lines.line(preamble.end - 1),
            text: preamble,
        });
    }
    let whole_trails = trail_bytes(headings) <= TRAIL_BYTES.max(16 * body.len());
    let mut trail: Vec<&Heading> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        if whole_trails {
            trail.retain(|outer| outer.level < heading.level);
        } else {
            trail.clear();
        }
        trail.push(heading);
        let next = headings
            .get(at + 1)
            .map_or(body.len(), |next| next.lines.start);
        let text = text_until(heading.lines.end, next);
        let last = if text.is_empty() {
            heading.lines.end
        } else {
            text.end
        } - 1;
        sections.push(Section {
            heading_trail: trail.iter().map(|outer| outer.title.clone()).collect(),
            level: heading.level,
            start_line: lines.line(heading.lines.start),
            end_line: lines.line(last),
            text,
        });
    }
    sections
}

/// What all trails of a page may come to, unless its body is large: a heading as long as a page
/// over thousands of tiny sections would otherwise be stored thousands of times. Beyond that,
/// trails keep only the section's own heading.
const TRAIL_BYTES: usize = 1 << 20;

fn trail_bytes(headings: &[Heading]) -> usize {
    let mut open = [0_usize; 7];
    let mut total = 0_usize;
    for heading in headings {
        let level = usize::from(heading.level);
        open[level] = heading.title.len();
        open[level + 1..].fill(0);
        total = total.saturating_add(open.iter().sum());
    }
    total
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Trail, level, first and last line, text.
    fn check(body: &str, expected: &[(&[&str], u8, u32, u32, &str)]) {
        let found = sections(body, 1);
        let found: Vec<_> = found
            .iter()
            .map(|section| {
                let trail: Vec<&str> = section.heading_trail.iter().map(String::as_str).collect();
                (
                    trail,
                    section.level,
                    section.start_line,
                    section.end_line,
                    &body[section.text.clone()],
                )
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|&(trail, level, start, end, text)| (trail.to_vec(), level, start, end, text))
            .collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn sections_follow_the_headings_a_reader_sees() {
        check(
            "Intro\n\n# A\na\n\n### C ###\n\n  c\n\n  ## B\nb\n",
            &[
                (&[], 0, 1, 1, "Intro"),
                (&["A"], 1, 3, 4, "a"),
                (&["A", "C"], 3, 6, 8, "  c"),
                (&["A", "B"], 2, 10, 11, "b"),
            ],
        );
        check(
            "\n\nTwo\nlines\n=====\ntext\n\nSub\n---\n",
            &[
                (&["Two lines"], 1, 3, 6, "text"),
                (&["Two lines", "Sub"], 2, 8, 9, ""),
            ],
        );
        check(
            "# `code` **bold** [link](x.md) \\# &amp; <b>x</b>",
            &[(&["code bold link # & x"], 1, 1, 1, "")],
        );
        check(
            "# [[page|shown]] ![alt](x.png)\n",
            &[(&["[[page|shown]] alt"], 1, 1, 1, "")],
        );
    }

    #[test]
    fn what_only_looks_like_a_heading_is_text() {
        for body in [
            "```\n# x\n```",
            "    # x",
            "<!--\n# x\n-->",
            "<pre>\n# x\n</pre>",
            "> # x",
            "- # x",
            "#x",
            "####### x",
            "\\# x",
            "```inline``` code\n\ntext",
        ] {
            check(
                body,
                &[(
                    &[],
                    0,
                    1,
                    u32::try_from(body.lines().count()).unwrap(),
                    body,
                )],
            );
        }
    }

    #[test]
    fn a_code_span_opens_no_fence() {
        check(
            "```a```\n# B\nb\n",
            &[(&[], 0, 1, 1, "```a```"), (&["B"], 1, 2, 3, "b")],
        );
    }

    #[test]
    fn line_numbers_count_from_the_first_line_given() {
        let found = sections("x\n\n# A\ny\n", 8);
        let lines: Vec<_> = found
            .iter()
            .map(|section| (section.start_line, section.end_line))
            .collect();
        assert_eq!(lines, [(8, 8), (10, 11)]);
    }

    #[test]
    fn a_huge_heading_is_not_repeated_for_each_section_below_it() {
        let body = format!("# {}\n{}", "h".repeat(200_000), "## a\n".repeat(20_000));
        for found in [sections(&body, 1), sections_classic(&body, 1)] {
            assert_eq!(found.len(), 20_001);
            let total: usize = found
                .iter()
                .flat_map(|section| &section.heading_trail)
                .map(String::len)
                .sum();
            assert!(total < 1 << 20, "{total}");
        }
        let long = format!("# {}\n{}", "h".repeat(100), "## a\n".repeat(2_000));
        assert_eq!(sections(&long, 1)[7].heading_trail.len(), 2);
    }

    /// Bodies made of the pieces that decide what a heading is.
    fn body() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "# ", "## ", "###### ", "#", "a", "b \u{e9}", "\n", "\n\n", "```", "~~~", "    ", "\t",
            "> ", "- ", "1. ", "<!--", "-->", "<pre>", "</pre>", "===", "---", "|", "[x](y)", "[[",
            "]]", "\\", "`", "\u{2028}", "[^1]: ",
        ]);
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn sections_cover_the_body_in_order(body in body()) {
            for found in [sections(&body, 3), sections_classic(&body, 3)] {
                let lines = LineIndex::new(&body, 3);
                let mut seen = 0;
                for section in &found {
                    prop_assert!(seen <= section.text.start && section.text.start <= section.text.end);
                    // What no text holds is blank or belongs to the heading.
                    let skipped = &body[seen..section.text.start];
                    let heading = skipped.find(|c| !is_space(c)).map(|at| lines.line(seen + at));
                    match heading {
                        None => prop_assert_eq!(section.level, 0),
                        Some(line) => prop_assert!(
                            section.level > 0
                                && (lines.line(seen)..=line).contains(&section.start_line)
                        ),
                    }
                    prop_assert!(section.start_line <= section.end_line);
                    prop_assert_eq!(section.level == 0, section.heading_trail.is_empty());
                    seen = section.text.end;
                }
                prop_assert!(is_blank(&body[seen..]));
                prop_assert!(found.windows(2).all(|pair| pair[0].end_line < pair[1].start_line));
            }
        }
    }
}
