//! Which page leads to which, and what each rests on: all of it, from one snapshot.

use std::collections::{BTreeMap, BTreeSet};

use super::prepared::link_of;
use super::root::Wiki;
use crate::context::Context;
use crate::error::Result;
use crate::id::{PageId, SourceId};
use crate::page::{PageNames, Resolution, resolve};

/// A page with what it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphPage {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Places in the list of the pages that it links to, itself left out, each once.
    pub links: Vec<usize>,
    /// The sources that it cites in its frontmatter.
    pub sources: Vec<SourceId>,
}

/// All pages, and what they rest on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkGraph {
    /// The pages, in id order.
    pub pages: Vec<GraphPage>,
    /// Names of the sources that are there.
    pub sources: BTreeMap<SourceId, String>,
}

impl Wiki {
    /// The pages with their links among each other.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; those of the store.
    pub fn link_graph(&self, ctx: &Context) -> Result<LinkGraph> {
        self.mending(ctx, || {
            let reading = self.reading(ctx)?;
            let mut ids = Vec::new();
            let mut pages = Vec::new();
            // In memory, since each link asks for several names.
            let mut names = PageNames::default();
            for row in reading.snapshot.pages("", None) {
                let (id, page) = row?;
                names.insert(id.clone(), &page.title);
                pages.push(GraphPage {
                    id: id.to_string(),
                    title: page.title,
                    links: Vec::new(),
                    sources: page.sources,
                });
                ids.push(id);
            }
            let places: BTreeMap<&PageId, usize> =
                ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
            for (at, id) in ids.iter().enumerate() {
                ctx.check()?;
                let Some(links) = reading.snapshot.links_from(id)? else {
                    continue;
                };
                let mut found = BTreeSet::new();
                for link in &links.links {
                    if let Resolution::Page(to) = resolve(id, &link_of(link), &names)
                        && let Some(&to) = places.get(&to)
                        && to != at
                    {
                        found.insert(to);
                    }
                }
                pages[at].links = found.into_iter().collect();
            }
            let cited: BTreeSet<SourceId> = pages
                .iter()
                .flat_map(|page| page.sources.iter().copied())
                .collect();
            let mut sources = BTreeMap::new();
            for id in cited {
                if let Some(source) = reading.snapshot.source(id)? {
                    sources.insert(id, source.name);
                }
            }
            Ok(LinkGraph { pages, sources })
        })
    }
}
