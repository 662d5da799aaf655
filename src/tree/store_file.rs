//! The files of the store as files: opening, identity, moving. What is in them is not our
//! business here.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;

use super::error::errno;
use super::path::{RelPath, escape};
use super::read::{open_regular, stat_at};
use super::root::{Renames, Tree};
use super::stage::is_plain_name;
use super::stamp::{Identity, Kind, Stamp};
use super::{Result, TreeError};

/// The store.
pub const STORE_FILE: &str = "wiki.redb";
/// A store that is being built and not in use yet.
pub const STORE_FILE_NEW: &str = "wiki.redb.new";

/// How a file of the store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOpen {
    /// For reading; it must exist.
    ReadOnly,
    /// For reading and writing; it must exist.
    ReadWrite,
    /// For reading and writing; it must not exist. Makes `.store` where missing.
    CreateNew,
}

/// An open file of the store.
#[derive(Debug)]
pub struct StoreFile {
    /// The file.
    pub file: File,
    /// Which file it is, to compare with what its path names later.
    pub identity: Identity,
    /// Its length when it was opened.
    pub size: u64,
}

impl Tree {
    /// Opens the file `name` in `.store`; nothing where it (or `.store`) is missing, but for
    /// `CreateNew`.
    ///
    /// # Errors
    /// `Exists` for `CreateNew`; `Symlink`, `NotRegular`, `NotDirectory`, `Denied`, `ReadOnly`,
    /// `Full`, `Io`.
    pub fn store_file(&self, name: &str, how: StoreOpen) -> Result<Option<StoreFile>> {
        let rel = store_path(name)?;
        if how == StoreOpen::CreateNew {
            // With `.store/tmp` comes `.store/.gitignore`.
            self.staging()?;
            let dir = self.open_store_dir()?;
            let shown = rel.to_string();
            let failed = |error| TreeError::new("create", shown.as_str(), error);
            let file = self
                .calls()
                .create(dir.as_fd(), name.as_bytes(), &shown)
                .map_err(failed)?;
            self.calls()
                .sync_dir(dir.as_fd(), ".store")
                .map_err(failed)?;
            let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
            let stamp = Stamp::from(&stat);
            return Ok(Some(StoreFile {
                file,
                identity: stamp.identity(),
                size: stamp.size,
            }));
        }
        let Some(dir) = self.existing_store_dir()? else {
            return Ok(None);
        };
        let access = match how {
            StoreOpen::ReadOnly => OFlags::RDONLY,
            StoreOpen::ReadWrite | StoreOpen::CreateNew => OFlags::RDWR,
        };
        let opened = open_regular(dir.as_fd(), name.as_bytes(), access, &rel)?;
        Ok(opened.map(|(file, stamp)| StoreFile {
            file,
            identity: stamp.identity(),
            size: stamp.size,
        }))
    }

    /// Which file the path of a store file names now; nothing where there is none.
    ///
    /// # Errors
    /// As [`Tree::stat`].
    pub fn store_identity(&self, name: &str) -> Result<Option<Identity>> {
        Ok(self.store_stat(name)?.map(|stamp| stamp.identity()))
    }

    /// What `stat` says about a file of the store.
    ///
    /// # Errors
    /// As [`Tree::stat`].
    pub fn store_stat(&self, name: &str) -> Result<Option<Stamp>> {
        self.stat(&store_path(name)?)
    }

    /// The names of the regular files in `.store`, sorted.
    ///
    /// # Errors
    /// As [`Tree::list`].
    pub fn store_names(&self) -> Result<Vec<String>> {
        let entries = self.list(&RelPath::known(".store"))?.unwrap_or_default();
        Ok(entries
            .into_iter()
            .filter(|entry| entry.kind == Kind::File)
            .filter_map(|entry| String::from_utf8(entry.name).ok())
            .filter(|name| is_plain_name(name))
            .collect())
    }

    /// Gives a store file another name, which must be free, and flushes `.store`.
    ///
    /// # Errors
    /// `Exists`, `Missing`, `Denied`, `ReadOnly`, `Full`, `Io`.
    pub fn rename_store(&self, from: &str, to: &str) -> Result<()> {
        let (old, new) = (store_path(from)?, store_path(to)?);
        let dir = self.must_store_dir(&old)?;
        let shown = new.to_string();
        let failed = |error: io::Error| match errno(&error) {
            Some(Errno::NOENT) => TreeError::new("rename", old.to_string(), error),
            _ => TreeError::new("create", shown.as_str(), error),
        };
        let moved = match self.renames() {
            Renames::PlainOnly => Err(Errno::INVAL.into()),
            Renames::Auto | Renames::NoExchange => self.calls().rename(
                (dir.as_fd(), from.as_bytes()),
                (dir.as_fd(), to.as_bytes()),
                RenameFlags::NOREPLACE,
                &shown,
            ),
        };
        match moved {
            Err(error)
                if matches!(
                    errno(&error),
                    Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
                ) =>
            {
                let there =
                    stat_at(dir.as_fd(), to.as_bytes()).map_err(|error| failed(error.into()))?;
                if there.is_some() {
                    return Err(failed(Errno::EXIST.into()));
                }
                self.calls()
                    .rename(
                        (dir.as_fd(), from.as_bytes()),
                        (dir.as_fd(), to.as_bytes()),
                        RenameFlags::empty(),
                        &shown,
                    )
                    .map_err(failed)?;
            }
            answer => answer.map_err(failed)?,
        }
        self.calls().sync_dir(dir.as_fd(), ".store").map_err(failed)
    }

