//! `restore`: the plan first, then the question, then the deed.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::ops::{Operation as _, Restore};
use crate::render;
use crate::wiki::RestoreReport;

impl Command for Restore {
    type Args = Self;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        let asks = !args.yes
            && !args.dry_run
            && !session.console.json
            && io::stdin().is_terminal()
            && io::stderr().is_terminal();
        if !asks {
            return session.run(args);
        }
        let plan = args.clone().run(&session.wiki, &session.ctx)?;
        session.clear_progress();
        session
            .console
            .text(&render::restore(&plan, session.console.palette))?;
        if plan.items.iter().all(|item| item.action == "unchanged") {
            session.console.note("nothing to restore");
            return Ok(Exit::Done);
        }
        if !confirmed(session) {
            session.console.note("nothing was written");
            return Ok(Exit::Done);
        }
        let report = Self { yes: true, ..args }.run(&session.wiki, &session.ctx)?;
        session.clear_progress();
        for item in &report.items {
            if let Some(reason) = &item.reason {
                session
                    .console
                    .warn(&format!("not restored: {}: {reason}", item.path));
            }
        }
        session
            .console
            .note(&format!("restored {}", changed(&report)));
        Ok(Self::exit(&report))
    }

    fn print(report: &RestoreReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::restore(report, session.console.palette))?;
        if report.applied {
            session
                .console
                .note(&format!("restored {}", changed(report)));
        } else if report.items.iter().all(|item| item.action == "unchanged") {
            session.console.note("nothing to restore");
        } else {
            session
                .console
                .hint("nothing was written; --yes carries the plan out");
        }
        Ok(())
    }

    fn exit(report: &RestoreReport) -> Exit {
        if report.items.iter().any(|item| item.action == "refused") {
            Exit::No
        } else {
            Exit::Done
        }
    }
}

fn changed(report: &RestoreReport) -> String {
    let items = report
        .items
        .iter()
        .filter(|item| matches!(item.action.as_str(), "create" | "replace"))
        .count();
    render::counted(items as u64, "file")
}

/// Asks at the terminal; anything but yes is no.
fn confirmed(session: &Session) -> bool {
    let mut stderr = io::stderr();
    let asked = stderr
        .write_all(b"carry this out? [y/N] ")
        .and_then(|()| stderr.flush());
    let mut answer = String::new();
    let read = session
        .waiting
        .during(|| io::stdin().lock().read_line(&mut answer));
    asked.is_ok()
        && read.is_ok()
        && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
