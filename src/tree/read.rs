//! Reading files and directories.
//!
//! Invariant: nothing but a regular file is ever opened for reading. What a name stands for is
//! asked first, since opening alone has effects: it wakes a writer that waits at a FIFO, rewinds
//! a tape, or blocks.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::path::RelPath;
use super::root::Tree;
use super::stamp::{Kind, Stamp, now_ns};
use super::{Result, TreeError};

/// A file that was read.
#[derive(Debug, Clone)]
pub struct FileRead {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What `stat` said before they were read.
    pub stamp: Stamp,
    /// The file clock before that; with it `stamp.is_racy(seen_ns)` tells whether the stamp may
    /// fail to show a later change.
    pub seen_ns: i64,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name; may be no UTF-8.
    pub name: Vec<u8>,
    /// What it is.
    pub kind: Kind,
}

impl Entry {
    /// The name, where it is UTF-8.
    pub fn name_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.name).ok()
    }
}

impl Tree {
    /// Reads a whole file of at most `limit` bytes; nothing where there is none.
    ///
    /// A file that changes while it is read is read again, a few times; `stamp` is older than
    /// the bytes, so a change that slipped in shows at the next look.
    ///
    /// # Errors
    /// `TooLarge`, `NotRegular`, `Symlink`, `NotDirectory` (above it), `Denied`, `Io`.
    pub fn read(&self, rel: &RelPath, limit: u64) -> Result<Option<FileRead>> {
        let failed = |error: io::Error| TreeError::new("read", rel.to_string(), error);
        for attempt in 0.. {
            let seen_ns = now_ns();
            let Some((file, stamp)) = self.open_file(rel)? else {
                return Ok(None);
            };
            let too_large = |actual| TreeError::TooLarge {
                path: rel.to_string(),
                limit,
                actual,
            };
            if stamp.size > limit {
                return Err(too_large(stamp.size));
            }
            let bytes = read_up_to(&file, stamp.size, limit).map_err(failed)?;
            let length = bytes.len() as u64;
            if length > limit {
                return Err(too_large(length));
            }
            let after = fstat(&file).map_err(failed)?;
            let still = after.size == length
                && after.mtime_ns == stamp.mtime_ns
                && after.ctime_ns == stamp.ctime_ns;
            if still || attempt == 3 {
                return Ok(Some(FileRead {
                    bytes,
                    stamp,
                    seen_ns,
                }));
            }
        }
        Ok(None)
    }

