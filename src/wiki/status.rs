//! `status`: what is there, without changing it.

use schemars::JsonSchema;
use serde::Serialize;

use super::adopt;
use super::code_find::CodeStatus;
use super::root::Wiki;
use super::session::{Look, Reading, analysis_of, is_built_by};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::SourceId;
use crate::store::SCHEMA_VERSION;
use crate::tree::{self, Flow, Kind, RelPath, STORE_FILE, Tree, TreeError};

/// State of the search index.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// Whether there is an index.
    pub present: bool,
    /// Whether it says what the tree says.
    pub fresh: bool,
    /// Version of its format, when present.
    pub format_version: Option<u32>,
    /// Number of indexed sections.
    pub section_count: u64,
}

/// State of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreStatus {
    /// Schema version.
    pub schema_version: u32,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Name of the analysis that built the index.
    pub analysis: String,
}

/// A file that was kept out of the index, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedFile {
    /// Path relative to the root; bytes that are not UTF-8 are escaped.
    pub path: String,
    /// Stable code of the reason, such as `INVALID_PAGE`.
    pub code: String,
    /// The cause in words.
    pub reason: String,
}

/// What `status` says. Counts are of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// Whether there is a wiki at the root.
    pub initialized: bool,
    /// The root directory.
    pub root: String,
    /// Number of preserved sources.
    pub source_count: u64,
    /// Number of page files.
    pub page_count: u64,
    /// Text of `schema.md`; null when there is none.
    pub schema_text: Option<String>,
    /// State of the search index.
    pub index: IndexStatus,
    /// State of the store; null when there is none.
    pub store: Option<StoreStatus>,
    /// What is indexed of the project's code; null when it never was.
    pub code: Option<CodeStatus>,
    /// Changes in the tree that the store has not taken in.
    pub pending: u64,
    /// Files kept out of the index.
    pub skipped: Vec<SkippedFile>,
}

impl Wiki {
    /// Reports the state of the wiki. Adopts nothing and changes nothing.
    ///
    /// # Errors
    /// `UNSAFE_FILESYSTEM` when the root is not a plain directory, or for a symbolic link in
    /// `pages` or `sources`; `INVALID_PAGE` when `schema.md` is not UTF-8.
    pub fn status(&self, ctx: &Context) -> Result<StatusReport> {
        self.status_with(ctx, false)
    }

    /// As [`Wiki::status`]; with `skipped_code`, each file of the project that is not indexed is
    /// named.
    ///
    /// # Errors
    /// As [`Wiki::status`].
    pub fn status_with(&self, ctx: &Context, skipped_code: bool) -> Result<StatusReport> {
        ctx.check()?;
        let Some(tree) = self.find_tree()? else {
            return Ok(StatusReport {
                initialized: false,
                root: self.root().display().to_string(),
                source_count: 0,
                page_count: 0,
                schema_text: None,
                index: IndexStatus::default(),
                store: None,
                code: None,
                pending: 0,
                skipped: Vec::new(),
            });
        };
        let schema = tree.read(&RelPath::new("schema.md")?, MAX_SCHEMA_BYTES)?;
        let schema_text = schema
            .map(|file| String::from_utf8(file.bytes))
            .transpose()
            .map_err(|error| {
                Error::new(
                    ErrorCode::InvalidPage,
                    format!("schema.md is not UTF-8: {error}"),
                )
                .with_hint("save schema.md as UTF-8")
            })?;
        let counts = count(&tree)?;
        let mut report = StatusReport {
            initialized: true,
            root: tree.path().display().to_string(),
            source_count: counts.sources,
            page_count: counts.pages,
            schema_text,
            index: IndexStatus::default(),
            store: None,
            code: None,
            pending: 0,
            skipped: counts.misfits,
        };
        let bytes = tree.store_stat(STORE_FILE)?.map_or(0, |stamp| stamp.size);
        match self.look(&tree)? {
            // What one process has in memory is no state of the wiki.
            Look::Ready(store, _) if store.is_in_memory() => return Ok(report),
            Look::Ready(store, snapshot) => {
                let analysis = analysis_of(&snapshot)?;
                let is_ours = is_built_by(&snapshot, self.analysis());
                let meta = snapshot.meta().clone();
                let difference = adopt::scan(&tree, &snapshot)?;
                report.pending = difference.count();
                report.index = IndexStatus {
                    present: true,
                    fresh: report.pending == 0 && is_ours,
                    format_version: Some(SCHEMA_VERSION),
                    section_count: meta.section_count,
                };
                report.store = Some(StoreStatus {
                    schema_version: meta.schema_version,
                    bytes,
                    analysis: analysis.name().to_owned(),
                });
                let (misfits, link) = (difference.misfits, difference.link);
                let pending = report.pending;
                let reading = Reading {
                    tree,
                    store,
                    snapshot,
                    analysis,
                    pending,
                    misfits,
                    link,
                };
                report.skipped.extend(reading.skipped()?);
                report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
                report.skipped.dedup_by(|a, b| a.path == b.path);
            }
            Look::Absent => return Ok(report),
            Look::NeedsRepair | Look::TooOld | Look::Damaged(_) => {
                report.index.present = true;
                return Ok(report);
            }
        }
        report.code = self.code_status(ctx, skipped_code)?;
        Ok(report)
    }
}

