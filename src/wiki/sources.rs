//! Sources: exact immutable bytes, named by their SHA-256.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::Serialize;

use super::adopt::{self, source_stamp, stamp_path};
use super::root::Wiki;
use super::session::{Reading, Writing};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, SourceId};
use crate::source::{
    EventKind, Metadata, MetadataFault, SourceEvent, is_blank, is_captured_at, parse_events,
    parse_metadata,
};
use crate::store::{self, Batch, SkippedRecord, SourceEventKind, SourceRecord, StoreError, View};
use crate::tree::{self, Durability, Published, RelPath, Tree};

/// A source to preserve.
#[derive(Debug, Clone, Default)]
pub struct NewSource {
    /// Name for people, 1 to 255 bytes, one line.
    pub name: String,
    /// The exact bytes; not empty.
    pub content: Vec<u8>,
    /// Media type; `text/plain; charset=utf-8` or `application/octet-stream` when not given.
    pub media_type: Option<String>,
    /// Where the bytes came from, such as a URL.
    pub origin: Option<String>,
}

/// What is known about a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceMetadata {
    /// SHA-256 of the content, 64 lower-case hexadecimal digits.
    pub id: String,
    /// Name given when it was first captured.
    pub name: String,
    /// Media type.
    pub media_type: String,
    /// Length of the content in bytes.
    pub byte_count: u64,
    /// When it was first captured, RFC 3339, UTC, milliseconds.
    pub captured_at: String,
    /// Where it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// What `add-source` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddSourceReport {
    /// Id of the source.
    pub id: String,
    /// Whether the bytes were already preserved.
    pub deduplicated: bool,
    /// The first record of these bytes.
    pub metadata: SourceMetadata,
    /// How often these bytes were captured, this time included.
    pub captures: u64,
    /// Whether this call made the wiki.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wiki_created: bool,
}

/// Bytes of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadSourceReport {
    /// Id of the source.
    pub id: String,
    /// The text, when the range is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The bytes in base64, when the range is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_base64: Option<String>,
    /// What is known about the source.
    pub metadata: SourceMetadata,
    /// First byte of the range.
    pub byte_start: u64,
    /// End of the range, exclusive; pass it as the next offset.
    pub byte_end: u64,
    /// Length of the whole source.
    pub byte_count: u64,
    /// The exact bytes of the range, for callers that do not want JSON.
    #[serde(skip)]
    #[schemars(skip)]
    pub bytes: Vec<u8>,
}

impl ReadSourceReport {
    /// Keeps the first `count` bytes of the range, where that is less than it has. In text, they
    /// end at the border of a character.
    pub fn keep(&mut self, count: usize) {
        if count >= self.bytes.len() {
            return;
        }
        self.bytes.truncate(count);
        self.byte_end = self.byte_start + count as u64;
        if let Some(text) = &mut self.content {
            text.truncate(count);
        }
        if let Some(text) = &mut self.content_base64 {
            *text = BASE64.encode(&self.bytes);
        }
    }
}

/// Sources in id order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListSourcesReport {
    /// Metadata of each source.
    pub sources: Vec<SourceMetadata>,
    /// Pass it as `cursor` to go on; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A source that was looked at, all of it sound.
pub(super) struct Found {
    pub(super) metadata: Metadata,
    pub(super) content: Vec<u8>,
    pub(super) events: Events,
}

/// What `events.jsonl` of a source says, as far as it can be read. Evidence does not hang on it.
#[derive(Default)]
pub(super) struct Events {
    pub(super) events: Vec<SourceEvent>,
    /// What could not be read, and why.
    pub(super) fault: Option<SkippedRecord>,
}

/// A source to preserve whose arguments were checked.
pub(super) struct PreparedSource {
    pub(super) id: SourceId,
    pub(super) metadata: Metadata,
    pub(super) content: Vec<u8>,
}

