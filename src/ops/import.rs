//! `import`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::Result;
use crate::wiki::{ImportReport, Wiki};

/// Take in a stream of sources and pages, one JSON object a line
///
/// A line is `{"op":"add_source","name","content","mediaType"?,"origin"?,"id"?}` or
/// `{"op":"upsert_page","id","title","summary","sources","body"}`. One that cannot be taken in is
/// counted and named, and the rest goes on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Import {
    /// The stream.
    pub jsonl: String,
    /// Stop at the first line that cannot be taken in.
    #[serde(default)]
    pub strict: bool,
}

impl Operation for Import {
    const NAME: &'static str = "import";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    type Report = ImportReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<ImportReport> {
        wiki.import_jsonl(ctx, &mut self.jsonl.as_bytes(), self.strict)
    }
}
