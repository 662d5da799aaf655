//! What a page is, as text: its grammar, its sections, its links and citations, its title.
//!
//! Pure: functions of text to values. Finding pages, storing and diagnosing them is for others.
//! Markdown is read by pulldown-cmark and never by regular expressions; the one exception is
//! [`sections_classic`], which reproduces an older tool line by line.

mod anchors;
mod grammar;
mod html;
mod lines;
mod links;
mod outline;
mod resolve;
mod sections;
mod title;
#[cfg(any(feature = "cli", feature = "web"))]
mod words;

#[cfg(feature = "web")]
pub(crate) use anchors::Slugs;
pub(crate) use anchors::{anchors, slug};
pub use grammar::{Page, PageError, PageErrorKind, parse, parse_bytes, render};
#[cfg(feature = "web")]
pub(crate) use html::tags;
pub use lines::{Columns, unix_line_ends};
pub(crate) use links::percent_decoded;
pub use links::{Citation, Link, LinkKind, References, references};
#[cfg(feature = "web")]
pub(crate) use links::{OPTIONS, Target, target_of};
pub use outline::{Outline, outline};
pub(crate) use resolve::is_relative;
pub use resolve::{PageLookup, PageNames, Resolution, resolve};
pub use sections::{Section, sections, sections_classic};
pub use title::fold_title;
#[cfg(any(feature = "cli", feature = "web"))]
pub(crate) use words::words;
