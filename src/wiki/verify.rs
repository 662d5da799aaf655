//! `verify`: the deep check of the store against itself and the tree.

use schemars::JsonSchema;
use serde::Serialize;

use super::Wiki;
use crate::context::Context;
use crate::error::Result;

/// One thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyFinding {
    /// Where: a table and key, or a path.
    pub subject: String,
    /// What is wrong.
    pub message: String,
}

/// What `verify` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// Whether everything holds.
    pub sound: bool,
    /// What does not.
    pub findings: Vec<VerifyFinding>,
    /// Sources whose bytes were hashed.
    pub sources_checked: u64,
    /// Page versions whose bytes were hashed.
    pub versions_checked: u64,
    /// Sections whose postings were compared with their text.
    pub sections_checked: u64,
}

impl Wiki {
    /// Checks every page of the store file, every hash, and the index against its pages.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_BUSY`.
    pub fn verify(&self, ctx: &Context) -> Result<VerifyReport> {
        let _ = ctx;
        unimplemented!()
    }
}
