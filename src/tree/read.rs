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
        read_whole(rel, limit, &|| self.open_file(rel))
    }

    /// Opens the directory `rel` to read several of its files, so that its path is resolved once;
    /// nothing where there is none.
    ///
    /// # Errors
    /// `Symlink` or `NotDirectory`, for `rel` or something above it; `Denied`, `Io`.
    pub fn folder(&self, rel: &RelPath) -> Result<Option<Folder>> {
        match self.open_dir(rel) {
            Ok(dir) => Ok(Some(Folder {
                dir,
                rel: rel.clone(),
            })),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
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
        let Some((dir, name)) = self.find_parent(rel)? else {
            return Ok(None);
        };
        open_regular(dir.as_fd(), name, OFlags::RDONLY, rel)
    }

    /// What is at `rel`, itself and not what a link leads to; nothing where there is nothing.
    ///
    /// # Errors
    /// `Symlink` or `NotDirectory` for something above it; `Denied`, `Io`.
    pub fn stat(&self, rel: &RelPath) -> Result<Option<Stamp>> {
        let Some((dir, name)) = self.find_parent(rel)? else {
            return Ok(None);
        };
        stat_at(dir.as_fd(), name)
            .map_err(|error| TreeError::new("look at", rel.to_string(), error.into()))
    }

    /// What is at `rel` now, for comparing with a stamp that was taken before; nothing where it
    /// cannot be told. One call, which may pass through a link above `rel`: an answer means
    /// something only if it equals the stamp, and the stamps of the directories above hold too.
    pub fn glance(&self, rel: &[u8]) -> Option<Stamp> {
        let path = if rel.is_empty() { b"." } else { rel };
        stat_at(self.root_fd(), path).ok().flatten()
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

/// An open directory of the tree. It stays the same directory when it is moved.
#[derive(Debug)]
pub struct Folder {
    dir: OwnedFd,
    rel: RelPath,
}

impl Folder {
    /// Where it was when it was opened.
    pub fn rel(&self) -> &RelPath {
        &self.rel
    }

    /// As [`Tree::read`], of a file in this directory.
    ///
    /// # Errors
    /// As [`Tree::read`].
    pub fn read(&self, name: &[u8], limit: u64) -> Result<Option<FileRead>> {
        let rel = self.file(name)?;
        read_whole(&rel, limit, &|| self.open(name, &rel))
    }

    /// As [`Tree::open_file`], of a file in this directory.
    ///
    /// # Errors
    /// As [`Tree::open_file`].
    pub fn open_file(&self, name: &[u8]) -> Result<Option<(File, Stamp)>> {
        self.open(name, &self.file(name)?)
    }

    /// The path of a file in this directory itself.
    fn file(&self, name: &[u8]) -> Result<RelPath> {
        let rel = self.rel.join(name)?;
        if name.contains(&b'/') {
            return Err(TreeError::BadPath {
                path: rel.to_string(),
                reason: "it has more than one part",
            });
        }
        Ok(rel)
    }

    fn open(&self, name: &[u8], rel: &RelPath) -> Result<Option<(File, Stamp)>> {
        open_regular(self.dir.as_fd(), name, OFlags::RDONLY, rel)
    }
}

/// Reads a file that `open` opens, again when it changes meanwhile.
fn read_whole(
    rel: &RelPath,
    limit: u64,
    open: &dyn Fn() -> Result<Option<(File, Stamp)>>,
) -> Result<Option<FileRead>> {
    let failed = |error: io::Error| TreeError::new("read", rel.to_string(), error);
    for attempt in 0.. {
        let seen_ns = now_ns();
        let Some((file, stamp)) = open()? else {
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
    // Below what makes the allocator tidy up each time it is given back.
    const BUFFER_BYTES: usize = 32 * 1024;
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

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::super::testing::{NO_FILES, make_special, put, rel, wiki, with_each_resolver};
    use super::*;

    #[test]
    fn anything_but_a_regular_file_is_named_and_not_opened() {
        with_each_resolver(|_, tree| {
            for kind in NO_FILES {
                let name = format!("pages/{}.md", format!("{kind:?}").to_lowercase());
                if !make_special(&tree.path().join(&name), kind) {
                    eprintln!("may not make {kind}: skipped");
                    continue;
                }
                for answer in [
                    tree.read(&rel(&name), 9).map(drop),
                    tree.read_range(&rel(&name), 0, 9).map(drop),
                    tree.open_file(&rel(&name)).map(drop),
                ] {
                    match answer.unwrap_err() {
                        TreeError::Symlink { path } => {
                            assert_eq!((kind, &path), (Kind::Symlink, &name));
                        }
                        TreeError::NotRegular { path, kind: found } => {
                            assert_eq!((kind, &path), (found, &name));
                        }
                        error => panic!("{name}: {error}"),
                    }
                }
                assert_eq!(tree.stat(&rel(&name)).unwrap().unwrap().kind, kind);
            }
        });
    }

    #[test]
    fn reading_a_fifo_does_not_wake_its_writer() {
        let (_dir, tree) = wiki();
        let path = tree.path().join("f");
        make_special(&path, Kind::Fifo);
        assert!(tree.read(&rel("f"), 9).is_err());
        // A writer that will not wait finds no reader: nobody opened the other end.
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        assert_eq!(
            rustix::fs::open(&path, flags, Mode::empty()).unwrap_err(),
            Errno::NXIO
        );
    }

    #[test]
    fn file_of_exactly_the_limit_is_read_and_one_byte_more_is_not() {
        let (_dir, tree) = wiki();
        put(&tree, "a", "12345");
        let read = tree.read(&rel("a"), 5).unwrap().unwrap();
        assert_eq!((read.bytes.as_slice(), read.stamp.size), (&b"12345"[..], 5));
        match tree.read(&rel("a"), 4).unwrap_err() {
            TreeError::TooLarge {
                limit: 4,
                actual: 5,
                path,
            } => assert_eq!(path, "a"),
            error => panic!("{error}"),
        }
        put(&tree, "empty", "");
        assert_eq!(tree.read(&rel("empty"), 0).unwrap().unwrap().bytes, b"");
        assert_eq!(
            tree.read(&rel("a"), u64::MAX).unwrap().unwrap().bytes.len(),
            5
        );
    }

    #[test]
    fn a_folder_reads_as_the_tree_does_and_nothing_but_its_own_files() {
        with_each_resolver(|_, tree| {
            put(tree, "pages/a/x.md", "12345");
            let folder = tree.folder(&rel("pages/a")).unwrap().unwrap();
            assert_eq!(folder.read(b"x.md", 5).unwrap().unwrap().bytes, b"12345");
            assert!(folder.open_file(b"x.md").unwrap().is_some());
            assert!(folder.read(b"y.md", 5).unwrap().is_none());
            put(tree, "pages/a/sub/x.md", "1");
            for name in [&b"../a/x.md"[..], b"sub/x.md", b"..", b""] {
                assert!(folder.read(name, 5).is_err(), "{name:?}");
            }
            for kind in NO_FILES {
                let name = format!("{kind:?}").to_lowercase();
                if make_special(&tree.path().join("pages/a").join(&name), kind) {
                    assert!(folder.read(name.as_bytes(), 9).is_err(), "{kind}");
                }
            }
            assert!(tree.folder(&rel("pages/b")).unwrap().is_none());
            assert!(tree.folder(&rel("pages/a/x.md")).is_err());
            std::os::unix::fs::symlink("a", tree.path().join("pages/link")).unwrap();
            assert!(tree.folder(&rel("pages/link")).is_err());
        });
    }

    #[test]
    fn a_glance_sees_the_stamp_that_a_look_sees() {
        let (_dir, tree) = wiki();
        put(&tree, "p/a/x.md", "1");
        for path in ["", "p", "p/a", "p/a/x.md"] {
            let looked = if path.is_empty() {
                tree.stat(&RelPath::root()).unwrap()
            } else {
                tree.stat(&rel(path)).unwrap()
            };
            assert!(looked.is_some());
            assert_eq!(tree.glance(path.as_bytes()), looked, "{path}");
        }
        assert_eq!(tree.glance(b"p/b"), None);
        assert_eq!(tree.glance(b"p/a/x.md/y"), None);
    }

    #[test]
    fn huge_sparse_file_is_refused_without_being_read() {
        let (_dir, tree) = wiki();
        put(&tree, "huge", "");
        let file = File::options()
            .write(true)
            .open(tree.path().join("huge"))
            .unwrap();
        file.set_len(1 << 40).unwrap();
        assert!(matches!(
            tree.read(&rel("huge"), 1 << 20),
            Err(TreeError::TooLarge { .. })
        ));
        let part = tree
            .read_range(&rel("huge"), (1 << 40) - 3, 10)
            .unwrap()
            .unwrap();
        assert_eq!((part.bytes.len(), part.stamp.size), (3, 1 << 40));
    }

    #[test]
    fn ranges_stop_at_the_end() {
        let (_dir, tree) = wiki();
        put(&tree, "a", "0123456789");
        let range = |offset, length| {
            tree.read_range(&rel("a"), offset, length)
                .unwrap()
                .unwrap()
                .bytes
        };
        assert_eq!(range(0, 3), b"012");
        assert_eq!(range(8, 100), b"89");
        assert_eq!(range(8, u64::MAX), b"89");
        assert_eq!(range(10, 1), b"");
        assert_eq!(range(u64::MAX, u64::MAX), b"");
        assert!(tree.read_range(&rel("none"), 0, 1).unwrap().is_none());
    }

    #[test]
    fn listing_is_sorted_by_bytes_and_tells_kinds() {
        let (_dir, tree) = wiki();
        for name in ["sources/b", "sources/B", "sources/a-", "sources/a"] {
            put(&tree, name, "");
        }
        std::fs::create_dir(tree.path().join("sources/dir")).unwrap();
        let entries = tree.source_names().unwrap().unwrap();
        let names: Vec<_> = entries
            .iter()
            .map(|entry| entry.name_str().unwrap())
            .collect();
        assert_eq!(names, ["B", "a", "a-", "b", "dir"]);
        assert_eq!(entries[4].kind, Kind::Directory);
        assert!(tree.list(&rel("none")).unwrap().is_none());
        let error = tree.list(&rel("sources/a")).unwrap_err();
        assert!(
            matches!(
                error,
                TreeError::NotDirectory {
                    kind: Kind::File,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn name_that_is_not_utf8_is_listed_and_read() {
        with_each_resolver(|_, tree| {
            let name = b"pages/\xff.md";
            put(tree, "pages/x", "");
            let path = tree.path().join(std::ffi::OsStr::from_bytes(name));
            std::fs::write(path, "bytes").unwrap();
            let entries = tree.list(&rel("pages")).unwrap().unwrap();
            assert_eq!(entries[1].name, b"\xff.md");
            assert_eq!(entries[1].name_str(), None);
            let path = RelPath::new(name.to_vec()).unwrap();
            assert_eq!(tree.read(&path, 9).unwrap().unwrap().bytes, b"bytes");
            assert_eq!(path.to_string(), "pages/\\xff.md");
        });
    }

    #[test]
    fn file_that_grows_while_it_is_read_never_exceeds_the_limit() {
        let (_dir, tree) = wiki();
        put(&tree, "a", "x");
        let file = File::open(tree.path().join("a")).unwrap();
        std::fs::write(tree.path().join("a"), vec![b'y'; 1000]).unwrap();
        // The length was asked for when it was 1.
        assert_eq!(read_up_to(&file, 1, 10).unwrap().len(), 11);
    }

    #[test]
    fn unreadable_file_is_denied() {
        use std::os::unix::fs::PermissionsExt;
        if rustix::process::geteuid().is_root() {
            eprintln!("root may read anything: skipped");
            return;
        }
        let (_dir, tree) = wiki();
        put(&tree, "a", "x");
        let none = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(tree.path().join("a"), none).unwrap();
        assert!(matches!(
            tree.read(&rel("a"), 9),
            Err(TreeError::Denied { .. })
        ));
    }
}
