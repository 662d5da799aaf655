//! Commands whose arguments are their request.

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::ops::{Explain, ExplainReport, Export, Init, Reindex, Status, Verify};
use crate::render;
use crate::wiki::{
    ExportReport, InitReport, ReindexReport, SkippedFile, StatusReport, VerifyReport,
};

impl Command for Init {
    type Args = Self;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &InitReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&format!("{}\n", render::safe_line(&report.root)))?;
        let note = match (report.created, report.files.is_empty()) {
            (true, _) => "made a wiki; next: `llmwiki add-source FILE`".to_owned(),
            (false, true) => "the wiki was there already".to_owned(),
            (false, false) => format!("completed the wiki: {}", report.files.join(", ")),
        };
        session.console.note(&note);
        Ok(())
    }
}

impl Command for Status {
    type Args = Self;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &StatusReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&render::status(
            report,
            session.chosen.words(),
            console.palette,
        ))?;
        if !report.initialized {
            console.hint(
                "`llmwiki init` makes a wiki, and so does the first `llmwiki add-source FILE`",
            );
        }
        Ok(())
    }
}

impl Command for Explain {
    type Args = Self;
    const NEEDS_WIKI: bool = false;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &ExplainReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::explain(report, session.console.palette))
    }
}

impl Command for Reindex {
    type Args = Self;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &ReindexReport, session: &Session) -> Result<(), Failure> {
        session.console.text(&format!(
            "indexed {}, {}\n",
            render::counted(report.page_count, "page"),
            render::counted(report.section_count, "section")
        ))?;
        warn_skipped(&report.skipped, session);
        Ok(())
    }
}

impl Command for Verify {
    type Args = Self;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &VerifyReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::verify(report, session.console.palette))
    }

    fn exit(report: &VerifyReport) -> Exit {
        if report.sound { Exit::Done } else { Exit::No }
    }
}

impl Command for Export {
    type Args = Self;
    const SHOWS_PROGRESS: bool = true;

    fn execute(mut args: Self, session: &Session) -> Result<Exit, Failure> {
        args.to = args.to.map(|path| session.directory().join(path));
        session.run(args)
    }

    fn print(report: &ExportReport, session: &Session) -> Result<(), Failure> {
        for file in &report.files {
            session
                .console
                .text(&format!("{}\n", render::safe_line(file)))?;
        }
        session.console.note(&format!(
            "exported {}, {}",
            render::counted(report.page_count, "page"),
            render::counted(report.section_count, "section")
        ));
        if let Some(directory) = &report.directory {
            let left = report.left.len() as u64;
            if left > 0 {
                session.console.note(&format!(
                    "{} in {directory} no part of the export, and left there",
                    match left {
                        1 => "1 file is".to_owned(),
                        more => format!("{more} files are"),
                    }
                ));
            }
            session.console.hint(
                "commit it, so that others can ask: llmwiki projects add NAME --path DIR, or sync",
            );
        }
        Ok(())
    }
}

/// How many skipped files are named on the console; the JSON names all.
const SKIPPED_SHOWN: usize = 5;

/// Names what was kept out of an answer.
pub(super) fn warn_skipped(skipped: &[SkippedFile], session: &Session) {
    for file in skipped.iter().take(SKIPPED_SHOWN) {
        session.console.warn(&format!(
            "skipped {}: {} ({})",
            file.path, file.reason, file.code
        ));
    }
    if skipped.len() > SKIPPED_SHOWN {
        session.console.warn(&format!(
            "skipped {} more; `llmwiki status --json` names all",
            skipped.len() - SKIPPED_SHOWN
        ));
    }
}
