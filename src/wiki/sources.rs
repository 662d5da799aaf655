//! Sources: exact immutable bytes, named by their SHA-256.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;
use crate::id::SourceId;

/// A source to preserve.
#[derive(Debug, Clone, Default)]
pub struct NewSource {
    /// Name for people, 1 to 255 bytes, one line.
    pub name: String,
    /// The exact bytes; not empty.
    pub content: Vec<u8>,
    /// Media type; `text/plain; charset=utf-8` or `application/octet-stream` when not given.
    pub media_type: Option<String>,
    /// Where the bytes came from, such as a URL.
    pub origin: Option<String>,
}

/// What is known about a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceMetadata {
    /// SHA-256 of the content, 64 lower-case hexadecimal digits.
    pub id: String,
    /// Name given when it was first captured.
    pub name: String,
    /// Media type.
    pub media_type: String,
    /// Length of the content in bytes.
    pub byte_count: u64,
    /// When it was first captured, RFC 3339, UTC, milliseconds.
    pub captured_at: String,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// What `add-source` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddSourceReport {
    /// Id of the source.
    pub id: String,
    /// Whether the bytes were already preserved.
    pub deduplicated: bool,
    /// The first record of these bytes.
    pub metadata: SourceMetadata,
    /// How often these bytes were captured, this time included.
    pub captures: u64,
    /// Whether this call made the wiki.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wiki_created: bool,
}

/// Bytes of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadSourceReport {
    /// Id of the source.
    pub id: String,
    /// The text, when the range is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The bytes in base64, when the range is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_base64: Option<String>,
    /// What is known about the source.
    pub metadata: SourceMetadata,
    /// First byte of the range.
    pub byte_start: u64,
    /// End of the range, exclusive; pass it as the next offset.
    pub byte_end: u64,
    /// Length of the whole source.
    pub byte_count: u64,
    /// The exact bytes of the range, for callers that do not want JSON.
    #[serde(skip)]
    #[schemars(skip)]
    pub bytes: Vec<u8>,
}

/// Sources in id order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListSourcesReport {
    /// Metadata of each source.
    pub sources: Vec<SourceMetadata>,
    /// Pass it as `cursor` to go on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Wiki {
    /// Preserves a source. Creates the wiki when there is none.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for empty content or a malformed name, media type or origin;
    /// `LIMIT_EXCEEDED` over `max_source_bytes`.
    pub fn add_source(&self, ctx: &Context, source: NewSource) -> Result<AddSourceReport> {
        let _ = (ctx, source);
        unimplemented!()
    }

    /// Reads bytes of a source, verified against its id.
    ///
    /// # Errors
    /// `SOURCE_NOT_FOUND`, `INVALID_ARGUMENT` for a range outside the source.
    pub fn read_source(
        &self,
        ctx: &Context,
        id: SourceId,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<ReadSourceReport> {
        let _ = (ctx, id, offset, limit);
        unimplemented!()
    }

    /// Lists sources in id order, `limit` at a time after `cursor`.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `INVALID_ARGUMENT` for a cursor that is no id.
    pub fn list_sources(
        &self,
        ctx: &Context,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListSourcesReport> {
        let _ = (ctx, cursor, limit);
        unimplemented!()
    }
}
