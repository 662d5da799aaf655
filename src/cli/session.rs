//! What a command works with: the wiki that the flags name, its context, and the console.

use std::path::Path;
use std::sync::Arc;

use super::Exit;
use super::commands::Command;
use super::globals::Globals;
use super::output::{Console, Failure};
use super::progress::Bars;
use super::signals::{self, Waiting};
use super::typed::Typed;
use crate::config::{self, Chosen, Environment, Flags, Loaded};
use crate::context::{Cancellation, Clock, Context, FixedClock, SystemClock};
use crate::error::{Error, ErrorCode};
use crate::wiki::Wiki;

/// What a command needs of its surroundings.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(crate) struct Needs {
    /// A wiki, so that a faulty configuration must stop it.
    pub(crate) wiki: bool,
    /// The user's own settings, so that it must stop where they cannot be read.
    pub(crate) user_settings: bool,
    /// It tells itself what is wrong with the configuration beside the wiki.
    pub(crate) tells_faults: bool,
    /// Progress bars.
    pub(crate) progress: bool,
}

/// One command's surroundings.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) wiki: Wiki,
    pub(crate) ctx: Context,
    pub(crate) console: Console,
    pub(crate) chosen: Chosen,
    pub(crate) waiting: Waiting,
    environment: Environment,
    flags: Flags,
    bars: Option<Arc<Bars>>,
    typed: Option<Arc<Typed>>,
}

impl Session {
    pub(crate) fn open(globals: &Globals, console: Console, needs: Needs) -> Result<Self, Error> {
        let environment = Environment::of_process()?;
        let flags = globals.flags();
        let loaded = if needs.wiki {
            let load = if needs.tells_faults {
                config::load_past_faults
            } else {
                config::load
            };
            load(&environment, &flags)?
        } else {
            Loaded::default()
        };
        match loaded.unread {
            Some(unread) if needs.user_settings => return Err(unread),
            Some(unread) => console.warn(&format!("{}; going on without it", unread.explained())),
            None => {}
        }
        let clock = clock(&environment)?;
        let cancellation = Cancellation::default();
        let waiting = signals::install(cancellation.clone(), console.clone())?;
        let mut ctx = Context::new(clock, loaded.config.limits.clone())
            .with_cancellation(cancellation)
            .with_notices(Arc::new(console.clone()));
        let bars = (needs.progress && !console.quiet)
            .then(Bars::on_terminal)
            .flatten();
        if let Some(bars) = &bars {
            ctx = ctx.with_progress(bars.clone());
        }
        let typed = Typed::on_terminal(&console, bars.as_ref());
        if let Some(typed) = &typed {
            ctx = ctx.with_texts(typed.clone());
        }
        tracing::info!(root = %loaded.root.display(), chosen = loaded.chosen.words(), "root");
        let wiki = Wiki::new(loaded.root, loaded.config);
        Ok(Self {
            wiki,
            ctx,
            console,
            chosen: loaded.chosen,
            waiting,
            environment,
            flags,
            bars,
            typed,
        })
    }

    /// The working directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.environment.directory
    }

    /// Whether a flag or a variable says where the wiki or its project is.
    pub(crate) fn names_its_place(&self) -> bool {
        matches!(self.chosen, Chosen::Flag | Chosen::Variable)
            || self.wiki.config().project.is_some()
    }

    /// The same flags, as if the program had been started in `directory`.
    pub(crate) fn started_in(&self, directory: &Path) -> Result<Self, Error> {
        let mut environment = self.environment.clone();
        directory.clone_into(&mut environment.directory);
        let loaded = config::load(&environment, &self.flags)?;
        let mut ctx = self.ctx.clone();
        ctx.limits = loaded.config.limits.clone();
        Ok(Self {
            wiki: Wiki::new(loaded.root, loaded.config),
            ctx,
            console: self.console.clone(),
            chosen: loaded.chosen,
            waiting: self.waiting.clone(),
            environment,
            flags: self.flags.clone(),
            bars: self.bars.clone(),
            typed: self.typed.clone(),
        })
    }

    /// Runs a request and prints its report.
    pub(crate) fn run<C: Command>(&self, request: C) -> Result<Exit, Failure> {
        let report = request.run(&self.wiki, &self.ctx)?;
        self.report::<C>(&report)
    }

    /// Prints a report and gives the exit that belongs to it.
    pub(crate) fn report<C: Command>(&self, report: &C::Report) -> Result<Exit, Failure> {
        self.clear_progress();
        if self.console.json {
            self.console.json(report)?;
        } else {
            C::print(report, self)?;
        }
        Ok(C::exit(report))
    }

    /// What was printed of a text while it was being made.
    pub(crate) fn typed(&self) -> String {
        self.typed
            .as_ref()
            .map(|typed| typed.take())
            .unwrap_or_default()
    }

    /// Takes progress bars away before other text is written.
    pub(crate) fn clear_progress(&self) {
        if let Some(bars) = &self.bars {
            bars.clear();
        }
    }

    /// The end of the command.
    pub(crate) fn finish(&self) {
        self.clear_progress();
    }

    /// Says that the command made the wiki.
    pub(crate) fn say_created(&self, created: bool) {
        if created {
            self.console
                .note(&format!("made a wiki in {}", self.wiki.root().display()));
        }
    }
}

fn clock(environment: &Environment) -> Result<Arc<dyn Clock>, Error> {
    match environment.get("LLMWIKI_NOW") {
        None => Ok(Arc::new(SystemClock)),
        Some(text) => text
            .parse()
            .map(|now| Arc::new(FixedClock(now)) as Arc<dyn Clock>)
            .map_err(|cause: jiff::Error| {
                Error::new(ErrorCode::InvalidConfig, format!("LLMWIKI_NOW is {text:?}"))
                    .with_source(cause)
                    .with_hint("give RFC 3339 with a zone, for example 2026-02-03T04:05:06Z")
            }),
    }
}
