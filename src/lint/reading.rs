//! Bytes and names of files turned into facts. Pure; `gather` brings the bytes.

use std::fmt::Write;

use super::facts::{
    ContentFacts, EventsFacts, MetadataFacts, PageFacts, PageFile, PageName, PageText, SourceFacts,
    SourceName,
};
use super::gather::Wanted;
use super::graph::LinkFact;
use super::marks::PageMarks;
use crate::id::{ContentHash, PageId, SourceId};
use crate::page::{Link, Resolution, fold_title, parse_bytes, references};
use crate::tree::Kind;

/// A path as reports print it: bytes that are not UTF-8 become `\xNN`, all else stays.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// An entry of `sources/` of which only name and kind are known.
pub(crate) fn source_entry(name: &[u8], kind: Kind) -> SourceFacts {
    let printed = printable(name);
    SourceFacts {
        path: format!("sources/{printed}"),
        name: match SourceId::parse(&printed) {
            Ok(id) => SourceName::Id(id),
            Err(_) => SourceName::Invalid(printed),
        },
        kind,
        content: ContentFacts::Missing,
        metadata: MetadataFacts::Missing,
        events: EventsFacts::Missing,
    }
}

/// An entry below `pages/` of which only path (from `pages/`) and kind are known.
pub(crate) fn page_entry(path: &[u8], kind: Kind) -> PageFacts {
    PageFacts {
        path: format!("pages/{}", printable(path)),
        name: page_name(path),
        file: if kind == Kind::File {
            PageFile::NotRead
        } else {
            PageFile::NotFile(kind)
        },
        stamp: None,
    }
}

fn page_name(path: &[u8]) -> PageName {
    let Ok(text) = std::str::from_utf8(path) else {
        return PageName::Invalid("its name is not UTF-8".to_owned());
    };
    let Some(id) = text.strip_suffix(".md") else {
        return PageName::Invalid("its name does not end in .md".to_owned());
    };
    match PageId::parse(id) {
        Ok(id) => PageName::Id(id),
        Err(error) => PageName::Invalid(error.to_string()),
    }
}

/// The bytes of a page file, read.
pub(crate) fn page_file(id: &PageId, bytes: &[u8], wanted: Wanted) -> PageFile {
    let hash = ContentHash::of(bytes);
    let page = match parse_bytes(bytes) {
        Ok(page) => page,
        Err(error) => {
            return PageFile::Invalid {
                hash,
                cause: error.message,
                line: error.line,
            };
        }
    };
    let (references, marks) = match wanted.analysis {
        Some(analysis) => {
            let outline = analysis.outline(&page);
            let references = outline.references;
            // A page that no store can hold is in none: there is nothing to compare.
            let marks = PageMarks::of(id, &page, &references, &outline.sections).ok();
            (references, marks)
        }
        None => (references(&page.body, page.body_start_line), None),
    };
    PageFile::Page(Box::new(PageText {
        hash,
        folded_title: fold_title(&page.title),
        title: page.title,
        sources: page.sources,
        links: references
            .links
            .into_iter()
            .map(|link| LinkFact {
                // What a reader clicks is nothing to rules, and takes room.
                link: Link {
                    label: String::new(),
                    ..link
                },
                resolution: Resolution::NotAPage,
            })
            .collect(),
        citations: references.citations,
        anchors: if wanted.anchors {
            let mut anchors = crate::page::anchors(&page.body);
            anchors.sort_unstable();
            anchors
        } else {
            Vec::new()
        },
        marks,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf8_are_printed_escaped_and_name_no_page() {
        let entry = page_entry(b"\xff.md", Kind::File);
        assert_eq!(entry.path, "pages/\\xff.md");
        assert!(matches!(entry.name, PageName::Invalid(_)));
        // The escaped form of one name is a legal file name of its own; it is told apart by the
        // cause.
        assert_eq!(printable("new\nline \u{fc}".as_bytes()), "new\nline \u{fc}");
    }
}
