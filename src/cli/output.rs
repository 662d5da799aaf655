//! Standard output and standard error: who gets what, and how a closed pipe ends.

use std::collections::HashSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use super::Exit;
use super::globals::{Color, Globals};
use crate::context::NoticeSink;
use crate::error::{Error, ErrorCode};
use crate::render::{Palette, safe};

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error to report.
    Engine(Error),
    /// Nobody reads standard output any more.
    ClosedPipe,
}

impl From<Error> for Failure {
    fn from(cause: Error) -> Self {
        Self::Engine(cause)
    }
}

impl From<io::Error> for Failure {
    /// From a failed write to standard output.
    fn from(cause: io::Error) -> Self {
        if cause.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        // Not STORE_FULL: the disk of the wiki may have all the space in the world.
        Self::Engine(
            Error::new(
                ErrorCode::UnsafeFilesystem,
                "cannot write to standard output",
            )
            .with_source(cause)
            .with_hint("send it elsewhere; what the command did to the wiki stands"),
        )
    }
}

/// What the flags said about output.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// Whether the person wants more than the usual.
    pub(crate) verbose: bool,
    /// Colours of standard output.
    pub(crate) palette: Palette,
    /// Colours of standard error.
    talk: Palette,
    /// Notices that were told: each once.
    told: Arc<Mutex<HashSet<String>>>,
}

impl NoticeSink for Console {
    fn notice(&self, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert(text.to_owned()) {
            self.warn(text);
        }
    }
}

impl Console {
    /// From the flags; also starts the log.
    pub(crate) fn new(globals: &Globals) -> Result<Self, Error> {
        let talk = colors_stderr(globals.color);
        start_log(globals, talk)?;
        Ok(Self {
            json: globals.json,
            quiet: globals.quiet,
            verbose: globals.verbose > 0,
            palette: Palette::new(!globals.json && colors_stdout(globals.color)),
            talk: Palette::new(talk),
            told: Arc::default(),
        })
    }

    /// For errors that come before the flags were understood.
    pub(crate) fn plain(json: bool) -> Self {
        Self {
            json,
            quiet: false,
            verbose: false,
            palette: Palette::new(false),
            talk: Palette::new(colors_stderr(Color::Auto)),
            told: Arc::default(),
        }
    }

    /// Writes a JSON document on a line of its own.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(value).map_err(io::Error::from)?;
        line.push(b'\n');
        self.bytes(&line)
    }

    /// Writes text as it is.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes as they are.
    #[expect(clippy::unused_self, reason = "all output goes through a console")]
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()?;
        Ok(())
    }

    /// Says something to the person, unless they want quiet.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            say(&format!("{}\n", safe(text)));
        }
    }

    /// Says a hint.
    pub(crate) fn hint(&self, text: &str) {
        if !self.quiet {
            say(&format!("{} {}\n", self.talk.strong("hint:"), safe(text)));
        }
    }

    /// Says a warning.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            say(&format!(
                "{} {}\n",
                self.talk.warning("warning:"),
                safe(text)
            ));
        }
    }

    /// Reports an error and gives the exit that belongs to it.
    pub(crate) fn fail(&self, error: &Error) -> Exit {
        self.fail_input(error, None)
    }

    /// Reports an error about one of several inputs.
    pub(crate) fn fail_input(&self, error: &Error, input: Option<&str>) -> Exit {
        if self.json {
            let document = ErrorDocument {
                error: ErrorObject {
                    code: error.code().as_str(),
                    message: &error.explained(),
                    hint: error.hint(),
                    input,
                },
            };
            // Where even this cannot be written, the exit status is what is left to say.
            let _ = self.json(&document);
        } else {
            let message = error.explained();
            let about = input
                .filter(|input| !message.contains(input))
                .map(|input| format!("{input}: "))
                .unwrap_or_default();
            let code = error.code();
            say(&format!(
                "{} {} ({code})\n",
                self.talk.error("error:"),
                safe(&format!("{about}{message}"))
            ));
            if let Some(hint) = error.hint() {
                say(&format!("{} {}\n", self.talk.strong("hint:"), safe(hint)));
            }
        }
        Exit::Failed(error.code().row().exit_status)
    }
}

/// An error as the one JSON document of a failed command.
#[derive(Debug, Serialize)]
pub(super) struct ErrorDocument<'a> {
    pub(super) error: ErrorObject<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct ErrorObject<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
    pub(super) hint: Option<&'a str>,
    /// Which of several inputs it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) input: Option<&'a str>,
}

/// Writes to standard error; where that is closed there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

pub(crate) fn colors_stdout(color: Color) -> bool {
    colors(color, io::stdout().is_terminal())
}

pub(crate) fn colors_stderr(color: Color) -> bool {
    colors(color, io::stderr().is_terminal())
}

/// The flag wins over `NO_COLOR`, that over `CLICOLOR_FORCE` and `FORCE_COLOR`, those over what
/// the stream is.
fn colors(color: Color, terminal: bool) -> bool {
    let set =
        |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
        Color::Auto if set("CLICOLOR_FORCE") || set("FORCE_COLOR") => true,
        Color::Auto => terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}

fn start_log(globals: &Globals, color: bool) -> Result<(), Error> {
    use tracing_subscriber::EnvFilter;

    let wanted = std::env::var("LLMWIKI_LOG")
        .ok()
        .filter(|filter| !filter.is_empty());
    let filter = match (&wanted, globals.verbose) {
        (Some(filter), _) => EnvFilter::try_new(filter).map_err(|cause| {
            Error::new(
                ErrorCode::InvalidConfig,
                format!("LLMWIKI_LOG is {filter:?}"),
            )
            .with_source(cause)
            .with_hint("for example LLMWIKI_LOG=llmwiki=debug")
        })?,
        // Nothing asked for and nothing to filter: the start stays cheap.
        (None, 0) => return Ok(()),
        (None, 1) => EnvFilter::new("llmwiki=info"),
        (None, _) => EnvFilter::new("llmwiki=debug"),
    };
    // A second call in one process (a test) keeps the first log.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(color)
        .try_init();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_decides_about_colour_before_anything_else() {
        assert!(colors(Color::Always, false));
        assert!(!colors(Color::Never, true));
    }
}
