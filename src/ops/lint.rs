//! `lint`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::lint::{self, LintOptions, LintReport};
use crate::wiki::Wiki;

/// Find what is wrong with the wiki; changes and repairs nothing
///
/// An error means that a promise is broken: something cannot be read, cited or followed. Works
/// where there is no wiki, too. `llmwiki explain CODE` says more about a code.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Lint {
    /// Only faults of these pages, sources and folders, by id or by path: guides/setup,
    /// pages/guides. What names nothing is refused.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(value_name = "PATH"))]
    pub paths: Vec<String>,
    /// Also look for what is only found on request.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub all: bool,
    /// Only these codes, in upper or lower case.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "CODE", value_delimiter = ','))]
    pub only: Vec<String>,
    /// Not these codes.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "CODE", value_delimiter = ','))]
    pub skip: Vec<String>,
}

impl Operation for Lint {
    const NAME: &'static str = "lint";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_lint");
    const NARROW: &'static str = "The counts are of all; ask with paths, only or skip to see \
        the rest.";
    type Report = LintReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<LintReport> {
        let options = LintOptions {
            all: self.all,
            only: self.only,
            skip: self.skip,
            paths: self.paths,
        };
        lint::run_with_store(wiki.root(), ctx, &options, &wiki.store_options())
    }
}
