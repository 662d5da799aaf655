//! Which page leads where: links resolved against the pages that exist. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::facts::{PageFacts, PageFile, PageName};
use crate::id::{PageId, fold_case};
use crate::page::{Link, PageLookup, Resolution, resolve};

/// A link and what it leads to.
#[derive(Debug, Clone)]
pub(crate) struct LinkFact {
    /// The link as written.
    pub(crate) link: Link,
    /// Where it leads, once all pages are known.
    pub(crate) resolution: Resolution,
}

/// The sound pages of the tree, found by id, by base name and by title.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    ids: HashSet<PageId>,
    by_base_name: HashMap<String, Vec<PageId>>,
    by_title: HashMap<String, Vec<PageId>>,
}

impl Pages {
    /// Takes one page with its folded title.
    pub(crate) fn insert(&mut self, id: &PageId, folded_title: &str) {
        self.by_base_name
            .entry(fold_case(id.base_name()))
            .or_default()
            .push(id.clone());
        self.by_title
            .entry(folded_title.to_owned())
            .or_default()
            .push(id.clone());
        self.ids.insert(id.clone());
    }

    /// Where `link` of page `from` leads.
    pub(crate) fn resolve(&self, from: &PageId, link: &Link) -> Resolution {
        resolve(from, link, self)
    }
}

impl PageLookup for Pages {
    fn exists(&self, id: &PageId) -> bool {
        self.ids.contains(id)
    }

    fn by_base_name(&self, folded: &str) -> Vec<PageId> {
        self.by_base_name.get(folded).cloned().unwrap_or_default()
    }

    fn by_title(&self, folded: &str) -> Vec<PageId> {
        self.by_title.get(folded).cloned().unwrap_or_default()
    }
}

/// Groups with more than one member, by key.
pub(crate) fn shared<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, Vec<V>> {
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        groups.entry(key).or_default().push(value);
    }
    groups.retain(|_, members| members.len() > 1);
    groups
}

/// Resolves every link of every page against the sound pages among them.
pub(crate) fn link_up(pages: &mut [PageFacts]) {
    let mut known = Pages::default();
    for page in pages.iter() {
        if let Some((id, text)) = page.page() {
            known.insert(id, &text.folded_title);
        }
    }
    for page in pages {
        if let (PageName::Id(id), PageFile::Page(text)) = (&page.name, &mut page.file) {
            for fact in &mut text.links {
                fact.resolution = known.resolve(id, &fact.link);
            }
        }
    }
}
