//! Links between pages, resolved against one state of the store.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::prepared::{link_of, needles_of_page};
use crate::error::Result;
use crate::id::PageId;
use crate::page::{PageLookup, Resolution, resolve};
use crate::store::{NameKind, StoreError, View};

/// Looks pages up in the store. What fails is kept and told at the end, since resolving a link is
/// a function of values.
pub(super) struct Lookup<'a> {
    view: &'a View,
    failed: RefCell<Option<StoreError>>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(view: &'a View) -> Self {
        Self {
            view,
            failed: RefCell::new(None),
        }
    }

    fn keep<T: Default>(&self, found: std::result::Result<T, StoreError>) -> T {
        found.unwrap_or_else(|error| {
            self.failed.borrow_mut().get_or_insert(error);
            T::default()
        })
    }

    /// The pages that link to `id`, itself left out. Only links that may mean it are resolved.
    pub(super) fn backlinks(&self, id: &PageId) -> Result<BTreeSet<PageId>> {
        let page = self.view.page(id)?;
        let title = page.as_ref().map(|page| page.title.as_str());
        let mut candidates = BTreeSet::new();
        for needle in &needles_of_page(id.base_name(), title) {
            candidates.extend(self.view.pages_linking(needle)?);
        }
        candidates.remove(id);
        let mut found = BTreeSet::new();
        for from in candidates {
            let Some(links) = self.view.links_from(&from)? else {
                continue;
            };
            let leads_here = links
                .links
                .iter()
                .any(|link| resolve(&from, &link_of(link), self) == Resolution::Page(id.clone()));
            if leads_here {
                found.insert(from);
            }
        }
        self.told()?;
        Ok(found)
    }

    /// What failed so far.
    pub(super) fn told(&self) -> Result<()> {
        match self.failed.take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

impl PageLookup for Lookup<'_> {
    fn exists(&self, id: &PageId) -> bool {
        self.keep(self.view.page(id)).is_some()
    }

    fn by_base_name(&self, folded: &str) -> Vec<PageId> {
        self.keep(self.view.pages_named(NameKind::BaseName, folded))
    }

    fn by_title(&self, folded: &str) -> Vec<PageId> {
        self.keep(self.view.pages_named(NameKind::Title, folded))
    }
}
