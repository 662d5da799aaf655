//! Opening and creating the store's file, and beginning transactions on it.
//!
//! The file is shared by any number of processes (redb's `MultiWriter`: byte-range locks,
//! two-phase commits that record the allocator state, so that opening after a kill takes
//! milliseconds at any size). [`Concurrency::Exclusive`] is for file systems without such locks.
//! All processes must use the same mode.
//!
//! Invariants: nothing but [`Store::create`] initialises a file, and only an empty one; a store of
//! a newer schema is never written to; each transaction starts by comparing the open file with
//! the one at its path, and by reading `meta`.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use redb::backends::InMemoryBackend;
use redb::{Builder, ConcurrencyMode, Database, ReadOnlyDatabase, ReadableDatabase};

use super::backend::{BackendFaults, StoreFile};
use super::batch::Batch;
use super::error::{StoreError, guard};
use super::index::{IndexCache, IndexSet};
use super::migrate;
use super::schema::{Meta, SCHEMA_KEY, SCHEMA_VERSION, STATE_KEY, SchemaRow, StateRow};
use super::snapshot::{OpenWrite, Snapshot, Txn, View};
use crate::tree::{Identity, StoreOpen, Tree};

/// Most memory that one handle keeps for pages.
const CACHE_BYTES: usize = 256 << 20;

/// What a handle is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading only: nothing is written, not even a repair. Opening costs no sync.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
}

/// How processes share the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// Any number of processes read and write.
    #[default]
    Shared,
    /// One process writes while no other has the file open.
    Exclusive,
}

impl Concurrency {
    /// Reads the value of `LLMWIKI_STORE_MODE`: `shared` or `exclusive`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "shared" => Some(Self::Shared),
            "exclusive" => Some(Self::Exclusive),
            _ => None,
        }
    }

    fn mode(self) -> ConcurrencyMode {
        match self {
            Self::Shared => ConcurrencyMode::MultiWriter,
            Self::Exclusive => ConcurrencyMode::ExclusiveWriter,
        }
    }
}

/// How to open a store.
#[derive(Clone, Default)]
pub struct StoreOptions {
    /// How processes share the file.
    pub concurrency: Concurrency,
    /// Most memory for pages, in bytes; the default when `None`.
    pub cache_bytes: Option<usize>,
    /// Fails chosen writes and syncs; for tests.
    pub faults: Option<Arc<dyn BackendFaults>>,
}

impl std::fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreOptions")
            .field("concurrency", &self.concurrency)
            .field("cache_bytes", &self.cache_bytes)
            .field("faults", &self.faults.is_some())
            .finish()
    }
}

impl StoreOptions {
    fn builder(&self) -> Builder {
        let mut builder = Builder::new();
        builder.set_concurrency_mode(self.concurrency.mode());
        builder.set_cache_size(self.cache_bytes.unwrap_or(CACHE_BYTES));
        builder
    }
}

/// What opening found.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "taken apart at once")]
pub enum Opened {
    /// A store that can be used.
    Ready(Store),
    /// No file.
    Absent,
    /// A writer was killed: open it once for writing, then retry.
    NeedsRepair,
    /// The file is no store, or not a whole one; the reason in words.
    Damaged(String),
    /// A newer version wrote it, with this schema.
    TooNew(u32),
}

enum Handle {
    ReadOnly(ReadOnlyDatabase),
    ReadWrite(Database),
}

/// An open store. Any number of snapshots and one batch at a time may live on it.
pub struct Store {
    /// `None` only while it is closed.
    handle: Option<Handle>,
    tree: Tree,
    /// Name of the file in `.store`.
    name: String,
    place: Place,
    identity: Identity,
    options: StoreOptions,
    caches: [IndexCache; 2],
}

/// Where the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the file at the store's path.
    File,
    /// In memory, for as long as the file at the path, if any, is this one.
    Memory { instead_of: Option<Identity> },
}

