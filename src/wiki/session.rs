//! Access to the store: [`Reading`] for one request, [`Writing`] for one piece of work under the
//! lock. Whoever comes first after a crash mends what it left over.
//!
//! Invariants: a write transaction lives only under the root's lock; nothing is parsed, sent or
//! waited for under it. A store that was moved aside or replaced under an open handle is opened
//! anew, never written to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use super::adopt::{self, Patience};
use super::put::{self, Note};
use super::reindex;
use super::root::{Made, Wiki};
use super::sources;
use super::status::SkippedFile;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, PageId};
use crate::search::Analysis;
use crate::store::{
    Access, Batch, Concurrency, How, IntentOp, IntentRecord, Meta, Opened, Snapshot, StampRecord,
    Store, StoreError, StoreOptions, View, salvage,
};
use crate::tree::{
    self, Durability, FileRead, RelPath, RootLock, STORE_FILE, STORE_FILE_NEW, Staged, Stamp, Tree,
    TreeError,
};

/// How long a write waits for the lock.
pub(super) const LOCK_WAIT: Duration = Duration::from_secs(10);
/// Staged files older than this that no intent names are nobody's: nothing is staged for longer
/// than a write takes.
pub(crate) const ABANDONED_NS: i64 = 600_000_000_000;
/// How often a request starts again because the store was replaced under it.
const REOPENS: u32 = 3;

/// An intent that was carried out, until its row is dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished {
    revision: u64,
    stamp: Option<StampRecord>,
}

/// One state of the wiki, for one request.
pub(super) struct Reading {
    pub(super) tree: Tree,
    /// The handle below the snapshot, with what it keeps between searches.
    pub(super) store: Arc<Store>,
    pub(super) snapshot: Snapshot,
    /// What built the index of the snapshot.
    pub(super) analysis: Analysis,
    /// Changes in the tree that the snapshot does not know.
    pub(super) pending: u64,
    /// What is kept out and not noted in the store.
    pub(super) misfits: Vec<SkippedFile>,
    /// A symbolic link below `pages` or `sources`, which is kept out too.
    pub(super) link: Option<TreeError>,
}

/// The lock, the tree and the store, for one piece of work.
pub(super) struct Writing<'w> {
    pub(super) wiki: &'w Wiki,
    pub(super) ctx: &'w Context,
    pub(super) tree: Tree,
    pub(super) store: Arc<Store>,
    pub(super) made: Made,
    /// What was lost when a damaged store had to be rebuilt just now.
    pub(super) lost: Vec<String>,
    lock: RootLock,
}

fn unpoisoned<T>(guard: std::result::Result<T, PoisonError<T>>) -> T {
    guard.unwrap_or_else(PoisonError::into_inner)
}

impl Wiki {
    pub(super) fn analysis(&self) -> Analysis {
        self.config().analysis
    }

    pub(crate) fn store_options(&self) -> StoreOptions {
        StoreOptions {
            concurrency: if self.config().exclusive_store {
                Concurrency::Exclusive
            } else {
                Concurrency::Shared
            },
            faults: self.store_faults.clone(),
            ..StoreOptions::default()
        }
    }

