//! Table `stamps`, since schema 1, local: how each file of the tree looked when it was read.
//! Key: the path below the root, as bytes, which need not be UTF-8. Rows come in byte order of
//! paths, as a walk does. Written when a file is read or written; never leaves the machine.

use bincode::{Decode, Encode};

use crate::id::ContentHash;
use crate::store::codec::Record;

/// How a file looked, and which bytes it held then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct StampRecord {
    /// Size in bytes.
    pub size: u64,
    /// Inode number.
    pub inode: u64,
    /// Modification time, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time, in nanoseconds since 1970.
    pub ctime_ns: i64,
    /// When the file was looked at, on the clock of the file system.
    pub seen_ns: i64,
    /// Hash of its bytes.
    pub sha256: ContentHash,
}

impl Record for StampRecord {
    const TABLE: &'static str = "stamps";
}