/// A device that no file is on, for the identities of stores in memory.
const MEMORY_DEVICE: u64 = u64::MAX;
static MEMORY_STORES: AtomicU64 = AtomicU64::new(0);

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("access", &self.access())
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store file `name` of a tree (`tree::STORE_FILE`).
    ///
    /// Opening for reading writes nothing and costs no sync. Opening for writing repairs what a
    /// killed writer left, waits for a writer that is at work, and writes on closing.
    ///
    /// # Errors
    /// [`StoreError`] where the file is not at fault: it is in use, the disk fails, access is
    /// refused. What the file itself says is in [`Opened`].
    pub fn open(
        tree: &Tree,
        name: &str,
        access: Access,
        options: &StoreOptions,
    ) -> Result<Opened, StoreError> {
        match Self::try_open(tree, name, access, options) {
            Ok(Some(store)) => Ok(Opened::Ready(store)),
            Ok(None) => Ok(Opened::Absent),
            Err(StoreError::NeedsRepair) => Ok(Opened::NeedsRepair),
            Err(StoreError::Damaged { what }) => Ok(Opened::Damaged(what)),
            Err(StoreError::TooNew { found, .. }) => Ok(Opened::TooNew(found)),
            Err(error) => Err(error),
        }
    }

    fn try_open(
        tree: &Tree,
        name: &str,
        access: Access,
        options: &StoreOptions,
    ) -> Result<Option<Self>, StoreError> {
        let how = match access {
            Access::ReadOnly => StoreOpen::ReadOnly,
            Access::ReadWrite => StoreOpen::ReadWrite,
        };
        let Some(found) = tree.store_file(name, how)? else {
            return Ok(None);
        };
        if found.size == 0 {
            // redb would make an empty wiki of it.
            return Err(StoreError::damaged("the file is empty"));
        }
        let handle = match access {
            Access::ReadOnly => Self::open_to_read(found.file, options)?,
            Access::ReadWrite => {
                // Opening for writing writes. A look first keeps a newer store untouched; one that
                // needs a repair cannot be looked at, and its repair changes no row.
                let again = guard(|| Ok(found.file.try_clone()?))?;
                match Self::open_to_read(again, options) {
                    Ok(look) => drop(meta_of(&look)?),
                    Err(StoreError::NeedsRepair) => {}
                    Err(error) => return Err(error),
                }
                guard(|| {
                    let backend = StoreFile::new(found.file, options.faults.clone())?;
                    Ok(Handle::ReadWrite(
                        options.builder().create_with_backend(backend)?,
                    ))
                })?
            }
        };
        let store = Self::with(handle, tree, name, found.identity, options);
        store.meta_now()?;
        Ok(Some(store))
    }

    fn open_to_read(file: File, options: &StoreOptions) -> Result<Handle, StoreError> {
        guard(|| {
            let backend = StoreFile::new(file, None)?;
            Ok(Handle::ReadOnly(
                options.builder().open_read_only_with_backend(backend)?,
            ))
        })
    }

    fn with(
        handle: Handle,
        tree: &Tree,
        name: &str,
        identity: Identity,
        options: &StoreOptions,
    ) -> Self {
        Self {
            handle: Some(handle),
            tree: tree.clone(),
            name: name.to_owned(),
            place: Place::File,
            identity,
            options: options.clone(),
            caches: Default::default(),
        }
    }

    /// Makes a new store in the file `name` of a tree, which must not exist, and opens it.
    ///
    /// A crash in the middle leaves a file that opens as `Damaged`: make a store as
    /// `tree::STORE_FILE_NEW` and rename it into place, then say so with [`Store::renamed`].
    ///
    /// # Errors
    /// [`StoreError`]; also when the file exists.
    pub fn create(
        tree: &Tree,
        name: &str,
        meta: &Meta,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let Some(made) = tree.store_file(name, StoreOpen::CreateNew)? else {
            return Err(StoreError::Misuse {
                what: "a new store file is absent".to_owned(),
            });
        };
        let handle = guard(|| {
            let backend = StoreFile::new(made.file, options.faults.clone())?;
            Ok(Handle::ReadWrite(
                options.builder().create_with_backend(backend)?,
            ))
        })?;
        let store = Self::with(handle, tree, name, made.identity, options);
        store.fill(meta)?;
        Ok(store)
    }

    /// Makes a new store in memory, which stands for the one at `name` where that cannot be made
    /// or written. Nothing of it outlives the handle.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn in_memory(
        tree: &Tree,
        name: &str,
        meta: &Meta,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let instead_of = tree.store_identity(name)?;
        // Nobody shares it, and the backend has no locks.
        let options = StoreOptions {
            concurrency: Concurrency::Exclusive,
            ..options.clone()
        };
        let handle = guard(|| {
            let backend = InMemoryBackend::new();
            Ok(Handle::ReadWrite(
                options.builder().create_with_backend(backend)?,
            ))
        })?;
        let identity = Identity {
            device: MEMORY_DEVICE,
            inode: MEMORY_STORES.fetch_add(1, Ordering::Relaxed),
        };
        let mut store = Self::with(handle, tree, name, identity, &options);
        store.place = Place::Memory { instead_of };
        store.fill(meta)?;
        Ok(store)
    }

    /// Makes the tables of an empty store.
    fn fill(&self, meta: &Meta) -> Result<(), StoreError> {
        let txn = self.begin_write()?;
        guard(|| migrate::create_tables(&txn))?;
        // Against this state every row of `meta` is new, so the commit writes them all.
        let nothing = Meta {
            schema_version: 0,
            ..Meta::new(String::new(), [0; 16])
        };
        let mut batch = Batch::new(OpenWrite::new(txn), nothing);
        *batch.meta_mut() = Meta {
            schema_version: SCHEMA_VERSION,
            ..meta.clone()
        };
        batch.commit()?;
        Ok(())
    }

    /// After [`Batch::commit`] failed: whether its commit stands all the same, and the state that
    /// it made. Opens the file anew, since this handle is of no use after such a failure. No other
    /// process may have written since, which the lock of the root sees to.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be opened either: then nobody can tell yet.
    pub fn landed(&self, commit_number: u64) -> Result<Option<Meta>, StoreError> {
        let again = Self::try_open(&self.tree, &self.name, Access::ReadWrite, &self.options)?;
        match again {
            Some(again) if again.identity == self.identity => {
                Ok(Some(again.meta_now()?).filter(|meta| meta.commits >= commit_number))
            }
            _ => Err(StoreError::Moved),
        }
    }

    /// What the handle is for.
    pub fn access(&self) -> Access {
        match self.handle {
            Some(Handle::ReadWrite(_)) => Access::ReadWrite,
            _ => Access::ReadOnly,
        }
    }

    /// Whether the rows are in memory only.
    pub fn is_in_memory(&self) -> bool {
        self.place != Place::File
    }

    /// Device and inode of the open file; of a store in memory, what no file has.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Says that the file has another name in `.store` now.
    pub fn renamed(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Whether the open file is still the one at the store's path.
    ///
    /// # Errors
    /// [`StoreError`] when the path cannot be looked at.
    pub fn is_current(&self) -> Result<bool, StoreError> {
        let there = self.tree.store_identity(&self.name)?;
        Ok(match self.place {
            Place::File => there == Some(self.identity),
            Place::Memory { instead_of } => there == instead_of,
        })
    }

    fn check_current(&self) -> Result<(), StoreError> {
        if self.is_current()? {
            Ok(())
        } else {
            Err(StoreError::Moved)
        }
    }

    fn handle(&self) -> Result<&Handle, StoreError> {
        self.handle.as_ref().ok_or(StoreError::Closed)
    }

    /// What the store says about itself now, whatever file is at its path.
    ///
    /// # Errors
    /// [`StoreError`]; `TooNew` for a newer schema.
    pub fn meta_now(&self) -> Result<Meta, StoreError> {
        meta_of(self.handle()?)
    }

    /// Begins to read. The state stays as it is now for as long as the snapshot lives.
    ///
    /// # Errors
    /// `Moved` when the file at the path is another, `TooNew` and `TooOld` for other schemas,
    /// and any other [`StoreError`].
    pub fn read(&self) -> Result<Snapshot, StoreError> {
        self.check_current()?;
        let view = begin_read(self.handle()?)?;
        if view.meta.schema_version < SCHEMA_VERSION {
            let found = view.meta.schema_version;
            return Err(StoreError::TooOld {
                found,
                ours: SCHEMA_VERSION,
            });
        }
        Ok(Snapshot::new(view))
    }

    /// Begins to write; waits while another process is inside a write transaction. A store of an
    /// older schema is migrated inside the transaction.
    ///
    /// # Errors
    /// As for [`Store::read`], and `Misuse` for a handle that was opened for reading.
    pub fn write(&self) -> Result<Batch, StoreError> {
        self.check_current()?;
        let txn = self.begin_write()?;
        let mut view = View::new(
            Txn::Write(OpenWrite::new(txn)),
            Meta::new(String::new(), [0; 16]),
        );
        let meta = load_meta(&view)?;
        let found = meta.schema_version;
        if found < SCHEMA_VERSION {
            guard(|| migrate::up(view.write_txn()?, found))?;
        }
        // The file may have been moved aside while this waited for the other writer.
        self.check_current()?;
        let txn = view.take_write()?;
        let mut batch = Batch::new(OpenWrite::new(txn), meta);
        batch.meta_mut().schema_version = SCHEMA_VERSION;
        Ok(batch)
    }

    fn begin_write(&self) -> Result<redb::WriteTransaction, StoreError> {
        match self.handle()? {
            Handle::ReadWrite(database) => guard(|| {
                let mut txn = database.begin_write()?;
                // Shared mode does both by itself; so that a killed writer never costs a scan of
                // the whole file, exclusive mode does too.
                txn.set_two_phase_commit(true);
                txn.set_quick_repair(true);
                Ok(txn)
            }),
            Handle::ReadOnly(_) => Err(StoreError::Misuse {
                what: "a write on a read-only handle".to_owned(),
            }),
        }
    }

    /// Checks every page and every checksum of the file, and repairs what redb can repair. Reads
    /// the whole file; no transaction may be open on this handle.
    ///
    /// # Errors
    /// `Damaged` when the file is beyond repair.
    pub fn check_integrity(&mut self) -> Result<bool, StoreError> {
        match self.handle.as_mut() {
            Some(Handle::ReadWrite(database)) => guard(|| Ok(database.check_integrity()?)),
            _ => Err(StoreError::Misuse {
                what: "a check on a read-only handle".to_owned(),
            }),
        }
    }

    /// Gives unused space back to the file system. No transaction may be open in any process.
    /// Answers whether anything was moved.
    ///
    /// # Errors
    /// `Busy` while a transaction is open.
    pub fn compact(&mut self) -> Result<bool, StoreError> {
        match self.handle.as_mut() {
            Some(Handle::ReadWrite(database)) => guard(|| match database.compact() {
                Ok(moved) => Ok(moved),
                Err(redb::CompactionError::Storage(error)) => Err(error.into()),
                Err(error) => Err(StoreError::Busy {
                    why: error.to_string(),
                }),
            }),
            _ => Err(StoreError::Misuse {
                what: "compaction on a read-only handle".to_owned(),
            }),
        }
    }

    /// Closes the file, which dropping does as well, and says what went wrong.
    ///
    /// # Errors
    /// [`StoreError`]; every commit is safe all the same.
    pub fn close(mut self) -> Result<(), StoreError> {
        match self.handle.take() {
            Some(handle) => guard(|| close(handle)),
            None => Ok(()),
        }
    }

    /// What searches through this handle keep of an index between them.
    pub fn index_cache(&self, set: IndexSet) -> &IndexCache {
        &self.caches[set as usize]
    }

    /// The options it was opened with.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let _ = guard(|| close(handle));
        }
    }
}

