//! llmwiki, through its public library; and as a process.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::id::PageId;
use llmwiki::search::Analysis;
use llmwiki::store::index::{IndexReader, IndexSet};
use llmwiki::store::{Access, Opened, Snapshot, Store, StoreOptions};
use llmwiki::tree::{self, RootState};
use llmwiki::wiki::{Expectation, SearchRequest, UpsertPage, Wiki};
use serde_json::json;

use super::{HITS, Result};
use crate::corpus::{Corpus, Page};
use crate::measure::{Build, BuildTimer, bytes_below};

pub fn root(dir: &Path) -> PathBuf {
    dir.join("llmwiki")
}

fn store(dir: &Path) -> PathBuf {
    root(dir).join(".store").join("wiki.redb")
}

/// Bytes of the store, tree apart.
pub fn store_bytes(dir: &Path) -> u64 {
    bytes_below(&store(dir))
}

pub fn wiki(dir: &Path) -> Wiki {
    Wiki::new(root(dir), Config::default())
}

/// The stream of operations that `llmwiki import --jsonl` reads, made as it is read.
struct Operations<'a> {
    lines: Lines<'a>,
    timer: &'a mut BuildTimer,
    line: Vec<u8>,
    sent: usize,
}

struct Lines<'a> {
    corpus: &'a Corpus,
    page: u64,
    source: u64,
}

impl Lines<'_> {
    fn next(&mut self) -> Option<Vec<u8>> {
        let corpus = self.corpus;
        let all_pages = self.page == corpus.pages();
        let value = if self.source < corpus.sources() && (self.source <= self.page / 4 || all_pages)
        {
            let number = self.source;
            self.source += 1;
            json!({
                "op": "add_source",
                "name": format!("record-{number}.txt"),
                "mediaType": "text/plain",
                "content": corpus.source(number),
            })
        } else if !all_pages {
            let page = corpus.page(self.page);
            self.page += 1;
            json!({
                "op": "upsert_page",
                "id": page.id,
                "title": page.title,
                "summary": page.summary,
                "sources": page.sources.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "body": page.body(),
            })
        } else {
            return None;
        };
        let mut line = value.to_string().into_bytes();
        line.push(b'\n');
        Some(line)
    }
}

impl Read for Operations<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.sent == self.line.len() {
            let lines = &mut self.lines;
            let Some(line) = self.timer.input(|| lines.next()) else {
                return Ok(0);
            };
            self.line = line;
            self.sent = 0;
        }
        let part = &self.line[self.sent..];
        let count = part.len().min(buffer.len());
        buffer[..count].copy_from_slice(&part[..count]);
        self.sent += count;
        Ok(count)
    }
}

/// Takes the whole wiki in.
pub fn import(dir: &Path, corpus: &Corpus) -> Result<Build> {
    let mut timer = BuildTimer::start();
    let report = {
        let operations = Operations {
            lines: Lines {
                corpus,
                page: 0,
                source: 0,
            },
            timer: &mut timer,
            line: Vec::new(),
            sent: 0,
        };
        let mut input = BufReader::with_capacity(1 << 16, operations);
        wiki(dir).import_jsonl(&Context::default(), &mut input, true)?
    };
    if report.pages_created != corpus.pages() {
        return Err(format!("{} pages were imported", report.pages_created).into());
    }
    Ok(timer.finish(&store(dir)))
}

/// Makes all derived data anew.
pub fn reindex(dir: &Path) -> Result<(Build, u64)> {
    let timer = BuildTimer::start();
    let report = wiki(dir).reindex(&Context::default())?;
    Ok((timer.finish(&store(dir)), report.section_count))
}

/// The request that writes a page.
pub fn upsert(page: &Page) -> Result<UpsertPage> {
    Ok(UpsertPage {
        id: PageId::parse(&page.id)?,
        title: page.title.clone(),
        summary: page.summary.clone(),
        sources: page.sources.clone(),
        body: page.body(),
        expected: Expectation::Any,
        message: String::new(),
    })
}

/// The index alone: what compares with the peers.
pub struct Index {
    store: Store,
    snapshot: Snapshot,
}

impl Index {
    pub fn open(dir: &Path) -> Result<Self> {
        let RootState::Ready(tree) = tree::locate(&root(dir))? else {
            return Err("there is no wiki".into());
        };
        let options = StoreOptions::default();
        let opened = Store::open(&tree, "wiki.redb", Access::ReadOnly, &options)?;
        let Opened::Ready(store) = opened else {
            return Err(format!("the store is {opened:?}").into());
        };
        let snapshot = store.read()?;
        Ok(Self { store, snapshot })
    }

    fn reader(&self) -> Result<IndexReader<'_>> {
        let cache = self.store.index_cache(IndexSet::Pages);
        Ok(IndexReader::open(
            &self.snapshot,
            IndexSet::Pages,
            Analysis::Standard,
            cache,
        )?)
    }

    pub fn document_count(&self) -> Result<u64> {
        Ok(self.reader()?.document_count())
    }

    pub fn document_frequency(&self, term: &str) -> Result<u64> {
        Ok(self.reader()?.document_frequency(term)?)
    }

    /// The best sections for terms.
    pub fn search(&self, terms: &[(String, u32)]) -> Result<usize> {
        let hits = self.reader()?.search::<llmwiki::store::StoreError>(
            terms,
            HITS,
            &mut |_| Ok(true),
            &mut |number| {
                let section = self.snapshot.section(number)?;
                Ok(section.map_or_else(Default::default, |found| (found.page, found.start_line)))
            },
        )?;
        Ok(hits.len())
    }
}

/// Terms of a query as llmwiki reads it.
pub fn terms(query: &str) -> Vec<(String, u32)> {
    Analysis::Standard.query(query).terms
}

/// A whole answer: adoption of the tree, ranking, snippets.
pub fn answer(wiki: &Wiki, query: &str) -> Result<usize> {
    let request = SearchRequest {
        query: query.to_owned(),
        limit: Some(HITS),
        explain: false,
    };
    Ok(wiki.search(&Context::default(), &request)?.hits.len())
}

/// A search by a new process.
pub fn cold_search(program: &Path, dir: &Path, query: &str) -> Result<()> {
    let status = Command::new(program)
        .arg("--root")
        .arg(root(dir))
        .args(["--json", "search"])
        .arg(query)
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("llmwiki search ended with {status}").into())
    }
}