    /// Puts the store file `new` in the place of `current`, whose file is kept as `keep`, which
    /// must be free. At every moment there is a file at `current`, the old one or the new one,
    /// where the file system has hard links. Without a file at `current`, `new` just moves there.
    ///
    /// # Errors
    /// As [`Tree::rename_store`].
    pub fn replace_store(&self, new: &str, current: &str, keep: &str) -> Result<()> {
        let (new_path, goal) = (store_path(new)?, store_path(current)?);
        let keep_path = store_path(keep)?;
        let dir = self.must_store_dir(&new_path)?;
        let fd = dir.as_fd();
        let shown = goal.to_string();
        if self.store_stat(new)?.is_none() {
            return Err(TreeError::Missing {
                action: "rename",
                path: new_path.to_string(),
            });
        }
        let linked = self.calls().link(
            (fd, current.as_bytes()),
            (fd, keep.as_bytes()),
            &keep_path.to_string(),
        );
        match linked {
            Ok(()) => self
                .calls()
                .sync_dir(fd, ".store")
                .map_err(|error| TreeError::new("flush", ".store", error))?,
            Err(error) if errno(&error) == Some(Errno::NOENT) => {}
            Err(error) if errno(&error) == Some(Errno::EXIST) => {
                return Err(TreeError::new("create", keep_path.to_string(), error));
            }
            Err(error)
                if matches!(
                    errno(&error),
                    Some(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL)
                ) =>
            {
                self.rename_store(current, keep)?;
            }
            Err(error) => return Err(TreeError::new("create", keep_path.to_string(), error)),
        }
        self.calls()
            .rename(
                (fd, new.as_bytes()),
                (fd, current.as_bytes()),
                RenameFlags::empty(),
                &shown,
            )
            .map_err(|error| TreeError::new("replace", shown.as_str(), error))?;
        self.calls()
            .sync_dir(fd, ".store")
            .map_err(|error| TreeError::new("flush", ".store", error))
    }

    /// Removes a store file. Whether it was there.
    ///
    /// # Errors
    /// As [`Tree::remove`].
    pub fn remove_store(&self, name: &str) -> Result<bool> {
        self.remove(&store_path(name)?)
    }

