//! A page: its text with citations that open, its contents, its sources, who links to it.

use maud::{Markup, html};

use super::lines;
use crate::code::Language;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{PageId, SourceId};
use crate::web::layout::{Part, View, counted, made, short, trail};
use crate::web::lines::{Wanted, numbered};
use crate::web::markdown::{Article, Surroundings, article};
use crate::web::urls;
use crate::wiki::{OpenPage, SourceMetadata, Wiki};

/// What is asked of a page.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::web) struct Asked {
    /// Lines that are marked.
    #[serde(rename = "L")]
    lines: Option<String>,
    /// A revision.
    at: Option<String>,
    /// `text` for the page file.
    view: Option<String>,
    /// The line with which a long text begins.
    from: Option<String>,
}

pub(in crate::web) fn view(wiki: &Wiki, ctx: &Context, id: &str, asked: &Asked) -> Result<View> {
    let lit = lines(asked.lines.as_deref())?;
    let id =
        PageId::parse(id).map_err(|cause| Error::new(ErrorCode::InvalidPath, cause.to_string()))?;
    let open = wiki.open_page(ctx, &id, asked.at.as_deref())?;
    let as_text = asked.view.as_deref() == Some("text");
    let title = match &open.page {
        Some(page) => page.title.clone(),
        None => id.to_string(),
    };
    let mut text = Article::default();
    if let Some(page) = open.page.as_ref().filter(|_| !as_text) {
        text = article(
            &page.body,
            &Surroundings {
                page: Some(&id),
                links: &open.links,
                sources: &open.sources,
                first_line: page.body_start_line,
                lit,
                title: Some(&page.title),
                ..Surroundings::default()
            },
        );
    }
    let is_old = asked.at.is_some();
    let main = html! {
        (trail(id.as_str()))
        article.page data-page=[(!is_old).then_some(id.as_str())] {
            header {
                h1 { (title) }
                @if let Some(page) = &open.page {
                    p.lead { (page.summary) }
                }
                p.tools {
                    @if as_text {
                        a href=(urls::page(id.as_str())) { "Read" }
                    } @else {
                        a href=(urls::page_text(id.as_str(), None)) { "Text" }
                    }
                    a href=(urls::history(id.as_str())) { "History" }
                    a href={ "/graph?around=" (urls::value(id.as_str())) } { "Graph" }
                    span.faint { "revision " (open.report.revision) ", " (short(&open.report.sha256)) }
                }
            }
            @if is_old {
                p.warn role="status" {
                    "This is revision " (open.report.revision) ". "
                    a href=(urls::page(id.as_str())) { "The page as it is now" }
                }
            }
            @if let Some(fault) = &open.report.fault {
                p.warn role="status" { "This text is no page: " (fault) }
            }
            @if as_text || open.page.is_none() {
                (numbered(&open.report.markdown, Language::named("markdown"), &Wanted {
                    path: urls::page(id.as_str()),
                    query: &[("view", "text"), ("at", asked.at.as_deref().unwrap_or_default())],
                    lit,
                    from: super::number("from", asked.from.as_deref())?,
                }))
            } @else {
                div.text { (made(&text.html)) }
            }
        }
    };
    let mut view = View::new(Part::Pages, title, main);
    view.side = Some(side(&open, &id));
    view.rail = Some(rail(&open, &text));
    Ok(view)
}

/// The folder that the page is in.
fn side(open: &OpenPage, id: &PageId) -> Markup {
    let folder = &open.folder;
    let is_shown = folder.pages.iter().any(|page| page.id == id.as_str());
    html! {
        nav {
            p.folder {
                @if folder.path.is_empty() {
                    a href="/pages" { "pages" }
                } @else {
                    a href=(urls::folder(&folder.path)) { (folder.path) "/" }
                }
            }
            ul {
                @for path in &folder.folders {
                    li.dir { a href=(urls::folder(path)) {
                        (path.rsplit('/').next().unwrap_or(path)) "/"
                    } }
                }
                @for page in &folder.pages {
                    li { a href=(urls::page(&page.id)) title=(page.summary)
                        aria-current=[(page.id == id.as_str()).then_some("page")] { (page.title) } }
                }
                @if !is_shown && let Some(page) = &open.page {
                    li.apart { a href=(urls::page(id.as_str())) aria-current="page" { (page.title) } }
                }
                @if folder.next.is_some() {
                    li.dir { a href=(urls::folder(&folder.path)) { "all of this folder" } }
                }
            }
        }
    }
}

/// Contents, sources, backlinks.
fn rail(open: &OpenPage, text: &Article) -> Markup {
    let contents: Vec<_> = text.headings.iter().filter(|it| it.level <= 3).collect();
    html! {
        @if contents.len() > 1 {
            nav.contents aria-label="Contents" {
                h2 { "Contents" }
                ul {
                    @for heading in contents {
                        li class={ "h" (heading.level) } {
                            a href={ "#" (urls::path(&heading.id)) } { (heading.text) }
                        }
                    }
                }
            }
        }
        section.sources aria-label="Sources" {
            h2 { (counted(open.sources.len() as u64, "source")) }
            ul {
                @for (id, metadata) in &open.sources {
                    li { (source(*id, metadata.as_ref())) }
                }
            }
        }
        section.backlinks aria-label="Pages that link here" {
            h2 { "Linked from" }
            @if open.backlinks.is_empty() {
                p.faint { "No page links here." }
            }
            ul {
                @for page in &open.backlinks {
                    li { a href=(urls::page(&page.id)) title=(page.summary) { (page.title) } }
                }
            }
        }
    }
}

fn source(id: SourceId, metadata: Option<&SourceMetadata>) -> Markup {
    let id = id.to_string();
    html! {
        @match metadata {
            Some(metadata) => {
                a.cite-source href=(urls::source(&id, None)) title=(id) { (metadata.name) }
                @if let Some(origin) = &metadata.origin {
                    span.origin { (origin) }
                }
            }
            None => span.missing title={ "There is no source " (id) } { "missing " (short(&id)) }
        }
    }
}
