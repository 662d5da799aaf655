//! `projects`, `ask-projects` and `get-from`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, budget};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::federation::{
    self, AddedPlace, AskProjectsReport, AskProjectsRequest, GetFromReport, ProjectsReport,
};
use crate::wiki::Wiki;

/// What is done with projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProjectsAction {
    /// Show those that can be asked.
    #[default]
    List,
    /// Make one known by name.
    Add,
    /// Forget one.
    Remove,
    /// Read all of them anew, and find those of the configured forges.
    Sync,
}

/// List, add, remove and read anew the other projects that can be asked
///
/// A project is a directory that holds .wiki or .llmwiki, or a repository on a Gitea or Forgejo
/// server. What is known of them is kept in this wiki's store.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Projects {
    /// What to do: list (the default), add, remove or sync.
    #[serde(default)]
    pub action: ProjectsAction,
    /// Name of the project to add or remove.
    #[serde(default)]
    pub name: Option<String>,
    /// Base address of the server that holds it.
    #[serde(default)]
    pub gitea: Option<String>,
    /// Who the repository belongs to.
    #[serde(default)]
    pub owner: Option<String>,
    /// Name of the repository; that of the project when not given.
    #[serde(default)]
    pub repo: Option<String>,
    /// The branch to read; the default branch when not given.
    #[serde(default)]
    pub branch: Option<String>,
    /// The directory that holds it, which only the console can name.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
}

impl Projects {
    fn place(&mut self) -> Result<AddedPlace> {
        match (self.directory.take(), self.gitea.take(), self.owner.take()) {
            (Some(path), None, None) if self.repo.is_none() && self.branch.is_none() => {
                Ok(AddedPlace::Directory(path))
            }
            (None, Some(url), Some(owner)) => Ok(AddedPlace::Gitea {
                url,
                owner,
                repo: self.repo.take(),
                branch: self.branch.take(),
            }),
            _ => Err(Error::new(
                ErrorCode::InvalidArgument,
                "a project is a directory, or a repository with its server and owner",
            )
            .with_hint(
                "`llmwiki projects add NAME --path DIR`, or \
                 `llmwiki projects add NAME --gitea https://git.example.org --owner USER`",
            )),
        }
    }
}

impl Operation for Projects {
    const NAME: &'static str = "projects";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    const REACHES_OUT: bool = true;
    type Report = ProjectsReport;

    fn run(mut self, wiki: &Wiki, ctx: &Context) -> Result<ProjectsReport> {
        let name = self.name.take();
        let named = || {
            name.as_deref().ok_or_else(|| {
                Error::new(
                    ErrorCode::InvalidArgument,
                    "the name of the project is missing",
                )
                .with_hint("`llmwiki projects list` shows the names")
            })
        };
        match self.action {
            ProjectsAction::List => federation::list(wiki, ctx),
            ProjectsAction::Sync => federation::sync(wiki, ctx),
            ProjectsAction::Add => federation::add(wiki, ctx, named()?, self.place()?),
            ProjectsAction::Remove => federation::remove(wiki, ctx, named()?),
        }
    }
}

/// Ask other projects, which must be named, when this wiki does not know
///
/// Finds pages whose slug, title or description in the project's index holds the words, whatever
/// their case, and shows their text around the words. Nobody but the named projects is asked. One
/// that cannot answer says why, and the others answer. Next: `llmwiki get-from PROJECT SLUG`
/// gives the full text of a page; if nobody knows, file a request with the project (`tasks.create`,
/// where the host has it).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AskProjects {
    /// Words to look for.
    pub query: String,
    /// Names of the projects to ask, at least one.
    pub projects: Vec<String>,
    /// At most this many pages of each project, 1 to 20; 5 when not given.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Only pages of these types, for example entities, concepts, packages, sources, raw; all but
    /// raw when not given.
    #[serde(default)]
    pub types: Option<Vec<String>>,
}

impl Operation for AskProjects {
    const NAME: &'static str = "ask-projects";
    const EFFECT: Effect = Effect::ReachesOut;
    const MCP: Option<&'static str> = Some("knowledge_ask_projects");
    const NARROW: &'static str = "Name fewer projects, or give a smaller limit.";
    type Report = AskProjectsReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<AskProjectsReport> {
        let request = AskProjectsRequest {
            query: self.query,
            projects: self.projects,
            limit: self.limit,
            types: self.types.unwrap_or_default(),
        };
        federation::ask_projects(wiki, ctx, &request)
    }
}

/// Read a page of another project, as it is there now
///
/// The slug is one that ask-projects gave: type and path without .md. A range is given in bytes
/// and never cuts a character in two.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct GetFrom {
    /// Name of the project.
    pub project: String,
    /// The page, for example concepts/retries.
    pub slug: String,
    /// First byte to read.
    #[serde(default)]
    pub offset: Option<u64>,
    /// At most this many bytes.
    #[serde(default)]
    pub limit: Option<u64>,
}

impl Operation for GetFrom {
    const NAME: &'static str = "get-from";
    const EFFECT: Effect = Effect::ReachesOut;
    const MCP: Option<&'static str> = Some("knowledge_get_from");
    type Report = GetFromReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<GetFromReport> {
        let mut report = federation::get_from(wiki, ctx, &self.project, &self.slug)?;
        report.keep_range(self.offset.unwrap_or(0), self.limit)?;
        let budget = ctx.limits.max_answer_bytes;
        if budget != usize::MAX {
            let room = budget.saturating_sub(budget::frame(&report, |it| &mut it.content)?);
            let kept = budget::text_that_fits(&report.content, room);
            report.keep(kept);
        }
        Ok(report)
    }
}
