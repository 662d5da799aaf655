//! `restore`: from the store back to the tree, plan first.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::adopt::{self, Patience};
use super::import::stops_everything;
use super::pages::{Expectation, check_collision, find_revision};
use super::prepared::PreparedPage;
use super::root::Wiki;
use super::session::{Look, Writing};
use super::sources::{self, Events, Found};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, PageId, SourceId};
use crate::store::{How, StoreError, View};
use crate::tree::{Durability, RelPath, Tree};

/// What to bring back.
#[derive(Debug, Clone)]
pub enum RestoreRequest {
    /// A page, at its newest text or at a revision.
    Page {
        /// Id of the page.
        id: PageId,
        /// Sequence number or hash prefix.
        revision: Option<String>,
    },
    /// Every page deleted at or after this moment.
    DeletedSince(Timestamp),
    /// A source whose folder is gone or damaged.
    Source(SourceId),
    /// Everything that the store has and the tree lacks.
    Missing,
}

/// One thing to bring back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreItem {
    /// Path relative to the root.
    pub path: String,
    /// SHA-256 of what is written there.
    pub sha256: String,
    /// What is done: `create`, `replace`, `unchanged`, or `refused`.
    pub action: String,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A plan, and whether it was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    /// What is brought back, in path order.
    pub items: Vec<RestoreItem>,
    /// Whether the plan was carried out.
    pub applied: bool,
}

/// What is to be written where.
#[derive(Debug, Clone)]
enum Step {
    Page { id: PageId, sha256: ContentHash },
    Source(SourceId),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Create,
    Replace,
    Unchanged,
    /// It cannot be brought back, for this reason; the rest is.
    Refused(String),
}

impl Action {
    fn name(&self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Unchanged => "unchanged",
            Self::Refused(_) => "refused",
        }
    }
}

impl Wiki {
    /// Brings back from the store what the tree lost. With `dry_run` it only says what it would
    /// do, and writes nothing at all. What is replaced stays in the history. Of several things,
    /// one that cannot come back is refused with its reason and stops nothing.
    ///
    /// # Errors
    /// `PAGE_NOT_FOUND`, `SOURCE_NOT_FOUND`, `NOT_INITIALIZED`; `STORE_BUSY`, `STORE_FULL`; for a
    /// single page or source what forbids to write it; `UNSAFE_FILESYSTEM` when a whole folder is
    /// gone and only a part of it is asked for.
    pub fn restore(
        &self,
        ctx: &Context,
        request: &RestoreRequest,
        dry_run: bool,
    ) -> Result<RestoreReport> {
        self.mending(ctx, || self.restore_once(ctx, request, dry_run))
    }

    fn restore_once(
        &self,
        ctx: &Context,
        request: &RestoreRequest,
        dry_run: bool,
    ) -> Result<RestoreReport> {
        ctx.check()?;
        if dry_run {
            let tree = self.tree()?;
            let Look::Ready(_, snapshot) = self.look(&tree)? else {
                return Err(Error::new(
                    ErrorCode::NotInitialized,
                    "there is no store to restore from",
                )
                .with_hint("`llmwiki search WORD` or `llmwiki reindex` builds it from the tree"));
            };
            let plan = plan(&tree, &snapshot, request)?;
            return Ok(report(&plan, false));
        }
        let writing = self.writing_existing(ctx)?;
        let brings_all = matches!(request, RestoreRequest::Missing);
        if !brings_all {
            for folder in [RelPath::sources(), RelPath::pages()] {
                if writing.tree.stat(&folder)?.is_none() {
                    self.must_not_be_lost(&writing.tree, &folder)?;
                }
            }
        }
        let mut plan = {
            let view = writing.store.read()?;
            plan(&writing.tree, &view, request)?
        };
        if brings_all {
            writing.forget_missing(&plan)?;
        }
        let is_single = matches!(
            request,
            RestoreRequest::Page { .. } | RestoreRequest::Source(_)
        );
        let total = plan.len() as u64;
        for (done, (step, action)) in (1..).zip(&mut plan) {
            ctx.check()?;
            if matches!(action, Action::Create | Action::Replace)
                && let Err(error) = writing.bring_back(step)
            {
                if is_single || stops_everything(error.code()) {
                    return Err(error);
                }
                *action = Action::Refused(error.message().to_owned());
            }
            ctx.progress("restoring", done, Some(total));
        }
        Ok(report(&plan, true))
    }
}

