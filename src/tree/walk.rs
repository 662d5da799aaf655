//! Walking a directory tree, fast enough to be done before every read.
//!
//! Each directory is opened through the handle of the one above it, read with `getdents64` in
//! large buffers, and its files are looked at through its own handle, so that no path is resolved
//! twice. No recursion, and a bounded number of open handles: folders may be as deep as they like.
//!
//! Invariant: the paths of entries that are no directories come in the order of their bytes, so
//! that a caller can merge them with a sorted table. (A directory comes where its path with a
//! slash behind it belongs: `a-b`, `a.md`, `a`, `a/x`, `a0`.)

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::path::{RelPath, escape};
use super::read::{read_entries, stat_at};
use super::root::Tree;
use super::stamp::{Kind, Stamp};
use super::{Result, TreeError};

/// How many directories of one walk are open at the same time.
const OPEN_HANDLES: usize = 16;

/// Something met on a walk.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    /// Path from the root; any bytes.
    pub path: &'a [u8],
    /// What it is.
    pub kind: Kind,
    /// For a regular file, what `stat` says. On a walk over names, or from memory: for a directory
    /// that was read, what `stat` said before that.
    pub stamp: Option<Stamp>,
    /// Why a file could not be looked at or a directory not be read. What lies below such a
    /// directory is unknown, which is not the same as absent.
    pub unreadable: Option<&'a TreeError>,
    /// What a readable directory holds.
    below: Option<&'a Level>,
}

impl WalkEntry<'_> {
    /// Whether a directory has an entry of that name.
    pub fn holds(&self, name: &[u8]) -> bool {
        self.below.is_some_and(|level| level.holds(name))
    }
}

/// Whether and how to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Go on, into this directory if it is one.
    Continue,
    /// Do not look into this directory. For anything else the same as `Continue`.
    SkipDirectory,
    /// End the walk.
    Stop,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walked {
    /// Everything was visited.
    Complete,
    /// The visitor stopped it.
    Stopped,
    /// There is no such directory.
    Missing,
}

/// The names in one directory, and what they are.
#[derive(Debug, Default)]
pub struct Listing {
    /// Names, one behind another, those of directories with a slash behind them, which is what
    /// makes the order of names the order of paths.
    names: Vec<u8>,
    /// Start, length and kind of each name.
    entries: Vec<(u32, u32, Kind)>,
    /// There were more names than can be told apart.
    overflow: bool,
}

/// A directory that is being walked.
#[derive(Debug)]
struct Level {
    /// Open while this level is among the deepest; else opened again by path when needed.
    dir: Option<OwnedFd>,
    /// Its names came from memory: the directory is not opened at all.
    is_recalled: bool,
    /// In the order of paths.
    listing: Listing,
    next: usize,
    /// Length of this directory's path.
    path_length: usize,
}

/// What somebody remembers of the directory at a path; nothing where it must be read.
type Recall<'a> = &'a mut dyn FnMut(&[u8]) -> Option<Listing>;

