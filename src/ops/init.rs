//! `init`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{InitReport, Wiki};

/// Make a wiki, or complete one that lacks a folder or its schema.md
///
/// Writes the folders, schema.md and .gitattributes. What is there already stays as it is. The
/// first add-source or upsert-page does the same, so this command is a convenience.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Init {}

impl Operation for Init {
    const NAME: &'static str = "init";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    type Report = InitReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<InitReport> {
        wiki.init(ctx)
    }
}
