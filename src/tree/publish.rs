//! Swapping staged things into place, and taking things out.
//!
//! Invariant: nothing is overwritten unseen. What was at the goal comes out under a staged name
//! and is handed to the caller, who hashes it and so finds what a person saved in between.
//!
//! Linux and Apple systems swap two names in one step and rename without replacing. Where the
//! file system can do neither, the old file is given a second name (or copied) before a plain
//! rename; a save by rename in the few instructions between would be lost there.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::error::errno;
use super::path::RelPath;
use super::read::{fstat, open_regular, stat_at};
use super::root::{Renames, Tree};
use super::stage::{Durability, Staged};
use super::stamp::{Kind, Stamp};
use super::{Result, TreeError};

/// How often the goal may change under our hands before we give up.
const ATTEMPTS: u32 = 100;

/// What came out when a file was swapped in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchanged {
    /// The file that was there before, now in `.store/tmp`; nothing where there was none.
    pub old: Option<Staged>,
}

/// What became of a folder that was to be published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It is in place.
    Moved,
    /// A directory was there already and was left as it is; the staged one is still staged.
    AlreadyThere,
}

/// Answers of systems and file systems that lack a kind of rename or link.
fn unsupported(error: &io::Error) -> bool {
    matches!(
        errno(error),
        Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
    )
}

/// The same for hard links: FAT and sandboxes say EPERM, full inodes EMLINK.
fn link_unsupported(error: &io::Error) -> bool {
    unsupported(error)
        || matches!(
            errno(error),
            Some(Errno::PERM | Errno::MLINK | Errno::ACCESS)
        )
}

fn is(error: &io::Error, wanted: Errno) -> bool {
    errno(error) == Some(wanted)
}

impl Tree {
    /// Puts a staged file at `rel`, making directories as needed; what was there comes out. The
    /// new file gets the permission bits of the old one.
    ///
    /// Under `Durability::Now` the new name is on the disk when this returns, else after
    /// [`Tree::sync_fs`]. Until then a power cut may bring back the old file.
    ///
    /// # Errors
    /// `Symlink`, `NotRegular`, `NotDirectory` for what is in the way; `Missing` when nothing is
    /// staged under that name; `CrossDevice`, `Full`, `Denied`, `ReadOnly`, `Io`. The goal is
    /// unchanged then, unless the flush itself failed.
    pub fn exchange(
        &self,
        staged: &Staged,
        rel: &RelPath,
        durability: Durability,
    ) -> Result<Exchanged> {
        let tmp = self.staging()?;
        let (parent, name) = self.goal(rel, durability)?;
        let new = staged_stamp(&tmp, staged)?;
        if new.kind != Kind::File {
            return Err(TreeError::NotRegular {
                path: staged.path().to_string(),
                kind: new.kind,
            });
        }
        let goal = Goal {
            tree: self,
            tmp: &tmp,
            parent: &parent,
            name,
            rel,
        };
        for _ in 0..ATTEMPTS {
            let done = match goal.stat()? {
                None => goal.place_new(staged)?.then_some(Exchanged { old: None }),
                Some(old) => {
                    goal.must_be_regular(old.kind)?;
                    goal.take_over(staged, &new, &old);
                    goal.swap(staged)?
                }
            };
            if let Some(done) = done {
                if durability == Durability::Now {
                    goal.flush()?;
                }
                return Ok(done);
            }
        }
        Err(goal.failed(Errno::BUSY.into()))
    }

    /// Moves a staged folder to `rel`, which must not exist.
    ///
    /// # Errors
    /// As [`Tree::exchange`]; `NotDirectory` or `Symlink` when something else is there.
    pub fn publish_dir(
        &self,
        staged: &Staged,
        rel: &RelPath,
        durability: Durability,
    ) -> Result<Published> {
        let tmp = self.staging()?;
        let (parent, name) = self.goal(rel, durability)?;
        let new = staged_stamp(&tmp, staged)?;
        if new.kind != Kind::Directory {
            return Err(TreeError::NotDirectory {
                path: staged.path().to_string(),
                kind: new.kind,
            });
        }
        let goal = Goal {
            tree: self,
            tmp: &tmp,
            parent: &parent,
            name,
            rel,
        };
        let occupied = || match goal.stat()? {
            None => Ok(false),
            Some(Stamp {
                kind: Kind::Directory,
                ..
            }) => Ok(true),
            Some(Stamp {
                kind: Kind::Symlink,
                ..
            }) => Err(TreeError::Symlink {
                path: rel.to_string(),
            }),
            Some(Stamp { kind, .. }) => Err(TreeError::NotDirectory {
                path: rel.to_string(),
                kind,
            }),
        };
        for _ in 0..ATTEMPTS {
            if occupied()? {
                return Ok(Published::AlreadyThere);
            }
            let moved = match self.renames() {
                Renames::PlainOnly => None,
                Renames::Auto | Renames::NoExchange => {
                    match goal.rename_in(staged, RenameFlags::NOREPLACE) {
                        Err(error) if unsupported(&error) => None,
                        answer => Some(answer),
                    }
                }
            };
            // A plain rename of a directory replaces nothing but an empty directory.
            let moved = match moved {
                Some(answer) => answer,
                None => goal.rename_in(staged, RenameFlags::empty()),
            };
            match moved {
                Ok(()) => {
                    if durability == Durability::Now {
                        goal.flush()?;
                    }
                    return Ok(Published::Moved);
                }
                Err(error)
                    if matches!(
                        errno(&error),
                        Some(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR)
                    ) => {}
                Err(error) => return Err(goal.failed(error)),
            }
        }
        Err(goal.failed(Errno::BUSY.into()))
    }

