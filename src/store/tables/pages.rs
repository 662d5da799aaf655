//! Table `pages`, since schema 1, durable: the present state of each page.
//! Key: the page id in UTF-8, so rows come in byte order of ids. Written by every change of a
//! page. Invariants: the text is in `blobs` under `sha256`; each id of `sections` is a row of
//! `sections`; `sources` are rows of `sources`, `missing_sources` are not.

use bincode::{Decode, Encode};

use crate::id::{ContentHash, SourceId};
use crate::store::codec::Record;

/// The present state of a page.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct PageRecord {
    /// Hash of the file's exact bytes.
    pub sha256: ContentHash,
    /// Length of the file in bytes.
    pub byte_count: u64,
    /// Title of the frontmatter.
    pub title: String,
    /// Summary of the frontmatter.
    pub summary: String,
    /// Cited sources that are preserved here, sorted.
    pub sources: Vec<SourceId>,
    /// Cited sources that are not preserved here, sorted.
    pub missing_sources: Vec<SourceId>,
    /// Section ids in the order of the page.
    pub sections: Vec<u32>,
    /// Number of the revision that made this state.
    pub revision: u64,
}

impl Record for PageRecord {
    const TABLE: &'static str = "pages";
}
