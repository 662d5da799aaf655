//! Bulk import of a stream of operations, one JSON object a line.

use std::collections::BTreeMap;
use std::io::BufRead;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::adopt::{BATCH_BYTES, BATCH_OPERATIONS};
use super::pages::{Expectation, PageWrite, UpsertPage};
use super::prepared::PreparedPage;
use super::root::Wiki;
use super::session::Writing;
use super::sources::{NewSource, PreparedSource};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{PageId, SourceId};
use crate::store::How;
use crate::store::index::{self, IndexSet};
use crate::tree::Durability;

/// A line that was not taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFailure {
    /// Line of the input, 1-based.
    pub line: u64,
    /// Stable error code.
    pub code: String,
    /// The cause.
    pub message: String,
}

/// What `import` did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// Lines read.
    pub lines: u64,
    /// Sources that are new.
    pub sources_added: u64,
    /// Sources whose bytes were known.
    pub sources_known: u64,
    /// Pages that are new.
    pub pages_created: u64,
    /// Pages whose text changed.
    pub pages_updated: u64,
    /// Pages whose text was already just so.
    pub pages_unchanged: u64,
    /// Failures by code.
    pub failure_counts: BTreeMap<String, u64>,
    /// Every failure, in line order.
    pub failures: Vec<ImportFailure>,
    /// Whether this call made the wiki.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wiki_created: bool,
}

/// Longest line: a source at the largest sensible limit, escaped.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// One line of the stream.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
enum Operation {
    #[serde(rename_all = "camelCase")]
    AddSource {
        id: Option<String>,
        name: String,
        content: String,
        media_type: Option<String>,
        origin: Option<String>,
        captured_at: Option<String>,
    },
    UpsertPage {
        id: String,
        title: String,
        summary: String,
        sources: Vec<String>,
        body: String,
    },
}

/// A line that was read and checked as far as it can be outside the lock.
enum Prepared {
    Source(PreparedSource),
    Page(Box<PreparedPage>),
}

impl Prepared {
    fn bytes(&self) -> usize {
        match self {
            Self::Source(source) => source.content.len(),
            Self::Page(page) => page.bytes.len(),
        }
    }
}

impl Wiki {
    /// Takes in operations, one JSON object a line: `{"op":"add_source",..}` and
    /// `{"op":"upsert_page",..}`. A bad line is counted and named and never stops the rest;
    /// with `strict` the first one stops the import, what came before it stays. Running the same
    /// stream again changes nothing.
    ///
    /// # Errors
    /// `STORE_BUSY`, `STORE_FULL`, or with `strict` the error of the first bad line.
    pub fn import_jsonl(
        &self,
        ctx: &Context,
        input: &mut dyn BufRead,
        strict: bool,
    ) -> Result<ImportReport> {
        let mut report = ImportReport::default();
        let mut waiting: Vec<(u64, Prepared)> = Vec::new();
        let mut bytes = 0;
        let mut line = Vec::new();
        loop {
            ctx.check()?;
            line.clear();
            let read = read_line(input, &mut line)?;
            if read {
                report.lines += 1;
                let number = report.lines;
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                match self.prepare(ctx, &line) {
                    Ok(prepared) => {
                        bytes += prepared.bytes();
                        waiting.push((number, prepared));
                    }
                    Err(error) => {
                        if strict {
                            self.take_in(ctx, &mut waiting, strict, &mut report)?;
                            return Err(at_line(number, &error));
                        }
                        report.fail(number, &error);
                    }
                }
            }
            if !read || waiting.len() >= BATCH_OPERATIONS || bytes >= BATCH_BYTES {
                self.take_in(ctx, &mut waiting, strict, &mut report)?;
                bytes = 0;
                ctx.progress("importing", report.lines, None);
            }
            if !read {
                if report.lines > BATCH_OPERATIONS as u64 {
                    self.tidy_index(ctx)?;
                }
                return Ok(report);
            }
        }
    }

    fn prepare(&self, ctx: &Context, line: &[u8]) -> Result<Prepared> {
        let operation: Operation = serde_json::from_slice(line).map_err(|error| {
            Error::new(
                ErrorCode::InvalidArgument,
                format!("the line is no operation: {error}"),
            )
            .with_hint("each line is one JSON object with \"op\": add_source or upsert_page")
        })?;
        match operation {
            Operation::AddSource {
                id,
                name,
                content,
                media_type,
                origin,
                captured_at,
            } => {
                let content = content.into_bytes();
                let mut source = PreparedSource::new(
                    ctx,
                    NewSource {
                        name,
                        content,
                        media_type,
                        origin,
                    },
                )?;
                if let Some(claimed) = id
                    && claimed != source.id.to_string()
                {
                    return Err(Error::new(
                        ErrorCode::InvalidArgument,
                        format!(
                            "the content hashes to {}, not to the id {claimed}",
                            source.id
                        ),
                    )
                    .with_hint("leave the id out, or give the content that it names"));
                }
                if let Some(at) = captured_at {
                    source.captured_at(&at)?;
                }
                Ok(Prepared::Source(source))
            }
            Operation::UpsertPage {
                id,
                title,
                summary,
                sources,
                body,
            } => {
                let sources = parse_source_ids(&sources)?;
                let page = UpsertPage {
                    id: PageId::parse(&id)?,
                    title,
                    summary,
                    sources,
                    body,
                    expected: Expectation::Any,
                    message: String::new(),
                };
                Ok(Prepared::Page(Box::new(self.prepare_page(ctx, page)?)))
            }
        }
    }

