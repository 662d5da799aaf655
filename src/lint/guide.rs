//! What people read about the codes: docs/diagnostics.md, made from the registry.

use std::fmt::Write;

use super::registry::{RULES, Rule, Severity};

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
