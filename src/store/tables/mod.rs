//! The tables: one file each, with key, record, writer and invariant.
//!
//! All are redb tables from bytes to bytes, in the byte order of their keys. Keys that combine
//! parts are made here: numbers are big-endian, so that byte order is numeric order, and text is
//! ended by a NUL, which no page id, title or needle contains. A table that also keeps an index of
//! itself tells the two apart by the first byte of the key ([`ROW`], [`INDEX`]).

pub(crate) mod blobs;
pub(crate) mod citations;
pub(crate) mod code_chunks;
pub(crate) mod code_files;
pub(crate) mod code_texts;
pub(crate) mod folders;
pub(crate) mod intents;
pub(crate) mod links;
pub(crate) mod pages;
pub(crate) mod projects;
pub(crate) mod revisions;
pub(crate) mod sections;
pub(crate) mod skipped;
pub(crate) mod source_events;
pub(crate) mod sources;
pub(crate) mod stamps;
pub(crate) mod titles;

use redb::TableDefinition;

/// A redb table whose rows are sealed by the codec.
pub(crate) type BytesTable = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// First key byte of a record, in tables that index themselves.
pub(crate) const ROW: u8 = 0;
/// First key byte of an index entry; larger bytes are further indexes.
pub(crate) const INDEX: u8 = 1;

/// The definition of the table called `name`.
pub(crate) const fn bytes_table(name: &'static str) -> BytesTable {
    TableDefinition::new(name)
}

/// `mark`, then the parts.
pub(crate) fn key(mark: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
    key.push(mark);
    for part in parts {
        key.extend_from_slice(part);
    }
    key
}

/// The smallest key that is above every key with this prefix; none when all keys are below.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let keep = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut end = prefix[..=keep].to_vec();
    end[keep] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_above_all_its_keys() {
        assert_eq!(after_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_prefix(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff"), None);
        assert_eq!(after_prefix(b""), None);
    }
}
