//! What kind of file system the wiki lies on, and flushing it.

use std::os::fd::AsFd;

use super::path::RelPath;
use super::root::Tree;
use super::{Result, TreeError};

/// Kinds of file systems as far as they matter to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// On a disk or in memory of this machine, as far as known.
    Local,
    /// NFS: locks and caches that the store cannot rely on.
    Nfs,
    /// SMB or CIFS.
    Smb,
    /// 9p: shares of virtual machines and WSL.
    NineP,
    /// A file system in user space: sshfs, and many others.
    Fuse,
}

impl FileSystem {
    /// Whether a store may not be kept there.
    pub fn is_refused(self) -> bool {
        self == Self::Nfs
    }
}

impl Tree {
    /// The kind of file system that holds the root.
    ///
    /// # Errors
    /// `Io`.
    pub fn file_system(&self) -> Result<FileSystem> {
        let found = rustix::fs::fstatfs(self.root_fd())
            .map_err(|error| TreeError::new("look at", ".", error.into()))?;
        Ok(classify(&found))
    }

    /// Flushes the directory `rel`: names made, moved and removed in it are on the disk then.
    ///
    /// # Errors
    /// `Missing`, `Full`, `Io`.
    pub fn sync_dir(&self, rel: &RelPath) -> Result<()> {
        let dir = self.open_dir(rel)?;
        let shown = rel.to_string();
        self.calls()
            .sync_dir(dir.as_fd(), &shown)
            .map_err(|error| TreeError::new("flush", shown, error))
    }

    /// Flushes the whole file system of the root, for batches: everything staged, moved or made
    /// under [`super::Durability::Batch`] is on the disk then.
    ///
    /// # Errors
    /// `Full`, `Io`.
    pub fn sync_fs(&self) -> Result<()> {
        self.calls()
            .sync_fs(self.root_fd(), ".")
            .map_err(|error| TreeError::new("flush", ".", error))
    }
}

// The numbers are those of linux/magic.h; the field's type differs between machines.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(
    clippy::allow_attributes,
    clippy::unnecessary_cast,
    clippy::cast_sign_loss
)]
#[allow(clippy::cast_possible_truncation)]
fn classify(found: &rustix::fs::StatFs) -> FileSystem {
    match found.f_type as u32 {
        0x6969 => FileSystem::Nfs,
        0x517b | 0xfe53_4d42 | 0xff53_4d42 => FileSystem::Smb,
        0x0102_1997 => FileSystem::NineP,
        0x6573_5546 => FileSystem::Fuse,
        _ => FileSystem::Local,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[allow(
    clippy::allow_attributes,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast
)]
fn classify(found: &rustix::fs::StatFs) -> FileSystem {
    let name: Vec<u8> = found
        .f_fstypename
        .iter()
        .map(|&byte| byte as u8)
        .take_while(|&byte| byte != 0)
        .collect();
    match name.as_slice() {
        b"nfs" => FileSystem::Nfs,
        b"smbfs" => FileSystem::Smb,
        name if name.windows(4).any(|part| part == b"fuse") => FileSystem::Fuse,
        _ => FileSystem::Local,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{rel, wiki};
    use super::*;

    #[test]
    fn temporary_folder_is_a_file_system_that_is_not_refused() {
        let (_dir, tree) = wiki();
        assert!(!tree.file_system().unwrap().is_refused());
        assert!(FileSystem::Nfs.is_refused());
    }

    #[test]
    fn flushing_what_is_not_there_is_told() {
        let (_dir, tree) = wiki();
        tree.sync_dir(&RelPath::root()).unwrap();
        assert!(tree.sync_dir(&rel("none")).unwrap_err().is_missing());
        tree.sync_fs().unwrap();
    }
}
