//! `add-source`, `read-source` and `list-sources`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, budget, list_limit, source_id};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{AddSourceReport, ListSourcesReport, NewSource, ReadSourceReport, Wiki};

/// Exact bytes of a new source. JSON can only carry text; the console gives bytes of any kind.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(with = "String")]
pub struct Content(pub Vec<u8>);

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Content({} bytes)", self.0.len())
    }
}

/// Preserve the exact bytes of a document as evidence
///
/// The source is named by the SHA-256 of its bytes and never changes. Adding bytes that are
/// already preserved gives the same id and keeps the first record.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AddSource {
    /// Name for people, for example a file name or a title.
    pub name: String,
    /// The whole text, exactly as it is to be preserved.
    pub content: Content,
    /// Media type, for example text/markdown.
    #[serde(default)]
    pub media_type: Option<String>,
    /// Where the bytes came from, for example a URL.
    #[serde(default)]
    pub origin: Option<String>,
}

impl Operation for AddSource {
    const NAME: &'static str = "add-source";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = Some("llmwiki_add_source");
    type Report = AddSourceReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<AddSourceReport> {
        let source = NewSource {
            name: self.name,
            content: self.content.0,
            media_type: self.media_type,
            origin: self.origin,
        };
        wiki.add_source(ctx, source)
    }
}

/// Read the preserved bytes of a source, verified against its id
///
/// A range is given in bytes. A range of text never cuts a character in two.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ReadSource {
    /// Id of the source, 64 hexadecimal digits.
    pub id: String,
    /// First byte to read.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES"))]
    pub offset: Option<u64>,
    /// At most this many bytes.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES"))]
    pub limit: Option<u64>,
}

/// What a report takes beside the text: id twice, numbers, name, media type and origin.
const FRAME: usize = 4096;

impl Operation for ReadSource {
    const NAME: &'static str = "read-source";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_read_source");
    type Report = ReadSourceReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ReadSourceReport> {
        let mut report = wiki.read_source(ctx, source_id(&self.id)?, self.offset, self.limit)?;
        let budget = ctx.limits.max_answer_bytes;
        let kept = match &report.content {
            Some(text) => budget::text_that_fits(text, budget.saturating_sub(FRAME)),
            None => budget::bytes_that_fit(&report.bytes, budget.saturating_sub(FRAME)),
        };
        report.keep(kept);
        Ok(report)
    }
}

/// List the sources in id order
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ListSources {
    /// Go on after this id, as the last answer named it in next.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "ID"))]
    pub cursor: Option<String>,
    /// At most this many; 100 when not given, at the console all.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub limit: Option<usize>,
}

impl Operation for ListSources {
    const NAME: &'static str = "list-sources";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = None;
    type Report = ListSourcesReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ListSourcesReport> {
        wiki.list_sources(ctx, self.cursor.as_deref(), list_limit(self.limit)?)
    }
}
