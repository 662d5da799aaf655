//! Search, pure: analysis of text, BM25, posting blocks.

pub mod lengths;
pub mod postings;

/// How text becomes terms; one a wiki.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Analysis {
    /// The ranking of `dsh-llmwiki`, to the letter.
    Classic,
    /// Better for people; the default.
    #[default]
    Standard,
}
