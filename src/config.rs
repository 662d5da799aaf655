//! Settings of one wiki, already merged from `config.toml`, the user's file, the environment and
//! flags. This file holds the values; reading and merging them is `config::load`'s work.

use crate::limits::Limits;
use crate::search::Analysis;

/// Settings of one wiki.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Limits of sources, pages, results and reports.
    pub limits: Limits,
    /// How text becomes terms. A change reindexes.
    pub analysis: Analysis,
    /// Who writes, as recorded in revisions; empty when nobody said.
    pub actor: String,
    /// Share the store between processes by whole-file locks instead of byte ranges
    /// (`LLMWIKI_STORE_MODE=exclusive`).
    pub exclusive_store: bool,
}
