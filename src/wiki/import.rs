//! Bulk import of a stream of operations, one JSON object a line.

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

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
    /// What ended the import before its end, when something did, and the line at which it stopped;
    /// what is counted above was written all the same, and running the same stream again goes on
    /// from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<ImportFailure>,
    /// Texts that people saved in the place of pages meanwhile: kept as these revisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub displaced: Vec<u64>,
    /// Whether this call made the wiki.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wiki_created: bool,
}

/// Longest line: a source at the largest sensible limit, escaped.
const MAX_LINE_BYTES: u64 = 256 << 20;

/// One line of the stream, whose keys are taken one by one.
struct Line {
    op: String,
    keys: Map<String, Value>,
}

impl Line {
    /// Reads a line as far as the name of its operation.
    fn parse(line: &[u8]) -> Result<Self> {
        let Object(mut keys) = serde_json::from_slice(line).map_err(|error| {
            let text = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let what = text.strip_suffix(place.as_str()).unwrap_or(&text);
            if error.is_data() {
                no_operation(what)
            } else {
                no_operation(&format!(
                    "it is not JSON: {what} at column {}",
                    error.column()
                ))
            }
        })?;
        match keys.remove("op") {
            Some(Value::String(op)) if KEYS.iter().any(|(known, _)| *known == op) => {
                Ok(Self { op, keys })
            }
            Some(op) => Err(no_operation(&format!(
                "\"op\" is {op}, not add_source or upsert_page"
            ))),
            None => Err(no_operation("\"op\" is missing")),
        }
    }

    fn wrong(&self, what: &str) -> Error {
        let known = KEYS.iter().find(|(op, _)| *op == self.op);
        let keys = known.map_or("", |(_, keys)| keys);
        Error::new(
            ErrorCode::InvalidArgument,
            format!("the {} cannot be used: {what}", self.op),
        )
        .with_hint(format!("the keys of {} are {keys}", self.op))
    }

    fn optional(&mut self, key: &str) -> Result<Option<String>> {
        match self.keys.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(&format!("\"{key}\" is {}, not text", kind_of(&other)))),
        }
    }

    fn text(&mut self, key: &str) -> Result<String> {
        let text = self.optional(key)?;
        text.ok_or_else(|| self.wrong(&format!("\"{key}\" is missing")))
    }

    fn texts(&mut self, key: &str) -> Result<Vec<String>> {
        let items = match self.keys.remove(key) {
            None | Some(Value::Null) => return Err(self.wrong(&format!("\"{key}\" is missing"))),
            Some(Value::Array(items)) => items,
            Some(other) => {
                let what = kind_of(&other);
                return Err(self.wrong(&format!("\"{key}\" is {what}, not a list of texts")));
            }
        };
        items
            .into_iter()
            .map(|item| match item {
                Value::String(text) => Ok(text),
                other => {
                    let what = kind_of(&other);
                    Err(self.wrong(&format!("\"{key}\" holds {what}, not only texts")))
                }
            })
            .collect()
    }

    /// Nothing may be left.
    fn end(&self) -> Result<()> {
        match self.keys.keys().next() {
            Some(key) => Err(self.wrong(&format!("it has no key {key:?}"))),
            None => Ok(()),
        }
    }
}

/// The operations and their keys, as hints name them.
const KEYS: [(&str, &str); 2] = [
    (
        "add_source",
        "name, content, mediaType, origin, id, capturedAt",
    ),
    ("upsert_page", "id, title, summary, sources, body"),
];