/// Largest `schema.md` that is shown.
const MAX_SCHEMA_BYTES: u64 = 16 << 20;

#[derive(Default)]
struct Counts {
    sources: u64,
    pages: u64,
    misfits: Vec<SkippedFile>,
}

/// Counts page files and whole sources of the tree.
fn count(tree: &Tree) -> Result<Counts> {
    let mut counts = Counts::default();
    let misfit = |path: &[u8], reason: String| SkippedFile {
        path: tree::escape(path),
        code: ErrorCode::UnsafeFilesystem.as_str().to_owned(),
        reason,
    };
    let mut link: Option<TreeError> = None;
    let mut refuse = |path: &[u8]| {
        link = Some(TreeError::Symlink {
            path: tree::escape(path),
        });
        Flow::Stop
    };
    tree.walk(&RelPath::pages(), &mut |entry| match entry.kind {
        Kind::Symlink => refuse(entry.path),
        Kind::File => {
            counts.pages += u64::from(entry.path.ends_with(b".md"));
            Flow::Continue
        }
        Kind::Directory if !entry.path.ends_with(b".md") => Flow::Continue,
        kind => {
            counts
                .misfits
                .push(misfit(entry.path, format!("is {kind}, not a page file")));
            Flow::Continue
        }
    })?;
    // The files of a source come one after another.
    let mut present: Option<(SourceId, [bool; 2])> = None;
    let mut sources: Vec<(SourceId, [bool; 2])> = Vec::new();
    tree.walk(&RelPath::sources(), &mut |entry| {
        if entry.kind == Kind::Symlink {
            return refuse(entry.path);
        }
        let below = entry.path.strip_prefix(b"sources/").unwrap_or(entry.path);
        let mut parts = std::str::from_utf8(below)
            .unwrap_or_default()
            .splitn(2, '/');
        let Some(id) = parts.next().and_then(|name| SourceId::parse(name).ok()) else {
            return Flow::Continue;
        };
        if present.as_ref().is_none_or(|(known, _)| *known != id) {
            sources.extend(present.take());
            present = (entry.kind == Kind::Directory).then_some((id, [false; 2]));
        }
        let Some((_, files)) = &mut present else {
            return Flow::Continue;
        };
        match parts.next() {
            Some("content") if entry.kind == Kind::File => files[0] = true,
            Some("metadata.json") if entry.kind == Kind::File => files[1] = true,
            _ => {}
        }
        Flow::Continue
    })?;
    sources.extend(present);
    if let Some(link) = link {
        return Err(link.into());
    }
    for (id, files) in sources {
        match files {
            [true, true] => counts.sources += 1,
            [content, _] => counts.misfits.push(SkippedFile {
                path: format!("sources/{id}"),
                code: ErrorCode::SourceNotFound.as_str().to_owned(),
                reason: format!(
                    "it is incomplete: no {}",
                    if content { "metadata.json" } else { "content" }
                ),
            }),
        }
    }
    Ok(counts)
}