impl PreparedSource {
    /// Checks the arguments of a capture.
    ///
    /// # Errors
    /// `INVALID_PAGE` for a blank name, media type or origin; `INVALID_ARGUMENT` for empty
    /// content; `LIMIT_EXCEEDED`.
    pub(super) fn new(ctx: &Context, source: NewSource) -> Result<Self> {
        let refuse = |what: &str| Err(Error::new(ErrorCode::InvalidPage, format!("source {what}")));
        if is_blank(&source.name) {
            return refuse("name is blank");
        }
        if source.media_type.as_deref().is_some_and(is_blank) {
            return refuse("media type is blank");
        }
        if source.origin.as_deref() == Some("") {
            return refuse("origin is empty");
        }
        let byte_count = source.content.len() as u64;
        if byte_count > ctx.limits.max_source_bytes {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!(
                    "source {:?} has {byte_count} bytes, more than max_source_bytes {}",
                    source.name, ctx.limits.max_source_bytes
                ),
            )
            .with_hint("split it, or raise max_source_bytes in config.toml"));
        }
        if source.content.is_empty() {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                format!("source {:?} is empty", source.name),
            )
            .with_hint("an empty source is evidence of nothing; give it some content"));
        }
        let media_type = source.media_type.unwrap_or_else(|| {
            let text = std::str::from_utf8(&source.content).is_ok();
            if text {
                "text/plain; charset=utf-8"
            } else {
                "application/octet-stream"
            }
            .to_owned()
        });
        let id = SourceId::of(&source.content);
        let metadata = Metadata {
            id,
            name: source.name,
            media_type,
            byte_count,
            captured_at: ctx.now_text(),
            origin: source.origin,
        };
        Ok(Self {
            id,
            metadata,
            content: source.content,
        })
    }

    /// Says when the source was captured, for a stream that brings the moment along.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for anything but `2026-02-03T04:05:06.789Z`.
    pub(super) fn captured_at(&mut self, at: &str) -> Result<()> {
        if !is_captured_at(at) {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                format!("capturedAt {at:?} is not like 2026-02-03T04:05:06.789Z"),
            ));
        }
        at.clone_into(&mut self.metadata.captured_at);
        Ok(())
    }
}

/// Reads a source from the tree and proves it: both files there, the metadata well-formed, id,
/// length and hash as they say.
///
/// # Errors
/// `SOURCE_NOT_FOUND` when it is not there or incomplete, `INVALID_PAGE` when it does not hold
/// together, `UNSAFE_FILESYSTEM` for anything but plain files.
pub(super) fn examine(tree: &Tree, id: SourceId) -> Result<Found> {
    let missing = |what: &str| {
        Error::new(ErrorCode::SourceNotFound, format!("source {id} {what}")).with_hint(format!(
            "add the same content again, or bring it back with `llmwiki restore {id}`"
        ))
    };
    let metadata = tree
        .read(
            &RelPath::source_file(&id, "metadata.json")?,
            MAX_METADATA_BYTES,
        )?
        .ok_or_else(|| missing("has no metadata.json"));
    let content = match tree.read(&RelPath::source_file(&id, "content")?, u64::MAX)? {
        Some(content) => content,
        None if tree.stat(&RelPath::source(&id))?.is_none() => {
            return Err(Error::new(
                ErrorCode::SourceNotFound,
                format!("there is no source {id}"),
            )
            .with_hint("`llmwiki list-sources` prints the ids; `add-source` preserves a new one"));
        }
        None => return Err(missing("has no content")),
    };
    let damaged = |what: String| {
        Error::new(
            ErrorCode::InvalidPage,
            format!("source {id} is damaged: {what}"),
        )
        .with_hint(format!(
            "bring it back from a backup or with `llmwiki restore {id}`"
        ))
    };
    let metadata = parse_metadata(&metadata?.bytes).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(MetadataFault::to_string).collect();
        damaged(faults.join("; "))
    })?;
    if metadata.id != id {
        return Err(damaged(format!(
            "metadata.json names the source {}",
            metadata.id
        )));
    }
    if metadata.byte_count != content.bytes.len() as u64 {
        return Err(damaged(format!(
            "metadata.json says {} bytes, content has {}",
            metadata.byte_count,
            content.bytes.len()
        )));
    }
    let actual = SourceId::of(&content.bytes);
    if actual != id {
        return Err(damaged(format!("its content hashes to {actual}")));
    }
    Ok(Found {
        metadata,
        content: content.bytes,
        events: read_events(tree, id),
    })
}

