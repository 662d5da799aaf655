//! `import`.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::Command;
use crate::cli::Exit;
use crate::cli::input;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::error::ErrorCode;
use crate::ops::Import;
use crate::render;
use crate::wiki::ImportReport;

/// Take in a stream of sources and pages, one JSON object a line
///
/// A line is `{"op":"add_source","name","content","mediaType"?,"origin"?,"id"?}` or
/// `{"op":"upsert_page","id","title","summary","sources","body"}`. One that cannot be taken in is
/// counted and named, and the rest goes on; the exit status is 1 then. Lines are written in
/// batches: when something stops the import, the report says what was written up to there, and the
/// same stream goes on from there when it is run again.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// File with the stream; - is standard input
    #[arg(long, value_name = "FILE")]
    jsonl: PathBuf,
    /// Stop at the first line that cannot be taken in
    #[arg(long)]
    strict: bool,
}

impl Command for Import {
    type Args = ImportArgs;
    const SHOWS_PROGRESS: bool = true;

    /// Reads as it goes, since a stream may be larger than memory.
    fn execute(args: ImportArgs, session: &Session) -> Result<Exit, Failure> {
        let mut lines = input::lines(session, &args.jsonl, "the stream")?;
        let report = session
            .wiki
            .import_jsonl(&session.ctx, &mut lines, args.strict)?;
        session.report::<Self>(&report)
    }

    fn print(report: &ImportReport, session: &Session) -> Result<(), Failure> {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "sources: {} new, {} known\npages: {} created, {} updated, {} unchanged",
            report.sources_added,
            report.sources_known,
            report.pages_created,
            report.pages_updated,
            report.pages_unchanged
        );
        for (code, count) in &report.failure_counts {
            let _ = writeln!(
                out,
                "left out: {} ({code})",
                render::counted(*count, "line")
            );
        }
        session.console.text(&out)?;
        session.say_created(report.wiki_created);
        for revision in &report.displaced {
            session.console.warn(&format!(
                "what somebody saved in the place of a page is kept as revision {revision}"
            ));
        }
        let shown = session.ctx.limits.command_diagnostic_limit;
        for failure in report.failures.iter().take(shown) {
            session.console.warn(&format!(
                "line {}: {} ({})",
                failure.line, failure.message, failure.code
            ));
        }
        if report.failures.len() > shown {
            session.console.warn(&format!(
                "{} more; --json names all",
                report.failures.len() - shown
            ));
        }
        if let Some(stopped) = &report.stopped {
            session.console.warn(&format!(
                "stopped at line {}: {} ({}); what is counted above was written",
                stopped.line, stopped.message, stopped.code
            ));
        }
        Ok(())
    }

    fn exit(report: &ImportReport) -> Exit {
        match &report.stopped {
            Some(stopped) if stopped.code == ErrorCode::Aborted.as_str() => {
                Exit::Failed(ErrorCode::Aborted.row().exit_status)
            }
            None if report.failure_counts.is_empty() => Exit::Done,
            _ => Exit::No,
        }
    }
}
