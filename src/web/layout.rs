//! The frame around every view: head, navigation, and the failures that stand in place of a view.

use axum::http::StatusCode;
use axum::response::Response;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{assets, reply, urls};
use crate::error::{Error, ErrorCode};
use crate::mcp::Failure;

/// One view.
pub(super) struct View {
    /// Title of the window.
    pub(super) title: String,
    /// Which part of the navigation it belongs to.
    pub(super) part: Part,
    /// What stands left of it.
    pub(super) side: Option<Markup>,
    /// What stands right of it.
    pub(super) rail: Option<Markup>,
    /// The view itself.
    pub(super) main: Markup,
    /// What is searched for, in the field of the head.
    pub(super) query: String,
}

impl View {
    pub(super) fn new(part: Part, title: impl Into<String>, main: Markup) -> Self {
        Self {
            title: title.into(),
            part,
            side: None,
            rail: None,
            main,
            query: String::new(),
        }
    }
}

/// A part of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Home,
    Pages,
    Sources,
    Changes,
    Ask,
    Graph,
    Projects,
    Lint,
    Status,
    Other,
}

const PARTS: [(Part, &str, &str); 8] = [
    (Part::Pages, "/pages", "Pages"),
    (Part::Ask, "/ask", "Ask"),
    (Part::Sources, "/sources", "Sources"),
    (Part::Changes, "/changes", "Changes"),
    (Part::Graph, "/graph", "Graph"),
    (Part::Projects, "/projects", "Projects"),
    (Part::Lint, "/lint", "Lint"),
    (Part::Status, "/status", "Status"),
];

/// The whole document.
pub(super) fn document(site: &str, view: &View) -> String {
    let title = if view.title.is_empty() {
        site.to_owned()
    } else {
        format!("{} - {site}", view.title)
    };
    let frame = match (&view.side, &view.rail) {
        (Some(_), Some(_)) => "frame with-side with-rail",
        (Some(_), None) => "frame with-side",
        (None, Some(_)) => "frame with-rail",
        (None, None) => "frame",
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" type="image/svg+xml" href=(assets::url("icon.svg"));
                link rel="stylesheet" href=(assets::url("style.css"));
                script defer src=(assets::url("app.js")) {}
            }
            body {
                a.skip href="#w-main" { "Skip to the content" }
                header.top {
                    a.brand href="/" {
                        img src=(assets::url("icon.svg")) alt="" width="24" height="24";
                        span { (site) }
                    }
                    form.find role="search" action="/search" {
                        label.hidden for="w-q" { "Search pages and code" }
                        input #w-q type="search" name="q" value=(view.query)
                            placeholder="Search pages and code" autocomplete="off"
                            spellcheck="false" maxlength="1000";
                        kbd aria-hidden="true" title="Press / to search" { "/" }
                    }
                    nav aria-label="Main" {
                        @for (part, url, name) in PARTS {
                            a href=(url) aria-current=[(part == view.part).then_some("page")] {
                                (name)
                            }
                        }
                    }
                }
                div class=(frame) {
                    @if let Some(side) = &view.side {
                        aside.side aria-label="Pages of this folder" { (side) }
                    }
                    main #w-main tabindex="-1" { (view.main) }
                    @if let Some(rail) = &view.rail {
                        aside.rail aria-label="About this page" { (rail) }
                    }
                }
            }
        }
    }
    .into_string()
}

/// What stands in place of a view that could not be made.
pub(super) fn failure(site: &str, failure: &Failure) -> Response {
    let (status, view) = match failure {
        Failure::Engine(error) if error.code() == ErrorCode::NotInitialized => {
            (StatusCode::NOT_FOUND, no_wiki(error))
        }
        Failure::Engine(error) => {
            let status = StatusCode::from_u16(error.code().row().http_status);
            // 499 is what a client would hear that is gone.
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, failed(error))
        }
        Failure::Defect => (StatusCode::INTERNAL_SERVER_ERROR, defect()),
    };
    reply::html(status, document(site, &view))
}

fn failed(error: &Error) -> View {
    let title = match error.code() {
        ErrorCode::PageNotFound => "No such page",
        ErrorCode::SourceNotFound => "No such source",
        ErrorCode::InvalidPath | ErrorCode::InvalidArgument => "That cannot be opened",
        ErrorCode::InvalidPage => "This page cannot be read",
        _ => "That did not work",
    };
    let main = html! {
        article.notice {
            h1 { (title) }
            p { (sentence(error.message())) }
            @if let Some(hint) = error.hint() {
                p.faint { (sentence(hint)) }
            }
            p.faint { code { (error.code().as_str()) } }
            p { a href="/" { "To the start" } " " a href="/pages" { "All pages" } }
        }
    };
    View::new(Part::Other, title, main)
}

fn no_wiki(error: &Error) -> View {
    let main = html! {
        article.notice {
            h1 { "There is no wiki here yet" }
            p { (sentence(error.message())) }
            p { "Two commands make one:" }
            pre tabindex="0" { code {
                "llmwiki init\n"
                "llmwiki add-source notes.md\n"
            } }
            p.faint {
                "This page shows the wiki as soon as it is there. "
                "Agents reach it over MCP at " code { "/mcp" } "."
            }
        }
    };
    View::new(Part::Other, "No wiki yet", main)
}

fn defect() -> View {
    let main = html! {
        article.notice {
            h1 { "A defect of llmwiki itself" }
            p { "Nothing half-done was kept, and the server goes on. Its standard error says more: please report it." }
        }
    };
    View::new(Part::Other, "Defect", main)
}

/// A message, which has no full stop and begins in lower case, as a sentence.
pub(super) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    let end = if message.ends_with(['.', '?', '!', ':']) {
        ""
    } else {
        "."
    };
    format!("{first}{}{end}", letters.as_str())
}

/// A name as a path of links through its folders: `guides / install`.
pub(super) fn trail(id: &str) -> Markup {
    let mut folders = Vec::new();
    for (at, _) in id.match_indices('/') {
        let name = id[..at].rsplit('/').next().unwrap_or_default();
        folders.push((urls::folder(&id[..at]), name));
    }
    html! {
        nav.trail aria-label="Path" {
            a href="/pages" { "pages" }
            @for (url, name) in folders {
                span.sep aria-hidden="true" { "/" }
                a href=(url) { (name) }
            }
            span.sep aria-hidden="true" { "/" }
            span { (id.rsplit('/').next().unwrap_or(id)) }
        }
    }
}

/// A moment, as precise as a reader wants it, with the whole of it to be had.
pub(super) fn when(time: &str) -> Markup {
    let shown = time.get(..16).unwrap_or(time).replace('T', " ");
    html! { time datetime=(time) title=(time) { (shown) } }
}

/// A hash, short, with the whole of it to be had.
pub(super) fn short(hash: &str) -> Markup {
    html! { code.hash title=(hash) { (hash.get(..12).unwrap_or(hash)) } }
}

/// A number with its noun.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(count))
}

/// A number with its thousands apart.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A size in bytes, as people say it.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{} bytes", grouped(bytes)),
        10_240..10_485_760 => format!("{} KiB", bytes / 1024),
        _ => format!("{} MiB", bytes / (1 << 20)),
    }
}

/// HTML that was made by [`super::markdown`].
pub(super) fn made(html: &str) -> PreEscaped<&str> {
    PreEscaped(html)
}
