//! The engine: one file per transaction story. Sources, pages, search, adoption of what people
//! did to the tree, rebuilding and restoring. It joins `store` and `tree`, which know nothing of
//! each other. Reports are the shapes that the doors print.

mod adopt;
mod claims;
mod code;
mod code_find;
mod code_map;
mod export;
mod find;
mod gc;
mod graph;
mod history;
mod import;
mod known;
mod links;
mod mend;
mod open;
mod pages;
mod prepared;
mod projects;
mod put;
mod reindex;
mod restore;
mod root;
mod session;
mod sources;
mod status;
mod verify;
mod wording;

pub use code_find::{
    CodeHit, CodeIndexReport, CodeStatus, CountedFiles, Evidence, FoundChunk, LanguageCount,
    SkippedCode,
};
pub use code_map::{CodeMap, CodeMapFile, CodeState, PageText};
pub use export::ExportReport;
pub use find::{Explanation, SearchHit, SearchReport, SearchRequest, TermShare};
pub use gc::{GcReport, SNAPSHOT_ORIGIN, UncitedSnapshot};
pub use graph::{GraphPage, LinkGraph};
pub use history::{HistoryReport, HistoryRequest, RevisionReport};
pub use import::{ImportFailure, ImportReport};
pub use open::{Folder, OpenCode, OpenPage, OpenSource};
pub use pages::{
    DeletePageReport, Expectation, ListPagesReport, PageMetadata, PageSummary, ReadPageReport,
    UpsertPage, UpsertPageReport,
};
pub(crate) use prepared::Derived;
pub(crate) use projects::FetchedPage;
pub use reindex::ReindexReport;
pub use restore::{RestoreItem, RestoreReport, RestoreRequest};
pub use root::{InitReport, Wiki};
pub(crate) use session::ABANDONED_NS;
pub use sources::{
    AddSourceReport, ListSourcesReport, NewSource, ReadSourceReport, SourceMetadata,
};
pub use status::{IndexStatus, SkippedFile, StatusReport, StoreStatus};
pub use verify::{VerifyFinding, VerifyReport};
