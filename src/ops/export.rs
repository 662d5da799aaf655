//! `export`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{ExportReport, Wiki};

/// What an export is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ExportFormat {
    /// .index/search.json and .index/state.json, format version 1, for dsh-llmwiki.
    IndexV1,
}

/// Write what other tools read
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Export {
    /// What to write.
    pub format: ExportFormat,
}

impl Operation for Export {
    const NAME: &'static str = "export";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    type Report = ExportReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ExportReport> {
        match self.format {
            ExportFormat::IndexV1 => wiki.export_index_v1(ctx),
        }
    }
}