/// Name of the log of what happened to a source.
const EVENTS_FILE: &str = "events.jsonl";

/// Path of the log of a source, under which the store notes what cannot be read of it.
pub(super) fn events_path(id: SourceId) -> Vec<u8> {
    format!("sources/{id}/{EVENTS_FILE}").into_bytes()
}

/// The source whose log is at `path`.
pub(super) fn source_of_events(path: &[u8]) -> Option<SourceId> {
    let path = std::str::from_utf8(path).ok()?.strip_prefix("sources/")?;
    let (id, file) = path.split_once('/')?;
    SourceId::parse(id).ok().filter(|_| file == EVENTS_FILE)
}

/// Reads the log of a source: what it holds that can be read, and what is wrong with the rest.
pub(super) fn read_events(tree: &Tree, id: SourceId) -> Events {
    let read = RelPath::source_file(&id, EVENTS_FILE)
        .and_then(|path| tree.read(&path, MAX_METADATA_BYTES));
    let file = match read {
        Ok(Some(file)) => file,
        Ok(None) => return Events::default(),
        Err(error) => {
            let error = Error::from(error);
            let fault = Some(SkippedRecord {
                code: error.code().as_str().to_owned(),
                message: error.message().to_owned(),
                line: None,
            });
            return Events {
                events: Vec::new(),
                fault,
            };
        }
    };
    let (events, bad) = parse_events(&file.bytes);
    let fault = bad.first().map(|&first| SkippedRecord {
        code: ErrorCode::InvalidPage.as_str().to_owned(),
        message: match bad.len() {
            1 => format!("line {first} is no event"),
            more => format!("line {first} is no event, nor are {} more", more - 1),
        },
        line: u32::try_from(first).ok(),
    });
    Events { events, fault }
}

/// The bytes of a source in the tree, when they are still those that its id names.
pub(super) fn bytes_in_tree(tree: &Tree, hash: ContentHash) -> Option<Vec<u8>> {
    let path = RelPath::source_file(&SourceId::from_hash(hash), "content").ok()?;
    let file = tree.read(&path, u64::MAX).ok()??;
    (ContentHash::of(&file.bytes) == hash).then_some(file.bytes)
}

/// Largest `metadata.json` or `events.jsonl` that is read.
const MAX_METADATA_BYTES: u64 = 16 << 20;

/// Writes the rows of a source. The first record of its bytes stays.
///
/// # Errors
/// Those of the store.
pub(super) fn put(batch: &mut Batch, id: SourceId, found: &Found) -> Result<(), StoreError> {
    batch.put_blob(&found.content)?;
    if batch.source(id)?.is_none() {
        batch.put_source(id, &record_of(&found.metadata))?;
    }
    for event in &found.events.events {
        batch.put_source_event(id, &event_record(event))?;
    }
    match &found.events.fault {
        Some(fault) => batch.put_skipped(&events_path(id), fault)?,
        None => batch.remove_skipped(&events_path(id)).map(drop)?,
    }
    Ok(())
}

fn record_of(metadata: &Metadata) -> SourceRecord {
    SourceRecord {
        name: metadata.name.clone(),
        media_type: metadata.media_type.clone(),
        byte_count: metadata.byte_count,
        captured_at: metadata.captured_at.clone(),
        origin: metadata.origin.clone(),
    }
}

/// The metadata that a row of the store stands for.
pub(super) fn metadata_of(id: SourceId, record: SourceRecord) -> Metadata {
    Metadata {
        id,
        name: record.name,
        media_type: record.media_type,
        byte_count: record.byte_count,
        captured_at: record.captured_at,
        origin: record.origin,
    }
}