    /// Takes the file at `rel` out into `.store/tmp`; nothing where there is none.
    ///
    /// # Errors
    /// As [`Tree::exchange`].
    pub fn take(&self, rel: &RelPath, durability: Durability) -> Result<Option<Staged>> {
        self.take_out(rel, Kind::File, durability)
    }

    /// Takes the folder at `rel` out into `.store/tmp` with all that is in it; nothing where
    /// there is none.
    ///
    /// # Errors
    /// As [`Tree::exchange`].
    pub fn take_dir(&self, rel: &RelPath, durability: Durability) -> Result<Option<Staged>> {
        self.take_out(rel, Kind::Directory, durability)
    }

    fn take_out(
        &self,
        rel: &RelPath,
        wanted: Kind,
        durability: Durability,
    ) -> Result<Option<Staged>> {
        let Some((parent, name)) = self.find_parent(rel)? else {
            return Ok(None);
        };
        let tmp = self.staging()?;
        let goal = Goal {
            tree: self,
            tmp: &tmp,
            parent: &parent,
            name,
            rel,
        };
        let Some(stamp) = goal.stat()? else {
            return Ok(None);
        };
        goal.must_be(wanted, stamp.kind)?;
        let old = Staged::unique("old");
        let from = (parent.as_fd(), name);
        let to = (tmp.as_fd(), old.name().as_bytes());
        let shown = rel.to_string();
        match self.calls().rename(from, to, RenameFlags::empty(), &shown) {
            Ok(()) => {}
            Err(error) if is(&error, Errno::NOENT) => return Ok(None),
            Err(error) => return Err(TreeError::new("take away", shown, error)),
        }
        // Between the look and the move it may have become something else; that goes back.
        let out = staged_stamp(&tmp, &old)?;
        if out.kind != wanted {
            let _ = self
                .calls()
                .rename(to, from, RenameFlags::NOREPLACE, &shown);
            goal.must_be(wanted, out.kind)?;
        }
        if durability == Durability::Now {
            goal.flush()?;
        }
        Ok(Some(old))
    }

    /// Removes a file (not a directory; a link itself, not what it leads to). Whether it was
    /// there. For derived files only: nothing comes out.
    ///
    /// # Errors
    /// `Symlink` or `NotDirectory` above it; `NotRegular` for a directory; `Denied`, `ReadOnly`,
    /// `Io`.
    pub fn remove(&self, rel: &RelPath) -> Result<bool> {
        let Some((parent, name)) = self.find_parent(rel)? else {
            return Ok(false);
        };
        let shown = rel.to_string();
        let stamp = stat_at(parent.as_fd(), name)
            .map_err(|error| TreeError::new("look at", shown.as_str(), error.into()))?;
        match stamp {
            None => return Ok(false),
            Some(Stamp {
                kind: Kind::Directory,
                ..
            }) => {
                return Err(TreeError::NotRegular {
                    path: shown,
                    kind: Kind::Directory,
                });
            }
            Some(_) => {}
        }
        match self.calls().unlink(parent.as_fd(), name, &shown) {
            Ok(()) => Ok(true),
            Err(error) if is(&error, Errno::NOENT) => Ok(false),
            Err(error) => Err(TreeError::new("remove", shown, error)),
        }
    }

    /// Removes the directory `rel` and those above it as long as they are empty, up to but not
    /// including `stop`. Returns how many went.
    ///
    /// # Errors
    /// `Denied`, `ReadOnly`, `Io`, and what is in the way as for reading.
    pub fn remove_empty_dirs(&self, rel: &RelPath, stop: &RelPath) -> Result<usize> {
        let mut removed = 0;
        let mut path = rel.clone();
        while path != *stop && !path.is_root() {
            let Some((parent, name)) = self.find_parent(&path)? else {
                let Some(above) = path.parent() else { break };
                path = above;
                continue;
            };
            let shown = path.to_string();
            match self.calls().rmdir(parent.as_fd(), name, &shown) {
                Ok(()) => removed += 1,
                Err(error) if is(&error, Errno::NOENT) => {}
                Err(error)
                    if matches!(
                        errno(&error),
                        Some(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR | Errno::BUSY)
                    ) =>
                {
                    break;
                }
                Err(error) => return Err(TreeError::new("remove", shown, error)),
            }
            let Some(above) = path.parent() else { break };
            path = above;
        }
        Ok(removed)
    }

    /// Writes a new file at `rel`, whole or not at all, making directories as needed. False,
    /// and nothing changed, where something is there already.
    ///
    /// # Errors
    /// As [`Tree::exchange`].
    pub fn write_new(&self, rel: &RelPath, bytes: &[u8], durability: Durability) -> Result<bool> {
        if self.stat(rel)?.is_some() {
            return Ok(false);
        }
        let staged = self.stage(bytes, "new", durability)?;
        let place = || -> Result<bool> {
            let tmp = self.staging()?;
            let (parent, name) = self.goal(rel, durability)?;
            let goal = Goal {
                tree: self,
                tmp: &tmp,
                parent: &parent,
                name,
                rel,
            };
            let placed = goal.place_new(&staged)?;
            if placed && durability == Durability::Now {
                goal.flush()?;
            }
            Ok(placed)
        };
        let placed = place();
        if !matches!(placed, Ok(true)) {
            let _ = self.remove_staged(&staged);
        }
        placed
    }

