//! Table `citations`, since schema 1, derived: which pages cite which sources, and which lines.
//! Rows: `0, page id` -> [`CitationsRecord`]; index: `1, source id (32 bytes), page id` ->
//! [`CitationIndex`]. Invariant: both directions agree.

use bincode::{Decode, Encode};

use super::{INDEX, ROW, key};
use crate::id::SourceId;
use crate::store::codec::Record;

/// What a page cites.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct CitationsRecord {
    /// Every source that the page names, preserved here or not, sorted and unique.
    pub sources: Vec<SourceId>,
    /// Claim-level citations in the order of the page.
    pub claims: Vec<ClaimRecord>,
}

/// A citation of lines of a source.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ClaimRecord {
    /// The cited source.
    pub source: SourceId,
    /// First and last cited line, 1-based; none when the whole source is cited.
    pub lines: Option<(u32, u32)>,
    /// Line of the page, 1-based.
    pub line: u32,
}

impl Record for CitationsRecord {
    const TABLE: &'static str = "citations";
}

/// Says that a page cites a source; the key holds both.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct CitationIndex;

impl Record for CitationIndex {
    const TABLE: &'static str = "citations";
}

pub(crate) fn row_key(page: &str) -> Vec<u8> {
    key(ROW, &[page.as_bytes()])
}

pub(crate) fn source_prefix(source: SourceId) -> Vec<u8> {
    key(INDEX, &[source.as_bytes()])
}

pub(crate) fn index_keys(page: &str, citations: &CitationsRecord) -> Vec<Vec<u8>> {
    let entry = |source: &SourceId| {
        let mut key = source_prefix(*source);
        key.extend_from_slice(page.as_bytes());
        key
    };
    citations.sources.iter().map(entry).collect()
}