fn report(plan: &[(Step, Action)], applied: bool) -> RestoreReport {
    let mut items: Vec<RestoreItem> = plan
        .iter()
        .map(|(step, action)| {
            let (path, sha256) = match step {
                Step::Page { id, sha256 } => (format!("pages/{id}.md"), sha256.to_string()),
                Step::Source(id) => (format!("sources/{id}"), id.to_string()),
            };
            RestoreItem {
                path,
                sha256,
                action: action.name().to_owned(),
                reason: match action {
                    Action::Refused(reason) => Some(reason.clone()),
                    _ => None,
                },
            }
        })
        .collect();
    items.sort_by(|a, b| a.path.cmp(&b.path));
    RestoreReport { items, applied }
}

fn plan(tree: &Tree, view: &View, request: &RestoreRequest) -> Result<Vec<(Step, Action)>> {
    let mut steps = Vec::new();
    // Ids of this plan, folded: of two that collide only the first can come back.
    let mut planned = BTreeMap::new();
    let mut plan_page = |id: &PageId, sha256| -> Result<(Step, Action)> {
        let (step, action) = page_step(tree, id, sha256)?;
        if action != Action::Create {
            return Ok((step, action));
        }
        if let Some(other) = planned.get(&id.fold_key()) {
            let reason = format!("its id differs from {other} only by case or normalisation");
            return Ok((step, Action::Refused(reason)));
        }
        Ok(match check_collision(tree, view, id) {
            Ok(()) => {
                planned.insert(id.fold_key(), id.clone());
                (step, action)
            }
            Err(error) => (step, Action::Refused(error.message().to_owned())),
        })
    };
    match request {
        RestoreRequest::Page { id, revision } => {
            let sha256 = match revision {
                Some(wanted) => find_revision(view, id, wanted)?.1.sha256.ok_or_else(|| {
                    Error::new(
                        ErrorCode::PageNotFound,
                        format!("revision {wanted} of page {id} is a deletion"),
                    )
                    .with_hint("name an earlier revision")
                })?,
                None => newest_text(view, id)?.ok_or_else(|| {
                    Error::new(ErrorCode::PageNotFound, format!("page {id} has no history"))
                        .with_hint("`llmwiki history` lists what there was")
                })?,
            };
            let (step, action) = page_step(tree, id, sha256)?;
            if action == Action::Create {
                check_collision(tree, view, id)?;
            }
            steps.push((step, action));
        }
        RestoreRequest::DeletedSince(since) => {
            let since = since.as_millisecond();
            let mut deleted: Vec<PageId> = Vec::new();
            for row in view.revisions(0) {
                let (_, revision) = row?;
                if revision.sha256.is_none() && revision.at_ms >= since {
                    deleted.push(PageId::parse(&revision.page)?);
                }
            }
            deleted.sort();
            deleted.dedup();
            for id in deleted {
                if view.page(&id)?.is_none()
                    && let Some(sha256) = newest_text(view, &id)?
                {
                    steps.push(plan_page(&id, sha256)?);
                }
            }
        }
        RestoreRequest::Source(id) => {
            if view.source(*id)?.is_none() {
                return Err(Error::new(
                    ErrorCode::SourceNotFound,
                    format!("the store has no source {id}"),
                )
                .with_hint("`llmwiki list-sources` lists those that there are"));
            }
            steps.push(source_step(tree, *id)?);
        }
        RestoreRequest::Missing => {
            for row in view.sources(None) {
                let (step, action) = source_step(tree, row?.0)?;
                if action != Action::Unchanged {
                    steps.push((step, action));
                }
            }
            for row in view.pages("", None) {
                let (id, page) = row?;
                // A file that is there and differs is somebody's edit, and not missing.
                if tree.stat(&RelPath::page(id.as_str())?)?.is_none() {
                    steps.push(plan_page(&id, page.sha256)?);
                }
            }
        }
    }
    Ok(steps)
}

/// What the store has and the tree lacks altogether: sources, then pages.
///
/// # Errors
/// Those of the tree. What is wrong with rows is not told here.
pub(super) fn lost(tree: &Tree, view: &View) -> Result<Vec<RelPath>> {
    let sources = view.sources(None).filter_map(|row| {
        let (id, _) = row.ok()?;
        Some(RelPath::source(&id))
    });
    let mut lost = Vec::new();
    for path in sources {
        if tree.stat(&path)?.is_none() {
            lost.push(path);
        }
    }
    for (id, _) in view.pages("", None).filter_map(Result::ok) {
        let path = RelPath::page(id.as_str())?;
        if tree.stat(&path)?.is_none() {
            lost.push(path);
        }
    }
    Ok(lost)
}

fn page_step(tree: &Tree, id: &PageId, sha256: ContentHash) -> Result<(Step, Action)> {
    let there = tree.read(&RelPath::page(id.as_str())?, super::session::MAX_KEPT_BYTES)?;
    let action = match there {
        None => Action::Create,
        Some(file) if ContentHash::of(&file.bytes) == sha256 => Action::Unchanged,
        Some(_) => Action::Replace,
    };
    Ok((
        Step::Page {
            id: id.clone(),
            sha256,
        },
        action,
    ))
}

