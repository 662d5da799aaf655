//! What one store consists of: the schema version, the tables with their nature, and `meta`.
//!
//! Schema 1 holds every table of the engine. A table that a later feature adds (code index,
//! generated sections, projects) needs no new schema as long as it can be missing: reading a
//! table that is not there finds no rows. See `migrations/0001_initial/schema.toml`.

use bincode::{Decode, Encode};

use super::codec::Record;

/// The schema that this version writes. One folder of `migrations/` describes each.
pub const SCHEMA_VERSION: u32 = 1;

/// What the rows of a table are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Cannot be made again from the tree in full: migrated and salvaged.
    Durable,
    /// Describes this machine's files: forgotten when the store is rebuilt.
    Local,
    /// Made from durable rows: dropped and rebuilt.
    Derived,
}

/// Every table whose rows are sealed by the codec and keyed by bytes, in dump order.
/// The posting tables of the index have their own list in `store::index`.
pub(crate) const TABLES: &[(&str, Nature)] = &[
    (StateRow::TABLE, Nature::Durable),
    (super::tables::blobs::BLOBS, Nature::Durable),
    (super::tables::sources::SourceRecord::TABLE, Nature::Durable),
    (
        super::tables::source_events::SourceEvent::TABLE,
        Nature::Durable,
    ),
    (super::tables::pages::PageRecord::TABLE, Nature::Durable),
    (
        super::tables::revisions::RevisionRecord::TABLE,
        Nature::Durable,
    ),
    (super::tables::intents::IntentRecord::TABLE, Nature::Durable),
    (
        super::tables::projects::ProjectRecord::TABLE,
        Nature::Durable,
    ),
    (super::tables::stamps::StampRecord::TABLE, Nature::Local),
    (super::tables::folders::FolderRecord::TABLE, Nature::Local),
    (super::tables::skipped::SkippedRecord::TABLE, Nature::Local),
    (
        super::tables::projects::ProjectPageRecord::TABLE,
        Nature::Local,
    ),
    (
        super::tables::citations::CitationsRecord::TABLE,
        Nature::Derived,
    ),
    (super::tables::links::LinksRecord::TABLE, Nature::Derived),
    (super::tables::titles::NamesRecord::TABLE, Nature::Derived),
    (
        super::tables::sections::SectionRecord::TABLE,
        Nature::Derived,
    ),
    (
        super::tables::code_files::CodeFileRecord::TABLE,
        Nature::Derived,
    ),
    (
        super::tables::code_chunks::CodeChunksRecord::TABLE,
        Nature::Derived,
    ),
    (
        super::tables::code_texts::CodeTextRecord::TABLE,
        Nature::Derived,
    ),
];

/// Key of the schema version in `meta`. Its layout never changes, in any schema.
pub(crate) const SCHEMA_KEY: &[u8] = b"schema";

/// Key of [`StateRow`] in `meta`.
pub(crate) const STATE_KEY: &[u8] = b"state";

/// Key of [`CodeStateRow`] in `meta`; absent until code was indexed.
pub(crate) const CODE_KEY: &[u8] = b"code";

/// Table `meta`, row `code`: what made the code index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct CodeStateRow {
    /// Revision of the chunks and their analysis.
    pub revision: u32,
    /// Directory of the project, as bytes.
    pub project: Vec<u8>,
    /// Number of the commit that last changed the code index.
    pub changes: u64,
}

impl Record for CodeStateRow {
    const TABLE: &'static str = "meta";
}

/// The schema version, alone in its row so that every version can read it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct SchemaRow {
    pub(crate) version: u32,
}

impl Record for SchemaRow {
    const TABLE: &'static str = "meta";
}

/// What a store says about itself: its analysis, its counters, its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// Schema of the rows.
    pub schema_version: u32,
    /// Name of the analysis that made the index.
    pub analysis: String,
    /// Language that the wiki is configured for; empty for detection.
    pub language: String,
    /// Names this copy of the wiki in revisions; random at creation.
    pub replica: [u8; 16],
    /// Grows by one with each commit, so that one whose end was not seen can be recognised.
    pub commits: u64,
    /// Grows with each commit that changes what a search can find.
    pub epoch: u64,
    /// The next section id; ids are never used twice.
    pub next_section: u32,
    /// The next revision number; the first is 1.
    pub next_revision: u64,
    /// Rows of `sections`.
    pub section_count: u64,
    /// Sum of the lengths of all sections, in tokens.
    pub total_length: u64,
    /// Rows of `pages`.
    pub page_count: u64,
    /// Rows of `sources`.
    pub source_count: u64,
}

impl Meta {
    /// What a new and empty store says about itself.
    pub fn new(analysis: impl Into<String>, replica: [u8; 16]) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            analysis: analysis.into(),
            language: String::new(),
            replica,
            commits: 0,
            epoch: 0,
            next_section: 0,
            next_revision: 1,
            section_count: 0,
            total_length: 0,
            page_count: 0,
            source_count: 0,
        }
    }

    pub(crate) fn state(&self) -> StateRow {
        StateRow {
            analysis: self.analysis.clone(),
            language: self.language.clone(),
            replica: self.replica,
            commits: self.commits,
            epoch: self.epoch,
            next_section: self.next_section,
            next_revision: self.next_revision,
            section_count: self.section_count,
            total_length: self.total_length,
            page_count: self.page_count,
            source_count: self.source_count,
        }
    }

    pub(crate) fn from_rows(schema: &SchemaRow, state: StateRow) -> Self {
        Self {
            schema_version: schema.version,
            analysis: state.analysis,
            language: state.language,
            replica: state.replica,
            commits: state.commits,
            epoch: state.epoch,
            next_section: state.next_section,
            next_revision: state.next_revision,
            section_count: state.section_count,
            total_length: state.total_length,
            page_count: state.page_count,
            source_count: state.source_count,
        }
    }
}

/// Table `meta`, row `state`: [`Meta`] but for the schema version.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct StateRow {
    pub(crate) analysis: String,
    pub(crate) language: String,
    pub(crate) replica: [u8; 16],
    pub(crate) commits: u64,
    pub(crate) epoch: u64,
    pub(crate) next_section: u32,
    pub(crate) next_revision: u64,
    pub(crate) section_count: u64,
    pub(crate) total_length: u64,
    pub(crate) page_count: u64,
    pub(crate) source_count: u64,
}

impl Record for StateRow {
    const TABLE: &'static str = "meta";
}
