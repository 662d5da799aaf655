//! Records of sources, pure: `metadata.json` and `events.jsonl` as text.

mod events;
mod lines;
mod metadata;

pub use events::{EventKind, SourceEvent, parse_events};
pub use lines::LineCounter;
pub use metadata::{
    ExaminedMetadata, Metadata, MetadataFault, examine_metadata, is_blank, is_captured_at,
    parse_metadata,
};
