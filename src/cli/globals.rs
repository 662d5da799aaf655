//! Flags that every command takes.

use std::path::PathBuf;

use clap::{ArgAction, FromArgMatches as _};

use crate::config::Flags;
use crate::ops::Operation as _;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for every command")]
pub(crate) struct Globals {
    /// The wiki's directory
    ///
    /// When not given: `LLMWIKI_ROOT`, else the nearest `.llmwiki` upward, else `./.llmwiki`.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The directory whose code is indexed (`LLMWIKI_PROJECT`)
    ///
    /// When not given: the directory that holds a wiki named `.llmwiki`, else the top of its git
    /// work tree.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print exactly one JSON document on standard output
    ///
    /// One a line where several inputs were named. A failure is
    /// `{"error":{"code","message","hint"}}`. `llmwiki schema NAME` prints the schema of a report.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Who writes, for the history (`LLMWIKI_ACTOR`)
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    /// Set a key of the configuration for this call
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) settings: Vec<(String, String)>,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub(crate) color: Color,
    /// Say nothing on standard error but errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more on standard error; twice for still more
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

impl Globals {
    pub(crate) fn of(matches: &clap::ArgMatches) -> Self {
        // The parser was made from this struct, so its matches always fit.
        let mut globals = Self::from_arg_matches(matches).unwrap_or_default();
        // There it names those who are asked.
        if matches.subcommand_name() == Some(crate::ops::AskProjects::NAME) {
            globals.project = None;
        }
        globals
    }

    pub(crate) fn flags(&self) -> Flags {
        Flags {
            root: self.root.clone(),
            project: self.project.clone(),
            actor: self.actor.clone(),
            settings: self.settings.clone(),
        }
    }
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.trim().to_owned(), value.to_owned()))
        .ok_or_else(|| "give KEY=VALUE".to_owned())
}
