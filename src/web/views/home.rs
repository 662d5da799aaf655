//! Where a reader begins: what there is, and what changed last.

use maud::html;

use super::{changes, pages};
use crate::context::Context;
use crate::error::Result;
use crate::ops::{History, Operation as _};
use crate::web::layout::{Part, View};
use crate::web::urls;
use crate::wiki::Wiki;

/// So many pages of the top are listed, and so many changes.
const PAGES: usize = 24;
const CHANGES: usize = 10;

/// Pages that say by their name that one begins with them.
const BEGIN: [&str; 5] = ["index", "README", "readme", "home", "code/index"];

pub(in crate::web) fn view(wiki: &Wiki, ctx: &Context, site: &str) -> Result<View> {
    let mut top = wiki.open_folder(ctx, "", None, PAGES)?;
    let history = History {
        limit: Some(CHANGES),
        ..History::default()
    };
    let changed = history.run(wiki, ctx)?.revisions;
    let begin = wiki.known_pages(ctx, &BEGIN)?;
    let is_empty = top.pages.is_empty() && top.folders.is_empty();
    top.pages
        .retain(|page| begin.iter().all(|it| it.id != page.id));
    let main = html! {
        header.hero {
            h1 { (site) }
            p.lead { "A wiki whose pages cite preserved evidence. Press " kbd { "/" } " to search it." }
        }
        @if is_empty {
            section.card {
                h2 { "No pages yet" }
                p { "Preserve a source, then write a page that cites it:" }
                pre tabindex="0" { code {
                    "llmwiki add-source notes.md\n"
                    "llmwiki upsert-page guides/start --title \"Start\" --summary \"Where to begin\" \\\n"
                    "    --source ID --body start.md\n"
                } }
                p.faint { "Or let agents write: they reach the wiki over MCP at " code { "/mcp" } "; "
                    a href="/status" { "Status" } " has the snippet for your agent host." }
            }
        } @else {
            div.columns {
                section aria-labelledby="w-pages" {
                    @if !begin.is_empty() {
                        ul.begin aria-label="Where to begin" {
                            @for page in &begin {
                                li { a href=(urls::page(&page.id)) {
                                    strong { (page.title) } span { (page.summary) }
                                } }
                            }
                        }
                    }
                    h2 #w-pages { "Pages" }
                    (pages::listing(&top, true))
                    @if top.next.is_some() {
                        p { a href=(urls::folder("")) { "All pages" } }
                    }
                }
                section aria-labelledby="w-changes" {
                    h2 #w-changes { "Changed last" }
                    (changes::list(&changed))
                    p { a href="/changes" { "All changes" } }
                }
            }
        }
    };
    Ok(View::new(Part::Home, "", main))
}
