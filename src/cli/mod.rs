//! The command line: arguments in, a report or an error out. Standard output carries data,
//! standard error talk; with `--json` standard output carries exactly one JSON document, or one a
//! line where several inputs were named. What a command does is in `ops`, how a report reads in
//! `render`.

mod commands;
mod defect;
mod globals;
mod input;
mod meta;
mod minus;
mod output;
mod progress;
mod reference;
#[cfg(feature = "mcp")]
mod servers;
mod session;
mod signals;
mod typed;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::error::{Error, ErrorCode};
use globals::Globals;
use output::{Console, Failure};
use session::Session;

pub use defect::install as install_panic_hook;
pub use reference::{commands as commands_reference, errors as errors_reference};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Done; a search without hits too.
    Done,
    /// Done, and the answer is no: lint errors, a failed verification.
    No,
    /// An error with this exit status.
    Failed(u8),
}

impl Exit {
    fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::No => 1,
            Self::Failed(status) => status,
        }
    }
}

/// Runs one command line, program name first, and gives its exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Asked before parsing: a usage error of a program that wants JSON is JSON too.
    let json = arguments
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| word == "--json");
    defect::speak_json(json);
    let parser = commands::parser();
    let arguments = minus::behind_options(arguments, &parser);
    ExitCode::from(match parser.try_get_matches_from(&arguments) {
        Ok(matches) => dispatch(&matches),
        Err(cause) => usage(&cause, json),
    })
}

fn dispatch(matches: &clap::ArgMatches) -> u8 {
    let globals = Globals::of(matches);
    let console = match Console::new(&globals) {
        Ok(console) => console,
        Err(cause) => return Console::plain(globals.json).fail(&cause).status(),
    };
    // Without a command: status, with what its own arguments are when nobody gives them.
    let bare = commands::parser()
        .try_get_matches_from(["llmwiki", "status"])
        .unwrap_or_default();
    let given = matches.subcommand().or_else(|| bare.subcommand());
    let (name, arguments) = given.unwrap_or(("status", matches));
    let outcome = if let Some(command) = meta::COMMANDS.iter().find(|command| command.name == name)
    {
        (command.run)(arguments, &console)
    } else if let Some(outcome) = serve(name, arguments, &globals, &console) {
        outcome
    } else if let Some(command) = commands::COMMANDS
        .iter()
        .find(|command| command.name == name)
    {
        Session::open(&globals, console.clone(), command.needs())
            .map_err(Failure::from)
            .and_then(|session| {
                let outcome = (command.run)(arguments, &session);
                session.finish();
                outcome
            })
    } else {
        let message = format!("there is no command {name:?}");
        Err(Failure::Engine(Error::new(
            ErrorCode::InvalidArgument,
            message,
        )))
    };
    match outcome {
        Ok(exit) => exit.status(),
        // Whoever read our output has what they wanted.
        Err(Failure::ClosedPipe) => Exit::Done.status(),
        Err(Failure::Engine(cause)) => console.fail(&cause).status(),
    }
}

/// Runs a command that serves the wiki to other programs, when `name` is one.
#[cfg(feature = "mcp")]
fn serve(
    name: &str,
    arguments: &clap::ArgMatches,
    globals: &Globals,
    console: &Console,
) -> Option<Result<Exit, Failure>> {
    servers::COMMANDS
        .iter()
        .find(|command| command.name == name)
        .map(|command| (command.run)(arguments, globals, console))
}

#[cfg(not(feature = "mcp"))]
fn serve(_: &str, _: &clap::ArgMatches, _: &Globals, _: &Console) -> Option<Result<Exit, Failure>> {
    None
}

/// Help, version and usage errors, which clap words.
fn usage(cause: &clap::Error, json: bool) -> u8 {
    let console = Console::plain(json);
    let text = cause.render();
    match cause.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let written = if json {
                let key = if cause.kind() == ErrorKind::DisplayVersion {
                    "version"
                } else {
                    "help"
                };
                let text = text.to_string();
                let value = text
                    .trim()
                    .strip_prefix("llmwiki ")
                    .filter(|_| key == "version");
                console.json(&serde_json::json!({ key: value.unwrap_or(&text) }))
            } else if output::colors_stdout(globals::Color::Auto) {
                console.text(&text.ansi().to_string())
            } else {
                console.text(&text.to_string())
            };
            match written {
                Ok(()) | Err(Failure::ClosedPipe) => 0,
                Err(Failure::Engine(cause)) => console.fail(&cause).status(),
            }
        }
        _ => {
            let row = ErrorCode::InvalidArgument.row();
            if json {
                let text = text.to_string();
                let (message, hint) = split_usage(&text);
                let error = Error::new(ErrorCode::InvalidArgument, message).with_hint(hint);
                console.fail(&error);
            } else if output::colors_stderr(globals::Color::Auto) {
                output::say(&text.ansi().to_string());
            } else {
                output::say(&text.to_string());
            }
            row.exit_status
        }
    }
}

/// Clap's text as a message and a hint: the sentence, and the usage line below it.
fn split_usage(text: &str) -> (String, String) {
    let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
    let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut hints = rest
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("Usage:") || line.starts_with("tip:"))
        .map(|line| line.trim_start_matches("tip:").trim())
        .collect::<Vec<_>>();
    if hints.is_empty() {
        hints.push("`llmwiki --help` lists the commands");
    }
    (message, hints.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_keeps_its_sentence_and_its_tip() {
        let cause = commands::parser()
            .try_get_matches_from(["llmwiki", "serch", "x"])
            .unwrap_err();
        let (message, hint) = split_usage(&cause.render().to_string());
        assert_eq!(message, "unrecognized subcommand 'serch'");
        assert!(hint.contains("search"), "{hint}");
        assert!(hint.contains("Usage: llmwiki"), "{hint}");
    }

    #[test]
    fn the_parser_holds_no_contradiction() {
        commands::parser().debug_assert();
    }
}
