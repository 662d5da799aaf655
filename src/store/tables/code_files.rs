//! Table `code_files`, since schema 1, derived from the project's files: what is indexed of each.
//! Key: the path below the project, as bytes. Written by `index-code` and by what brings the index
//! up to date. Invariants: the chunks have consecutive ids from `first_chunk` on, and are rows of
//! `code_chunks` and postings of the code index.

use bincode::{Decode, Encode};

use crate::id::ContentHash;
use crate::store::codec::Record;

/// A file of the project.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CodeFileRecord {
    /// Size in bytes.
    pub size: u64,
    /// Inode number.
    pub inode: u64,
    /// Modification time, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// When the file was looked at, on the clock of the file system.
    pub seen_ns: i64,
    /// Hash of its bytes.
    pub sha256: ContentHash,
    /// Name of its language.
    pub language: String,
    /// Why it is not indexed; empty for a file that is.
    pub skipped: String,
    /// Whether bytes had to be replaced to read it as text.
    pub lossy: bool,
    /// Number of lines.
    pub lines: u32,
    /// Id of its first chunk.
    pub first_chunk: u32,
    /// Number of its chunks.
    pub chunks: u32,
    /// Number of chunks at its end that hold tests only.
    pub test_chunks: u32,
    /// Sum of the lengths of its chunks, in words.
    pub length: u32,
}

impl Record for CodeFileRecord {
    const TABLE: &'static str = "code_files";
}
