//! Finding the root of a wiki and resolving paths below it.
//!
//! The root itself must be a real directory; its ancestors are resolved once, here, and may hold
//! symbolic links. Below the root every directory is opened with `openat2` and BENEATH |
//! `NO_SYMLINKS` | `NO_MAGICLINKS`, or, where that call is missing, part by part with
//! `O_NOFOLLOW`. cap-std is no substitute: it follows links that stay inside.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::calls::Calls;
use super::error::errno;
use super::faults::Faults;
use super::path::{RelPath, escape};
use super::stamp::{Identity, Kind, Stamp};
use super::{Result, TreeError};

/// Flags of a handle that only resolves names: needs no read permission where the system has it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOKUP: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOKUP: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
/// Flags of a handle whose entries are read or that is flushed.
const LISTING: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// How paths below the root are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolver {
    /// The kernel's `openat2` where it works, else part by part.
    #[default]
    Auto,
    /// Part by part with `O_NOFOLLOW`, on any system.
    Parts,
}

/// Which ways to rename are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Renames {
    /// All; each falls back by itself where the file system refuses it.
    #[default]
    Auto,
    /// As on a file system that cannot swap two names.
    NoExchange,
    /// As on a file system with neither swap nor "do not replace".
    PlainOnly,
}

/// How a tree is opened; the defaults are right outside tests.
#[derive(Debug, Clone, Default)]
pub struct TreeOptions {
    /// How paths are resolved.
    pub resolver: Resolver,
    /// Which renames are used.
    pub renames: Renames,
    /// Who is asked before each change.
    pub faults: Option<Arc<dyn Faults>>,
}

/// What was found at the place of a root.
#[derive(Debug)]
pub enum RootState {
    /// Nothing is there.
    Missing,
    /// Something is there, or above it, that is no directory.
    NotDirectory(Kind),
    /// The root itself is a symbolic link.
    Symlink,
    /// A real directory.
    Ready(Tree),
}

/// A located root directory. Cheap to clone; clones share one handle.
#[derive(Clone)]
pub struct Tree {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    root: OwnedFd,
    identity: Identity,
    /// `openat2` was seen to work here.
    openat2: bool,
    renames: Renames,
    faults: Option<Arc<dyn Faults>>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("path", &self.inner.path)
            .finish_non_exhaustive()
    }
}

/// Looks for a root at `root`, creating nothing.
///
/// # Errors
/// `Denied` or `Io` when one cannot even look.
pub fn locate(root: &Path) -> Result<RootState> {
    locate_with(root, &TreeOptions::default())
}

/// [`locate`] with options.
///
/// # Errors
/// As [`locate`].
pub fn locate_with(root: &Path, options: &TreeOptions) -> Result<RootState> {
    let shown = || shown(root);
    let path = match resolve_ancestors(root) {
        Ok(path) => path,
        Err(error) => {
            return match errno(&error) {
                Some(Errno::NOENT) => Ok(RootState::Missing),
                Some(Errno::NOTDIR) => Ok(RootState::NotDirectory(Kind::File)),
                _ => Err(TreeError::new("look for the wiki at", shown(), error)),
            };
        }
    };
    let found = match rustix::fs::statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Stamp::from(&stat),
        Err(Errno::NOENT) => return Ok(RootState::Missing),
        Err(Errno::NOTDIR) => return Ok(RootState::NotDirectory(Kind::File)),
        Err(error) => {
            return Err(TreeError::new(
                "look for the wiki at",
                shown(),
                error.into(),
            ));
        }
    };
    match found.kind {
        Kind::Directory => {}
        Kind::Symlink => return Ok(RootState::Symlink),
        kind => return Ok(RootState::NotDirectory(kind)),
    }
    match Tree::open(path, options) {
        Ok(tree) => Ok(RootState::Ready(tree)),
        Err(error) => match errno(&error) {
            Some(Errno::NOENT) => Ok(RootState::Missing),
            Some(Errno::LOOP | Errno::NOTDIR) => Err(TreeError::Moved { path: shown() }),
            _ => Err(TreeError::new("open the wiki at", shown(), error)),
        },
    }
}

/// The root's path with everything above its last name resolved. A path that ends in `..` has no
/// last name and is resolved whole.
fn resolve_ancestors(root: &Path) -> io::Result<PathBuf> {
    let Some(name) = root.file_name() else {
        let whole = if root.as_os_str().is_empty() {
            Path::new(".")
        } else {
            root
        };
        return fs::canonicalize(whole);
    };
    let parent = match root.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut path = fs::canonicalize(parent)?;
    if !fs::metadata(&path)?.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    path.push(name);
    Ok(path)
}

