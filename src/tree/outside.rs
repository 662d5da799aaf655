//! Files outside any wiki that the user named: inputs, outputs, configuration. Links are followed
//! there, since the user chose the path.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::path::escape;
use super::stamp::Kind;
use super::{Result, TreeError};

/// Reads a file that the user named, of at most `limit` bytes. A FIFO is read to its end, as
/// shells pass one for `<(command)`; a directory is refused.
///
/// # Errors
/// `Missing`, `NotRegular`, `TooLarge`, `Denied`, `Io`.
pub fn read_input(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let shown = shown(path);
    let failed = |error| TreeError::new("read", shown.as_str(), error);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(TreeError::NotRegular {
            path: shown,
            kind: Kind::Directory,
        });
    }
    let too_large = |actual| TreeError::TooLarge {
        path: shown.clone(),
        limit,
        actual,
    };
    if metadata.is_file() && metadata.len() > limit {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let length = bytes.len() as u64;
    if length > limit {
        return Err(too_large(length));
    }
    Ok(bytes)
}

/// Opens a file that the user named, for reading as it goes.
///
/// # Errors
/// `Missing`, `NotRegular` for a directory, `Denied`, `Io`.
pub fn open_input(path: &Path) -> Result<BufReader<File>> {
    let shown = shown(path);
    let failed = |error| TreeError::new("read", shown.as_str(), error);
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(TreeError::NotRegular {
            path: shown,
            kind: Kind::Directory,
        });
    }
    Ok(BufReader::with_capacity(1 << 20, file))
}

/// [`read_input`] for a file that need not exist, as a configuration file.
///
/// # Errors
/// As [`read_input`], but for `Missing`.
pub fn read_optional(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    match read_input(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(TreeError::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Writes a file that the user named. Where it exists it is replaced if `replace`, through a new
/// file beside it, so that a failure leaves the old one.
///
/// # Errors
/// `Exists`, `Missing` (its directory), `Full`, `Denied`, `ReadOnly`, `Io`.
pub fn write_output(path: &Path, bytes: &[u8], replace: bool) -> Result<()> {
    let shown = shown(path);
    let failed = |error| TreeError::new("write", shown.as_str(), error);
    // A device or FIFO, as /dev/stdout, is written to and not replaced.
    let special = fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
    if special {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        return file.write_all(bytes).map_err(failed);
    }
    if !replace {
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(failed)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if written.is_err() {
            let _ = fs::remove_file(path);
        }
        return written.map_err(failed);
    }
    // Through a link, the file that it leads to is replaced.
    let goal = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(name) = goal.file_name() else {
        return Err(TreeError::NotRegular {
            path: shown,
            kind: Kind::Directory,
        });
    };
    let mut beside = name.to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = goal.with_file_name(beside);
    let write = || -> io::Result<()> {
        let mut file = File::options().write(true).create_new(true).open(&beside)?;
        file.write_all(bytes)?;
        if let Ok(old) = fs::metadata(&goal) {
            let _ = file.set_permissions(old.permissions());
        }
        file.sync_all()?;
        fs::rename(&beside, &goal)
    };
    let written = write();
    if written
        .as_ref()
        .is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists)
    {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)
}

/// The nearest `name` in `start` or a directory above it, whatever it is.
pub fn find_upward(start: &Path, name: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .map(|dir| dir.join(name))
        .find(|path| fs::symlink_metadata(path).is_ok())
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}
