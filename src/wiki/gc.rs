//! `gc`: snapshots that were preserved for generated pages and that nothing cites any more.
//!
//! Evidence is never removed but by name; what is removed here is evidence of nothing: made by the
//! engine, and named by no page, no page file that is kept out, and no revision of the history, so
//! that everything that can still be read keeps what it cites.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::adopt::stamp_path;
use super::root::Wiki;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, SourceId};
use crate::store::View;
use crate::tree::{Durability, RelPath, Tree};

/// How the origin of a snapshot begins.
pub const SNAPSHOT_ORIGIN: &str = "code:";
/// Largest page file that is looked through for ids.
const MAX_PAGE_BYTES: u64 = 64 << 20;

/// A snapshot that nothing cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UncitedSnapshot {
    /// Id of the source.
    pub id: String,
    /// The file that it is a snapshot of.
    pub name: String,
    /// Its length.
    pub byte_count: u64,
}

/// What `gc` found, and did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcReport {
    /// Whether they were removed; otherwise they would be.
    pub removed: bool,
    /// Snapshots that nothing cites, by id.
    pub snapshots: Vec<UncitedSnapshot>,
    /// Sum of their lengths.
    pub byte_count: u64,
    /// Snapshots that are cited and stay.
    pub kept: u64,
}

impl Wiki {
    /// Finds snapshots of code that nothing cites; with `remove`, removes them.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; `STORE_BUSY` where changed page files are not taken in yet; those of the
    /// store.
    pub fn gc(&self, ctx: &Context, remove: bool) -> Result<GcReport> {
        if !remove {
            let reading = self.reading(ctx)?;
            return Ok(report(ctx, &reading.tree, &reading.snapshot)?.0);
        }
        self.tree()?;
        if self.reading(ctx)?.pending > 0 {
            return Err(Error::new(
                ErrorCode::StoreBusy,
                "page files that were just changed are not taken in yet, and may cite snapshots",
            )
            .with_hint("try again in some seconds"));
        }
        self.mending(ctx, || {
            let writing = self.writing_existing(ctx)?;
            let mut batch = writing.batch()?;
            let (mut found, ids) = report(ctx, &writing.tree, &batch)?;
            if found.snapshots.is_empty() {
                found.removed = true;
                return Ok(found);
            }
            let texts = texts(&batch)?;
            for &id in &ids {
                batch.remove_source(id)?;
                batch.remove_stamp(&stamp_path(id))?;
                // The same bytes may be the text of a page.
                if !texts.contains(&id.hash()) {
                    batch.remove_blob(&id.hash())?;
                }
            }
            writing.commit(batch)?;
            // A folder that is left behind here is taken in again, and found by the next call.
            for id in ids {
                let folder = RelPath::new(format!("sources/{id}"))?;
                if let Some(out) = writing.tree.take_dir(&folder, Durability::Batch)? {
                    writing.tree.remove_staged(&out)?;
                }
            }
            writing.tree.sync_fs()?;
            found.removed = true;
            Ok(found)
        })
    }
}

/// What nothing cites, with the ids.
fn report(ctx: &Context, tree: &Tree, view: &View) -> Result<(GcReport, Vec<SourceId>)> {
    let cited = cited(ctx, tree, view)?;
    let mut report = GcReport {
        removed: false,
        snapshots: Vec::new(),
        byte_count: 0,
        kept: 0,
    };
    let mut ids = Vec::new();
    for row in view.sources(None) {
        let (id, source) = row?;
        let is_ours = |origin: &Option<String>| {
            origin
                .as_deref()
                .is_some_and(|origin| origin.starts_with(SNAPSHOT_ORIGIN))
        };
        // Bytes that somebody captured as well are theirs.
        if !is_ours(&source.origin)
            || !view
                .source_events(id)?
                .iter()
                .all(|event| is_ours(&event.origin))
        {
            continue;
        }
        if cited.contains(&id) || !view.pages_citing(id)?.is_empty() {
            report.kept += 1;
            continue;
        }
        ids.push(id);
        report.byte_count += source.byte_count;
        report.snapshots.push(UncitedSnapshot {
            id: id.to_string(),
            name: source.name,
            byte_count: source.byte_count,
        });
    }
    Ok((report, ids))
}

/// Hashes of all texts of pages, of now and before.
fn texts(view: &View) -> Result<BTreeSet<ContentHash>> {
    let mut texts = BTreeSet::new();
    for row in view.revisions(0) {
        texts.extend(row?.1.sha256);
    }
    for row in view.pages("", None) {
        texts.insert(row?.1.sha256);
    }
    Ok(texts)
}

/// Ids that any text of a page names, of now or before, or a page file that is kept out.
fn cited(ctx: &Context, tree: &Tree, view: &View) -> Result<BTreeSet<SourceId>> {
    let mut cited = BTreeSet::new();
    let texts = texts(view)?;
    let count = texts.len() as u64;
    for (done, hash) in (1..).zip(&texts) {
        ctx.check()?;
        ctx.progress("looking through the history", done, Some(count));
        if let Some(text) = view.blob(hash)? {
            ids_in(&text, &mut cited);
        }
    }
    for row in view.skipped() {
        let (path, _) = row?;
        if let Ok(path) = RelPath::new(path)
            && let Ok(Some(file)) = tree.read(&path, MAX_PAGE_BYTES)
        {
            ids_in(&file.bytes, &mut cited);
        }
    }
    Ok(cited)
}

/// Adds each run of 64 lower-case hexadecimal digits: whatever it stands for in the text, the
/// source of that id stays.
fn ids_in(text: &[u8], ids: &mut BTreeSet<SourceId>) {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    for run in text.split(|byte| !is_digit(byte)) {
        if let Ok(run) = std::str::from_utf8(run)
            && let Ok(id) = SourceId::parse(run)
        {
            ids.insert(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_wherever_they_stand() {
        let (a, b) = ("a".repeat(64), "0".repeat(64));
        let mut ids = BTreeSet::new();
        ids_in(
            format!(
                "x \"{a}\" (llmwiki://source/{b}#L1) {a}0 {}",
                "A".repeat(64)
            )
            .as_bytes(),
            &mut ids,
        );
        let found: Vec<String> = ids.iter().map(SourceId::to_string).collect();
        assert_eq!(found, [b, a]);
    }
}
