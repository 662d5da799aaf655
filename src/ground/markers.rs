//! Markers: `[1]`, `[1, 2]`, `[1-3]`, with blanks inside, and `[1](target)`.

/// A marker at the beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker<'t> {
    /// The brackets with what is in them.
    pub(super) text: &'t str,
    /// Bytes of the marker with its target.
    pub(super) length: usize,
    items: Vec<Item>,
}

/// A member: a number, or a range with both ends. Numbers too large to be any are the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    One(u64),
    Range(u64, u64),
    Negative,
}

impl Marker<'_> {
    /// Whether it looks like indexing: `[0]` or `[-1]`.
    pub(super) fn is_index(&self) -> bool {
        matches!(self.items.as_slice(), [Item::One(0) | Item::Negative])
    }

    /// The numbers from 1 to `count` that it names, in order; nothing for each that is no such
    /// number.
    pub(super) fn members(&self, count: usize) -> Vec<Option<usize>> {
        let known = |number: u64| {
            usize::try_from(number)
                .ok()
                .filter(|number| (1..=count).contains(number))
        };
        let mut members = Vec::new();
        for item in &self.items {
            match *item {
                Item::One(number) => members.push(known(number)),
                Item::Negative => members.push(None),
                Item::Range(first, last) => {
                    let most = last.min(count as u64);
                    members.extend((first.max(1)..=most).map(known));
                    if first == 0 || last > most || first > last {
                        members.push(None);
                    }
                }
            }
        }
        members
    }
}

/// The marker that begins here, if one does.
pub(super) fn at(text: &str) -> Option<Marker<'_>> {
    let close = text.find(']')?;
    let inside = text.get(1..close)?;
    // A blank line ends the paragraph.
    let mut blanks = inside.split(|c: char| !c.is_whitespace());
    if blanks.any(|run| run.matches('\n').count() > 1) {
        return None;
    }
    let items = inside
        .split([',', ';'])
        .map(|item| parse_item(item.trim()))
        .collect::<Option<Vec<Item>>>()?;
    let end = close + 1;
    Some(Marker {
        text: &text[..end],
        length: end + target(&text[end..]).unwrap_or(0),
        items,
    })
}

fn parse_item(item: &str) -> Option<Item> {
    if let Some(negative) = item.strip_prefix(['-', '\u{2212}']) {
        return number(negative).map(|_| Item::Negative);
    }
    match item.split_once(['-', '\u{2013}', '\u{2014}', '\u{2212}']) {
        Some((first, last)) => Some(Item::Range(number(first.trim())?, number(last.trim())?)),
        None => number(item).map(Item::One),
    }
}

/// A number in the digits of any script; the largest one where it is too large.
fn number(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for c in text.chars() {
        value = value.saturating_mul(10).saturating_add(digit(c)?);
    }
    Some(value)
}

/// Where the decimal digits of scripts begin, apart from ASCII.
const ZEROS: &[u32] = &[
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50,
    0xED0, 0xF20, 0x1040, 0x17E0, 0x1810, 0xFF10,
];

fn digit(c: char) -> Option<u64> {
    if let Some(value) = c.to_digit(10) {
        return Some(u64::from(value));
    }
    let code = u32::from(c);
    ZEROS
        .iter()
        .find(|&&zero| (zero..zero + 10).contains(&code))
        .map(|&zero| u64::from(code - zero))
}

/// Length of a link target `(..)` that begins here.
pub(super) fn target(text: &str) -> Option<usize> {
    if !text.starts_with('(') {
        return None;
    }
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            '\n' => return None,
            _ => {}
        }
    }
    None
}

/// Length of a line `[1]: address`, with its line end.
pub(super) fn definition(text: &str) -> Option<usize> {
    let close = text.find("]:")?;
    number(text.get(1..close)?.trim())?;
    let line = text.find('\n').map_or(text.len(), |at| at + 1);
    let address = text.get(close + 2..line)?.trim();
    let (target, title) = match address.split_once([' ', '\t']) {
        Some((target, title)) => (target, title.trim()),
        None => (address, ""),
    };
    let is_title = title.is_empty() || title.starts_with(['"', '\'', '(']);
    (!target.is_empty() && is_title).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Option<Vec<Option<usize>>> {
        at(text).map(|marker| marker.members(3))
    }

    #[test]
    fn numbers_lists_and_ranges_are_markers() {
        assert_eq!(members("[2]"), Some(vec![Some(2)]));
        assert_eq!(members("[ 1 , 3]"), Some(vec![Some(1), Some(3)]));
        assert_eq!(members("[1-3]"), Some(vec![Some(1), Some(2), Some(3)]));
        assert_eq!(members("[2\u{2013}9]"), Some(vec![Some(2), Some(3), None]));
        assert_eq!(members("[\u{FF12}]"), Some(vec![Some(2)]));
        assert_eq!(members("[99999999999999999999999]"), Some(vec![None]));
        assert_eq!(members("[18446744073709551617]"), Some(vec![None]));
        assert_eq!(members("[3-1]"), Some(vec![None]));
        assert_eq!(members("[1,\n2]"), Some(vec![Some(1), Some(2)]));
    }

    #[test]
    fn other_brackets_are_none() {
        for text in [
            "[]",
            "[ ]",
            "[x]",
            "[^1]",
            "[1.5]",
            "[1a]",
            "[1,]",
            "[u8; 4]",
            "[1",
            "[1\n\n]",
            "[1,\n \n2]",
        ] {
            assert_eq!(members(text), None, "{text}");
        }
    }

    #[test]
    fn targets_and_definitions_are_measured() {
        assert_eq!(at("[1](a(b)c) d").map(|marker| marker.length), Some(10));
        assert_eq!(definition("[1]: http://x \"t\"\nrest"), Some(18));
        assert_eq!(definition("[1]: the loop waits\n"), None);
        assert_eq!(definition("[^1]: x\n"), None);
    }
}
