//! What is there and in what state, and how agents reach it.

use maud::{Markup, html};

use crate::context::Context;
use crate::error::Result;
use crate::mcp::{HOSTS, Snippet};
use crate::ops::{Operation as _, Status};
use crate::web::layout::{Part, View, counted, grouped, sentence, short, size};
use crate::wiki::{CodeStatus, StatusReport, Wiki};

pub(in crate::web) fn view(wiki: &Wiki, ctx: &Context) -> Result<View> {
    let report = Status { skipped: true }.run(wiki, ctx)?;
    let main = html! {
        h1 { "Status" }
        dl.facts.wide {
            div { dt { "Root" } dd { code { (report.root) } } }
            div { dt { "Wiki" } dd {
                @if report.initialized {
                    (counted(report.page_count, "page")) ", " (counted(report.source_count, "source"))
                } @else { span.bad { "there is none yet" } ": " code { "llmwiki init" } }
            } }
            div { dt { "Index" } dd { (index(&report)) } }
            @if let Some(store) = &report.store {
                div { dt { "Store" } dd {
                    (size(store.bytes)) ", schema " (store.schema_version) ", analysis " (store.analysis)
                } }
            }
            div { dt { "Version" } dd { "llmwiki " (env!("CARGO_PKG_VERSION")) } }
        }
        @if !report.skipped.is_empty() {
            section #skipped {
                h2 { "Kept out of the index" }
                ul.skipped {
                    @for file in &report.skipped {
                        li { code { (file.path) } " " (sentence(&file.reason))
                            " " span.faint { (file.code) } }
                    }
                }
            }
        }
        @if let Some(code) = &report.code { (project(code)) }
        (hosts(&report.root))
        @if let Some(schema) = &report.schema_text {
            details {
                summary { "How this wiki is written (schema.md)" }
                pre tabindex="0" { code { (schema) } }
            }
        }
    };
    Ok(View::new(Part::Status, "Status", main))
}

fn index(report: &StatusReport) -> Markup {
    let index = &report.index;
    html! {
        @if !index.present { span.bad { "none" } ": the first search builds it" }
        @else if index.fresh { span.good { "fresh" } }
        @else { span.bad { "stale" } ": " (counted(report.pending, "change")) " in the files; the next search takes them in" }
        @if index.present { ", " (counted(index.section_count, "section")) }
    }
}

fn project(code: &CodeStatus) -> Markup {
    html! {
        section {
            h2 { "Code of the project" }
            dl.facts.wide {
                div { dt { "Project" } dd { code { (code.project) } } }
                div { dt { "Index" } dd {
                    @if code.fresh { span.good { "fresh" } }
                    @else { span.bad { "stale" } ": " (counted(code.pending, "file")) " changed" }
                    ", " (counted(code.files, "file")) ", " (counted(code.lines, "line")) ", "
                    (counted(code.chunks, "chunk"))
                } }
                div { dt { "Signature" } dd { (short(&code.signature)) } }
            }
            div.columns {
                div.table tabindex="0" role="region" aria-label="Languages" {
                    table {
                        thead { tr { th { "Language" } th.right { "Files" } th.right { "Lines" } } }
                        tbody {
                            @for row in &code.languages {
                                tr {
                                    td { (row.language) }
                                    td.right { (grouped(row.files)) }
                                    td.right { (grouped(row.lines)) }
                                }
                            }
                        }
                    }
                }
                @if !code.skipped.is_empty() {
                    div {
                        h3 { "Left out" }
                        ul {
                            @for row in &code.skipped { li { (row.reason) ": " (grouped(row.count)) } }
                        }
                        @if let Some(files) = &code.skipped_files {
                            details {
                                summary { "Each of them" }
                                ul.skipped {
                                    @for file in files {
                                        li { code { (file.path) } " " span.faint { (file.reason) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What agent hosts need to load the wiki.
fn hosts(root: &str) -> Markup {
    let program = std::env::current_exe();
    let program = program.as_ref().ok().and_then(|it| it.to_str());
    html! {
        section.hosts {
            h2 { "For agents" }
            p { "This server speaks MCP at " code { "/mcp" } ". Hosts that start the server themselves need one snippet:" }
            @if let Some(command) = program {
                @for host in HOSTS {
                    details {
                        summary { (host.title) }
                        p.faint { "Put it into " (host.file) }
                        pre tabindex="0" { code { (host.render(&Snippet { command, root: Some(root) })) } }
                    }
                }
            }
        }
    }
}
