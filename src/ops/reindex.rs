//! `reindex`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{ReindexReport, Wiki};

/// Take in the files as they are and make all derived data anew
///
/// Never needed in daily use: searches take changes in by themselves.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Reindex {}

impl Operation for Reindex {
    const NAME: &'static str = "reindex";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = Some("llmwiki_reindex");
    const NARROW: &'static str = "llmwiki_lint names each faulty file.";
    type Report = ReindexReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ReindexReport> {
        wiki.reindex(ctx)
    }
}
