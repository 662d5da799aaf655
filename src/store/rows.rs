//! Any row of any sealed table, by table and key: what verification, salvage and dumps share.

use super::codec::{self, Record};
use super::error::StoreError;
use super::schema::{SCHEMA_KEY, STATE_KEY, SchemaRow, StateRow};
use super::snapshot::bad_key;
use super::tables::blobs::{self, BLOBS, Method};
use super::tables::citations::{CitationIndex, CitationsRecord};
use super::tables::intents::IntentRecord;
use super::tables::links::{LinkIndex, LinksRecord};
use super::tables::pages::PageRecord;
use super::tables::revisions::{RevisionIndex, RevisionRecord};
use super::tables::sections::SectionRecord;
use super::tables::skipped::SkippedRecord;
use super::tables::source_events::SourceEvent;
use super::tables::sources::SourceRecord;
use super::tables::stamps::StampRecord;
use super::tables::titles::{NameIndex, NamesRecord};
use super::tables::{INDEX, ROW};

/// A decoded row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnyRow {
    Schema(SchemaRow),
    State(StateRow),
    /// A row of `meta` that this version does not know.
    OtherMeta,
    /// A part of a blob: parts in all, method, length of the content, of this chunk.
    Blob {
        parts: u32,
        compressed: bool,
        content_bytes: u64,
        chunk_bytes: usize,
    },
    Source(SourceRecord),
    SourceEvent(SourceEvent),
    Page(PageRecord),
    Revision(RevisionRecord),
    Intent(IntentRecord),
    Stamp(StampRecord),
    Skipped(SkippedRecord),
    Citations(CitationsRecord),
    Links(LinksRecord),
    Names(NamesRecord),
    Section(SectionRecord),
    /// An index entry: the key says it all.
    Entry,
}

/// Decodes a row, and checks that its key has the shape that its table demands.
///
/// # Errors
/// `Damaged`, naming the table and the key.
pub(crate) fn read(table: &str, key: &[u8], value: &[u8]) -> Result<AnyRow, StoreError> {
    let mark = key.first().copied();
    let row = match table {
        SchemaRow::TABLE if key == SCHEMA_KEY => AnyRow::Schema(codec::decode(key, value)?),
        StateRow::TABLE if key == STATE_KEY => AnyRow::State(codec::decode(key, value)?),
        StateRow::TABLE => AnyRow::OtherMeta,
        BLOBS if key.len() == 36 => {
            let part = blobs::decode(key, value)?;
            AnyRow::Blob {
                parts: part.parts,
                compressed: part.method == Method::Zstd,
                content_bytes: part.content_bytes,
                chunk_bytes: part.chunk.len(),
            }
        }
        SourceRecord::TABLE if key.len() == 32 => AnyRow::Source(codec::decode(key, value)?),
        SourceEvent::TABLE if key.len() == 64 => AnyRow::SourceEvent(codec::decode(key, value)?),
        PageRecord::TABLE => AnyRow::Page(codec::decode(key, value)?),
        RevisionRecord::TABLE if mark == Some(ROW) && key.len() == 9 => {
            AnyRow::Revision(codec::decode(key, value)?)
        }
        RevisionIndex::TABLE if mark == Some(INDEX) => entry::<RevisionIndex>(key, value)?,
        IntentRecord::TABLE => AnyRow::Intent(codec::decode(key, value)?),
        StampRecord::TABLE => AnyRow::Stamp(codec::decode(key, value)?),
        SkippedRecord::TABLE => AnyRow::Skipped(codec::decode(key, value)?),
        CitationsRecord::TABLE if mark == Some(ROW) => {
            AnyRow::Citations(codec::decode(key, value)?)
        }
        CitationIndex::TABLE if mark == Some(INDEX) => entry::<CitationIndex>(key, value)?,
        LinksRecord::TABLE if mark == Some(ROW) => AnyRow::Links(codec::decode(key, value)?),
        LinkIndex::TABLE if mark == Some(INDEX) => entry::<LinkIndex>(key, value)?,
        NamesRecord::TABLE if mark == Some(ROW) => AnyRow::Names(codec::decode(key, value)?),
        NameIndex::TABLE if mark.is_some_and(|mark| mark > ROW) => entry::<NameIndex>(key, value)?,
        SectionRecord::TABLE if key.len() == 4 => AnyRow::Section(codec::decode(key, value)?),
        _ => return Err(bad_key(table, key)),
    };
    Ok(row)
}

fn entry<R: Record>(key: &[u8], value: &[u8]) -> Result<AnyRow, StoreError> {
    codec::decode::<R>(key, value).map(|_| AnyRow::Entry)
}
