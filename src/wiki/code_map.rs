//! The index of the code as a whole, for what is generated from it; and writing what was generated.

use std::path::Path;

use super::code::{CodeReading, kind_of};
use super::pages::{UpsertPage, UpsertPageReport};
use super::root::Wiki;
use super::sources::NewSource;
use crate::code::Symbol;
use crate::context::Context;
use crate::error::Result;
use crate::id::{ContentHash, PageId, SourceId};
use crate::store::{How, StoreError};
use crate::tree::RelPath;

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
        let Ok(at) = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
        else {
            return Ok(None);
        };
        let read = self
            .reading
            .project
            .read(&RelPath::new(path)?, self.limit)?;
        Ok(read
            .map(|file| file.bytes)
            .filter(|bytes| ContentHash::of(bytes) == self.files[at].sha256))
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

impl Wiki {
    /// The code as a whole, from an index that is brought up to date.
    ///
    /// # Errors
    /// As [`Wiki::index_code`].
    pub fn code_map(&self, ctx: &Context) -> Result<CodeMap> {
        self.mending(ctx, || {
            let reading = self.code_reading(ctx, true)?;
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
            let name = reading.project.path().file_name();
            Ok(CodeMap {
                name: name.map_or_else(
                    || Path::new("/").display().to_string(),
                    |name| name.to_string_lossy().into_owned(),
                ),
                signature: reading.table.signature.to_string(),
                files,
                reading,
                limit: ctx.limits.max_source_bytes,
            })
        })
    }

    /// Preserves those of these sources that are not preserved yet; answers how many.
    ///
    /// # Errors
    /// As [`Wiki::add_source`].
    pub fn preserve(&self, ctx: &Context, sources: Vec<NewSource>) -> Result<u64> {
        let reading = self.reading(ctx)?;
        let mut added = 0;
        for source in sources {
            if reading
                .snapshot
                .source(SourceId::of(&source.content))?
                .is_none()
            {
                self.add_source(ctx, source)?;
                added += 1;
            }
        }
        Ok(added)
    }

    /// Writes a page that was generated; its revision says so.
    ///
    /// # Errors
    /// As [`Wiki::upsert_page`].
    pub fn put_generated(&self, ctx: &Context, page: UpsertPage) -> Result<UpsertPageReport> {
        self.write_as(ctx, page, How::GENERATED)
    }

    /// Number and time of the last revision of a page; time in RFC 3339.
    ///
    /// # Errors
    /// Those of the store.
    pub fn last_written(&self, ctx: &Context, id: &PageId) -> Result<(u64, String)> {
        let reading = self.reading(ctx)?;
        let last = reading.snapshot.last_revision(id)?;
        Ok(last.map_or((0, String::new()), |(seq, revision)| {
            let at = jiff::Timestamp::from_millisecond(revision.at_ms);
            (seq, at.map(|at| at.to_string()).unwrap_or_default())
        }))
    }
}