fn shown(path: &Path) -> String {
    escape(path.as_os_str().as_bytes())
}

impl Tree {
    /// Makes the root directory, and those above it, where missing, and opens it. Each new
    /// directory is on the disk when this returns. Nothing is put into it.
    ///
    /// # Errors
    /// `Symlink` or `NotDirectory` when something else is there; `Full`, `Denied`, `ReadOnly`.
    pub fn create(root: &Path) -> Result<Self> {
        Self::create_with(root, &TreeOptions::default())
    }

    /// [`Tree::create`] with options.
    ///
    /// # Errors
    /// As [`Tree::create`].
    pub fn create_with(root: &Path, options: &TreeOptions) -> Result<Self> {
        let calls = Calls(options.faults.as_deref());
        let failed = |error| TreeError::new("create", shown(root), error);
        // The missing directories, the deepest first.
        let mut missing: Vec<&Path> = Vec::new();
        let mut next = root;
        while !next.as_os_str().is_empty() {
            match rustix::fs::stat(next) {
                Ok(_) => break,
                Err(Errno::NOENT) => {}
                Err(Errno::NOTDIR) => {
                    return Err(TreeError::NotDirectory {
                        path: shown(root),
                        kind: Kind::File,
                    });
                }
                Err(error) => return Err(failed(error.into())),
            }
            if rustix::fs::lstat(next).is_ok() {
                // A link that leads nowhere.
                return Err(TreeError::Symlink { path: shown(next) });
            }
            missing.push(next);
            match next.parent() {
                Some(parent) => next = parent,
                None => break,
            }
        }
        for path in missing.into_iter().rev() {
            let name = shown(path);
            match calls.mkdir(CWD, path.as_os_str().as_bytes(), &name) {
                Ok(()) => {}
                Err(error) if errno(&error) == Some(Errno::EXIST) => continue,
                Err(error) => return Err(TreeError::new("create", name, error)),
            }
            let parent = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let above = rustix::fs::openat(CWD, parent, LOOKUP, Mode::empty())
                .map_err(|error| failed(error.into()))?;
            calls
                .sync_dir(above.as_fd(), &shown(parent))
                .map_err(failed)?;
        }
        match locate_with(root, options)? {
            RootState::Ready(tree) => Ok(tree),
            RootState::Symlink => Err(TreeError::Symlink { path: shown(root) }),
            RootState::NotDirectory(kind) => Err(TreeError::NotDirectory {
                path: shown(root),
                kind,
            }),
            RootState::Missing => Err(TreeError::Missing {
                action: "open",
                path: shown(root),
            }),
        }
    }

    fn open(path: PathBuf, options: &TreeOptions) -> io::Result<Self> {
        let root = rustix::fs::openat(CWD, &path, LISTING | OFlags::NOFOLLOW, Mode::empty())?;
        let identity = Stamp::from(&rustix::fs::fstat(&root)?).identity();
        let openat2 = options.resolver == Resolver::Auto && openat2_works(root.as_fd());
        Ok(Self {
            inner: Arc::new(Inner {
                path,
                root,
                identity,
                openat2,
                renames: options.renames,
                faults: options.faults.clone(),
            }),
        })
    }

    /// The root's path: absolute, ancestors resolved.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Device and inode of the root directory.
    pub fn identity(&self) -> Identity {
        self.inner.identity
    }

    /// Whether the directory at the root's path is still the one that is open here. A wiki that
    /// was moved aside or deleted must be located anew.
    pub fn is_current(&self) -> bool {
        rustix::fs::statat(CWD, &self.inner.path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| Stamp::from(&stat).identity() == self.inner.identity)
    }

    /// Whether `openat2` does the resolving.
    pub fn uses_openat2(&self) -> bool {
        self.inner.openat2
    }

    pub(super) fn renames(&self) -> Renames {
        self.inner.renames
    }