    fn cached(&self) -> MutexGuard<'_, Option<Arc<Store>>> {
        unpoisoned(self.store.lock())
    }

    /// The store as it is, opened for reading if it is not open yet.
    ///
    /// # Errors
    /// `STORE_TOO_NEW`, and those of the store that are not the file's fault.
    pub(super) fn look(&self, tree: &Tree) -> Result<Look> {
        for _ in 0..REOPENS {
            let known = self.cached().clone();
            let store = match known {
                Some(store) => store,
                None => {
                    match Store::open(tree, STORE_FILE, Access::ReadOnly, &self.store_options())? {
                        Opened::Ready(store) => {
                            let store = Arc::new(store);
                            Arc::clone(self.cached().get_or_insert(store))
                        }
                        Opened::Absent => return Ok(Look::Absent),
                        Opened::NeedsRepair => return Ok(Look::NeedsRepair),
                        Opened::Damaged(reason) => return Ok(Look::Damaged(reason)),
                        Opened::TooNew(found) => return Err(too_new(found).into()),
                    }
                }
            };
            match store.read() {
                Ok(snapshot) => return Ok(Look::Ready(store, snapshot)),
                Err(StoreError::TooOld { .. }) => return Ok(Look::TooOld),
                Err(StoreError::NeedsRepair) => {
                    self.forget(&store);
                    return Ok(Look::NeedsRepair);
                }
                Err(StoreError::Damaged { what }) => {
                    self.forget(&store);
                    return Ok(Look::Damaged(what));
                }
                Err(error) if error.wants_reopen() => self.forget(&store),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(
            ErrorCode::StoreBusy,
            "the store was replaced again and again",
        )
        .with_hint("try again when the other process is done"))
    }

    /// Drops the handle, whatever it is good for.
    pub(super) fn close(&self) {
        *self.cached() = None;
        unpoisoned(self.finished.lock()).clear();
    }

    /// Drops a handle that is no good any more.
    fn forget(&self, store: &Arc<Store>) {
        let mut cached = self.cached();
        if cached
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, store))
        {
            *cached = None;
        }
        unpoisoned(self.finished.lock()).clear();
    }

    /// The wiki as it is, after taking in what changed in the tree. Where that cannot be done now
    /// (somebody else is writing, the disk is read-only) the answer is from the store as it is,
    /// and says how much it does not know; where there is no store and none can be made, from one
    /// in memory. What the answer does not hold is told to the person.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`.
    pub(super) fn reading(&self, ctx: &Context) -> Result<Reading> {
        let reading = self.reading_untold(ctx)?;
        if let Some(link) = &reading.link {
            ctx.notice(&format!("{link}; it is left out"));
        }
        reading.tell(ctx);
        Ok(reading)
    }

    /// As [`Wiki::reading`], for an answer that speaks of the whole wiki.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; `UNSAFE_FILESYSTEM` for a symbolic link below `pages` or `sources`.
    pub(super) fn reading_whole(&self, ctx: &Context) -> Result<Reading> {
        let mut reading = self.reading_untold(ctx)?;
        match reading.link.take() {
            Some(link) => Err(link.into()),
            None => {
                reading.tell(ctx);
                Ok(reading)
            }
        }
    }

    fn reading_untold(&self, ctx: &Context) -> Result<Reading> {
        ctx.check()?;
        let tree = self.tree()?;
        let mut behind = None;
        if let Look::Ready(store, snapshot) = self.look(&tree)? {
            let analysis = analysis_of(&snapshot)?;
            let is_ours = is_built_by(&snapshot, self.analysis());
            let difference = adopt::scan(&tree, &snapshot)?;
            let pending = difference.count();
            let tree = tree.clone();
            let reading = Reading {
                tree,
                store,
                snapshot,
                analysis,
                pending,
                misfits: difference.misfits,
                link: difference.link,
            };
            if pending == 0 && !difference.is_stale && is_ours {
                return Ok(reading);
            }
            behind = Some(reading);
        }
        // Answering late is worse than answering without what came in just now.
        let wait = if behind.is_some() {
            Duration::ZERO
        } else {
            LOCK_WAIT
        };
        let adopted = self
            .writing_for(ctx, tree.clone(), Made::default(), wait)
            .and_then(|writing| writing.reading());
        match (adopted, behind) {
            (Err(error), Some(behind)) if may_answer_without_writing(&error) => Ok(behind),
            (Err(error), None) if is_unwritable(&error) => self.reading_in_memory(ctx, &tree),
            (adopted, _) => adopted,
        }
    }

    /// An answer where no store can be made: from one that is built in memory and stays with this
    /// handle, so that a server builds it once.
    fn reading_in_memory(&self, ctx: &Context, tree: &Tree) -> Result<Reading> {
        let lock = tree.lock(LOCK_WAIT, ctx)?;
        self.build_in_memory(ctx, tree, lock)
    }

    /// The wiki as it is, for somebody whose wiki it is not: nothing is adopted, mended or migrated.
    /// Where its store cannot be read as it is, its files are read into one in memory.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_TOO_NEW`, `UNSAFE_FILESYSTEM`.
    pub(super) fn reading_untouched(&self, ctx: &Context) -> Result<Reading> {
        ctx.check()?;
        let tree = self.tree()?;
        let Look::Ready(store, snapshot) = self.look(&tree)? else {
            let lock = tree.lock_to_look(LOCK_WAIT, ctx)?;
            return self.build_in_memory(ctx, &tree, lock);
        };
        let difference = adopt::scan(&tree, &snapshot)?;
        Ok(Reading {
            analysis: analysis_of(&snapshot)?,
            pending: difference.count(),
            misfits: difference.misfits,
            link: difference.link,
            tree,
            store,
            snapshot,
        })
    }

    fn build_in_memory(&self, ctx: &Context, tree: &Tree, lock: RootLock) -> Result<Reading> {
        let meta = Meta::new(self.analysis().label(), ctx.replica());
        let store = Store::in_memory(tree, STORE_FILE, &meta, &self.store_options())?;
        let writing = Writing {
            wiki: self,
            ctx,
            tree: tree.clone(),
            store: Arc::new(store),
            made: Made::default(),
            lost: Vec::new(),
            lock,
        };
        let reading = writing.reading()?;
        *self.cached() = Some(Arc::clone(&reading.store));
        Ok(reading)
    }

    /// Drops a store in memory: what is to be written goes into a file, or nowhere.
    fn forget_memory(&self) {
        let known = self.cached().clone();
        if let Some(store) = known.filter(|store| store.is_in_memory()) {
            self.forget(&store);
        }
    }

    /// The lock, and a wiki that is made or completed where needed.
    ///
    /// # Errors
    /// `STORE_BUSY`, `STORE_TOO_NEW`, `UNSAFE_FILESYSTEM`, `STORE_FULL`.
    pub(super) fn writing<'w>(&'w self, ctx: &'w Context) -> Result<Writing<'w>> {
        ctx.check()?;
        self.forget_memory();
        let (tree, made) = self.make_tree()?;
        self.writing_for(ctx, tree, made, LOCK_WAIT)
    }

    /// The lock on a wiki that must be there.
    ///
    /// # Errors
    /// As [`Wiki::writing`], and `NOT_INITIALIZED`.
    pub(super) fn writing_existing<'w>(&'w self, ctx: &'w Context) -> Result<Writing<'w>> {
        ctx.check()?;
        self.forget_memory();
        let tree = self.tree()?;
        self.writing_for(ctx, tree, Made::default(), LOCK_WAIT)
    }

    pub(super) fn writing_for<'w>(
        &'w self,
        ctx: &'w Context,
        tree: Tree,
        made: Made,
        wait: Duration,
    ) -> Result<Writing<'w>> {
        if tree.file_system()?.is_refused() && !self.config().exclusive_store {
            return Err(Error::new(
                ErrorCode::UnsafeFilesystem,
                format!("{} is on a network file system", tree.path().display()),
            )
            .with_hint(
                "keep the wiki on a local disk and share it with git; if only one machine ever \
                 uses it, set LLMWIKI_STORE_MODE=exclusive",
            ));
        }
        let lock = tree.lock(wait, ctx)?;
        let known = self.cached().clone();
        if let Some(store) = known {
            if store.access() == Access::ReadWrite && store.is_current()? {
                return self.begin(ctx, tree, made, lock, store, Vec::new());
            }
            self.forget(&store);
        }
        let options = self.store_options();
        let (store, lost) = match Store::open(&tree, STORE_FILE, Access::ReadWrite, &options)? {
            Opened::Ready(store) => (store, Vec::new()),
            Opened::TooNew(found) => return Err(too_new(found).into()),
            Opened::NeedsRepair => return Err(StoreError::NeedsRepair.into()),
            // Seen under the lock, so nobody is just making it.
            Opened::Absent => {
                let building = self.build(ctx, &tree, lock, &options, None)?;
                return self.take_place(ctx, tree, made, building, &options);
            }
            Opened::Damaged(reason) => {
                let building = self.build(ctx, &tree, lock, &options, Some(reason))?;
                return self.take_place(ctx, tree, made, building, &options);
            }
        };
        self.begin(ctx, tree, made, lock, Arc::new(store), lost)
    }

    fn begin<'w>(
        &'w self,
        ctx: &'w Context,
        tree: Tree,
        made: Made,
        lock: RootLock,
        store: Arc<Store>,
        lost: Vec<String>,
    ) -> Result<Writing<'w>> {
        let before = self.cached().replace(Arc::clone(&store));
        let is_new = before.is_none_or(|before| !Arc::ptr_eq(&before, &store));
        let writing = Writing {
            wiki: self,
            ctx,
            tree,
            store,
            made,
            lost,
            lock,
        };
        if !writing.lost.is_empty() {
            ctx.notice(&writing.lost.join("; "));
        }
        writing.settle()?;
        if is_new {
            writing.sweep(tree::now_ns().saturating_sub(ABANDONED_NS))?;
        }
        let snapshot = writing.store.read()?;
        analysis_of(&snapshot)?;
        if !is_built_by(&snapshot, self.analysis()) {
            drop(snapshot);
            reindex::change_analysis(&writing)?;
        }
        Ok(writing)
    }

    /// Makes a store beside the place where it will be: what a damaged one still holds, then what
    /// the tree holds. The old file is not touched.
    pub(super) fn build<'w>(
        &'w self,
        ctx: &'w Context,
        tree: &Tree,
        lock: RootLock,
        options: &StoreOptions,
        damage: Option<String>,
    ) -> Result<Building<'w>> {
        tree.remove_store(STORE_FILE_NEW)?;
        let meta = Meta::new(self.analysis().label(), ctx.replica());
        let store = Store::create(tree, STORE_FILE_NEW, &meta, options)?;
        let mut lost = Vec::new();
        if let Some(reason) = damage {
            tracing::warn!(%reason, "the store is damaged and is built anew");
            lost.push(format!("the store was damaged: {reason}"));
            let mut in_tree = |hash| sources::bytes_in_tree(tree, hash);
            lost.extend(salvage(tree, STORE_FILE, &store, &mut in_tree, ctx)?.lost);
        }
        let writing = Writing {
            wiki: self,
            ctx,
            tree: tree.clone(),
            store: Arc::new(store),
            made: Made::default(),
            lost,
            lock,
        };
        adopt::adopt(&writing, Patience::None)?;
        Ok(Building { writing })
    }

    /// Puts a store that was built into its place. A damaged one is kept beside it.
    pub(super) fn take_place<'w>(
        &'w self,
        ctx: &'w Context,
        tree: Tree,
        made: Made,
        building: Building<'w>,
        options: &StoreOptions,
    ) -> Result<Writing<'w>> {
        let Writing {
            store,
            mut lost,
            lock,
            ..
        } = building.writing;
        // Closing it writes the last word on its state.
        drop(store);
        if tree.store_stat(STORE_FILE)?.is_some() {
            let keep = free_name(
                &tree,
                &format!("{STORE_FILE}.bad-{}", ctx.now().as_millisecond()),
            )?;
            tree.replace_store(STORE_FILE_NEW, STORE_FILE, &keep)?;
            lost.push(format!("the damaged file is kept as .store/{keep}"));
        } else {
            tree.rename_store(STORE_FILE_NEW, STORE_FILE)?;
        }
        unpoisoned(self.finished.lock()).clear();
        match Store::open(&tree, STORE_FILE, Access::ReadWrite, options)? {
            Opened::Ready(store) => self.begin(ctx, tree, made, lock, Arc::new(store), lost),
            _ => Err(Error::new(
                ErrorCode::IndexCorrupt,
                "the store cannot be read right after it was built",
            )
            .with_hint("check the disk, then run `llmwiki reindex`")),
        }
    }
}