fn event_record(event: &SourceEvent) -> store::SourceEvent {
    store::SourceEvent {
        kind: match event.event {
            EventKind::Captured => SourceEventKind::CAPTURED,
            EventKind::Retired => SourceEventKind::RETIRED,
            EventKind::Superseded => SourceEventKind::SUPERSEDED,
        },
        at: event.at.clone(),
        name: event.name.clone().unwrap_or_default(),
        media_type: event.media_type.clone().unwrap_or_default(),
        origin: event.origin.clone(),
        successor: event.by.as_deref().and_then(|id| SourceId::parse(id).ok()),
        reason: event.reason.clone().unwrap_or_default(),
        actor: event.actor.clone().unwrap_or_default(),
    }
}

/// The line of `events.jsonl` that a row of the store stands for.
pub(super) fn event_of(record: store::SourceEvent) -> SourceEvent {
    let some = |text: String| (!text.is_empty()).then_some(text);
    SourceEvent {
        event: match record.kind {
            SourceEventKind::RETIRED => EventKind::Retired,
            SourceEventKind::SUPERSEDED => EventKind::Superseded,
            _ => EventKind::Captured,
        },
        at: record.at,
        name: some(record.name),
        media_type: some(record.media_type),
        origin: record.origin,
        reason: some(record.reason),
        actor: some(record.actor),
        by: record.successor.map(|id| id.to_string()),
    }
}

/// Pages that cite a source which has come in no longer miss it.
///
/// # Errors
/// Those of the store.
pub(super) fn mend_citations(batch: &mut Batch, source: SourceId) -> Result<(), StoreError> {
    for id in batch.pages_citing(source)? {
        let Some(mut page) = batch.page(&id)? else {
            continue;
        };
        if adopt::misses(&page, source) {
            page.missing_sources.retain(|&missing| missing != source);
            page.sources.push(source);
            page.sources.sort_unstable();
            batch.put_page(&id, &page)?;
        }
    }
    Ok(())
}

fn captures(view: &View, id: SourceId) -> Result<u64, StoreError> {
    let events = view.source_events(id)?;
    let again = events
        .iter()
        .filter(|event| event.kind == SourceEventKind::CAPTURED)
        .count();
    Ok(1 + again as u64)
}

/// Whether a page may cite this source: it is preserved, and its folder stands in the tree.
///
/// # Errors
/// As [`examine`].
pub(super) fn check_citable(tree: &Tree, view: &View, id: SourceId) -> Result<()> {
    let known = view.source(id)?;
    if let Some(record) = known {
        let content = tree.stat(&RelPath::source_file(&id, "content")?)?;
        let metadata = tree.stat(&RelPath::source_file(&id, "metadata.json")?)?;
        if content.is_some_and(|stamp| stamp.size == record.byte_count) && metadata.is_some() {
            return Ok(());
        }
    }
    examine(tree, id).map(drop)
}

/// How one capture went.
pub(super) struct Placed {
    pub(super) deduplicated: bool,
    pub(super) metadata: Metadata,
}

