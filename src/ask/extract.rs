//! The answer without a model: the evidence itself, best first, each with its citation.

use std::fmt::Write as _;

use super::shown::{Place, Shown};
use crate::code::redact;
use crate::ground::{Excerpts as _, Grounded};
use crate::search::{code_query, code_snippet};

/// Excerpts that are quoted; the others are named.
const QUOTED: usize = 3;
/// Longest quotation in bytes.
const QUOTED_BYTES: usize = 1200;

/// Quotes what holds, best first.
pub fn extract(question: &str, shown: &Shown<'_>) -> Grounded {
    let terms: Vec<String> = code_query(question)
        .into_iter()
        .map(|(term, _)| term)
        .collect();
    let mut found = Grounded::default();
    let mut labels: Vec<String> = Vec::new();
    for (number, excerpt) in (1..).zip(shown.excerpts()) {
        let label = match shown.resolve(number) {
            Ok(label) if labels.contains(&label) => continue,
            Ok(label) => label,
            Err(reason) => {
                let marker = match &excerpt.place {
                    Place::Code { file } => file.clone(),
                    Place::Page { id, .. } => id.clone(),
                };
                found
                    .dropped
                    .push(crate::ground::Dropped { marker, reason });
                continue;
            }
        };
        found.citations.push(number);
        let _ = write!(found.text, "[{label}]");
        if !excerpt.symbol.is_empty() {
            let _ = write!(found.text, " {}", code_span(&excerpt.symbol));
        }
        found.text.push('\n');
        if labels.len() < QUOTED {
            let quoted = code_snippet(&excerpt.text, &terms, QUOTED_BYTES);
            let quoted = redact(quoted.trim_end_matches(['\n', '\r']))
                .text
                .into_owned();
            let fence = fence(&quoted);
            let _ = write!(
                found.text,
                "\n{fence}{}\n{quoted}\n{fence}\n\n",
                excerpt.language
            );
        } else if labels.len() + 1 < shown.count() {
            found.text.push('\n');
        }
        labels.push(label);
    }
    let length = found.text.trim_end().len();
    found.text.truncate(length);
    if length > 0 {
        found.text.push('\n');
    }
    found
}

/// A fence that the text does not hold.
pub(crate) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn code_span(text: &str) -> String {
    let fence = "`".repeat(fence(text).len() - 2);
    if text.contains('`') {
        format!("{fence} {text} {fence}")
    } else {
        format!("`{text}`")
    }
}
