//! Revisions: what happened to pages, newest first.

use schemars::JsonSchema;
use serde::Serialize;

use jiff::Timestamp;
use similar::TextDiff;

use super::root::Wiki;
use crate::context::{Context, rfc3339_millis};
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, PageId};
use crate::store::{RevisionRecord, StoreError, View};

/// Which revisions are wanted.
#[derive(Debug, Clone, Default)]
pub struct HistoryRequest {
    /// Only of this page; all pages otherwise.
    pub page: Option<PageId>,
    /// With a unified diff against the revision before.
    pub diff: bool,
    /// Only revisions before this sequence number.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: usize,
}

/// One revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionReport {
    /// Sequence number, local to this store.
    pub seq: u64,
    /// Hash that names the revision everywhere.
    pub id: String,
    /// Page that changed.
    pub page: String,
    /// SHA-256 of the new text; absent for a deletion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// When, RFC 3339, UTC.
    pub when: String,
    /// How: `written`, `deleted`, `adopted`, `vanished`, `displaced`, `restored`, `imported`.
    pub how: String,
    /// Who, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Why, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Lines added against the revision before.
    pub added: u64,
    /// Lines removed against the revision before.
    pub removed: u64,
    /// Unified diff, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Revisions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryReport {
    /// The revisions.
    pub revisions: Vec<RevisionReport>,
    /// Pass it as `before` to go on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

impl Wiki {
    /// Lists revisions, newest first.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; `PAGE_NOT_FOUND` for a page that never was.
    pub fn history(&self, ctx: &Context, request: &HistoryRequest) -> Result<HistoryReport> {
        self.mending(ctx, || self.history_once(ctx, request))
    }

    fn history_once(&self, ctx: &Context, request: &HistoryRequest) -> Result<HistoryReport> {
        let reading = self.reading(ctx)?;
        let view: &View = &reading.snapshot;
        let before = request.before.unwrap_or(u64::MAX);
        let numbers: Box<dyn Iterator<Item = u64>> = match &request.page {
            Some(id) => {
                let numbers = view.revision_numbers(id)?;
                if numbers.is_empty() {
                    return Err(Error::new(
                        ErrorCode::PageNotFound,
                        format!("page {id} has no history"),
                    )
                    .with_hint("`llmwiki list-pages` lists the pages that there are"));
                }
                Box::new(numbers.into_iter().rev())
            }
            None => Box::new((1..view.meta().next_revision.min(before)).rev()),
        };
        let mut revisions = Vec::new();
        let mut more = false;
        for seq in numbers.filter(|&seq| seq < before) {
            ctx.check()?;
            // Numbers that a salvage could not save stay empty.
            let Some(record) = view.revision(seq)? else {
                continue;
            };
            if revisions.len() == request.limit {
                more = true;
                break;
            }
            revisions.push(report(view, seq, record, request.diff)?);
        }
        let next = if more {
            revisions.last().map(|last| last.seq)
        } else {
            None
        };
        Ok(HistoryReport { revisions, next })
    }
}

fn report(
    view: &View,
    seq: u64,
    record: RevisionRecord,
    with_diff: bool,
) -> Result<RevisionReport> {
    let diff = if with_diff {
        Some(diff(view, seq, &record)?)
    } else {
        None
    };
    let some = |text: String| (!text.is_empty()).then_some(text);
    let when = Timestamp::from_millisecond(record.at_ms).unwrap_or_default();
    Ok(RevisionReport {
        seq,
        id: record.identity().to_string(),
        sha256: record.sha256.map(|hash| hash.to_string()),
        when: rfc3339_millis(when),
        how: record.how.name().to_owned(),
        added: u64::from(record.added),
        removed: u64::from(record.removed),
        diff,
        actor: some(record.actor),
        message: some(record.message),
        page: record.page,
    })
}

/// Unified diff of a revision against the one before it.
fn diff(view: &View, seq: u64, record: &RevisionRecord) -> Result<String> {
    let id = PageId::parse(&record.page)?;
    let before = view
        .revision_numbers(&id)?
        .into_iter()
        .rev()
        .find(|&number| number < seq);
    let before = match before {
        Some(number) => view.revision(number)?.and_then(|record| record.sha256),
        None => None,
    };
    let (old, new) = (text(view, before)?, text(view, record.sha256)?);
    let name = |hash: Option<ContentHash>| match hash {
        Some(_) => format!("pages/{id}.md"),
        None => "/dev/null".to_owned(),
    };
    Ok(TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(3)
        .header(&name(before), &name(record.sha256))
        .to_string())
}

fn text(view: &View, hash: Option<ContentHash>) -> Result<String> {
    let Some(hash) = hash else {
        return Ok(String::new());
    };
    let bytes = view.blob(&hash)?.ok_or_else(|| StoreError::Damaged {
        what: format!("the text {hash} is missing"),
    })?;
    // What a person put into a page's place need not be UTF-8.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
