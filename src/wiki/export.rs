//! Exports for other tools.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportReport {
    /// Paths that were written, relative to the root.
    pub files: Vec<String>,
    /// Number of pages in the export.
    pub page_count: u64,
    /// Number of sections in the export.
    pub section_count: u64,
}

impl Wiki {
    /// Writes `.index/search.json` and `.index/state.json`, format version 1.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `INVALID_PAGE` naming the page that cannot be exported.
    pub fn export_index_v1(&self, ctx: &Context) -> Result<ExportReport> {
        let _ = ctx;
        unimplemented!()
    }
}
