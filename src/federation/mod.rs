//! Other projects that are asked by name: their `.wiki/index.md`, cached here, and their pages,
//! read where they are.
//!
//! `index` knows what such a file may look like, `fold` finds words in texts; `directory` and `gitea`
//! reach the places that hold projects, behind one trait in `backend`; `known` says which projects
//! there are; `sync`, `ask`, `get` and `publish` are what users do. Nobody is asked unnamed, and nothing of
//! another project is ever written to.

#![cfg_attr(
    not(feature = "net"),
    allow(
        dead_code,
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "what waits for servers and remembers versions is for those who can reach one"
    )
)]

mod ask;
mod backend;
mod directory;
mod fold;
mod forges;
mod get;
#[cfg(feature = "net")]
mod gitea;
mod index;
mod known;
mod parallel;
mod publish;
mod sync;

pub use ask::{
    AskProjectsReport, AskProjectsRequest, DEFAULT_LIMIT, MAX_LIMIT, ProjectAnswer, ProjectMatch,
    ask_projects,
};
pub use backend::ProjectError;
pub use fold::{fold, snippet};
pub use get::{GetFromReport, get_from};
pub use index::{Dropped, Entry, Index, IndexError, MAX_INDEX_BYTES, UNTYPED, render};
pub use publish::publish;
pub use sync::{AddedPlace, ProjectInfo, ProjectsReport, SyncOutcome, add, list, remove, sync};
