//! `status`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{StatusReport, Wiki};

/// Say what is there: root, counts, schema text, state of the index
///
/// Changes nothing and takes nothing in: an edit that the index does not know yet shows as stale.
/// Where there is no wiki the answer is initialized: false.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Status {
    /// Also name each file of the project that is not indexed, with the reason.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub skipped: bool,
}

impl Operation for Status {
    const NAME: &'static str = "status";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_status");
    const NARROW: &'static str = "The resource llmwiki://schema has the whole schema.md, and \
        llmwiki_lint names each faulty file.";
    type Report = StatusReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<StatusReport> {
        wiki.status_with(ctx, self.skipped)
    }
}
