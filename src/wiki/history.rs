//! Revisions: what happened to pages, newest first.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;
use crate::id::PageId;

/// Which revisions are wanted.
#[derive(Debug, Clone, Default)]
pub struct HistoryRequest {
    /// Only of this page; all pages otherwise.
    pub page: Option<PageId>,
    /// With a unified diff against the revision before.
    pub diff: bool,
    /// Only revisions before this sequence number.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: usize,
}

/// One revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionReport {
    /// Sequence number, local to this store.
    pub seq: u64,
    /// Hash that names the revision everywhere.
    pub id: String,
    /// Page that changed.
    pub page: String,
    /// SHA-256 of the new text; absent for a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// When, RFC 3339, UTC.
    pub when: String,
    /// How: `upsert`, `adopted`, `deleted`, `displaced`, `restored`, `imported`.
    pub how: String,
    /// Who, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Why, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Lines added against the revision before.
    pub added: u64,
    /// Lines removed against the revision before.
    pub removed: u64,
    /// Unified diff, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Revisions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryReport {
    /// The revisions.
    pub revisions: Vec<RevisionReport>,
    /// Pass it as `before` to go on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl Wiki {
    /// Lists revisions, newest first.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; `PAGE_NOT_FOUND` for a page that never was.
    pub fn history(&self, ctx: &Context, request: &HistoryRequest) -> Result<HistoryReport> {
        let _ = (ctx, request);
        unimplemented!()
    }
}
