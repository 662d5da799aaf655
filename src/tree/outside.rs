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

/// Where a path leads, links followed; nothing where it leads nowhere.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Reads a file that must be the user's alone: nobody else may read or write it. Nothing where
/// there is none.
///
/// # Errors
/// `Denied` for a file that others can reach; those of [`read_input`].
pub fn read_private(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    use std::os::unix::fs::PermissionsExt;
    match fs::metadata(path) {
        Ok(found) if found.permissions().mode() & 0o077 != 0 => Err(TreeError::new(
            "trust",
            shown(path),
            io::Error::new(
                io::ErrorKind::PermissionDenied,
                "others can read or write it",
            ),
        )),
        _ => read_optional(path, limit),
    }
}

/// Writes a file that is the user's alone, with the directories above it.
///
/// # Errors
/// [`TreeError`].
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    let failed = |error| TreeError::new("write", shown(path), error);
    if let Some(parent) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(failed)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

/// Whether a path is a program that can be run.
pub fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::testing::make_special;
    use super::*;

    #[test]
    fn inputs_are_read_through_links_and_up_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("notes.txt");
        fs::write(&file, "12345").unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("notes.txt", &link).unwrap();
        assert_eq!(read_input(&link, 5).unwrap(), b"12345");
        assert!(matches!(
            read_input(&link, 4),
            Err(TreeError::TooLarge { limit: 4, .. })
        ));
        assert!(
            read_input(&dir.path().join("none"), 5)
                .unwrap_err()
                .is_missing()
        );
        assert!(matches!(
            read_input(dir.path(), 5),
            Err(TreeError::NotRegular { .. })
        ));
        assert_eq!(read_optional(&dir.path().join("none"), 5).unwrap(), None);
        assert_eq!(read_optional(&file.join("below"), 5).unwrap(), None);
        assert!(matches!(
            read_input(Path::new("/dev/zero"), 1000),
            Err(TreeError::TooLarge { actual: 1001, .. })
        ));
    }

    #[test]
    fn pipe_that_the_user_named_is_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        make_special(&pipe, Kind::Fifo);
        std::thread::scope(|scope| {
            scope.spawn(|| fs::write(&pipe, "through the pipe").unwrap());
            assert_eq!(read_input(&pipe, 100).unwrap(), b"through the pipe");
        });
    }

    #[test]
    fn outputs_replace_only_when_told_to_and_leave_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out");
        write_output(&file, b"one", false).unwrap();
        assert!(matches!(
            write_output(&file, b"two", false),
            Err(TreeError::Exists { .. })
        ));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("out", &link).unwrap();
        write_output(&link, b"two", true).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(
            write_output(&dir.path().join("none/out"), b"x", true)
                .unwrap_err()
                .is_missing()
        );
        assert!(write_output(dir.path(), b"x", true).is_err());
        assert!(matches!(
            write_output(Path::new("/dev/full"), b"x", true),
            Err(TreeError::Full { .. })
        ));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_private_file_is_the_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/auth.toml");
        assert_eq!(read_private(&path, 10).unwrap(), None);
        write_private(&path, b"x").unwrap();
        write_private(&path, b"y").unwrap();
        assert_eq!(read_private(&path, 10).unwrap().unwrap(), b"y");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(!is_program(&path));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(read_private(&path, 10).is_err());
    }

    #[test]
    fn nearest_wiki_upward_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(dir.path().join(".llmwiki")).unwrap();
        fs::create_dir(dir.path().join("a/.llmwiki")).unwrap();
        assert_eq!(
            find_upward(&deep, Path::new(".llmwiki")).unwrap(),
            dir.path().join("a/.llmwiki")
        );
        assert_eq!(find_upward(&deep, Path::new(".not-there-at-all")), None);
    }
}
