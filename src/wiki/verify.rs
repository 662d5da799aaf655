//! `verify`: the deep check of the store against itself and the tree.

use schemars::JsonSchema;
use serde::Serialize;

use super::prepared::PreparedPage;
use super::put;
use super::restore;
use super::root::Wiki;
use super::session::{LOCK_WAIT, Look};
use super::sources;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::search::Analysis;
use crate::store::index::{self, ExpectedPostings, IndexSet};
use crate::store::{self, StoreError, View};
use crate::tree::Tree;

/// One thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyFinding {
    /// Where: a table and key, or a path.
    pub subject: String,
    /// What is wrong.
    pub message: String,
}

/// What `verify` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyReport {
    /// Whether everything holds.
    pub sound: bool,
    /// What does not.
    pub findings: Vec<VerifyFinding>,
    /// Sources whose bytes were hashed.
    pub sources_checked: u64,
    /// Page versions whose bytes were hashed.
    pub versions_checked: u64,
    /// Sections whose postings were compared with their text.
    pub sections_checked: u64,
}

impl Wiki {
    /// Checks every row of the store, every hash of what it preserves, what the rows say about
    /// each other, the index against its pages, and the sources in the tree. Changes nothing.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_TOO_NEW`; `ABORTED`. Damage is a finding.
    pub fn verify(&self, ctx: &Context) -> Result<VerifyReport> {
        ctx.check()?;
        let tree = self.tree()?;
        let mut report = VerifyReport {
            sound: true,
            findings: Vec::new(),
            sources_checked: 0,
            versions_checked: 0,
            sections_checked: 0,
        };
        match self.look(&tree)? {
            Look::Ready(_, snapshot) => {
                let analysis = super::session::analysis_of(&snapshot)?;
                let found = store::verify(&snapshot, true, ctx)?;
                report.versions_checked = found.contents;
                for fault in found.faults {
                    report.find(format!("table {}", fault.table), fault.what);
                }
                check_pages(ctx, &snapshot, analysis, &mut report)?;
            }
            Look::Absent => report.find(
                ".store/wiki.redb".to_owned(),
                "there is no store; `llmwiki reindex` builds it".to_owned(),
            ),
            Look::NeedsRepair => report.find(
                ".store/wiki.redb".to_owned(),
                "a writer was killed; the next write or search mends it".to_owned(),
            ),
            Look::TooOld => report.find(
                ".store/wiki.redb".to_owned(),
                "it has an older schema; the next write migrates it".to_owned(),
            ),
            Look::Damaged(reason) => report.find(
                ".store/wiki.redb".to_owned(),
                format!("it is damaged ({reason}); `llmwiki reindex` builds it anew"),
            ),
        }
        check_sources(ctx, &tree, &mut report)?;
        self.check_lost(ctx, &tree, &mut report)?;
        report.sound = report.findings.is_empty();
        Ok(report)
    }

    /// Finds what the store has and the tree lacks. Looked at while nobody writes, since each
    /// write is in the store a moment before it is in the tree.
    fn check_lost(&self, ctx: &Context, tree: &Tree, report: &mut VerifyReport) -> Result<()> {
        // Where it cannot be had in this time, a write may be taken for a loss.
        let lock = tree.lock_to_look(LOCK_WAIT, ctx).ok();
        ctx.check()?;
        let Look::Ready(_, snapshot) = self.look(tree)? else {
            return Ok(());
        };
        let lost = restore::lost(tree, &snapshot)?;
        drop(lock);
        for path in lost {
            let message = if snapshot.intent(path.as_bytes())?.is_some() {
                "a committed change has not reached the tree; the next command that writes does it"
            } else if path.as_bytes().starts_with(b"sources/") {
                "the store has this source and the tree lacks it; `llmwiki restore --missing` \
                 brings it back"
            } else {
                "the store has this page and the tree lacks it; `llmwiki restore --missing` brings \
                 it back, any other command takes it for deleted"
            };
            report.find(path.to_string(), message.to_owned());
        }
        Ok(())
    }
}

impl VerifyReport {
    fn find(&mut self, subject: String, message: String) {
        self.findings.push(VerifyFinding { subject, message });
    }
}

/// Compares what the store derived from each page with what its text says now.
fn check_pages(
    ctx: &Context,
    view: &View,
    analysis: Analysis,
    report: &mut VerifyReport,
) -> Result<()> {
    let mut expected = ExpectedPostings::default();
    let total = view.meta().page_count;
    for (done, row) in (1..).zip(view.pages("", None)) {
        ctx.check()?;
        // Rows that cannot be read were reported above, table by table.
        let Some((id, record)) = sound(row)? else {
            continue;
        };
        let Some(Some(bytes)) = sound(view.blob(&record.sha256))? else {
            continue;
        };
        let subject = format!("page {id}");
        let prepared = match PreparedPage::new(analysis, id.clone(), bytes) {
            Ok(prepared) => prepared,
            Err(error) => {
                report.find(subject, format!("its text is no page: {error}"));
                continue;
            }
        };
        let mut sections = record.sections.len() == prepared.sections.len();
        for (&number, section) in record.sections.iter().zip(&prepared.sections) {
            sections &= holds(view.section(number), &put::record_of(&id, section))?;
            expected.add(number, section);
            report.sections_checked += 1;
        }
        for (what, same) in [
            ("links", holds(view.links_from(&id), &prepared.links)?),
            (
                "citations",
                holds(view.citations_of(&id), &prepared.citations)?,
            ),
            ("names", holds(view.names(&id), &prepared.names)?),
            ("sections", sections),
        ] {
            if !same {
                let message = format!("its {what} do not say what its text says");
                report.find(subject.clone(), message);
            }
        }
        ctx.progress("checking pages", done, Some(total));
    }
    for problem in index::check_against(view, IndexSet::Pages, &expected)?.problems {
        report.find("index".to_owned(), problem);
    }
    Ok(())
}

/// A row, or none when it is damaged.
fn sound<T>(row: Result<T, StoreError>) -> Result<Option<T>> {
    match row {
        Ok(row) => Ok(Some(row)),
        Err(error) if error.is_damage() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a row is there and says this. One that is damaged does not.
fn holds<T: PartialEq>(row: Result<Option<T>, StoreError>, wanted: &T) -> Result<bool> {
    Ok(sound(row)?.flatten().as_ref() == Some(wanted))
}

/// Hashes every source in the tree.
fn check_sources(ctx: &Context, tree: &Tree, report: &mut VerifyReport) -> Result<()> {
    let entries = tree.source_names()?.unwrap_or_default();
    let total = entries.len() as u64;
    for (done, entry) in (1..).zip(&entries) {
        ctx.check()?;
        let Some(id) = entry.name_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        report.sources_checked += 1;
        match sources::examine(tree, id) {
            Ok(_) => {}
            Err(error) if error.code() == ErrorCode::Aborted => return Err(error),
            Err(error) => report.find(format!("sources/{id}"), Error::message(&error).to_owned()),
        }
        ctx.progress("checking sources", done, Some(total));
    }
    Ok(())
}
