//! `gc`.

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::ops::Gc;
use crate::render;
use crate::wiki::GcReport;

impl Command for Gc {
    type Args = Self;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &GcReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&render::gc(report, console.palette))?;
        if !report.removed && !report.snapshots.is_empty() {
            console.hint("`llmwiki gc --yes` removes them");
        }
        Ok(())
    }
}
