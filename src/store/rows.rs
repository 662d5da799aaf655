//! Any row of any sealed table, by table and key: what verification, salvage and dumps share.

use super::codec::{self, Record};
use super::error::StoreError;
use super::schema::{CODE_KEY, CodeStateRow, SCHEMA_KEY, STATE_KEY, SchemaRow, StateRow};
use super::snapshot::bad_key;
use super::tables::blobs::{self, BLOBS, Method};
use super::tables::citations::{CitationIndex, CitationsRecord};
use super::tables::code_chunks::CodeChunksRecord;
use super::tables::code_files::CodeFileRecord;
use super::tables::code_texts::CodeTextRecord;
use super::tables::folders::FolderRecord;
use super::tables::intents::IntentRecord;
use super::tables::links::{LinkIndex, LinksRecord};
use super::tables::pages::PageRecord;
use super::tables::projects::{ProjectPageRecord, ProjectRecord};
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
    Folder(FolderRecord),
    Skipped(SkippedRecord),
    Citations(CitationsRecord),
    Links(LinksRecord),
    Names(NamesRecord),
    Section(SectionRecord),
    CodeState(CodeStateRow),
    CodeFile(CodeFileRecord),
    CodeChunks(CodeChunksRecord),
    CodeText(CodeTextRecord),
    Project(ProjectRecord),
    ProjectPage(ProjectPageRecord),
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
        CodeStateRow::TABLE if key == CODE_KEY => AnyRow::CodeState(codec::decode(key, value)?),
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
        FolderRecord::TABLE => AnyRow::Folder(codec::decode(key, value)?),
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
        CodeFileRecord::TABLE => AnyRow::CodeFile(codec::decode(key, value)?),
        CodeChunksRecord::TABLE => AnyRow::CodeChunks(codec::decode(key, value)?),
        CodeTextRecord::TABLE => AnyRow::CodeText(codec::decode(key, value)?),
        ProjectRecord::TABLE => AnyRow::Project(codec::decode(key, value)?),
        ProjectPageRecord::TABLE => AnyRow::ProjectPage(codec::decode(key, value)?),
        _ => return Err(bad_key(table, key)),
    };
    Ok(row)
}

fn entry<R: Record>(key: &[u8], value: &[u8]) -> Result<AnyRow, StoreError> {
    codec::decode::<R>(key, value).map(|_| AnyRow::Entry)
}

