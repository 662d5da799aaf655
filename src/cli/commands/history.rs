//! `history`.

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::ops::History;
use crate::render;
use crate::wiki::HistoryReport;

impl Command for History {
    type Args = Self;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &HistoryReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::history(report, session.console.palette))?;
        if let Some(next) = report.next {
            session
                .console
                .hint(&format!("older ones: --before {next}"));
        }
        Ok(())
    }
}
