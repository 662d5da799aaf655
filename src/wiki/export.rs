//! Exports for other tools.

use schemars::JsonSchema;
use serde::Serialize;

use super::root::Wiki;
use crate::context::Context;
use crate::error::Result;
use crate::id::{ContentHash, PageId};
use crate::page::{self, Page};
use crate::search::index_v1;
use crate::store::StoreError;
use crate::tree::{Durability, RelPath};

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportReport {
    /// Paths that were written, relative to the root.
    pub files: Vec<String>,
    /// Number of pages in the export.
    pub page_count: u64,
    /// Number of sections in the export: of pages, or of the index of a `.wiki`.
    pub section_count: u64,
    /// Where they are, if not below the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Files beside them that are no part of the export.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

impl Wiki {
    /// Writes `.index/search.json` and `.index/state.json`, format version 1, byte for byte as
    /// `dsh-llmwiki` writes them, from all valid pages.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_BUSY`, `UNSAFE_FILESYSTEM`.
    pub fn export_index_v1(&self, ctx: &Context) -> Result<ExportReport> {
        self.mending(ctx, || self.export_index_v1_once(ctx))
    }

    fn export_index_v1_once(&self, ctx: &Context) -> Result<ExportReport> {
        let mut pages = Vec::new();
        self.each_page_once(ctx, &mut |id, page, bytes| {
            pages.push((id.clone(), ContentHash::of(bytes), page.clone()));
            Ok(())
        })?;
        let section_count = pages
            .iter()
            .map(|(_, _, page)| {
                page::sections_classic(&page.body, page.body_start_line).len() as u64
            })
            .sum();
        let exported = index_v1::export(&pages);
        let writing = self.writing_existing(ctx)?;
        let mut files = Vec::new();
        // The state names the hash of the index, so the index comes first.
        for (name, text) in [
            (".index/search.json", &exported.search_json),
            (".index/state.json", &exported.state_json),
        ] {
            let path = RelPath::new(name)?;
            let staged = writing
                .tree
                .stage(text.as_bytes(), "index", Durability::Now)?;
            let out = writing.tree.exchange(&staged, &path, Durability::Now)?;
            if let Some(old) = out.old {
                writing.tree.remove_staged(&old)?;
            }
            files.push(name.to_owned());
        }
        Ok(ExportReport {
            files,
            page_count: pages.len() as u64,
            section_count,
            directory: None,
            left: Vec::new(),
        })
    }

    /// Visits all valid pages in id order, with their texts, as they are in one moment.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `ABORTED`, and those of the visitor and the store.
    pub(crate) fn each_page(&self, ctx: &Context, visit: VisitPage<'_>) -> Result<()> {
        // A damaged store is found out, and mended, before the first page is shown.
        self.mending(ctx, || self.each_page_once(ctx, &mut |_, _, _| Ok(())))?;
        self.each_page_once(ctx, visit)
    }

    fn each_page_once(&self, ctx: &Context, visit: VisitPage<'_>) -> Result<()> {
        let reading = self.reading(ctx)?;
        for row in reading.snapshot.pages("", None) {
            ctx.check()?;
            let (id, record) = row?;
            let missing = |what: &str| StoreError::Damaged {
                what: format!("page {id} {what}"),
            };
            let bytes = reading
                .snapshot
                .blob(&record.sha256)?
                .ok_or_else(|| missing("has no text"))?;
            let page = page::parse_bytes(&bytes).map_err(|_| missing("is no page"))?;
            visit(&id, &page, &bytes)?;
        }
        Ok(())
    }
}

/// Takes a page with its text.
type VisitPage<'a> = &'a mut dyn FnMut(&PageId, &Page, &[u8]) -> Result<()>;
