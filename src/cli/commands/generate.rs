//! `generate` and `show`.

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::generate::{GenerateReport, ShowReport};
use crate::ops::{Generate, Show};
use crate::render;

impl Command for Generate {
    type Args = Self;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &GenerateReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&render::generate(report, console.palette))?;
        if !report.withheld.is_empty() {
            console.warn(&format!(
                "cited by line and not preserved, since they hold secrets: {}",
                report.withheld.join(", ")
            ));
        }
        if report.redacted > 0 {
            console.note(&format!(
                "{} secrets or names were taken out of what is shown",
                report.redacted
            ));
        }
        Ok(())
    }
}

impl Command for Show {
    type Args = Self;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &ShowReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::show(report, session.console.palette))
    }
}
