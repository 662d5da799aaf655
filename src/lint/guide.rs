//! What people read about the codes: docs/diagnostics.md and `llmwiki explain`, both made from
//! the registry.

use std::fmt::Write;

use super::registry::{RULES, Rule, Severity, rule};

/// What `explain CODE` prints; none for a code that does not exist.
pub fn explain(code: &str) -> Option<String> {
    let rule = rule(&code.to_ascii_uppercase())?;
    let mut text = format!("{} ({})\n\n", rule.code, kind(rule));
    let _ = writeln!(text, "{}.\n", capitalised(rule.meaning));
    let _ = writeln!(text, "What to do: {}.\n", rule.hint);
    let _ = writeln!(text, "Wrong:\n{}\n", indented(rule.bad));
    let _ = writeln!(text, "Right:\n{}", indented(rule.good));
    Some(text)
}

/// The text of docs/diagnostics.md.
pub fn diagnostics_page() -> String {
    let mut text = String::from(
        "# Diagnostics\n\n\
         `llmwiki lint` reports these. This page is made from the rules themselves; a test fails\n\
         when it is stale. `llmwiki explain CODE` prints one entry.\n\n\
         An error means that the wiki breaks a promise: something cannot be read, cited or\n\
         followed. A warning means that somebody should look. Lint changes nothing.\n\n\
         | code | severity | meaning |\n| --- | --- | --- |\n",
    );
    for rule in RULES {
        let anchor = rule.code.as_str().to_ascii_lowercase();
        let _ = writeln!(
            text,
            "| [`{}`](#{anchor}) | {} | {} |",
            rule.code,
            kind(rule),
            rule.meaning.replace('|', "\\|")
        );
    }
    for rule in RULES {
        let _ = write!(
            text,
            "\n## {}\n\n{}: {}.\n\nWhat to do: {}.\n\nWrong:\n\n```text\n{}\n```\n\nRight:\n\n```text\n{}\n```\n",
            rule.code,
            capitalised(&kind(rule)),
            rule.meaning,
            rule.hint,
            rule.bad,
            rule.good
        );
    }
    text
}

fn kind(rule: &Rule) -> String {
    let severity = match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    if rule.on_request {
        format!("{severity}, with `--all`")
    } else {
        severity.to_owned()
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn indented(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_in_any_case_of_letters() {
        for rule in RULES {
            let text = explain(&rule.code.as_str().to_lowercase()).expect("known");
            assert!(
                text.contains(rule.code.as_str()) && text.contains("What to do"),
                "{text}"
            );
        }
        assert_eq!(explain("NO_SUCH_CODE"), None);
    }
}
