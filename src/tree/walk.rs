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
    /// For a regular file, what `stat` says.
    pub stamp: Option<Stamp>,
    /// Why a file could not be looked at or a directory not be read. What lies below such a
    /// directory is unknown, which is not the same as absent.
    pub unreadable: Option<&'a TreeError>,
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

/// A directory that is being walked.
struct Level {
    /// Open while this level is among the deepest; else opened again by path when needed.
    dir: Option<OwnedFd>,
    /// Names, one behind another, those of directories with a slash behind them, which is what
    /// makes the order of names the order of paths.
    names: Vec<u8>,
    /// Start, length and kind of each name, in that order.
    entries: Vec<(u32, u32, Kind)>,
    next: usize,
    /// Length of this directory's path.
    path_length: usize,
}

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
            let Some(&(start, length, kind)) = level.entries.get(level.next) else {
                levels.pop();
                continue;
            };
            level.next += 1;
            if level.dir.is_none() {
                level.dir = self.open_listing_raw(&path).ok();
            }
            let Some(dir) = &level.dir else {
                // It was taken away, and so was the rest of its entries.
                level.next = level.entries.len();
                continue;
            };
            let name = &level.names[start as usize..(start + length) as usize];
            let name = name.strip_suffix(b"/").unwrap_or(name);
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);

            let mut entry = WalkEntry {
                path: &path,
                kind,
                stamp: None,
                unreadable: None,
            };
            if kind == Kind::Directory {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let read = rustix::fs::openat(dir, name, flags, Mode::empty())
                    .and_then(|below| Level::read(below, path.len()));
                match read {
                    Ok(below) => match visit(&entry) {
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
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
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
            if kind == Kind::File {
                match stat_at(dir.as_fd(), name) {
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

impl Level {
    fn read(dir: OwnedFd, path_length: usize) -> rustix::io::Result<Self> {
        let mut names = Vec::new();
        let mut entries = Vec::new();
        let mut overflow = false;
        read_entries(&dir, &mut |name, kind| {
            let slash = kind == Kind::Directory;
            let (start, length) = (names.len(), name.len() + usize::from(slash));
            // 4 GiB of names in one directory do not fit in memory in any useful way.
            match (u32::try_from(start), u32::try_from(start + length)) {
                (Ok(start), Ok(end)) => {
                    names.extend_from_slice(name);
                    if slash {
                        names.push(b'/');
                    }
                    entries.push((start, end - start, kind));
                }
                _ => overflow = true,
            }
        })?;
        if overflow {
            return Err(Errno::OVERFLOW);
        }
        let name = |&(start, length, _): &(u32, u32, Kind)| {
            &names[start as usize..(start + length) as usize]
        };
        entries.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        Ok(Self {
            dir: Some(dir),
            names,
            entries,
            next: 0,
            path_length,
        })
    }
}
