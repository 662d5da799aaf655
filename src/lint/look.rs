//! Tree and store at one moment, while others write.
//!
//! Files and rows are read one after another, so what was read together need not have been there
//! together. Where rules find nothing that does not matter. Where they do, lint looks again: if
//! nothing has changed between two looks, all of it was there at the same time. What the tree and
//! the store disagree about while somebody writes is looked at under the lock that writers hold,
//! for a moment only; it leaves no trace. Where something is changed at every look, what all looks
//! had in common is reported.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::facts::{Facts, RootFacts};
use super::gather::{TreeLook, Wanted};
use super::gather_store::StoreSide;
use super::registry::Severity;
use super::run::Diagnostic;
use super::store_facts::StoreFacts;
use crate::context::Context;
use crate::error::Error;
use crate::store::StoreOptions;
use crate::tree::{self, RootLock, RootState, Tree};

/// How often something that changes is looked at.
const LOOKS: usize = 6;
/// How long to wait for a writer.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Finds what `rules` say about the wiki at `root`, of one moment. Answers that and the facts.
///
/// # Errors
/// `UNSAFE_FILESYSTEM` where the root cannot be looked at, `ABORTED`.
pub(crate) fn settled(
    root: &Path,
    ctx: &Context,
    wanted: Wanted,
    options: &StoreOptions,
    rules: &dyn Fn(&Facts) -> Vec<Diagnostic>,
) -> Result<(Vec<Diagnostic>, Facts), Error> {
    let absent = |root| {
        let facts = Facts::of_root(root);
        (rules(&facts), facts)
    };
    let tree = match tree::locate(root)? {
        RootState::Missing => return Ok(absent(RootFacts::Missing)),
        RootState::NotDirectory(_) => return Ok(absent(RootFacts::NotDirectory)),
        RootState::Symlink => return Ok(absent(RootFacts::Symlink)),
        RootState::Ready(tree) => tree,
    };
    let mut look = Look::first(&tree, ctx, wanted, options)?;
    let mut found = rules(&look.tree.facts);
    let mut lasting: Option<BTreeSet<Key>> = None;
    let mut lock: Option<RootLock> = None;
    for _ in 1..LOOKS {
        if found.is_empty() {
            return Ok((found, look.tree.facts));
        }
        if lock.is_none() && look.tree.facts.may_be_in_flight() {
            // Where it cannot be had in this time, lint looks again without.
            lock = tree.lock_to_look(LOCK_WAIT, ctx).ok();
            ctx.check()?;
        }
        let changed;
        (look, changed) = look.again(&tree, ctx)?;
        if !changed {
            return Ok((found, look.tree.facts));
        }
        let before = lasting.unwrap_or_else(|| found.iter().map(key).collect());
        found = rules(&look.tree.facts);
        let both = found.iter().map(key).filter(|key| before.contains(key));
        lasting = Some(both.collect());
    }
    if let Some(lasting) = lasting {
        found.retain(|diagnostic| lasting.contains(&key(diagnostic)));
    }
    Ok((found, look.tree.facts))
}

type Key = (&'static str, String, Option<u32>, String);

/// What tells one diagnostic from another. What a warning says may change while it stays the same,
/// as a count does.
fn key(found: &Diagnostic) -> Key {
    let message = match found.severity {
        Severity::Error => found.message.clone(),
        Severity::Warning => String::new(),
    };
    (found.code, found.path.clone(), found.line, message)
}

/// What was seen of tree and store.
struct Look<'a> {
    tree: TreeLook,
    store: StoreSide,
    wanted: Wanted,
    options: &'a StoreOptions,
}

impl<'a> Look<'a> {
    fn first(
        tree: &Tree,
        ctx: &Context,
        wanted: Wanted,
        options: &'a StoreOptions,
    ) -> Result<Self, Error> {
        // How pages are cut must be known when they are read.
        let store = StoreSide::open(tree, options);
        let wanted = Wanted {
            analysis: store.analysis(),
            ..wanted
        };
        let mut look = TreeLook::first(tree, ctx, wanted)?;
        look.facts.store = StoreFacts {
            directory: look.store,
            state: store.read(ctx)?,
        };
        Ok(Self {
            tree: look,
            store,
            wanted,
            options,
        })
    }

    /// Looks again. Answers whether anything has changed.
    fn again(mut self, tree: &Tree, ctx: &Context) -> Result<(Self, bool), Error> {
        let mut state = std::mem::take(&mut self.tree.facts.store.state);
        let (mut look, mut changed) = self.tree.again(tree, ctx, self.wanted)?;
        match self.store.refresh(&mut state) {
            Some(is_other) => changed |= is_other,
            None => {
                self.store = StoreSide::open(tree, self.options);
                let now = self.store.read(ctx)?;
                changed |= now != state;
                state = now;
            }
        }
        look.facts.store = StoreFacts {
            directory: look.store,
            state,
        };
        Ok((Self { tree: look, ..self }, changed))
    }
}
