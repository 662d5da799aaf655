//! `search`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{SearchReport, SearchRequest, Wiki};

/// Search the pages, section by section, best first
///
/// Beyond plain words: "a phrase", -word, title:word, id:guides/*, source:ID. What people changed
/// in the files is taken in first. No hit is an answer, not a failure.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Search {
    /// What to look for.
    pub query: String,
    /// At most this many hits; never more than `max_results` of the configuration, which is also
    /// the default.
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Operation for Search {
    const NAME: &'static str = "search";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_search");
    const NARROW: &'static str = "The best hits come first; a narrower query (title:word, \
        id:guides/*, \"a phrase\") or a smaller limit shows others.";
    type Report = SearchReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<SearchReport> {
        wiki.search(
            ctx,
            &SearchRequest {
                query: self.query,
                limit: self.limit,
            },
        )
    }
}
