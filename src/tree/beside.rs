//! Files in a directory that is no wiki of ours: written in place, through a new file beside each,
//! so that a reader sees the old text or the new one, and nothing else is left there.

use std::os::fd::AsFd;

use rustix::fs::RenameFlags;

use super::path::RelPath;
use super::root::Tree;
use super::stage::Durability;
use super::stamp::Kind;
use super::{Result, TreeError};

impl Tree {
    /// Writes a file, making directories as needed, whatever file is there now. No link is
    /// followed. False where it had these bytes already.
    ///
    /// # Errors
    /// `Symlink` or `NotRegular` for what is no plain file; `Denied`, `ReadOnly`, `Full`, `Io`.
    pub fn replace(&self, rel: &RelPath, bytes: &[u8]) -> Result<bool> {
        let shown = rel.to_string();
        match self.stat(rel)? {
            Some(stamp) if stamp.kind == Kind::File => {
                let length = bytes.len() as u64;
                if stamp.size == length
                    && let Some(there) = self.read(rel, length)?
                    && there.bytes == bytes
                {
                    return Ok(false);
                }
            }
            Some(stamp) if stamp.kind == Kind::Symlink => {
                return Err(TreeError::Symlink { path: shown });
            }
            Some(stamp) => {
                return Err(TreeError::NotRegular {
                    path: shown,
                    kind: stamp.kind,
                });
            }
            None => {}
        }
        let (parent, name) = self.goal(rel, Durability::Batch)?;
        let beside = format!(".llmwiki-{}.new", std::process::id());
        let failed = |error| TreeError::new("write", shown.as_str(), error);
        let calls = self.calls();
        let file = calls
            .create(parent.as_fd(), beside.as_bytes(), &shown)
            .map_err(failed)?;
        let written = calls.write(&file, bytes, &shown).and_then(|()| {
            calls.rename(
                (parent.as_fd(), beside.as_bytes()),
                (parent.as_fd(), name),
                RenameFlags::empty(),
                &shown,
            )
        });
        if written.is_err() {
            let _ = calls.unlink(parent.as_fd(), beside.as_bytes(), &shown);
        }
        written.map(|()| true).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::create(&dir.path().join("out")).unwrap();
        let rel = RelPath::new("a/b.md").unwrap();
        assert!(tree.replace(&rel, b"one").unwrap());
        assert!(!tree.replace(&rel, b"one").unwrap());
        assert!(tree.replace(&rel, b"two").unwrap());
        assert_eq!(fs::read(dir.path().join("out/a/b.md")).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path().join("out/a")).unwrap().count(), 1);
        fs::write(dir.path().join("else"), "else").unwrap();
        std::os::unix::fs::symlink("../../else", dir.path().join("out/a/link.md")).unwrap();
        let link = RelPath::new("a/link.md").unwrap();
        assert!(matches!(
            tree.replace(&link, b"x"),
            Err(TreeError::Symlink { .. })
        ));
        std::os::unix::fs::symlink("..", dir.path().join("out/up")).unwrap();
        assert!(
            tree.replace(&RelPath::new("up/x.md").unwrap(), b"x")
                .is_err()
        );
        assert!(tree.replace(&RelPath::new("a").unwrap(), b"x").is_err());
        assert_eq!(fs::read(dir.path().join("else")).unwrap(), b"else");
    }
}
