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
    /// new file gets the permission bits, and where we may the owner, of the old one.
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
        let (parent, name) = match self.open_parent(rel) {
            Ok(parent) => parent,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(error),
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
            let _ = self.calls().rename(to, from, RenameFlags::empty(), &shown);
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
        let (parent, name) = match self.open_parent(rel) {
            Ok(parent) => parent,
            Err(error) if error.is_missing() => return Ok(false),
            Err(error) => return Err(error),
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
            let (parent, name) = match self.open_parent(&path) {
                Ok(parent) => parent,
                Err(error) if error.is_missing() => {
                    let Some(above) = path.parent() else { break };
                    path = above;
                    continue;
                }
                Err(error) => return Err(error),
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
    fn goal<'a>(&self, rel: &'a RelPath, durability: Durability) -> Result<(OwnedFd, &'a [u8])> {
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

    /// Gives the staged file the permission bits and owner of the file it replaces, so that a
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
