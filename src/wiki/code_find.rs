//! What the code index answers: chunks for a question, and what is in it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::code::{CodeReading, chunk_symbols};
use super::root::Wiki;
use super::session::Look;
use crate::code::Lines;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::ContentHash;
use crate::search::{Analysis, CodeTerm, code_postings, code_query, rank_code};
use crate::store::StoreError;
use crate::store::index::{IndexReader, IndexSet};
use crate::tree::{Project, RelPath};

/// A stretch of code that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeHit {
    /// Path below the project.
    pub file: String,
    /// First line, 1-based.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// What is defined there, the outermost first; empty where nothing is.
    pub symbol: String,
    /// Language of the file.
    pub language: String,
    /// Score; comparable within one answer.
    pub score: f64,
    /// Its lines around the best match.
    pub snippet: String,
}

/// Files of a language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LanguageCount {
    /// Name of the language.
    pub language: String,
    /// Number of files.
    pub files: u64,
    /// Number of their lines.
    pub lines: u64,
}

/// Files that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountedFiles {
    /// The reason.
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// A file, or a folder, that is not indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SkippedCode {
    /// Path below the project; bytes that are not UTF-8 are escaped.
    pub path: String,
    /// The reason.
    pub reason: String,
}

/// What is indexed of the project's code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeStatus {
    /// Directory of the project.
    pub project: String,
    /// Whether the index says what the files say.
    pub fresh: bool,
    /// Files whose change the index does not know.
    pub pending: u64,
    /// Number of indexed files.
    pub files: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Number of their lines.
    pub lines: u64,
    /// Files that were decoded with replacement of bytes.
    pub lossy: u64,
    /// Hash over paths and contents of the files.
    pub signature: String,
    /// By number of files.
    pub languages: Vec<LanguageCount>,
    /// What was left out, by reason.
    pub skipped: Vec<CountedFiles>,
    /// Each of what was left out, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_files: Option<Vec<SkippedCode>>,
}

/// What `index-code` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeIndexReport {
    /// What is indexed now.
    #[serde(flatten)]
    pub code: CodeStatus,
    /// Files that are new.
    pub added: u64,
    /// Files that changed.
    pub changed: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Whether the wiki was made for this.
    #[serde(skip)]
    pub created: bool,
}

/// A chunk with its text as the index knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChunk {
    /// Path below the project.
    pub file: String,
    /// First line.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// What is defined there.
    pub symbol: String,
    /// Language of the file.
    pub language: String,
    /// Its score.
    pub score: f64,
    /// How many different terms of the question it holds, of how many.
    pub matched: (u32, u32),
    /// Its lines.
    pub text: String,
}

/// Chunks for a question, and the files to check them against.
#[derive(Debug)]
pub struct Evidence {
    /// The chunks, best first.
    pub chunks: Vec<FoundChunk>,
    /// Files whose change the index does not know.
    pub pending: u64,
    project: Project,
    limit: u64,
}

impl Evidence {
    /// The text of a file of the project as it is now, with the hash of its bytes; nothing where
    /// it is no regular file inside the project, or no text.
    pub fn file_now(&self, path: &str) -> Option<(String, ContentHash)> {
        read_now(&self.project, path, self.limit)
    }
}

/// A file of the project as it is now.
pub(super) fn read_now(project: &Project, path: &str, limit: u64) -> Option<(String, ContentHash)> {
    let path = RelPath::new(path).ok()?;
    let read = project.read(&path, limit).ok()??;
    let hash = ContentHash::of(&read.bytes);
    Some((crate::code::decode(&read.bytes).ok()?.text, hash))
}

impl CodeReading {
    /// The `k` best chunks for a question.
    pub(super) fn retrieve(&self, question: &str, k: usize) -> Result<Vec<FoundChunk>> {
        let terms = code_query(question);
        let reader = IndexReader::open(
            &self.snapshot,
            IndexSet::Code,
            Analysis::Standard,
            self.store.index_cache(IndexSet::Code),
        )?;
        let mut found = Vec::with_capacity(terms.len());
        for (term, count) in &terms {
            let postings = code_postings(term, &terms, |term| reader.postings(term))?;
            if !postings.is_empty() {
                found.push(CodeTerm {
                    count: *count,
                    postings,
                });
            }
        }
        let table = &self.table;
        let hits = rank_code(
            &found,
            &table.ranked,
            &table.by_chunk,
            |chunk| reader.length(chunk),
            k,
        );
        let wanted = u32::try_from(terms.len()).unwrap_or(u32::MAX);
        let mut chunks = Vec::with_capacity(hits.len());
        for hit in hits {
            let (path, file) = &table.files[hit.file];
            let damaged = |what: &str| StoreError::Damaged {
                what: format!("{what} of {path}"),
            };
            let record = self
                .snapshot
                .code_chunks(path.as_bytes())?
                .ok_or_else(|| damaged("the chunks"))?;
            let chunk = record
                .chunks
                .get(hit.chunk as usize)
                .ok_or_else(|| damaged("a chunk"))?;
            let text = self
                .snapshot
                .code_text(path.as_bytes())?
                .ok_or_else(|| damaged("the text"))?;
            let names: Vec<&str> = chunk_symbols(&record, chunk)
                .take(chunk.within.len() + 1)
                .map(|symbol| symbol.name.as_str())
                .collect();
            chunks.push(FoundChunk {
                file: path.clone(),
                start_line: chunk.start_line,
                end_line: chunk.end_line,
                symbol: names.join("."),
                language: file.language.clone(),
                score: hit.score,
                matched: (hit.matched, wanted),
                text: Lines::new(&text)
                    .slice(chunk.start_line, chunk.end_line)
                    .to_owned(),
            });
        }
        Ok(chunks)
    }