    pub(super) fn root_fd(&self) -> BorrowedFd<'_> {
        self.inner.root.as_fd()
    }

    pub(super) fn calls(&self) -> Calls<'_> {
        Calls(self.inner.faults.as_deref())
    }

    /// A handle of the directory `rel` for resolving names in it.
    pub(super) fn open_dir(&self, rel: &RelPath) -> Result<OwnedFd> {
        self.open_raw(rel.as_bytes(), LOOKUP)
            .map_err(|error| self.blame("open", rel, error.into()))
    }

    /// A handle of the directory `rel` for reading its entries.
    pub(super) fn open_listing(&self, rel: &RelPath) -> Result<OwnedFd> {
        self.open_raw(rel.as_bytes(), LISTING)
            .map_err(|error| self.blame("list", rel, error.into()))
    }

    /// The same, with the bare answer of the system.
    pub(super) fn open_listing_raw(&self, rel: &[u8]) -> rustix::io::Result<OwnedFd> {
        self.open_raw(rel, LISTING)
    }

    /// A handle of the directory that holds `rel`, and the last name of `rel`. The root itself
    /// is held by its own `.`.
    pub(super) fn open_parent<'a>(&self, rel: &'a RelPath) -> Result<(OwnedFd, &'a [u8])> {
        let bytes = rel.as_bytes();
        let (parent, name) = match bytes.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&bytes[..slash], &bytes[slash + 1..]),
            None if bytes.is_empty() => (bytes, &b"."[..]),
            None => (&bytes[..0], bytes),
        };
        match self.open_raw(parent, LOOKUP) {
            Ok(dir) => Ok((dir, name)),
            Err(error) => Err(self.blame("open", rel, error.into())),
        }
    }

    /// The same; nothing where there is no such directory.
    pub(super) fn find_parent<'a>(&self, rel: &'a RelPath) -> Result<Option<(OwnedFd, &'a [u8])>> {
        match self.open_parent(rel) {
            Ok(parent) => Ok(Some(parent)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_raw(&self, rel: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let root = self.root_fd();
        if rel.is_empty() {
            return rustix::fs::openat(root, ".", flags, Mode::empty());
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.inner.openat2 {
            match openat2(root, rel, flags) {
                // The path as a whole is too long for one call; its parts may not be.
                Err(Errno::NAMETOOLONG) => {}
                answer => return answer,
            }
        }
        open_by_parts(root, rel, flags)
    }

    /// The error for a path that could not be opened: looks for the part that is to blame, so
    /// that the message can name it.
    pub(super) fn blame(&self, action: &'static str, rel: &RelPath, error: io::Error) -> TreeError {
        if matches!(
            errno(&error),
            Some(Errno::LOOP | Errno::NOTDIR | Errno::XDEV)
        ) {
            let mut prefix: Vec<u8> = Vec::with_capacity(rel.as_bytes().len());
            let mut parts = rel.parts().peekable();
            let mut dir: Option<OwnedFd> = None;
            while let Some(part) = parts.next() {
                if !prefix.is_empty() {
                    prefix.push(b'/');
                }
                prefix.extend_from_slice(part);
                let above = dir.as_ref().map_or(self.root_fd(), AsFd::as_fd);
                let Ok(stat) = rustix::fs::statat(above, part, AtFlags::SYMLINK_NOFOLLOW) else {
                    break;
                };
                let kind = Stamp::from(&stat).kind;
                if kind == Kind::Symlink {
                    return TreeError::Symlink {
                        path: escape(&prefix),
                    };
                }
                if kind != Kind::Directory {
                    return TreeError::NotDirectory {
                        path: escape(&prefix),
                        kind,
                    };
                }
                if parts.peek().is_none() {
                    break;
                }
                let below =
                    rustix::fs::openat(above, part, LOOKUP | OFlags::NOFOLLOW, Mode::empty());
                let Ok(below) = below else { break };
                dir = Some(below);
            }
        }
        TreeError::new(action, rel.to_string(), error)
    }
}

/// Opens a directory part by part, following no link. Holds two handles at most.
fn open_by_parts(root: BorrowedFd<'_>, rel: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut parts = rel.split(|&byte| byte == b'/').peekable();
    let mut dir: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let above = dir.as_ref().map_or(root, AsFd::as_fd);
        let wanted = if parts.peek().is_some() {
            LOOKUP
        } else {
            flags
        };
        dir = Some(rustix::fs::openat(
            above,
            part,
            wanted | OFlags::NOFOLLOW,
            Mode::empty(),
        )?);
    }
    dir.ok_or(Errno::INVAL)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn openat2(root: BorrowedFd<'_>, rel: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // EAGAIN: something was renamed while the kernel resolved the path.
    for _ in 0..32 {
        match rustix::fs::openat2(root, rel, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            answer => return answer,
        }
    }
    open_by_parts(root, rel, flags)
}

/// Old kernels answer ENOSYS, sandboxes EPERM or anything else; one trial on the root tells.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn openat2_works(root: BorrowedFd<'_>) -> bool {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(root, ".", LOOKUP, Mode::empty(), resolve).is_ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn openat2_works(_: BorrowedFd<'_>) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::testing::{get, make_special, put, rel, wiki, with_each_resolver};
    use super::super::{FaultOp, Recorder};
    use super::*;

    #[test]
    fn locate_tells_what_stands_at_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| locate(&dir.path().join(name)).unwrap();
        assert!(matches!(at("none"), RootState::Missing));
        assert!(matches!(at("none/below"), RootState::Missing));
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(at("file"), RootState::NotDirectory(Kind::File)));
        assert!(matches!(at("file/below"), RootState::NotDirectory(_)));
        make_special(&dir.path().join("fifo"), Kind::Fifo);
        assert!(matches!(at("fifo"), RootState::NotDirectory(Kind::Fifo)));
        fs::create_dir(dir.path().join("real")).unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        symlink("nowhere", dir.path().join("dangling")).unwrap();
        assert!(matches!(at("link"), RootState::Symlink));
        assert!(matches!(at("link/"), RootState::Symlink));
        assert!(matches!(at("dangling"), RootState::Symlink));
        assert!(matches!(at("real"), RootState::Ready(_)));
        assert!(matches!(at("real/../real/."), RootState::Ready(_)));
        assert_eq!(fs::read_dir(dir.path().join("real")).unwrap().count(), 0);
    }

    #[test]
    fn link_among_the_ancestors_is_resolved_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("one/wiki")).unwrap();
        fs::create_dir_all(dir.path().join("two/wiki")).unwrap();
        let link = dir.path().join("link");
        symlink("one", &link).unwrap();
        let RootState::Ready(tree) = locate(&link.join("wiki")).unwrap() else {
            panic!()
        };
        fs::remove_file(&link).unwrap();
        symlink("two", &link).unwrap();
        put(&tree, "a", "x");
        assert!(tree.is_current());
        assert!(dir.path().join("one/wiki/a").exists());
        assert!(tree.read(&rel("a"), 9).unwrap().is_some());
    }

    #[test]
    fn create_makes_ancestors_and_flushes_each_before_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let recorder = Arc::new(Recorder::default());
        let options = TreeOptions {
            faults: Some(recorder.clone()),
            ..TreeOptions::default()
        };
        let root = dir.path().join("a/b/wiki");
        Tree::create_with(&root, &options).unwrap();
        let shown = |name: &str| dir.path().join(name).display().to_string();
        let base = dir.path().display().to_string();
        assert_eq!(
            recorder.take(),
            [
                (FaultOp::Mkdir, shown("a")),
                (FaultOp::Sync, base),
                (FaultOp::Mkdir, shown("a/b")),
                (FaultOp::Sync, shown("a")),
                (FaultOp::Mkdir, shown("a/b/wiki")),
                (FaultOp::Sync, shown("a/b")),
            ]
        );
        Tree::create_with(&root, &options).unwrap();
        assert_eq!(recorder.take(), []);
    }

    #[test]
    fn create_refuses_links_and_files_in_the_way() {
        let dir = tempfile::tempdir().unwrap();
        symlink("nowhere", dir.path().join("dangling")).unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        symlink("real", dir.path().join("link")).unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for (name, link) in [
            ("dangling", true),
            ("dangling/x", true),
            ("link", true),
            ("file", false),
            ("file/x", false),
        ] {
            let error = Tree::create(&dir.path().join(name)).unwrap_err();
            match error {
                TreeError::Symlink { .. } => assert!(link, "{name}"),
                TreeError::NotDirectory { .. } => assert!(!link, "{name}"),
                error => panic!("{name}: {error}"),
            }
        }
        assert!(!dir.path().join("nowhere").exists());
    }

    #[test]
    fn links_are_refused_wherever_they_stand_and_wherever_they_lead() {
        with_each_resolver(|dir, tree| {
            put(tree, "pages/real/a.md", "inside");
            fs::write(dir.path().join("secret.md"), "outside").unwrap();
            fs::create_dir(dir.path().join("out")).unwrap();
            fs::write(dir.path().join("out/a.md"), "outside").unwrap();
            let pages = tree.path().join("pages");
            symlink("real", pages.join("in")).unwrap();
            symlink("../../out", pages.join("up")).unwrap();
            symlink(dir.path().join("out"), pages.join("abs")).unwrap();
            symlink("/proc/self/root", pages.join("magic")).unwrap();
            symlink("real/a.md", pages.join("file.md")).unwrap();
            symlink("../../secret.md", pages.join("secret.md")).unwrap();
            symlink("loop.md", pages.join("loop.md")).unwrap();
            symlink("nowhere", pages.join("dangling.md")).unwrap();
            for (path, blamed) in [
                ("pages/in/a.md", "pages/in"),
                ("pages/up/a.md", "pages/up"),
                ("pages/abs/a.md", "pages/abs"),
                ("pages/magic/etc/passwd", "pages/magic"),
                ("pages/file.md", "pages/file.md"),
                ("pages/secret.md", "pages/secret.md"),
                ("pages/loop.md", "pages/loop.md"),
                ("pages/dangling.md", "pages/dangling.md"),
            ] {
                match tree.read(&rel(path), 100) {
                    Err(TreeError::Symlink { path }) => assert_eq!(path, blamed),
                    other => panic!("{path}: {other:?}"),
                }
                let error = tree.write_new(
                    &rel(&format!("{path}/new")),
                    b"x",
                    super::super::Durability::Batch,
                );
                assert!(
                    matches!(error, Err(TreeError::Symlink { .. })),
                    "{path}: {error:?}"
                );
            }
            for path in ["pages/in", "pages/up", "pages/abs"] {
                assert!(
                    matches!(tree.list(&rel(path)), Err(TreeError::Symlink { .. })),
                    "{path}"
                );
                let walked = tree.walk(&rel(path), &mut |_| super::super::Flow::Continue);
                assert!(matches!(walked, Err(TreeError::Symlink { .. })), "{path}");
                // The link itself may be looked at.
                assert_eq!(tree.stat(&rel(path)).unwrap().unwrap().kind, Kind::Symlink);
            }
            assert_eq!(fs::read(dir.path().join("out/a.md")).unwrap(), b"outside");
        });
    }

    #[test]
    fn what_is_no_directory_on_the_way_is_named() {
        with_each_resolver(|_, tree| {
            put(tree, "pages/a", "x");
            make_special(&tree.path().join("pages/f"), Kind::Fifo);
            for (path, kind) in [("pages/a/b/c.md", Kind::File), ("pages/f/c.md", Kind::Fifo)] {
                match tree.read(&rel(path), 9) {
                    Err(TreeError::NotDirectory {
                        path: blamed,
                        kind: found,
                    }) => {
                        assert_eq!((blamed.as_str(), found), (&path[..7], kind));
                    }
                    other => panic!("{path}: {other:?}"),
                }
            }
            assert!(tree.read(&rel("pages/none/c.md"), 9).unwrap().is_none());
            assert!(tree.stat(&rel("pages/none/c.md")).unwrap().is_none());
            assert!(tree.stat(&RelPath::root()).unwrap().is_some());
        });
    }

    #[test]
    fn paths_longer_than_one_call_allows_still_resolve() {
        with_each_resolver(|_, tree| {
            let deep = vec!["d".repeat(200); 40].join("/");
            let file = rel(&deep).join("f").unwrap();
            assert!(file.as_bytes().len() > 8000);
            assert!(
                tree.write_new(&file, b"deep", super::super::Durability::Batch)
                    .unwrap()
            );
            assert_eq!(tree.read(&file, 9).unwrap().unwrap().bytes, b"deep");
            let long = rel(&"n".repeat(256));
            let error = tree.read(&long, 9).unwrap_err();
            assert!(matches!(error, TreeError::BadPath { .. }), "{error}");
        });
    }

    #[test]
    fn tree_stays_with_its_directory_when_the_root_is_replaced() {
        let (dir, tree) = wiki();
        put(&tree, "a", "old");
        fs::rename(tree.path(), dir.path().join("aside")).unwrap();
        assert!(!tree.is_current());
        fs::create_dir(tree.path()).unwrap();
        put(&tree, "a", "new");
        assert!(!tree.is_current());
        assert_eq!(tree.read(&rel("a"), 9).unwrap().unwrap().bytes, b"old");
        assert_eq!(get(&tree, "a").unwrap(), b"new");
    }

    #[test]
    fn kernel_resolver_is_in_use_where_the_kernel_has_it() {
        let (_dir, tree) = wiki();
        // Linux since 5.6; a sandbox may forbid it.
        if !tree.uses_openat2() {
            eprintln!("openat2 is not available here");
        }
        assert!(!format!("{tree:?}").is_empty());
    }
}
