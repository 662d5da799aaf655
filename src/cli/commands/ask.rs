//! `ask` and `trust`.

use super::Command;
use crate::ask::AskReport;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::ops::{Ask, Scope, Trust, TrustReport};
use crate::render;

/// Answer a question about the code base, with citations that hold
///
/// Citations name file and line, and are checked against the files as they are now. Without a model the
/// answer is the best evidence itself; a model that fails never fails the command. Only a model
/// that was configured or named is used. Nothing relevant: exit status 1.
#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    /// The question; several words need no quotes
    #[arg(required = true, value_name = "QUESTION")]
    words: Vec<String>,
    /// How many excerpts are looked at, 1 to 50
    #[arg(long, short, value_name = "N", default_value = "6")]
    k: usize,
    /// What is looked through
    #[arg(long = "in", value_enum, value_name = "WHAT", default_value = "all")]
    scope: Scope,
    /// Print the evidence itself, and ask no model
    #[arg(long)]
    retrieve_only: bool,
    /// The model to use: a name from the configuration, or claude, codex, gemini, llm
    #[arg(long, value_name = "NAME", conflicts_with = "no_model")]
    model: Option<String>,
    /// Use no model
    #[arg(long)]
    no_model: bool,
}

impl Command for Ask {
    type Args = AskArgs;
    const NEEDS_USER_SETTINGS: bool = true;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: AskArgs, session: &Session) -> Result<Exit, Failure> {
        session.run(Self {
            question: args.words.join(" "),
            k: Some(args.k),
            scope: args.scope,
            retrieve_only: args.retrieve_only,
            model: args.model,
            no_model: args.no_model,
        })
    }

    fn print(report: &AskReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        let typed = session.typed();
        let rest = report.answer.strip_prefix(typed.as_str());
        if rest.is_none() {
            console.warn("what is above broke off; the answer is");
        }
        let rest = rest.unwrap_or(&report.answer);
        console.text(&render::ask(report, rest, console.palette))?;
        for dropped in &report.dropped {
            console.warn(&format!(
                "left out {}: {}",
                dropped.marker,
                dropped.reason.word()
            ));
        }
        if let Some(note) = &report.note {
            console.note(note);
        }
        Ok(())
    }

    fn exit(report: &AskReport) -> Exit {
        if report.citations.is_empty() {
            Exit::No
        } else {
            Exit::Done
        }
    }
}

impl Command for Trust {
    type Args = Self;
    const NEEDS_USER_SETTINGS: bool = true;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &TrustReport, session: &Session) -> Result<(), Failure> {
        let state = match (report.trusted, report.changed) {
            (true, true) => "is trusted now",
            (true, false) => "was trusted already",
            (false, true) => "is no longer trusted",
            (false, false) => "was not trusted",
        };
        session
            .console
            .text(&format!("{} {state}\n", render::safe_line(&report.file)))
    }
}
