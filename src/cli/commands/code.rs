//! `index-code`.

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::ops::IndexCode;
use crate::render;
use crate::wiki::CodeIndexReport;

impl Command for IndexCode {
    type Args = Self;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &CodeIndexReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        session.say_created(report.created);
        console.text(&render::index_code(report, console.palette))?;
        if report.code.pending > 0 {
            console.warn("another process is writing; the index is not up to date");
        }
        Ok(())
    }
}
