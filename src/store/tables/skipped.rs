//! Table `skipped`, since schema 1, local: files of the tree that are kept out, and why, so that a
//! search can name them without reading the tree again.
//! Key: the path below the root, as bytes. Written and removed by adoption.

use bincode::{Decode, Encode};

use crate::store::codec::Record;

/// Why a file is kept out.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SkippedRecord {
    /// Stable code, for example `INVALID_PAGE`.
    pub code: String,
    /// The cause in words.
    pub message: String,
    /// Line of the cause, 1-based; none when it has none.
    pub line: Option<u32>,
}

impl Record for SkippedRecord {
    const TABLE: &'static str = "skipped";
}
