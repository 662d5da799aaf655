//! `projects`, `ask-projects` and `get-from`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::federation::{AskProjectsReport, GetFromReport, ProjectsReport};
use crate::ops::{AskProjects, GetFrom, Operation as _, Projects, ProjectsAction};
use crate::render;
use crate::wiki::NewSource;

/// List, add, remove and read anew the other projects that can be asked
///
/// A project is a directory that holds .wiki or .llmwiki, or a repository on a Gitea or Forgejo
/// server. What is known of them is kept in this wiki's store; forges are named in your own
/// config.toml, each with its url and a token. Without a word: list.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct ProjectsArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show the projects that can be asked
    List,
    /// Make a project known under a name, and read its index
    Add(AddArgs),
    /// Forget a project
    Remove {
        /// Its name
        name: String,
    },
    /// Read the index of each project anew, and find those of the configured forges
    ///
    /// A project that cannot be read keeps what was known of it; the exit status is 1 then.
    Sync,
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The name under which it is asked
    name: String,
    /// A folder that holds .wiki or .llmwiki, or such a folder itself
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "gitea",
        conflicts_with_all = ["gitea", "owner", "repo", "branch"]
    )]
    path: Option<PathBuf>,
    /// Base address of a Gitea or Forgejo server
    #[arg(long, value_name = "URL", requires = "owner")]
    gitea: Option<String>,
    /// Who the repository belongs to
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
    /// Name of the repository, if it is not NAME
    #[arg(long, value_name = "REPO")]
    repo: Option<String>,
    /// The branch to read, if it is not the default branch
    #[arg(long, value_name = "BRANCH")]
    branch: Option<String>,
}

impl Command for Projects {
    type Args = ProjectsArgs;
    const NEEDS_USER_SETTINGS: bool = true;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: ProjectsArgs, session: &Session) -> Result<Exit, Failure> {
        let request = match args.action {
            None | Some(Action::List) => Self::default(),
            Some(Action::Sync) => Self {
                action: ProjectsAction::Sync,
                ..Self::default()
            },
            Some(Action::Remove { name }) => Self {
                action: ProjectsAction::Remove,
                name: Some(name),
                ..Self::default()
            },
            Some(Action::Add(add)) => Self {
                action: ProjectsAction::Add,
                name: Some(add.name),
                gitea: add.gitea,
                owner: add.owner,
                repo: add.repo,
                branch: add.branch,
                directory: add.path.map(|path| session.directory().join(path)),
            },
        };
        session.run(request)
    }

    fn print(report: &ProjectsReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&render::projects(report, console.palette))?;
        for fault in report.sync.iter().flat_map(|sync| &sync.faults) {
            console.warn(fault);
        }
        if report.projects.is_empty() && report.removed.is_empty() {
            console.hint(
                "`llmwiki projects add NAME --path DIR` makes one known; `llmwiki projects sync` \
                 finds those of the forges in your config.toml",
            );
        }
        Ok(())
    }

    fn exit(report: &ProjectsReport) -> Exit {
        match &report.sync {
            Some(sync) if sync.failed > 0 || !sync.faults.is_empty() => Exit::No,
            _ => Exit::Done,
        }
    }
}

/// Ask other projects, which must be named, when this wiki does not know
///
/// Finds pages whose slug, title or description in the project's index holds the words, whatever
/// their case, and shows their text around the words. Nobody but the named projects is asked. One
/// that cannot answer says why, and the others answer.
#[derive(Debug, clap::Args)]
pub(crate) struct AskProjectsArgs {
    /// Words to look for; several need no quotes
    #[arg(required = true, value_name = "QUERY")]
    words: Vec<String>,
    /// A project to ask; give it again for each
    // Of the type of the option for every command that it stands in the place of.
    #[arg(id = "project", long, short, value_name = "NAME", required = true)]
    projects: Vec<PathBuf>,
    /// At most this many pages of each project, 1 to 20
    #[arg(long, value_name = "N", default_value = "5")]
    limit: usize,
    /// Only pages of these types, with commas between; all but raw when not given
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    types: Vec<String>,
}

impl Command for AskProjects {
    type Args = AskProjectsArgs;
    const NEEDS_USER_SETTINGS: bool = true;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: AskProjectsArgs, session: &Session) -> Result<Exit, Failure> {
        session.run(Self {
            query: args.words.join(" "),
            projects: args
                .projects
                .iter()
                .map(|name| name.to_string_lossy().into_owned())
                .collect(),
            limit: Some(args.limit),
            types: Some(args.types),
        })
    }

    fn print(report: &AskProjectsReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&render::ask_projects(report, console.palette))?;
        for answer in &report.results {
            if let Some(error) = &answer.error {
                console.warn(&format!("{}: {error}", answer.project));
            }
            for note in &answer.notes {
                console.note(&format!("{}: {note}", answer.project));
            }
            if let Some(more) = answer.more {
                console.note(&format!("{}: {more} more match", answer.project));
            }
            for page in answer.matches.iter().flatten() {
                if let Some(error) = &page.fetch_error {
                    console.warn(&format!("{} {}: {error}", answer.project, page.slug));
                }
            }
        }
        let first = report
            .results
            .iter()
            .find_map(|answer| Some((&answer.project, answer.matches.as_ref()?.first()?)));
        match first {
            Some((project, page)) => console.hint(&format!(
                "the full text: llmwiki get-from {project} {}",
                page.slug
            )),
            None => console.hint("other words may match; else ask the people of the project"),
        }
        Ok(())
    }
}

/// Read a page of another project, as it is there now
///
/// The slug is one that ask-projects gave: type and path without .md.
#[derive(Debug, clap::Args)]
pub(crate) struct GetFromArgs {
    /// Name of the project
    #[arg(value_name = "PROJECT")]
    name: String,
    /// The page, for example concepts/retries
    slug: String,
    /// First byte to read
    #[arg(long, value_name = "BYTES")]
    offset: Option<u64>,
    /// At most this many bytes
    #[arg(long, value_name = "BYTES")]
    limit: Option<u64>,
    /// Keep the whole page as a source of this wiki, so that pages may cite it
    #[arg(long, conflicts_with_all = ["offset", "limit"])]
    save: bool,
}

impl Command for GetFrom {
    type Args = GetFromArgs;
    const NEEDS_USER_SETTINGS: bool = true;

    fn execute(args: GetFromArgs, session: &Session) -> Result<Exit, Failure> {
        let request = Self {
            project: args.name,
            slug: args.slug,
            offset: args.offset,
            limit: args.limit,
        };
        let mut report = request.run(&session.wiki, &session.ctx)?;
        if args.save {
            let source = NewSource {
                name: report.path.clone(),
                content: report.content.clone().into_bytes(),
                media_type: Some("text/markdown".to_owned()),
                origin: Some(report.origin.clone()),
            };
            let saved = session.wiki.add_source(&session.ctx, source)?;
            report.saved_source = Some(saved.id);
        }
        session.report::<Self>(&report)
    }

    fn print(report: &GetFromReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        if std::io::stdout().is_terminal() {
            console.text(&render::safe(&report.content))?;
        } else {
            console.bytes(report.content.as_bytes())?;
        }
        if let Some(id) = &report.saved_source {
            console.note(&format!("kept as source {id}, from {}", report.origin));
        }
        Ok(())
    }
}
