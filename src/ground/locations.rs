//! Locations that a model types itself: `path:line`, with `:column`, `-end` or `#Lline`.

use crate::code::Language;

/// A location at the beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// Its path, with slashes.
    pub(super) file: String,
    /// First line.
    pub(super) first: u32,
    /// Last line.
    pub(super) last: u32,
    /// Bytes of the location.
    pub(super) length: usize,
}

/// Characters of paths and addresses.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "/\\._-:#@%+~=&?!$".contains(c)
}

/// Length of the word that begins here, where none began before: an address or a path, which is
/// looked at once and not from the middle.
pub(super) fn word(text: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(is_part) {
        return None;
    }
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (length > 0).then_some(length)
}

/// The location that begins here, if one does. `files` are tried first: their names may hold
/// anything.
pub(super) fn at(text: &str, before: Option<char>, files: &[&str]) -> Option<Location> {
    if before.is_some_and(is_part) {
        return None;
    }
    for file in files {
        if let Some(rest) = text.strip_prefix(file)
            && let Some((first, last, length)) = lines(rest)
        {
            return Some(Location {
                file: (*file).to_owned(),
                first,
                last,
                length: file.len() + length,
            });
        }
    }
    let word = &text[..word(text, before)?];
    if word.contains("://") {
        return None;
    }
    for (at, _) in word.match_indices([':', '#']) {
        let (path, rest) = word.split_at(at);
        let Some((first, last, length)) = lines(rest) else {
            continue;
        };
        if !is_path(path) {
            return None;
        }
        return Some(Location {
            file: path.replace('\\', "/"),
            first,
            last,
            length: at + length,
        });
    }
    None
}

/// Whether a word is a path of a file and not a host, a time or a ratio.
fn is_path(word: &str) -> bool {
    if !word.chars().any(char::is_alphabetic) || word.contains('@') {
        return false;
    }
    if word.contains(['/', '\\']) {
        return true;
    }
    let language = Language::of_path(word);
    word.rsplit_once('.')
        .is_some_and(|(stem, _)| !stem.is_empty())
        && language.name != "plain"
}

/// First and last line, and the length of `:10`, `:10:5`, `:10-20`, `#L10`, `#L10-L20`.
fn lines(text: &str) -> Option<(u32, u32, usize)> {
    let (mut at, anchored) = if text.starts_with(':') {
        (1, false)
    } else if text.starts_with("#L") {
        (2, true)
    } else {
        return None;
    };
    let (first, length) = number(&text[at..])?;
    at += length;
    let mut last = first;
    if !anchored
        && text[at..].starts_with(':')
        && let Some((_, length)) = number(&text[at + 1..])
    {
        at += 1 + length;
    }
    for dash in ["-L", "-", "\u{2013}"] {
        if let Some(rest) = text[at..].strip_prefix(dash)
            && let Some((end, length)) = number(rest)
        {
            last = end;
            at += dash.len() + length;
            break;
        }
    }
    // `host:80/x`, `a:1b`: no line number.
    let follows = text[at..].chars().next();
    if follows.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '\\' | '_')) {
        return None;
    }
    Some((first, last, at))
}

/// Decimal digits; the largest number where they are too many.
fn number(text: &str) -> Option<(u32, usize)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (length > 0).then(|| (text[..length].parse().unwrap_or(u32::MAX), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<(String, u32, u32, usize)> {
        at(text, None, &[]).map(|found| (found.file, found.first, found.last, found.length))
    }

    #[test]
    fn locations_are_paths_with_lines() {
        let file = |line, end, length| Some(("src/a.rs".to_owned(), line, end, length));
        assert_eq!(of("src/a.rs:10"), file(10, 10, 11));
        assert_eq!(of("src/a.rs:10:5 x"), file(10, 10, 13));
        assert_eq!(of("src/a.rs:10-20."), file(10, 20, 14));
        assert_eq!(of("src/a.rs#L10-L20"), file(10, 20, 16));
        assert_eq!(of("src\\a.rs:10"), file(10, 10, 11));
        assert_eq!(of("src/a.rs:99999999999"), file(u32::MAX, u32::MAX, 20));
    }

    #[test]
    fn hosts_times_and_bare_paths_are_none() {
        for text in [
            "https://example.com:8080/a",
            "localhost:3000",
            "12:30",
            "3:1",
            "example.com:443",
            "127.0.0.1:80",
            "src/a.rs",
            "a::b",
            "localhost:3000/x",
            "me@host.rs:22",
            "std::io:1",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