/// This name of a store file, or one like it that is free: two may be damaged at the same moment,
/// where the clock stands still.
fn free_name(tree: &Tree, name: &str) -> Result<String> {
    let mut free = name.to_owned();
    let mut number = 1;
    while tree.store_stat(&free)?.is_some() {
        number += 1;
        free = format!("{name}-{number}");
    }
    Ok(free)
}

/// A store under construction.
pub(super) struct Building<'w> {
    writing: Writing<'w>,
}

/// What [`Wiki::look`] found.
#[expect(
    clippy::large_enum_variant,
    reason = "one a request, and nearly always the large one"
)]
pub(super) enum Look {
    Ready(Arc<Store>, Snapshot),
    Absent,
    NeedsRepair,
    TooOld,
    Damaged(String),
}

fn too_new(found: u32) -> StoreError {
    StoreError::TooNew {
        found,
        ours: crate::store::SCHEMA_VERSION,
    }
}

/// The analysis that built the index of a store.
///
/// # Errors
/// `STORE_TOO_NEW` for an analysis, or a revision of one, that this version does not have: an
/// index is never made anew downwards.
pub(super) fn analysis_of(view: &View) -> Result<Analysis> {
    let label = view.meta().analysis.as_str();
    let (name, revision) = label.split_once(' ').unwrap_or((label, "1"));
    Analysis::parse(name)
        .filter(|known| {
            revision
                .parse()
                .is_ok_and(|revision: u32| revision <= known.revision())
        })
        .ok_or_else(|| {
            Error::new(
                ErrorCode::StoreTooNew,
                format!("the store has the unknown analysis {label:?}"),
            )
            .with_hint("use the version of llmwiki that wrote it, or a newer one")
        })
}

