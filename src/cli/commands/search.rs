//! `search`.

use super::Command;
use super::simple::warn_skipped;
use crate::cli::Exit;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::ops::{Scope, Search, SearchAnswer};
use crate::render;

/// Search pages by section and code by definition, best first
///
/// Beyond plain words, for pages: "a phrase", -word, title:word, id:guides/*, source:ID; id: or
/// source: alone list all sections of the pages. A word that reads as an option stands after --.
/// What people changed in the files is taken in first. No hit is an answer, not a failure: the
/// exit status is 0.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// What to look for; several words need no quotes
    #[arg(required = true, value_name = "QUERY")]
    words: Vec<String>,
    /// At most this many hits; never more than `max_results`, which is also the default
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// What to look through
    #[arg(long = "in", value_enum, value_name = "WHAT", default_value = "pages")]
    scope: Scope,
    /// Say of each section where its score comes from: the terms and what each adds
    #[arg(long)]
    explain: bool,
}

impl Command for Search {
    type Args = SearchArgs;
    const SHOWS_PROGRESS: bool = true;

    fn execute(args: SearchArgs, session: &Session) -> Result<Exit, Failure> {
        session.run(Self {
            query: args.words.join(" "),
            limit: args.limit,
            scope: args.scope,
            explain: args.explain,
        })
    }

    fn print(report: &SearchAnswer, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&render::search(report, console.palette))?;
        if report.hits.is_empty() {
            console.note("no hits");
        }
        if let Some(note) = &report.note {
            console.note(note);
        }
        if let Some(query) = &report.did_you_mean {
            console.hint(&format!("did you mean: {query}"));
        }
        warn_skipped(&report.skipped, session);
        Ok(())
    }
}
