//! Lines and white space as page files define them.

use std::borrow::Cow;

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

/// Turns byte offsets into line numbers.
pub(super) struct LineIndex {
    /// Offset of each line's first byte, rising.
    starts: Vec<usize>,
    first_line: u32,
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
        let before = self
            .starts
            .partition_point(|&start| start <= offset)
            .saturating_sub(1);
        self.first_line
            .saturating_add(u32::try_from(before).unwrap_or(u32::MAX))
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
}