/// Whether the index of a store is what this analysis makes.
pub(super) fn is_built_by(view: &View, analysis: Analysis) -> bool {
    view.meta().analysis == analysis.label()
}

/// Whether a read can go on without the write that failed.
pub(super) fn may_answer_without_writing(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::StoreBusy | ErrorCode::StoreFull) || is_unwritable(error)
}

/// Whether a write failed because nothing may be written here at all.
fn is_unwritable(error: &Error) -> bool {
    use std::error::Error as _;
    let Some(source) = error.source() else {
        return false;
    };
    let tree = source.downcast_ref::<TreeError>();
    let store = source.downcast_ref::<StoreError>();
    tree.is_some_and(TreeError::is_unwritable)
        || match store {
            Some(StoreError::Denied { .. }) => true,
            Some(StoreError::Tree(cause)) => cause.is_unwritable(),
            _ => false,
        }
}

impl Reading {
    /// Tells what this answer does not know, and what it is made from where that is unusual.
    fn tell(&self, ctx: &Context) {
        if self.store.is_in_memory() {
            ctx.notice(
                "nothing can be written here: the index is made in memory, for this process alone",
            );
        }
        match self.pending {
            0 => {}
            1 => ctx.notice("1 change in the files could not be taken in yet"),
            more => ctx.notice(&format!(
                "{more} changes in the files could not be taken in yet"
            )),
        }
    }

