//! What a page is, as text: its grammar, its sections, its links and citations, its title.
//!
//! Pure: functions of text to values. Finding pages, storing and diagnosing them is for others.
//! Markdown is read by pulldown-cmark and never by regular expressions; the one exception is
//! [`sections_classic`], which reproduces an older tool line by line.

mod grammar;
mod html;
mod lines;
mod links;
mod outline;
mod resolve;
mod sections;
mod title;

pub use grammar::{Page, PageError, PageErrorKind, parse, parse_bytes, render};
pub use lines::{Columns, unix_line_ends};
pub(crate) use links::percent_decoded;
pub use links::{Citation, Link, LinkKind, References, references};
pub use outline::{Outline, outline};
pub(crate) use resolve::is_relative;
pub use resolve::{PageLookup, PageNames, Resolution, resolve};
pub use sections::{Section, sections, sections_classic};
pub use title::fold_title;
