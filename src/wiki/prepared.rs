//! A page made ready outside any lock: parsed, its links found, its sections analysed. What is
//! left for the transaction is to write rows.

use crate::id::{ContentHash, PageId, SourceId, fold_case};
use crate::page::{
    self, Citation, Link, LinkKind, Outline, Page, PageError, References, fold_title, is_relative,
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
/// target, and for a wikilink the title that it may be, unless that is the same text.
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
    let base = fold_case(stem);
    let mut titles = Vec::new();
    if link.kind != LinkKind::Markdown && !is_relative(target) {
        titles.push(fold_title(target));
        if let Some(fragment) = &link.fragment {
            titles.push(fold_title(&format!("{target}#{fragment}")));
            titles.push(fold_title(&format!("{target}# {fragment}")));
        }
    }
    titles.retain(|title| *title != base);
    let mut out = vec![base_needle(&base)];
    out.extend(titles.iter().map(|title| title_needle(title)));
    // NUL ends a needle in the index; no page name or title can hold one.
    out.retain(|needle| !needle.contains('\0'));
    out
}

/// The needles of links that may mean a page with this base name and title.
pub(super) fn needles_of_page(base_name: &str, title: Option<&str>) -> Vec<String> {
    let mut needles = vec![base_needle(&fold_case(base_name))];
    if let Some(title) = title.map(fold_title) {
        needles.push(title_needle(&title));
        // Where a link's title is its last segment too, that is the one needle it has.
        needles.push(base_needle(&title));
    }
    needles
}

/// Needle of links whose last segment is this folded base name.
fn base_needle(folded: &str) -> String {
    format!("b{folded}")
}

/// Needle of wikilinks that may mean a page with this folded title.
fn title_needle(folded: &str) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::page::{PageNames, Resolution, resolve};

    /// Names that meet after folding, in pieces.
    fn name() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a", "A", "fi", "\u{fb01}", "\u{c5}", "a\u{30a}", "C#", "# ", "/", "../", ".md", " ",
        ]);
        prop::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            // Most names make no page, or one that the link does not lead to.
            max_global_rejects: 1 << 16,
            ..ProptestConfig::with_cases(2048)
        })]

        #[test]
        fn a_page_has_a_needle_in_common_with_every_link_that_leads_to_it(
            target in name(),
            fragment in prop::option::of(name()),
            kind in prop::sample::select(vec![LinkKind::Markdown, LinkKind::Wikilink]),
            (id, title) in (name(), name()),
            same in 0..3,
        ) {
            // Names by chance seldom meet.
            let (id, title) = match same {
                0 => (target.to_lowercase(), title),
                1 => (id, target.to_uppercase()),
                _ => (id, title),
            };
            let id = PageId::parse(id.strip_suffix(".md").unwrap_or(&id));
            prop_assume!(id.is_ok());
            let id = id.unwrap();
            let mut pages = PageNames::default();
            pages.insert(id.clone(), &title);
            let link = Link {
                kind,
                target,
                fragment,
                line: 1,
                columns: None,
                label: String::new(),
            };
            let from = PageId::parse("d/from").unwrap();
            prop_assume!(resolve(&from, &link, &pages) == Resolution::Page(id.clone()));
            let of_page = needles_of_page(id.base_name(), Some(&title));
            prop_assert!(
                needles(&link).iter().any(|needle| of_page.contains(needle)),
                "{link:?} {:?} {of_page:?}",
                needles(&link)
            );
        }
    }

    #[test]
    fn a_link_by_a_plain_name_or_a_path_has_one_needle() {
        let of = |target: &str| {
            needles(&Link {
                kind: LinkKind::Wikilink,
                target: target.to_owned(),
                fragment: None,
                line: 1,
                columns: None,
                label: String::new(),
            })
        };
        assert_eq!(of("Night Ferry"), ["bnight ferry"]);
        assert_eq!(of("../ferry/Night.md"), ["bnight"]);
        assert_eq!(of("ferry/Night"), ["bnight", "tferry/night"]);
    }
}
