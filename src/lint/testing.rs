//! Facts for the tests of rules, built from values and read by the functions that read files.

use super::facts::{
    ContentFacts, DirectoryFacts, EntryFacts, Facts, IndexFile, MetadataFacts, PageFacts, PageName,
    RootFacts, SchemaFacts, SourceFacts,
};
use super::gather::Wanted;
use super::graph::link_up;
use super::marks::StoredMarks;
use super::reading;
use super::registry::{Rule, Severity};
use super::run::{Diagnostic, LintReport, apply};
use super::store_facts::{StoreContents, StoreFacts, StoreState, StoredPage};
use crate::id::{ContentHash, SourceId};
use crate::search::Analysis;
use crate::source::{Metadata, examine_metadata};
use crate::store::SourceRecord;
use crate::tree::{Kind, Stamp};

/// Something that facts can be made of.
pub(crate) trait Subject {
    fn facts(self) -> Facts;
}

impl Subject for Facts {
    fn facts(self) -> Facts {
        self
    }
}

impl Subject for SourceFacts {
    fn facts(self) -> Facts {
        wiki([], [self])
    }
}

impl Subject for PageFacts {
    fn facts(self) -> Facts {
        wiki([self], [])
    }
}

impl Subject for EntryFacts {
    fn facts(self) -> Facts {
        let mut facts = sound_wiki();
        facts.entries.push(self);
        facts
    }
}

/// Runs one rule and checks how often it fires.
#[track_caller]
pub(crate) fn assert_reports(rule: &Rule, subject: impl Subject, count: usize) -> Vec<Diagnostic> {
    let facts = subject.facts();
    let found = apply(&[rule], &facts);
    assert_eq!(found.len(), count, "{found:#?}\n{facts:#?}");
    for diagnostic in &found {
        assert_eq!(
            (diagnostic.code, diagnostic.severity),
            (rule.code.as_str(), rule.severity)
        );
    }
    found
}

/// A root that is nothing or no directory.
pub(crate) fn root(root: RootFacts) -> Facts {
    Facts::of_root(root)
}

/// A wiki without pages and sources on which no rule fires.
pub(crate) fn sound_wiki() -> Facts {
    let mut facts = Facts::of_root(RootFacts::Directory);
    facts.schema = SchemaFacts::Text;
    facts.pages_directory = DirectoryFacts::Directory;
    facts.sources_directory = DirectoryFacts::Directory;
    facts.index.directory = DirectoryFacts::Directory;
    facts.index.search = IndexFile::Sound;
    facts.index.state = IndexFile::Sound;
    facts
}

/// A store on which no rule fires.
pub(crate) fn sound_store() -> StoreFacts {
    StoreFacts {
        directory: DirectoryFacts::Directory,
        state: StoreState::Read(Box::default()),
    }
}

/// A wiki with this store.
pub(crate) fn with_store(store: StoreFacts) -> Facts {
    let mut facts = sound_wiki();
    facts.store = store;
    facts
}

/// The store that knows just these pages and sources.
pub(crate) fn store_of(facts: &Facts) -> StoreFacts {
    let pages = facts
        .pages
        .iter()
        .filter_map(|page| {
            let (id, text) = page.page()?;
            let marks = text.marks?;
            Some(StoredPage {
                id: id.to_string(),
                sha256: text.hash,
                marks: StoredMarks {
                    heading: Some(marks.heading),
                    links: Some(marks.links),
                    citations: Some(marks.citations),
                    names: Some(marks.names),
                    sections: Some(marks.sections),
                },
            })
        })
        .collect();
    let sources = facts
        .sources
        .iter()
        .filter_map(|source| match &source.metadata {
            MetadataFacts::Read(examined) => examined.record.as_ref().ok(),
            _ => None,
        })
        .map(|record| {
            let stored = SourceRecord {
                name: record.name.clone(),
                media_type: record.media_type.clone(),
                byte_count: record.byte_count,
                captured_at: record.captured_at.clone(),
                origin: record.origin.clone(),
            };
            (record.id, stored)
        })
        .collect();
    let contents = StoreContents {
        pages,
        sources,
        ..StoreContents::default()
    };
    StoreFacts {
        directory: DirectoryFacts::Directory,
        state: StoreState::Read(Box::new(contents)),
    }
}

/// What the store says of its first page.
pub(crate) fn stored(facts: &mut Facts) -> &mut StoredMarks {
    match &mut facts.store.state {
        StoreState::Read(contents) => &mut contents.pages[0].marks,
        other => panic!("{other:?}"),
    }
}

/// A wiki of these pages and sources.
pub(crate) fn wiki(
    pages: impl IntoIterator<Item = PageFacts>,
    sources: impl IntoIterator<Item = SourceFacts>,
) -> Facts {
    let mut facts = sound_wiki();
    facts.pages.extend(pages);
    facts.sources.extend(sources);
    facts.pages.sort_by(|a, b| a.path.cmp(&b.path));
    facts.sources.sort_by(|a, b| a.path.cmp(&b.path));
    link_up(&mut facts.pages);
    facts
}

