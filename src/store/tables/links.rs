//! Table `links`, since schema 1, derived: the page links of each page, and who may link to what.
//! Rows: `0, page id` -> [`LinksRecord`]; index: `1, needle, NUL, page id` -> [`LinkIndex`].
//! A row depends on its page alone: what a link resolves to is decided when it is asked, against
//! the pages that exist then, so that the order of writes never changes an answer. The needles of
//! a page are all keys under which one of its links could be looked for.

use bincode::{Decode, Encode};

use super::{INDEX, ROW, key};
use crate::store::codec::Record;

/// The links of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct LinksRecord {
    /// Links in the order of the page.
    pub links: Vec<LinkRecord>,
    /// Keys under which the links can be found, sorted and unique, without NUL.
    pub needles: Vec<String>,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum LinkRecordKind {
    /// A Markdown link.
    Markdown,
    /// A wikilink.
    Wikilink,
    /// A wikilink that shows its target in place.
    Embed,
}

/// One link, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LinkRecord {
    /// How it is written.
    pub kind: LinkRecordKind,
    /// Decoded path part of the target.
    pub target: String,
    /// Decoded fragment, without `#`.
    pub fragment: Option<String>,
    /// Line in the file, 1-based.
    pub line: u32,
}

impl Record for LinksRecord {
    const TABLE: &'static str = "links";
}

/// Says that a page has a link with a needle; the key holds both.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct LinkIndex;

impl Record for LinkIndex {
    const TABLE: &'static str = "links";
}

pub(crate) fn row_key(page: &str) -> Vec<u8> {
    key(ROW, &[page.as_bytes()])
}

pub(crate) fn needle_prefix(needle: &str) -> Vec<u8> {
    key(INDEX, &[needle.as_bytes(), &[0]])
}

pub(crate) fn index_keys(page: &str, links: &LinksRecord) -> Vec<Vec<u8>> {
    let entry = |needle: &String| {
        let mut key = needle_prefix(needle);
        key.extend_from_slice(page.as_bytes());
        key
    };
    links.needles.iter().map(entry).collect()
}
