//! What was found, matched words marked, each hit with its lines.

use maud::{Markup, PreEscaped, html};

use crate::code::Language;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::ops::{FoundHit, Operation as _, Scope, Search, SearchAnswer};
use crate::page;
use crate::web::layout::{Part, View, counted};
use crate::web::markdown::code_html;
use crate::web::urls;
use crate::wiki::{CodeHit, SearchHit, Wiki};

/// What is searched for.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::web) struct Asked {
    #[serde(default)]
    q: String,
    #[serde(rename = "in")]
    scope: Option<String>,
}

const SCOPES: [(&str, Scope, &str); 3] = [
    ("all", Scope::All, "Pages and code"),
    ("pages", Scope::Pages, "Pages"),
    ("code", Scope::Code, "Code"),
];

pub(in crate::web) fn view(wiki: &Wiki, ctx: &Context, asked: &Asked) -> Result<View> {
    let query = asked.q.trim();
    let has_code = wiki.has_code_index(ctx)?;
    let name = asked.scope.as_deref().unwrap_or("all");
    let (_, mut scope, _) = *SCOPES
        .iter()
        .find(|(known, _, _)| *known == name)
        .ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidArgument,
                format!("in={name:?} is no scope"),
            )
            .with_hint("the scopes are all, pages and code")
        })?;
    if !has_code {
        scope = Scope::Pages;
    }
    let answer = if query.is_empty() {
        None
    } else {
        let search = Search {
            query: query.to_owned(),
            limit: None,
            scope,
            explain: false,
        };
        Some(search.run(wiki, ctx)?)
    };
    let main = html! {
        h1 {
            @if query.is_empty() { "Search" } @else { "Search for \u{201c}" (query) "\u{201d}" }
        }
        @if has_code {
            nav.scopes aria-label="What is searched" {
                @for (key, of, words) in SCOPES {
                    a href={ "/search" (urls::with(&[("q", query)], "in", key)) }
                        aria-current=[(of == scope).then_some("true")] { (words) }
                }
            }
        }
        @match &answer {
            Some(answer) => (results(answer, name)),
            None => (help()),
        }
    };
    let title = if query.is_empty() { "Search" } else { query };
    let mut view = View::new(Part::Other, title, main);
    query.clone_into(&mut view.query);
    Ok(view)
}

fn results(answer: &SearchAnswer, scope: &str) -> Markup {
    html! {
        p.faint role="status" {
            @if answer.hits.is_empty() { "Nothing was found." }
            @else { (counted(answer.hits.len() as u64, "hit")) ", best first" }
            @if answer.pending > 0 {
                " \u{b7} " (counted(answer.pending, "change")) " in the files not known yet"
            }
        }
        @if let Some(better) = &answer.did_you_mean {
            p { "Did you mean " a href={ "/search" (urls::with(&[("q", better)], "in", scope)) } {
                (better)
            } "?" }
        }
        @if let Some(note) = &answer.note { p.faint { (crate::web::layout::sentence(note)) } }
        ol.hits {
            @for hit in &answer.hits {
                @match hit {
                    FoundHit::Page(hit) => (page_hit(hit)),
                    FoundHit::Code(hit) => (code_hit(hit)),
                }
            }
        }
        @if !answer.skipped.is_empty() {
            p.warn { (counted(answer.skipped.len() as u64, "file")) " cannot be searched: "
                a href="/status#skipped" { "which, and why" } }
        }
    }
}

fn page_hit(hit: &SearchHit) -> Markup {
    let trail: Vec<&String> = hit
        .heading_trail
        .iter()
        .skip_while(|heading| **heading == hit.title)
        .collect();
    html! {
        li.hit {
            h2 { a href=(urls::page_lines(&hit.page_id, (hit.start_line, hit.end_line))) {
                (hit.title)
                @for heading in trail { span.sep aria-hidden="true" { " \u{203a} " } (heading) }
            } }
            p.where { (hit.page_id) " \u{b7} lines " (hit.start_line) "\u{2013}" (hit.end_line) }
            p.snippet { (marked(&hit.snippet, &hit.matches)) }
        }
    }
}

fn code_hit(hit: &CodeHit) -> Markup {
    let lines = (hit.start_line, hit.end_line);
    let mut code = String::new();
    code_html(&mut code, Language::named(&hit.language), &hit.snippet);
    html! {
        li.hit.of-code {
            h2 { a href=(urls::file(&hit.file, Some(lines))) {
                @if hit.symbol.is_empty() { (hit.file) } @else { code { (hit.symbol) } }
            } }
            p.where { (hit.file) " \u{b7} lines " (hit.start_line) "\u{2013}" (hit.end_line)
                " \u{b7} " (hit.language) }
            pre.snippet tabindex="0" { code { (PreEscaped(code)) } }
        }
    }
}

/// The words of a snippet, the matched ones marked.
fn marked(text: &str, matches: &[(usize, usize)]) -> Markup {
    html! {
        @for (shown, is_match) in page::words(text, matches) {
            @if is_match { mark { (shown) } } @else { (shown) }
        }
    }
}

fn help() -> Markup {
    html! {
        p { "Plain words find sections by what they say. For pages there is more:" }
        dl.syntax {
            div { dt { code { "\"oil filter\"" } } dd { "the words as a phrase" } }
            div { dt { code { "-draft" } } dd { "not with this word" } }
            div { dt { code { "title:install" } } dd { "in the title" } }
            div { dt { code { "id:guides/*" } } dd { "pages of a folder" } }
        }
    }
}
