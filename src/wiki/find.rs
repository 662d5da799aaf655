//! Search over sections of pages.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use super::status::SkippedFile;
use crate::context::Context;
use crate::error::Result;

/// A search.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The query; see docs/search.md for the syntax.
    pub query: String,
    /// At most this many hits; `max_results` when not given.
    pub limit: Option<usize>,
}

/// One section that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Page of the section.
    pub page_id: String,
    /// Title of the page.
    pub title: String,
    /// Headings from the top down to the section.
    pub heading_trail: Vec<String>,
    /// First line of the section in the page file, 1-based.
    pub start_line: u32,
    /// Last line of the section.
    pub end_line: u32,
    /// BM25 score.
    pub score: f64,
    /// Original text around the best match.
    pub snippet: String,
    /// Byte ranges `[start, end)` in the snippet that match the query.
    pub matches: Vec<(usize, usize)>,
    /// Sources that the page cites.
    pub source_ids: Vec<String>,
}

/// Sections, best first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchReport {
    /// The hits; ties by page id (UTF-16 code units), then line.
    pub hits: Vec<SearchHit>,
    /// Files kept out of the index.
    pub skipped: Vec<SkippedFile>,
    /// Changes in the tree that this answer does not know yet.
    pub pending: u64,
}

impl Wiki {
    /// Searches, after taking in what changed in the tree.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `INVALID_ARGUMENT` for a blank query or a limit out of range.
    pub fn search(&self, ctx: &Context, request: &SearchRequest) -> Result<SearchReport> {
        let _ = (ctx, request);
        unimplemented!()
    }
}