fn source_step(tree: &Tree, id: SourceId) -> Result<(Step, Action)> {
    let action = match sources::examine(tree, id) {
        Ok(_) => Action::Unchanged,
        Err(_) if tree.stat(&RelPath::source(&id))?.is_none() => Action::Create,
        Err(_) => Action::Replace,
    };
    Ok((Step::Source(id), action))
}

/// The newest text of a page in the history, whatever became of it.
fn newest_text(view: &View, id: &PageId) -> Result<Option<ContentHash>, StoreError> {
    let revisions = view.revisions_of(id)?;
    let text = |how: How, sha256: Option<ContentHash>| sha256.filter(|_| how != How::DISPLACED);
    Ok(revisions
        .into_iter()
        .rev()
        .find_map(|(_, revision)| text(revision.how, revision.sha256)))
}

impl Writing<'_> {
    /// Forgets that what is missing was in the tree. Else a restore that is killed half way would
    /// leave a tree in which the rest looks deleted.
    fn forget_missing(&self, plan: &[(Step, Action)]) -> Result<()> {
        let mut batch = self.batch()?;
        let mut any = false;
        for (step, action) in plan {
            if *action == Action::Create {
                any |= match step {
                    Step::Page { id, .. } => {
                        batch.remove_stamp(RelPath::page(id.as_str())?.as_bytes())?
                    }
                    Step::Source(id) => batch.remove_stamp(&adopt::stamp_path(*id))?,
                };
            }
        }
        if any {
            self.commit(batch)?;
        }
        Ok(())
    }

    fn bring_back(&self, step: &Step) -> Result<()> {
        match step {
            Step::Page { id, sha256 } => {
                let missing = || StoreError::Damaged {
                    what: format!("the text {sha256} of {id} is missing"),
                };
                let bytes = self.store.read()?.blob(sha256)?.ok_or_else(missing)?;
                match PreparedPage::new(self.analysis(), id.clone(), bytes.clone()) {
                    Ok(prepared) => {
                        self.restore_cited(&prepared.page.sources)?;
                        self.write_page(&prepared, Expectation::Any, How::RESTORED, "")?;
                    }
                    // A person's text that was never a valid page: it goes back as it was.
                    Err(_) => self.put_back(id, &bytes)?,
                }
            }
            Step::Source(id) => self.restore_source(*id)?,
        }
        Ok(())
    }

    /// Sources that a restored page cites come back with it.
    fn restore_cited(&self, cited: &[SourceId]) -> Result<()> {
        for &id in cited {
            if self.tree.stat(&RelPath::source(&id))?.is_none()
                && self.store.read()?.source(id)?.is_some()
            {
                self.restore_source(id)?;
            }
        }
        Ok(())
    }

    fn put_back(&self, id: &PageId, bytes: &[u8]) -> Result<()> {
        let path = RelPath::page(id.as_str())?;
        let staged = self.tree.stage(bytes, "page", Durability::Now)?;
        let out = self.tree.exchange(&staged, &path, Durability::Now)?;
        if let Some(old) = out.old {
            if let Some(file) = self
                .tree
                .read(&old.path(), super::session::MAX_KEPT_BYTES)?
            {
                let mut batch = self.store.write()?;
                let note = self.note(How::DISPLACED, "");
                super::put::keep_text(&mut batch, id, &file.bytes, &note)?;
                batch.commit()?;
            }
            self.tree.remove_staged(&old)?;
        }
        adopt::adopt(self, Patience::None)?;
        Ok(())
    }

    fn restore_source(&self, id: SourceId) -> Result<()> {
        let missing = |what: &str| StoreError::Damaged {
            what: format!("source {id} {what}"),
        };
        let view = self.store.read()?;
        let record = view.source(id)?.ok_or_else(|| missing("has no record"))?;
        let content = view
            .blob(&id.hash())?
            .ok_or_else(|| missing("has no bytes"))?;
        let events = view
            .source_events(id)?
            .into_iter()
            .map(sources::event_of)
            .collect();
        let events = Events {
            events,
            fault: None,
        };
        drop(view);
        let found = Found {
            metadata: sources::metadata_of(id, record),
            content,
            events,
        };
        self.publish_source(id, &found, Durability::Now)?;
        let mut batch = self.batch()?;
        batch.put_stamp(&adopt::stamp_path(id), &adopt::source_stamp(id))?;
        batch.remove_skipped(&adopt::stamp_path(id))?;
        self.commit(batch)?;
        Ok(())
    }
}
