//! `generate` and `show`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::generate::{self, GenerateReport, GenerateRequest, ShowReport};
use crate::wiki::Wiki;

/// Write a wiki of the project's own code, or bring it up to date
///
/// Pages below code/ say what the project is, how it is laid out, what each module defines and
/// who uses it. Each statement links to a preserved snapshot of the lines that it was made from.
/// Only what changed is written; a page that was edited by hand is kept. Where a model is
/// configured or named, it writes an opening to each page from the lines that the page cites; its
/// citations are those of the index, and one that fails never fails the command.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Generate {
    /// Only modules at or below this folder or file of the project, and what is about the whole;
    /// on the console also another project.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(value_name = "PATH"))]
    pub path: Option<String>,
    /// Write pages anew that were edited by hand; their text stays in the history.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub force: bool,
    /// Say which pages would change and why, and write nothing.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub dry_run: bool,
    /// Name of the model that writes openings.
    #[serde(default)]
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "NAME", conflicts_with = "no_model")
    )]
    pub model: Option<String>,
    /// Use no model, and take out what one wrote.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub no_model: bool,
}

impl Operation for Generate {
    const NAME: &'static str = "generate";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = Some("llmwiki_generate");
    const DESTRUCTIVE: bool = true;
    const REACHES_OUT: bool = true;
    type Report = GenerateReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<GenerateReport> {
        generate::generate(
            wiki,
            ctx,
            &GenerateRequest {
                path: self.path,
                force: self.force,
                dry_run: self.dry_run,
                model: self.model,
                no_model: self.no_model,
            },
        )
    }
}

/// Show the wiki of the project's code, or one section of it
///
/// The sections are index, architecture, modules, data-flow, and modules/PATH for each module.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Show {
    /// The section; all when not given.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(value_name = "SECTION"))]
    pub section: Option<String>,
}

impl Operation for Show {
    const NAME: &'static str = "show";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("llmwiki_show");
    const NARROW: &'static str = "Ask for one section by its id.";
    type Report = ShowReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ShowReport> {
        generate::show(wiki, ctx, self.section.as_deref())
    }
}
