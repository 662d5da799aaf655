//! Vectors of pages as text: ids, parsing, rendering, sections.

use std::num::NonZeroU32;

use llmwiki::id::{PageId, SourceId};
use llmwiki::page::{self, Page, PageErrorKind};
use serde_json::{Value, json};

use crate::vectors::{Exceptions, Failures, cases, has_lone_surrogates, id};

#[test]
fn vectors_page_id() {
    let exceptions = Exceptions::of("page_id");
    let mut failures = Failures::default();
    for case in cases("page_id.json") {
        if has_lone_surrogates(&case) {
            continue;
        }
        let input = case["input"].as_str().unwrap();
        let ours = PageId::parse(input);
        if ours.is_ok() == case["ok"].as_bool().unwrap() {
            continue;
        }
        let kind = ours
            .as_ref()
            .err()
            .map_or("accepted", |error| id_kind(error.reason));
        if !exceptions.covers(id(&case), &[kind]) {
            failures.note(id(&case), format!("{input:?} gives {ours:?}"));
        }
    }
    failures.check();
    exceptions.check_all_used();
}

/// The kind of a refusal that the peer does not know.
fn id_kind(reason: &str) -> &'static str {
    if reason.contains("Windows keeps") {
        "windows_device"
    } else if reason.contains("longer than") {
        "too_long"
    } else if reason.contains("direction") {
        "bidi_control"
    } else if reason.contains("control") {
        "c1_control"
    } else if reason.contains("ends in .md") {
        "folder_named_md"
    } else {
        "other"
    }
}

#[test]
fn vectors_page_parse() {
    let exceptions = Exceptions::of("page_parse");
    let mut failures = Failures::default();
    for case in cases("page_parse.json") {
        let ours = match (case["input"].as_str(), case["inputBase64"].as_str()) {
            (Some(text), _) => page::parse(text),
            (None, Some(base64)) => page::parse_bytes(&decode_base64(base64)),
            (None, None) => continue,
        };
        let expected = case.get("page");
        let agrees = match (&ours, expected) {
            (Ok(page), Some(expected)) => page_json(page) == *expected,
            (Err(_), None) => case["error"]["code"] == "INVALID_PAGE",
            _ => false,
        };
        if agrees {
            continue;
        }
        let lone_surrogate = expected.is_some_and(has_lone_surrogates)
            && ours
                .as_ref()
                .is_err_and(|error| error.kind == PageErrorKind::InvalidString);
        let kinds: &[&str] = if lone_surrogate {
            &["lone_surrogate"]
        } else {
            &[]
        };
        if !exceptions.covers(id(&case), kinds) {
            failures.note(id(&case), format!("{ours:?}\n  expected {expected:?}"));
        }
    }
    failures.check();
    exceptions.check_all_used();
}

fn page_json(page: &Page) -> Value {
    json!({
        "title": page.title,
        "summary": page.summary,
        "sources": page.sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "body": page.body,
        "bodyStartLine": page.body_start_line,
    })
}

#[test]
fn vectors_page_render() {
    let exceptions = Exceptions::of("page_render");
    let mut failures = Failures::default();
    for case in cases("page_render.json") {
        let input = case.get("input").unwrap_or(&case);
        if has_lone_surrogates(input) {
            continue;
        }
        let field = |name: &str| input[name].as_str().unwrap();
        // An id that cannot be a `SourceId` cannot reach `render`.
        let ids = input["sources"].as_array().unwrap().iter();
        let ids: Result<Vec<SourceId>, _> = ids
            .map(|id| SourceId::parse(id.as_str().unwrap()))
            .collect();
        let ours = ids.map_err(|error| error.to_string()).and_then(|ids| {
            page::render(field("title"), field("summary"), &ids, field("body"))
                .map_err(|error| error.to_string())
        });
        let agrees = match (&ours, case["markdown"].as_str()) {
            (Ok(ours), Some(expected)) => ours == expected,
            (Err(_), None) => case["error"]["code"] == "INVALID_PAGE",
            _ => false,
        };
        if !agrees && !exceptions.covers(id(&case), &[]) {
            failures.note(
                id(&case),
                format!("{ours:?}\n  expected {}", case["markdown"]),
            );
        }
    }
    failures.check();
    exceptions.check_all_used();
}

#[test]
fn vectors_sections() {
    let exceptions = Exceptions::of("sections");
    let mut failures = Failures::default();
    for case in cases("sections.json") {
        if has_lone_surrogates(&case) {
            continue;
        }
        // A body that comes out of `parse` has LF line ends.
        let body = page::unix_line_ends(case["body"].as_str().unwrap());
        // What is no line number cannot reach us; the peer has to refuse it.
        let first_line = case["firstLine"]
            .as_u64()
            .and_then(|line| NonZeroU32::try_from(u32::try_from(line).ok()?).ok());
        let Some(first_line) = first_line.map(NonZeroU32::get) else {
            if case["ok"] != false {
                failures.note(id(&case), "a first line that is no line number was taken");
            }
            continue;
        };
        let ours: Vec<Value> = page::sections_classic(&body, first_line)
            .into_iter()
            .map(|section| {
                json!({
                    "headingTrail": section.heading_trail,
                    "startLine": section.start_line,
                    "text": &body[section.text],
                })
            })
            .collect();
        let ours = Value::from(ours);
        if ours != case["sections"] && !exceptions.covers(id(&case), &[]) {
            failures.note(
                id(&case),
                format!("{ours}\n  expected {}", case["sections"]),
            );
        }
    }
    failures.check();
    exceptions.check_all_used();
}

fn decode_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in text.bytes().filter(|&digit| digit != b'=') {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => panic!("{digit} is no digit of base64"),
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}
