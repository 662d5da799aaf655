//! Failures of the store, and the guard that turns a panic of redb into one of them.
//!
//! redb trusts the pages of a file: where damage makes a page impossible it may panic (it says so
//! itself). Everything that touches redb therefore runs inside [`guard`], so that a damaged file
//! is a `StoreError::Damaged` and never the end of the process.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, ErrorCode};
use crate::tree::TreeError;

/// Why the store could not do something. In each case nothing was committed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Bytes of the store are not what was written.
    #[error("the store is damaged: {what}")]
    Damaged {
        /// What is wrong, and where.
        what: String,
    },
    /// A newer version wrote the store. Nothing may be written, and nothing is moved aside.
    #[error("the store has schema {found}, this version knows schemas up to {ours}")]
    TooNew {
        /// Schema of the store.
        found: u32,
        /// Newest schema of this version.
        ours: u32,
    },
    /// An older version wrote the store; the next write migrates it.
    #[error("the store has schema {found} and must be migrated to {ours} by a write")]
    TooOld {
        /// Schema of the store.
        found: u32,
        /// Schema of this version.
        ours: u32,
    },
    /// Another process has the store in a way that excludes us.
    #[error("the store is in use: {why}")]
    Busy {
        /// What excludes us.
        why: String,
    },
    /// No space is left on the file system, or a quota or file size limit was reached.
    #[error("no space is left for the store")]
    Full {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A writer was killed: open the store for writing once, then retry.
    #[error("a writer of the store was killed; it must be opened for writing once")]
    NeedsRepair,
    /// The file at the store's path is no longer the file of this handle: open it again.
    #[error("the store was moved or replaced while it was open")]
    Moved,
    /// An earlier failure made this handle unusable: open it again.
    #[error("an earlier failure closed the store; it must be opened again")]
    Closed,
    /// The file system lacks the byte-range locks of the shared mode.
    #[error("the file system of the store has no byte-range locks")]
    NoLocks,
    /// A value is larger than a record may be, or a counter is used up.
    #[error("{what} exceeds what the store can hold ({limit})")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit that was met.
        limit: u64,
    },
    /// The system refused access.
    #[error("the store cannot be accessed")]
    Denied {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Any other failure of reading or writing.
    #[error("the store cannot be read or written")]
    Io {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file layer failed: the path is not safe, or cannot be reached.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The store was used in a way that its interface forbids: a defect of this program.
    #[error("the store was misused: {what}")]
    Misuse {
        /// What was done.
        what: String,
    },
}

impl StoreError {
    /// Damage described by a sentence without its verb's subject, for example `"row of pages"`.
    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { what: what.into() }
    }

    /// Whether opening the store again is the cure.
    pub fn wants_reopen(&self) -> bool {
        matches!(self, Self::Moved | Self::Closed)
    }

    /// Whether the bytes of the store are at fault (and not the disk, a lock or a permission).
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}

impl From<io::Error> for StoreError {
    fn from(source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        match source.kind() {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Self::Full { source },
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Self::Denied { source },
            // redb reads exact page runs and answers `InvalidData` for what is no database: both
            // mean that the file is not what was written.
            Kind::UnexpectedEof => Self::damaged("the file ends too early"),
            Kind::InvalidData => Self::damaged(source.to_string()),
            Kind::WouldBlock => Self::Busy {
                why: source.to_string(),
            },
            _ => Self::Io { source },
        }
    }
}

impl From<redb::StorageError> for StoreError {
    fn from(error: redb::StorageError) -> Self {
        use redb::StorageError as E;
        match error {
            E::Corrupted(what) => Self::Damaged { what },
            E::ValueTooLarge(length) => Self::TooLarge {
                what: "a value",
                limit: u64::try_from(length).unwrap_or(u64::MAX),
            },
            E::Io(source) => source.into(),
            E::Unsupported => Self::NoLocks,
            E::PreviousIo | E::DatabaseClosed | E::LockPoisoned(_) => Self::Closed,
            other => Self::Io {
                source: io::Error::other(other.to_string()),
            },
        }
    }
}

impl From<redb::TableError> for StoreError {
    fn from(error: redb::TableError) -> Self {
        use redb::TableError as E;
        match error {
            E::Storage(storage) => storage.into(),
            already @ E::TableAlreadyOpen(..) => Self::Misuse {
                what: already.to_string(),
            },
            // The remaining variants say that a table has another shape than its schema gives it.
            other => Self::Damaged {
                what: other.to_string(),
            },
        }
    }
}

impl From<redb::TransactionError> for StoreError {
    fn from(error: redb::TransactionError) -> Self {
        match error {
            redb::TransactionError::Storage(storage) => storage.into(),
            redb::TransactionError::WouldBlock => Self::Busy {
                why: "another write is in progress".to_owned(),
            },
            other => Self::Misuse {
                what: other.to_string(),
            },
        }
    }
}