/// A link or dot file.
pub(crate) fn entry(path: &str, kind: Kind) -> EntryFacts {
    EntryFacts {
        path: path.to_owned(),
        kind,
    }
}

/// The `metadata.json` of a source with this content.
pub(crate) fn record(content: &[u8]) -> String {
    Metadata {
        id: SourceId::of(content),
        name: "notes.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        byte_count: content.len() as u64,
        captured_at: "2026-02-03T04:05:06.789Z".to_owned(),
        origin: None,
    }
    .render()
}

/// A sound source with this content.
pub(crate) fn source(content: &[u8]) -> SourceFacts {
    source_named(&SourceId::of(content).to_string(), Kind::Directory)
        .with_content(content)
        .with_metadata(&record(content))
}

/// An entry of `sources/` with this name and nothing in it.
pub(crate) fn source_named(name: &str, kind: Kind) -> SourceFacts {
    reading::source_entry(name.as_bytes(), kind)
}

impl SourceFacts {
    pub(crate) fn with_content(mut self, content: &[u8]) -> Self {
        self.content = ContentFacts::Read {
            hash: ContentHash::of(content),
            byte_count: content.len() as u64,
            line_count: {
                let mut lines = crate::source::LineCounter::default();
                lines.update(content);
                lines.count()
            },
        };
        self
    }

    pub(crate) fn without_content(mut self) -> Self {
        self.content = ContentFacts::Missing;
        self
    }

    pub(crate) fn with_metadata(mut self, text: &str) -> Self {
        self.metadata = MetadataFacts::Read(examine_metadata(text.as_bytes()));
        self
    }

    pub(crate) fn without_metadata(mut self) -> Self {
        self.metadata = MetadataFacts::Missing;
        self
    }

    pub(crate) fn with_extra_key(mut self, key: &str) -> Self {
        if let MetadataFacts::Read(examined) = &mut self.metadata {
            examined.unknown_keys.push(key.to_owned());
        }
        self
    }
}

/// A page with one source. The body starts at line 8 of the file.
pub(crate) fn page(id: &str, title: &str, body: &str) -> PageFacts {
    text_page(id, title, &[SourceId::of(b"abc")], body)
}

/// A page that cites the sources with these contents.
pub(crate) fn page_citing(id: &str, contents: &[&[u8]], body: &str) -> PageFacts {
    let mut sources: Vec<SourceId> = contents
        .iter()
        .map(|content| SourceId::of(content))
        .collect();
    sources.sort_unstable();
    text_page(id, id, &sources, body)
}

fn text_page(id: &str, title: &str, sources: &[SourceId], body: &str) -> PageFacts {
    let text = crate::page::render(title, "Short.", sources, body).expect("a page");
    page_of_bytes(id, text.as_bytes())
}

/// A page file with these bytes.
pub(crate) fn page_of_bytes(id: &str, bytes: &[u8]) -> PageFacts {
    let mut page = page_named(&format!("{id}.md"));
    if let PageName::Id(id) = &page.name {
        let wanted = Wanted {
            anchors: true,
            analysis: Some(Analysis::Standard),
        };
        page.file = reading::page_file(id, bytes, wanted);
    }
    page
}

/// The page as read from a file with this inode.
pub(crate) fn stamped(page: PageFacts, inode: u64) -> PageFacts {
    let stamp = Stamp {
        kind: Kind::File,
        size: 9,
        inode,
        device: 1,
        mtime_ns: 1,
        ctime_ns: 1,
        link_count: 1,
        mode: 0o644,
    };
    PageFacts {
        stamp: Some(stamp),
        ..page
    }
}

/// A file below `pages/` that was not looked at.
pub(crate) fn page_named(path: &str) -> PageFacts {
    reading::page_entry(path.as_bytes(), Kind::File)
}

/// A report with a line, with a path that needs escaping, and with neither.
pub(crate) fn report() -> LintReport {
    let found = |code, severity, path: &str, line, message: &str| Diagnostic {
        code,
        severity,
        path: path.to_owned(),
        line,
        column: line.map(|_| 5),
        end_column: line.map(|_| 14),
        message: message.to_owned(),
        hint: None,
    };
    LintReport {
        diagnostics: vec![
            found(
                "BROKEN_PAGE_LINK",
                Severity::Error,
                "pages/a.md",
                Some(8),
                "page \"gone\" does not exist",
            ),
            found(
                "ORPHAN_PAGE",
                Severity::Warning,
                "pages/b,c: 100%\n.md",
                None,
                "no other page links here",
            ),
            found(
                "SCHEMA_MISSING",
                Severity::Error,
                "schema.md",
                None,
                "there is no schema.md",
            ),
        ],
        error_count: 2,
        warning_count: 1,
        files_examined: 2,
    }
}