    /// Folds what the batches have left for readers to overlay.
    fn tidy_index(&self, ctx: &Context) -> Result<()> {
        self.mending(ctx, || {
            let writing = self.writing(ctx)?;
            let mut batch = writing.batch()?;
            if index::tidy(&mut batch, IndexSet::Pages)? {
                writing.commit(batch)?;
            }
            Ok(())
        })
    }

    /// Carries out what waits, in one transaction.
    fn take_in(
        &self,
        ctx: &Context,
        waiting: &mut Vec<(u64, Prepared)>,
        strict: bool,
        report: &mut ImportReport,
    ) -> Result<()> {
        if waiting.is_empty() {
            return Ok(());
        }
        let outcomes = self.mending(ctx, || {
            let writing = self.writing(ctx)?;
            report.wiki_created |= writing.made.created;
            writing.take_in(waiting, strict)
        })?;
        for ((number, prepared), outcome) in waiting.drain(..).zip(outcomes) {
            match (outcome, prepared) {
                (Ok(Outcome::Source { known }), _) => {
                    report.sources_known += u64::from(known);
                    report.sources_added += u64::from(!known);
                }
                (Ok(Outcome::Page(written)), _) => match (written.unchanged, written.created) {
                    (true, _) => report.pages_unchanged += 1,
                    (false, true) => report.pages_created += 1,
                    (false, false) => report.pages_updated += 1,
                },
                (Err(error), _) if strict => return Err(at_line(number, &error)),
                (Err(error), _) => report.fail(number, &error),
            }
        }
        Ok(())
    }
}

/// Ids of sources as a caller wrote them.
///
/// # Errors
/// `INVALID_PAGE` naming the first that is none.
pub(crate) fn parse_source_ids(ids: &[String]) -> Result<Vec<SourceId>> {
    ids.iter()
        .map(|id| {
            SourceId::parse(id).map_err(|error| {
                Error::new(ErrorCode::InvalidPage, format!("source id {error}"))
                    .with_hint("`llmwiki add-source` prints the id of a source")
            })
        })
        .collect()
}

fn at_line(number: u64, error: &Error) -> Error {
    let hint = error.hint().map(str::to_owned);
    let out = Error::new(error.code(), format!("line {number}: {}", error.message()));
    match hint {
        Some(hint) => out.with_hint(hint),
        None => out,
    }
}

/// Reads a line without its end. Whether there was one.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool> {
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("cannot read the input: {error}"),
        )
        .with_source(error)
    };
    let mut limited = std::io::Read::take(input, MAX_LINE_BYTES);
    let read = limited.read_until(b'\n', line).map_err(failed)?;
    if read as u64 == MAX_LINE_BYTES {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("a line of the input is longer than {MAX_LINE_BYTES} bytes"),
        ));
    }
    Ok(read > 0)
}

impl ImportReport {
    fn fail(&mut self, line: u64, error: &Error) {
        let code = error.code().as_str().to_owned();
        *self.failure_counts.entry(code.clone()).or_default() += 1;
        self.failures.push(ImportFailure {
            line,
            code,
            message: error.message().to_owned(),
        });
    }
}

/// How one operation of a batch went.
enum Outcome {
    Source { known: bool },
    Page(super::pages::Written),
}

impl Writing<'_> {
    /// Carries out operations in one transaction, each by itself: one that fails leaves nothing
    /// behind and stops nothing, unless `strict`, where nothing after it is tried.
    fn take_in(
        &self,
        operations: &[(u64, Prepared)],
        strict: bool,
    ) -> Result<Vec<Result<Outcome>>> {
        let mut batch = self.batch()?;
        let mut write = PageWrite::new(Durability::Batch);
        let mut outcomes = Vec::with_capacity(operations.len());
        for (_, operation) in operations {
            if let Prepared::Page(page) = operation
                && write.holds(&page.id)
            {
                // The second write of a page has to see the first one in place.
                let done = std::mem::replace(&mut write, PageWrite::new(Durability::Batch));
                self.finish_write(batch, done)?;
                batch = self.batch()?;
            }
            let outcome = match operation {
                Prepared::Source(source) => self
                    .place_source(&mut batch, source, Durability::Batch, false)
                    .map(|placed| Outcome::Source {
                        known: placed.deduplicated,
                    }),
                Prepared::Page(page) => self
                    .write_into(
                        &mut batch,
                        &mut write,
                        page,
                        Expectation::Any,
                        How::IMPORTED,
                        "",
                    )
                    .map(Outcome::Page),
            };
            let failed = outcome.is_err();
            if let Err(error) = &outcome
                && stops_everything(error.code())
            {
                write.abandon(&self.tree);
                return outcome.map(|_| Vec::new());
            }
            outcomes.push(outcome);
            if failed && strict {
                break;
            }
        }
        self.finish_write(batch, write)?;
        Ok(outcomes)
    }
}

/// Failures that the next operation would meet as well.
pub(super) fn stops_everything(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::StoreFull | ErrorCode::StoreBusy | ErrorCode::IndexCorrupt | ErrorCode::Aborted
    )
}