    fn status(&self, with_files: bool) -> CodeStatus {
        let table = &self.table;
        let mut languages: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let mut status = CodeStatus {
            project: self.project.path().display().to_string(),
            fresh: self.pending == 0,
            pending: self.pending,
            signature: table.signature.to_string(),
            ..CodeStatus::default()
        };
        for (_, file) in &table.files {
            status.files += 1;
            status.chunks += u64::from(file.chunks);
            status.lines += u64::from(file.lines);
            status.lossy += u64::from(file.lossy);
            let (files, lines) = languages.entry(&file.language).or_default();
            *files += 1;
            *lines += u64::from(file.lines);
        }
        status.languages = languages
            .into_iter()
            .map(|(language, (files, lines))| LanguageCount {
                language: language.to_owned(),
                files,
                lines,
            })
            .collect();
        status.languages.sort_by(|a, b| {
            b.files
                .cmp(&a.files)
                .then_with(|| a.language.cmp(&b.language))
        });
        let mut left_out: Vec<SkippedCode> = table
            .skipped
            .iter()
            .map(|(path, reason)| (path, reason.as_str()))
            .chain(self.excluded.iter().map(|(path, reason)| (path, *reason)))
            .map(|(path, reason)| SkippedCode {
                path: path.clone(),
                reason: reason.to_owned(),
            })
            .collect();
        left_out.sort_by(|a, b| a.path.cmp(&b.path));
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for file in &left_out {
            *reasons.entry(&file.reason).or_default() += 1;
        }
        status.skipped = reasons
            .into_iter()
            .map(|(reason, count)| CountedFiles {
                reason: reason.to_owned(),
                count,
            })
            .collect();
        status.skipped_files = with_files.then_some(left_out);
        status
    }
}

impl Wiki {
    /// Brings the code index up to date and says what is in it.
    ///
    /// # Errors
    /// `NOT_INITIALIZED` where no project belongs to the wiki; `STORE_BUSY`; those of the store.
    pub fn index_code(&self, ctx: &Context) -> Result<CodeIndexReport> {
        let reading = self.code_reading(ctx, true)?;
        Ok(CodeIndexReport {
            code: reading.status(true),
            added: reading.change.added,
            changed: reading.change.changed,
            removed: reading.change.removed,
            created: reading.created,
        })
    }

    /// What is indexed of the code, without changing it; nothing when code was never indexed.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn code_status(
        &self,
        ctx: &Context,
        with_files: bool,
    ) -> Result<Option<CodeStatus>> {
        let Ok(project) = self.project() else {
            return Ok(None);
        };
        let tree = self.tree()?;
        let Look::Ready(store, snapshot) = self.look(&tree)? else {
            return Ok(None);
        };
        if snapshot.code_state()?.changes == 0 {
            return Ok(None);
        }
        ctx.check()?;
        let reading = self.known_code(project, tree, store, snapshot)?;
        Ok(Some(reading.status(with_files)))
    }

    /// The chunks that answer a question best, from an index that is brought up to date.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `INVALID_ARGUMENT` for a question without a word; those of the store.
    pub fn evidence(&self, ctx: &Context, question: &str, k: usize) -> Result<Evidence> {
        if code_query(question).is_empty() {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                format!("{question:?} has no letter or digit to search for"),
            )
            .with_hint("give at least one word"));
        }
        let reading = self.code_reading(ctx, false)?;
        Ok(Evidence {
            chunks: reading.retrieve(question, k)?,
            pending: reading.pending,
            project: reading.project,
            limit: ctx.limits.max_source_bytes,
        })
    }

    /// Code for a query, best first.
    ///
    /// # Errors
    /// As [`Wiki::evidence`].
    pub fn search_code(
        &self,
        ctx: &Context,
        query: &str,
        limit: usize,
    ) -> Result<(Vec<CodeHit>, u64)> {
        let found = self.evidence(ctx, query, limit)?;
        let terms: Vec<String> = code_query(query)
            .into_iter()
            .map(|(term, _)| term)
            .collect();
        let hits = found
            .chunks
            .into_iter()
            .map(|chunk| CodeHit {
                snippet: crate::search::code_snippet(
                    &chunk.text,
                    &terms,
                    ctx.limits.max_snippet_bytes,
                ),
                file: chunk.file,
                start_line: chunk.start_line,
                end_line: chunk.end_line,
                symbol: chunk.symbol,
                language: chunk.language,
                score: chunk.score,
            })
            .collect();
        Ok((hits, found.pending))
    }
}
