//! Table `intents`, since schema 1, durable: what a commit still owes the tree.
//! Key: the path below the root, as bytes (`pages/a/b.md`). Written by the commit that changes a
//! page, removed by the next one once the file is in place and its folder is on the disk.

use bincode::{Decode, Encode};

use crate::id::ContentHash;
use crate::store::codec::Record;

/// What has to happen to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum IntentOp {
    /// The staged file takes the path.
    Put,
    /// The file goes away.
    Delete,
}

/// A change of the tree that a commit promised. Redo does only what is still owed: the file at the
/// path is replaced or removed only while hash, size, inode and time say that it is the old one.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct IntentRecord {
    /// What has to happen.
    pub op: IntentOp,
    /// Hash of the new file; none when it goes away.
    pub new: Option<ContentHash>,
    /// Hash of the file that was there; none when there was none.
    pub old: Option<ContentHash>,
    /// Name of the new file in `.store/tmp`; empty when it goes away.
    pub staged: String,
    /// Size of the file that was there.
    pub old_size: u64,
    /// Inode of the file that was there.
    pub old_inode: u64,
    /// Modification time of the file that was there, in nanoseconds since 1970.
    pub old_mtime_ns: i64,
    /// Number of the revision that the commit made.
    pub revision: u64,
}

impl Record for IntentRecord {
    const TABLE: &'static str = "intents";
}
