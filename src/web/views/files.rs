//! What is cited, with the cited lines marked: a preserved source, or a file of the project.

use maud::{Markup, html};

use super::{lines, number};
use crate::code::Language;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::SourceId;
use crate::web::layout::{Part, View, counted, short, size, when};
use crate::web::lines::{Wanted, numbered};
use crate::web::markdown::IMAGES;
use crate::web::{reply, urls};
use crate::wiki::Wiki;

/// Lines, and where a long text begins.
#[derive(Debug, Default, serde::Deserialize)]
pub(in crate::web) struct Asked {
    #[serde(rename = "L")]
    lines: Option<String>,
    from: Option<String>,
}

fn source_id(raw: &str) -> Result<SourceId> {
    SourceId::parse(raw).map_err(|_| {
        Error::new(
            ErrorCode::InvalidPath,
            format!("source id {raw:?} is not 64 lower-case hexadecimal digits"),
        )
    })
}

/// A preserved source.
pub(in crate::web) fn source(wiki: &Wiki, ctx: &Context, id: &str, asked: &Asked) -> Result<View> {
    let lit = lines(asked.lines.as_deref())?;
    let open = wiki.open_source(ctx, source_id(id)?)?;
    let (report, metadata) = (&open.report, &open.report.metadata);
    let raw = format!("/source/{}/raw", report.id);
    let is_image = IMAGES.contains(&metadata.media_type.as_str());
    let about = html! {
        dl.facts {
            div { dt { "Source" } dd { code.id { (report.id) } } }
            div { dt { "State" } dd { span.good { "verified now" } " the bytes hash to this id" } }
            div { dt { "Captured" } dd { (when(&metadata.captured_at)) } }
            @if let Some(origin) = &metadata.origin {
                div { dt { "From" } dd.origin { (origin_link(origin)) } }
            }
            div { dt { "Type" } dd { (metadata.media_type) ", " (size(metadata.byte_count)) } }
        }
    };
    let content = match &report.content {
        _ if is_image => html! { p { img.preserved src=(raw) alt=(metadata.name); } },
        Some(text) => numbered(
            text,
            language(&metadata.name, &metadata.media_type),
            &Wanted {
                path: format!("/source/{}", report.id),
                query: &[("L", asked.lines.as_deref().unwrap_or_default())],
                lit,
                from: number("from", asked.from.as_deref())?,
            },
        ),
        None => html! {
            p.warn { "These bytes are no text: they have no lines to show." }
        },
    };
    let main = html! {
        article.evidence {
            header {
                p.kind { "Preserved source" }
                h1 { (metadata.name) }
                (about)
                p.tools {
                    a href=(raw) { "Download" }
                    @if lit.is_some() { a href=(urls::source(&report.id, None)) { "Whole source" } }
                }
            }
            (content)
        }
    };
    let mut view = View::new(Part::Sources, &metadata.name, main);
    view.rail = Some(html! {
        section.backlinks aria-label="Pages that cite it" {
            h2 { "Cited by " (counted(open.cited_by.len() as u64, "page")) }
            ul {
                @for page in &open.cited_by {
                    li { a href=(urls::page(&page.id)) title=(page.summary) { (page.title) } }
                }
            }
        }
    });
    Ok(view)
}

/// Only an address of the web is a link.
fn origin_link(origin: &str) -> Markup {
    let is_web = origin.starts_with("https://") || origin.starts_with("http://");
    html! {
        @if is_web {
            a.out href=(origin) rel="noopener noreferrer nofollow" { (origin) }
        } @else {
            (origin)
        }
    }
}

fn language(name: &str, media_type: &str) -> &'static Language {
    match media_type.split(';').next().unwrap_or_default() {
        "text/markdown" => Language::named("markdown"),
        _ => Language::of_path(name),
    }
}

/// The bytes of a source.
pub(in crate::web) fn raw(
    wiki: &Wiki,
    ctx: &Context,
    id: &str,
) -> Result<axum::response::Response> {
    let report = wiki.read_source(ctx, source_id(id)?, None, None)?;
    let metadata = report.metadata;
    Ok(reply::file(
        report.bytes,
        &metadata.media_type,
        &metadata.name,
    ))
}

/// A file of the project.
pub(in crate::web) fn code(wiki: &Wiki, ctx: &Context, path: &str, asked: &Asked) -> Result<View> {
    let lit = lines(asked.lines.as_deref())?;
    let open = wiki.open_code(ctx, path)?;
    let content = numbered(
        &open.text,
        Language::named(&open.language),
        &Wanted {
            path: urls::file(path, None),
            query: &[("L", asked.lines.as_deref().unwrap_or_default())],
            lit,
            from: number("from", asked.from.as_deref())?,
        },
    );
    let name = path.rsplit('/').next().unwrap_or(path);
    let main = html! {
        article.evidence {
            header {
                p.kind { "File of the project" }
                h1.path { (path) }
                dl.facts {
                    div { dt { "State" } dd {
                        @if open.fresh { span.good { "as indexed" } }
                        @else { span.bad { "changed since it was indexed" } }
                        " read from the project now"
                    } }
                    div { dt { "SHA-256" } dd { (short(&open.sha256.to_string())) } }
                    div { dt { "Language" } dd { (open.language) } }
                    @if open.redacted > 0 {
                        div { dt { "Left out" } dd {
                            (counted(open.redacted.into(), "secret or name"))
                        } }
                    }
                }
                @if lit.is_some() {
                    p.tools { a href=(urls::file(path, None)) { "Whole file" } }
                }
            }
            (content)
        }
    };
    Ok(View::new(Part::Other, name, main))
}
