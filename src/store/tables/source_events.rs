//! Table `source_events`, since schema 1, durable: what happened to a source after its capture.
//! Key: source id (32 bytes), then the SHA-256 of the event's canonical encoding (32 bytes), so
//! that the events of a source are a set: adding one twice changes nothing.
//! Written by a later capture, `retire-source` and `supersede`; never updated.

use bincode::{Decode, Encode};

use super::revisions::Canonical;
use crate::id::{ContentHash, SourceId};
use crate::store::codec::Record;

/// What happened, as a number that never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct SourceEventKind(pub u8);

impl SourceEventKind {
    /// The same bytes were captured again.
    pub const CAPTURED: Self = Self(1);
    /// The source is no longer to be relied on.
    pub const RETIRED: Self = Self(2);
    /// Another source took its place.
    pub const SUPERSEDED: Self = Self(3);
    /// The content was removed on purpose: salvage must not bring it back.
    pub const PURGED: Self = Self(4);
}

/// One event of a source.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SourceEvent {
    /// What happened.
    pub kind: SourceEventKind,
    /// When, exactly as `events.jsonl` says it (RFC 3339, UTC).
    pub at: String,
    /// Name given at a later capture; empty otherwise.
    pub name: String,
    /// Media type given at a later capture; empty otherwise.
    pub media_type: String,
    /// Origin given at a later capture.
    pub origin: Option<String>,
    /// The source that took its place.
    pub successor: Option<SourceId>,
    /// Why, in words; empty when nobody said.
    pub reason: String,
    /// Who did it; empty when nobody said.
    pub actor: String,
}

impl SourceEvent {
    /// SHA-256 of the canonical encoding: the identity of the event, on every machine.
    pub fn identity(&self, source: SourceId) -> ContentHash {
        let mut canonical = Canonical::new("llmwiki source event 1");
        canonical.bytes(source.as_bytes());
        canonical.bytes(&[self.kind.0]);
        canonical.text(&self.at);
        canonical.text(&self.name);
        canonical.text(&self.media_type);
        canonical.optional(self.origin.as_deref().map(str::as_bytes));
        canonical.optional(self.successor.as_ref().map(|id| id.as_bytes().as_slice()));
        canonical.text(&self.reason);
        canonical.text(&self.actor);
        canonical.hash()
    }
}

impl Record for SourceEvent {
    const TABLE: &'static str = "source_events";
}

pub(crate) fn row_key(source: SourceId, identity: ContentHash) -> Vec<u8> {
    [source.as_bytes().as_slice(), identity.as_bytes()].concat()
}
