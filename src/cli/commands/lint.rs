//! `lint`.

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::error::{Error, ErrorCode};
use crate::lint::LintReport;
use crate::lint::render::{github, jsonl, sarif};
use crate::ops::{Lint, Operation as _};
use crate::render;

#[derive(Debug, clap::Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    request: Lint,
    /// Print at most this many findings, 1 to 100; --json always prints all
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Warnings count as errors: exit status 1
    #[arg(long)]
    deny_warnings: bool,
    /// How to print; all but text print every finding
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object a line for each finding
    Jsonl,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
}

impl Command for Lint {
    type Args = LintArgs;

    fn execute(args: LintArgs, session: &Session) -> Result<Exit, Failure> {
        let limit = match args.limit {
            None => session.ctx.limits.command_diagnostic_limit,
            Some(limit @ 1..=100) => limit,
            Some(limit) => {
                let message = format!("the limit is {limit}, it must be 1 to 100");
                return Err(Error::new(ErrorCode::InvalidArgument, message).into());
            }
        };
        let report = args.request.run(&session.wiki, &session.ctx)?;
        let console = &session.console;
        match args.format {
            _ if console.json => console.json(&report)?,
            Format::Text => print(&report, limit, session)?,
            Format::Jsonl => console.text(&jsonl(&report))?,
            Format::Sarif => console.text(&sarif(&report, &base(session)))?,
            Format::Github => console.text(&github(&report, &base(session)))?,
        }
        Ok(if report.passes(args.deny_warnings) {
            Exit::Done
        } else {
            Exit::No
        })
    }

    fn print(report: &LintReport, session: &Session) -> Result<(), Failure> {
        print(report, session.ctx.limits.command_diagnostic_limit, session)
    }
}

/// The root as seen from the working directory, where the consumers of these formats stand.
fn base(session: &Session) -> String {
    let root = session.wiki.root();
    let below = std::env::current_dir()
        .ok()
        .and_then(|here| root.strip_prefix(here).ok().map(ToOwned::to_owned));
    below
        .unwrap_or_else(|| root.to_owned())
        .to_string_lossy()
        .into_owned()
}

fn print(report: &LintReport, limit: usize, session: &Session) -> Result<(), Failure> {
    let console = &session.console;
    console.text(&render::lint(report, limit, console.palette))?;
    if let Some(first) = report.diagnostics.first() {
        console.hint(&format!("`llmwiki explain {}` says more", first.code));
    }
    Ok(())
}
