//! `reindex`: all derived data made anew from the tree.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::adopt::{self, Patience};
use super::prepared::PreparedPage;
use super::put;
use super::root::Wiki;
use super::session::{Reading, Writing};
use super::status::SkippedFile;
use crate::context::Context;
use crate::error::Result;
use crate::id::PageId;
use crate::search::Analysis;
use crate::store::index::{self, BulkIndexer, IndexSet};
use crate::store::{Batch, SCHEMA_VERSION, StoreError};

/// What `reindex` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReindexReport {
    /// Number of indexed pages.
    pub page_count: u64,
    /// Number of indexed sections.
    pub section_count: u64,
    /// Version of the index format.
    pub format_version: u32,
    /// Files kept out of the index.
    pub skipped: Vec<SkippedFile>,
    /// What was lost when a damaged store had to be rebuilt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
}

impl Wiki {
    /// Takes in the tree as it is, half-saved files included, and makes all derived data anew.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_BUSY`, `STORE_TOO_NEW`, `STORE_FULL`, `UNSAFE_FILESYSTEM`.
    pub fn reindex(&self, ctx: &Context) -> Result<ReindexReport> {
        self.mending(ctx, || self.reindex_once(ctx))
    }

    fn reindex_once(&self, ctx: &Context) -> Result<ReindexReport> {
        let writing = self.writing_existing(ctx)?;
        let adopted = adopt::adopt(&writing, Patience::None)?;
        if let Some(link) = adopted.link {
            return Err(link.into());
        }
        let mut batch = writing.batch()?;
        rebuild_index(ctx, &mut batch, self.analysis())?;
        writing.commit(batch)?;
        let snapshot = writing.store.read()?;
        writing.drop_stale_v1_index(&snapshot)?;
        let meta = snapshot.meta().clone();
        let lost = writing.lost.clone();
        let reading = Reading {
            tree: writing.tree.clone(),
            store: Arc::clone(&writing.store),
            snapshot,
            analysis: self.analysis(),
            pending: adopted.pending,
            misfits: adopted.misfits,
            link: None,
        };
        Ok(ReindexReport {
            page_count: meta.page_count,
            section_count: meta.section_count,
            format_version: SCHEMA_VERSION,
            skipped: reading.skipped()?,
            lost,
        })
    }
}

/// Makes everything that is derived from pages anew, from the texts in the store.
///
/// # Errors
/// Those of the store; `ABORTED`.
pub(super) fn rebuild_index(ctx: &Context, batch: &mut Batch, analysis: Analysis) -> Result<()> {
    batch.clear_derived()?;
    index::clear(batch, IndexSet::Pages)?;
    batch.meta_mut().analysis = analysis.label();
    let ids: Vec<PageId> = batch
        .pages("", None)
        .map(|row| row.map(|(id, _)| id))
        .collect::<Result<_, _>>()?;
    let total = ids.len() as u64;
    let mut bulk = BulkIndexer::new();
    for (done, id) in (1..).zip(&ids) {
        ctx.check()?;
        let missing = || StoreError::Damaged {
            what: format!("the text of {id} is missing"),
        };
        let mut record = batch.page(id)?.ok_or_else(missing)?;
        let bytes = batch.blob(&record.sha256)?.ok_or_else(missing)?;
        let prepared = PreparedPage::new(analysis, id.clone(), bytes).map_err(|error| {
            StoreError::Damaged {
                what: format!("the text of {id} is no page: {error}"),
            }
        })?;
        batch.put_names(id, Some(&prepared.names))?;
        batch.put_links(id, Some(&prepared.links))?;
        batch.put_citations(id, Some(&prepared.citations))?;
        let mut rows = Vec::with_capacity(prepared.sections.len());
        for section in &prepared.sections {
            let number = batch.new_section_id()?;
            bulk.push(number, section)?;
            rows.push((number, put::record_of(id, section)));
        }
        batch.put_sections(rows.iter().map(|(number, row)| (*number, row)))?;
        record.sections = rows.into_iter().map(|(number, _)| number).collect();
        batch.put_page(id, &record)?;
        ctx.progress("indexing pages", done, Some(total));
    }
    bulk.finish(batch, IndexSet::Pages)?;
    Ok(())
}

/// Makes the index anew under the analysis that the configuration names.
///
/// # Errors
/// As [`rebuild_index`].
pub(super) fn change_analysis(writing: &Writing<'_>) -> Result<()> {
    let mut batch = writing.batch()?;
    rebuild_index(writing.ctx, &mut batch, writing.analysis())?;
    writing.commit(batch)?;
    Ok(())
}
