//! `ask` and `trust`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Scope};
use crate::ask::{self, AskReport, AskRequest, Within};
use crate::config;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::wiki::Wiki;

/// Answer a question about the code base, with citations that hold
///
/// Citations name file and line, and are checked against the files as they are now. Without a model
/// the answer is the best evidence itself; a model that fails never fails the command. Only a
/// model that was configured or named is used. Nothing relevant: exit status 1.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Ask {
    /// The question.
    pub question: String,
    /// How many excerpts are looked at, 1 to 50; 6 when not given.
    #[serde(default)]
    pub k: Option<usize>,
    /// What is looked through: all (the default), code, or pages.
    #[serde(default = "everything", rename = "in")]
    pub scope: Scope,
    /// Answer the evidence itself, and ask no model.
    #[serde(default)]
    pub retrieve_only: bool,
    /// Name of the model to use.
    #[serde(default)]
    pub model: Option<String>,
    /// Use no model.
    #[serde(default)]
    pub no_model: bool,
}

fn everything() -> Scope {
    Scope::All
}

impl Operation for Ask {
    const NAME: &'static str = "ask";
    const EFFECT: Effect = Effect::ReachesOut;
    const MCP: Option<&'static str> = Some("llmwiki_ask");
    const NARROW: &'static str = "A smaller k, or a narrower question, gives a shorter answer.";
    type Report = AskReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<AskReport> {
        ask::ask(
            wiki,
            ctx,
            &AskRequest {
                question: self.question,
                k: self.k,
                within: match self.scope {
                    Scope::All => Within::All,
                    Scope::Code => Within::Code,
                    Scope::Pages => Within::Pages,
                },
                retrieve_only: self.retrieve_only,
                model: self.model,
                no_model: self.no_model,
            },
        )
    }
}

/// Let the wiki's own config.toml name models, as it is now
///
/// A configuration that came with a project can name programs to run and servers to send code to;
/// it counts only where you said so. A changed file must be trusted again. What is trusted is kept
/// in your own configuration directory.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Trust {
    /// No longer trust it.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub revoke: bool,
}

/// What `trust` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustReport {
    /// The configuration file.
    pub file: String,
    /// Whether it is trusted now.
    pub trusted: bool,
    /// Whether anything changed.
    pub changed: bool,
}

impl Operation for Trust {
    const NAME: &'static str = "trust";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    type Report = TrustReport;

    fn run(self, wiki: &Wiki, _: &Context) -> Result<TrustReport> {
        let directory = wiki.config().user_directory.as_deref().ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidConfig,
                "there is no configuration directory of yours",
            )
            .with_hint("set HOME or XDG_CONFIG_HOME")
        })?;
        let changed = config::trust(directory, wiki.root(), self.revoke)?;
        let file = wiki.root().join(config::CONFIG_FILE);
        Ok(TrustReport {
            file: file.display().to_string(),
            trusted: !self.revoke,
            changed,
        })
    }
}