impl Writing<'_> {
    /// Puts a source into the tree and its rows into the batch. A folder that a crash left
    /// incomplete is completed. Known bytes keep their first record; with `note_again` the
    /// capture is noted as an event, else only when its circumstances are new.
    ///
    /// # Errors
    /// `INVALID_PAGE` when what is preserved under this id is damaged; `UNSAFE_FILESYSTEM`.
    pub(super) fn place_source(
        &self,
        batch: &mut Batch,
        source: &PreparedSource,
        durability: Durability,
        note_again: bool,
    ) -> Result<Placed> {
        let id = source.id;
        let mut found = match examine(&self.tree, id) {
            Ok(found) => found,
            Err(error) if error.code() == ErrorCode::SourceNotFound => {
                return self.complete_source(batch, source, durability, note_again);
            }
            Err(error) => return Err(error),
        };
        let known = &found.events.events;
        if let Some(event) = again(&found.metadata, known, source, note_again) {
            let path = RelPath::source_file(&id, EVENTS_FILE)?;
            self.tree.append_line(&path, &event.render())?;
            found.events.events.push(event);
        }
        put(batch, id, &found)?;
        batch.put_stamp(&stamp_path(id), &source_stamp(id))?;
        mend_citations(batch, id)?;
        Ok(Placed {
            deduplicated: true,
            metadata: found.metadata,
        })
    }

    /// Publishes the folder of a source that the tree lacks, whole or in part.
    fn complete_source(
        &self,
        batch: &mut Batch,
        source: &PreparedSource,
        durability: Durability,
        note_again: bool,
    ) -> Result<Placed> {
        let id = source.id;
        let first = self.first_record(batch, id)?;
        let mut events: Vec<SourceEvent> =
            batch.source_events(id)?.into_iter().map(event_of).collect();
        if let Some(file) = self
            .tree
            .read(&RelPath::source_file(&id, EVENTS_FILE)?, MAX_METADATA_BYTES)?
        {
            let (in_tree, _) = parse_events(&file.bytes);
            events.extend(
                in_tree
                    .into_iter()
                    .filter(|event| !events.contains(event))
                    .collect::<Vec<_>>(),
            );
        }
        let deduplicated = first.is_some();
        let metadata = first.unwrap_or_else(|| source.metadata.clone());
        if deduplicated {
            events.extend(again(&metadata, &events, source, note_again));
        }
        let found = Found {
            metadata,
            content: source.content.clone(),
            events: Events {
                events,
                fault: None,
            },
        };
        self.publish_source(id, &found, durability)?;
        put(batch, id, &found)?;
        batch.put_stamp(&stamp_path(id), &source_stamp(id))?;
        mend_citations(batch, id)?;
        Ok(Placed {
            deduplicated,
            metadata: found.metadata,
        })
    }

    /// The first record of these bytes: in the store, or in a folder that lacks its content.
    fn first_record(&self, view: &View, id: SourceId) -> Result<Option<Metadata>> {
        if let Some(record) = view.source(id)? {
            return Ok(Some(metadata_of(id, record)));
        }
        let file = self.tree.read(
            &RelPath::source_file(&id, "metadata.json")?,
            MAX_METADATA_BYTES,
        )?;
        Ok(file
            .and_then(|file| parse_metadata(&file.bytes).ok())
            .filter(|found| found.id == id))
    }

    /// Puts the folder of a source in place. An incomplete one that is there is replaced.
    ///
    /// # Errors
    /// `UNSAFE_FILESYSTEM`, `STORE_FULL`.
    pub(super) fn publish_source(
        &self,
        id: SourceId,
        found: &Found,
        durability: Durability,
    ) -> Result<()> {
        let metadata = found.metadata.render();
        let events: String = found
            .events
            .events
            .iter()
            .flat_map(|event| [event.render(), "\n".to_owned()])
            .collect();
        let mut files: Vec<(&str, &[u8])> = vec![
            ("content", &found.content),
            ("metadata.json", metadata.as_bytes()),
        ];
        if !events.is_empty() {
            files.push((EVENTS_FILE, events.as_bytes()));
        }
        let staged = self.tree.stage_dir(&files, "source", durability)?;
        let goal = RelPath::source(&id);
        let mut old = None;
        let mut publish = || -> Result<()> {
            if self.tree.publish_dir(&staged, &goal, durability)? == Published::AlreadyThere {
                old = self.tree.take_dir(&goal, durability)?;
                self.tree.publish_dir(&staged, &goal, durability)?;
            }
            Ok(())
        };
        if let Err(error) = publish() {
            let _ = self.tree.remove_staged(&staged);
            return Err(error);
        }
        if let Some(old) = old {
            self.tree.remove_staged(&old)?;
        }
        Ok(())
    }
}

