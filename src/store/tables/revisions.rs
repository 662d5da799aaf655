//! Table `revisions`, since schema 1, durable: the history of all pages.
//! Rows: `0, seq` (8 bytes, big-endian) -> [`RevisionRecord`]; index: `1, page id, NUL, seq` ->
//! [`RevisionIndex`]. Written once by each change of a page, never updated. `seq` orders what
//! happened on this machine and never travels; the identity of a revision is the SHA-256 of its
//! canonical encoding. A deletion is a revision without content.

use bincode::{Decode, Encode};
use sha2::{Digest, Sha256};

use super::{INDEX, ROW, key};
use crate::id::ContentHash;
use crate::store::codec::Record;

/// How a revision came about, as a number that never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct How(pub u8);

impl How {
    /// Written by `upsert-page` or its equal at another door.
    pub const WRITTEN: Self = Self(1);
    /// Deleted by `delete-page`.
    pub const DELETED: Self = Self(2);
    /// Found changed in the tree.
    pub const ADOPTED: Self = Self(3);
    /// Found gone from the tree.
    pub const VANISHED: Self = Self(4);
    /// A person's save that fell into a write: kept, but replaced in the tree.
    pub const DISPLACED: Self = Self(5);
    /// Brought back from the history.
    pub const RESTORED: Self = Self(6);
    /// Read by `import`.
    pub const IMPORTED: Self = Self(7);
    /// Made by `generate`.
    pub const GENERATED: Self = Self(8);
    /// Moved to another id.
    pub const MOVED: Self = Self(9);

    /// The word that `history` prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::WRITTEN => "written",
            Self::DELETED => "deleted",
            Self::ADOPTED => "adopted",
            Self::VANISHED => "vanished",
            Self::DISPLACED => "displaced",
            Self::RESTORED => "restored",
            Self::IMPORTED => "imported",
            Self::GENERATED => "generated",
            Self::MOVED => "moved",
            _ => "changed",
        }
    }
}

/// One revision of a page.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RevisionRecord {
    /// Id of the page.
    pub page: String,
    /// Hash of the file's bytes, in `blobs`; none for a deletion.
    pub sha256: Option<ContentHash>,
    /// Identities of the revisions that this one follows; none for a first one.
    pub parents: Vec<ContentHash>,
    /// When, in milliseconds since 1970 (UTC).
    pub at_ms: i64,
    /// How it came about.
    pub how: How,
    /// The copy of the wiki in which it came about.
    pub replica: [u8; 16],
    /// Who did it; empty when nobody said.
    pub actor: String,
    /// Why, in words; empty when nobody said.
    pub message: String,
    /// Lines added against the first parent. Derived: no part of the identity.
    pub added: u32,
    /// Lines removed against the first parent. Derived: no part of the identity.
    pub removed: u32,
}

impl RevisionRecord {
    /// SHA-256 of the canonical encoding: the identity of the revision, on every machine.
    pub fn identity(&self) -> ContentHash {
        let mut canonical = Canonical::new("llmwiki revision 1");
        canonical.text(&self.page);
        canonical.optional(self.sha256.as_ref().map(|hash| hash.as_bytes().as_slice()));
        canonical.count(self.parents.len());
        for parent in &self.parents {
            canonical.bytes(parent.as_bytes());
        }
        canonical.bytes(&self.at_ms.to_be_bytes());
        canonical.bytes(&[self.how.0]);
        canonical.bytes(&self.replica);
        canonical.text(&self.actor);
        canonical.text(&self.message);
        canonical.hash()
    }
}

impl Record for RevisionRecord {
    const TABLE: &'static str = "revisions";
}

/// Says that a page has a revision; the key holds both.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RevisionIndex;

impl Record for RevisionIndex {
    const TABLE: &'static str = "revisions";
}

pub(crate) fn row_key(seq: u64) -> Vec<u8> {
    key(ROW, &[&seq.to_be_bytes()])
}

pub(crate) fn page_prefix(page: &str) -> Vec<u8> {
    key(INDEX, &[page.as_bytes(), &[0]])
}

pub(crate) fn index_key(page: &str, seq: u64) -> Vec<u8> {
    key(INDEX, &[page.as_bytes(), &[0], &seq.to_be_bytes()])
}

/// The number at the end of a key.
pub(crate) fn seq_of(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>()
        .map(|bytes| u64::from_be_bytes(*bytes))
}

/// Encoding for identities: a domain, then each field with its length (8 bytes, big-endian).
/// Independent of the codec, since a stored layout may change and an identity may not.
pub(crate) struct Canonical(Sha256);

impl Canonical {
    pub(crate) fn new(domain: &str) -> Self {
        let mut canonical = Self(Sha256::new());
        canonical.text(domain);
        canonical
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_be_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn optional(&mut self, bytes: Option<&[u8]>) {
        self.count(usize::from(bytes.is_some()));
        if let Some(bytes) = bytes {
            self.bytes(bytes);
        }
    }

    pub(crate) fn hash(self) -> ContentHash {
        ContentHash::from_bytes(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision() -> RevisionRecord {
        RevisionRecord {
            page: "a/b".to_owned(),
            sha256: Some(ContentHash::of(b"text")),
            parents: vec![],
            at_ms: 1,
            how: How::WRITTEN,
            replica: [7; 16],
            actor: String::new(),
            message: String::new(),
            added: 3,
            removed: 0,
        }
    }

    #[test]
    fn an_identity_covers_every_field_but_the_line_counts() {
        let base = revision().identity();
        let changed = |change: fn(&mut RevisionRecord)| {
            let mut other = revision();
            change(&mut other);
            other.identity()
        };
        assert_eq!(base, changed(|r| r.added = 9));
        assert_ne!(base, changed(|r| r.page = "a".to_owned()));
        assert_ne!(base, changed(|r| r.sha256 = None));
        assert_ne!(base, changed(|r| r.parents = vec![ContentHash::of(b"")]));
        assert_ne!(base, changed(|r| r.at_ms = 2));
        assert_ne!(base, changed(|r| r.how = How::ADOPTED));
        assert_ne!(base, changed(|r| r.replica = [8; 16]));
        assert_ne!(base, changed(|r| r.actor = "x".to_owned()));
        assert_ne!(base, changed(|r| r.message = "x".to_owned()));
    }

    #[test]
    fn an_identity_never_changes() {
        assert_eq!(
            revision().identity().to_string(),
            "125d052b6a897a0e83ba5e25e80e1075ef52c59e889a04b4d72cdc9d875ecda4",
        );
    }
}