    fn existing_store_dir(&self) -> Result<Option<OwnedFd>> {
        match self.open_dir(&RelPath::known(".store")) {
            Ok(dir) => Ok(Some(dir)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn must_store_dir(&self, wanted: &RelPath) -> Result<OwnedFd> {
        self.existing_store_dir()?
            .ok_or_else(|| TreeError::Missing {
                action: "rename",
                path: wanted.to_string(),
            })
    }
}

fn store_path(name: &str) -> Result<RelPath> {
    if is_plain_name(name) {
        return Ok(RelPath::known(&format!(".store/{name}")));
    }
    Err(TreeError::BadPath {
        path: escape(name.as_bytes()),
        reason: "it is no name of a store file",
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{
        NO_FILES, get, make_special, put, wiki, wiki_with, with_each_rename,
    };
    use super::super::{FailFrom, TreeOptions};
    use super::*;

    #[test]
    fn store_is_opened_only_where_it_is_and_created_only_where_it_is_not() {
        let (_dir, tree) = wiki();
        for how in [StoreOpen::ReadOnly, StoreOpen::ReadWrite] {
            assert!(tree.store_file(STORE_FILE, how).unwrap().is_none());
        }
        assert!(tree.list(&RelPath::root()).unwrap().unwrap().is_empty());
        let created = tree
            .store_file(STORE_FILE, StoreOpen::CreateNew)
            .unwrap()
            .unwrap();
        assert_eq!(created.size, 0);
        assert_eq!(get(&tree, ".store/.gitignore").unwrap(), b"*\n");
        let error = tree
            .store_file(STORE_FILE, StoreOpen::CreateNew)
            .unwrap_err();
        assert!(matches!(error, TreeError::Exists { .. }), "{error}");
        let opened = tree
            .store_file(STORE_FILE, StoreOpen::ReadWrite)
            .unwrap()
            .unwrap();
        assert_eq!(opened.identity, created.identity);
        assert_eq!(
            tree.store_identity(STORE_FILE).unwrap(),
            Some(created.identity)
        );
    }

    #[test]
    fn store_that_was_moved_aside_has_another_identity() {
        let (_dir, tree) = wiki();
        let old = tree
            .store_file(STORE_FILE, StoreOpen::CreateNew)
            .unwrap()
            .unwrap();
        tree.rename_store(STORE_FILE, "aside").unwrap();
        assert_eq!(tree.store_identity(STORE_FILE).unwrap(), None);
        let new = tree
            .store_file(STORE_FILE, StoreOpen::CreateNew)
            .unwrap()
            .unwrap();
        assert_ne!(old.identity, new.identity);
        assert_eq!(tree.store_names().unwrap(), ["aside", STORE_FILE]);
    }

    #[test]
    fn what_is_no_file_is_not_opened_as_a_store() {
        let (_dir, tree) = wiki();
        for kind in NO_FILES {
            let name = format!("{kind:?}");
            if !make_special(&tree.path().join(".store").join(&name), kind) {
                continue;
            }
            for how in [StoreOpen::ReadOnly, StoreOpen::ReadWrite] {
                match tree.store_file(&name, how).unwrap_err() {
                    TreeError::Symlink { .. } => assert_eq!(kind, Kind::Symlink),
                    TreeError::NotRegular { kind: found, .. } => assert_eq!(kind, found),
                    error => panic!("{error}"),
                }
            }
            let error = tree.store_file(&name, StoreOpen::CreateNew).unwrap_err();
            assert!(matches!(error, TreeError::Exists { .. }), "{error}");
        }
    }

    #[test]
    fn names_cannot_leave_the_store() {
        let (_dir, tree) = wiki();
        for bad in ["", "..", "../x", "tmp/x", ".gitignore"] {
            assert!(tree.store_file(bad, StoreOpen::ReadOnly).is_err(), "{bad}");
            assert!(tree.remove_store(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn renaming_never_replaces() {
        with_each_rename(|_, tree| {
            put(tree, ".store/a", "a");
            put(tree, ".store/b", "b");
            let error = tree.rename_store("a", "b").unwrap_err();
            assert!(matches!(error, TreeError::Exists { .. }), "{error}");
            assert!(tree.rename_store("none", "c").unwrap_err().is_missing());
            tree.rename_store("a", "c").unwrap();
            assert_eq!(tree.store_names().unwrap(), ["b", "c"]);
            assert!(tree.remove_store("b").unwrap());
            assert!(!tree.remove_store("b").unwrap());
        });
    }

    #[test]
    fn replacing_keeps_the_old_store() {
        with_each_rename(|_, tree| {
            put(tree, ".store/wiki.redb.new", "new");
            tree.replace_store(STORE_FILE_NEW, STORE_FILE, "wiki.redb.bad-1")
                .unwrap();
            assert_eq!(get(tree, ".store/wiki.redb").unwrap(), b"new");
            assert_eq!(tree.store_names().unwrap(), [STORE_FILE]);
            put(tree, ".store/wiki.redb.new", "newer");
            tree.replace_store(STORE_FILE_NEW, STORE_FILE, "wiki.redb.bad-1")
                .unwrap();
            assert_eq!(get(tree, ".store/wiki.redb").unwrap(), b"newer");
            assert_eq!(get(tree, ".store/wiki.redb.bad-1").unwrap(), b"new");
            put(tree, ".store/wiki.redb.new", "newest");
            let error = tree.replace_store(STORE_FILE_NEW, STORE_FILE, "wiki.redb.bad-1");
            assert!(matches!(error, Err(TreeError::Exists { .. })), "{error:?}");
            assert_eq!(get(tree, ".store/wiki.redb").unwrap(), b"newer");
            let error = tree.replace_store("none", STORE_FILE, "keep").unwrap_err();
            assert!(error.is_missing());
            assert!(get(tree, ".store/keep").is_none());
        });
    }

    #[test]
    fn killed_at_any_change_a_replacement_leaves_a_store_in_place() {
        for allowed in 0.. {
            let faults = Arc::new(FailFrom::counting());
            let (dir, tree) = wiki_with(&TreeOptions {
                faults: Some(faults),
                ..TreeOptions::default()
            });
            put(&tree, ".store/wiki.redb", "old");
            put(&tree, ".store/wiki.redb.new", "new");
            let options = TreeOptions {
                faults: Some(Arc::new(FailFrom::new(allowed))),
                ..TreeOptions::default()
            };
            let killed = Tree::create_with(&dir.path().join("wiki"), &options).unwrap();
            let done = killed
                .replace_store(STORE_FILE_NEW, STORE_FILE, "bad")
                .is_ok();
            let now = get(&tree, ".store/wiki.redb").unwrap();
            let kept = get(&tree, ".store/bad");
            assert!(now == b"old" || (now == b"new" && kept.as_deref() == Some(b"old")));
            if done {
                assert_eq!((now, allowed), (b"new".to_vec(), 4));
                break;
            }
        }
    }
}
