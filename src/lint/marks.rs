//! Whether the store says of a page what its text says. Both sides are reduced to a hash for each
//! kind of record, so that a large wiki is compared in little memory. Terms and their counts are
//! left to `verify`, which analyses every page anew. Pure.

use xxhash_rust::xxh3::xxh3_64;

use crate::id::{PageId, SourceId};
use crate::page::{Page, References, Section};
use crate::store::{PageRecord, SectionRecord, StoreError, mark_of};
use crate::wiki::Derived;

/// What the store must hold of a page beside its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageMarks {
    /// Title, summary and declared sources.
    pub(crate) heading: u64,
    /// The record of its links.
    pub(crate) links: u64,
    /// The record of its citations.
    pub(crate) citations: u64,
    /// The record of its names.
    pub(crate) names: u64,
    /// Headings and lines of its sections, whatever their order.
    pub(crate) sections: u64,
}

impl PageMarks {
    /// Those of a page file.
    ///
    /// # Errors
    /// For a page that no store can hold.
    pub(crate) fn of(
        id: &PageId,
        page: &Page,
        references: &References,
        sections: &[Section],
    ) -> Result<Self, StoreError> {
        let derived = Derived::of(id, page, references);
        let sections = sections.iter().map(|section| {
            section_mark(&section.heading_trail, section.start_line, section.end_line)
        });
        Ok(Self {
            heading: heading_mark(&page.title, &page.summary, page.sources.iter()),
            links: mark_of(&derived.links)?,
            citations: mark_of(&derived.citations)?,
            names: mark_of(&derived.names)?,
            sections: sections.fold(0, u64::wrapping_add),
        })
    }
}

/// What the store does hold of it. A record that is missing or cannot be read has no mark: that is
/// a fault of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StoredMarks {
    pub(crate) heading: Option<u64>,
    pub(crate) links: Option<u64>,
    pub(crate) citations: Option<u64>,
    pub(crate) names: Option<u64>,
    pub(crate) sections: Option<u64>,
}

impl StoredMarks {
    /// Those of a page row, with no section seen yet.
    pub(crate) fn of(page: &PageRecord) -> Self {
        let mut sources: Vec<&SourceId> =
            page.sources.iter().chain(&page.missing_sources).collect();
        sources.sort_unstable();
        Self {
            heading: Some(heading_mark(
                &page.title,
                &page.summary,
                sources.into_iter(),
            )),
            sections: Some(0),
            ..Self::default()
        }
    }

    /// Takes a section of the page.
    pub(crate) fn add(&mut self, section: &SectionRecord) {
        let mark = section_mark(&section.heading_trail, section.start_line, section.end_line);
        self.sections = self.sections.map(|sum| sum.wrapping_add(mark));
    }

    /// Names of the derived records that say something else than the text.
    pub(crate) fn differing(&self, text: &PageMarks) -> Vec<&'static str> {
        [
            ("links", self.links, text.links),
            ("citations", self.citations, text.citations),
            ("names", self.names, text.names),
            ("sections", self.sections, text.sections),
        ]
        .into_iter()
        .filter_map(|(what, held, wanted)| held.is_some_and(|held| held != wanted).then_some(what))
        .collect()
    }
}

fn heading_mark<'a>(
    title: &str,
    summary: &str,
    sources: impl Iterator<Item = &'a SourceId>,
) -> u64 {
    let mut bytes = Vec::with_capacity(title.len() + summary.len() + 80);
    put_text(&mut bytes, title);
    put_text(&mut bytes, summary);
    sources.for_each(|source| bytes.extend_from_slice(source.as_bytes()));
    xxh3_64(&bytes)
}

fn section_mark(trail: &[String], start_line: u32, end_line: u32) -> u64 {
    let mut bytes = Vec::with_capacity(64);
    bytes.extend_from_slice(&start_line.to_le_bytes());
    bytes.extend_from_slice(&end_line.to_le_bytes());
    for heading in trail {
        put_text(&mut bytes, heading);
    }
    xxh3_64(&bytes)
}

/// A text with its length before it, so that two texts never run into each other.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}