/// The event of capturing known bytes once more, when it is to be noted.
fn again(
    first: &Metadata,
    events: &[SourceEvent],
    source: &PreparedSource,
    always: bool,
) -> Option<SourceEvent> {
    let now = &source.metadata;
    let event = SourceEvent::captured(
        now.captured_at.clone(),
        now.name.clone(),
        now.media_type.clone(),
        now.origin.clone(),
    );
    let same_first =
        first.name == now.name && first.media_type == now.media_type && first.origin == now.origin;
    let same_later = events.iter().any(|known| {
        known.event == EventKind::Captured
            && (
                known.name.as_ref(),
                known.media_type.as_ref(),
                known.origin.as_ref(),
            ) == (
                event.name.as_ref(),
                event.media_type.as_ref(),
                event.origin.as_ref(),
            )
    });
    (always || !(same_first || same_later)).then_some(event)
}

impl From<Metadata> for SourceMetadata {
    fn from(metadata: Metadata) -> Self {
        Self {
            id: metadata.id.to_string(),
            name: metadata.name,
            media_type: metadata.media_type,
            byte_count: metadata.byte_count,
            captured_at: metadata.captured_at,
            origin: metadata.origin,
        }
    }
}

/// The range of a text source that a caller gets: it starts and ends at character borders and,
/// when anything is left, holds at least one character.
pub(super) fn character_range(text: &str, offset: usize, limit: usize) -> (usize, usize) {
    let start = text.ceil_char_boundary(offset);
    let end = text.floor_char_boundary(offset.saturating_add(limit).min(text.len()));
    if end > start {
        return (start, end);
    }
    let next = text[start..]
        .chars()
        .next()
        .map_or(start, |first| start + first.len_utf8());
    (start, next)
}

impl Wiki {
    /// Preserves a source. Creates the wiki when there is none. Bytes that are preserved already
    /// keep their first record, and the capture is noted beside it.
    ///
    /// # Errors
    /// `INVALID_PAGE` for a blank name, media type or origin, or when what is preserved under
    /// this id is damaged; `INVALID_ARGUMENT` for empty content; `LIMIT_EXCEEDED` over
    /// `max_source_bytes`; `STORE_BUSY`, `STORE_FULL`, `UNSAFE_FILESYSTEM`.
    pub fn add_source(&self, ctx: &Context, source: NewSource) -> Result<AddSourceReport> {
        let source = PreparedSource::new(ctx, source)?;
        self.mending(ctx, || self.add_prepared(ctx, &source))
    }

    fn add_prepared(&self, ctx: &Context, source: &PreparedSource) -> Result<AddSourceReport> {
        let writing = self.writing(ctx)?;
        let mut batch = writing.batch()?;
        let placed = writing.place_source(&mut batch, source, Durability::Now, true)?;
        let captures = captures(&batch, source.id)?;
        writing.commit(batch)?;
        Ok(AddSourceReport {
            id: source.id.to_string(),
            deduplicated: placed.deduplicated,
            metadata: placed.metadata.into(),
            captures,
            wiki_created: writing.made.created,
        })
    }

