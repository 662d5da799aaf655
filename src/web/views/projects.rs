//! Other projects: which there are, what they answer, and their pages as they are there.

use maud::{Markup, html};

use crate::context::Context;
use crate::error::Result;
use crate::federation::{AskProjectsReport, ProjectInfo};
use crate::ops::{AskProjects, GetFrom, Operation as _, Projects};
use crate::web::layout::{Part, View, counted, made, sentence, when};
use crate::web::markdown::{Surroundings, article};
use crate::web::urls;
use crate::wiki::Wiki;

/// The projects, and what those that were asked answer.
pub(in crate::web) fn view(
    wiki: &Wiki,
    ctx: &Context,
    query: &str,
    asked: &[String],
) -> Result<View> {
    let known = Projects::default().run(wiki, ctx)?.projects;
    let report = if query.trim().is_empty() || asked.is_empty() {
        None
    } else {
        let ask = AskProjects {
            query: query.to_owned(),
            projects: asked.to_vec(),
            limit: None,
            types: None,
        };
        Some(ask.run(wiki, ctx)?)
    };
    let main = html! {
        h1 { "Projects" }
        p.lead { "Other projects that can be asked by name when this wiki does not know." }
        @if known.is_empty() {
            section.card {
                h2 { "No project is known yet" }
                p { "A project is a directory with a wiki, or a repository on a Gitea or Forgejo server:" }
                pre tabindex="0" { code {
                    "llmwiki projects add NAME --path DIR\n"
                    "llmwiki projects add NAME --gitea https://git.example.org --owner USER\n"
                } }
            }
        } @else {
            form.ask method="post" action="/projects" {
                label for="w-query" { "Words" }
                input #w-query type="search" name="query" value=(query) required maxlength="1000";
                fieldset {
                    legend { "Projects to ask" }
                    @for project in &known {
                        label.choice {
                            input type="checkbox" name="project" value=(project.name)
                                checked[asked.is_empty() || asked.contains(&project.name)];
                            " " (project.name)
                        }
                    }
                }
                @if !query.is_empty() && asked.is_empty() { p.bad { "Name at least one project." } }
                p { button type="submit" { "Ask them" } }
            }
            @if let Some(report) = &report { (answers(report)) }
            (list(&known))
        }
    };
    Ok(View::new(Part::Projects, "Projects", main))
}

fn answers(report: &AskProjectsReport) -> Markup {
    html! {
        @for answer in &report.results {
            section.of-project {
                h2 { (answer.project) }
                @if let Some(error) = &answer.error { p.bad { (sentence(error)) } }
                @for note in &answer.notes { p.faint { (sentence(note)) } }
                @if let Some(matches) = &answer.matches {
                    @if matches.is_empty() { p.faint { "It knows nothing of this." } }
                    ol.hits {
                        @for found in matches {
                            li.hit {
                                h2 { a href={ "/projects/" (urls::path(&answer.project)) "/" (urls::path(&found.slug)) } { (found.title) } }
                                p.where { (found.slug) }
                                @match &found.fetch_error {
                                    Some(error) => p.bad { (sentence(error)) },
                                    None => p.snippet { (found.snippet) }
                                }
                            }
                        }
                    }
                    @if let Some(more) = answer.more { p.faint { (counted(more as u64, "page")) " more" } }
                }
            }
        }
        p.faint { (sentence(&report.next_action_hint)) }
    }
}

fn list(known: &[ProjectInfo]) -> Markup {
    html! {
        h2 { "All of them" }
        div.table tabindex="0" role="region" aria-label="Projects" {
            table {
                thead { tr { th { "Project" } th { "Where" } th.right { "Pages" } th { "Read last" } th { "State" } } }
                tbody {
                    @for project in known {
                        tr {
                            td { strong { (project.name) } }
                            td.origin { (project.place) @if let Some(branch) = &project.branch { " (" (branch) ")" } }
                            td.right { @if let Some(count) = project.page_count { (count) } }
                            td { @if let Some(at) = &project.synced_at { (when(at)) } }
                            td {
                                @match &project.error {
                                    Some(error) => span.bad { (sentence(error)) },
                                    None if project.has_wiki => span.good { "can be asked" },
                                    None => "has no wiki",
                                }
                                @if let Some(status) = &project.status { p.faint { (status) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A page of another project, as it is there now. Nobody vouches for it here.
pub(in crate::web) fn page(wiki: &Wiki, ctx: &Context, project: &str, slug: &str) -> Result<View> {
    let get = GetFrom {
        project: project.to_owned(),
        slug: slug.to_owned(),
        offset: None,
        limit: None,
    };
    let report = get.run(wiki, ctx)?;
    let around = Surroundings {
        first_line: 1,
        ..Surroundings::default()
    };
    let main = html! {
        article.page {
            header {
                p.kind { "Page of " (report.project) }
                h1.path { (report.slug) }
                dl.facts {
                    div { dt { "From" } dd.origin { (report.origin) } }
                    @if let Some(commit) = &report.commit { div { dt { "Commit" } dd { code { (commit) } } } }
                }
                p.tools { a href="/projects" { "Projects" } }
            }
            div.text { (made(&article(&report.content, &around).html)) }
        }
    };
    Ok(View::new(
        Part::Projects,
        format!("{slug} of {project}"),
        main,
    ))
}
