//! Other projects that are asked by name: their `.wiki/index.md`, cached here, and their pages,
//! read where they are.
//!
//! `index` knows what such a file may look like, `fold` finds words in texts. Nobody is asked
//! unnamed, and nothing of another project is ever written to.

mod fold;
mod index;

pub use fold::{fold, snippet};
pub use index::{Dropped, Entry, Index, IndexError, MAX_INDEX_BYTES, UNTYPED, render};