    /// Reads bytes of a source, verified against its id. Of a text the range is widened or
    /// narrowed to character borders; it always moves on by at least one character.
    ///
    /// # Errors
    /// `SOURCE_NOT_FOUND`; `LIMIT_EXCEEDED` for an offset behind the end, or a limit that is zero
    /// or over `max_source_bytes`; `INVALID_PAGE` when the source is damaged.
    pub fn read_source(
        &self,
        ctx: &Context,
        id: SourceId,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<ReadSourceReport> {
        self.mending(ctx, || {
            Self::read_source_in(&self.reading(ctx)?, ctx, id, offset, limit)
        })
    }

    pub(super) fn read_source_in(
        reading: &Reading,
        ctx: &Context,
        id: SourceId,
        offset: Option<u64>,
        limit: Option<u64>,
    ) -> Result<ReadSourceReport> {
        let (metadata, content) = match reading.snapshot.source(id)? {
            Some(record) => {
                let content =
                    reading
                        .snapshot
                        .blob(&id.hash())?
                        .ok_or_else(|| StoreError::Damaged {
                            what: format!("the bytes of source {id} are missing"),
                        })?;
                (metadata_of(id, record), content)
            }
            None => {
                if reading.tree.stat(&RelPath::source(&id))?.is_none() {
                    return Err(Error::new(
                        ErrorCode::SourceNotFound,
                        format!("there is no source {id}"),
                    )
                    .with_hint("`llmwiki list-sources` lists those that there are"));
                }
                let found = examine(&reading.tree, id)?;
                (found.metadata, found.content)
            }
        };
        if let Some(fault) = read_events(&reading.tree, id).fault {
            let path = tree::escape(&events_path(id));
            let message = fault.message.strip_prefix(&path).unwrap_or(&fault.message);
            ctx.notice(&format!("{path} cannot be read whole: {}", message.trim()));
        }
        let length = content.len();
        let refuse = |what: String| Err(Error::new(ErrorCode::LimitExceeded, what));
        let offset = match usize::try_from(offset.unwrap_or(0)) {
            Ok(offset) if offset <= length => offset,
            _ => {
                return refuse(format!(
                    "offset {} lies behind the end of source {id}, which has {length} bytes",
                    offset.unwrap_or(0)
                ));
            }
        };
        let largest = ctx.limits.max_source_bytes;
        let limit = limit.unwrap_or_else(|| largest.max(length as u64));
        if limit == 0 || limit > largest.max(length as u64) {
            return refuse(format!("limit {limit} is not between 1 and {largest}"));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let text = std::str::from_utf8(&content).ok();
        let (start, end) = match text {
            Some(text) => character_range(text, offset, limit),
            None => (offset, offset.saturating_add(limit).min(length)),
        };
        let bytes = content[start..end].to_vec();
        Ok(ReadSourceReport {
            id: id.to_string(),
            content: text.map(|text| text[start..end].to_owned()),
            content_base64: text.is_none().then(|| BASE64.encode(&bytes)),
            metadata: metadata.into(),
            byte_start: start as u64,
            byte_end: end as u64,
            byte_count: length as u64,
            bytes,
        })
    }

    /// Lists the sources in the tree in id order, `limit` at a time after `cursor`.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `INVALID_ARGUMENT` for a cursor that is no id.
    pub fn list_sources(
        &self,
        ctx: &Context,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListSourcesReport> {
        self.mending(ctx, || self.list_sources_once(ctx, cursor, limit))
    }

    fn list_sources_once(
        &self,
        ctx: &Context,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<ListSourcesReport> {
        let after = cursor.map(SourceId::parse).transpose().map_err(|error| {
            Error::new(ErrorCode::InvalidArgument, format!("cursor {error}"))
                .with_hint("pass the `next` of the answer before")
        })?;
        let reading = self.reading(ctx)?;
        let mut sources = Vec::new();
        let mut rows = reading.snapshot.sources(after);
        let mut more = false;
        for row in &mut rows {
            let (id, record) = row?;
            if reading.snapshot.stamp(&stamp_path(id))?.is_none() {
                continue;
            }
            if sources.len() == limit {
                more = true;
                break;
            }
            sources.push(SourceMetadata::from(metadata_of(id, record)));
        }
        let next = if more {
            sources.last().map(|last| last.id.clone())
        } else {
            None
        };
        Ok(ListSourcesReport { sources, next })
    }
}

#[cfg(test)]
mod tests {
    use super::character_range;

    #[test]
    fn a_range_ends_at_characters_and_always_moves() {
        // a, e-acute (2), a Han character (3), an emoji (4), z
        let text = "a\u{e9}\u{6f22}\u{1f44d}z";
        assert_eq!(character_range(text, 0, 7), (0, 6));
        assert_eq!(character_range(text, 2, 100), (3, 11));
        assert_eq!(character_range(text, 5, 1), (6, 10));
        assert_eq!(character_range(text, 7, 2), (10, 11));
        assert_eq!(character_range(text, 11, 1), (11, 11));
    }
}
