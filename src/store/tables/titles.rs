//! Table `titles`, since schema 1, derived: the names by which links and checks find a page.
//! Rows: `0, page id` -> [`NamesRecord`]; index: `1|2|3, folded name, NUL, page id` ->
//! [`NameIndex`], for titles, base names and whole ids. Invariant: both directions agree.

use bincode::{Decode, Encode};

use super::{INDEX, ROW, key};
use crate::store::codec::Record;

/// The folded names of a page. How a name is folded is the caller's business.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct NamesRecord {
    /// Folded title, as `DUPLICATE_TITLE` compares it.
    pub title: String,
    /// Folded last segment of the id, as wikilinks find it.
    pub base_name: String,
    /// Folded id, for ids that differ only by case or normalisation.
    pub id: String,
}

impl Record for NamesRecord {
    const TABLE: &'static str = "titles";
}

/// Which name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// The title.
    Title,
    /// The last segment of the id.
    BaseName,
    /// The whole id.
    Id,
}

impl NameKind {
    fn mark(self) -> u8 {
        match self {
            Self::Title => INDEX,
            Self::BaseName => INDEX + 1,
            Self::Id => INDEX + 2,
        }
    }
}

/// Says that a page has a name; the key holds both.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct NameIndex;

impl Record for NameIndex {
    const TABLE: &'static str = "titles";
}

pub(crate) fn row_key(page: &str) -> Vec<u8> {
    key(ROW, &[page.as_bytes()])
}

pub(crate) fn name_prefix(kind: NameKind, folded: &str) -> Vec<u8> {
    key(kind.mark(), &[folded.as_bytes(), &[0]])
}

/// Of the keys of all names that begin so.
pub(crate) fn name_beginning(kind: NameKind, folded: &str) -> Vec<u8> {
    key(kind.mark(), &[folded.as_bytes()])
}

pub(crate) fn index_keys(page: &str, names: &NamesRecord) -> Vec<Vec<u8>> {
    [
        (NameKind::Title, &names.title),
        (NameKind::BaseName, &names.base_name),
        (NameKind::Id, &names.id),
    ]
    .map(|(kind, folded)| {
        let mut key = name_prefix(kind, folded);
        key.extend_from_slice(page.as_bytes());
        key
    })
    .into()
}