    /// Every file that is kept out, in path order.
    pub(super) fn skipped(&self) -> Result<Vec<SkippedFile>> {
        let mut files: BTreeMap<String, SkippedFile> = BTreeMap::new();
        for row in self.snapshot.skipped() {
            let (path, why) = row?;
            let path = tree::escape(&path);
            let file = SkippedFile {
                path: path.clone(),
                code: why.code,
                reason: why.message,
            };
            files.insert(path, file);
        }
        // What was seen just now is newer than what was noted.
        for file in &self.misfits {
            files.insert(file.path.clone(), file.clone());
        }
        Ok(files.into_values().collect())
    }
}

impl Writing<'_> {
    /// Takes in what changed in the tree, and reads what came of it.
    fn reading(&self) -> Result<Reading> {
        let adopted = adopt::adopt(self, Patience::Waits)?;
        let snapshot = self.store.read()?;
        Ok(Reading {
            tree: self.tree.clone(),
            store: Arc::clone(&self.store),
            analysis: analysis_of(&snapshot)?,
            snapshot,
            pending: adopted.pending,
            misfits: adopted.misfits,
            link: adopted.link,
        })
    }

    pub(super) fn analysis(&self) -> Analysis {
        self.wiki.analysis()
    }

    pub(super) fn note<'a>(&'a self, how: How, message: &'a str) -> Note<'a> {
        Note::new(self.ctx, how, &self.wiki.config().actor, message)
    }

    /// A write transaction. It drops the rows of intents that were carried out.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) fn batch(&self) -> Result<Batch> {
        let mut batch = self.store.write()?;
        for (path, done) in unpoisoned(self.wiki.finished.lock()).iter() {
            let row = batch.intent(path.as_bytes())?;
            if row.is_some_and(|row| row.revision == done.revision) {
                batch.remove_intent(path.as_bytes())?;
                // Without a stamp it was changed or taken away meanwhile: the next look decides.
                if let Some(stamp) = &done.stamp {
                    batch.put_stamp(path.as_bytes(), stamp)?;
                }
            }
        }
        Ok(batch)
    }

    /// Commits, and forgets the intents whose rows are gone.
    ///
    /// # Errors
    /// Those of the store; then nothing was written.
    pub(super) fn commit(&self, batch: Batch) -> Result<Meta> {
        let finished: Vec<RelPath> = unpoisoned(self.wiki.finished.lock())
            .keys()
            .cloned()
            .collect();
        let number = batch.commit_number();
        let meta = match batch.commit() {
            Ok(meta) => meta,
            // A disk that fails at the very end may leave a commit that stands.
            Err(error) => {
                let landed = self.store.landed(number);
                self.wiki.forget(&self.store);
                match landed {
                    Ok(Some(meta)) => meta,
                    _ => return Err(error.into()),
                }
            }
        };
        let mut left = unpoisoned(self.wiki.finished.lock());
        for path in finished {
            left.remove(&path);
        }
        Ok(meta)
    }

    /// Notes that an intent was carried out.
    pub(super) fn finish(&self, path: &RelPath, revision: u64, stamp: Option<StampRecord>) {
        let done = Finished { revision, stamp };
        unpoisoned(self.wiki.finished.lock()).insert(path.clone(), done);
    }

    /// Carries out what earlier commits still owe the tree.
    fn settle(&self) -> Result<()> {
        let owed: Vec<(Vec<u8>, IntentRecord)> =
            self.store.read()?.intents().collect::<Result<_, _>>()?;
        for (path, intent) in owed {
            let path = RelPath::new(path)?;
            let known = unpoisoned(self.wiki.finished.lock())
                .get(&path)
                .is_some_and(|done| done.revision == intent.revision);
            if !known {
                self.redo(&path, &intent)?;
            }
        }
        Ok(())
    }

    /// Removes what killed writers staged before this moment of the file clock and never promised.
    /// Once a handle, under the lock: what is staged then belongs to an intent, or is being made
    /// outside the lock by a writer that lives, or is nobody's.
    ///
    /// What was taken out of the tree may be a text that a person saved into a deletion. It goes
    /// only when the store has it too.
    fn sweep(&self, before_ns: i64) -> Result<()> {
        let entries = self.tree.list_staged()?;
        if entries.is_empty() {
            return Ok(());
        }
        let view = self.store.read()?;
        let promised: BTreeSet<String> = view
            .intents()
            .map(|row| row.map(|(_, intent)| intent.staged))
            .collect::<Result<_, _>>()?;
        for entry in entries {
            let is_young = entry.stamp.ctime_ns >= before_ns;
            if is_young || promised.contains(entry.staged.name()) {
                continue;
            }
            if entry.staged.was_taken_out() {
                let Ok(Some(file)) = self.tree.read(&entry.staged.path(), MAX_KEPT_BYTES) else {
                    continue;
                };
                if !view.has_blob(&ContentHash::of(&file.bytes))? {
                    continue;
                }
            }
            self.tree.remove_staged(&entry.staged)?;
        }
        Ok(())
    }

    /// Does what one intent still owes. Anything that is neither its old nor its new file is a
    /// person's edit, and stays.
    fn redo(&self, path: &RelPath, intent: &IntentRecord) -> Result<()> {
        let staged = match intent.staged.as_str() {
            "" => None,
            name => Some(Staged::from_name(name)?),
        };
        let there = self.read_page_file(path)?;
        let there_hash = there.as_ref().map(|file| ContentHash::of(&file.bytes));
        let untouched = match &there {
            None => intent.old.is_none(),
            Some(file) => {
                there_hash == intent.old
                    && file.stamp.inode == intent.old_inode
                    && file.stamp.mtime_ns == intent.old_mtime_ns
                    && file.stamp.size == intent.old_size
            }
        };
        tracing::debug!(path = %path, untouched, "redoing an unfinished change");
        match intent.op {
            IntentOp::Put if there_hash == intent.new => {
                self.keep_displaced(path, intent, staged.as_ref())?;
                let stamp = there
                    .as_ref()
                    .zip(intent.new)
                    .map(|(file, hash)| stamp_record(&file.stamp, file.seen_ns, hash));
                self.finish(path, intent.revision, stamp);
            }
            IntentOp::Put if untouched => {
                let Some(hash) = intent.new else {
                    return Ok(());
                };
                let ready = match &staged {
                    Some(staged) => self.read_page_file(&staged.path())?,
                    None => None,
                };
                let staged = match (staged, ready) {
                    (Some(staged), Some(file)) if ContentHash::of(&file.bytes) == hash => staged,
                    // The staged file went into place and a person took it away since: a new
                    // page has no old file by which to tell, but its staged one is gone.
                    _ if intent.old.is_none() => {
                        self.finish(path, intent.revision, None);
                        return Ok(());
                    }
                    _ => {
                        let text =
                            self.store
                                .read()?
                                .blob(&hash)?
                                .ok_or_else(|| StoreError::Damaged {
                                    what: format!("the text of {path} is missing"),
                                })?;
                        self.tree.stage(&text, "redo", Durability::Now)?
                    }
                };
                self.swap_in(path, &staged, intent, Durability::Now)?;
            }
            IntentOp::Delete if untouched && there.is_some() => {
                self.take_out(path, intent, Durability::Now)?;
            }
            IntentOp::Put | IntentOp::Delete => {
                self.keep_displaced(path, intent, staged.as_ref())?;
                self.finish(path, intent.revision, None);
            }
        }
        Ok(())
    }

    /// Puts the staged file of an intent in its place. What comes out and is not the text that
    /// was expected there was saved by a person in between: it is kept in the history. Returns
    /// the number of that revision.
    pub(super) fn swap_in(
        &self,
        path: &RelPath,
        staged: &Staged,
        intent: &IntentRecord,
        durability: Durability,
    ) -> Result<Option<u64>> {
        let ours = self.tree.stat(&staged.path())?;
        let out = self.tree.exchange(staged, path, durability)?;
        // The clock comes before the look, so that a later save cannot hide behind the stamp.
        let seen_ns = crate::tree::now_ns();
        let theirs = self.tree.stat(path)?;
        let displaced = match out.old {
            Some(old) => self.keep_unexpected(path, &old, intent)?,
            None => None,
        };
        let same = |ours: &Stamp, theirs: &Stamp| {
            (ours.inode, ours.size, ours.mtime_ns) == (theirs.inode, theirs.size, theirs.mtime_ns)
        };
        let stamp = match (ours, theirs, intent.new) {
            (Some(ours), Some(theirs), Some(hash)) if same(&ours, &theirs) => {
                Some(stamp_record(&theirs, seen_ns, hash))
            }
            _ => None,
        };
        self.finish(path, intent.revision, stamp);
        Ok(displaced)
    }

    /// Takes the file of a deleted page out of the tree.
    pub(super) fn take_out(
        &self,
        path: &RelPath,
        intent: &IntentRecord,
        durability: Durability,
    ) -> Result<Option<u64>> {
        let displaced = match self.tree.take(path, durability)? {
            Some(old) => self.keep_unexpected(path, &old, intent)?,
            None => None,
        };
        if let Some(folder) = path.parent() {
            self.tree.remove_empty_dirs(&folder, &RelPath::pages())?;
        }
        self.finish(path, intent.revision, None);
        Ok(displaced)
    }

    /// After a swap that a crash interrupted, the staged name holds what came out.
    fn keep_displaced(
        &self,
        path: &RelPath,
        intent: &IntentRecord,
        staged: Option<&Staged>,
    ) -> Result<()> {
        if let Some(staged) = staged {
            self.keep_unexpected(path, staged, intent)?;
        }
        Ok(())
    }

    fn keep_unexpected(
        &self,
        path: &RelPath,
        out: &Staged,
        intent: &IntentRecord,
    ) -> Result<Option<u64>> {
        let Some(file) = self.read_page_file(&out.path())? else {
            return Ok(None);
        };
        let hash = Some(ContentHash::of(&file.bytes));
        let mut kept = None;
        if hash != intent.old
            && hash != intent.new
            && let Some(id) = page_of(path)
        {
            let mut batch = self.batch()?;
            let note = self.note(How::DISPLACED, "");
            kept = Some(put::keep_text(&mut batch, &id, &file.bytes, &note)?);
            self.commit(batch)?;
        }
        self.tree.remove_staged(out)?;
        Ok(kept)
    }

    fn read_page_file(&self, path: &RelPath) -> Result<Option<FileRead>> {
        // A person's file may be larger than a page may be; it is still theirs.
        Ok(self.tree.read(path, MAX_KEPT_BYTES)?)
    }
}

