//! Lines and white space as page files define them.

use std::borrow::Cow;
use std::ops::Range;

/// The text with every CRLF and CR turned into LF.
pub fn unix_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// White space as the page format has it since its first tool, which took JavaScript's: the
/// Unicode property, less U+0085, and U+FEFF.
pub(super) fn is_space(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// A line terminator of JavaScript, none of which may stand inside a title or summary.
pub(super) fn is_line_terminator(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// Where a piece of text stands on its line: its first column and the one behind its last, from 1,
/// in UTF-16 code units, as editors and SARIF count. What goes on in the next line ends with the
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Columns {
    /// The first column.
    pub start: u32,
    /// The column behind the last one.
    pub end: u32,
}

impl Columns {
    /// The bytes of the line that stand there; none where the line is another one.
    pub fn of_line(self, line: &str) -> Option<Range<usize>> {
        let mut column = 1;
        let mut start = None;
        for (at, c) in line.char_indices().chain([(line.len(), '\n')]) {
            if column == self.start {
                start = Some(at);
            }
            if column == self.end {
                return start.map(|start| start..at);
            }
            column = column.saturating_add(u32::from(c.len_utf16() == 2) + 1);
        }
        None
    }
}

/// Turns byte offsets into line numbers.
pub(super) struct LineIndex {
    /// Offset of each line's first byte, rising.
    starts: Vec<usize>,
    first_line: u32,
}

/// Turns byte offsets into columns. Asked in rising order it reads each line once.
pub(super) struct ColumnCounter<'a> {
    text: &'a str,
    /// An offset, and the column there.
    last: (usize, u32),
    /// Where the line of that offset begins.
    line: usize,
}

impl<'a> ColumnCounter<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            last: (0, 1),
            line: 0,
        }
    }

    /// The columns of `range`, whose line begins at `line`.
    pub(super) fn columns(&mut self, line: usize, range: &Range<usize>) -> Columns {
        if line != self.line || range.start < self.last.0 {
            self.last = (line, 1);
            self.line = line;
        }
        let rest = &self.text[range.clone()];
        let end = range.start + rest.find('\n').unwrap_or(rest.len());
        let start = self.advance(range.start);
        let columns = Columns {
            start,
            end: start.saturating_add(units(&self.text[range.start..end])),
        };
        // The next one may begin in the midst of this one.
        self.last = (range.start, start);
        columns
    }

    fn advance(&mut self, to: usize) -> u32 {
        let (at, column) = self.last;
        column.saturating_add(units(&self.text[at..to]))
    }
}

fn units(text: &str) -> u32 {
    let count = if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl LineIndex {
    pub(super) fn new(text: &str, first_line: u32) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        Self { starts, first_line }
    }

    /// The number of the line that holds `offset`.
    pub(super) fn line(&self, offset: usize) -> u32 {
        let before = u32::try_from(self.at(offset)).unwrap_or(u32::MAX);
        self.first_line.saturating_add(before)
    }

    /// Where the line that holds `offset` begins.
    pub(super) fn start(&self, offset: usize) -> usize {
        self.starts.get(self.at(offset)).copied().unwrap_or(0)
    }

    fn at(&self, offset: usize) -> usize {
        self.starts
            .partition_point(|&start| start <= offset)
            .saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_line_ends_become_one() {
        assert_eq!(unix_line_ends("a\r\nb\rc\nd\r\r\n"), "a\nb\nc\nd\n\n");
        assert!(matches!(unix_line_ends("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn offsets_fall_into_their_lines() {
        let index = LineIndex::new("ab\n\nc", 7);
        let lines: Vec<u32> = (0..=5).map(|offset| index.line(offset)).collect();
        assert_eq!(lines, [7, 7, 7, 8, 9, 9]);
        assert_eq!(LineIndex::new("", 1).line(0), 1);
    }

    #[test]
    fn columns_count_utf16_units_and_end_with_the_line() {
        let text = "x \u{1f600}[a]\nb [c\nd]";
        let index = LineIndex::new(text, 1);
        let mut counter = ColumnCounter::new(text);
        for (part, line, start, end) in [
            ("x", "x \u{1f600}[a]", 1, 2),
            ("\u{1f600}[a]", "x \u{1f600}[a]", 3, 8),
            ("[a]", "x \u{1f600}[a]", 5, 8),
            ("[c\nd]", "b [c", 3, 5),
            // Back again, which costs but is right.
            ("x", "x \u{1f600}[a]", 1, 2),
        ] {
            let at = text.find(part).unwrap();
            let range = at..at + part.len();
            let columns = counter.columns(index.start(at), &range);
            assert_eq!(columns, Columns { start, end }, "{part}");
            let seen = &line[columns.of_line(line).unwrap()];
            assert!(part.starts_with(seen), "{part}: {seen}");
        }
        // A line that has changed since has no such place.
        assert_eq!(Columns { start: 5, end: 9 }.of_line("abc"), None);
        assert_eq!(Columns { start: 2, end: 3 }.of_line("\u{1f600}"), None);
    }
}
