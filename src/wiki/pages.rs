//! Pages: canonical Markdown that may only cite sources that exist.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;
use crate::id::{ContentHash, PageId, SourceId};

/// What the caller believes about the page before a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expectation {
    /// Nothing: write whatever is there.
    #[default]
    Any,
    /// The page must not exist.
    Absent,
    /// The page file must hash to this.
    Sha256(ContentHash),
}

/// A page to write.
#[derive(Debug, Clone)]
pub struct UpsertPage {
    /// Id of the page.
    pub id: PageId,
    /// Title, one line, not blank.
    pub title: String,
    /// Summary, one line, not blank.
    pub summary: String,
    /// Ids of the cited sources, at least one; every one must exist.
    pub sources: Vec<SourceId>,
    /// Markdown body, not blank.
    pub body: String,
    /// What must hold before the write.
    pub expected: Expectation,
    /// Why, as recorded in the revision; empty when not given.
    pub message: String,
}

/// What `upsert-page` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpsertPageReport {
    /// Id of the page.
    pub id: String,
    /// Whether the page is new.
    pub created: bool,
    /// Whether the text was already just so; nothing was written then.
    pub unchanged: bool,
    /// SHA-256 of the page file.
    pub sha256: String,
    /// Sequence number of the revision.
    pub revision: u64,
    /// Text that somebody saved while this write went on: kept as this revision, not lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub displaced: Option<u64>,
    /// Whether this call made the wiki.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wiki_created: bool,
}

/// Frontmatter of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageMetadata {
    /// Title.
    pub title: String,
    /// Summary.
    pub summary: String,
    /// Ids of the cited sources, sorted.
    pub sources: Vec<String>,
}

/// A page as read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadPageReport {
    /// Id of the page.
    pub id: String,
    /// The whole page file.
    pub markdown: String,
    /// Its frontmatter.
    pub metadata: PageMetadata,
    /// SHA-256 of the page file.
    pub sha256: String,
    /// Revision that holds this text.
    pub revision: u64,
    /// Pages that link here, in id order.
    pub backlinks: Vec<String>,
    /// Sources that the page cites and the wiki lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_sources: Vec<String>,
}

/// One line of a page list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageSummary {
    /// Id of the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Summary.
    pub summary: String,
}

/// Pages in id order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListPagesReport {
    /// The pages.
    pub pages: Vec<PageSummary>,
    /// Pass it as `cursor` to go on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What `delete-page` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletePageReport {
    /// Id of the page.
    pub id: String,
    /// SHA-256 of the text that was deleted; `restore` brings it back.
    pub sha256: String,
    /// Sequence number of the revision that records the deletion.
    pub revision: u64,
    /// Pages that still link here, in id order.
    pub backlinks: Vec<String>,
}

impl Wiki {
    /// Writes a page. Creates the wiki when there is none.
    ///
    /// # Errors
    /// `INVALID_PAGE`, `INVALID_PATH` (collision by case or normalisation), `SOURCE_NOT_FOUND`,
    /// `LIMIT_EXCEEDED`, `CONFLICT` naming the current hash.
    pub fn upsert_page(&self, ctx: &Context, page: UpsertPage) -> Result<UpsertPageReport> {
        let _ = (ctx, page);
        unimplemented!()
    }

    /// Reads a page, now or at a revision (sequence number, or a prefix of its hash).
    ///
    /// # Errors
    /// `PAGE_NOT_FOUND`, `INVALID_PAGE` naming the cause when the file is no page.
    pub fn read_page(
        &self,
        ctx: &Context,
        id: &PageId,
        at: Option<&str>,
    ) -> Result<ReadPageReport> {
        let _ = (ctx, id, at);
        unimplemented!()
    }

    /// Lists pages whose id starts with `prefix`, in id order, `limit` at a time after `cursor`.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`.
    pub fn list_pages(
        &self,
        ctx: &Context,
        prefix: &str,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListPagesReport> {
        let _ = (ctx, prefix, cursor, limit);
        unimplemented!()
    }

    /// Deletes a page. Its text stays in the history.
    ///
    /// # Errors
    /// `PAGE_NOT_FOUND`, `CONFLICT`.
    pub fn delete_page(
        &self,
        ctx: &Context,
        id: &PageId,
        expected: Expectation,
        message: &str,
    ) -> Result<DeletePageReport> {
        let _ = (ctx, id, expected, message);
        unimplemented!()
    }
}
