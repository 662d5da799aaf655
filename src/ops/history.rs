//! `history`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, list_limit, page_id};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{HistoryReport, HistoryRequest, Wiki};

/// Show what happened to a page, or to all pages, newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct History {
    /// Id of the page; all pages when not given.
    #[serde(default)]
    pub page: Option<String>,
    /// With a unified diff against the revision before.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub diff: bool,
    /// Only revisions before this number, as the last answer named it in next.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "REVISION"))]
    pub before: Option<u64>,
    /// At most this many; 100 when not given.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub limit: Option<usize>,
}

impl Operation for History {
    const NAME: &'static str = "history";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = None;
    type Report = HistoryReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<HistoryReport> {
        let request = HistoryRequest {
            page: self.page.as_deref().map(page_id).transpose()?,
            diff: self.diff,
            before: self.before,
            limit: list_limit(self.limit)?,
        };
        wiki.history(ctx, &request)
    }
}
