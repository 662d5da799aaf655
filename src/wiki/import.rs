//! Bulk import of a stream of operations, one JSON object a line.

use std::collections::BTreeMap;
use std::io::BufRead;

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;

/// A line that was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFailure {
    /// Line of the input, 1-based.
    pub line: u64,
    /// Stable error code.
    pub code: String,
    /// The cause.
    pub message: String,
}

/// What `import` did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// Lines read.
    pub lines: u64,
    /// Sources that are new.
    pub sources_added: u64,
    /// Sources whose bytes were known.
    pub sources_known: u64,
    /// Pages that are new.
    pub pages_created: u64,
    /// Pages whose text changed.
    pub pages_updated: u64,
    /// Pages whose text was already just so.
    pub pages_unchanged: u64,
    /// Failures by code.
    pub failure_counts: BTreeMap<String, u64>,
    /// Every failure, in line order.
    pub failures: Vec<ImportFailure>,
    /// Whether this call made the wiki.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wiki_created: bool,
}

impl Wiki {
    /// Takes in operations, one JSON object a line: `{"op":"add_source",..}` and
    /// `{"op":"upsert_page",..}`. A bad line is counted and named and never stops the rest;
    /// with `strict` the first one stops the import, what came before it stays.
    ///
    /// # Errors
    /// `STORE_BUSY`, `STORE_FULL`, or with `strict` the error of the first bad line.
    pub fn import_jsonl(
        &self,
        ctx: &Context,
        input: &mut dyn BufRead,
        strict: bool,
    ) -> Result<ImportReport> {
        let _ = (ctx, input, strict);
        unimplemented!()
    }
}
