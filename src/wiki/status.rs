//! `status`: what is there, without changing it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;

/// State of the search index.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// Whether there is an index.
    pub present: bool,
    /// Whether it says what the tree says.
    pub fresh: bool,
    /// Version of its format, when present.
    pub format_version: Option<u32>,
    /// Number of indexed sections.
    pub section_count: u64,
}

/// State of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreStatus {
    /// Schema version.
    pub schema_version: u32,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Name of the analysis that built the index.
    pub analysis: String,
}

/// A file that was kept out of the index, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedFile {
    /// Path relative to the root; bytes that are not UTF-8 are escaped.
    pub path: String,
    /// Stable code of the reason, such as `INVALID_PAGE`.
    pub code: String,
    /// The cause in words.
    pub reason: String,
}

/// What `status` says. Counts are of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// Whether there is a wiki at the root.
    pub initialized: bool,
    /// The root directory.
    pub root: String,
    /// Number of preserved sources.
    pub source_count: u64,
    /// Number of page files.
    pub page_count: u64,
    /// Text of `schema.md`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_text: Option<String>,
    /// State of the search index.
    pub index: IndexStatus,
    /// State of the store, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreStatus>,
    /// Changes in the tree that the store has not taken in.
    pub pending: u64,
    /// Files kept out of the index.
    pub skipped: Vec<SkippedFile>,
}

impl Wiki {
    /// Reports the state of the wiki. Adopts nothing and changes nothing.
    ///
    /// # Errors
    /// `UNSAFE_FILESYSTEM` when the root is not a plain directory.
    pub fn status(&self, ctx: &Context) -> Result<StatusReport> {
        let _ = ctx;
        unimplemented!()
    }
}
