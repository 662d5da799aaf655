//! `metadata.json`: provenance of one source, `{ id, name, mediaType, byteCount, capturedAt,
//! origin? }`. The text we write is byte for byte what `dsh-llmwiki` writes, and we accept what it
//! accepts.

use serde_json::Value;

use crate::id::SourceId;

/// Largest whole number that JSON readers agree on.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Provenance of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Id that the record names.
    pub id: SourceId,
    /// Name given when it was first captured; not blank.
    pub name: String,
    /// Media type; not blank.
    pub media_type: String,
    /// Length of the content in bytes.
    pub byte_count: u64,
    /// When it was captured, `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub captured_at: String,
    /// Where it came from; not empty when given.
    pub origin: Option<String>,
}

/// One thing wrong with a `metadata.json`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataFault {
    /// Not UTF-8, or not JSON.
    #[error("metadata is not {0}")]
    Malformed(String),
    /// Not an object, or a field is missing or out of its grammar.
    #[error("{0}")]
    Invalid(String),
    /// A key that the format does not have.
    #[error("metadata has the unknown key {0:?}")]
    UnknownKey(String),
}

impl Metadata {
    /// The text of `metadata.json`: two-space JSON, keys in format order, one final newline.
    pub fn render(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let mut out = format!(
            "{{\n  \"id\": \"{}\",\n  \"name\": {},\n  \"mediaType\": {},\n  \"byteCount\": {},\n  \"capturedAt\": {}",
            self.id,
            quoted(&self.name),
            quoted(&self.media_type),
            self.byte_count,
            quoted(&self.captured_at),
        );
        if let Some(origin) = &self.origin {
            out.push_str(",\n  \"origin\": ");
            out.push_str(&quoted(origin));
        }
        out.push_str("\n}\n");
        out
    }
}

/// A `metadata.json` taken apart: the record as far as its keys are known, and the keys that are
/// not, which do not spoil the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExaminedMetadata {
    /// The record, or the one `Malformed` or `Invalid` fault that names every wrong key.
    pub record: Result<Metadata, MetadataFault>,
    /// Keys that the format does not have, in name order.
    pub unknown_keys: Vec<String>,
}

/// Reads `metadata.json`. Of a repeated key the last value counts.
///
/// # Errors
/// Every fault that was found: one `Malformed` or `Invalid` at most, then unknown keys in name
/// order.
pub fn parse_metadata(bytes: &[u8]) -> Result<Metadata, Vec<MetadataFault>> {
    let ExaminedMetadata {
        record,
        unknown_keys,
    } = examine_metadata(bytes);
    match record {
        Ok(metadata) if unknown_keys.is_empty() => Ok(metadata),
        record => Err(record
            .err()
            .into_iter()
            .chain(unknown_keys.into_iter().map(MetadataFault::UnknownKey))
            .collect()),
    }
}

/// Reads `metadata.json`, telling an unusable record from one with keys too many.
pub fn examine_metadata(bytes: &[u8]) -> ExaminedMetadata {
    let spoiled = |fault| ExaminedMetadata {
        record: Err(fault),
        unknown_keys: Vec::new(),
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            return spoiled(MetadataFault::Malformed(format!(
                "UTF-8 (byte {})",
                error.valid_up_to().saturating_add(1)
            )));
        }
    };
    match serde_json::from_str(text) {
        Err(error) => spoiled(MetadataFault::Malformed(format!("JSON: {error}"))),
        Ok(Value::Object(fields)) => {
            let known = [
                "id",
                "name",
                "mediaType",
                "byteCount",
                "capturedAt",
                "origin",
            ];
            ExaminedMetadata {
                record: read_fields(&fields)
                    .map_err(|causes| MetadataFault::Invalid(causes.join("; "))),
                unknown_keys: fields
                    .keys()
                    .filter(|key| !known.contains(&key.as_str()))
                    .cloned()
                    .collect(),
            }
        }
        Ok(_) => spoiled(MetadataFault::Invalid(
            "metadata is not a JSON object".into(),
        )),
    }
}

/// The record, or what is wrong with each key that is wrong, in the order of the format.
fn read_fields(fields: &serde_json::Map<String, Value>) -> Result<Metadata, Vec<String>> {
    let text = |key: &str| match fields.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("{key} is not a string")),
        None => Err(format!("{key} is missing")),
    };
    let not_blank = |key: &str| {
        text(key).and_then(|text| {
            if is_blank(&text) {
                Err(format!("{key} is blank"))
            } else {
                Ok(text)
            }
        })
    };
    let id = text("id").and_then(|text| {
        SourceId::parse(&text).map_err(|_| "id is not 64 lower-case hexadecimal digits".to_owned())
    });
    let name = not_blank("name");
    let media_type = not_blank("mediaType");
    let byte_count = match fields.get("byteCount") {
        Some(Value::Number(number)) => whole_number(number)
            .ok_or_else(|| format!("byteCount {number} is not a whole number of bytes")),
        Some(_) => Err("byteCount is not a number".to_owned()),
        None => Err("byteCount is missing".to_owned()),
    };
    let captured_at = text("capturedAt").and_then(|text| {
        if is_captured_at(&text) {
            Ok(text)
        } else {
            Err(format!(
                "capturedAt {text:?} is not like 2026-02-03T04:05:06.789Z"
            ))
        }
    });
    let origin = match fields.get("origin") {
        None => Ok(None),
        Some(Value::String(origin)) if origin.is_empty() => Err("origin is empty".to_owned()),
        Some(Value::String(origin)) => Ok(Some(origin.clone())),
        Some(_) => Err("origin is not a string".to_owned()),
    };
    match (id, name, media_type, byte_count, captured_at, origin) {
        (Ok(id), Ok(name), Ok(media_type), Ok(byte_count), Ok(captured_at), Ok(origin)) => {
            Ok(Metadata {
                id,
                name,
                media_type,
                byte_count,
                captured_at,
                origin,
            })
        }
        (id, name, media_type, byte_count, captured_at, origin) => Err([
            id.err(),
            name.err(),
            media_type.err(),
            byte_count.err(),
            captured_at.err(),
            origin.err(),
        ]
        .into_iter()
        .flatten()
        .collect()),
    }
}

