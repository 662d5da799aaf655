//! Search, pure: analysis of text, queries, BM25, snippets, posting blocks, the peer's index format.
//! Tables live in `store`.

pub mod analysis;
pub mod bm25;
mod chars;
mod code;
pub mod index_v1;
mod json;
mod language;
pub mod lengths;
pub mod postings;
pub mod query;
pub mod snippet;
pub mod tokenize;
pub mod topk;
mod vocabulary;

pub(crate) use analysis::other_readings;
pub use analysis::{Analysis, AnalyzedSection, WEIGHT_UNIT};
pub use code::{
    CodeFields, CodeHit, CodeTerm, RankedFile, analyze_code, code_postings, code_query,
    code_snippet, rank_code,
};
pub(crate) use query::first_word_with;
pub use query::{Candidate, Filters, Query, phrase_matches};
pub use snippet::{Snippet, snippet};