    /// Reads up to `length` bytes from `offset` on; fewer at the end of the file, nothing where
    /// there is no file. The stamp tells the whole length.
    ///
    /// # Errors
    /// As [`Tree::read`], but for `TooLarge`.
    pub fn read_range(&self, rel: &RelPath, offset: u64, length: u64) -> Result<Option<FileRead>> {
        use std::os::unix::fs::FileExt;
        let failed = |error: io::Error| TreeError::new("read", rel.to_string(), error);
        let seen_ns = now_ns();
        let Some((file, stamp)) = self.open_file(rel)? else {
            return Ok(None);
        };
        let wanted = length.min(stamp.size.saturating_sub(offset));
        let wanted = usize::try_from(wanted).map_err(|_| failed(Errno::FBIG.into()))?;
        let mut bytes = vec![0; wanted];
        let mut filled = 0;
        while filled < wanted {
            match file.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        bytes.truncate(filled);
        Ok(Some(FileRead {
            bytes,
            stamp,
            seen_ns,
        }))
    }

    /// Opens a regular file for reading, for callers that stream it; nothing where there is none.
    ///
    /// # Errors
    /// As [`Tree::read`], but for `TooLarge`.
    pub fn open_file(&self, rel: &RelPath) -> Result<Option<(File, Stamp)>> {
        let (dir, name) = match self.open_parent(rel) {
            Ok(parent) => parent,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        open_regular(dir.as_fd(), name, OFlags::RDONLY, rel)
    }

    /// What is at `rel`, itself and not what a link leads to; nothing where there is nothing.
    ///
    /// # Errors
    /// `Symlink` or `NotDirectory` for something above it; `Denied`, `Io`.
    pub fn stat(&self, rel: &RelPath) -> Result<Option<Stamp>> {
        let (dir, name) = match self.open_parent(rel) {
            Ok(parent) => parent,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        stat_at(dir.as_fd(), name)
            .map_err(|error| TreeError::new("look at", rel.to_string(), error.into()))
    }

    /// The entries of a directory, sorted by the bytes of their names; nothing where there is no
    /// such directory. One `getdents64` for some hundred entries, no `stat` for each.
    ///
    /// # Errors
    /// `Symlink`, `NotDirectory`, `Denied`, `Io`.
    pub fn list(&self, rel: &RelPath) -> Result<Option<Vec<Entry>>> {
        let dir = match self.open_listing(rel) {
            Ok(dir) => dir,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut entries = Vec::new();
        read_entries(&dir, &mut |name, kind| {
            entries.push(Entry {
                name: name.to_vec(),
                kind,
            });
        })
        .map_err(|error| TreeError::new("list", rel.to_string(), error.into()))?;
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(Some(entries))
    }

    /// The names in `sources/`, sorted by bytes; nothing where that directory is missing.
    ///
    /// # Errors
    /// As [`Tree::list`].
    pub fn source_names(&self) -> Result<Option<Vec<Entry>>> {
        self.list(&RelPath::sources())
    }
}

pub(super) fn fstat(file: &File) -> io::Result<Stamp> {
    Ok(Stamp::from(&rustix::fs::fstat(file)?))
}

/// `stat` of one name in an open directory, without following a link.
pub(super) fn stat_at(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<Option<Stamp>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Stamp::from(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a name in an open directory if it is a regular file. `access` is the access mode.
pub(super) fn open_regular(
    dir: BorrowedFd<'_>,
    name: &[u8],
    access: OFlags,
    rel: &RelPath,
) -> Result<Option<(File, Stamp)>> {
    let action = if access == OFlags::RDONLY {
        "read"
    } else {
        "open"
    };
    let failed = |error: Errno| TreeError::new(action, rel.to_string(), error.into());
    let refused = |kind| match kind {
        Kind::Symlink => TreeError::Symlink {
            path: rel.to_string(),
        },
        kind => TreeError::NotRegular {
            path: rel.to_string(),
            kind,
        },
    };
    let Some(before) = stat_at(dir, name).map_err(failed)? else {
        return Ok(None);
    };
    if before.kind != Kind::File {
        return Err(refused(before.kind));
    }
    // O_NONBLOCK and the second look are for what may have taken the name in between.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let stamp = Stamp::from(&rustix::fs::fstat(&file).map_err(failed)?);
    if stamp.kind != Kind::File {
        return Err(refused(stamp.kind));
    }
    Ok(Some((file, stamp)))
}

/// Reads to the end of the file, or one byte past `limit`, whichever comes first.
pub(super) fn read_up_to(mut file: &File, expected: u64, limit: u64) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let most = limit.saturating_add(1);
    // One byte more than expected, so that the end is seen without growing.
    let capacity = usize::try_from(expected.min(limit).saturating_add(1)).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(capacity)
        .map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
    Read::by_ref(&mut file).take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Calls `visit` with each entry of an open directory, `.` and `..` left out, in the order of
/// the file system. Kinds that the directory itself does not tell are looked up.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn read_entries(
    dir: &OwnedFd,
    visit: &mut dyn FnMut(&[u8], Kind),
) -> rustix::io::Result<()> {
    use std::mem::MaybeUninit;
    const BUFFER_BYTES: usize = 64 * 1024;
    let mut buffer = vec![MaybeUninit::<u8>::uninit(); BUFFER_BYTES];
    let mut entries = rustix::fs::RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(Errno::INTR) => continue,
            // The directory was removed while it was read: what was seen is all there is.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error),
        };
        let name = entry.file_name().to_bytes();
        visit_entry(dir, name, entry.file_type().into(), visit);
    }
    Ok(())
}

/// The same through the portable call.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn read_entries(
    dir: &OwnedFd,
    visit: &mut dyn FnMut(&[u8], Kind),
) -> rustix::io::Result<()> {
    let mut entries = rustix::fs::Dir::read_from(dir)?;
    while let Some(entry) = entries.read() {
        let entry = entry?;
        visit_entry(
            dir,
            entry.file_name().to_bytes(),
            entry.file_type().into(),
            visit,
        );
    }
    Ok(())
}

fn visit_entry(dir: &OwnedFd, name: &[u8], kind: Kind, visit: &mut dyn FnMut(&[u8], Kind)) {
    if name == b"." || name == b".." {
        return;
    }
    let kind = match kind {
        Kind::Unknown => match stat_at(dir.as_fd(), name) {
            Ok(Some(stamp)) => stamp.kind,
            Ok(None) => return,
            Err(_) => Kind::Unknown,
        },
        kind => kind,
    };
    visit(name, kind);
}
