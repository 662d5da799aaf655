//! `generate` and `show`.

use std::path::Path;

use super::Command;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::error::{Error, ErrorCode};
use crate::generate::{GenerateReport, ShowReport};
use crate::ops::{Generate, Show};
use crate::render;
use crate::tree;

impl Command for Generate {
    type Args = Self;
    const NEEDS_USER_SETTINGS: bool = true;
    const SHOWS_PROGRESS: bool = true;

    fn execute(mut args: Self, session: &Session) -> Result<Exit, Failure> {
        let Some(named) = args.path.take() else {
            return session.run(args);
        };
        let Some(place) = tree::resolved(&session.directory().join(&named)) else {
            args.path = Some(named);
            return session.run(args);
        };
        let part = |session: &Session| {
            let project = session.wiki.project_directory()?;
            Ok::<_, Failure>(place.strip_prefix(project).ok().map(Path::to_owned))
        };
        // A project of its own, unless another one was named.
        let other = if session.names_its_place() {
            None
        } else {
            Some(session.started_in(&place)?)
        };
        let has_wiki = |other: &Session| {
            other.wiki.root() != session.wiki.root() && tree::resolved(other.wiki.root()).is_some()
        };
        if !other.as_ref().is_some_and(has_wiki)
            && let Ok(Some(part)) = part(session)
        {
            args.path = some_part(&part);
            return session.run(args);
        }
        if let Some(other) = other
            && let Some(part) = part(&other)?
        {
            args.path = some_part(&part);
            return other.run(args);
        }
        Err(Error::new(
            ErrorCode::InvalidArgument,
            format!("{named:?} is not in the project"),
        )
        .with_hint("name a folder or file of the project; --project names another project")
        .into())
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
        for section in &report.sections {
            for dropped in &section.dropped {
                console.warn(&format!(
                    "{}: left out {}: {}",
                    section.id,
                    dropped.marker,
                    dropped.reason.word()
                ));
            }
            if let Some(note) = &section.note {
                console.warn(&format!("{}: {note}", section.id));
            }
        }
        if let Some(note) = &report.note {
            console.note(note);
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

/// A part of a project as a request names it; nothing for all of it.
fn some_part(part: &Path) -> Option<String> {
    (!part.as_os_str().is_empty()).then(|| part.to_string_lossy().into_owned())
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
