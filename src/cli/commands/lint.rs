//! `lint`.

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::error::{Error, ErrorCode};
use crate::lint::LintReport;
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
        if session.console.json {
            session.console.json(&report)?;
        } else {
            print(&report, limit, session)?;
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

fn print(report: &LintReport, limit: usize, session: &Session) -> Result<(), Failure> {
    let console = &session.console;
    console.text(&render::lint(report, limit, console.palette))?;
    if let Some(first) = report.diagnostics.first() {
        console.hint(&format!("`llmwiki explain {}` says more", first.code));
    }
    Ok(())
}