    /// Appends one line to a file and flushes it; makes the file where missing. `line` holds no
    /// line feed, one is added. A torn line that a crash left at the end is ended first, so that
    /// it cannot swallow this one. When writing fails, the file is cut to what it was.
    ///
    /// # Errors
    /// As [`Tree::exchange`]; `Missing` when its directory does not exist.
    pub fn append_line(&self, rel: &RelPath, line: &str) -> Result<()> {
        use std::os::unix::fs::FileExt;
        let (parent, name) = self.open_parent(rel)?;
        let shown = rel.to_string();
        let failed = |error| TreeError::new("write", shown.as_str(), error);
        let access = OFlags::RDWR | OFlags::APPEND;
        let there = open_regular(parent.as_fd(), name, access, rel)?;
        let (file, length) = if let Some((file, stamp)) = there {
            (file, stamp.size)
        } else {
            let file = self
                .calls()
                .create(parent.as_fd(), name, &shown)
                .map_err(failed)?;
            self.calls()
                .sync_dir(parent.as_fd(), &shown)
                .map_err(failed)?;
            (file, 0)
        };
        let mut text = String::with_capacity(line.len() + 2);
        if length > 0 {
            let mut last = [0; 1];
            file.read_exact_at(&mut last, length - 1).map_err(failed)?;
            if last != *b"\n" {
                text.push('\n');
            }
        }
        text.push_str(line);
        text.push('\n');
        let write = || -> io::Result<()> {
            self.calls().write(&file, text.as_bytes(), &shown)?;
            self.calls().sync(&file, &shown)
        };
        if let Err(error) = write() {
            let _ = self.calls().truncate(&file, length, &shown);
            return Err(failed(error));
        }
        Ok(())
    }

    /// The directory in which `rel` is to appear, made where missing, and its last name.
    pub(super) fn goal<'a>(
        &self,
        rel: &'a RelPath,
        durability: Durability,
    ) -> Result<(OwnedFd, &'a [u8])> {
        let (Some(parent), Some(name)) = (rel.parent(), rel.file_name()) else {
            return Err(TreeError::BadPath {
                path: rel.to_string(),
                reason: "the root cannot be replaced",
            });
        };
        Ok((self.open_or_make_dirs(&parent, durability)?, name))
    }
}

/// What `stat` says about a staged thing, which must be there.
fn staged_stamp(tmp: &OwnedFd, staged: &Staged) -> Result<Stamp> {
    let shown = staged.path().to_string();
    match stat_at(tmp.as_fd(), staged.name().as_bytes()) {
        Ok(Some(stamp)) => Ok(stamp),
        Ok(None) => Err(TreeError::Missing {
            action: "publish",
            path: shown,
        }),
        Err(error) => Err(TreeError::new("look at", shown, error.into())),
    }
}

/// A name in an open directory that is about to change.
struct Goal<'a> {
    tree: &'a Tree,
    tmp: &'a OwnedFd,
    parent: &'a OwnedFd,
    name: &'a [u8],
    rel: &'a RelPath,
}

