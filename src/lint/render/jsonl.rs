//! One JSON object a line for each diagnostic, in report order.

use std::fmt::Write;

use crate::lint::LintReport;

/// The diagnostics of a report, one object a line; empty where there are none.
pub fn jsonl(report: &LintReport) -> String {
    let mut text = String::new();
    for found in &report.diagnostics {
        // Strings and numbers always have a JSON form.
        let _ = writeln!(text, "{}", serde_json::to_string(found).unwrap_or_default());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::report;

    #[test]
    fn each_line_is_one_object() {
        let text = jsonl(&report());
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["code"], "BROKEN_PAGE_LINK");
        assert_eq!(lines[0]["line"], 8);
        assert!(lines[2].get("line").is_none());
    }
}
