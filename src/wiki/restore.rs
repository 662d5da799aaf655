//! `restore`: from the store back to the tree, plan first.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;
use crate::id::{PageId, SourceId};

/// What to bring back.
#[derive(Debug, Clone)]
pub enum RestoreRequest {
    /// A page, at its newest text or at a revision.
    Page {
        /// Id of the page.
        id: PageId,
        /// Sequence number or hash prefix.
        revision: Option<String>,
    },
    /// Every page deleted at or after this moment.
    DeletedSince(Timestamp),
    /// A source whose folder is gone or damaged.
    Source(SourceId),
    /// Everything that the store has and the tree lacks.
    Missing,
}

/// One thing to bring back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreItem {
    /// Path relative to the root.
    pub path: String,
    /// SHA-256 of what is written there.
    pub sha256: String,
    /// What is done: `create`, `replace` or `unchanged`.
    pub action: String,
}

/// A plan, and whether it was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    /// What is brought back, in path order.
    pub items: Vec<RestoreItem>,
    /// Whether the plan was carried out.
    pub applied: bool,
}

impl Wiki {
    /// Brings back what the tree lost; with `dry_run` only says what it would do.
    ///
    /// # Errors
    /// `PAGE_NOT_FOUND`, `SOURCE_NOT_FOUND`, `NOT_INITIALIZED`.
    pub fn restore(
        &self,
        ctx: &Context,
        request: &RestoreRequest,
        dry_run: bool,
    ) -> Result<RestoreReport> {
        let _ = (ctx, request, dry_run);
        unimplemented!()
    }
}
