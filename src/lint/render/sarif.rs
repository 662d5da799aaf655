//! SARIF 2.1.0, the Static Analysis Results Interchange Format of OASIS, as one run.

use std::fmt::Write;

use serde_json::{Value, json};

use super::located;
use crate::lint::{Diagnostic, LintReport, RULES, Rule, Severity};
use crate::page::Columns;

/// A report as a SARIF log, indented, with a final newline. Paths become relative URIs.
pub fn sarif(report: &LintReport, base: &str) -> String {
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "llmwiki",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": RULES.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "utf16CodeUnits",
            "results": report.diagnostics.iter().map(|found| result(found, base)).collect::<Vec<_>>(),
        }],
    });
    format!("{log:#}\n")
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.code.as_str(),
        "shortDescription": { "text": rule.meaning },
        "help": { "text": rule.hint },
        "defaultConfiguration": {
            "enabled": !rule.on_request,
            "level": level(rule.severity),
        },
    })
}

fn result(found: &Diagnostic, base: &str) -> Value {
    let mut location = json!({ "artifactLocation": { "uri": uri(&located(base, &found.path)) } });
    if let Some(line) = found.line {
        location["region"] = json!({ "startLine": line });
        if let Some(Columns { start, end }) = found.columns() {
            location["region"]["startColumn"] = json!(start);
            location["region"]["endColumn"] = json!(end);
        }
    }
    let mut result = json!({
        "ruleId": found.code,
        "level": level(found.severity),
        "message": { "text": found.message },
        "locations": [{ "physicalLocation": location }],
    });
    if let Some(index) = RULES
        .iter()
        .position(|rule| rule.code.as_str() == found.code)
    {
        result["ruleIndex"] = json!(index);
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// A path as a relative URI reference, an absolute one as a `file` URI (RFC 3986, RFC 8089): all but
/// unreserved characters and `/` encoded.
fn uri(path: &str) -> String {
    let mut text = String::with_capacity(path.len() + 7);
    if path.starts_with('/') {
        text.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::report;

    /// The keys of an object, each of which must be among these; those marked `!` must be there.
    fn check_keys(value: &Value, known: &[&str]) {
        let object = value.as_object().expect("an object");
        for key in object.keys() {
            let is_known = known.iter().any(|name| name.trim_end_matches('!') == key);
            assert!(is_known, "{key} in {value}");
        }
        for name in known.iter().filter_map(|name| name.strip_suffix('!')) {
            assert!(object.contains_key(name), "{name} in {value}");
        }
    }

    fn is_reference(uri: &str) -> bool {
        let path = uri.strip_prefix("file://").unwrap_or(uri);
        let mut rest = path.bytes();
        while let Some(byte) = rest.next() {
            let is_sound = match byte {
                b'%' => (0..2).all(|_| rest.next().is_some_and(|digit| digit.is_ascii_hexdigit())),
                _ => byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte),
            };
            if !is_sound {
                return false;
            }
        }
        !path.is_empty()
    }

    #[test]
    fn a_log_has_the_shape_that_the_schema_demands() {
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        for base in ["", ".llmwiki", "/home/me/a wiki"] {
            let log: Value = serde_json::from_str(&sarif(&report(), base)).expect("JSON");
            check_keys(&log, &["$schema!", "version!", "runs!"]);
            let [run] = log["runs"].as_array().expect("runs").as_slice() else {
                panic!("{log}")
            };
            check_keys(run, &["tool!", "results!", "columnKind"]);
            assert_eq!(run["columnKind"], "utf16CodeUnits");
            check_keys(&run["tool"], &["driver!"]);
            check_keys(&run["tool"]["driver"], &["name!", "version", "rules"]);
            for rule in run["tool"]["driver"]["rules"].as_array().expect("rules") {
                check_keys(
                    rule,
                    &["id!", "shortDescription", "help", "defaultConfiguration"],
                );
                check_keys(&rule["defaultConfiguration"], &["enabled", "level"]);
                let level = rule["defaultConfiguration"]["level"].as_str();
                assert!(level.is_some_and(|level| ["error", "warning"].contains(&level)));
                assert!(rule["defaultConfiguration"]["enabled"].is_boolean());
                for key in ["shortDescription", "help"] {
                    check_keys(&rule[key], &["text!"]);
                    assert!(is_text(&rule[key]["text"]), "{rule}");
                }
            }
            for result in run["results"].as_array().expect("results") {
                let known = ["ruleId", "ruleIndex", "level", "message!", "locations"];
                check_keys(result, &known);
                check_keys(&result["message"], &["text!"]);
                assert!(is_text(&result["message"]["text"]), "{result}");
                for location in result["locations"].as_array().expect("locations") {
                    check_keys(location, &["physicalLocation!"]);
                    let place = &location["physicalLocation"];
                    check_keys(place, &["artifactLocation!", "region"]);
                    check_keys(&place["artifactLocation"], &["uri!"]);
                    let uri = place["artifactLocation"]["uri"].as_str();
                    assert!(uri.is_some_and(is_reference), "{place}");
                    if let Some(region) = place.get("region") {
                        check_keys(region, &["startLine!", "startColumn", "endColumn"]);
                        assert!(region["startLine"].as_u64().is_some_and(|line| line > 0));
                        let (start, end) = (&region["startColumn"], &region["endColumn"]);
                        assert!(start.as_u64() < end.as_u64(), "{region}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_root_elsewhere_gives_absolute_uris() {
        let log: Value = serde_json::from_str(&sarif(&report(), "/home/me/a wiki")).expect("JSON");
        let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        let uri = "file:///home/me/a%20wiki/pages/a.md";
        assert_eq!(place["artifactLocation"]["uri"], uri);
    }

    #[test]
    fn results_name_rule_place_and_level() {
        let log: Value = serde_json::from_str(&sarif(&report(), ".llmwiki")).expect("JSON");
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        let results = run["results"].as_array().expect("results");
        assert_eq!(results.len(), 3);
        for found in results {
            let index =
                usize::try_from(found["ruleIndex"].as_u64().expect("index")).expect("small");
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], found["ruleId"]);
        }
        let place = |n: usize| &results[n]["locations"][0]["physicalLocation"];
        assert_eq!(place(0)["artifactLocation"]["uri"], ".llmwiki/pages/a.md");
        let region = json!({ "startLine": 8, "startColumn": 5, "endColumn": 14 });
        assert_eq!(place(0)["region"], region);
        assert_eq!(
            place(1)["artifactLocation"]["uri"],
            ".llmwiki/pages/b%2Cc%3A%20100%25%0A.md"
        );
        assert_eq!(results[1]["level"], "warning");
        assert!(place(1).get("region").is_none());
    }
}
