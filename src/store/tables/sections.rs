//! Table `sections`, since schema 1, derived: where each indexed section is.
//! Key: the section id (4 bytes, big-endian). Ids are given by `meta`, never used twice, and never
//! leave the machine. Invariant: the page lists the id.

use bincode::{Decode, Encode};

use crate::store::codec::Record;

/// Where a section is and how long.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SectionRecord {
    /// Id of its page.
    pub page: String,
    /// Headings from the outermost to its own.
    pub heading_trail: Vec<String>,
    /// First line in the file, 1-based.
    pub start_line: u32,
    /// Last line in the file.
    pub end_line: u32,
    /// Hash of what the index holds about it: an unchanged section keeps its id.
    pub fingerprint: [u8; 16],
    /// Tokens of headings and body.
    pub length: u32,
}

impl Record for SectionRecord {
    const TABLE: &'static str = "sections";
}
