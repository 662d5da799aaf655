//! What the tests of this module share: a wiki in a folder of its own, opened in each way, and
//! things that do not belong in one.

use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use super::{Kind, RelPath, Renames, Resolver, Tree, TreeOptions};

/// A new, empty wiki.
pub(super) fn wiki() -> (TempDir, Tree) {
    wiki_with(&TreeOptions::default())
}

/// A new, empty wiki, opened with these options.
pub(super) fn wiki_with(options: &TreeOptions) -> (TempDir, Tree) {
    let dir = tempfile::tempdir().unwrap();
    let tree = Tree::create_with(&dir.path().join("wiki"), options).unwrap();
    (dir, tree)
}

/// Runs `check` on new wikis that resolve paths in each way.
pub(super) fn with_each_resolver(check: impl Fn(&TempDir, &Tree)) {
    for resolver in [Resolver::Auto, Resolver::Parts] {
        let (dir, tree) = wiki_with(&TreeOptions {
            resolver,
            ..TreeOptions::default()
        });
        assert!(resolver == Resolver::Auto || !tree.uses_openat2());
        check(&dir, &tree);
    }
}

/// The ways to rename.
pub(super) const ALL_RENAMES: [Renames; 3] =
    [Renames::Auto, Renames::NoExchange, Renames::PlainOnly];

/// Runs `check` on new wikis that rename in each way.
pub(super) fn with_each_rename(check: impl Fn(&TempDir, &Tree)) {
    for renames in ALL_RENAMES {
        let (dir, tree) = wiki_with(&TreeOptions {
            renames,
            ..TreeOptions::default()
        });
        check(&dir, &tree);
    }
}

pub(super) fn rel(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

/// Puts a file into the wiki past the tree, as a person would.
pub(super) fn put(tree: &Tree, path: &str, bytes: impl AsRef<[u8]>) {
    let path = tree.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The bytes at a path, read past the tree.
pub(super) fn get(tree: &Tree, path: &str) -> Option<Vec<u8>> {
    std::fs::read(tree.path().join(path)).ok()
}

/// Makes something that is neither file nor directory; false where we may not (devices).
pub(super) fn make_special(path: &Path, kind: Kind) -> bool {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    match kind {
        Kind::Fifo => rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0).unwrap(),
        Kind::Socket => {
            std::os::unix::net::UnixListener::bind(path).unwrap();
        }
        Kind::Device => {
            let null = rustix::fs::makedev(1, 3);
            return rustix::fs::mknodat(CWD, path, FileType::CharacterDevice, mode, null).is_ok();
        }
        Kind::Symlink => symlink("nowhere", path).unwrap(),
        Kind::Directory => std::fs::create_dir(path).unwrap(),
        kind => panic!("cannot make {kind}"),
    }
    true
}

/// Kinds that must never be opened where a file is expected.
pub(super) const NO_FILES: [Kind; 5] = [
    Kind::Fifo,
    Kind::Socket,
    Kind::Device,
    Kind::Symlink,
    Kind::Directory,
];
