//! The files of a wiki: the only module that names `std::fs` or `rustix::fs`.
//!
//! A [`Tree`] is a located root directory. Every access below it is resolved from the open root
//! without following a symbolic link and without leaving the root; a file is opened only after it
//! was seen to be a regular one, so that a FIFO, a socket or a device is diagnosed and never
//! waited on. What the bytes mean is the business of the callers.
//!
//! New text takes one way in: [`Tree::stage`] it under `.store/tmp/`, then swap it into place
//! ([`Tree::exchange`], [`Tree::publish_dir`]), so that a reader sees the old file or the new one
//! and what came out is never lost.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the module that may call `std::fs`"
)]

mod beside;
mod calls;
mod error;
mod faults;
mod file_system;
mod git;
mod lock;
mod outside;
mod path;
mod project;
mod publish;
mod read;
mod root;
mod stage;
mod stamp;
mod store_file;
mod walk;

#[cfg(test)]
mod testing;

pub use error::TreeError;
pub use faults::{FailFrom, FaultOp, Faults, Recorder};
pub use file_system::FileSystem;
pub use git::git_is_busy;
pub use lock::RootLock;
pub use outside::{
    find_upward, is_program, open_input, read_input, read_optional, read_private, resolved,
    write_output, write_private,
};
pub use path::{RelPath, escape};
pub use project::{Discovery, Excluded, Project, ProjectFile, git_top};
pub use publish::{Exchanged, Published};
pub use read::{Entry, FileRead, Folder};
pub use root::{Renames, Resolver, RootState, Tree, TreeOptions, locate, locate_with};
pub use stage::{Durability, Staged, StagedEntry};
pub use stamp::{Identity, Kind, Stamp, now_ns};
pub use store_file::{STORE_FILE, STORE_FILE_NEW, StoreFile, StoreOpen};
pub use walk::{Flow, Listing, WalkEntry, Walked};

/// Result of this module.
pub type Result<T, E = TreeError> = std::result::Result<T, E>;
