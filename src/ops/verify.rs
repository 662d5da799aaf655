//! `verify`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{VerifyReport, Wiki};

/// Check every hash, the store, and the index against its pages
///
/// The deep check that lint is too quick for. Exit status 1 when something does not hold.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Verify {}

impl Operation for Verify {
    const NAME: &'static str = "verify";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = None;
    type Report = VerifyReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<VerifyReport> {
        wiki.verify(ctx)
    }
}