fn no_operation(what: &str) -> Error {
    Error::new(
        ErrorCode::InvalidArgument,
        format!("the line is no operation: {what}"),
    )
    .with_hint("each line is one JSON object with \"op\": add_source or upsert_page")
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A JSON object that gives no key twice.
struct Object(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Object, A::Error> {
        let mut keys = Map::new();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            if keys.contains_key(&key) {
                let what = format!("it gives the key {key:?} twice");
                return Err(serde::de::Error::custom(what));
            }
            keys.insert(key, value);
        }
        Ok(Object(keys))
    }
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
    /// with `strict` the first one stops the import. Batches are written as they come: what stops
    /// an import after the first one is named in the report, which says what was written. Running
    /// the same stream again changes nothing that is there.
    ///
    /// # Errors
    /// `STORE_BUSY`, `STORE_FULL`, `ABORTED` and others that no line is to blame for, as long as
    /// nothing was written.
    pub fn import_jsonl(
        &self,
        ctx: &Context,
        input: &mut dyn BufRead,
        strict: bool,
    ) -> Result<ImportReport> {
        let mut import = Import {
            wiki: self,
            ctx,
            strict,
            report: ImportReport::default(),
            waiting: Vec::new(),
            bytes: 0,
            unwritten: None,
        };
        let outcome = import.run(input);
        let first_waiting = import.waiting.first().map(|(number, _)| *number);
        let unwritten = import.unwritten.or(first_waiting);
        let mut report = import.report;
        if let Err(error) = outcome {
            if !report.has_written() {
                return Err(error);
            }
            report.stopped = Some(failure(unwritten.unwrap_or(report.lines), &error));
        }
        report.failures.sort_by_key(|failure| failure.line);
        Ok(report)
    }

    fn prepare(&self, ctx: &Context, line: &[u8]) -> Result<Prepared> {
        let mut line = Line::parse(line)?;
        if line.op == "add_source" {
            let claimed = line.optional("id")?;
            let source = NewSource {
                name: line.text("name")?,
                content: line.text("content")?.into_bytes(),
                media_type: line.optional("mediaType")?,
                origin: line.optional("origin")?,
            };
            let at = line.optional("capturedAt")?;
            line.end()?;
            let mut source = PreparedSource::new(ctx, source)?;
            if let Some(claimed) = claimed
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
            if let Some(at) = at {
                source.captured_at(&at)?;
            }
            return Ok(Prepared::Source(source));
        }
        let id = line.text("id")?;
        let page = UpsertPage {
            title: line.text("title")?,
            summary: line.text("summary")?,
            sources: parse_source_ids(&line.texts("sources")?)?,
            body: line.text("body")?,
            id: PageId::parse(&id)?,
            expected: Expectation::Any,
            message: String::new(),
        };
        line.end()?;
        Ok(Prepared::Page(Box::new(self.prepare_page(ctx, page)?)))
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
}

/// One import under way.
struct Import<'a> {
    wiki: &'a Wiki,
    ctx: &'a Context,
    strict: bool,
    report: ImportReport,
    /// Operations of the next batch and the lines they are from.
    waiting: Vec<(u64, Prepared)>,
    bytes: usize,
    /// The first line of a batch that was not carried out.
    unwritten: Option<u64>,
}

impl Import<'_> {
    fn run(&mut self, input: &mut dyn BufRead) -> Result<()> {
        let mut line = Vec::new();
        loop {
            self.ctx.check()?;
            line.clear();
            let read = read_line(self.ctx, input, &mut line)?;
            if read {
                self.report.lines += 1;
                self.take(&line);
            }
            let is_full = self.waiting.len() >= BATCH_OPERATIONS || self.bytes >= BATCH_BYTES;
            if !read || is_full || self.is_stopped() {
                self.write()?;
                self.ctx.progress("importing", self.report.lines, None);
            }
            if self.is_stopped() {
                return Ok(());
            }
            if !read {
                if self.report.lines > BATCH_OPERATIONS as u64 {
                    self.wiki.tidy_index(self.ctx)?;
                }
                return Ok(());
            }
        }
    }

    /// Reads and checks a line.
    fn take(&mut self, line: &[u8]) {
        let number = self.report.lines;
        let mark = if number == 1 { BYTE_ORDER_MARK } else { b"" };
        let line = line.strip_prefix(mark).unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match self.wiki.prepare(self.ctx, line) {
            Ok(prepared) => {
                self.bytes += prepared.bytes();
                self.waiting.push((number, prepared));
            }
            Err(error) => self.fail(number, &error),
        }
    }

    fn is_stopped(&self) -> bool {
        self.report.stopped.is_some()
    }

    fn fail(&mut self, line: u64, error: &Error) {
        let failure = failure(line, error);
        let count = self.report.failure_counts.entry(failure.code.clone());
        *count.or_default() += 1;
        // An earlier line may fail later, when it is written.
        let first = self.report.stopped.as_ref();
        if self.strict && first.is_none_or(|first| line < first.line) {
            self.report.stopped = Some(failure.clone());
        }
        self.report.failures.push(failure);
    }

    /// Carries out what waits, in one transaction.
    fn write(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let Some((first, _)) = waiting.first() else {
            return Ok(());
        };
        self.unwritten = Some(*first);
        let taken = self.wiki.mending(self.ctx, || {
            let writing = self.wiki.writing(self.ctx)?;
            Ok((
                writing.take_in(&waiting, self.strict)?,
                writing.made.created,
            ))
        });
        let (taken, wiki_created) = taken?;
        let report = &mut self.report;
        report.wiki_created |= wiki_created;
        report.displaced.extend(taken.displaced);
        let next = waiting.get(taken.outcomes.len());
        self.unwritten = next.map(|(number, _)| *number);
        for ((number, prepared), outcome) in waiting.into_iter().zip(taken.outcomes) {
            let report = &mut self.report;
            match (outcome, prepared) {
                (Ok(Outcome::Source { known }), _) => {
                    report.sources_known += u64::from(known);
                    report.sources_added += u64::from(!known);
                }
                (Ok(Outcome::Page(written)), _) => {
                    match (written.unchanged, written.created) {
                        (true, _) => report.pages_unchanged += 1,
                        (false, true) => report.pages_created += 1,
                        (false, false) => report.pages_updated += 1,
                    }
                    report.displaced.extend(written.displaced);
                }
                (Err(error), _) => self.fail(number, &error),
            }
        }
        taken.stopped.map_or(Ok(()), Err)
    }
}

