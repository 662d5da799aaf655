//! How much of an answer fits where the caller's context is bounded
//! ([`max_answer_bytes`](crate::limits::Limits::max_answer_bytes)). What does not fit is left for
//! the next call, so each function keeps enough to move on.

use serde::Serialize;

use super::to_value;
use crate::error::Result;

/// Least room for text, however much else an answer holds.
const LEAST: usize = 1024;

/// Length of a report as JSON without one of its texts.
pub(super) fn frame<R: Serialize + Clone>(
    report: &R,
    text: impl Fn(&mut R) -> &mut String,
) -> Result<usize> {
    let mut rest = report.clone();
    text(&mut rest).clear();
    json_length(&rest)
}

/// How many bytes of `text` fit into `room` bytes of JSON, cut behind a character; behind a line
/// when one ends in the second half.
pub(super) fn text_that_fits(text: &str, room: usize) -> usize {
    let room = room.max(LEAST);
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            _ => character.len_utf8(),
        };
        if used > room {
            return match text[..at].rfind('\n') {
                Some(line) if line >= at / 2 => line + 1,
                _ => at,
            };
        }
    }
    text.len()
}

/// How many of `bytes` fit into `room` bytes of base64.
pub(super) fn bytes_that_fit(bytes: &[u8], room: usize) -> usize {
    (room.max(LEAST) / 4).saturating_mul(3).min(bytes.len())
}

/// How many of `items` fit into `room` bytes of JSON; at least one.
pub(super) fn items_that_fit<T: Serialize>(items: &[T], room: usize) -> Result<usize> {
    if room == usize::MAX {
        return Ok(items.len());
    }
    let mut used = 0;
    for (count, item) in items.iter().enumerate() {
        used += json_length(item)? + 1;
        if used > room && count > 0 {
            return Ok(count);
        }
    }
    Ok(items.len())
}

fn json_length(value: &impl Serialize) -> Result<usize> {
    Ok(to_value(value)?.to_string().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_measured_as_json_and_ends_at_a_line_or_character() {
        assert_eq!(text_that_fits("short", 0), 5);
        let lines = "twelve bytes\n".repeat(1000);
        let kept = text_that_fits(&lines, 2000);
        assert_eq!(kept % 13, 0);
        assert!(serde_json::to_string(&lines[..kept]).unwrap().len() <= 2002);
        let controls = "\u{1}".repeat(10_000);
        assert_eq!(text_that_fits(&controls, 6000), 1000);
        let wide = "\u{6f22}".repeat(1000);
        assert_eq!(text_that_fits(&wide, 2000), 1998);
        assert_eq!(text_that_fits(&wide, usize::MAX), 3000);
    }

    #[test]
    fn bytes_and_items_always_move_on() {
        assert_eq!(bytes_that_fit(&[0; 5000], 4000), 3000);
        assert_eq!(bytes_that_fit(&[0; 5], 0), 5);
        assert_eq!(items_that_fit(&["abcdef"; 10], 18).unwrap(), 2);
        assert_eq!(items_that_fit(&["abcdef"; 10], 1).unwrap(), 1);
        assert_eq!(items_that_fit(&["a"; 10], usize::MAX).unwrap(), 10);
    }
}
