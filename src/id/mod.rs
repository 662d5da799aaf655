//! Names of things: content hashes, source ids, page ids. Each type has one way in, and holding
//! one proves that its grammar was checked. Pure.

mod hash;
mod page_id;

pub use hash::{ContentHash, HashError, SourceId};
pub use page_id::{PageId, PageIdError};
pub(crate) use page_id::{fold_case, fold_with_places, strip_extension};