impl Goal<'_> {
    fn failed(&self, error: io::Error) -> TreeError {
        TreeError::new("replace", self.rel.to_string(), error)
    }

    fn stat(&self) -> Result<Option<Stamp>> {
        stat_at(self.parent.as_fd(), self.name)
            .map_err(|error| TreeError::new("look at", self.rel.to_string(), error.into()))
    }

    fn must_be(&self, wanted: Kind, kind: Kind) -> Result<()> {
        let path = self.rel.to_string();
        match kind {
            kind if kind == wanted => Ok(()),
            Kind::Symlink => Err(TreeError::Symlink { path }),
            kind if wanted == Kind::Directory => Err(TreeError::NotDirectory { path, kind }),
            kind => Err(TreeError::NotRegular { path, kind }),
        }
    }

    fn must_be_regular(&self, kind: Kind) -> Result<()> {
        self.must_be(Kind::File, kind)
    }

    fn flush(&self) -> Result<()> {
        let above = self.rel.parent().unwrap_or_else(RelPath::root).to_string();
        self.tree
            .calls()
            .sync_dir(self.parent.as_fd(), &above)
            .map_err(|error| TreeError::new("flush", above, error))
    }

    fn rename_in(&self, staged: &Staged, flags: RenameFlags) -> io::Result<()> {
        self.tree.calls().rename(
            (self.tmp.as_fd(), staged.name().as_bytes()),
            (self.parent.as_fd(), self.name),
            flags,
            &self.rel.to_string(),
        )
    }

    /// Gives the staged file the permission bits of the file it replaces, so that a
    /// page that only its group may read stays so. Best effort: not being allowed to is no
    /// reason to refuse the write.
    fn take_over(&self, staged: &Staged, new: &Stamp, old: &Stamp) {
        if new.mode == old.mode {
            return;
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::openat(self.tmp, staged.name(), flags, Mode::empty()) {
            let _ = self
                .tree
                .calls()
                .chmod(&file, old.mode & 0o777, &self.rel.to_string());
        }
    }

    /// Puts the staged file at a name that is free. False when it is not.
    fn place_new(&self, staged: &Staged) -> Result<bool> {
        if self.tree.renames() != Renames::PlainOnly {
            match self.rename_in(staged, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(true),
                Err(error) if is(&error, Errno::EXIST) => return Ok(false),
                Err(error) if unsupported(&error) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        // A hard link replaces nothing either.
        let shown = self.rel.to_string();
        let from = (self.tmp.as_fd(), staged.name().as_bytes());
        match self
            .tree
            .calls()
            .link(from, (self.parent.as_fd(), self.name), &shown)
        {
            Ok(()) => {
                self.tree
                    .calls()
                    .unlink(from.0, from.1, &shown)
                    .map_err(|e| self.failed(e))?;
                return Ok(true);
            }
            Err(error) if is(&error, Errno::EXIST) => return Ok(false),
            Err(error) if link_unsupported(&error) => {}
            Err(error) => return Err(self.failed(error)),
        }
        if self.stat()?.is_some() {
            return Ok(false);
        }
        self.rename_in(staged, RenameFlags::empty())
            .map_err(|error| self.failed(error))?;
        Ok(true)
    }

    /// Swaps the staged file with the one that is there. Nothing when the goal changed meanwhile
    /// and must be looked at again.
    fn swap(&self, staged: &Staged) -> Result<Option<Exchanged>> {
        if self.tree.renames() == Renames::Auto {
            match self.rename_in(staged, RenameFlags::EXCHANGE) {
                Ok(()) => {
                    let out = staged_stamp(self.tmp, staged)?;
                    if out.kind != Kind::File {
                        // It became something else between the look and the swap; that goes back.
                        let _ = self.rename_in(staged, RenameFlags::EXCHANGE);
                        self.must_be_regular(out.kind)?;
                    }
                    return Ok(Some(Exchanged {
                        old: Some(staged.clone()),
                    }));
                }
                Err(error) if is(&error, Errno::NOENT) => {
                    staged_stamp(self.tmp, staged)?;
                    return Ok(None);
                }
                Err(error) if unsupported(&error) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        let Some((kept, before)) = self.keep_old()? else {
            return Ok(None);
        };
        let now = self.stat()?;
        let same = now.is_some_and(|now| {
            now.identity() == before.identity()
                && (now.size, now.mtime_ns) == (before.size, before.mtime_ns)
        });
        if !same {
            self.tree.remove_staged(&kept)?;
            return Ok(None);
        }
        match self.rename_in(staged, RenameFlags::empty()) {
            Ok(()) => Ok(Some(Exchanged { old: Some(kept) })),
            Err(error) => {
                let _ = self.tree.remove_staged(&kept);
                Err(self.failed(error))
            }
        }
    }

    /// Keeps the file at the goal under a staged name too: a hard link, so that what is saved
    /// into it until the last moment is kept as well, else a copy.
    fn keep_old(&self) -> Result<Option<(Staged, Stamp)>> {
        let kept = Staged::unique("old");
        let shown = self.rel.to_string();
        let to = (self.tmp.as_fd(), kept.name().as_bytes());
        match self
            .tree
            .calls()
            .link((self.parent.as_fd(), self.name), to, &shown)
        {
            Ok(()) => {
                let stamp = staged_stamp(self.tmp, &kept)?;
                if stamp.kind != Kind::File {
                    self.tree.remove_staged(&kept)?;
                    self.must_be_regular(stamp.kind)?;
                }
                Ok(Some((kept, stamp)))
            }
            Err(error) if is(&error, Errno::NOENT) => Ok(None),
            Err(error) if link_unsupported(&error) => {
                let open = open_regular(self.parent.as_fd(), self.name, OFlags::RDONLY, self.rel)?;
                let Some((old, stamp)) = open else {
                    return Ok(None);
                };
                let copy = || -> io::Result<()> {
                    let new = self.tree.calls().create(to.0, to.1, &shown)?;
                    self.copy(&old, &new, &shown)
                };
                match copy() {
                    Ok(()) => Ok(Some((kept, stamp))),
                    Err(error) => {
                        let _ = self.tree.remove_staged(&kept);
                        Err(self.failed(error))
                    }
                }
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn copy(&self, mut old: &File, new: &File, shown: &str) -> io::Result<()> {
        use std::io::Read;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let count = old.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            self.tree.calls().write(new, &buffer[..count], shown)?;
        }
        self.tree
            .calls()
            .chmod(new, fstat(old)?.mode & 0o777, shown)?;
        self.tree.calls().sync(new, shown)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::sync::Arc;
    use std::sync::Mutex;

    use super::super::testing::{
        ALL_RENAMES, NO_FILES, get, make_special, put, rel, wiki, wiki_with, with_each_rename,
    };
    use super::super::{FailFrom, FaultOp, Faults, Recorder, TreeOptions};
    use super::*;

    const NOW: Durability = Durability::Now;

    fn staged_bytes(tree: &Tree, staged: &Staged) -> Vec<u8> {
        tree.read(&staged.path(), 1000).unwrap().unwrap().bytes
    }

    fn staged_count(tree: &Tree) -> usize {
        tree.list_staged().unwrap().len()
    }

    /// Lets a person act just before the n-th change of a kind.
    struct Meddler {
        op: FaultOp,
        count: Mutex<u32>,
        act: Box<dyn Fn() + Send + Sync>,
    }

    impl Faults for Meddler {
        fn before(&self, op: FaultOp, _: &str) -> io::Result<()> {
            let mut count = self.count.lock().unwrap();
            if op == self.op && *count > 0 {
                *count -= 1;
                if *count == 0 {
                    (self.act)();
                }
            }
            Ok(())
        }
    }

    /// A second value on the same wiki where `act` happens before the n-th `op`.
    fn meddled(
        tree: &Tree,
        renames: Renames,
        op: FaultOp,
        count: u32,
        act: impl Fn() + Send + Sync + 'static,
    ) -> Tree {
        // Making the store renames too, and is not what is meant.
        let warm = tree.stage(b"", "warm", NOW).unwrap();
        tree.remove_staged(&warm).unwrap();
        let meddler = Meddler {
            op,
            count: Mutex::new(count),
            act: Box::new(act),
        };
        let options = TreeOptions {
            renames,
            faults: Some(Arc::new(meddler)),
            ..TreeOptions::default()
        };
        Tree::create_with(tree.path(), &options).unwrap()
    }

    #[test]
    fn new_file_appears_whole_and_nothing_is_left() {
        with_each_rename(|_, tree| {
            let staged = tree.stage(b"new", "page", NOW).unwrap();
            let done = tree.exchange(&staged, &rel("pages/a/b/c.md"), NOW).unwrap();
            assert_eq!(done.old, None);
            assert_eq!(get(tree, "pages/a/b/c.md").unwrap(), b"new");
            assert_eq!(staged_count(tree), 0);
            let link_count = tree
                .stat(&rel("pages/a/b/c.md"))
                .unwrap()
                .unwrap()
                .link_count;
            assert_eq!(link_count, 1);
        });
    }

    #[test]
    fn old_file_comes_out_whole_and_permissions_stay() {
        with_each_rename(|_, tree| {
            put(tree, "pages/a.md", "old");
            let path = tree.path().join("pages/a.md");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            let staged = tree.stage(b"new", "page", NOW).unwrap();
            let done = tree.exchange(&staged, &rel("pages/a.md"), NOW).unwrap();
            let old = done.old.unwrap();
            assert_eq!(get(tree, "pages/a.md").unwrap(), b"new");
            assert_eq!(staged_bytes(tree, &old), b"old");
            assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
            assert_eq!(staged_count(tree), 1);
            assert!(tree.remove_staged(&old).unwrap());
        });
    }

    #[test]
    fn directories_are_flushed_before_the_call_returns() {
        let recorder = Arc::new(Recorder::default());
        let options = TreeOptions {
            faults: Some(recorder.clone()),
            ..TreeOptions::default()
        };
        let (_dir, tree) = wiki_with(&options);
        let staged = tree.stage(b"x", "a", NOW).unwrap();
        recorder.take();
        tree.exchange(&staged, &rel("pages/d/a.md"), NOW).unwrap();
        let expected = [
            (FaultOp::Mkdir, "pages"),
            (FaultOp::Sync, "."),
            (FaultOp::Mkdir, "pages/d"),
            (FaultOp::Sync, "pages"),
            (FaultOp::Rename, "pages/d/a.md"),
            (FaultOp::Sync, "pages/d"),
        ];
        assert_eq!(
            recorder.take(),
            expected.map(|(op, what)| (op, what.to_owned()))
        );
        let staged = tree.stage(b"y", "a", Durability::Batch).unwrap();
        recorder.take();
        tree.exchange(&staged, &rel("pages/d/a.md"), Durability::Batch)
            .unwrap();
        assert_eq!(
            recorder.take(),
            [(FaultOp::Rename, "pages/d/a.md".to_owned())]
        );
        tree.sync_fs().unwrap();
        assert_eq!(recorder.take(), [(FaultOp::SyncFs, ".".to_owned())]);
    }

    #[test]
    fn what_is_no_file_stays_where_it_is() {
        with_each_rename(|_, tree| {
            for kind in NO_FILES {
                let name = format!("pages/{kind:?}");
                if !make_special(&tree.path().join(&name), kind) {
                    continue;
                }
                let staged = tree.stage(b"x", "a", NOW).unwrap();
                for answer in [
                    tree.exchange(&staged, &rel(&name), NOW).map(drop),
                    tree.take(&rel(&name), NOW).map(drop),
                    tree.append_line(&rel(&name), "x"),
                ] {
                    match answer.unwrap_err() {
                        TreeError::Symlink { .. } => assert_eq!(kind, Kind::Symlink),
                        TreeError::NotRegular { kind: found, .. } => assert_eq!(kind, found),
                        error => panic!("{error}"),
                    }
                }
                assert!(!tree.write_new(&rel(&name), b"x", NOW).unwrap());
                assert_eq!(tree.stat(&rel(&name)).unwrap().unwrap().kind, kind);
                assert_eq!(staged_bytes(tree, &staged), b"x");
                tree.remove_staged(&staged).unwrap();
            }
            assert_eq!(staged_count(tree), 0);
        });
    }

    #[test]
    fn save_between_the_look_and_the_swap_comes_out() {
        for renames in ALL_RENAMES {
            let (_dir, tree) = wiki();
            put(&tree, "pages/a.md", "old");
            let path = tree.path().join("pages/a.md");
            // An editor that writes beside and renames.
            let beside = tree.path().join("pages/a.md~");
            let op = if renames == Renames::Auto {
                FaultOp::Rename
            } else {
                FaultOp::Link
            };
            let saved = meddled(&tree, renames, op, 1, move || {
                std::fs::write(&beside, "saved").unwrap();
                std::fs::rename(&beside, &path).unwrap();
            });
            let staged = saved.stage(b"new", "a", NOW).unwrap();
            let old = saved
                .exchange(&staged, &rel("pages/a.md"), NOW)
                .unwrap()
                .old
                .unwrap();
            assert_eq!(staged_bytes(&tree, &old), b"saved", "{renames:?}");
            assert_eq!(get(&tree, "pages/a.md").unwrap(), b"new");
            assert_eq!(staged_count(&tree), 1);
        }
    }

    #[test]
    fn in_place_save_in_the_last_moment_comes_out_too() {
        for renames in ALL_RENAMES {
            let (_dir, tree) = wiki();
            put(&tree, "pages/a.md", "old");
            let path = tree.path().join("pages/a.md");
            let saved = meddled(&tree, renames, FaultOp::Rename, 1, move || {
                std::fs::write(&path, "saved").unwrap();
            });
            let staged = saved.stage(b"new", "a", NOW).unwrap();
            let old = saved
                .exchange(&staged, &rel("pages/a.md"), NOW)
                .unwrap()
                .old
                .unwrap();
            assert_eq!(staged_bytes(&tree, &old), b"saved", "{renames:?}");
        }
    }

    #[test]
    fn file_that_appears_or_vanishes_under_the_swap_is_noticed() {
        for renames in ALL_RENAMES {
            // Appears: what was to be new finds something there.
            let (_dir, tree) = wiki();
            tree.stage(b"x", "warm", NOW).unwrap();
            tree.make_dirs(&RelPath::pages(), NOW).unwrap();
            let path = tree.path().join("pages/a.md");
            let op = if renames == Renames::PlainOnly {
                FaultOp::Link
            } else {
                FaultOp::Rename
            };
            let other = meddled(&tree, renames, op, 1, move || {
                std::fs::write(&path, "person").unwrap();
            });
            let staged = other.stage(b"new", "a", NOW).unwrap();
            let old = other
                .exchange(&staged, &rel("pages/a.md"), NOW)
                .unwrap()
                .old
                .unwrap();
            assert_eq!(staged_bytes(&tree, &old), b"person", "{renames:?}");
            assert_eq!(get(&tree, "pages/a.md").unwrap(), b"new");

            // Vanishes.
            let path = tree.path().join("pages/a.md");
            let op = if renames == Renames::Auto {
                FaultOp::Rename
            } else {
                FaultOp::Link
            };
            let other = meddled(&tree, renames, op, 1, move || {
                std::fs::remove_file(&path).unwrap();
            });
            let staged = other.stage(b"newer", "a", NOW).unwrap();
            let done = other.exchange(&staged, &rel("pages/a.md"), NOW).unwrap();
            assert_eq!(done.old, None, "{renames:?}");
            assert_eq!(get(&tree, "pages/a.md").unwrap(), b"newer");
        }
    }

    #[test]
    fn folder_that_takes_the_name_in_the_last_moment_is_put_back() {
        for exchange in [true, false] {
            let (_dir, tree) = wiki();
            put(&tree, "pages/a.md", "old");
            let path = tree.path().join("pages/a.md");
            let other = meddled(&tree, Renames::Auto, FaultOp::Rename, 1, move || {
                std::fs::remove_file(&path).unwrap();
                std::fs::create_dir(&path).unwrap();
                std::fs::write(path.join("inside"), "kept").unwrap();
            });
            let staged = other.stage(b"new", "a", NOW).unwrap();
            let error = if exchange {
                other
                    .exchange(&staged, &rel("pages/a.md"), NOW)
                    .unwrap_err()
            } else {
                other.take(&rel("pages/a.md"), NOW).unwrap_err()
            };
            assert!(matches!(error, TreeError::NotRegular { .. }), "{error}");
            assert_eq!(get(&tree, "pages/a.md/inside").unwrap(), b"kept");
            assert_eq!(staged_bytes(&tree, &staged), b"new");
        }
    }

    /// Whatever the moment of the kill, the goal holds the old or the new text, and the other
    /// one is staged or was nothing.
    #[test]
    fn killed_at_any_change_an_exchange_loses_nothing() {
        for renames in ALL_RENAMES {
            for allowed in 0.. {
                let (dir, tree) = wiki();
                put(&tree, "pages/a.md", "old");
                let path = tree.path().join("pages/a.md");
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
                let staged = tree.stage(b"new", "a", NOW).unwrap();
                let faults = Arc::new(FailFrom::new(allowed));
                let options = TreeOptions {
                    renames,
                    faults: Some(faults),
                    ..TreeOptions::default()
                };
                let killed = Tree::create_with(&dir.path().join("wiki"), &options).unwrap();
                let answer = killed.exchange(&staged, &rel("pages/a.md"), NOW);
                let now = get(&tree, "pages/a.md").unwrap();
                let others: Vec<Vec<u8>> = tree
                    .list_staged()
                    .unwrap()
                    .iter()
                    .map(|entry| staged_bytes(&tree, &entry.staged))
                    .collect();
                match now.as_slice() {
                    b"old" => assert!(others.contains(&b"new".to_vec()) && answer.is_err()),
                    b"new" => assert!(others.contains(&b"old".to_vec())),
                    other => panic!("{renames:?} {allowed}: {other:?}"),
                }
                if answer.is_ok() {
                    assert!(allowed > 1);
                    break;
                }
            }
        }
    }

    #[test]
    fn link_that_is_refused_is_replaced_by_a_copy() {
        struct NoLinks;
        impl Faults for NoLinks {
            fn before(&self, op: FaultOp, _: &str) -> io::Result<()> {
                if op == FaultOp::Link {
                    Err(Errno::PERM.into())
                } else {
                    Ok(())
                }
            }
        }
        let options = TreeOptions {
            renames: Renames::PlainOnly,
            faults: Some(Arc::new(NoLinks)),
            ..TreeOptions::default()
        };
        let (_dir, tree) = wiki_with(&options);
        let page = rel("pages/a.md");
        let staged = tree.stage(b"one", "a", NOW).unwrap();
        assert_eq!(tree.exchange(&staged, &page, NOW).unwrap().old, None);
        let staged = tree.stage(b"two", "a", NOW).unwrap();
        let old = tree.exchange(&staged, &page, NOW).unwrap().old.unwrap();
        assert_eq!(staged_bytes(&tree, &old), b"one");
        assert_eq!(get(&tree, "pages/a.md").unwrap(), b"two");
        assert!(!tree.write_new(&page, b"three", NOW).unwrap());
        assert_eq!(staged_count(&tree), 1);
    }

    #[test]
    fn save_by_rename_while_the_old_file_is_copied_is_noticed() {
        struct NoLinksAnd(Meddler);
        impl Faults for NoLinksAnd {
            fn before(&self, op: FaultOp, what: &str) -> io::Result<()> {
                if op == FaultOp::Link {
                    return Err(Errno::PERM.into());
                }
                self.0.before(op, what)
            }
        }
        let (dir, tree) = wiki();
        put(&tree, "pages/a.md", "old");
        let (path, beside) = (tree.path().join("pages/a.md"), tree.path().join("pages/b"));
        // The copy gets its permission bits after its bytes.
        let meddler = Meddler {
            op: FaultOp::Chmod,
            count: Mutex::new(1),
            act: Box::new(move || {
                std::fs::write(&beside, "saved").unwrap();
                std::fs::rename(&beside, &path).unwrap();
            }),
        };
        let options = TreeOptions {
            renames: Renames::PlainOnly,
            faults: Some(Arc::new(NoLinksAnd(meddler))),
            ..TreeOptions::default()
        };
        let other = Tree::create_with(&dir.path().join("wiki"), &options).unwrap();
        let staged = other.stage(b"new", "a", NOW).unwrap();
        let old = other
            .exchange(&staged, &rel("pages/a.md"), NOW)
            .unwrap()
            .old
            .unwrap();
        assert_eq!(staged_bytes(&tree, &old), b"saved");
        assert_eq!(staged_count(&tree), 1);
    }

    #[test]
    fn folder_is_published_once() {
        with_each_rename(|_, tree| {
            let first = tree.stage_dir(&[("content", b"1")], "source", NOW).unwrap();
            let goal = rel("sources/id");
            assert_eq!(
                tree.publish_dir(&first, &goal, NOW).unwrap(),
                Published::Moved
            );
            let second = tree.stage_dir(&[("content", b"2")], "source", NOW).unwrap();
            assert_eq!(
                tree.publish_dir(&second, &goal, NOW).unwrap(),
                Published::AlreadyThere
            );
            assert_eq!(get(tree, "sources/id/content").unwrap(), b"1");
            assert!(tree.remove_staged(&second).unwrap());
            assert_eq!(staged_count(tree), 0);

            put(tree, "sources/file", "x");
            symlink("id", tree.path().join("sources/link")).unwrap();
            let third = tree.stage_dir(&[("content", b"3")], "source", NOW).unwrap();
            let error = tree
                .publish_dir(&third, &rel("sources/file"), NOW)
                .unwrap_err();
            assert!(matches!(error, TreeError::NotDirectory { .. }), "{error}");
            let error = tree
                .publish_dir(&third, &rel("sources/link"), NOW)
                .unwrap_err();
            assert!(matches!(error, TreeError::Symlink { .. }), "{error}");
            let file = tree.stage(b"x", "a", NOW).unwrap();
            let error = tree
                .publish_dir(&file, &rel("sources/new"), NOW)
                .unwrap_err();
            assert!(matches!(error, TreeError::NotDirectory { .. }), "{error}");
            let error = tree.exchange(&third, &rel("pages/a.md"), NOW).unwrap_err();
            assert!(matches!(error, TreeError::NotRegular { .. }), "{error}");
        });
    }

    #[test]
    fn nothing_staged_under_the_name_is_told() {
        let (_dir, tree) = wiki();
        let ghost = Staged::from_name("ghost").unwrap();
        put(&tree, "pages/a.md", "old");
        assert!(
            tree.exchange(&ghost, &rel("pages/a.md"), NOW)
                .unwrap_err()
                .is_missing()
        );
        assert!(
            tree.publish_dir(&ghost, &rel("sources/x"), NOW)
                .unwrap_err()
                .is_missing()
        );
        assert_eq!(get(&tree, "pages/a.md").unwrap(), b"old");
        assert!(tree.exchange(&ghost, &RelPath::root(), NOW).is_err());
    }

    #[test]
    fn take_moves_a_file_out_and_empty_folders_go_after_it() {
        let (_dir, tree) = wiki();
        put(&tree, "pages/a/b/c.md", "text");
        put(&tree, "pages/a/other.md", "text");
        let page = rel("pages/a/b/c.md");
        let old = tree.take(&page, NOW).unwrap().unwrap();
        assert_eq!(staged_bytes(&tree, &old), b"text");
        assert!(tree.take(&page, NOW).unwrap().is_none());
        assert!(tree.take(&rel("none/x"), NOW).unwrap().is_none());
        let prune = || {
            tree.remove_empty_dirs(&page.parent().unwrap(), &RelPath::pages())
                .unwrap()
        };
        assert_eq!(prune(), 1);
        assert!(get(&tree, "pages/a/other.md").is_some());
        std::fs::remove_file(tree.path().join("pages/a/other.md")).unwrap();
        assert_eq!(prune(), 1);
        assert_eq!(prune(), 0);
        assert!(tree.stat(&RelPath::pages()).unwrap().is_some());
        // And back again.
        assert_eq!(tree.exchange(&old, &page, NOW).unwrap().old, None);
        assert_eq!(get(&tree, "pages/a/b/c.md").unwrap(), b"text");
        let folder = tree.take_dir(&rel("pages/a"), NOW).unwrap().unwrap();
        assert!(tree.remove_staged(&folder).unwrap());
        assert!(matches!(tree.take_dir(&rel("pages/a"), NOW), Ok(None)));
    }

    #[test]
    fn write_new_never_replaces() {
        with_each_rename(|_, tree| {
            let goal = rel("schema.md");
            assert!(tree.write_new(&goal, b"1", NOW).unwrap());
            assert!(!tree.write_new(&goal, b"2", NOW).unwrap());
            assert_eq!(get(tree, "schema.md").unwrap(), b"1");
            assert_eq!(staged_count(tree), 0);
        });
    }

    #[test]
    fn lines_are_appended_whole_and_a_torn_one_is_ended() {
        let (_dir, tree) = wiki();
        put(&tree, "sources/id/content", "x");
        let events = rel("sources/id/events.jsonl");
        tree.append_line(&events, "{\"a\":1}").unwrap();
        tree.append_line(&events, "{\"a\":2}").unwrap();
        assert_eq!(
            get(&tree, "sources/id/events.jsonl").unwrap(),
            b"{\"a\":1}\n{\"a\":2}\n"
        );
        put(&tree, "sources/id/events.jsonl", "{\"a\":1}\n{\"a");
        tree.append_line(&events, "{}").unwrap();
        assert_eq!(
            get(&tree, "sources/id/events.jsonl").unwrap(),
            b"{\"a\":1}\n{\"a\n{}\n"
        );
        assert!(
            tree.append_line(&rel("sources/none/events.jsonl"), "x")
                .unwrap_err()
                .is_missing()
        );
    }

    #[test]
    fn line_that_cannot_be_flushed_is_taken_back() {
        struct NoSync;
        impl Faults for NoSync {
            fn before(&self, op: FaultOp, what: &str) -> io::Result<()> {
                if op == FaultOp::Sync && what == "events" {
                    return Err(Errno::NOSPC.into());
                }
                Ok(())
            }
        }
        let (dir, tree) = wiki();
        tree.append_line(&rel("events"), "one").unwrap();
        let options = TreeOptions {
            faults: Some(Arc::new(NoSync)),
            ..TreeOptions::default()
        };
        let tree = Tree::create_with(&dir.path().join("wiki"), &options).unwrap();
        let error = tree.append_line(&rel("events"), "two").unwrap_err();
        assert!(matches!(error, TreeError::Full { .. }), "{error}");
        assert_eq!(get(&tree, "events").unwrap(), b"one\n");
    }

    #[test]
    fn remove_takes_a_link_and_not_what_it_leads_to() {
        let (dir, tree) = wiki();
        std::fs::write(dir.path().join("target"), "kept").unwrap();
        std::fs::create_dir(tree.path().join(".index")).unwrap();
        symlink("../../target", tree.path().join(".index/search.json")).unwrap();
        assert!(tree.remove(&rel(".index/search.json")).unwrap());
        assert!(!tree.remove(&rel(".index/search.json")).unwrap());
        assert!(!tree.remove(&rel("none/x")).unwrap());
        assert!(dir.path().join("target").exists());
        assert!(matches!(
            tree.remove(&rel(".index")),
            Err(TreeError::NotRegular { .. })
        ));
    }

    #[test]
    fn causes_of_failure_keep_their_names_through_every_change() {
        struct Always(FaultOp, Errno);
        impl Faults for Always {
            fn before(&self, op: FaultOp, _: &str) -> io::Result<()> {
                if op == self.0 {
                    Err(self.1.into())
                } else {
                    Ok(())
                }
            }
        }
        for errno in [
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::ROFS,
            Errno::ACCESS,
            Errno::IO,
        ] {
            for op in [
                FaultOp::Create,
                FaultOp::Write,
                FaultOp::Sync,
                FaultOp::Rename,
                FaultOp::Mkdir,
            ] {
                let (dir, tree) = wiki();
                put(&tree, "pages/a.md", "old");
                tree.stage(b"x", "a", NOW).unwrap();
                let options = TreeOptions {
                    faults: Some(Arc::new(Always(op, errno))),
                    ..TreeOptions::default()
                };
                let tree = Tree::create_with(&dir.path().join("wiki"), &options).unwrap();
                let page = rel(if op == FaultOp::Mkdir {
                    "pages/new/a.md"
                } else {
                    "pages/a.md"
                });
                let error = tree
                    .stage(b"new", "a", NOW)
                    .and_then(|staged| tree.exchange(&staged, &page, NOW))
                    .unwrap_err();
                let right = match errno {
                    Errno::NOSPC | Errno::DQUOT => matches!(error, TreeError::Full { .. }),
                    Errno::ROFS => matches!(error, TreeError::ReadOnly { .. }),
                    Errno::ACCESS => matches!(error, TreeError::Denied { .. }),
                    _ => matches!(error, TreeError::Io { .. }),
                };
                assert!(right, "{op:?} {errno}: {error}");
                assert_eq!(get(&tree, "pages/a.md").unwrap(), b"old");
            }
        }
    }
}
