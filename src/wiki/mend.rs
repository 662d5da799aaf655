//! Going on after damage: an operation that meets a row which is not what was written is stopped,
//! the store is mended under the lock, and the operation runs once more.
//!
//! Damage of derived rows is cured by making them anew; for anything else the store is built
//! anew from what it still holds and from the tree, and the damaged file is kept beside it.

use std::sync::Arc;
use std::time::Duration;

use super::adopt;
use super::pages::unproven_stamp;
use super::reindex;
use super::root::{Made, Wiki};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::id::{PageId, SourceId};
use crate::store::{self, Access, Batch, Nature, Opened, PageRecord, Store, StoreError};
use crate::tree::{RelPath, STORE_FILE};

/// How long mending waits for the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// What is wrong with the store, when that is what the error says.
fn damage(error: &Error) -> Option<String> {
    use std::error::Error as _;
    match error.source()?.downcast_ref::<StoreError>()? {
        StoreError::Damaged { what } => Some(what.clone()),
        _ => None,
    }
}

impl Wiki {
    /// Runs an operation; if it meets damage, mends the store and runs it again.
    ///
    /// # Errors
    /// Those of the operation. When mending fails, the damage that was met.
    pub(super) fn mending<T>(
        &self,
        ctx: &Context,
        mut operation: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        let error = match operation() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let Some(what) = damage(&error) else {
            return Err(error);
        };
        tracing::warn!(%what, "the store is damaged and is being mended");
        match self.mend(ctx, &what) {
            Ok(()) => operation(),
            Err(failed) => {
                tracing::warn!(error = %failed, "the store cannot be mended now");
                Err(error)
            }
        }
    }

    fn mend(&self, ctx: &Context, what: &str) -> Result<()> {
        let tree = self.tree()?;
        let lock = tree.lock(LOCK_WAIT, ctx)?;
        self.close();
        let options = self.store_options();
        // Opening repairs what a killed writer left, which may be all that was wrong.
        let damage = match Store::open(&tree, STORE_FILE, Access::ReadWrite, &options)? {
            Opened::Ready(store) => match self.mend_derived(ctx, &Arc::new(store), what)? {
                None => return Ok(()),
                Some(damage) => damage,
            },
            Opened::Damaged(reason) => reason,
            // Nobody's business here: the operation says it better.
            Opened::Absent | Opened::NeedsRepair | Opened::TooNew(_) => return Ok(()),
        };
        let building = self.build(ctx, &tree, lock, &options, Some(damage))?;
        self.take_place(ctx, tree, Made::default(), building, &options)
            .map(drop)
    }

    /// Makes the derived rows anew if nothing else is damaged; otherwise says what is.
    fn mend_derived(
        &self,
        ctx: &Context,
        store: &Arc<Store>,
        what: &str,
    ) -> Result<Option<String>> {
        let rebuild = || -> Result<Option<String>> {
            let found = store::verify(&*store.read()?, false, ctx)?;
            let durable = found
                .faults
                .iter()
                .find(|fault| fault.nature == Nature::Durable);
            if let Some(fault) = durable {
                return Ok(Some(format!("table {}: {}", fault.table, fault.what)));
            }
            let mut batch = store.write()?;
            forget_stamps(&mut batch)?;
            reindex::rebuild_index(ctx, &mut batch, self.analysis())?;
            batch.commit()?;
            Ok(None)
        };
        match rebuild() {
            Err(error) if damage(&error).is_some() => Ok(Some(what.to_owned())),
            other => other,
        }
    }
}

/// Makes the stamps anew: what the store knows must be met at the next look, and proven there.
fn forget_stamps(batch: &mut Batch) -> Result<()> {
    batch.clear_local()?;
    let pages: Vec<(PageId, PageRecord)> = batch.pages("", None).collect::<Result<_, _>>()?;
    for (id, page) in pages {
        let path = RelPath::page(id.as_str())?;
        batch.put_stamp(
            path.as_bytes(),
            &unproven_stamp(page.byte_count, page.sha256),
        )?;
    }
    let sources: Vec<SourceId> = batch
        .sources(None)
        .map(|row| row.map(|(id, _)| id))
        .collect::<Result<_, _>>()?;
    for id in sources {
        batch.put_stamp(&adopt::stamp_path(id), &adopt::source_stamp(id))?;
    }
    Ok(())
}
