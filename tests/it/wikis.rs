//! A wiki in a temporary folder, for tests that look at the engine from outside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use llmwiki::config::Config;
use llmwiki::context::{Context, FixedClock};
use llmwiki::error::Result;
use llmwiki::id::{PageId, SourceId};
use llmwiki::store::BackendFaults;
use llmwiki::tree::TreeOptions;
use llmwiki::wiki::{Expectation, NewSource, SearchRequest, UpsertPage, UpsertPageReport, Wiki};

/// A wiki, its folder, and a clock that stands still.
pub struct TestWiki {
    /// Keeps the folder alive.
    pub dir: Arc<tempfile::TempDir>,
    /// The engine.
    pub wiki: Wiki,
    /// The context of all calls.
    pub ctx: Context,
}

/// The moment at which all tests happen.
pub const NOW: &str = "2026-02-03T04:05:06.789Z";

impl TestWiki {
    /// An empty folder, no wiki yet.
    pub fn new() -> Self {
        Self::at(
            Arc::new(tempfile::tempdir().unwrap()),
            TreeOptions::default(),
        )
    }

    /// Another handle on the same wiki, as another process has one.
    pub fn again(&self) -> Self {
        Self::at(Arc::clone(&self.dir), TreeOptions::default())
    }

    /// A handle whose file calls go through `options`.
    pub fn at(dir: Arc<tempfile::TempDir>, options: TreeOptions) -> Self {
        let wiki = Wiki::with_tree_options(dir.path().join("wiki"), Config::default(), options);
        let clock = Arc::new(FixedClock(NOW.parse().unwrap()));
        let ctx = Context::new(clock, wiki.config().limits.clone());
        Self { dir, wiki, ctx }
    }

    /// A handle whose store fails as `faults` say.
    pub fn with_store_faults(self, faults: Arc<dyn BackendFaults>) -> Self {
        Self {
            wiki: self.wiki.with_store_faults(faults),
            ..self
        }
    }

    /// The root of the wiki.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("wiki")
    }

    /// Adds a source; its id.
    pub fn source(&self, text: &str) -> SourceId {
        let source = NewSource {
            name: "evidence".into(),
            content: text.as_bytes().to_vec(),
            ..NewSource::default()
        };
        self.wiki
            .add_source(&self.ctx, source)
            .unwrap()
            .id
            .parse()
            .unwrap()
    }

    /// Writes a page that cites one source.
    pub fn try_page(&self, id: &str, source: SourceId, body: &str) -> Result<UpsertPageReport> {
        self.wiki.upsert_page(&self.ctx, page(id, source, body))
    }

    /// [`TestWiki::try_page`] that must succeed.
    pub fn page(&self, id: &str, source: SourceId, body: &str) -> UpsertPageReport {
        self.try_page(id, source, body).unwrap()
    }

    /// Ids of the pages that a search finds, best first.
    pub fn search(&self, query: &str) -> Vec<String> {
        let request = SearchRequest {
            query: query.into(),
            limit: None,
            explain: false,
        };
        let report = self.wiki.search(&self.ctx, &request).unwrap();
        report.hits.into_iter().map(|hit| hit.page_id).collect()
    }

    /// The text of a page.
    pub fn text(&self, id: &str) -> String {
        self.wiki
            .read_page(&self.ctx, &page_id(id), None)
            .unwrap()
            .markdown
    }

    /// Path of a page's file.
    pub fn file(&self, id: &str) -> PathBuf {
        self.root().join(format!("pages/{id}.md"))
    }

    /// How each revision of a page came about, oldest first.
    pub fn story(&self, id: &str) -> Vec<String> {
        let request = llmwiki::wiki::HistoryRequest {
            page: Some(page_id(id)),
            limit: 100,
            ..llmwiki::wiki::HistoryRequest::default()
        };
        let report = self.wiki.history(&self.ctx, &request).unwrap();
        report
            .revisions
            .into_iter()
            .rev()
            .map(|revision| revision.how)
            .collect()
    }

    /// Fails unless `verify` finds nothing.
    pub fn must_be_sound(&self) {
        let report = self.wiki.verify(&self.ctx).unwrap();
        assert!(report.sound, "{:#?}", report.findings);
    }
}

/// A page id that is legal.
pub fn page_id(id: &str) -> PageId {
    PageId::parse(id).unwrap()
}

/// A page that cites one source.
pub fn page(id: &str, source: SourceId, body: &str) -> UpsertPage {
    UpsertPage {
        id: page_id(id),
        title: format!("Title of {id}"),
        summary: "Summary.".into(),
        sources: vec![source],
        body: body.into(),
        expected: Expectation::Any,
        message: String::new(),
    }
}

/// The text of a page file.
pub fn page_text(id: &str, source: SourceId, body: &str) -> String {
    let page = page(id, source, body);
    llmwiki::page::render(&page.title, &page.summary, &page.sources, &page.body).unwrap()
}

/// Sets the modification time of a file to a minute ago, as if it had been saved then.
pub fn age(path: &Path) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    std::fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(then)
        .unwrap();
}
