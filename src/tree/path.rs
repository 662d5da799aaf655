//! Paths below the root: checked by their letters alone, before any file is looked at.
//!
//! Invariant: a `RelPath` holds no empty, `.` or `..` component and no NUL byte, and does not
//! start or end with a slash. Names need not be UTF-8, since a tree may hold any. The root
//! itself is the empty path.

use std::fmt::{self, Write as _};

use super::TreeError;
use crate::id::SourceId;

/// A path relative to the root of a wiki.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelPath(Vec<u8>);

impl RelPath {
    /// Checks a path.
    ///
    /// # Errors
    /// `BadPath` for an empty, `.` or `..` component, a NUL byte, or an empty path.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, TreeError> {
        let bytes = bytes.into();
        let bad = |reason| {
            Err(TreeError::BadPath {
                path: escape(&bytes),
                reason,
            })
        };
        if bytes.contains(&0) {
            return bad("it holds a NUL byte");
        }
        for part in bytes.split(|&byte| byte == b'/') {
            match part {
                b"" => return bad("it has an empty part"),
                b"." | b".." => return bad("it has a part that is . or .."),
                _ => {}
            }
        }
        Ok(Self(bytes))
    }

    /// The root itself.
    pub fn root() -> Self {
        Self(Vec::new())
    }

    /// A path that the program text proves right.
    pub(super) fn known(text: &str) -> Self {
        debug_assert!(Self::new(text).is_ok());
        Self(text.as_bytes().to_vec())
    }

    /// The directory of pages.
    pub fn pages() -> Self {
        Self::known("pages")
    }

    /// The directory of sources.
    pub fn sources() -> Self {
        Self::known("sources")
    }

    /// The file of the page with this id (`guides/install` lies in `pages/guides/install.md`).
    /// The id is any text without the rules of page ids, since a tree may hold odd ones.
    ///
    /// # Errors
    /// `BadPath` where the id has an empty, `.` or `..` segment or a NUL.
    pub fn page(id: &str) -> Result<Self, TreeError> {
        if id.is_empty() || id.ends_with('/') {
            return Err(TreeError::BadPath {
                path: escape(format!("pages/{id}.md").as_bytes()),
                reason: "it has an empty part",
            });
        }
        Self::new(format!("pages/{id}.md"))
    }

    /// The folder of a source.
    pub fn source(id: &SourceId) -> Self {
        Self::known(&format!("sources/{id}"))
    }

    /// One file of a source: `content`, `metadata.json` or `events.jsonl`.
    ///
    /// # Errors
    /// `BadPath` where `name` is no single name.
    pub fn source_file(id: &SourceId, name: &str) -> Result<Self, TreeError> {
        Self::source(id).join(name)
    }

    /// This path with more parts behind it.
    ///
    /// # Errors
    /// `BadPath` as [`RelPath::new`].
    pub fn join(&self, below: impl AsRef<[u8]>) -> Result<Self, TreeError> {
        let below = Self::new(below.as_ref())?;
        if self.is_root() {
            return Ok(below);
        }
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + below.0.len());
        bytes.extend_from_slice(&self.0);
        bytes.push(b'/');
        bytes.extend_from_slice(&below.0);
        Ok(Self(bytes))
    }

    /// Whether this is the root itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes, with `/` between the parts.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, where all names are UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The parts, from the root down; none for the root.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.0
            .split(|&byte| byte == b'/')
            .filter(|part| !part.is_empty())
    }

    /// The directory it lies in and its last name; nothing for the root.
    pub fn split(&self) -> Option<(RelPath, &[u8])> {
        if self.is_root() {
            return None;
        }
        match self.0.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => Some((Self(self.0[..slash].to_vec()), &self.0[slash + 1..])),
            None => Some((Self::root(), &self.0)),
        }
    }

    /// The directory it lies in; nothing for the root.
    pub fn parent(&self) -> Option<RelPath> {
        self.split().map(|(parent, _)| parent)
    }

    /// The last name; nothing for the root.
    pub fn file_name(&self) -> Option<&[u8]> {
        if self.is_root() {
            None
        } else {
            self.0.rsplit(|&byte| byte == b'/').next()
        }
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            f.write_str(".")
        } else {
            f.write_str(&escape(&self.0))
        }
    }
}

/// A path as it is printed: control characters and bytes that are not UTF-8 as `\xff`, so that
/// no file name can move a terminal's cursor or break a line.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() || is_bidi_control(letter) {
                out.extend(letter.escape_unicode());
            } else {
                out.push(letter);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Characters that reorder the text around them, so that a name shows as another one.
fn is_bidi_control(letter: char) -> bool {
    matches!(letter,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_or_repeat_are_refused() {
        for bad in [
            "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\0b",
        ] {
            assert!(RelPath::new(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "a/b", "...", "a/..b", " ", "a\\b", ".store/tmp"] {
            assert!(RelPath::new(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn split_gives_parent_and_name() {
        let path = RelPath::new("pages/a/b.md").unwrap();
        let (parent, name) = path.split().unwrap();
        assert_eq!((parent.as_bytes(), name), (&b"pages/a"[..], &b"b.md"[..]));
        let path = RelPath::new("pages").unwrap();
        assert!(path.parent().unwrap().is_root());
        assert_eq!(path.file_name(), Some(&b"pages"[..]));
        assert!(RelPath::root().split().is_none());
        assert_eq!(RelPath::root().parts().count(), 0);
    }

    #[test]
    fn page_ids_become_files_below_pages_or_are_refused() {
        assert_eq!(RelPath::page("a/b").unwrap().as_bytes(), b"pages/a/b.md");
        for bad in ["", "../x", "a//b", "/a", "a/"] {
            assert!(RelPath::page(bad).is_err(), "{bad:?}");
        }
        // `pages/...md` is a harmless name.
        assert!(RelPath::page("..").is_ok());
    }

    #[test]
    fn display_escapes_what_could_disturb_a_terminal() {
        let shown = |bytes: &[u8]| RelPath::new(bytes).unwrap().to_string();
        assert_eq!(shown(b"a\xffb"), "a\\xffb");
        assert_eq!(shown(b"a\x1b[0m"), "a\\u{1b}[0m");
        assert_eq!(shown("a\u{202e}b".as_bytes()), "a\\u{202e}b");
        assert_eq!(shown("caf\u{e9}".as_bytes()), "caf\u{e9}");
        assert_eq!(RelPath::root().to_string(), ".");
    }
}
