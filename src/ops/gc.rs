//! `gc`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::wiki::{GcReport, Wiki};

/// Remove snapshots of code that no page and no revision cites any more
///
/// `generate` preserves the files that its pages cite. What is left of them when neither a page nor
/// the history of one names it is listed, and with --yes removed. Sources that people added are
/// never touched.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Gc {
    /// Say what would be removed; so it is without --yes.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "yes"))]
    pub dry_run: bool,
    /// Remove it.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub yes: bool,
}

impl Operation for Gc {
    const NAME: &'static str = "gc";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    const DESTRUCTIVE: bool = true;
    type Report = GcReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<GcReport> {
        if self.dry_run && self.yes {
            return Err(
                Error::new(ErrorCode::InvalidArgument, "a dry run removes nothing")
                    .with_hint("give one of dryRun and yes"),
            );
        }
        wiki.gc(ctx, self.yes)
    }
}
