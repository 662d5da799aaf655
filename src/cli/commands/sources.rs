//! `add-source`, `read-source` and `list-sources`.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use super::Command;
use crate::cli::Exit;
use crate::cli::input;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::error::{Error, ErrorCode};
use crate::ops::{AddSource, Content, ListSources, Operation as _, ReadSource};
use crate::render;
use crate::wiki::{AddSourceReport, ListSourcesReport, ReadSourceReport};

/// Preserve the exact bytes of documents as evidence
///
/// Each source is named by the SHA-256 of its bytes, which is printed, and never changes. Adding
/// bytes that are already preserved gives the same id and keeps the first record.
#[derive(Debug, clap::Args)]
pub(crate) struct AddSourceArgs {
    /// Files to preserve; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name for people [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    /// Media type, for example text/markdown
    #[arg(long, value_name = "TYPE")]
    media_type: Option<String>,
    /// Where the bytes came from, for example a URL
    #[arg(long)]
    origin: Option<String>,
}

impl Command for AddSource {
    type Args = AddSourceArgs;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: AddSourceArgs, session: &Session) -> Result<Exit, Failure> {
        let several = args.files.len() > 1;
        if several && args.name.is_some() {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "--name fits one file, and several were given",
            )
            .into());
        }
        if args
            .files
            .iter()
            .filter(|file| input::is_stdin(file))
            .count()
            > 1
        {
            return Err(Error::new(ErrorCode::InvalidArgument, "- was given twice").into());
        }
        let total = args.files.len() as u64;
        let mut worst = Exit::Done;
        for (at, file) in args.files.iter().enumerate() {
            session.ctx.check()?;
            if several {
                session
                    .ctx
                    .progress("adding sources", at as u64, Some(total));
            }
            match add(&args, file, session) {
                Ok(report) if several && !session.console.json => {
                    session.clear_progress();
                    session.console.text(&format!(
                        "{}  {}\n",
                        session.console.palette.name(&report.id),
                        render::safe_line(&file.to_string_lossy())
                    ))?;
                    session.say_created(report.wiki_created);
                }
                Ok(report) => {
                    session.report::<Self>(&report)?;
                }
                // One file that cannot be read must not keep the others out.
                Err(cause) if several && goes_on(&cause) => {
                    session.clear_progress();
                    let name = file.to_string_lossy();
                    worst = worst.max(session.console.fail_input(&cause, Some(&name)));
                }
                Err(cause) => return Err(cause.into()),
            }
        }
        Ok(worst)
    }

    fn print(report: &AddSourceReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&format!("{}\n", console.palette.name(&report.id)))?;
        session.say_created(report.wiki_created);
        if report.deduplicated {
            console.note(&format!(
                "these bytes were already preserved as {}",
                report.metadata.name
            ));
        }
        Ok(())
    }
}

/// Whether an error is about this file alone.
fn goes_on(cause: &Error) -> bool {
    !matches!(
        cause.code(),
        ErrorCode::Aborted
            | ErrorCode::StoreBusy
            | ErrorCode::StoreFull
            | ErrorCode::StoreTooNew
            | ErrorCode::IndexCorrupt
            | ErrorCode::InvalidConfig
    )
}

fn add(args: &AddSourceArgs, file: &Path, session: &Session) -> Result<AddSourceReport, Error> {
    let limit = session.ctx.limits.max_source_bytes;
    let content = input::read(session, file, "the source", limit)?;
    let request = AddSource {
        name: match &args.name {
            Some(name) => name.clone(),
            None => name_of(file),
        },
        content: Content(content),
        media_type: args.media_type.clone(),
        origin: args.origin.clone(),
    };
    request.run(&session.wiki, &session.ctx)
}

/// The file's own name; standard input has none.
fn name_of(file: &Path) -> String {
    if input::is_stdin(file) {
        return "stdin".to_owned();
    }
    match file.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => file.to_string_lossy().into_owned(),
    }
}

impl Command for ReadSource {
    type Args = Self;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &ReadSourceReport, session: &Session) -> Result<(), Failure> {
        if report.content.is_none() && io::stdout().is_terminal() {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "these bytes are no text and would garble the terminal",
            )
            .with_hint("redirect them into a file, or use --json")
            .into());
        }
        session.console.bytes(&report.bytes)
    }
}

impl Command for ListSources {
    type Args = Self;

    fn execute(mut args: Self, session: &Session) -> Result<Exit, Failure> {
        args.limit.get_or_insert(usize::MAX);
        session.run(args)
    }

    fn print(report: &ListSourcesReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::list_sources(report, session.console.palette))?;
        if let Some(next) = &report.next {
            session.console.hint(&format!("more: --cursor {next}"));
        }
        Ok(())
    }
}
