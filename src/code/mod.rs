//! Source code, pure: which language a file is in, its text and lines, what it defines and uses,
//! how it is cut into chunks, and what must not leave it. Files and tables are the business of
//! `tree` and `store`; how chunks are ranked is decided in `search`.
//!
//! Line numbers are 1-based everywhere. A line ends at LF, CRLF or a lone CR, and nowhere else.

mod chunks;
#[cfg(feature = "lang-core")]
mod grammar;
#[cfg(feature = "lang-core")]
mod highlight;
mod imports;
mod language;
mod outline;
mod redact;
mod signature;
mod text;

pub use chunks::{Chunk, MAX_CHUNK_LINES, chunks};
#[cfg(feature = "lang-core")]
pub use highlight::highlight;
pub use imports::{Import, imports, must_import, stem};
pub use language::{Content, LANGUAGES, Language};
pub use outline::{Outline, Symbol, SymbolKind, outline};
pub use redact::{Redacted, redact};
pub use signature::{SignatureBuilder, is_made_from_source, is_test_path};
pub use text::{Decoded, Lines, Unsuitable, decode, suitable};

/// The parts of a text that are of some kind; this build knows no grammar.
#[cfg(not(feature = "lang-core"))]
pub fn highlight(_: &Language, _: &str) -> Vec<(std::ops::Range<usize>, &'static str)> {
    Vec::new()
}

/// Changes when the same file may be cut or analysed in another way than before: an index of
/// another revision is made anew.
pub const REVISION: u32 = 2;
