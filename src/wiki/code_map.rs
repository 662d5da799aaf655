//! The index of the code as a whole, for what is generated from it; and writing what was generated.

use std::collections::BTreeSet;
use std::path::Path;

use super::code::{CodeReading, kind_of};
use super::code_find::FoundChunk;
use super::import::stops_everything;
use super::pages::{PageWrite, UpsertPage};
use super::root::Wiki;
use super::sources::{NewSource, PreparedSource};
use crate::code::Symbol;
use crate::context::Context;
use crate::error::Result;
use crate::id::{ContentHash, PageId, SourceId};
use crate::store::{How, StoreError};
use crate::tree::{Durability, RelPath};

/// A file of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeMapFile {
    /// Path below the project.
    pub path: String,
    /// Its language.
    pub language: String,
    /// Number of lines.
    pub lines: u32,
    /// Hash of its bytes.
    pub sha256: ContentHash,
    /// What it defines, by line.
    pub symbols: Vec<Symbol>,
    /// Names that it uses, sorted.
    pub references: Vec<String>,
}

/// The code of a project in one state.
pub struct CodeMap {
    /// Name of the project: that of its directory.
    pub name: String,
    /// Hash of the code.
    pub signature: String,
    /// The files, in the byte order of their paths.
    pub files: Vec<CodeMapFile>,
    reading: CodeReading,
    limit: u64,
}

impl CodeMap {
    /// The text of a file as it was indexed.
    pub fn text(&self, path: &str) -> Option<String> {
        self.reading
            .snapshot
            .code_text(path.as_bytes())
            .ok()
            .flatten()
    }

    /// The bytes of a file, if it still is what was indexed.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn bytes(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let Some(known) = self.file(path) else {
            return Ok(None);
        };
        let read = self
            .reading
            .project
            .read(&RelPath::new(path)?, self.limit)?;
        Ok(read
            .map(|file| file.bytes)
            .filter(|bytes| ContentHash::of(bytes) == known.sha256))
    }

    /// A file by its path.
    pub fn file(&self, path: &str) -> Option<&CodeMapFile> {
        let at = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path));
        at.ok().and_then(|at| self.files.get(at))
    }

    /// All files with their hashes, as text.
    pub fn listing(&self) -> String {
        let lines = self
            .files
            .iter()
            .map(|file| format!("{} {}\n", file.sha256, file.path));
        lines.collect()
    }
}

/// A page with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    /// Its id.
    pub id: PageId,
    /// Its title.
    pub title: String,
    /// Its summary.
    pub summary: String,
    /// The text of its file.
    pub markdown: String,
    /// Hash of that.
    pub sha256: ContentHash,
    /// When it was written last, RFC 3339; empty where its history was lost.
    pub written_at: String,
}

/// The index of the code in one state, of which nothing was read yet.
pub struct CodeState {
    reading: CodeReading,
    limit: u64,
}

impl CodeState {
    /// Hash of the code.
    pub fn signature(&self) -> String {
        self.reading.table.signature.to_string()
    }

    /// Name of the project: that of its directory.
    pub fn name(&self) -> String {
        let name = self.reading.project.path().file_name();
        name.map_or_else(
            || Path::new("/").display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// The `k` best chunks for a question, best first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn retrieve(&self, question: &str, k: usize) -> Result<Vec<FoundChunk>> {
        self.reading.retrieve(question, k)
    }

    /// All of it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn map(self) -> Result<CodeMap> {
        let (name, signature) = (self.name(), self.signature());
        let reading = self.reading;
        let mut files = Vec::with_capacity(reading.table.files.len());
        for (path, record) in &reading.table.files {
            let chunks = reading
                .snapshot
                .code_chunks(path.as_bytes())?
                .ok_or_else(|| StoreError::Damaged {
                    what: format!("the chunks of {path} are missing"),
                })?;
            files.push(CodeMapFile {
                path: path.clone(),
                language: record.language.clone(),
                lines: record.lines,
                sha256: record.sha256,
                symbols: chunks
                    .symbols
                    .iter()
                    .map(|symbol| Symbol {
                        name: symbol.name.clone(),
                        kind: kind_of(symbol),
                        start_line: symbol.start_line,
                        end_line: symbol.end_line,
                    })
                    .collect(),
                references: chunks.references,
            });
        }
        Ok(CodeMap {
            name,
            signature,
            files,
            reading,
            limit: self.limit,
        })
    }
}

