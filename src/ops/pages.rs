//! `upsert-page`, `read-page`, `list-pages` and `delete-page`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, budget, expectation, list_limit, page_id, source_id};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::wiki::{
    self, DeletePageReport, ListPagesReport, ReadPageReport, UpsertPageReport, Wiki,
};

/// Write a page that cites preserved sources
///
/// Creates the page or replaces its text; the text before stays in the history. Every cited
/// source must exist. With an expected hash the page is only written when its file still hashes
/// to it, so two writers cannot overwrite each other unseen.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct UpsertPage {
    /// Id of the page: a relative path without .md, for example guides/install.
    pub id: String,
    /// Title, one line.
    pub title: String,
    /// Summary, one line.
    pub summary: String,
    /// Ids of the sources that the page rests on, at least one.
    pub sources: Vec<String>,
    /// Markdown body, without the frontmatter.
    pub body: String,
    /// SHA-256 that the page file must have now, or "absent" when it must not exist.
    #[serde(default)]
    pub expected_sha256: Option<String>,
    /// Why, for the history.
    #[serde(default)]
    pub message: Option<String>,
}

impl Operation for UpsertPage {
    const NAME: &'static str = "upsert-page";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = Some("llmwiki_upsert_page");
    const DESTRUCTIVE: bool = true;
    type Report = UpsertPageReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<UpsertPageReport> {
        let sources = self.sources.iter().map(|raw| {
            // A page cannot cite what is no id: the fault is the page's, as in its file.
            source_id(raw).map_err(|cause| {
                Error::new(ErrorCode::InvalidPage, cause.message().to_owned())
                    .with_hint("`llmwiki list-sources` prints the ids")
            })
        });
        let page = wiki::UpsertPage {
            id: page_id(&self.id)?,
            title: self.title,
            summary: self.summary,
            sources: sources.collect::<Result<_>>()?,
            body: self.body,
            expected: expectation(self.expected_sha256.as_deref())?,
            message: self.message.unwrap_or_default(),
        };
        wiki.upsert_page(ctx, page)
    }
}

/// Read a page, now or as it was
///
/// A range is given in bytes of the page file. It never cuts a character in two.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ReadPage {
    /// Id of the page.
    pub id: String,
    /// As it was at this revision: its number, or the beginning of its id.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "REVISION"))]
    pub at: Option<String>,
    /// First byte to read.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES"))]
    pub offset: Option<u64>,
    /// At most this many bytes.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES"))]
    pub limit: Option<u64>,
}

impl Operation for ReadPage {
    const NAME: &'static str = "read-page";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_read_page");
    type Report = ReadPageReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ReadPageReport> {
        let mut report = wiki.read_page(ctx, &page_id(&self.id)?, self.at.as_deref())?;
        if self.offset.is_some() || self.limit.is_some() {
            report.keep_range(self.offset.unwrap_or(0), self.limit)?;
        }
        let budget = ctx.limits.max_answer_bytes;
        let room = if budget == usize::MAX {
            budget
        } else {
            budget.saturating_sub(budget::frame(&report, |it| &mut it.markdown)?)
        };
        let kept = match &report.raw {
            None => budget::text_that_fits(&report.markdown, room),
            // They come twice, as text that may be six times as long, and in base64.
            Some(raw) => budget::bytes_that_fit(raw, budget / 6),
        };
        report.keep(kept);
        Ok(report)
    }
}

/// List the pages in id order, with titles and summaries
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ListPages {
    /// Only pages whose id starts with this, for example guides/.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT"))]
    pub prefix: Option<String>,
    /// Go on after this id, as the last answer named it in next.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID"))]
    pub cursor: Option<String>,
    /// At most this many; 100 when not given, at the console all.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub limit: Option<usize>,
}

impl Operation for ListPages {
    const NAME: &'static str = "list-pages";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_list_pages");
    type Report = ListPagesReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ListPagesReport> {
        let prefix = self.prefix.unwrap_or_default();
        let limit = list_limit(self.limit)?;
        let mut report = wiki.list_pages(ctx, &prefix, self.cursor.as_deref(), limit)?;
        let kept = budget::items_that_fit(&report.pages, ctx.limits.max_answer_bytes)?;
        if kept < report.pages.len() {
            report.pages.truncate(kept);
            report.next = report.pages.last().map(|last| last.id.clone());
        }
        Ok(report)
    }
}

/// Delete a page; its text stays in the history
///
/// `llmwiki restore PAGE` brings it back. Pages that still link to it are named.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct DeletePage {
    /// Id of the page.
    pub id: String,
    /// SHA-256 that the page file must have now.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "HASH"))]
    pub expected_sha256: Option<String>,
    /// Why, for the history.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, short, value_name = "TEXT"))]
    pub message: Option<String>,
}

impl Operation for DeletePage {
    const NAME: &'static str = "delete-page";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    const DESTRUCTIVE: bool = true;
    type Report = DeletePageReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<DeletePageReport> {
        let expected = expectation(self.expected_sha256.as_deref())?;
        let message = self.message.unwrap_or_default();
        wiki.delete_page(ctx, &page_id(&self.id)?, expected, &message)
    }
}