fn close(handle: Handle) -> Result<(), StoreError> {
    match handle {
        Handle::ReadOnly(database) => Ok(database.close()?),
        Handle::ReadWrite(database) => Ok(database.close()?),
    }
}

fn begin_read(handle: &Handle) -> Result<View, StoreError> {
    let txn = guard(|| {
        Ok(match handle {
            Handle::ReadOnly(database) => database.begin_read()?,
            Handle::ReadWrite(database) => database.begin_read()?,
        })
    })?;
    let mut view = View::read(txn, Meta::new(String::new(), [0; 16]));
    view.meta = load_meta(&view)?;
    Ok(view)
}

fn meta_of(handle: &Handle) -> Result<Meta, StoreError> {
    begin_read(handle).map(|view| view.meta.clone())
}

/// Reads the rows of `meta`. The schema comes first: the state row of a newer schema is not read.
fn load_meta(view: &View) -> Result<Meta, StoreError> {
    let missing = |what: &str| StoreError::damaged(format!("the store does not say its {what}"));
    let schema: SchemaRow = view
        .get(SCHEMA_KEY)?
        .ok_or_else(|| missing("schema version"))?;
    if schema.version > SCHEMA_VERSION {
        return Err(StoreError::TooNew {
            found: schema.version,
            ours: SCHEMA_VERSION,
        });
    }
    if schema.version == 0 {
        return Err(StoreError::damaged("the store says schema version 0"));
    }
    let state: StateRow = view.get(STATE_KEY)?.ok_or_else(|| missing("state"))?;
    Ok(Meta::from_rows(&schema, state))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "tests move files behind our back"
)]
mod tests {
    use super::*;
    use crate::store::testing::Place;

