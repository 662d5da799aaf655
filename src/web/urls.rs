//! The addresses of the dashboard: how each thing is named in a URL, and how lines are.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in a path as it is.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// What stands in the value of a query as it is.
const QUERY: &AsciiSet = &PATH.add(b'/');

/// First and last line, from 1.
pub(super) type Lines = (u32, u32);

/// A text as a path.
pub(super) fn path(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

/// A text as the value of a query.
pub(super) fn value(text: &str) -> String {
    utf8_percent_encode(text, QUERY).to_string()
}

/// A page.
pub(super) fn page(id: &str) -> String {
    format!("/page/{}", path(id))
}

/// Lines of a page as it is read: the blocks in them are marked.
pub(super) fn page_lines(id: &str, (first, last): Lines) -> String {
    format!("/page/{}?L={first}-{last}#w-lit", path(id))
}

/// Lines of a page as text.
pub(super) fn page_text(id: &str, line: Option<u32>) -> String {
    with_lines(
        format!("/page/{}?view=text", path(id)),
        '&',
        line.map(|line| (line, line)),
    )
}

/// The history of a page.
pub(super) fn history(id: &str) -> String {
    format!("/history/{}", path(id))
}

/// A source, or lines of it.
pub(super) fn source(id: &str, lines: Option<Lines>) -> String {
    with_lines(format!("/source/{}", path(id)), '?', lines)
}

/// A file of the project, or lines of it.
pub(super) fn file(name: &str, lines: Option<Lines>) -> String {
    with_lines(format!("/file/{}", path(name)), '?', lines)
}

/// A folder of pages.
pub(super) fn folder(name: &str) -> String {
    if name.is_empty() {
        "/pages".to_owned()
    } else {
        format!("/pages?in={}", value(name))
    }
}

fn with_lines(mut url: String, separator: char, lines: Option<Lines>) -> String {
    if let Some((first, last)) = lines {
        let _ = write!(url, "{separator}L={first}-{last}#L{first}");
    }
    url
}

/// Reads lines as a URL names them: `10` or `10-20`, each with or without an `L`.
pub(super) fn lines(text: &str) -> Option<Lines> {
    let number = |text: &str| -> Option<u32> {
        let digits = text.strip_prefix('L').unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        digits.parse().ok().filter(|&it| is_number && it > 0)
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((first, last))
}

/// The same address with another value of one key: `current` is a query without its `?`.
pub(super) fn with(current: &[(&str, &str)], key: &str, new: &str) -> String {
    let mut query = String::new();
    let kept = current
        .iter()
        .filter(|(name, text)| *name != key && !text.is_empty());
    for (name, text) in kept.chain([&(key, new)]) {
        let separator = if query.is_empty() { '?' } else { '&' };
        let _ = write!(query, "{separator}{name}={}", value(text));
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_one_number_or_two_that_rise() {
        assert_eq!(lines("10"), Some((10, 10)));
        assert_eq!(lines("10-20"), Some((10, 20)));
        assert_eq!(lines("L10-L20"), Some((10, 20)));
        for wrong in [
            "",
            "0",
            "-1",
            "20-10",
            "1-",
            "x",
            "+1",
            "1-2-3",
            "99999999999",
        ] {
            assert_eq!(lines(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whatever_a_name_holds_it_stays_one_path_or_value() {
        assert_eq!(page("a b/c?d#e"), "/page/a%20b/c%3Fd%23e");
        assert_eq!(file("\"<x>&", Some((1, 2))), "/file/%22%3Cx%3E%26?L=1-2#L1");
        assert_eq!(
            with(&[("q", "a&b"), ("in", "code")], "in", "all"),
            "?q=a%26b&in=all"
        );
    }
}
