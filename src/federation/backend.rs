//! What every place that holds a project can do, and why it may not. [`directory`](super::directory)
//! and [`gitea`](super::gitea) are the two.

use std::time::Instant;

use super::index::IndexError;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::id::PageId;

/// Why a project gives no answer. One that fails stops no other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// Nobody added it and no sync found it, or it was never read.
    #[error("unknown project \u{2014} run sync first")]
    Unknown,
    /// It has no index.
    #[error("no wiki \u{2014} repo has no .wiki/index.md")]
    NoWiki,
    /// Its index cannot be read.
    #[error("wiki index malformed: {0}")]
    Malformed(#[from] IndexError),
    /// It cannot be reached, or not be read.
    #[error("{0}")]
    Failed(String),
    /// The user ended it.
    #[error("the operation was cancelled")]
    Aborted,
}

/// One operation, for all its calls.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) ctx: &'a Context,
    pub(super) deadline: Instant,
}

/// A file of a project.
#[derive(Debug)]
pub(super) enum Got {
    /// It is the version that was known.
    Same,
    /// Its bytes, and what the place calls this version.
    New { bytes: Vec<u8>, etag: String },
    /// There is none.
    Absent,
}

/// What a place says of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) owner: String,
    pub(super) repo: String,
    pub(super) id: u64,
    pub(super) default_branch: String,
}

/// A question to a project.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// As it was asked.
    pub(super) text: String,
    /// The text folded.
    pub(super) needle: String,
    pub(super) limit: usize,
    /// Folded; everything but `raw` when empty.
    pub(super) types: Vec<String>,
}

impl Question {
    pub(super) fn wants(&self, kind: &str) -> bool {
        if self.types.is_empty() {
            kind != "raw"
        } else {
            self.types.contains(&super::fold(kind))
        }
    }
}

/// A page that answers a question.
#[derive(Debug, Clone)]
pub(super) struct FoundPage {
    pub(super) slug: String,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) snippet: String,
}

/// What a place that searches by itself found.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnSearch {
    pub(super) pages: Vec<FoundPage>,
    /// What the answer does not know.
    pub(super) notes: Vec<String>,
}

/// A project at one commit, and the commit.
pub(super) type AtCommit = Option<(Box<dyn Backend>, String)>;

/// A place that holds a project. Only ever read.
pub(super) trait Backend: Send + Sync {
    /// What is known of the repository, where there is one.
    fn head(&self, call: Call<'_>) -> Result<Head, ProjectError>;

    /// `.wiki/index.md`.
    fn index(&self, etag: &str, call: Call<'_>) -> Result<Got, ProjectError>;

    /// `.tasks/STATUS.md`.
    fn status(&self, etag: &str, call: Call<'_>) -> Result<Got, ProjectError>;

    /// A page by its path below `.wiki/`, of at most `limit` bytes.
    fn page(
        &self,
        path: &PageId,
        etag: &str,
        limit: u64,
        call: Call<'_>,
    ) -> Result<Got, ProjectError>;

    /// Where a page is in the project, for people and for origins.
    fn place_of(&self, path: &PageId) -> String;

    /// The Markdown files below `.wiki/`, by their paths there.
    fn files(&self, call: Call<'_>) -> Result<Vec<String>, ProjectError>;

    /// The same project at the commit where its branch is now, with the commit; none where there
    /// are no commits.
    fn at_commit(&self, call: Call<'_>) -> Result<AtCommit, ProjectError>;

    /// Searches with the place's own index, where it has one.
    fn search(&self, question: &Question, call: Call<'_>) -> Option<Result<OwnSearch>>;
}

/// Cancellation goes on; every other failure is that of a project.
pub(super) fn failed(error: &Error) -> ProjectError {
    if error.code() == crate::error::ErrorCode::Aborted {
        ProjectError::Aborted
    } else {
        ProjectError::Failed(error.explained())
    }
}