    #[test]
    fn what_is_committed_is_read_by_every_handle_and_the_rest_by_none() {
        let place = Place::new();
        let store = place.create();
        let before = store.read().unwrap();
        let mut batch = store.write().unwrap();
        let hash = batch.put_blob(b"hello").unwrap();
        assert!(batch.has_blob(&hash).unwrap());
        batch.commit().unwrap();
        let mut dropped = store.write().unwrap();
        let gone = dropped.put_blob(b"gone").unwrap();
        drop(dropped);

        assert_eq!(before.blob(&hash).unwrap(), None);
        let reader = place.ready(Access::ReadOnly);
        for snapshot in [store.read().unwrap(), reader.read().unwrap()] {
            assert_eq!(snapshot.blob(&hash).unwrap().unwrap(), b"hello");
            assert_eq!(snapshot.blob(&gone).unwrap(), None);
        }
        // A read-only handle follows the commits of others.
        let mut batch = store.write().unwrap();
        let later = batch.put_blob(b"later").unwrap();
        batch.commit().unwrap();
        assert!(reader.read().unwrap().has_blob(&later).unwrap());
        assert!(matches!(reader.write(), Err(StoreError::Misuse { .. })));
    }

    #[test]
    fn two_handles_write_in_turn() {
        let place = Place::new();
        let first = place.create();
        let second = place.ready(Access::ReadWrite);
        for round in 0..5u8 {
            for store in [&first, &second] {
                let mut batch = store.write().unwrap();
                batch.new_section_id().unwrap();
                batch.put_blob(&[round]).unwrap();
                batch.commit().unwrap();
            }
        }
        assert_eq!(first.meta_now().unwrap().next_section, 10);
    }