/// Largest file that a person may have put in a page's place and that is kept in the history.
pub(super) const MAX_KEPT_BYTES: u64 = 64 << 20;

/// The page that the file at `path` holds, if any.
pub(super) fn page_of(path: &RelPath) -> Option<PageId> {
    let name = path.as_str()?.strip_prefix("pages/")?.strip_suffix(".md")?;
    PageId::parse(name).ok()
}

pub(super) fn stamp_record(stamp: &Stamp, seen_ns: i64, sha256: ContentHash) -> StampRecord {
    StampRecord {
        size: stamp.size,
        inode: stamp.inode,
        mtime_ns: stamp.mtime_ns,
        ctime_ns: stamp.ctime_ns,
        seen_ns,
        sha256,
    }
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "arranges files behind the back of `tree`"
)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::wiki::NewSource;

    #[test]
    fn what_killed_writers_staged_is_swept_and_a_text_that_may_be_a_persons_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let wiki = Wiki::new(dir.path().join("wiki"), Config::default());
        let ctx = Context::default();
        let source = NewSource {
            name: "n".into(),
            content: b"known".to_vec(),
            ..NewSource::default()
        };
        wiki.add_source(&ctx, source).unwrap();
        let tmp = dir.path().join("wiki/.store/tmp");
        let put = |name: &str, text: &str| std::fs::write(tmp.join(name), text).unwrap();
        put("page-1-1-0", "half a page");
        put("old-1-2-0", "known");
        put("old-1-3-0", "a person's text");
        let names = || -> Vec<String> {
            let entries = std::fs::read_dir(&tmp).unwrap();
            entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        };
        let writing = wiki.writing(&ctx).unwrap();
        writing
            .sweep(tree::now_ns().saturating_sub(ABANDONED_NS))
            .unwrap();
        assert_eq!(names().len(), 3, "what is young may be a living writer's");
        writing.sweep(i64::MAX).unwrap();
        assert_eq!(names(), ["old-1-3-0"]);
    }
}
