//! Answers that fit the context of a model. What an operation serves piece by piece it cuts
//! itself (`ops::budget`) and says so by `next` or by a range; whatever else is too large is cut
//! here. Either way the answer says that it is a part, and how to go on.

use serde_json::{Map, Value};

/// Room for the sentence that says what was cut, and where to go on.
pub(super) const SENTENCE: usize = 2000;

/// How many cuts are named in the sentence.
const NAMED: usize = 4;

/// Cuts a report until it has at most `limit` bytes of JSON, and marks it when it is a part.
/// `narrow` says how to ask for less.
pub(super) fn bound(report: Value, limit: usize, narrow: &str) -> Value {
    let Value::Object(mut report) = report else {
        return report;
    };
    let mut said = Vec::new();
    said.extend(continuation(&report));
    let mut length = length_of(&report);
    let mut cuts: Vec<Cut> = Vec::new();
    let limit = limit.saturating_sub(SENTENCE);
    while length > limit {
        let excess = length - limit;
        let Some(cut) = cut_largest(&mut report, excess) else {
            break;
        };
        match cuts.iter_mut().find(|known| known.path == cut.path) {
            Some(known) => known.kept = cut.kept,
            None => cuts.push(cut),
        }
        length = length_of(&report);
    }
    if !cuts.is_empty() {
        let named: Vec<String> = cuts.iter().take(NAMED).map(Cut::words).collect();
        let others = match cuts.len().saturating_sub(NAMED) {
            0 => String::new(),
            count => format!(" and {count} more were cut"),
        };
        said.push(format!("{}{others}. {narrow}", named.join("; ")));
    }
    if !said.is_empty() {
        report.insert("truncated".to_owned(), Value::Bool(true));
        report.insert("more".to_owned(), Value::String(said.join(" ")));
    }
    Value::Object(report)
}

/// How to go on where the operation itself left something for the next call.
fn continuation(report: &Map<String, Value>) -> Option<String> {
    if let Some(next) = report.get("next").filter(|next| !next.is_null()) {
        return Some(format!("There is more: call again with cursor {next}."));
    }
    let number = |key: &str, ancestral: &str| {
        let value = report.get(key).or_else(|| report.get(ancestral));
        value.and_then(Value::as_u64)
    };
    let (start, end, count) = (
        number("byteStart", "byte_start")?,
        number("byteEnd", "byte_end")?,
        number("byteCount", "byte_count")?,
    );
    (end < count).then(|| {
        format!("Bytes {start} to {end} of {count} are here: call again with offset {end}.")
    })
}

/// What was cut.
struct Cut {
    path: String,
    unit: &'static str,
    kept: usize,
    of: usize,
}

impl Cut {
    fn words(&self) -> String {
        format!(
            "{}: the first {} of {} {} are here",
            self.path, self.kept, self.of, self.unit
        )
    }
}

/// Takes about `excess` bytes from the largest list or text.
fn cut_largest(report: &mut Map<String, Value>, excess: usize) -> Option<Cut> {
    let mut path = String::new();
    let (mut key, mut place) = largest_member(report)?;
    loop {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&key);
        (key, place) = match place {
            Value::Object(members) => largest_member(members)?,
            Value::Array(items) => {
                let of = items.len();
                if of == 1 {
                    (key, place) = ("0".to_owned(), &mut items[0]);
                    continue;
                }
                let mut freed = 0;
                while items.len() > 1 && freed < excess {
                    freed += items.pop().map_or(0, |item| item.to_string().len() + 1);
                }
                let kept = items.len();
                let unit = "entries";
                return (kept < of).then_some(Cut {
                    path,
                    unit,
                    kept,
                    of,
                });
            }
            Value::String(text) => {
                let of = text.len();
                // Escapes make JSON longer than the text; taking the excess from the text itself
                // frees at least that much.
                let mut kept = of.saturating_sub(excess.max(1));
                while !text.is_char_boundary(kept) {
                    kept -= 1;
                }
                text.truncate(kept);
                let unit = "bytes";
                return (kept < of).then_some(Cut {
                    path,
                    unit,
                    kept,
                    of,
                });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => return None,
        };
    }
}

fn largest_member(members: &mut Map<String, Value>) -> Option<(String, &mut Value)> {
    let key = members
        .iter()
        .filter(|(_, value)| matches!(value, Value::Array(_) | Value::String(_) | Value::Object(_)))
        .max_by_key(|(_, value)| value.to_string().len())
        .map(|(key, _)| key.clone())?;
    let value = members.get_mut(&key)?;
    Some((key, value))
}

fn length_of(report: &Map<String, Value>) -> usize {
    serde_json::to_string(report).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LIMIT: usize = 20_000;

    #[track_caller]
    fn cut(report: Value) -> Value {
        let bounded = bound(report, LIMIT, "Ask for less.");
        assert!(
            bounded.to_string().len() <= LIMIT,
            "{}",
            bounded.to_string().len()
        );
        bounded
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let report = json!({"hits": [1, 2], "note": "x"});
        assert_eq!(bound(report.clone(), LIMIT, ""), report);
    }

    #[test]
    fn a_long_list_loses_its_end_and_says_how_much() {
        let items: Vec<String> = (0..5000).map(|at| format!("item {at}")).collect();
        let bounded = cut(json!({"count": 5000, "items": items}));
        let kept = bounded["items"].as_array().unwrap().len();
        assert!(kept > 900, "{kept}");
        assert_eq!(bounded["count"], 5000);
        assert_eq!(bounded["truncated"], true);
        assert_eq!(
            bounded["more"],
            format!("items: the first {kept} of 5000 entries are here. Ask for less.")
        );
    }

    #[test]
    fn long_texts_at_any_depth_are_cut_between_characters() {
        let text = "\u{6f22}\u{1}".repeat(30_000);
        let bounded = cut(json!({"a": {"b": [{"c": text}]}, "d": vec!["x".repeat(9000); 9]}));
        assert_eq!(bounded["truncated"], true);
        let more = bounded["more"].as_str().unwrap();
        assert!(
            more.contains("a.b.0.c: ") && more.contains("d: the first"),
            "{more}"
        );
    }

    #[test]
    fn what_comes_in_pieces_says_how_to_go_on() {
        let bounded = bound(json!({"pages": [], "next": "a/b"}), LIMIT, "");
        assert_eq!(bounded["truncated"], true);
        assert!(bounded["more"].as_str().unwrap().contains("cursor \"a/b\""));
        let bounded = bound(
            json!({"byteStart": 0, "byteEnd": 5, "byteCount": 9}),
            LIMIT,
            "",
        );
        assert!(bounded["more"].as_str().unwrap().ends_with("offset 5."));
        let whole = json!({"byteStart": 5, "byteEnd": 9, "byteCount": 9});
        assert_eq!(bound(whole.clone(), LIMIT, ""), whole);
    }
}
