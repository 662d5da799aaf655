//! What can go wrong with files, told apart as far as callers act differently.
//!
//! Every variant names the path it is about, relative to the root where it lies below it, with
//! control characters and bytes that are not UTF-8 escaped.

use std::io;
use std::time::Duration;

use rustix::io::Errno;

use super::stamp::Kind;
use crate::error::{Error, ErrorCode};

/// A failure of the file layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A symbolic link where only real files and directories are allowed.
    #[error("{path} is a symbolic link, which is never followed")]
    Symlink {
        /// The link.
        path: String,
    },
    /// Something else where a regular file is needed.
    #[error("{path} is {kind}, not a regular file")]
    NotRegular {
        /// What was looked at.
        path: String,
        /// What it is.
        kind: Kind,
    },
    /// Something else where a directory is needed.
    #[error("{path} is {kind}, not a directory")]
    NotDirectory {
        /// What was looked at.
        path: String,
        /// What it is.
        kind: Kind,
    },
    /// A file larger than the caller allows.
    #[error("{path} has {actual} bytes, more than the limit of {limit}")]
    TooLarge {
        /// The file.
        path: String,
        /// The limit in bytes.
        limit: u64,
        /// Its length in bytes, as far as known.
        actual: u64,
    },
    /// Somebody else holds the lock and kept it for the whole wait.
    #[error("the wiki is locked by {}, waited {:.1} s", holder.as_deref().unwrap_or("another process"), waited.as_secs_f64())]
    Busy {
        /// Who holds it, as far as known: process id and command.
        holder: Option<String>,
        /// How long we waited.
        waited: Duration,
    },
    /// The caller's context was cancelled while waiting.
    #[error("the operation was cancelled")]
    Aborted,
    /// The disk, the quota or the file size limit is exhausted.
    #[error("cannot {action} {path}: no space is left")]
    Full {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// We lack a permission.
    #[error("cannot {action} {path}: permission denied")]
    Denied {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The file system is mounted read-only.
    #[error("cannot {action} {path}: the file system is read-only")]
    ReadOnly {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// A path that breaks the rules before any file is looked at, or that is too long.
    #[error("{path} is no usable path: {reason}")]
    BadPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two places that must share one file system do not.
    #[error("{path} and .store/tmp are on different file systems")]
    CrossDevice {
        /// The place that is not on the file system of `.store/tmp`.
        path: String,
    },
    /// The directory at the root's path is no longer the one that was opened.
    #[error("{path} was moved or replaced while it was in use")]
    Moved {
        /// The root.
        path: String,
    },
    /// Something that must be there is not.
    #[error("cannot {action} {path}: it does not exist")]
    Missing {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
    },
    /// Something that must not be there is.
    #[error("cannot {action} {path}: it exists already")]
    Exists {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
    },
    /// Any other answer of the operating system.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
        /// The cause.
        source: io::Error,
    },
}

impl TreeError {
    /// The error for an answer of the operating system to `action` on `path`.
    pub(super) fn new(action: &'static str, path: impl Into<String>, source: io::Error) -> Self {
        let path = path.into();
        match Errno::from_io_error(&source) {
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Self::Full {
                action,
                path,
                source,
            },
            Some(Errno::ACCESS | Errno::PERM) => Self::Denied {
                action,
                path,
                source,
            },
            Some(Errno::ROFS) => Self::ReadOnly {
                action,
                path,
                source,
            },
            Some(Errno::LOOP) => Self::Symlink { path },
            Some(Errno::NAMETOOLONG) => Self::BadPath {
                path,
                reason: "a name is too long",
            },
            Some(Errno::XDEV) => Self::CrossDevice { path },
            Some(Errno::NOENT) => Self::Missing { action, path },
            Some(Errno::EXIST) => Self::Exists { action, path },
            _ => Self::Io {
                action,
                path,
                source,
            },
        }
    }

    /// Whether the thing was not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }

    /// Whether writing failed because we may not write here at all: a read-only file system or a
    /// missing permission. Reads go on without writing then.
    pub fn is_unwritable(&self) -> bool {
        matches!(self, Self::ReadOnly { .. } | Self::Denied { .. })
    }
}

/// The operating system's error number, for matching.
pub(super) fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

impl From<TreeError> for Error {
    fn from(error: TreeError) -> Self {
        let (code, hint) = match &error {
            TreeError::Symlink { .. } => (
                ErrorCode::UnsafeFilesystem,
                Some("replace the link by a real file or directory, or remove it"),
            ),
            TreeError::NotRegular { .. } | TreeError::NotDirectory { .. } => {
                (ErrorCode::UnsafeFilesystem, Some("move it out of the wiki"))
            }
            TreeError::TooLarge { .. } => (
                ErrorCode::LimitExceeded,
                Some("split it, or raise the limit in config.toml"),
            ),
            TreeError::Busy { .. } => (
                ErrorCode::StoreBusy,
                Some("try again when the other process is done"),
            ),
            TreeError::Aborted => (ErrorCode::Aborted, None),
            TreeError::Full { .. } => (
                ErrorCode::StoreFull,
                Some("free some space, or raise the quota, and try again"),
            ),
            TreeError::Denied { .. } => (
                ErrorCode::UnsafeFilesystem,
                Some("check who owns it and its permissions"),
            ),
            TreeError::ReadOnly { .. } => (
                ErrorCode::UnsafeFilesystem,
                Some("work on a copy, or mount the file system for writing"),
            ),
            TreeError::BadPath { .. } => (ErrorCode::InvalidPath, None),
            TreeError::CrossDevice { .. } => (
                ErrorCode::UnsafeFilesystem,
                Some("keep the whole wiki on one file system, without mounts inside it"),
            ),
            TreeError::Moved { .. } => (ErrorCode::UnsafeFilesystem, Some("run the command again")),
            TreeError::Missing { .. } | TreeError::Exists { .. } | TreeError::Io { .. } => {
                (ErrorCode::UnsafeFilesystem, None)
            }
        };
        let out = Self::new(code, error.to_string()).with_source(error);
        match hint {
            Some(hint) => out.with_hint(hint),
            None => out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(errno: Errno) -> ErrorCode {
        Error::from(TreeError::new("write", "pages/a.md", errno.into())).code()
    }

    #[test]
    fn causes_that_callers_act_on_get_their_own_code() {
        for full in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            assert_eq!(code(full), ErrorCode::StoreFull);
        }
        for refused in [
            Errno::ACCESS,
            Errno::PERM,
            Errno::ROFS,
            Errno::LOOP,
            Errno::IO,
        ] {
            assert_eq!(code(refused), ErrorCode::UnsafeFilesystem);
        }
        assert_eq!(code(Errno::NAMETOOLONG), ErrorCode::InvalidPath);
    }

    #[test]
    fn message_names_action_and_path() {
        let error = TreeError::new("write", "pages/a.md", Errno::NOSPC.into());
        assert_eq!(
            error.to_string(),
            "cannot write pages/a.md: no space is left"
        );
        let error = TreeError::Busy {
            holder: None,
            waited: Duration::from_secs(10),
        };
        assert_eq!(
            error.to_string(),
            "the wiki is locked by another process, waited 10.0 s"
        );
    }
}