impl Wiki {
    /// The code index, brought up to date.
    ///
    /// # Errors
    /// As [`Wiki::index_code`].
    pub fn code(&self, ctx: &Context) -> Result<CodeState> {
        Ok(CodeState {
            reading: self.code_reading(ctx, true)?,
            limit: ctx.limits.max_source_bytes,
        })
    }

    /// The code as a whole, from an index that is brought up to date.
    ///
    /// # Errors
    /// As [`Wiki::index_code`].
    pub fn code_map(&self, ctx: &Context) -> Result<CodeMap> {
        self.mending(ctx, || self.code(ctx)?.map())
    }

    /// Every source that is preserved.
    ///
    /// # Errors
    /// Those of the store.
    pub fn source_ids(&self, ctx: &Context) -> Result<BTreeSet<SourceId>> {
        self.mending(ctx, || {
            let reading = self.reading(ctx)?;
            let ids = reading.snapshot.sources(None).map(|row| Ok(row?.0));
            ids.collect()
        })
    }

    /// The pages whose ids begin with `prefix`, with their texts, all of one state of the wiki, by
    /// id.
    ///
    /// # Errors
    /// Those of the store.
    pub fn page_texts(&self, ctx: &Context, prefix: &str) -> Result<Vec<PageText>> {
        self.mending(ctx, || {
            let reading = self.reading(ctx)?;
            let mut texts = Vec::new();
            for row in reading.snapshot.pages(prefix, None) {
                ctx.check()?;
                let (id, page) = row?;
                let missing = || StoreError::Damaged {
                    what: format!("the text of {id} is missing"),
                };
                let bytes = reading.snapshot.blob(&page.sha256)?.ok_or_else(missing)?;
                let written = reading.snapshot.last_revision(&id)?;
                texts.push(PageText {
                    title: page.title,
                    summary: page.summary,
                    // A page was parsed before it was kept, so it is UTF-8.
                    markdown: String::from_utf8(bytes).map_err(|_| missing())?,
                    sha256: page.sha256,
                    written_at: written
                        .and_then(|(_, revision)| {
                            jiff::Timestamp::from_millisecond(revision.at_ms).ok()
                        })
                        .map(|at| at.to_string())
                        .unwrap_or_default(),
                    id,
                });
            }
            Ok(texts)
        })
    }

    /// Writes pages that were generated, with the sources that they cite, in one transaction;
    /// their revisions say so. Answers how many sources are new, and what became of each page: one
    /// that fails stops no other.
    ///
    /// # Errors
    /// `STORE_BUSY`, `STORE_FULL`, `ABORTED`; those of the store. Then nothing was written.
    pub fn put_generated(
        &self,
        ctx: &Context,
        sources: Vec<NewSource>,
        pages: Vec<UpsertPage>,
    ) -> Result<(u64, Vec<Result<()>>)> {
        let mut prepared_sources = Vec::with_capacity(sources.len());
        for source in sources {
            prepared_sources.push(PreparedSource::new(ctx, source)?);
        }
        let prepared: Vec<_> = pages
            .into_iter()
            .map(|page| {
                let expected = page.expected;
                Ok((self.prepare_page(ctx, page)?, expected))
            })
            .collect();
        let (added, written) = self.mending(ctx, || {
            let writing = self.writing(ctx)?;
            let mut batch = writing.batch()?;
            let mut write = PageWrite::new(Durability::Batch);
            let mut added = 0;
            for source in &prepared_sources {
                let placed = writing.place_source(&mut batch, source, Durability::Batch, false)?;
                added += u64::from(!placed.deduplicated);
            }
            let mut written: Vec<Result<()>> = Vec::with_capacity(prepared.len());
            for page in &prepared {
                // What could not be prepared is answered below.
                let Ok((page, expected)) = page else {
                    written.push(Ok(()));
                    continue;
                };
                let how = How::GENERATED;
                let done = writing.write_into(&mut batch, &mut write, page, *expected, how, "");
                match done {
                    Err(error) if stops_everything(error.code()) => {
                        write.abandon(&writing.tree);
                        return Err(error);
                    }
                    done => written.push(done.map(drop)),
                }
            }
            writing.finish_write(batch, write)?;
            Ok((added, written))
        })?;
        let outcomes = prepared
            .into_iter()
            .zip(written)
            .map(|(prepared, written)| prepared.and(written));
        Ok((added, outcomes.collect()))
    }
}
