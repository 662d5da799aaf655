//! What happened to the pages, and to one page with its differences.

use maud::{Markup, html};

use crate::context::Context;
use crate::error::Result;
use crate::ops::{History, Operation as _};
use crate::web::layout::{Part, View, trail, when};
use crate::web::urls;
use crate::wiki::{RevisionReport, Wiki};

/// So many revisions are shown at once, and so many with their differences.
const AT_ONCE: usize = 100;
const WITH_DIFF: usize = 20;

/// All pages.
pub(in crate::web) fn all(wiki: &Wiki, ctx: &Context, before: Option<&str>) -> Result<View> {
    let history = History {
        before: super::number("before", before)?,
        limit: Some(AT_ONCE),
        ..History::default()
    };
    let report = history.run(wiki, ctx)?;
    let main = html! {
        h1 { "Changes" }
        @if report.revisions.is_empty() {
            p.faint { "Nothing has changed yet." }
        }
        (list(&report.revisions))
        @if let Some(next) = report.next {
            p.more { a href={ "/changes?before=" (next) } { "Earlier changes" } }
        }
    };
    Ok(View::new(Part::Changes, "Changes", main))
}

/// A list of revisions of any pages.
pub(super) fn list(revisions: &[RevisionReport]) -> Markup {
    html! {
        ol.changes {
            @for revision in revisions {
                li {
                    a href=(urls::page(&revision.page)) { (revision.page) }
                    " " (how(revision))
                    p.faint {
                        (when(&revision.when)) " "
                        a href={ (urls::history(&revision.page)) "#r" (revision.seq) } {
                            "revision " (revision.seq)
                        }
                        @if let Some(message) = &revision.message { " " q { (message) } }
                    }
                }
            }
        }
    }
}

/// What was done, and how many lines it touched.
fn how(revision: &RevisionReport) -> Markup {
    html! {
        span class={ "how " (revision.how) } { (revision.how) }
        " "
        span.count {
            span.plus { "+" (revision.added) }
            " "
            span.minus { "\u{2212}" (revision.removed) }
        }
    }
}

/// One page.
pub(in crate::web) fn of_page(
    wiki: &Wiki,
    ctx: &Context,
    id: &str,
    before: Option<&str>,
) -> Result<View> {
    let history = History {
        page: Some(id.to_owned()),
        diff: true,
        before: super::number("before", before)?,
        limit: Some(WITH_DIFF),
    };
    let report = history.run(wiki, ctx)?;
    let main = html! {
        (trail(id))
        h1 { "History" }
        p.tools { a href=(urls::page(id)) { "Read" } a href=(urls::page_text(id, None)) { "Text" } }
        @for revision in &report.revisions {
            section.revision id={ "r" (revision.seq) } aria-label={ "Revision " (revision.seq) } {
                header {
                    h2 { "Revision " (revision.seq) }
                    " " (how(revision))
                    p.faint {
                        (when(&revision.when))
                        @if let Some(actor) = &revision.actor { ", by " (actor) }
                        @if let Some(message) = &revision.message { ": " (message) }
                        @if revision.sha256.is_some() {
                            " \u{b7} "
                            a href={ (urls::page(id)) "?at=" (revision.seq) } { "as it was then" }
                        }
                    }
                }
                (difference(revision.diff.as_deref().unwrap_or_default()))
            }
        }
        @if let Some(next) = report.next {
            p.more { a href={ (urls::history(id)) "?before=" (next) } { "Earlier revisions" } }
        }
    };
    Ok(View::new(Part::Changes, format!("History of {id}"), main))
}

/// A unified difference, its lines told apart by more than colour.
fn difference(text: &str) -> Markup {
    let shown = text
        .lines()
        .skip_while(|line| !line.starts_with("@@"))
        .map(|line| match line.as_bytes().first() {
            Some(b'+') => ("plus", line),
            Some(b'-') => ("minus", line),
            Some(b'@') => ("place", line),
            _ => ("same", line),
        });
    html! {
        @if text.is_empty() {
            p.faint { "The text is the same as before." }
        } @else {
            pre.diff tabindex="0" {
                @for (class, line) in shown { span class=(class) { (line) "\n" } }
            }
        }
    }
}
