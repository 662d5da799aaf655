//! What the tests of the store share: stores in a temporary tree, and records to put in them.

use std::path::PathBuf;

use super::{Access, Meta, Opened, Store, StoreError, StoreOptions};
use crate::id::PageId;
use crate::tree::{STORE_FILE, Tree};

/// A tree with a place for a store.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) tree: Tree,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::create(&folder.path().join("wiki")).unwrap();
        Self { folder, tree }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("wiki/.store").join(STORE_FILE)
    }

    /// Puts bytes where the store is.
    pub(crate) fn put(&self, bytes: &[u8]) {
        std::fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        std::fs::write(self.path(), bytes).unwrap();
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    pub(crate) fn create(&self) -> Store {
        self.create_with(&StoreOptions::default()).unwrap()
    }

    pub(crate) fn create_with(&self, options: &StoreOptions) -> Result<Store, StoreError> {
        Store::create(
            &self.tree,
            STORE_FILE,
            &Meta::new("standard", [1; 16]),
            options,
        )
    }

    pub(crate) fn open(&self, access: Access) -> Opened {
        self.open_with(access, &StoreOptions::default()).unwrap()
    }

    pub(crate) fn open_with(
        &self,
        access: Access,
        options: &StoreOptions,
    ) -> Result<Opened, StoreError> {
        Store::open(&self.tree, STORE_FILE, access, options)
    }

    pub(crate) fn ready(&self, access: Access) -> Store {
        match self.open(access) {
            Opened::Ready(store) => store,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn page(id: &str) -> PageId {
    PageId::parse(id).unwrap()
}
