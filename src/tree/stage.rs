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

/// Begins the names of what was taken out of the tree.
pub(super) const TAKEN_OUT: &str = "old-";

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

    /// Whether it came out of the tree, rather than being on its way in.
    pub fn was_taken_out(&self) -> bool {
        self.name.starts_with(TAKEN_OUT)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{get, put, rel, wiki, wiki_with, with_each_resolver};
    use super::super::{FailFrom, FaultOp, Faults, Recorder, TreeOptions};
    use super::*;

    #[test]
    fn staged_bytes_lie_in_the_store_which_git_ignores() {
        with_each_resolver(|_, tree| {
            let staged = tree.stage(b"text", "page", Durability::Now).unwrap();
            assert_eq!(
                tree.read(&staged.path(), 9).unwrap().unwrap().bytes,
                b"text"
            );
            assert!(staged.name().starts_with("page-"), "{staged:?}");
            assert_eq!(get(tree, ".store/.gitignore").unwrap(), b"*\n");
            assert_eq!(Staged::from_name(staged.name()).unwrap(), staged);
            assert_eq!(tree.list(&rel(".store")).unwrap().unwrap().len(), 2);
        });
    }

    #[test]
    fn staging_flushes_bytes_and_every_new_directory_in_order() {
        let recorder = Arc::new(Recorder::default());
        let options = TreeOptions {
            faults: Some(recorder.clone()),
            ..TreeOptions::default()
        };
        let (_dir, tree) = wiki_with(&options);
        recorder.take();
        tree.stage(b"x", "a", Durability::Now).unwrap();
        let ops: Vec<(FaultOp, String)> = recorder
            .take()
            .into_iter()
            .map(|(op, what)| {
                (
                    op,
                    if what.contains("tmp/") {
                        "staged".to_owned()
                    } else {
                        what
                    },
                )
            })
            .collect();
        let expected = [
            (FaultOp::Mkdir, ".store"),
            (FaultOp::Sync, "."),
            (FaultOp::Create, ".store/.gitignore"),
            (FaultOp::Write, ".store/.gitignore"),
            (FaultOp::Sync, ".store/.gitignore"),
            (FaultOp::Rename, ".store/.gitignore"),
            (FaultOp::Mkdir, ".store/tmp"),
            (FaultOp::Sync, ".store"),
            (FaultOp::Create, "staged"),
            (FaultOp::Write, "staged"),
            (FaultOp::Sync, "staged"),
        ];
        assert_eq!(ops, expected.map(|(op, what)| (op, what.to_owned())));
        tree.stage(b"x", "a", Durability::Batch).unwrap();
        let ops: Vec<FaultOp> = recorder.take().into_iter().map(|(op, _)| op).collect();
        assert_eq!(ops, [FaultOp::Create, FaultOp::Write]);
    }

    #[test]
    fn store_that_is_removed_under_us_is_made_again() {
        let (_dir, tree) = wiki();
        tree.stage(b"x", "a", Durability::Now).unwrap();
        std::fs::remove_dir_all(tree.path().join(".store")).unwrap();
        let staged = tree.stage(b"y", "a", Durability::Now).unwrap();
        assert!(tree.stat(&staged.path()).unwrap().is_some());
        assert_eq!(get(&tree, ".store/.gitignore").unwrap(), b"*\n");
    }

    #[test]
    fn crash_at_any_moment_of_making_the_store_is_mended() {
        for allowed in 0.. {
            let faults = Arc::new(FailFrom::new(allowed + 2));
            let options = TreeOptions {
                faults: Some(faults.clone()),
                ..TreeOptions::default()
            };
            // The first two changes make the root.
            let (_dir, tree) = wiki_with(&options);
            let done = tree.stage(b"x", "a", Durability::Now).is_ok();
            faults.heal();
            tree.stage(b"x", "a", Durability::Now).unwrap();
            assert_eq!(
                get(&tree, ".store/.gitignore").unwrap(),
                b"*\n",
                "after {allowed}"
            );
            if done {
                assert_eq!(allowed, 11);
                break;
            }
        }
    }

    #[test]
    fn store_that_is_a_link_or_a_file_is_refused() {
        let (dir, tree) = wiki();
        std::os::unix::fs::symlink(dir.path(), tree.path().join(".store")).unwrap();
        let error = tree.stage(b"x", "a", Durability::Now).unwrap_err();
        assert!(
            matches!(error, TreeError::Symlink { ref path } if path == ".store"),
            "{error}"
        );
        std::fs::remove_file(tree.path().join(".store")).unwrap();
        put(&tree, ".store", "");
        let error = tree.stage(b"x", "a", Durability::Now).unwrap_err();
        assert!(matches!(error, TreeError::NotDirectory { .. }), "{error}");
        assert!(tree.list_staged().is_err());
    }

    #[test]
    fn staged_folder_holds_its_files_and_is_removed_with_all_in_it() {
        let (_dir, tree) = wiki();
        let files: [(&str, &[u8]); 2] = [("content", b"c"), ("metadata.json", b"{}")];
        let staged = tree.stage_dir(&files, "source", Durability::Now).unwrap();
        let file = staged.path().join("content").unwrap();
        assert_eq!(tree.read(&file, 9).unwrap().unwrap().bytes, b"c");
        let deep = format!("{}/{}/x", staged.path(), vec!["d"; 200].join("/"));
        put(&tree, &deep, "");
        std::os::unix::fs::symlink("/", tree.path().join(format!("{}/link", staged.path())))
            .unwrap();
        assert!(tree.remove_staged(&staged).unwrap());
        assert!(!tree.remove_staged(&staged).unwrap());
        assert!(tree.list_staged().unwrap().is_empty());
        assert!(std::path::Path::new("/").exists());
    }

    #[test]
    fn folder_whose_file_name_leaves_it_is_refused_and_cleaned_up() {
        let (_dir, tree) = wiki();
        for name in ["../x", "a/b", "", ".."] {
            let error = tree
                .stage_dir(&[(name, b"x")], "source", Durability::Now)
                .unwrap_err();
            assert!(
                matches!(error, TreeError::BadPath { .. }),
                "{name}: {error}"
            );
        }
        assert!(tree.list_staged().unwrap().is_empty());
    }

    #[test]
    fn leftovers_are_listed_with_their_stamps_and_strange_names_left_alone() {
        let (_dir, tree) = wiki();
        assert!(tree.list_staged().unwrap().is_empty());
        let one = tree.stage(b"12345", "b", Durability::Batch).unwrap();
        let two = tree.stage_dir(&[], "a", Durability::Batch).unwrap();
        put(&tree, ".store/tmp/with space", "");
        put(&tree, ".store/tmp/.hidden", "");
        let found = tree.list_staged().unwrap();
        assert_eq!(
            found.iter().map(|e| &e.staged).collect::<Vec<_>>(),
            [&two, &one]
        );
        assert_eq!(
            (found[0].stamp.kind, found[1].stamp.size),
            (Kind::Directory, 5)
        );
        assert!(tree.remove_staged(&one).unwrap() && tree.remove_staged(&two).unwrap());
        assert!(get(&tree, ".store/tmp/with space").is_some());
    }

    #[test]
    fn names_of_staged_things_cannot_leave_their_directory() {
        for bad in ["", ".", "..", "a/b", "../x", "a\0", "\u{e9}", ".hidden"] {
            assert!(Staged::from_name(bad).is_err(), "{bad:?}");
        }
        assert!(!Staged::unique("../../x y").name().contains(['/', '.', ' ']));
        assert!(is_plain_name(Staged::unique("").name()));
    }

    /// Only the flush fails: a full disk often shows there.
    struct NoSync;
    impl Faults for NoSync {
        fn before(&self, op: FaultOp, _: &str) -> io::Result<()> {
            match op {
                FaultOp::Sync => Err(Errno::NOSPC.into()),
                _ => Ok(()),
            }
        }
    }

    #[test]
    fn failed_staging_leaves_nothing_behind() {
        let (dir, tree) = wiki();
        tree.stage(b"x", "a", Durability::Now).unwrap();
        drop(tree);
        let options = TreeOptions {
            faults: Some(Arc::new(NoSync)),
            ..TreeOptions::default()
        };
        let tree = Tree::create_with(&dir.path().join("wiki"), &options).unwrap();
        let before = tree.list_staged().unwrap().len();
        let error = tree.stage(b"y", "a", Durability::Now).unwrap_err();
        assert!(matches!(error, TreeError::Full { .. }), "{error}");
        let error = tree
            .stage_dir(&[("c", b"x")], "a", Durability::Now)
            .unwrap_err();
        assert!(matches!(error, TreeError::Full { .. }), "{error}");
        assert_eq!(tree.list_staged().unwrap().len(), before);
    }
}
