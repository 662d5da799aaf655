//! One console command for each operation: its arguments, how they become a request, and its
//! text. [`COMMANDS`] is [`OPERATIONS`](crate::ops::OPERATIONS) seen from the console, in the
//! same order; a test holds the two together.

mod ask;
mod code;
mod gc;
mod generate;
mod history;
mod import;
mod lint;
mod pages;
mod projects;
mod restore;
mod search;
mod simple;
mod sources;

use clap::{ArgMatches, Args, FromArgMatches as _};

use super::globals::Globals;
use super::output::Failure;
use super::session::{Needs, Session};
use super::{Exit, meta};
use crate::error::{Error, ErrorCode};
use crate::ops::{self, Operation};

/// An operation as the console offers it.
pub(crate) trait Command: Operation {
    /// Its arguments; the request itself where nothing has to be read from files.
    type Args: Args;
    /// Whether it may take long enough for a progress bar.
    const SHOWS_PROGRESS: bool = false;
    /// Whether it works on a wiki, so that a faulty configuration must stop it.
    const NEEDS_WIKI: bool = true;
    /// Whether it tells itself what is wrong with the configuration beside the wiki.
    const TELLS_FAULTS: bool = false;

    /// Whether it cannot do without the user's own settings.
    const NEEDS_USER_SETTINGS: bool = false;

    /// Makes the requests, runs them and prints the reports.
    fn execute(args: Self::Args, session: &Session) -> Result<Exit, Failure>;

    /// Prints a report as text.
    fn print(report: &Self::Report, session: &Session) -> Result<(), Failure>;

    /// The exit that a report stands for.
    fn exit(_: &Self::Report) -> Exit {
        Exit::Done
    }
}

/// A command whose types were erased.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(crate) struct CommandEntry {
    pub(crate) name: &'static str,
    pub(crate) shows_progress: bool,
    pub(crate) needs_wiki: bool,
    pub(crate) needs_user_settings: bool,
    pub(crate) tells_faults: bool,
    pub(crate) parser: fn() -> clap::Command,
    pub(crate) run: fn(&ArgMatches, &Session) -> Result<Exit, Failure>,
}

impl CommandEntry {
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            wiki: self.needs_wiki,
            user_settings: self.needs_user_settings,
            tells_faults: self.tells_faults,
            progress: self.shows_progress,
        }
    }
}

const fn entry<C: Command>() -> CommandEntry {
    CommandEntry {
        name: C::NAME,
        shows_progress: C::SHOWS_PROGRESS,
        needs_wiki: C::NEEDS_WIKI,
        needs_user_settings: C::NEEDS_USER_SETTINGS,
        tells_faults: C::TELLS_FAULTS,
        parser: || C::Args::augment_args(clap::Command::new(C::NAME)),
        run: |matches, session| {
            // The parser was made from these arguments; a mismatch is named all the same.
            let args = C::Args::from_arg_matches(matches).map_err(|cause| {
                Error::new(
                    ErrorCode::InvalidArgument,
                    cause.to_string().trim().to_owned(),
                )
            })?;
            C::execute(args, session)
        },
    }
}

/// Every command that works on a wiki.
pub(crate) const COMMANDS: &[CommandEntry] = &[
    entry::<ops::Init>(),
    entry::<ops::Status>(),
    entry::<ops::AddSource>(),
    entry::<ops::ReadSource>(),
    entry::<ops::ListSources>(),
    entry::<ops::UpsertPage>(),
    entry::<ops::ReadPage>(),
    entry::<ops::ListPages>(),
    entry::<ops::DeletePage>(),
    entry::<ops::History>(),
    entry::<ops::Search>(),
    entry::<ops::IndexCode>(),
    entry::<ops::Ask>(),
    entry::<ops::AskProjects>(),
    entry::<ops::GetFrom>(),
    entry::<ops::Projects>(),
    entry::<ops::Generate>(),
    entry::<ops::Show>(),
    entry::<ops::Gc>(),
    entry::<ops::Lint>(),
    entry::<ops::Explain>(),
    entry::<ops::Reindex>(),
    entry::<ops::Restore>(),
    entry::<ops::Verify>(),
    entry::<ops::Import>(),
    entry::<ops::Export>(),
    entry::<ops::Trust>(),
];

