//! `lint`.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum;

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::error::{Error, ErrorCode};
use crate::lint::render::{github, jsonl, sarif};
use crate::lint::{Excerpts, LintReport};
use crate::ops::{Lint, Operation as _};
use crate::render::{self, LintText};
use crate::tree::{RelPath, RootState, locate};

#[derive(Debug, clap::Args)]
pub(crate) struct LintArgs {
    #[command(flatten)]
    request: Lint,
    /// How to print what was found; not beside --json, which is a format itself
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print at most this many findings, never more than 100; for text only
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Findings that count as errors too: exit status 1
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,
}

/// Most findings that are printed as text.
const MOST_SHOWN: usize = 100;

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON document, as --json
    Json,
    /// One JSON object a line for each finding
    Jsonl,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations for GitHub Actions
    Github,
}

/// What counts as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Warnings
    Warnings,
}

impl Command for Lint {
    type Args = LintArgs;
    const TELLS_FAULTS: bool = true;

    fn execute(args: LintArgs, session: &Session) -> Result<Exit, Failure> {
        let limit = match args.limit {
            None => session.ctx.limits.command_diagnostic_limit,
            Some(0) => {
                return Err(
                    Error::new(ErrorCode::LimitExceeded, "limit 0 is not at least 1")
                        .with_hint("leave it out for the default")
                        .into(),
                );
            }
            Some(limit) => limit.min(MOST_SHOWN),
        };
        let format = match args.format {
            None | Some(Format::Json) if session.console.json => Format::Json,
            Some(_) if session.console.json => {
                return Err(Error::new(
                    ErrorCode::InvalidArgument,
                    "--json and --format name two formats",
                )
                .with_hint("leave one of them out")
                .into());
            }
            None => Format::Text,
            Some(format) => format,
        };
        let base = base_of(session.wiki.root());
        let mut request = args.request;
        for path in &mut request.paths {
            if let Some(below) = below(path, session.wiki.root()) {
                *path = below;
            }
        }
        let report = request.run(&session.wiki, &session.ctx)?;
        session.clear_progress();
        let console = &session.console;
        match format {
            Format::Text => print(&report, limit, session)?,
            Format::Json => console.json(&report)?,
            Format::Jsonl => console.text(&jsonl(&report))?,
            Format::Sarif => console.text(&sarif(&report, &base))?,
            Format::Github => console.text(&github(&report, &base))?,
        }
        Ok(if report.passes(args.deny.is_some()) {
            Exit::Done
        } else {
            Exit::No
        })
    }

    fn print(report: &LintReport, session: &Session) -> Result<(), Failure> {
        print(report, session.ctx.limits.command_diagnostic_limit, session)
    }
}

/// The root as seen from the working directory, where programs that read reports stand.
fn base_of(root: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let base = root.strip_prefix(&here).unwrap_or(root);
    base.to_string_lossy().into_owned()
}

/// A path of this machine, as a shell completes it, as a path of the wiki: if it lies below the root
/// and something is there. Else it may be meant as one of the wiki.
fn below(path: &str, root: &Path) -> Option<String> {
    let here = plain(&std::path::absolute(path).ok()?);
    let root = plain(&std::path::absolute(root).ok()?);
    let below = here.strip_prefix(&root).ok()?.to_str()?;
    if below.is_empty() {
        return Some(".".to_owned());
    }
    let RootState::Ready(tree) = locate(&root).ok()? else {
        return None;
    };
    let there = tree.stat(&RelPath::new(below).ok()?).ok()?;
    there.map(|_| below.to_owned())
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

fn print(report: &LintReport, limit: usize, session: &Session) -> Result<(), Failure> {
    let console = &session.console;
    let mut excerpts = Excerpts::new(session.wiki.root());
    let mut how = LintText {
        limit,
        verbose: console.verbose,
        palette: console.palette,
        line: &mut |path, line| excerpts.line(path, line),
    };
    console.text(&render::lint(report, &mut how))?;
    if let Some(first) = report.diagnostics.first() {
        console.hint(&format!("`llmwiki explain {}` says more", first.code));
    }
    Ok(())
}
