//! The engines: llmwiki and its peers, each behind the same few steps.
//!
//! All three hold the same sections. The peers get one merged field of title, headings, summary,
//! id and text, stem English words, and sync to the disk at each commit.

pub mod fts5;
pub mod llmwiki;
pub mod tantivy;

/// Most hits that a query asks for: the default of `llmwiki search`.
pub const HITS: usize = 20;

/// What may go wrong in a benchmark; it then stops.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
