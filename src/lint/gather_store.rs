//! The store, read for lint: opened for reading only, so that not even a repair is written, and
//! every row looked at once.

use super::facts::DirectoryFacts;
use super::reading::printable;
use super::store_facts::{StoreContents, StoreState};
use crate::context::Context;
use crate::error::{Error, ErrorCode};
use crate::store::index::{IndexSet, check};
use crate::store::{Access, Nature, Opened, Store, StoreError, StoreOptions, View, verify};
use crate::tree::{STORE_FILE, Tree, TreeError};

/// Reads the store below `directory`. What the file itself says is never an error.
///
/// # Errors
/// `ABORTED`.
pub(crate) fn read_store(
    tree: &Tree,
    directory: DirectoryFacts,
    options: &StoreOptions,
    ctx: &Context,
) -> Result<StoreState, Error> {
    if directory != DirectoryFacts::Directory {
        return Ok(StoreState::Absent);
    }
    let store = match Store::open(tree, STORE_FILE, Access::ReadOnly, options) {
        Ok(Opened::Ready(store)) => store,
        Ok(Opened::Absent) => return Ok(StoreState::Absent),
        Ok(Opened::NeedsRepair) => return Ok(StoreState::NeedsRepair),
        Ok(Opened::Damaged(what)) => return Ok(StoreState::Damaged(what)),
        Ok(Opened::TooNew(schema)) => return Ok(StoreState::TooNew(too_new(schema))),
        Err(error) => return Ok(failed(error)),
    };
    let snapshot = match store.read() {
        Ok(snapshot) => snapshot,
        Err(error) => return Ok(failed(error)),
    };
    match read_contents(&snapshot, ctx) {
        Ok(contents) => Ok(StoreState::Read(Box::new(contents))),
        Err(error) if error.code() == ErrorCode::Aborted => Err(error),
        Err(error) => Ok(StoreState::Damaged(error.message().to_owned())),
    }
}

fn too_new(schema: u32) -> String {
    format!("was written by a newer version, with schema {schema}")
}

/// What a store that cannot be read means.
fn failed(error: StoreError) -> StoreState {
    match error {
        StoreError::Damaged { what } => StoreState::Damaged(what),
        StoreError::NeedsRepair => StoreState::NeedsRepair,
        StoreError::TooNew { found, .. } => StoreState::TooNew(too_new(found)),
        StoreError::TooOld { found, .. } => {
            StoreState::TooOld(format!("has the older schema {found}"))
        }
        StoreError::Tree(TreeError::NotRegular { kind, .. }) => StoreState::NotFile(kind),
        StoreError::Tree(TreeError::Symlink { .. }) => {
            StoreState::NotFile(crate::tree::Kind::Symlink)
        }
        StoreError::Denied { .. } | StoreError::Tree(TreeError::Denied { .. }) => {
            StoreState::Unreadable("permission denied".to_owned())
        }
        other => StoreState::Unreadable(other.to_string()),
    }
}

fn read_contents(view: &View, ctx: &Context) -> Result<StoreContents, Error> {
    let mut contents = StoreContents::default();
    for fault in verify(view, false, ctx)?.faults {
        let faults = match fault.nature {
            Nature::Durable => &mut contents.durable_faults,
            Nature::Local | Nature::Derived => &mut contents.derived_faults,
        };
        faults.push(format!("{}: {}", fault.table, fault.what));
    }
    match check(view, IndexSet::Pages) {
        Ok(found) => contents.derived_faults.extend(found.problems),
        Err(error) => contents.derived_faults.push(error.to_string()),
    }
    // Rows that cannot be read were named by `verify`; here they are left out.
    contents.pages = view
        .pages("", None)
        .filter_map(Result::ok)
        .map(|(id, record)| (id.as_str().to_owned(), record.sha256))
        .collect();
    contents.sources = view.sources(None).filter_map(Result::ok).collect();
    contents.intents = view
        .intents()
        .filter_map(Result::ok)
        .map(|(path, intent)| (printable(&path), intent))
        .collect();
    contents.skipped = view
        .skipped()
        .filter_map(Result::ok)
        .map(|(path, _)| printable(&path))
        .collect();
    contents.skipped.sort_unstable();
    Ok(contents)
}
