//! `.store/` and the place where new text waits: `.store/tmp/`.
//!
//! Everything that is to appear in the tree is first written here under a name of its own and
//! flushed, so that what is swapped into place is whole. What a killed command left here is
//! listed by [`Tree::list_staged`] and removed by its successor.
//!
//! Invariant: where `.store/tmp` exists, `.store/.gitignore` was written before it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::error::errno;
use super::path::{RelPath, escape};
use super::read::{read_entries, stat_at};
use super::root::Tree;
use super::stamp::{Kind, Stamp, now_ns};
use super::{Result, TreeError};

/// Where staged things lie.
const TMP: &str = ".store/tmp";
/// Keeps version control away from the store.
const GITIGNORE: &[u8] = b"*\n";

/// When a change must have reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Before the call returns.
    Now,
    /// At the caller's next [`Tree::sync_fs`].
    Batch,
}

/// A file or folder below `.store/tmp`. Stays there until it is moved or removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Staged {
    name: String,
}

impl Staged {
    /// The staged thing of that name, as noted down earlier. It need not exist.
    ///
    /// # Errors
    /// `BadPath` for anything but ASCII letters, digits, `-`, `_` and inner `.`.
    pub fn from_name(name: &str) -> Result<Self> {
        if is_plain_name(name) {
            return Ok(Self {
                name: name.to_owned(),
            });
        }
        Err(TreeError::BadPath {
            path: escape(name.as_bytes()),
            reason: "it is no name of a staged file",
        })
    }

    /// Its name in `.store/tmp`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path from the root, for reading.
    pub fn path(&self) -> RelPath {
        RelPath::known(&format!("{TMP}/{}", self.name))
    }

    /// A name that was never used: process, time and a counter.
    pub(super) fn unique(hint: &str) -> Self {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
        let hint: String = hint
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
            .take(24)
            .collect();
        let hint = if hint.is_empty() {
            "new".to_owned()
        } else {
            hint
        };
        Self {
            name: format!("{hint}-{}-{:x}-{counter:x}", std::process::id(), now_ns()),
        }
    }
}

/// Whether a name may stand below `.store` on our word: a plain ASCII file name.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 200
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Something found in `.store/tmp`.
#[derive(Debug, Clone)]
pub struct StagedEntry {
    /// What it is called.
    pub staged: Staged,
    /// What `stat` says about it.
    pub stamp: Stamp,
}

impl Tree {
    /// Writes `bytes` to a new file in `.store/tmp`; makes `.store` where it is missing. `hint`
    /// becomes part of the name, for people who look.
    ///
    /// Under `Durability::Now` the bytes are on the disk when this returns.
    ///
    /// # Errors
    /// `Full`, `Denied`, `ReadOnly`, `Symlink`, `Io`. Nothing is left behind then, unless even
    /// that fails.
    pub fn stage(&self, bytes: &[u8], hint: &str, durability: Durability) -> Result<Staged> {
        let tmp = self.staging()?;
        let staged = Staged::unique(hint);
        self.write_file_in(
            &tmp,
            &staged.name,
            &staged.path().to_string(),
            bytes,
            durability,
        )?;
        Ok(staged)
    }

