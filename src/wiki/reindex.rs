//! `reindex`: all derived data made anew from the tree.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use super::status::SkippedFile;
use crate::context::Context;
use crate::error::Result;

/// What `reindex` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReindexReport {
    /// Number of indexed pages.
    pub page_count: u64,
    /// Number of indexed sections.
    pub section_count: u64,
    /// Version of the index format.
    pub format_version: u32,
    /// Files kept out of the index.
    pub skipped: Vec<SkippedFile>,
    /// What was lost when a damaged store had to be rebuilt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

impl Wiki {
    /// Takes in the tree and makes all derived data anew.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_BUSY`.
    pub fn reindex(&self, ctx: &Context) -> Result<ReindexReport> {
        let _ = ctx;
        unimplemented!()
    }
}