impl From<redb::CommitError> for StoreError {
    fn from(error: redb::CommitError) -> Self {
        match error {
            redb::CommitError::Storage(storage) => storage.into(),
            // A panic inside the transaction, already reported where it happened.
            _ => Self::Closed,
        }
    }
}

impl From<redb::DatabaseError> for StoreError {
    fn from(error: redb::DatabaseError) -> Self {
        use redb::DatabaseError as E;
        match error {
            E::Storage(storage) => storage.into(),
            E::RepairAborted => Self::NeedsRepair,
            busy @ (E::DatabaseAlreadyOpen | E::LockProtocolMismatch) => Self::Busy {
                why: busy.to_string(),
            },
            E::UpgradeRequired(version) => Self::damaged(format!(
                "file format {version} of the database is not known"
            )),
            other => Self::Misuse {
                what: other.to_string(),
            },
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let error = match error {
            StoreError::Tree(tree) => return tree.into(),
            other => other,
        };
        let (code, hint) = match &error {
            StoreError::Damaged { .. } => (
                ErrorCode::IndexCorrupt,
                Some(
                    "`llmwiki reindex` rebuilds the store from the tree and keeps what history it can",
                ),
            ),
            StoreError::TooNew { .. } => (
                ErrorCode::StoreTooNew,
                Some("use the newer llmwiki that wrote this wiki"),
            ),
            StoreError::TooOld { .. } => (
                ErrorCode::IndexCorrupt,
                Some("`llmwiki reindex` brings the store up to date"),
            ),
            StoreError::Busy { .. } => (ErrorCode::StoreBusy, Some("try again when it is done")),
            StoreError::NeedsRepair | StoreError::Moved | StoreError::Closed => {
                (ErrorCode::StoreBusy, Some("try again"))
            }
            StoreError::Full { .. } => (
                ErrorCode::StoreFull,
                Some("free some space, then try again"),
            ),
            StoreError::TooLarge { .. } => (ErrorCode::LimitExceeded, None),
            StoreError::NoLocks => (
                ErrorCode::UnsafeFilesystem,
                Some("set LLMWIKI_STORE_MODE=exclusive, or keep the wiki on a local disk"),
            ),
            StoreError::Denied { .. } => (
                ErrorCode::UnsafeFilesystem,
                Some("check the owner and mode of .store"),
            ),
            StoreError::Io { .. } | StoreError::Misuse { .. } | StoreError::Tree(_) => {
                (ErrorCode::UnsafeFilesystem, None)
            }
        };
        // Callers print one line; the system's own words belong on it.
        let message = match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        let converted = Error::new(code, message).with_source(error);
        match hint {
            Some(hint) => converted.with_hint(hint),
            None => converted,
        }
    }
}

thread_local! {
    static GUARDS: Cell<u32> = const { Cell::new(0) };
}

/// Whether this thread is inside [`guard`], where a panic is an answer about the file. The panic
/// hook of the program stays silent then.
pub fn in_guard() -> bool {
    GUARDS.with(|guards| guards.get() > 0)
}

struct Inside;

impl Inside {
    fn enter() -> Self {
        GUARDS.with(|guards| guards.set(guards.get() + 1));
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        GUARDS.with(|guards| guards.set(guards.get() - 1));
    }
}

/// Runs `work` and turns a panic into [`StoreError::Damaged`].
///
/// The state that a panic may leave half changed is redb's own, and redb poisons its transaction
/// by itself: a commit after a panic fails.
///
/// # Errors
/// What `work` answers, or `Damaged` with the panic's message.
pub fn guard<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let inside = Inside::enter();
    let outcome = catch_unwind(AssertUnwindSafe(work));
    drop(inside);
    outcome.unwrap_or_else(|payload| {
        let said = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "panic without a message".to_owned());
        Err(StoreError::damaged(format!(
            "the database cannot make sense of its file ({said})"
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_the_guard_is_damage_and_the_guard_ends() {
        let outcome = guard::<()>(|| {
            assert!(in_guard());
            panic!("page 7")
        });
        assert!(matches!(outcome, Err(StoreError::Damaged { what }) if what.contains("page 7")));
        assert!(!in_guard());
    }

    #[test]
    fn a_full_disk_is_no_damage() {
        let full = io::Error::from_raw_os_error(28);
        let error = StoreError::from(redb::StorageError::Io(full));
        assert!(!error.is_damage());
        assert_eq!(Error::from(error).code(), ErrorCode::StoreFull);
    }

    #[test]
    fn a_file_that_ends_early_is_damage() {
        let error = StoreError::from(io::Error::from(io::ErrorKind::UnexpectedEof));
        assert!(error.is_damage());
    }
}
