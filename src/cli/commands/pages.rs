//! `upsert-page`, `read-page`, `list-pages` and `delete-page`.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use super::Command;
use crate::cli::Exit;
use crate::cli::input;
use crate::cli::output::Failure;
use crate::cli::session::Session;
use crate::error::{Error, ErrorCode};
use crate::ops::{DeletePage, ListPages, ReadPage, UpsertPage};
use crate::page;
use crate::render;
use crate::wiki::{DeletePageReport, ListPagesReport, ReadPageReport, UpsertPageReport};

/// Write a page that cites preserved sources
///
/// Creates the page or replaces its text; the text before stays in the history. Every cited source
/// must exist. The page comes from --title, --summary, --source and --body, or whole, with its
/// frontmatter, from --file. With --expected-sha256 it is only written when its file still hashes
/// to that, so two writers cannot overwrite each other unseen.
#[derive(Debug, clap::Args)]
pub(crate) struct UpsertPageArgs {
    /// Id of the page: a relative path without .md, for example guides/install
    id: String,
    /// Title, one line
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    title: Option<String>,
    /// Summary, one line
    #[arg(long, value_name = "TEXT", required_unless_present = "file")]
    summary: Option<String>,
    /// Id of a source that the page rests on; give it once for each
    #[arg(
        long = "source",
        value_name = "ID",
        required_unless_present = "file",
        value_delimiter = ','
    )]
    sources: Vec<String>,
    /// File with the Markdown body; - is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "file")]
    body: Option<PathBuf>,
    /// File with the whole page, frontmatter first; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["title", "summary", "sources", "body"])]
    file: Option<PathBuf>,
    /// SHA-256 that the page file must have now, or the word absent
    #[arg(long, value_name = "HASH|absent")]
    expected_sha256: Option<String>,
    /// Why, for the history
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
}

impl Command for UpsertPage {
    type Args = UpsertPageArgs;

    fn execute(args: UpsertPageArgs, session: &Session) -> Result<Exit, Failure> {
        let request = match &args.file {
            Some(file) => of_file(&args, file, session)?,
            None => of_flags(&args, session)?,
        };
        session.run(request)
    }

    fn print(report: &UpsertPageReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::upsert_page(report, session.console.palette))?;
        session.say_created(report.wiki_created);
        if let Some(displaced) = report.displaced {
            session.console.warn(&format!(
                "what somebody saved in the place of this page is kept as revision {displaced}"
            ));
            session.console.hint(&format!(
                "`llmwiki read-page {} --at {displaced}` shows it",
                report.id
            ));
        }
        Ok(())
    }
}

fn of_flags(args: &UpsertPageArgs, session: &Session) -> Result<UpsertPage, Error> {
    let body = match &args.body {
        Some(file) => {
            let limit = session.ctx.limits.max_page_bytes;
            let body = input::read_text(session, file, "the body", limit)?;
            // The mark of UTF-8 that some editors write is no part of the text.
            match body.strip_prefix('\u{feff}') {
                Some(rest) => rest.to_owned(),
                None => body,
            }
        }
        None => String::new(),
    };
    Ok(UpsertPage {
        id: args.id.clone(),
        title: args.title.clone().unwrap_or_default(),
        summary: args.summary.clone().unwrap_or_default(),
        sources: args.sources.clone(),
        body,
        expected_sha256: args.expected_sha256.clone(),
        message: args.message.clone(),
    })
}

fn of_file(args: &UpsertPageArgs, file: &Path, session: &Session) -> Result<UpsertPage, Error> {
    let bytes = input::read(session, file, "the page", session.ctx.limits.max_page_bytes)?;
    let page = page::parse_bytes(&bytes).map_err(|cause| {
        Error::new(
            ErrorCode::InvalidPage,
            format!("{}: {cause}", file.display()),
        )
        .with_hint("docs/format.md shows a page; or give --title, --summary, --source, --body")
    })?;
    Ok(UpsertPage {
        id: args.id.clone(),
        title: page.title,
        summary: page.summary,
        sources: page.sources.iter().map(ToString::to_string).collect(),
        body: page.body,
        expected_sha256: args.expected_sha256.clone(),
        message: args.message.clone(),
    })
}

impl Command for ReadPage {
    type Args = Self;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &ReadPageReport, session: &Session) -> Result<(), Failure> {
        match &report.raw {
            Some(raw) if !io::stdout().is_terminal() => session.console.bytes(raw)?,
            _ => session.console.text(&report.markdown)?,
        }
        if let Some(fault) = &report.fault {
            session.console.warn(&format!(
                "revision {} is no valid page: {fault}",
                report.revision
            ));
        }
        for source in &report.missing_sources {
            session
                .console
                .warn(&format!("this page cites {source}, which the wiki lacks"));
        }
        Ok(())
    }
}

impl Command for ListPages {
    type Args = Self;

    fn execute(mut args: Self, session: &Session) -> Result<Exit, Failure> {
        args.limit.get_or_insert(usize::MAX);
        session.run(args)
    }

    fn print(report: &ListPagesReport, session: &Session) -> Result<(), Failure> {
        session
            .console
            .text(&render::list_pages(report, session.console.palette))?;
        if let Some(next) = &report.next {
            session.console.hint(&format!("more: --cursor {next}"));
        }
        Ok(())
    }
}

impl Command for DeletePage {
    type Args = Self;

    fn execute(args: Self, session: &Session) -> Result<Exit, Failure> {
        session.run(args)
    }

    fn print(report: &DeletePageReport, session: &Session) -> Result<(), Failure> {
        let console = &session.console;
        console.text(&format!(
            "{} deleted, revision {}, sha256 {}\n",
            console.palette.name(&report.id),
            report.revision,
            report.sha256
        ))?;
        if !report.backlinks.is_empty() {
            console.warn(&format!(
                "still linked from {}",
                report.backlinks.join(", ")
            ));
        }
        if let Some(displaced) = report.displaced {
            console.warn(&format!(
                "what somebody saved in the place of this page is kept as revision {displaced}"
            ));
        }
        console.hint(&format!("`llmwiki restore {}` brings it back", report.id));
        Ok(())
    }
}
