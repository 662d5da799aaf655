//! SARIF 2.1.0, the Static Analysis Results Interchange Format of OASIS, as one run.

use std::fmt::Write;

use serde_json::{Value, json};

use super::located;
use crate::lint::{Diagnostic, LintReport, RULES, Rule, Severity};

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

/// A path as a relative URI reference (RFC 3986): all but unreserved characters and `/` encoded.
fn uri(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
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
        assert_eq!(place(0)["region"]["startLine"], 8);
        assert_eq!(
            place(1)["artifactLocation"]["uri"],
            ".llmwiki/pages/b%2Cc%3A%20100%25%0A.md"
        );
        assert_eq!(results[1]["level"], "warning");
        assert!(place(1).get("region").is_none());
    }
}
