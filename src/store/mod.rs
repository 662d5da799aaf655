//! The store: one redb file with everything the engine knows. The only module that names redb.
//!
//! [`Store`] opens the file and begins transactions; [`Snapshot`] reads one state of it, [`Batch`]
//! makes the next one, and both are a [`View`]. Rows are typed records, sealed by `codec` with a
//! checksum that is verified on every read; `tables/` holds one file for each table. What the rows
//! mean together is the business of `wiki`.
//!
//! Invariants: a commit is done or not done; a damaged file is an error and never a panic; a newer
//! schema is never written to; iteration order is the byte order of keys.

mod error;

mod backend;
mod codec;
mod schema;
mod tables;

mod batch;
mod blobs;
pub mod index;
mod migrate;
mod open;
mod rows;
mod salvage;
mod snapshot;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod trials;
mod verify;

pub use backend::{BackendFaults, BackendOp};
pub use batch::Batch;
pub(crate) use codec::{mark, mark_of};
pub use error::{StoreError, guard, in_guard};
pub use open::{Access, Concurrency, Opened, Store, StoreOptions};
pub(crate) use rows::AnyRow;
#[doc(hidden)]
pub use rows::decode_payload;
pub use salvage::{FindContent, Salvage, salvage};
pub use schema::{CodeStateRow, Meta, Nature, SCHEMA_VERSION};
pub use snapshot::{Snapshot, View};
pub use tables::citations::{CitationsRecord, ClaimRecord};
pub use tables::code_chunks::{CodeChunkRecord, CodeChunksRecord, CodeSymbolRecord};
pub use tables::code_files::CodeFileRecord;
pub use tables::code_texts::CodeTextRecord;
pub use tables::folders::FolderRecord;
pub use tables::intents::{IntentOp, IntentRecord};
pub use tables::links::{LinkRecord, LinkRecordKind, LinksRecord};
pub use tables::pages::PageRecord;
pub use tables::projects::{CachedFile, ProjectPageRecord, ProjectPlace, ProjectRecord};
pub use tables::revisions::{How, RevisionRecord};
pub use tables::sections::SectionRecord;
pub use tables::skipped::SkippedRecord;
pub use tables::source_events::{SourceEvent, SourceEventKind};
pub use tables::sources::SourceRecord;
pub use tables::stamps::StampRecord;
pub use tables::titles::{NameKind, NamesRecord};
pub(crate) use verify::{SeenRow, verify_seeing};
pub use verify::{StoreFault, Verification, verify};
