//! What the store knows of the tree below `pages`: how files and directories looked. A directory
//! that looks as it did holds the same names, so that only its files have to be looked at.

use crate::error::Result;
use crate::store::{FolderRecord, StampRecord, View};
use crate::tree::{FileSystem, Kind, Listing, Stamp, Tree};

/// Rows of a table by path, in byte order of paths, all paths in one string.
#[derive(Debug)]
struct Sorted<R> {
    paths: Vec<u8>,
    /// Where each path ends.
    rows: Vec<(usize, R)>,
}

/// The stamps below `pages`.
pub(super) struct Known {
    files: Sorted<StampRecord>,
    folders: Sorted<FolderRecord>,
    /// Whether directories here get a new time when a name in them changes.
    pub(super) trusts_folders: bool,
}

impl<R> Sorted<R> {
    fn load<E>(
        rows: impl Iterator<Item = std::result::Result<(Vec<u8>, R), E>>,
    ) -> std::result::Result<Self, E> {
        let mut all = Self {
            paths: Vec::new(),
            rows: Vec::new(),
        };
        for row in rows {
            let (path, record) = row?;
            all.paths.extend_from_slice(&path);
            all.rows.push((all.paths.len(), record));
        }
        Ok(all)
    }

    fn path(&self, at: usize) -> &[u8] {
        let start = match at {
            0 => 0,
            at => self.rows[at - 1].0,
        };
        &self.paths[start..self.rows[at].0]
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &R)> {
        (0..self.rows.len()).map(|at| (self.path(at), &self.rows[at].1))
    }

    /// The first row from `from` on for which `is_before`, true for a first part of them, is false.
    fn first_not(&self, from: usize, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (from, self.rows.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_before(self.path(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn get(&self, path: &[u8]) -> Option<&R> {
        let at = self.first_not(0, |other| other < path);
        (at < self.rows.len() && self.path(at) == path).then(|| &self.rows[at].1)
    }

    /// Tells the name of each row right below the folder whose path, with a slash, is `folder`.
    fn names_in(&self, folder: &[u8], tell: &mut dyn FnMut(&[u8])) {
        let mut at = self.first_not(0, |path| path < folder);
        while at < self.rows.len() {
            let Some(name) = self.path(at).strip_prefix(folder) else {
                return;
            };
            match name.iter().position(|&byte| byte == b'/') {
                None => {
                    tell(name);
                    at += 1;
                }
                // All of what is further below.
                Some(slash) => {
                    let below = &self.path(at)[..=folder.len() + slash];
                    at = self.first_not(at, |path| path.starts_with(below));
                }
            }
        }
    }
}

impl Known {
    pub(super) fn load(tree: &Tree, view: &View) -> Result<Self> {
        Ok(Self {
            files: Sorted::load(view.stamps(b"pages/"))?,
            folders: Sorted::load(view.folders())?,
            trusts_folders: tree.file_system()? == FileSystem::Local,
        })
    }

    /// The stamps of files, in byte order of paths.
    pub(super) fn files(&self) -> impl Iterator<Item = (&[u8], &StampRecord)> {
        self.files.iter()
    }

    /// The rows of directories, in byte order of paths.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&[u8], &FolderRecord)> {
        self.folders.iter()
    }

    pub(super) fn folder(&self, path: &[u8]) -> Option<&FolderRecord> {
        self.folders.get(path)
    }

    /// The names in a directory, if it still looks as it did when they were read.
    pub(super) fn listing(&self, tree: &Tree, path: &[u8]) -> Option<Listing> {
        if !self.trusts_folders {
            return None;
        }
        let known = self.folder(path).filter(|folder| folder.inode != 0)?;
        if !proves(known, &tree.glance(path)?) {
            return None;
        }
        let mut listing = Listing::default();
        let folder = [path, b"/"].concat();
        self.files
            .names_in(&folder, &mut |name| listing.push(name, Kind::File));
        self.folders
            .names_in(&folder, &mut |name| listing.push(name, Kind::Directory));
        Some(listing)
    }
}

/// Whether a directory that looks like this is the one of the row, unchanged.
fn proves(known: &FolderRecord, stamp: &Stamp) -> bool {
    (known.inode, known.mtime_ns, known.ctime_ns) == (stamp.inode, stamp.mtime_ns, stamp.ctime_ns)
        && stamp.kind == Kind::Directory
        && !stamp.is_racy(known.seen_ns)
}

/// The row of a directory that was read after `seen_ns`; one that proves nothing where it may
/// have changed since.
pub(super) fn folder_record(stamp: &Stamp, seen_ns: i64) -> FolderRecord {
    if stamp.is_racy(seen_ns) {
        return FolderRecord::default();
    }
    FolderRecord {
        inode: stamp.inode,
        mtime_ns: stamp.mtime_ns,
        ctime_ns: stamp.ctime_ns,
        seen_ns,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn sorted(paths: &[&str]) -> Sorted<usize> {
        let rows = paths.iter().enumerate();
        Sorted::load(rows.map(|(at, path)| Ok::<_, Infallible>((path.as_bytes().to_vec(), at))))
            .unwrap()
    }

    #[test]
    fn names_in_a_folder_leave_out_what_is_further_below() {
        let rows = sorted(&[
            "a-", "a/b", "a/b/c", "a/b/d/e", "a/b0", "a/c/x", "a/d", "a0",
        ]);
        let names = |folder: &str| {
            let mut names = Vec::new();
            rows.names_in(folder.as_bytes(), &mut |name| {
                names.push(String::from_utf8(name.to_vec()).unwrap());
            });
            names
        };
        assert_eq!(names("a/"), ["b", "b0", "d"]);
        assert_eq!(names("a/b/"), ["c"]);
        assert_eq!(names("a/c/"), ["x"]);
        assert!(names("b/").is_empty() && names("a/d/").is_empty());
        assert!(sorted(&[]).get(b"a").is_none());
    }

    #[test]
    fn every_row_is_found_and_nothing_else() {
        let paths: Vec<String> = (0..100).map(|n| format!("p/{:03}", n * 2)).collect();
        let rows = sorted(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        for (at, path) in paths.iter().enumerate() {
            assert_eq!(rows.get(path.as_bytes()), Some(&at));
            assert_eq!(rows.get(format!("p/{:03}", at * 2 + 1).as_bytes()), None);
        }
    }
}
