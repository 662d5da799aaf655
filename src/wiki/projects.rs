//! What the store keeps of other projects: where they are, and what was read of them last.
//! What it means is the business of `federation`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::root::{Made, Wiki};
use super::session::{Look, may_answer_without_writing};
use crate::context::Context;
use crate::error::Result;
use crate::store::{CachedFile, ProjectPageRecord, ProjectRecord, View};

/// A page of another project to be kept: the project, the path there, the text.
pub(crate) type FetchedPage = (String, String, CachedFile);

impl Wiki {
    /// The projects that were added or found, by name; none where there is no wiki yet.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn projects(&self, ctx: &Context) -> Result<BTreeMap<String, ProjectRecord>> {
        self.with_projects(ctx, |view| Ok(view.projects().collect::<Result<_, _>>()?))
    }

    /// The pages at these paths of projects, as they were read last.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn project_pages(
        &self,
        ctx: &Context,
        wanted: &[(&str, String)],
    ) -> Result<Vec<Option<CachedFile>>> {
        self.with_projects(ctx, |view| {
            let pages = wanted.iter().map(|(project, path)| {
                let page = view.project_page(project, path)?;
                Ok(page.map(|page| page.text))
            });
            let mut pages: Vec<Option<CachedFile>> = pages.collect::<Result<_>>()?;
            pages.resize(wanted.len(), None);
            Ok(pages)
        })
    }

    fn with_projects<T: Default>(
        &self,
        ctx: &Context,
        read: impl Fn(&View) -> Result<T>,
    ) -> Result<T> {
        self.mending(ctx, || {
            let Some(tree) = self.find_tree()? else {
                return Ok(T::default());
            };
            match self.look(&tree)? {
                Look::Ready(_, snapshot) => read(&snapshot),
                Look::Absent => Ok(T::default()),
                // Mended first, as for every read.
                _ => read(&self.reading(ctx)?.snapshot),
            }
        })
    }

    /// Puts what is known of projects, and forgets others, in one transaction.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_BUSY`, `STORE_FULL`.
    pub(crate) fn put_projects(
        &self,
        ctx: &Context,
        put: &[(&str, &ProjectRecord)],
        remove: &[&str],
    ) -> Result<()> {
        self.mending(ctx, || {
            let writing = self.writing_existing(ctx)?;
            let mut batch = writing.batch()?;
            for name in remove {
                batch.remove_project(name)?;
            }
            for (name, record) in put {
                batch.put_project(name, record)?;
            }
            writing.commit(batch)?;
            Ok(())
        })
    }

    /// Keeps pages that were just read. Where nothing can be written now, they are not kept.
    ///
    /// # Errors
    /// Those of the store but for that.
    pub(crate) fn keep_project_pages(&self, ctx: &Context, pages: &[FetchedPage]) -> Result<()> {
        let Some(tree) = self.find_tree()?.filter(|_| !pages.is_empty()) else {
            return Ok(());
        };
        let kept = self
            .writing_for(ctx, tree, Made::default(), Duration::ZERO)
            .and_then(|writing| {
                let mut batch = writing.batch()?;
                for (project, path, text) in pages {
                    let page = ProjectPageRecord { text: text.clone() };
                    // One that was removed meanwhile has no pages any more.
                    if batch.project(project)?.is_some() {
                        batch.put_project_page(project, path, &page)?;
                    }
                }
                writing.commit(batch)?;
                Ok(())
            });
        match kept {
            Err(error) if may_answer_without_writing(&error) => {
                tracing::info!(%error, "pages of other projects are not kept");
                Ok(())
            }
            kept => kept,
        }
    }
}
