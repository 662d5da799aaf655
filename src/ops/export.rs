//! `export`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::federation;
use crate::wiki::{ExportReport, Wiki};

/// What an export is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum ExportFormat {
    /// .index/search.json and .index/state.json, format version 1, for dsh-llmwiki.
    IndexV1,
    /// A .wiki directory with an index.md, so that other projects can ask this one.
    Wiki,
}

/// Write what other tools read
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Export {
    /// What to write.
    pub format: ExportFormat,
    /// For wiki: the project in which .wiki is written, or that directory itself.
    #[serde(skip)]
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "DIR", required_if_eq("format", "wiki"))
    )]
    pub to: Option<PathBuf>,
    /// For wiki: replace an index.md that no export wrote.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub force: bool,
}

impl Operation for Export {
    const NAME: &'static str = "export";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    type Report = ExportReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ExportReport> {
        match self.format {
            ExportFormat::IndexV1 if self.to.is_none() => wiki.export_index_v1(ctx),
            ExportFormat::IndexV1 => Err(Error::new(
                ErrorCode::InvalidArgument,
                "index-v1 is written into the wiki itself",
            )
            .with_hint("leave out --to")),
            ExportFormat::Wiki => match &self.to {
                Some(directory) => federation::publish(wiki, ctx, directory, self.force),
                None => Err(Error::new(
                    ErrorCode::InvalidArgument,
                    "the directory of the export is missing, which only the console can name",
                )
                .with_hint("`llmwiki export wiki --to DIR`")),
            },
        }
    }
}
