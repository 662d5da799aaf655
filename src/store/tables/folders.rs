//! Table `folders`, since schema 1, local: how each directory below `pages` looked when it was read,
//! so that one that did not change need not be read again.
//! Key: the path below the root, as bytes. Written by adoption, together with the stamps of the
//! files in it.
//!
//! Invariant: where a row proves something, the directory holds the files of the table `stamps`
//! that lie in it, the directories that have rows here, and besides them only regular files that
//! are no pages.

use bincode::{Decode, Encode};

use crate::store::codec::Record;

/// How a directory looked. All zero: it is there, and must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct FolderRecord {
    /// Inode number.
    pub inode: u64,
    /// Modification time, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// From before it was read, on the clock of the file system.
    pub seen_ns: i64,
}

impl Record for FolderRecord {
    const TABLE: &'static str = "folders";
}