const AFTER_HELP: &str = "\
Exit status:
  0    done; a search without hits too
  1    the answer is no: lint found errors, verify found damage, import left lines out
  2    the command line or the configuration is wrong
  3    the command failed and changed nothing, unless only its output could not be written
  130  interrupted

Environment:
  LLMWIKI_ROOT, LLMWIKI_ACTOR, LLMWIKI_STORE_MODE=exclusive, LLMWIKI_LOG (a tracing filter),
  LLMWIKI_NOW (RFC 3339, fixes the clock), LLMWIKI_<KEY> for each key of config.toml; NO_COLOR

Without a command: status.";

/// The whole command line.
pub(crate) fn parser() -> clap::Command {
    let mut parser = clap::Command::new("llmwiki")
        .version(env!("CARGO_PKG_VERSION"))
        .after_help(AFTER_HELP)
        .max_term_width(100)
        .infer_long_args(false);
    parser = Globals::augment_args(parser)
        .about("Durable, evidence-backed memory that agents and developers share")
        .long_about(
            "Durable, evidence-backed memory that agents and developers share.\n\n\
             A wiki is a directory of immutable sources, each named by the SHA-256 of its bytes, \
             and of Markdown pages that may only cite sources that exist.",
        );
    for command in COMMANDS {
        parser = parser.subcommand((command.parser)());
    }
    #[cfg(feature = "mcp")]
    for command in super::servers::COMMANDS {
        parser = parser.subcommand((command.parser)());
    }
    for command in meta::COMMANDS {
        parser = parser.subcommand((command.parser)());
    }
    parser
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_offers_every_operation_in_order() {
        let console: Vec<_> = COMMANDS.iter().map(|command| command.name).collect();
        let operations: Vec<_> = ops::OPERATIONS
            .iter()
            .map(|operation| operation.name)
            .collect();
        assert_eq!(console, operations);
    }

    /// What users are told to type: in back quotes, in messages and in help.
    #[expect(clippy::disallowed_methods, reason = "reads the source itself")]
    fn advised(dir: &std::path::Path, lines: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                advised(&path, lines);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let kept: Vec<&str> = text
                    .lines()
                    .map(str::trim)
                    .filter(|line| !line.starts_with("//!") && !line.starts_with("// "))
                    .collect();
                // A string that goes on in the next line.
                let text = kept.join("\n").replace("\\\n", "");
                for (at, _) in text.match_indices(concat!("`", "llmwiki ")) {
                    let rest = &text[at + 1..];
                    let line = &rest[..rest.find('`').unwrap_or(rest.len())];
                    // Else the string ends first: a piece of a line that is put together.
                    if !line.contains(['"', '\n']) {
                        lines.push((path.display().to_string(), line.to_owned()));
                    }
                }
            }
        }
    }

    #[test]
    fn every_command_line_that_users_are_told_to_type_can_be_parsed() {
        let mut lines = Vec::new();
        let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        advised(&source, &mut lines);
        assert!(lines.len() > 30, "{lines:?}");
        for (path, line) in lines {
            let words: Vec<std::ffi::OsString> = line.split(' ').map(Into::into).collect();
            let words = crate::cli::minus::behind_options(words, &parser());
            if let Err(cause) = parser().try_get_matches_from(words) {
                let fine = matches!(
                    cause.kind(),
                    clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
                );
                assert!(fine, "{path}: {line}: {cause}");
            }
        }
    }

    #[test]
    fn each_command_has_help_of_one_line_and_every_argument_is_described() {
        for command in COMMANDS {
            let parser = (command.parser)();
            let about = parser
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                !about.is_empty() && !about.contains('\n'),
                "{}: {about:?}",
                command.name
            );
            for argument in parser.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.name,
                    argument.get_id()
                );
            }
        }
    }
}