fn whole_number(number: &serde_json::Number) -> Option<u64> {
    let float = number.as_f64()?;
    if !(0.0..=MAX_SAFE_INTEGER).contains(&float) || float.fract() != 0.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "range checked"
    )]
    Some(number.as_u64().unwrap_or(float as u64))
}

/// Whether nothing is left once white space as ECMAScript has it (line ends and U+FEFF included,
/// U+0085 not) is taken off: the rule for "blank" names, titles and summaries.
pub fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}

/// A moment as ECMA-262 `Date.prototype.toISOString` prints it.
pub fn is_captured_at(text: &str) -> bool {
    let (year, rest) = match text.as_bytes().first() {
        Some(b'+' | b'-') if text.is_char_boundary(7) && text.len() > 7 => text.split_at(7),
        Some(_) if text.is_char_boundary(4) && text.len() > 4 => text.split_at(4),
        _ => return false,
    };
    let digits = year.trim_start_matches(['+', '-']);
    if year.len() - digits.len() > 1 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let Ok(number) = year.parse::<i32>() else {
        return false;
    };
    // The long form is for years outside 0 to 9999; a negative zero and years beyond the range
    // of ECMAScript dates do not exist.
    if year.len() == 7 && (0..=9999).contains(&number) || !(-271_821..=275_760).contains(&number) {
        return false;
    }
    let shape = rest.len() == 20
        && rest
            .bytes()
            .zip(*b"-dd-ddTdd:dd:dd.dddZ")
            .all(|(byte, want)| match want {
                b'd' => byte.is_ascii_digit(),
                other => byte == other,
            });
    if !shape {
        return false;
    }
    let part = |range: std::ops::Range<usize>| rest[range].parse::<u8>().unwrap_or(u8::MAX);
    let (month, day) = (part(1..3), part(4..6));
    let (hour, minute, second) = (part(7..9), part(10..12), part(13..15));
    let leap =
        number.rem_euclid(4) == 0 && (number.rem_euclid(100) != 0 || number.rem_euclid(400) == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day) && hour < 24 && minute < 60 && second < 60
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Metadata {
        Metadata {
            id: SourceId::of(b"abc"),
            name: "a \"b\"".into(),
            media_type: "text/plain; charset=utf-8".into(),
            byte_count: 3,
            captured_at: "2026-02-03T04:05:06.789Z".into(),
            origin: Some("https://example.org/".into()),
        }
    }

    #[test]
    fn what_is_rendered_reads_back() {
        let with = sample();
        let without = Metadata {
            origin: None,
            ..sample()
        };
        for metadata in [with, without] {
            assert_eq!(parse_metadata(metadata.render().as_bytes()), Ok(metadata));
        }
    }

    #[test]
    fn every_fault_is_named() {
        let check = |from: &str, to: &str, want: &str| {
            let text = sample().render().replace(from, to);
            let faults = parse_metadata(text.as_bytes()).expect_err(want);
            let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
            assert!(all.join("; ").contains(want), "{all:?} lacks {want}");
        };
        check("{\n", "", "not JSON");
        check("a \\\"b\\\"", " \\t\u{feff}", "name is blank");
        check("\"byteCount\": 3", "\"byteCount\": 3.5", "byteCount 3.5");
        check("\"byteCount\": 3", "\"byteCount\": -1", "byteCount -1");
        check(
            "\"byteCount\": 3",
            "\"byteCount\": 9007199254740992",
            "byteCount",
        );
        check("https://example.org/", "", "origin is empty");
        check("\"name\"", "\"nome\"", "unknown key \"nome\"");
        check("\"name\"", "\"nome\"", "name is missing");
    }

    #[test]
    fn moments_are_those_that_exist() {
        for good in [
            "2024-02-29T04:05:06.789Z",
            "0000-01-01T00:00:00.000Z",
            "+012345-01-01T00:00:00.000Z",
            "-000044-03-15T00:00:00.000Z",
        ] {
            assert!(is_captured_at(good), "{good}");
        }
        for bad in [
            "2026-02-29T04:05:06.789Z",
            "2026-02-03T24:00:00.000Z",
            "2026-02-03T04:05:60.000Z",
            "2026-02-03t04:05:06.789z",
            "2026-02-03T04:05:06.789+00:00",
            "2026-02-03",
            "+002026-02-03T04:05:06.789Z",
            "-000000-01-01T00:00:00.000Z",
            "yesterday",
            "",
        ] {
            assert!(!is_captured_at(bad), "{bad}");
        }
    }
}
