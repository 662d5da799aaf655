//! Table `code_chunks`, since schema 1, derived: how a file is cut, what it defines and uses.
//! Key: the path below the project, as bytes. Written and removed with the row of `code_files`.

use bincode::{Decode, Encode};

use crate::store::codec::Record;

/// Chunks, definitions and uses of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct CodeChunksRecord {
    /// Its chunks, in order; chunk n has the id `first_chunk + n`.
    pub chunks: Vec<CodeChunkRecord>,
    /// Its definitions, by first line.
    pub symbols: Vec<CodeSymbolRecord>,
    /// Names that it uses, sorted.
    pub references: Vec<String>,
}

/// Consecutive lines.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CodeChunkRecord {
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// Places in `symbols` of the definitions that begin here.
    pub symbols: Vec<u32>,
    /// Places in `symbols` of the definitions around it, the outermost first.
    pub within: Vec<u32>,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CodeSymbolRecord {
    /// Its name.
    pub name: String,
    /// What it is: the place in `SymbolKind::ALL`.
    pub kind: u8,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
}

impl Record for CodeChunksRecord {
    const TABLE: &'static str = "code_chunks";
}
