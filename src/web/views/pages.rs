//! The pages by folder, and the sources.

use maud::{Markup, html};

use crate::context::Context;
use crate::error::Result;
use crate::ops::{ListSources, Operation as _};
use crate::web::layout::{Part, View, short, size, trail, when};
use crate::web::urls;
use crate::wiki::{Folder, PageSummary, Wiki};

/// So many entries are shown at once.
const AT_ONCE: usize = 200;

/// The folders and pages right in a folder.
pub(in crate::web) fn view(
    wiki: &Wiki,
    ctx: &Context,
    path: &str,
    after: Option<&str>,
) -> Result<View> {
    let folder = wiki.open_folder(ctx, path, after, AT_ONCE)?;
    let is_empty = folder.pages.is_empty() && folder.folders.is_empty();
    let title = if path.is_empty() { "Pages" } else { path };
    let main = html! {
        @if !path.is_empty() { (trail(path)) }
        h1 { (title) }
        @if is_empty {
            p.faint { "There are no pages here." }
        }
        (listing(&folder, after.is_none()))
        @if let Some(next) = &folder.next {
            p.more { a href={
                "/pages?in=" (urls::value(path)) "&after=" (urls::value(next))
            } { "More pages" } }
        }
    };
    Ok(View::new(Part::Pages, title, main))
}

/// A list of what is in a folder.
pub(super) fn listing(folder: &Folder, with_folders: bool) -> Markup {
    html! {
        @if with_folders && !folder.folders.is_empty() {
            ul.folders {
                @for path in &folder.folders {
                    li { a href=(urls::folder(path)) {
                        (path.rsplit('/').next().unwrap_or(path)) "/"
                    } }
                }
            }
        }
        (summaries(&folder.pages))
    }
}

/// Pages with what they are about.
pub(super) fn summaries(pages: &[PageSummary]) -> Markup {
    html! {
        ul.pages {
            @for page in pages {
                li {
                    a href=(urls::page(&page.id)) { (page.title) }
                    p { (page.summary) }
                }
            }
        }
    }
}

/// The sources, in the order of their ids.
pub(in crate::web) fn sources(wiki: &Wiki, ctx: &Context, after: Option<&str>) -> Result<View> {
    let list = ListSources {
        cursor: after.map(str::to_owned),
        limit: Some(AT_ONCE),
    };
    let report = list.run(wiki, ctx)?;
    let main = html! {
        h1 { "Sources" }
        p.lead { "Preserved byte for byte, each named by its SHA-256. They never change." }
        @if report.sources.is_empty() {
            p.faint { "No sources are preserved yet: " code { "llmwiki add-source FILE" } "." }
        } @else {
            div.table tabindex="0" role="region" aria-label="Sources" {
                table {
                    thead { tr {
                        th { "Name" } th { "Captured" } th.right { "Size" } th { "From" } th { "Id" }
                    } }
                    tbody {
                        @for source in &report.sources {
                            tr {
                                td { a href=(urls::source(&source.id, None)) { (source.name) } }
                                td { (when(&source.captured_at)) }
                                td.right { (size(source.byte_count)) }
                                td.origin { (source.origin.as_deref().unwrap_or("")) }
                                td { (short(&source.id)) }
                            }
                        }
                    }
                }
            }
        }
        @if let Some(next) = &report.next {
            p.more { a href={ "/sources?after=" (urls::value(next)) } { "More sources" } }
        }
    };
    Ok(View::new(Part::Sources, "Sources", main))
}
