//! `index-code`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{CodeIndexReport, Wiki};

/// Index the project's code: files, definitions, chunks
///
/// Seldom needed: questions and searches bring the index up to date by themselves. Ignore rules
/// are kept to; binaries, minified and generated files, links and submodules are left out, and
/// counted. Makes the wiki where there is none.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct IndexCode {}

impl Operation for IndexCode {
    const NAME: &'static str = "index-code";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    type Report = CodeIndexReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<CodeIndexReport> {
        wiki.index_code(ctx)
    }
}
