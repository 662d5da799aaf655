//! A page made ready outside any lock: parsed, its links found, its sections analysed. What is
//! left for the transaction is to write rows.

use crate::id::{ContentHash, PageId, SourceId, fold_case};
use crate::page::{
    self, Citation, Link, LinkKind, Outline, Page, PageError, References, fold_title,
};
use crate::search::{Analysis, AnalyzedSection};
use crate::store::{
    CitationsRecord, ClaimRecord, LinkRecord, LinkRecordKind, LinksRecord, NamesRecord,
};

/// A valid page file with everything that is derived from its text.
#[derive(Debug, Clone)]
pub(crate) struct PreparedPage {
    pub(crate) id: PageId,
    /// The exact bytes of the file.
    pub(crate) bytes: Vec<u8>,
    pub(crate) sha256: ContentHash,
    pub(crate) page: Page,
    pub(crate) sections: Vec<AnalyzedSection>,
    pub(crate) links: LinksRecord,
    pub(crate) citations: CitationsRecord,
    /// Claim citations as the body has them, those that cannot be opened too.
    pub(crate) claims: Vec<Citation>,
    pub(crate) names: NamesRecord,
}

impl PreparedPage {
    /// Reads a page file.
    ///
    /// # Errors
    /// The first rule of the page grammar that it breaks.
    pub(crate) fn new(analysis: Analysis, id: PageId, bytes: Vec<u8>) -> Result<Self, PageError> {
        let page = page::parse_bytes(&bytes)?;
        let Outline {
            references,
            sections,
        } = analysis.outline(&page);
        let sections = analysis.count(&id, &page, sections);
        let Derived {
            links,
            citations,
            names,
        } = Derived::of(&id, &page, &references);
        let sha256 = ContentHash::of(&bytes);
        Ok(Self {
            id,
            bytes,
            sha256,
            page,
            sections,
            links,
            citations,
            claims: references.citations,
            names,
        })
    }
}

/// The records that are derived from a page, but for its sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Derived {
    pub(crate) links: LinksRecord,
    pub(crate) citations: CitationsRecord,
    pub(crate) names: NamesRecord,
}

impl Derived {
    /// Those of a page that refers to this.
    pub(crate) fn of(id: &PageId, page: &Page, references: &References) -> Self {
        Self {
            links: links_record(&references.links),
            citations: citations_record(&page.sources, &references.citations),
            names: NamesRecord {
                title: fold_title(&page.title),
                base_name: fold_case(id.base_name()),
                id: id.fold_key(),
            },
        }
    }
}

fn citations_record(declared: &[SourceId], found: &[page::Citation]) -> CitationsRecord {
    let claims: Vec<ClaimRecord> = found
        .iter()
        .filter_map(|citation| {
            let source = citation.source.clone().ok()?;
            let lines = citation.lines.clone().ok()?;
            Some(ClaimRecord {
                source,
                lines,
                line: citation.line,
            })
        })
        .collect();
    let mut sources = declared.to_vec();
    sources.extend(claims.iter().map(|claim| claim.source));
    sources.sort_unstable();
    sources.dedup();
    CitationsRecord { sources, claims }
}

fn links_record(found: &[Link]) -> LinksRecord {
    let links = found
        .iter()
        .map(|link| LinkRecord {
            kind: match link.kind {
                LinkKind::Markdown => LinkRecordKind::Markdown,
                LinkKind::Wikilink => LinkRecordKind::Wikilink,
                LinkKind::Embed => LinkRecordKind::Embed,
            },
            target: link.target.clone(),
            fragment: link.fragment.clone(),
            line: link.line,
        })
        .collect();
    let mut needles: Vec<String> = found.iter().flat_map(needles).collect();
    needles.sort_unstable();
    needles.dedup();
    LinksRecord { links, needles }
}

/// The keys under which a page that this link may mean looks for it: the last segment of its
/// target, and for a wikilink the title that it may be.
fn needles(link: &Link) -> Vec<String> {
    let target = link.target.as_str();
    let last = target
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    if last.is_empty() {
        return Vec::new();
    }
    let stem = last
        .len()
        .checked_sub(3)
        .filter(|&at| last.is_char_boundary(at) && last[at..].eq_ignore_ascii_case(".md"))
        .map_or(last, |at| &last[..at]);
    let mut out = vec![base_needle(&fold_case(stem))];
    if link.kind != LinkKind::Markdown {
        out.push(title_needle(&fold_title(target)));
        if let Some(fragment) = &link.fragment {
            out.push(title_needle(&fold_title(&format!("{target}#{fragment}"))));
            out.push(title_needle(&fold_title(&format!("{target}# {fragment}"))));
        }
    }
    // NUL ends a needle in the index; no page name or title can hold one.
    out.retain(|needle| !needle.contains('\0'));
    out
}

/// Needle of links whose last segment is this folded base name.
pub(crate) fn base_needle(folded: &str) -> String {
    format!("b{folded}")
}

/// Needle of wikilinks that may mean a page with this folded title.
pub(crate) fn title_needle(folded: &str) -> String {
    format!("t{folded}")
}

/// The link of a record, without its label, which no resolution looks at.
pub(crate) fn link_of(record: &LinkRecord) -> Link {
    Link {
        kind: match record.kind {
            LinkRecordKind::Markdown => LinkKind::Markdown,
            LinkRecordKind::Wikilink => LinkKind::Wikilink,
            LinkRecordKind::Embed => LinkKind::Embed,
        },
        target: record.target.clone(),
        fragment: record.fragment.clone(),
        line: record.line,
        columns: None,
        label: String::new(),
    }
}
