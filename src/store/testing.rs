//! What the tests of the store share: stores in a temporary folder, and records to put in them.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Access, FileIdentity, Locator, Meta, Opened, Store, StoreError, StoreOptions};
use crate::id::PageId;

/// A folder with a place for a store.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("wiki.redb")
    }

    pub(crate) fn create(&self) -> Store {
        self.create_with(&StoreOptions::default()).unwrap()
    }

    pub(crate) fn create_with(&self, options: &StoreOptions) -> Result<Store, StoreError> {
        let path = self.path();
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        let meta = Meta::new("standard", [1; 16]);
        Store::create_file(file, &meta, options, locator(&path))
    }

    pub(crate) fn open(&self, access: Access) -> Opened {
        self.open_with(access, &StoreOptions::default()).unwrap()
    }

    pub(crate) fn open_with(
        &self,
        access: Access,
        options: &StoreOptions,
    ) -> Result<Opened, StoreError> {
        let path = self.path();
        Store::open_file(file(&path, access), access, options, locator(&path))
    }

    pub(crate) fn ready(&self, access: Access) -> Store {
        match self.open(access) {
            Opened::Ready(store) => store,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn file(path: &Path, access: Access) -> File {
    let write = access == Access::ReadWrite;
    OpenOptions::new().read(true).write(write).open(path).unwrap()
}

pub(crate) fn locator(path: &Path) -> Locator {
    let path = path.to_owned();
    Box::new(move || match path.symlink_metadata() {
        Ok(metadata) => {
            Ok(Some(FileIdentity { device: metadata.dev(), inode: metadata.ino() }))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    })
}

pub(crate) fn page(id: &str) -> PageId {
    PageId::parse(id).unwrap()
}
