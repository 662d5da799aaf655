//! What is wrong with the wiki: how much of each code, where, and what the code means.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::number;
use crate::context::Context;
use crate::error::Result;
use crate::lint::{self as rules, Diagnostic, Severity};
use crate::ops::{Lint, Operation as _};
use crate::web::layout::{Part, View, counted, grouped, sentence};
use crate::web::urls;
use crate::wiki::Wiki;

/// So many findings are shown at once.
const AT_ONCE: usize = 200;

/// What is asked.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::web) struct Asked {
    only: Option<String>,
    from: Option<String>,
}

pub(in crate::web) fn view(wiki: &Wiki, ctx: &Context, asked: &Asked) -> Result<View> {
    let report = Lint::default().run(wiki, ctx)?;
    let from = number("from", asked.from.as_deref())?.unwrap_or(0_usize);
    let only = asked.only.as_deref().unwrap_or_default();
    let mut counts: BTreeMap<(Severity, &str), u64> = BTreeMap::new();
    for found in &report.diagnostics {
        *counts.entry((found.severity, found.code)).or_default() += 1;
    }
    let wanted: Vec<&Diagnostic> = report
        .diagnostics
        .iter()
        .filter(|found| only.is_empty() || found.code == only)
        .collect();
    let shown = wanted.iter().skip(from).take(AT_ONCE);
    let next = from.saturating_add(AT_ONCE);
    let main = html! {
        h1 { "Lint" }
        p.lead {
            (counted(report.error_count, "error")) ", "
            (counted(report.warning_count, "warning")) " in "
            (counted(report.files_examined, "file")) "."
        }
        @if counts.is_empty() {
            p.good { "Nothing is wrong." }
        } @else {
            nav.codes aria-label="Codes" {
                a href="/lint" aria-current=[only.is_empty().then_some("true")] {
                    "all " span.count { (grouped(report.diagnostics.len() as u64)) }
                }
                @for ((severity, code), count) in &counts {
                    a class=(word(*severity)) href={ "/lint?only=" (code) }
                        aria-current=[(*code == only).then_some("true")] {
                        (code) " " span.count { (grouped(*count)) }
                    }
                }
            }
        }
        @if let Some(rule) = rules::rule(only) {
            section.card {
                h2 { code { (only) } }
                p { (sentence(rule.meaning)) }
                p.faint { (sentence(rule.hint)) }
            }
        }
        ol.findings {
            @for found in shown { (finding(found)) }
        }
        @if next < wanted.len() {
            p.more { a href={ "/lint" (urls::with(&[("only", only)], "from", &next.to_string())) } {
                "The next of " (grouped(wanted.len() as u64))
            } }
        }
    };
    Ok(View::new(Part::Lint, "Lint", main))
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn finding(found: &Diagnostic) -> Markup {
    let meaning = rules::rule(found.code)
        .map(|rule| rule.meaning)
        .unwrap_or_default();
    html! {
        li.finding {
            p {
                span class={ "severity " (word(found.severity)) } { (word(found.severity)) }
                " "
                a.code href={ "/lint?only=" (found.code) } title=(meaning) { (found.code) }
                " "
                (place(found))
            }
            p.message { (sentence(&found.message)) }
            @if let Some(hint) = found.hint { p.faint { (sentence(hint)) } }
        }
    }
}

/// Where it is, as a link where it can be opened.
fn place(found: &Diagnostic) -> Markup {
    let path = found.path.as_str();
    let page = path
        .strip_prefix("pages/")
        .and_then(|it| it.strip_suffix(".md"));
    let source = path
        .strip_prefix("sources/")
        .map(|it| it.split('/').next().unwrap_or(it));
    let url = match (page, source) {
        (Some(id), _) => Some(urls::page_text(id, found.line)),
        (None, Some(id)) if id.len() == 64 => Some(urls::source(id, None)),
        _ => None,
    };
    let words = match found.line {
        Some(line) => format!("{path}:{line}"),
        None => path.to_owned(),
    };
    html! {
        @match url {
            Some(url) => a href=(url) { (words) },
            None => span.path { (words) }
        }
    }
}