/// Decodes a payload as if it stood sealed in its table; for fuzzing, which would never guess a
/// checksum.
///
/// # Errors
/// `Damaged` for a payload that no record has.
#[doc(hidden)]
pub fn decode_payload(table: &str, key: &[u8], payload: &[u8]) -> Result<(), StoreError> {
    read(table, key, &codec::seal(table, key, 1, payload)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::id::{ContentHash, SourceId};
    use crate::store::schema::TABLES;
    use crate::store::{
        CachedFile, ClaimRecord, How, IntentOp, LinkRecord, LinkRecordKind, ProjectPlace,
        SourceEventKind, codec::encode,
    };

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![".{0,12}", "[a-z/]{1,40}"]
    }

    fn hash() -> impl Strategy<Value = ContentHash> {
        any::<[u8; 32]>().prop_map(ContentHash::from_bytes)
    }

    fn source() -> impl Strategy<Value = SourceId> {
        hash().prop_map(SourceId::from_hash)
    }

    /// Every kind of record, under a key of its table.
    fn row() -> impl Strategy<Value = (&'static str, Vec<u8>, Vec<u8>, AnyRow)> {
        fn sealed<R: Record>(
            key: Vec<u8>,
            record: R,
            row: impl FnOnce(R) -> AnyRow,
        ) -> (&'static str, Vec<u8>, Vec<u8>, AnyRow) {
            let value = encode(&key, &record).unwrap();
            (R::TABLE, key, value, row(record))
        }
        let marked = |mark: u8| {
            vec(any::<u8>(), 0..20).prop_map(move |mut key| {
                key.insert(0, mark);
                key
            })
        };
        let state = (
            text(),
            text(),
            any::<[u8; 16]>(),
            any::<[u64; 7]>(),
            any::<u32>(),
        )
            .prop_map(|(analysis, language, replica, n, next_section)| {
                let record = StateRow {
                    analysis,
                    language,
                    replica,
                    commits: n[6],
                    epoch: n[0],
                    next_section,
                    next_revision: n[1],
                    section_count: n[2],
                    total_length: n[3],
                    page_count: n[4],
                    source_count: n[5],
                };
                sealed(STATE_KEY.to_vec(), record, AnyRow::State)
            });
        let preserved = (
            any::<[u8; 32]>(),
            text(),
            text(),
            any::<u64>(),
            text(),
            option::of(text()),
        )
            .prop_map(|(key, name, media_type, byte_count, captured_at, origin)| {
                let record = SourceRecord {
                    name,
                    media_type,
                    byte_count,
                    captured_at,
                    origin,
                };
                sealed(key.to_vec(), record, AnyRow::Source)
            });
        let event = (
            vec(any::<u8>(), 64),
            any::<u8>(),
            vec(text(), 5),
            option::of(text()),
            option::of(source()),
        )
            .prop_map(|(key, kind, texts, origin, successor)| {
                let record = SourceEvent {
                    kind: SourceEventKind(kind),
                    at: texts[0].clone(),
                    name: texts[1].clone(),
                    media_type: texts[2].clone(),
                    origin,
                    successor,
                    reason: texts[3].clone(),
                    actor: texts[4].clone(),
                };
                sealed(key, record, AnyRow::SourceEvent)
            });
        let page = (
            vec(any::<u8>(), 1..30),
            (hash(), any::<u64>(), text(), text()),
            vec(source(), 0..4),
            vec(source(), 0..4),
            vec(any::<u32>(), 0..9),
            any::<u64>(),
        )
            .prop_map(
                |(
                    key,
                    (sha256, byte_count, title, summary),
                    sources,
                    missing,
                    sections,
                    revision,
                )| {
                    let record = PageRecord {
                        sha256,
                        byte_count,
                        title,
                        summary,
                        sources,
                        missing_sources: missing,
                        sections,
                        revision,
                    };
                    sealed(key, record, AnyRow::Page)
                },
            );
        let revision = (
            any::<u64>(),
            (
                text(),
                option::of(hash()),
                vec(hash(), 0..3),
                any::<i64>(),
                any::<u8>(),
            ),
            (
                any::<[u8; 16]>(),
                text(),
                text(),
                any::<u32>(),
                any::<u32>(),
            ),
        )
            .prop_map(
                |(
                    seq,
                    (page, sha256, parents, at_ms, how),
                    (replica, actor, message, added, removed),
                )| {
                    let key = crate::store::tables::revisions::row_key(seq);
                    let how = How(how);
                    let record = RevisionRecord {
                        page,
                        sha256,
                        parents,
                        at_ms,
                        how,
                        replica,
                        actor,
                        message,
                        added,
                        removed,
                    };
                    sealed(key, record, AnyRow::Revision)
                },
            );
        let intent = (
            vec(any::<u8>(), 0..30),
            any::<bool>(),
            (option::of(hash()), option::of(hash()), text()),
            any::<[u64; 3]>(),
            any::<i64>(),
        )
            .prop_map(|(key, put, (new, old, staged), n, old_mtime_ns)| {
                let record = IntentRecord {
                    op: if put { IntentOp::Put } else { IntentOp::Delete },
                    new,
                    old,
                    staged,
                    old_size: n[0],
                    old_inode: n[1],
                    old_mtime_ns,
                    revision: n[2],
                };
                sealed(key, record, AnyRow::Intent)
            });
        let stamp = (
            vec(any::<u8>(), 0..30),
            any::<[u64; 2]>(),
            any::<[i64; 3]>(),
            hash(),
        )
            .prop_map(|(key, n, times, sha256)| {
                let record = StampRecord {
                    size: n[0],
                    inode: n[1],
                    mtime_ns: times[0],
                    ctime_ns: times[1],
                    seen_ns: times[2],
                    sha256,
                };
                sealed(key, record, AnyRow::Stamp)
            });
        let folder = (vec(any::<u8>(), 0..30), any::<u64>(), any::<[i64; 3]>()).prop_map(
            |(key, inode, times)| {
                let record = FolderRecord {
                    inode,
                    mtime_ns: times[0],
                    ctime_ns: times[1],
                    seen_ns: times[2],
                };
                sealed(key, record, AnyRow::Folder)
            },
        );
        let skipped = (
            vec(any::<u8>(), 0..30),
            text(),
            text(),
            option::of(any::<u32>()),
        )
            .prop_map(|(key, code, message, line)| {
                let record = SkippedRecord {
                    code,
                    message,
                    line,
                };
                sealed(key, record, AnyRow::Skipped)
            });
        let claim = (source(), option::of(any::<(u32, u32)>()), any::<u32>()).prop_map(
            |(source, lines, line)| ClaimRecord {
                source,
                lines,
                line,
            },
        );
        let cited = (marked(ROW), vec(source(), 0..4), vec(claim, 0..4)).prop_map(
            |(key, sources, claims)| {
                let record = CitationsRecord { sources, claims };
                sealed(key, record, AnyRow::Citations)
            },
        );
        let kind = prop_oneof![
            Just(LinkRecordKind::Markdown),
            Just(LinkRecordKind::Wikilink),
            Just(LinkRecordKind::Embed),
        ];
        let link = (kind, text(), option::of(text()), any::<u32>()).prop_map(
            |(kind, target, fragment, line)| LinkRecord {
                kind,
                target,
                fragment,
                line,
            },
        );
        let linked =
            (marked(ROW), vec(link, 0..4), vec(text(), 0..4)).prop_map(|(key, links, needles)| {
                let record = LinksRecord { links, needles };
                sealed(key, record, AnyRow::Links)
            });
        let names =
            (marked(ROW), text(), text(), text()).prop_map(|(key, title, base_name, id)| {
                let record = NamesRecord {
                    title,
                    base_name,
                    id,
                };
                sealed(key, record, AnyRow::Names)
            });
        let section = (
            any::<u32>(),
            text(),
            vec(text(), 0..4),
            any::<[u32; 3]>(),
            any::<[u8; 16]>(),
        )
            .prop_map(|(id, page, heading_trail, n, fingerprint)| {
                let record = SectionRecord {
                    page,
                    heading_trail,
                    start_line: n[0],
                    end_line: n[1],
                    fingerprint,
                    length: n[2],
                };
                sealed(id.to_be_bytes().to_vec(), record, AnyRow::Section)
            });
        let entry = marked(INDEX).prop_map(|key| sealed(key, LinkIndex, |_| AnyRow::Entry));
        let cached = || {
            (text(), any::<u64>(), vec(any::<u8>(), 0..20)).prop_map(|(etag, length, frame)| {
                CachedFile {
                    etag,
                    length,
                    frame,
                }
            })
        };
        let place = prop_oneof![
            vec(any::<u8>(), 0..20).prop_map(ProjectPlace::Directory),
            (vec(text(), 5), any::<u64>()).prop_map(|(texts, id)| ProjectPlace::Gitea {
                url: texts[0].clone(),
                forge: texts[1].clone(),
                owner: texts[2].clone(),
                repo: texts[3].clone(),
                id,
                branch: texts[4].clone(),
            }),
        ];
        let project = (
            vec(any::<u8>(), 1..30),
            place,
            any::<bool>(),
            option::of(cached()),
            option::of(cached()),
            vec(text(), 0..3),
            vec(text(), 3),
        )
            .prop_map(|(key, place, added, index, status, files, texts)| {
                let record = ProjectRecord {
                    place,
                    added,
                    default_branch: texts[0].clone(),
                    index,
                    status,
                    files,
                    synced_at: texts[1].clone(),
                    fault: texts[2].clone(),
                };
                sealed(key, record, AnyRow::Project)
            });
        let project_page = (vec(any::<u8>(), 1..30), cached())
            .prop_map(|(key, text)| sealed(key, ProjectPageRecord { text }, AnyRow::ProjectPage));
        prop_oneof![
            state.boxed(),
            preserved.boxed(),
            event.boxed(),
            page.boxed(),
            revision.boxed(),
            intent.boxed(),
            stamp.boxed(),
            folder.boxed(),
            skipped.boxed(),
            cited.boxed(),
            linked.boxed(),
            names.boxed(),
            section.boxed(),
            project.boxed(),
            project_page.boxed(),
            entry.boxed(),
        ]
    }

    proptest! {
        #[test]
        fn every_record_reads_back_as_it_was((table, key, value, row) in row()) {
            prop_assert_eq!(read(table, &key, &value).unwrap(), row);
        }

        #[test]
        fn a_changed_row_is_never_taken_for_another(
            (table, key, value, _) in row(),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let mut changed = value.clone();
            changed[at.index(value.len())] ^= 1 << bit;
            prop_assert!(read(table, &key, &changed).is_err());
            prop_assert!(read(table, &key, &value[..at.index(value.len())]).is_err());
        }

        #[test]
        fn no_payload_makes_decoding_panic(
            table in 0..TABLES.len(),
            key in prop_oneof![
                vec(any::<u8>(), 0..70),
                vec(0u8..4, 1..10),
                vec(any::<u8>(), 32), vec(any::<u8>(), 36), vec(any::<u8>(), 64), vec(any::<u8>(), 4),
            ],
            payload in vec(any::<u8>(), 0..200),
        ) {
            let table = TABLES[table].0;
            let _ = decode_payload(table, &key, &payload);
            let _ = read(table, &key, &payload);
        }
    }
}