    /// Makes a new folder in `.store/tmp` with these files in it.
    ///
    /// # Errors
    /// As [`Tree::stage`]; `BadPath` for a name with a slash.
    pub fn stage_dir(
        &self,
        files: &[(&str, &[u8])],
        hint: &str,
        durability: Durability,
    ) -> Result<Staged> {
        let tmp = self.staging()?;
        let staged = Staged::unique(hint);
        let shown = staged.path().to_string();
        let failed = |error| TreeError::new("create", shown.as_str(), error);
        self.calls()
            .mkdir(tmp.as_fd(), staged.name.as_bytes(), &shown)
            .map_err(failed)?;
        let fill = || -> Result<()> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let dir = rustix::fs::openat(&tmp, staged.name.as_str(), flags, Mode::empty())
                .map_err(|error| failed(error.into()))?;
            for (name, bytes) in files {
                let path = staged.path().join(name)?;
                if name.contains('/') {
                    return Err(TreeError::BadPath {
                        path: path.to_string(),
                        reason: "a file name holds no slash",
                    });
                }
                self.write_file_in(&dir, name, &path.to_string(), bytes, durability)?;
            }
            if durability == Durability::Now {
                self.calls().sync_dir(dir.as_fd(), &shown).map_err(failed)?;
            }
            Ok(())
        };
        match fill() {
            Ok(()) => Ok(staged),
            Err(error) => {
                let _ = self.remove_staged(&staged);
                Err(error)
            }
        }
    }

    /// What lies in `.store/tmp`, sorted by name: nothing, unless a command is at work or was
    /// killed. Things that we never put there are left out.
    ///
    /// # Errors
    /// `Symlink`, `NotDirectory`, `Denied`, `Io`.
    pub fn list_staged(&self) -> Result<Vec<StagedEntry>> {
        let rel = RelPath::known(TMP);
        let Some(entries) = self.list(&rel)? else {
            return Ok(Vec::new());
        };
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let dir = match self.open_dir(&rel) {
            Ok(dir) => dir,
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let Some(staged) = entry
                .name_str()
                .and_then(|name| Staged::from_name(name).ok())
            else {
                continue;
            };
            let stamp = stat_at(dir.as_fd(), staged.name.as_bytes()).map_err(|error| {
                TreeError::new("look at", staged.path().to_string(), error.into())
            })?;
            if let Some(stamp) = stamp {
                found.push(StagedEntry { staged, stamp });
            }
        }
        Ok(found)
    }

    /// Removes a staged file, or a staged folder with all that is in it. Whether it was there.
    ///
    /// # Errors
    /// `Denied`, `ReadOnly`, `Io`.
    pub fn remove_staged(&self, staged: &Staged) -> Result<bool> {
        let tmp = match self.open_dir(&RelPath::known(TMP)) {
            Ok(tmp) => tmp,
            Err(error) if error.is_missing() => return Ok(false),
            Err(error) => return Err(error),
        };
        let shown = staged.path().to_string();
        let failed = |error: io::Error| TreeError::new("remove", shown.as_str(), error);
        let Some(stamp) =
            stat_at(tmp.as_fd(), staged.name.as_bytes()).map_err(|error| failed(error.into()))?
        else {
            return Ok(false);
        };
        if stamp.kind != Kind::Directory {
            return match self
                .calls()
                .unlink(tmp.as_fd(), staged.name.as_bytes(), &shown)
            {
                Ok(()) => Ok(true),
                Err(error) if errno(&error) == Some(Errno::NOENT) => Ok(false),
                Err(error) => Err(failed(error)),
            };
        }
        // Folders inside are moved up beside it first, so that depth costs neither stack nor
        // handles.
        let mut folders = vec![staged.clone()];
        while let Some(folder) = folders.pop() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let dir = match rustix::fs::openat(&tmp, folder.name.as_str(), flags, Mode::empty()) {
                Ok(dir) => dir,
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(failed(error.into())),
            };
            let mut entries = Vec::new();
            read_entries(&dir, &mut |name, kind| entries.push((name.to_vec(), kind)))
                .map_err(|error| failed(error.into()))?;
            for (name, kind) in entries {
                if kind == Kind::Directory {
                    let beside = Staged::unique("trash");
                    self.calls()
                        .rename(
                            (dir.as_fd(), &name),
                            (tmp.as_fd(), beside.name.as_bytes()),
                            RenameFlags::empty(),
                            &shown,
                        )
                        .map_err(failed)?;
                    folders.push(beside);
                } else {
                    self.calls()
                        .unlink(dir.as_fd(), &name, &shown)
                        .map_err(failed)?;
                }
            }
            self.calls()
                .rmdir(tmp.as_fd(), folder.name.as_bytes(), &shown)
                .map_err(failed)?;
        }
        Ok(true)
    }

    /// Makes a directory and those above it, where missing. Under `Durability::Now` each new
    /// one is on the disk when this returns.
    ///
    /// # Errors
    /// `Symlink` or `NotDirectory` for what is in the way; `Full`, `Denied`, `ReadOnly`, `Io`.
    pub fn make_dirs(&self, rel: &RelPath, durability: Durability) -> Result<()> {
        self.open_or_make_dirs(rel, durability).map(drop)
    }

    /// [`Tree::make_dirs`], giving the handle.
    pub(super) fn open_or_make_dirs(
        &self,
        rel: &RelPath,
        durability: Durability,
    ) -> Result<OwnedFd> {
        match self.open_dir(rel) {
            Err(error) if error.is_missing() => {}
            answer => return answer,
        }
        let mut dir = self.open_dir(&RelPath::root())?;
        let mut path = RelPath::root();
        for part in rel.parts() {
            let above = path.to_string();
            path = path.join(part)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let open = |dir: &OwnedFd| rustix::fs::openat(dir, part, flags, Mode::empty());
            let next = match open(&dir) {
                Err(Errno::NOENT) => {
                    let shown = path.to_string();
                    match self.calls().mkdir(dir.as_fd(), part, &shown) {
                        Ok(()) => {}
                        Err(error) if errno(&error) == Some(Errno::EXIST) => {}
                        Err(error) => return Err(TreeError::new("create", shown, error)),
                    }
                    if durability == Durability::Now {
                        self.calls()
                            .sync_dir(dir.as_fd(), &above)
                            .map_err(|error| TreeError::new("flush", above, error))?;
                    }
                    open(&dir)
                }
                answer => answer,
            };
            dir = next.map_err(|error| self.blame("open", &path, error.into()))?;
        }
        Ok(dir)
    }

    /// The handle of `.store/tmp`, made where missing.
    pub(super) fn staging(&self) -> Result<OwnedFd> {
        let tmp = RelPath::known(TMP);
        match self.open_dir(&tmp) {
            Err(error) if error.is_missing() => {}
            answer => return answer,
        }
        let store = self.open_store_dir()?;
        let shown = ".store/.gitignore";
        let there = stat_at(store.as_fd(), b".gitignore")
            .map_err(|error| TreeError::new("look at", shown, error.into()))?;
        if there.is_none() {
            let new = Staged::unique("gitignore");
            self.write_file_in(&store, &new.name, shown, GITIGNORE, Durability::Now)?;
            self.calls()
                .rename(
                    (store.as_fd(), new.name.as_bytes()),
                    (store.as_fd(), b".gitignore"),
                    RenameFlags::empty(),
                    shown,
                )
                .map_err(|error| TreeError::new("create", shown, error))?;
        }
        self.open_or_make_dirs(&tmp, Durability::Now)
    }

    /// The handle of `.store`, made where missing.
    pub(super) fn open_store_dir(&self) -> Result<OwnedFd> {
        self.open_or_make_dirs(&RelPath::known(".store"), Durability::Now)
    }

    /// Writes a new file into an open directory; removes it again when that fails half-way.
    pub(super) fn write_file_in(
        &self,
        dir: &OwnedFd,
        name: &str,
        shown: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<()> {
        let failed = |error| TreeError::new("write", shown, error);
        let file = self
            .calls()
            .create(dir.as_fd(), name.as_bytes(), shown)
            .map_err(failed)?;
        match self.fill(&file, bytes, shown, durability) {
            Ok(()) => Ok(()),
            Err(error) => {
                let _ = self.calls().unlink(dir.as_fd(), name.as_bytes(), shown);
                Err(failed(error))
            }
        }
    }

    fn fill(
        &self,
        file: &File,
        bytes: &[u8],
        shown: &str,
        durability: Durability,
    ) -> io::Result<()> {
        self.calls().write(file, bytes, shown)?;
        if durability == Durability::Now {
            self.calls().sync(file, shown)?;
        }
        Ok(())
    }
}
