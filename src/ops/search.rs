//! `search`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{CodeHit, SearchHit, SearchRequest, SkippedFile, Wiki};

/// What is looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Scope {
    /// The pages of the wiki.
    #[default]
    Pages,
    /// The code of the project.
    Code,
    /// Both.
    All,
}

impl Scope {
    /// Whether pages are looked through.
    pub fn has_pages(self) -> bool {
        self != Self::Code
    }
}

/// Search pages by section and code by definition, best first
///
/// Beyond plain words, for pages: "a phrase", -word, title:word, id:guides/*, source:ID. What
/// people changed in the files is taken in first. No hit is an answer, not a failure.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Search {
    /// What to look for.
    pub query: String,
    /// At most this many hits; never more than `max_results` of the configuration, which is also
    /// the default.
    #[serde(default)]
    pub limit: Option<usize>,
    /// What to look through: pages (the default), code, or all.
    #[serde(default, rename = "in")]
    pub scope: Scope,
    /// Say of each section where its score comes from: the terms and what each adds.
    #[serde(default)]
    pub explain: bool,
}

/// A hit: a section of a page, or a stretch of code.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FoundHit {
    /// A section of a page.
    Page(SearchHit),
    /// A stretch of code.
    Code(CodeHit),
}

/// Hits, best first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchAnswer {
    /// The hits. Scores of pages and code do not compare: where both are looked through, the
    /// best of each come in turn.
    pub hits: Vec<FoundHit>,
    /// The query with misspelt words replaced, when no page was found.
    pub did_you_mean: Option<String>,
    /// What was done to find anything at all.
    pub note: Option<String>,
    /// Files kept out of the index of pages.
    pub skipped: Vec<SkippedFile>,
    /// Changes in the files that this answer does not know yet.
    pub pending: u64,
}

impl Operation for Search {
    const NAME: &'static str = "search";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_search");
    const NARROW: &'static str = "The best hits come first; a narrower query (title:word, \
        id:guides/*, \"a phrase\") or a smaller limit shows others.";
    type Report = SearchAnswer;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<SearchAnswer> {
        let most = ctx.limits.max_results;
        let limit = self.limit.unwrap_or(most).min(most);
        let mut answer = SearchAnswer {
            hits: Vec::new(),
            did_you_mean: None,
            note: None,
            skipped: Vec::new(),
            pending: 0,
        };
        let mut pages = Vec::new();
        if self.scope.has_pages() {
            let report = wiki.search(
                ctx,
                &SearchRequest {
                    query: self.query.clone(),
                    limit: self.limit,
                    explain: self.explain,
                },
            )?;
            answer.did_you_mean = report.did_you_mean;
            answer.note = report.note;
            answer.skipped = report.skipped;
            answer.pending += report.pending;
            pages = report.hits;
        }
        let mut code = Vec::new();
        // A wiki without a project has pages alone.
        if self.scope == Scope::Code || self.scope == Scope::All && wiki.has_project()? {
            let (hits, pending) = wiki.search_code(ctx, &self.query, limit)?;
            answer.pending += pending;
            code = hits;
            if self.explain && answer.note.is_none() {
                answer.note =
                    Some("scores of code are not explained, those of pages are".to_owned());
            }
        }
        let (mut pages, mut code) = (pages.into_iter(), code.into_iter());
        while answer.hits.len() < limit {
            let before = answer.hits.len();
            answer.hits.extend(pages.next().map(FoundHit::Page));
            answer.hits.extend(code.next().map(FoundHit::Code));
            if answer.hits.len() == before {
                break;
            }
        }
        answer.hits.truncate(limit);
        Ok(answer)
    }
}