    #[test]
    fn a_store_that_was_moved_or_replaced_is_noticed_by_the_next_transaction() {
        let place = Place::new();
        let store = place.create();
        let aside = place.path().with_extension("aside");
        std::fs::rename(place.path(), &aside).unwrap();
        assert!(matches!(store.read(), Err(StoreError::Moved)));
        assert!(matches!(store.write(), Err(StoreError::Moved)));
        std::fs::copy(&aside, place.path()).unwrap();
        assert!(matches!(store.write(), Err(StoreError::Moved)));
        std::fs::rename(&aside, place.path()).unwrap();
        assert!(store.read().is_ok());
    }

    #[test]
    fn an_empty_file_never_becomes_an_empty_wiki() {
        let place = Place::new();
        place.put(b"");
        for access in [Access::ReadOnly, Access::ReadWrite] {
            assert!(matches!(place.open(access), Opened::Damaged(_)));
        }
        assert_eq!(place.path().metadata().unwrap().len(), 0);
    }

    #[test]
    fn nothing_is_made_over_an_existing_store() {
        let place = Place::new();
        drop(place.create());
        assert!(place.create_with(&StoreOptions::default()).is_err());
        assert!(place.ready(Access::ReadOnly).read().is_ok());
    }

    #[test]
    fn a_newer_store_is_refused_and_not_touched() {
        let place = Place::new();
        let store = place.create();
        let mut batch = store.write().unwrap();
        batch
            .put(
                SCHEMA_KEY,
                &SchemaRow {
                    version: SCHEMA_VERSION + 1,
                },
            )
            .unwrap();
        batch.commit().unwrap();
        let newer = SCHEMA_VERSION + 1;
        // A handle that was open before the other version came.
        assert!(matches!(store.read(), Err(StoreError::TooNew { found, .. }) if found == newer));
        assert!(matches!(store.write(), Err(StoreError::TooNew { found, .. }) if found == newer));
        drop(store);
        let before = std::fs::read(place.path()).unwrap();
        for access in [Access::ReadOnly, Access::ReadWrite] {
            assert!(matches!(place.open(access), Opened::TooNew(found) if found == newer));
        }
        assert!(before == std::fs::read(place.path()).unwrap());
    }

    #[test]
    fn exclusive_mode_shuts_others_out() {
        let place = Place::new();
        let options = StoreOptions {
            concurrency: Concurrency::Exclusive,
            ..StoreOptions::default()
        };
        let store = place.create_with(&options).unwrap();
        let mut batch = store.write().unwrap();
        let hash = batch.put_blob(b"x").unwrap();
        batch.commit().unwrap();
        assert!(matches!(
            place.open_with(Access::ReadOnly, &options),
            Err(StoreError::Busy { .. })
        ));
        drop(store);
        let Opened::Ready(store) = place.open_with(Access::ReadOnly, &options).unwrap() else {
            panic!("not ready");
        };
        assert!(store.read().unwrap().has_blob(&hash).unwrap());
        drop(store);
        // The file is the same in both modes.
        assert!(
            place
                .ready(Access::ReadWrite)
                .read()
                .unwrap()
                .has_blob(&hash)
                .unwrap()
        );
    }
}
