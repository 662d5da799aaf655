//! Table `sources`, since schema 1, durable: provenance of each preserved source.
//! Key: the 32 raw bytes of a `SourceId`. Written once by the first capture and never updated;
//! deleted only by `purge-source`. Invariant: the bytes are in `blobs` under the same hash.

use bincode::{Decode, Encode};

use crate::store::codec::Record;

/// What was known about a source when it was preserved.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SourceRecord {
    /// Name given by the caller.
    pub name: String,
    /// Media type, for example `text/markdown`.
    pub media_type: String,
    /// Length of the content in bytes.
    pub byte_count: u64,
    /// When it was captured, exactly as `metadata.json` says it.
    pub captured_at: String,
    /// Where it came from, when that is known.
    pub origin: Option<String>,
}

impl Record for SourceRecord {
    const TABLE: &'static str = "sources";
}