/// UTF-8 has no byte order, but some editors write its mark all the same.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn failure(line: u64, error: &Error) -> ImportFailure {
    ImportFailure {
        line,
        code: error.code().as_str().to_owned(),
        message: error.explained(),
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
                    .with_hint("`llmwiki add-source FILE` prints the id of a source")
            })
        })
        .collect()
}

/// Reads a line without its end. Whether there was one.
fn read_line(ctx: &Context, input: &mut dyn BufRead, line: &mut Vec<u8>) -> Result<bool> {
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("cannot read the input: {error}"),
        )
        .with_source(error)
    };
    let mut limited = std::io::Read::take(input, MAX_LINE_BYTES);
    let read = limited.read_until(b'\n', line).map_err(|error| {
        // Whoever waited for input gave up because of it.
        ctx.check().err().unwrap_or_else(|| failed(error))
    })?;
    if read as u64 == MAX_LINE_BYTES {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("a line of the input is longer than {MAX_LINE_BYTES} bytes"),
        ));
    }
    Ok(read > 0)
}

impl ImportReport {
    /// Whether anything was written that is there to stay.
    fn has_written(&self) -> bool {
        let pages = self.pages_created + self.pages_updated + self.pages_unchanged;
        self.sources_added + self.sources_known + pages > 0
    }
}

/// How one operation of a batch went.
enum Outcome {
    Source { known: bool },
    Page(super::pages::Written),
}

/// What came of a batch.
struct Taken {
    /// Of the operations that were carried out, in order; the others were not tried, or left
    /// nothing behind.
    outcomes: Vec<Result<Outcome>>,
    /// Texts of people that pages took the place of.
    displaced: Vec<u64>,
    /// What ended the batch before its end, after a part of it was written.
    stopped: Option<Error>,
}

impl Writing<'_> {
    /// Carries out operations in one transaction, each by itself: one that fails leaves nothing
    /// behind and stops nothing, unless `strict`, where nothing after it is tried.
    fn take_in(&self, operations: &[(u64, Prepared)], strict: bool) -> Result<Taken> {
        let mut batch = self.batch()?;
        let mut write = PageWrite::new(Durability::Batch);
        let mut taken = Taken {
            outcomes: Vec::with_capacity(operations.len()),
            displaced: Vec::new(),
            stopped: None,
        };
        // Of the outcomes, those that were committed.
        let mut committed = 0;
        let stop = |mut taken: Taken, committed: usize, error: Error| {
            if committed == 0 {
                return Err(error);
            }
            taken.outcomes.truncate(committed);
            taken.stopped = Some(error);
            Ok(taken)
        };
        for (_, operation) in operations {
            if let Prepared::Page(page) = operation
                && write.holds(&page.id)
            {
                // The second write of a page has to see the first one in place.
                let done = std::mem::replace(&mut write, PageWrite::new(Durability::Batch));
                match self.finish_write(batch, done) {
                    Ok(displaced) => taken.displaced.extend(displaced),
                    Err(error) => return stop(taken, committed, error),
                }
                committed = taken.outcomes.len();
                batch = match self.batch() {
                    Ok(batch) => batch,
                    Err(error) => return stop(taken, committed, error),
                };
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
            match outcome {
                Err(error) if stops_everything(error.code()) => {
                    write.abandon(&self.tree);
                    return stop(taken, committed, error);
                }
                outcome => taken.outcomes.push(outcome),
            }
            if failed && strict {
                break;
            }
        }
        match self.finish_write(batch, write) {
            Ok(displaced) => taken.displaced.extend(displaced),
            Err(error) => return stop(taken, committed, error),
        }
        Ok(taken)
    }
}

/// Failures that the next operation would meet as well.
pub(super) fn stops_everything(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::StoreFull | ErrorCode::StoreBusy | ErrorCode::IndexCorrupt | ErrorCode::Aborted
    )
}