impl Tree {
    /// Visits everything below the directory `rel`, in the order of the path bytes. Links are
    /// reported and not followed. What vanishes while we walk is left out.
    ///
    /// # Errors
    /// `Symlink`, `NotDirectory`, `Denied` or `Io` for `rel` itself; what goes wrong below is
    /// told to the visitor.
    pub fn walk(
        &self,
        rel: &RelPath,
        visit: &mut dyn FnMut(&WalkEntry<'_>) -> Flow,
    ) -> Result<Walked> {
        self.walk_looking(rel, true, None, visit)
    }

    /// [`Tree::walk`], but a directory below `rel` of which `recall` knows the names is not read:
    /// its files are looked at by path. Whoever recalls must have seen ([`Tree::glance`]) that the
    /// directory is the one that it knows, unchanged.
    ///
    /// # Errors
    /// As [`Tree::walk`].
    pub fn walk_recalling(
        &self,
        rel: &RelPath,
        recall: &mut dyn FnMut(&[u8]) -> Option<Listing>,
        visit: &mut dyn FnMut(&WalkEntry<'_>) -> Flow,
    ) -> Result<Walked> {
        self.walk_looking(rel, true, Some(recall), visit)
    }

    /// [`Tree::walk`] over names and kinds alone: files are not looked at, directories are.
    ///
    /// # Errors
    /// As [`Tree::walk`].
    pub fn walk_names(
        &self,
        rel: &RelPath,
        visit: &mut dyn FnMut(&WalkEntry<'_>) -> Flow,
    ) -> Result<Walked> {
        self.walk_looking(rel, false, None, visit)
    }

    fn walk_looking(
        &self,
        rel: &RelPath,
        at_files: bool,
        mut recall: Option<Recall<'_>>,
        visit: &mut dyn FnMut(&WalkEntry<'_>) -> Flow,
    ) -> Result<Walked> {
        let dir = match self.open_listing(rel) {
            Ok(dir) => dir,
            Err(error) if error.is_missing() => return Ok(Walked::Missing),
            Err(error) => return Err(error),
        };
        let mut path = rel.as_bytes().to_vec();
        let first = Level::read(dir, path.len())
            .map_err(|error| TreeError::new("list", rel.to_string(), error.into()))?;
        let mut levels = vec![first];

        while let Some(level) = levels.last_mut() {
            path.truncate(level.path_length);
            let Some((name, kind)) = level.listing.get(level.next) else {
                levels.pop();
                continue;
            };
            level.next += 1;
            if level.dir.is_none() && !level.is_recalled {
                match self.open_listing_raw(&path) {
                    Ok(dir) => level.dir = Some(dir),
                    Err(error) => {
                        level.next = level.listing.entries.len();
                        // Taken away, and so was the rest of its entries; else the rest is
                        // unknown, and the visitor must hear of it.
                        if !is_gone(error) {
                            let error = TreeError::new("list", escape(&path), error.into());
                            let entry = WalkEntry {
                                path: &path,
                                kind: Kind::Directory,
                                stamp: None,
                                unreadable: Some(&error),
                                below: None,
                            };
                            if visit(&entry) == Flow::Stop {
                                return Ok(Walked::Stopped);
                            }
                        }
                    }
                }
            }
            if level.dir.is_none() && !level.is_recalled {
                continue;
            }
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);

            let mut entry = WalkEntry {
                path: &path,
                kind,
                stamp: None,
                unreadable: None,
                below: None,
            };
            if kind == Kind::Directory {
                let recalled = recall.as_mut().and_then(|recall| recall(&path));
                let below = match recalled {
                    Some(listing) => Ok(Level::recalled(listing, path.len())),
                    None => {
                        let flags =
                            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                        let opened = match &level.dir {
                            Some(dir) => rustix::fs::openat(dir, name, flags, Mode::empty()),
                            None => self.open_listing_raw(&path),
                        };
                        opened.and_then(|below| {
                            if !at_files || recall.is_some() {
                                entry.stamp = Some(Stamp::from(&rustix::fs::fstat(&below)?));
                            }
                            Level::read(below, path.len())
                        })
                    }
                };
                match below {
                    Ok(below) => match visit(&WalkEntry {
                        below: Some(&below),
                        ..entry
                    }) {
                        Flow::Continue => {
                            levels.push(below);
                            if let Some(far) = levels.len().checked_sub(OPEN_HANDLES + 1) {
                                levels[far].dir = None;
                            }
                        }
                        Flow::SkipDirectory => {}
                        Flow::Stop => return Ok(Walked::Stopped),
                    },
                    // Gone, or no directory any more: as if it had never been there.
                    Err(error) if is_gone(error) => {}
                    Err(error) => {
                        let error = TreeError::new("list", escape(&path), error.into());
                        entry.unreadable = Some(&error);
                        if visit(&entry) == Flow::Stop {
                            return Ok(Walked::Stopped);
                        }
                    }
                }
                continue;
            }
            let problem;
            if kind == Kind::File && at_files {
                let stat = match &level.dir {
                    Some(dir) => stat_at(dir.as_fd(), name),
                    None => stat_at(self.root_fd(), &path),
                };
                match stat {
                    Ok(Some(stamp)) => {
                        // It may have become something else since the directory was read.
                        entry.kind = stamp.kind;
                        if stamp.kind == Kind::File {
                            entry.stamp = Some(stamp);
                        } else if stamp.kind == Kind::Directory {
                            continue;
                        }
                    }
                    Ok(None) => continue,
                    Err(error) => {
                        problem = TreeError::new("look at", escape(&path), error.into());
                        entry.unreadable = Some(&problem);
                    }
                }
            }
            if visit(&entry) == Flow::Stop {
                return Ok(Walked::Stopped);
            }
        }
        Ok(Walked::Complete)
    }
}

/// Whether a name no longer stands for a real directory.
fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

impl Listing {
    /// Adds a name.
    pub fn push(&mut self, name: &[u8], kind: Kind) {
        let slash = kind == Kind::Directory;
        let (start, length) = (self.names.len(), name.len() + usize::from(slash));
        // 4 GiB of names in one directory do not fit in memory in any useful way.
        match (u32::try_from(start), u32::try_from(start + length)) {
            (Ok(start), Ok(end)) => {
                self.names.extend_from_slice(name);
                if slash {
                    self.names.push(b'/');
                }
                self.entries.push((start, end - start, kind));
            }
            _ => self.overflow = true,
        }
    }

    /// Brings the names into the order of paths.
    fn sort(&mut self) {
        let names = &self.names;
        let name = |&(start, length, _): &(u32, u32, Kind)| {
            &names[start as usize..(start + length) as usize]
        };
        if !self.entries.is_sorted_by(|a, b| name(a) <= name(b)) {
            self.entries.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        }
    }

    fn get(&self, at: usize) -> Option<(&[u8], Kind)> {
        let &(start, length, kind) = self.entries.get(at)?;
        let name = &self.names[start as usize..(start + length) as usize];
        Some((name.strip_suffix(b"/").unwrap_or(name), kind))
    }
}

impl Level {
    fn holds(&self, name: &[u8]) -> bool {
        (0..self.listing.entries.len())
            .any(|at| self.listing.get(at).is_some_and(|(other, _)| other == name))
    }

    fn read(dir: OwnedFd, path_length: usize) -> rustix::io::Result<Self> {
        let mut listing = Listing::default();
        read_entries(&dir, &mut |name, kind| listing.push(name, kind))?;
        if listing.overflow {
            return Err(Errno::OVERFLOW);
        }
        listing.sort();
        Ok(Self {
            dir: Some(dir),
            is_recalled: false,
            listing,
            next: 0,
            path_length,
        })
    }

    fn recalled(mut listing: Listing, path_length: usize) -> Self {
        listing.sort();
        Self {
            dir: None,
            is_recalled: true,
            listing,
            next: 0,
            path_length,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::ffi::OsStrExt;

    use super::super::testing::{NO_FILES, make_special, put, rel, wiki, with_each_resolver};
    use std::fs::File;

    use super::super::Durability;
    use super::*;

    fn walk_all(tree: &Tree, from: &RelPath) -> Vec<(String, Kind, Option<Stamp>)> {
        let mut seen = Vec::new();
        let walked = tree.walk(from, &mut |entry| {
            assert!(entry.unreadable.is_none());
            seen.push((escape(entry.path), entry.kind, entry.stamp));
            Flow::Continue
        });
        assert_eq!(walked.unwrap(), Walked::Complete);
        seen
    }

    fn files(seen: &[(String, Kind, Option<Stamp>)]) -> Vec<&str> {
        seen.iter()
            .filter(|e| e.1 != Kind::Directory)
            .map(|e| e.0.as_str())
            .collect()
    }

    #[test]
    fn files_come_in_the_order_of_their_path_bytes() {
        with_each_resolver(|_, tree| {
            for name in [
                "pages/a.md",
                "pages/a/z.md",
                "pages/a-b.md",
                "pages/a0.md",
                "pages/a/b/c.md",
                "pages/a/b.md",
                "pages/ab/x.md",
                "pages/B.md",
                "pages/a.md.d/x",
                "pages/a /x",
            ] {
                put(tree, name, name);
            }
            let seen = walk_all(tree, &RelPath::pages());
            let files = files(&seen);
            let mut sorted = files.clone();
            sorted.sort_unstable();
            assert_eq!(files, sorted);
            assert_eq!(files.len(), 10);
            for (path, kind, stamp) in &seen {
                match kind {
                    Kind::File => assert_eq!(stamp.unwrap().size, path.len() as u64),
                    kind => assert_eq!((*kind, *stamp), (Kind::Directory, None)),
                }
            }
        });
    }

    #[test]
    fn walk_agrees_with_stat_and_list() {
        let (_dir, tree) = wiki();
        for index in 0..50 {
            put(&tree, &format!("p/{}/{}", index % 7, index), "x");
        }
        for (path, kind, stamp) in walk_all(&tree, &RelPath::root()) {
            let found = tree.stat(&rel(&path)).unwrap().unwrap();
            assert_eq!(found.kind, kind);
            if let Some(stamp) = stamp {
                assert_eq!(found, stamp);
            }
        }
    }

    #[test]
    fn a_walk_over_names_meets_the_same_and_looks_at_no_file() {
        let (_dir, tree) = wiki();
        for name in ["p/a/1", "p/a.md", "p/b/c/d", "p/z"] {
            put(&tree, name, name);
        }
        let mut seen = Vec::new();
        tree.walk_names(&rel("p"), &mut |entry| {
            assert!(entry.unreadable.is_none());
            seen.push((escape(entry.path), entry.kind, entry.stamp));
            Flow::Continue
        })
        .unwrap();
        let mut expected = walk_all(&tree, &rel("p"));
        for (path, kind, stamp) in &mut expected {
            *stamp = match kind {
                Kind::Directory => tree.stat(&rel(path)).unwrap(),
                _ => None,
            };
        }
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_directory_that_is_recalled_is_not_read() {
        with_each_resolver(|_, tree| {
            for name in ["p/a/1", "p/a/2", "p/a/b/3", "p/a/c/4", "p/z"] {
                put(tree, name, name);
            }
            let mut seen = Vec::new();
            let mut recall = |path: &[u8]| {
                let mut listing = Listing::default();
                match path {
                    b"p/a" => {
                        listing.push(b"b", Kind::Directory);
                        listing.push(b"2", Kind::File);
                        listing.push(b"gone", Kind::File);
                    }
                    _ => return None,
                }
                Some(listing)
            };
            tree.walk_recalling(&rel("p"), &mut recall, &mut |entry| {
                seen.push((escape(entry.path), entry.stamp));
                Flow::Continue
            })
            .unwrap();
            let stamp = |name: &str| tree.stat(&rel(name)).unwrap();
            let expected = [
                ("p/a", None),
                ("p/a/2", stamp("p/a/2")),
                ("p/a/b", stamp("p/a/b")),
                ("p/a/b/3", stamp("p/a/b/3")),
                ("p/z", stamp("p/z")),
            ];
            let seen: Vec<_> = seen
                .iter()
                .map(|(path, stamp)| (path.as_str(), *stamp))
                .collect();
            assert_eq!(seen, expected);
        });
    }

    #[test]
    fn links_and_special_files_are_reported_and_not_entered() {
        let (dir, tree) = wiki();
        std::fs::create_dir(dir.path().join("out")).unwrap();
        std::fs::write(dir.path().join("out/secret"), "").unwrap();
        for kind in NO_FILES {
            if kind != Kind::Directory {
                make_special(&tree.path().join(format!("pages/{kind:?}")), kind);
            }
        }
        std::os::unix::fs::symlink("../../out", tree.path().join("pages/out")).unwrap();
        std::os::unix::fs::symlink(".", tree.path().join("pages/self")).unwrap();
        let seen: BTreeMap<_, _> = walk_all(&tree, &RelPath::pages())
            .into_iter()
            .map(|(path, kind, _)| (path, kind))
            .collect();
        assert_eq!(seen["pages/Fifo"], Kind::Fifo);
        assert_eq!(seen["pages/Socket"], Kind::Socket);
        assert_eq!(seen["pages/out"], Kind::Symlink);
        assert_eq!(seen["pages/self"], Kind::Symlink);
        assert!(!seen.keys().any(|path| path.contains("secret")));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn names_that_are_not_utf8_keep_their_place() {
        let (_dir, tree) = wiki();
        put(&tree, "pages/z", "");
        for name in [&b"pages/\xff.md"[..], b"pages/\x01", b"pages/\xc3\xa9"] {
            let path = tree.path().join(std::ffi::OsStr::from_bytes(name));
            std::fs::write(path, "").unwrap();
        }
        let seen = walk_all(&tree, &RelPath::pages());
        let expected = ["pages/\\u{1}", "pages/z", "pages/\u{e9}", "pages/\\xff.md"];
        assert_eq!(files(&seen), expected);
    }

    #[test]
    fn folders_deeper_than_the_open_handles_are_walked_on_both_ways() {
        with_each_resolver(|_, tree| {
            let mut path = rel("pages");
            let mut expected = Vec::new();
            // Over 4096 bytes of path, and files behind each folder on the way back.
            for depth in 0..150 {
                path = path.join(format!("m{depth:040}")).unwrap();
                let before = path.parent().unwrap().join("a.md").unwrap();
                let after = path.parent().unwrap().join("z.md").unwrap();
                for file in [before, after] {
                    tree.write_new(&file, b"x", Durability::Batch).unwrap();
                    expected.push(file.to_string());
                }
            }
            expected.sort_unstable();
            assert_eq!(files(&walk_all(tree, &rel("pages"))), expected);
            // And once more, stopped in the depth.
            let mut count = 0;
            let walked = tree.walk(&rel("pages"), &mut |_| {
                count += 1;
                if count == 100 {
                    Flow::Stop
                } else {
                    Flow::Continue
                }
            });
            assert_eq!((walked.unwrap(), count), (Walked::Stopped, 100));
        });
    }

    #[test]
    fn wide_folder_is_walked_whole() {
        let (_dir, tree) = wiki();
        std::fs::create_dir(tree.path().join("pages")).unwrap();
        for index in 0..5000 {
            File::create(tree.path().join(format!("pages/page number {index}.md"))).unwrap();
        }
        assert_eq!(walk_all(&tree, &RelPath::pages()).len(), 5000);
    }

    #[test]
    fn directory_that_vanishes_on_the_way_is_no_error() {
        with_each_resolver(|_, tree| {
            for name in ["p/a/1", "p/a/2", "p/b/1", "p/c", "p/d/e/1", "p/f"] {
                put(tree, name, "");
            }
            let mut seen = Vec::new();
            let walked = tree.walk(&rel("p"), &mut |entry| {
                seen.push(escape(entry.path));
                assert!(entry.unreadable.is_none());
                if entry.path == b"p/a/1" {
                    std::fs::remove_dir_all(tree.path().join("p/a")).unwrap();
                    std::fs::remove_dir_all(tree.path().join("p/b")).unwrap();
                    std::fs::remove_file(tree.path().join("p/c")).unwrap();
                    // A folder becomes a link and a file becomes a folder.
                    std::fs::remove_dir_all(tree.path().join("p/d")).unwrap();
                    std::os::unix::fs::symlink("/", tree.path().join("p/d")).unwrap();
                    std::fs::remove_file(tree.path().join("p/f")).unwrap();
                    std::fs::create_dir(tree.path().join("p/f")).unwrap();
                }
                Flow::Continue
            });
            assert_eq!(walked.unwrap(), Walked::Complete);
            assert_eq!(seen, ["p/a", "p/a/1"]);
        });
    }

    #[test]
    fn far_ancestor_that_vanishes_ends_only_its_own_part() {
        let (_dir, tree) = wiki();
        let deep = vec!["m"; OPEN_HANDLES + 5].join("/");
        put(&tree, &format!("p/a/{deep}/x"), "");
        put(&tree, "p/a/m/z", "");
        put(&tree, "p/b", "");
        let mut seen = Vec::new();
        tree.walk(&rel("p"), &mut |entry| {
            if entry.path.ends_with(b"/x") {
                std::fs::rename(tree.path().join("p/a"), tree.path().join("aside")).unwrap();
            }
            if entry.kind == Kind::File {
                seen.push(escape(entry.path));
            }
            Flow::Continue
        })
        .unwrap();
        assert_eq!(seen, [format!("p/a/{deep}/x"), "p/b".to_owned()]);
    }

    #[test]
    fn missing_directory_is_told_apart_from_an_empty_one() {
        let (_dir, tree) = wiki();
        let walk = || {
            tree.walk(&RelPath::pages(), &mut |_| Flow::Continue)
                .unwrap()
        };
        assert_eq!(walk(), Walked::Missing);
        std::fs::create_dir(tree.path().join("pages")).unwrap();
        assert_eq!(walk(), Walked::Complete);
    }

    #[test]
    fn skipped_directory_is_not_entered() {
        let (_dir, tree) = wiki();
        for name in ["p/.git/x", "p/a", "p/b/c"] {
            put(&tree, name, "");
        }
        let mut seen = Vec::new();
        tree.walk(&rel("p"), &mut |entry| {
            seen.push(escape(entry.path));
            if entry.path.ends_with(b".git") {
                Flow::SkipDirectory
            } else {
                Flow::Continue
            }
        })
        .unwrap();
        assert_eq!(seen, ["p/.git", "p/a", "p/b", "p/b/c"]);
    }

    #[test]
    fn unreadable_directory_is_told_and_not_taken_for_empty() {
        use std::os::unix::fs::PermissionsExt;
        if rustix::process::geteuid().is_root() {
            eprintln!("root may read anything: skipped");
            return;
        }
        let (_dir, tree) = wiki();
        put(&tree, "p/a/1", "");
        put(&tree, "p/b", "");
        let chmod = |mode| {
            let bits = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(tree.path().join("p/a"), bits).unwrap();
        };
        chmod(0);
        let mut seen = Vec::new();
        tree.walk(&rel("p"), &mut |entry| {
            seen.push((escape(entry.path), entry.unreadable.is_some()));
            Flow::Continue
        })
        .unwrap();
        chmod(0o700);
        assert_eq!(seen, [("p/a".to_owned(), true), ("p/b".to_owned(), false)]);
    }
}
