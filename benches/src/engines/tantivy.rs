//! tantivy: BM25 over one field, one writer thread, one segment after the build.
//!
//! Two indexes: one of the plain text, which is built and written to for time; and one that holds
//! the very terms that llmwiki indexes, so that queries do equal work. Terms that llmwiki counts in
//! halves are rounded up.

use std::path::{Path, PathBuf};

use llmwiki::id::PageId;
use llmwiki::page;
use llmwiki::search::{Analysis, WEIGHT_UNIT};
use tantivy::collector::TopDocs;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{
    Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{
    Language, LowerCaser, PreTokenizedString, RemoveLongFilter, SimpleTokenizer, Stemmer,
    TextAnalyzer, Token,
};
use tantivy::{Index, IndexWriter, Searcher, TantivyDocument, Term};

use super::{HITS, Result};
use crate::corpus::{Corpus, Page};
use crate::measure::{Build, BuildTimer};

const WRITER_BYTES: usize = 256 << 20;
const UPSERT_BYTES: usize = 64 << 20;

fn text_index(dir: &Path) -> PathBuf {
    dir.join("tantivy")
}

fn term_index(dir: &Path) -> PathBuf {
    dir.join("tantivy-terms")
}

struct Fields {
    page: Field,
    text: Field,
}

fn create(at: &Path) -> Result<Index> {
    let mut schema = Schema::builder();
    schema.add_u64_field("page", INDEXED | STORED);
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("stemmed")
        .set_index_option(IndexRecordOption::WithFreqs);
    schema.add_text_field(
        "text",
        TextOptions::default().set_indexing_options(indexing),
    );
    std::fs::create_dir_all(at)?;
    let index = Index::create_in_dir(at, schema.build())?;
    Ok(with_tokenizer(index))
}

fn with_tokenizer(index: Index) -> Index {
    let analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(255))
        .filter(LowerCaser)
        .filter(Stemmer::new(Language::English))
        .build();
    index.tokenizers().register("stemmed", analyzer);
    index
}

fn open(at: &Path) -> Result<Index> {
    Ok(with_tokenizer(Index::open_in_dir(at)?))
}

fn fields(index: &Index) -> Result<Fields> {
    let schema = index.schema();
    Ok(Fields {
        page: schema.get_field("page")?,
        text: schema.get_field("text")?,
    })
}

fn merge_all(index: &Index, mut writer: IndexWriter) -> Result<()> {
    writer.commit()?;
    let segments = index.searchable_segment_ids()?;
    if segments.len() > 1 {
        writer.merge(&segments).wait()?;
    }
    writer.wait_merging_threads()?;
    Ok(())
}

fn document(fields: &Fields, page: u64, text: &str) -> TantivyDocument {
    let mut document = TantivyDocument::default();
    document.add_u64(fields.page, page);
    document.add_text(fields.text, text);
    document
}

/// Builds the index of the plain text.
pub fn build(dir: &Path, corpus: &Corpus) -> Result<Build> {
    let at = text_index(dir);
    let mut timer = BuildTimer::start();
    let index = create(&at)?;
    let fields = fields(&index)?;
    let writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for number in 0..corpus.pages() {
        let texts = timer.input(|| merged(&corpus.page(number)));
        for text in &texts {
            writer.add_document(document(&fields, number, text))?;
        }
    }
    merge_all(&index, writer)?;
    Ok(timer.finish(&at))
}

fn merged(page: &Page) -> Vec<String> {
    (0..page.sections.len()).map(|at| page.merged(at)).collect()
}

/// Builds the index of llmwiki's terms, for queries.
pub fn build_terms(dir: &Path, corpus: &Corpus) -> Result<()> {
    let index = create(&term_index(dir))?;
    let fields = fields(&index)?;
    let writer: IndexWriter = index.writer_with_num_threads(1, WRITER_BYTES)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for number in 0..corpus.pages() {
        let page = corpus.page(number);
        let id = PageId::parse(&page.id)?;
        let text = page::render(&page.title, &page.summary, &page.sources, &page.body())?;
        for section in Analysis::Standard.sections(&id, &page::parse(&text)?) {
            let mut tokens = Vec::new();
            for (term, weight) in section.terms {
                for _ in 0..weight.div_ceil(WEIGHT_UNIT) {
                    tokens.push(Token {
                        position: tokens.len(),
                        text: term.clone(),
                        ..Token::default()
                    });
                }
            }
            let mut document = TantivyDocument::default();
            document.add_u64(fields.page, number);
            let text = String::new();
            document.add_pre_tokenized_text(fields.text, PreTokenizedString { text, tokens });
            writer.add_document(document)?;
        }
    }
    merge_all(&index, writer)
}

/// Replaces pages, one commit each.
pub struct Upserts {
    writer: IndexWriter,
    fields: Fields,
}

impl Upserts {
    pub fn open(dir: &Path) -> Result<Self> {
        let index = open(&text_index(dir))?;
        Ok(Self {
            fields: fields(&index)?,
            writer: index.writer_with_num_threads(1, UPSERT_BYTES)?,
        })
    }

    pub fn upsert(&mut self, number: u64, texts: &[String]) -> Result<()> {
        let page = Term::from_field_u64(self.fields.page, number);
        self.writer.delete_term(page);
        for text in texts {
            self.writer
                .add_document(document(&self.fields, number, text))?;
        }
        self.writer.commit()?;
        Ok(())
    }

    /// Waits for the merges that the writes started.
    pub fn finish(self) -> Result<()> {
        Ok(self.writer.wait_merging_threads()?)
    }
}

/// The index of llmwiki's terms, open.
pub struct Terms {
    searcher: Searcher,
    text: Field,
}

impl Terms {
    pub fn open(dir: &Path) -> Result<Self> {
        let index = open(&term_index(dir))?;
        let text = fields(&index)?.text;
        let searcher = index.reader()?.searcher();
        if searcher.segment_readers().len() != 1 {
            return Err("tantivy holds more than one segment".into());
        }
        Ok(Self { searcher, text })
    }

    pub fn document_frequency(&self, term: &str) -> Result<u64> {
        Ok(self
            .searcher
            .doc_freq(&Term::from_field_text(self.text, term))?)
    }

    pub fn search(&self, terms: &[(String, u32)]) -> Result<usize> {
        let term = |(term, _): &(String, u32)| Term::from_field_text(self.text, term);
        let query: Box<dyn Query> = match terms {
            [one] => Box::new(TermQuery::new(term(one), IndexRecordOption::WithFreqs)),
            more => Box::new(BooleanQuery::new_multiterms_query(
                more.iter().map(term).collect(),
            )),
        };
        let hits = self
            .searcher
            .search(&*query, &TopDocs::with_limit(HITS).order_by_score())?;
        Ok(hits.len())
    }
}
