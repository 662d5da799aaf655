//! Colour, and text that cannot reach out of its line or steer the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    color: bool,
}

const PAGE: Style = AnsiColor::Cyan.on_default().bold();
const MATCH: Style = AnsiColor::Yellow.on_default().bold();
const DIM: Style = Style::new().dimmed();
const STRONG: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();

impl Palette {
    pub(crate) const fn new(color: bool) -> Self {
        Self { color }
    }

    /// Whether there is any colour.
    pub(crate) const fn is_colored(self) -> bool {
        self.color
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// A page id or another name that can be typed in again.
    pub(crate) fn name(self, text: &str) -> String {
        self.paint(PAGE, &safe_line(text))
    }

    /// A word that matched. Without colour it is marked as Markdown marks what is strong.
    pub(crate) fn matched(self, text: &str) -> String {
        if self.color {
            self.paint(MATCH, text)
        } else {
            format!("**{text}**")
        }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(DIM, text)
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.paint(STRONG, text)
    }

    pub(crate) fn error(self, text: &str) -> String {
        self.paint(ERROR, text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.paint(WARNING, text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint(GOOD, text)
    }
}

/// Text of several lines whose control and bidirectional characters are spelled out.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && c != '\t')
}

/// Text that stays on its line.
pub(crate) fn safe_line(text: &str) -> Cow<'_, str> {
    escape(text, |_| true)
}

fn escape(text: &str, which: impl Fn(char) -> bool) -> Cow<'_, str> {
    let steers = |c: char| {
        (c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}'))
            && which(c)
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if steers(c) {
            let _ = write!(escaped, "{}", c.escape_unicode());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// `1 page`, `2 pages`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    if number == 1 {
        format!("1 {what}")
    } else {
        format!("{number} {what}s")
    }
}

/// A number of bytes for people: `512 B`, `1.5 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_spelled_out() {
        assert_eq!(safe("a\u{1b}[31mb\nc"), "a\\u{1b}[31mb\nc");
        assert_eq!(safe_line("a\nb\u{202e}"), "a\\u{a}b\\u{202e}");
        assert!(matches!(safe("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn sizes_and_counts_read_well() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 20), "3.0 MiB");
        assert_eq!(counted(1, "page"), "1 page");
        assert_eq!(counted(0, "page"), "0 pages");
    }

    #[test]
    fn a_match_is_marked_with_and_without_colour() {
        assert_eq!(Palette::new(false).matched("word"), "**word**");
        assert!(Palette::new(true).matched("word").starts_with('\u{1b}'));
    }
}
