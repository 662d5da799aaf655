//! Page ids: normalised relative POSIX paths without `.md`.
//!
//! One grammar serves creating and reading: a file whose path breaks it is diagnosed and kept
//! out of the index, so an id in hand can be stored on every file system we know of. What only
//! two ids together can break (a pair that differs by case or Unicode normalisation) is for the
//! caller to ask, with [`PageId::fold_key`]; a tree that already holds such a pair is read as
//! it is.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;

use crate::error::{Error, ErrorCode};

/// Longest file name that common file systems take, in bytes.
const MAX_SEGMENT_BYTES: usize = 255;
/// Longest id, in bytes. Well below `PATH_MAX`, which also has to hold the root.
const MAX_ID_BYTES: usize = 1024;
/// What the last segment grows by when it becomes a file name.
const EXTENSION: &str = ".md";

/// Why a text is no page id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("page id {given:?} {reason}")]
pub struct PageIdError {
    /// What was given.
    pub given: String,
    /// What is wrong with it, as the rest of a sentence.
    pub reason: &'static str,
}

impl From<PageIdError> for Error {
    fn from(error: PageIdError) -> Self {
        Error::new(ErrorCode::InvalidPath, error.to_string())
            .with_hint("a page id is a relative path such as guides/install, without .md")
            .with_source(error)
    }
}

/// A page id that fits the grammar. Orders by UTF-8 bytes; where the wiki promises UTF-16 order,
/// compare with [`PageId::cmp_utf16`].
///
/// ```
/// use llmwiki::id::PageId;
/// let id = PageId::parse("guides/install")?;
/// assert_eq!((id.parent(), id.base_name()), ("guides", "install"));
/// assert!(PageId::parse("../escape").is_err());
/// # Ok::<(), llmwiki::id::PageIdError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(String);

impl PageId {
    /// Reads a page id.
    ///
    /// # Errors
    /// [`PageIdError`] naming the rule that was broken.
    pub fn parse(raw: &str) -> Result<Self, PageIdError> {
        match fault(raw) {
            Some(reason) => Err(PageIdError {
                given: raw.to_owned(),
                reason,
            }),
            None => Ok(Self(raw.to_owned())),
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts between the slashes, at least one, none empty.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last segment.
    pub fn base_name(&self) -> &str {
        self.0
            .rsplit_once('/')
            .map_or(self.0.as_str(), |(_, base)| base)
    }

    /// The folder that the page is in, empty for a page at the top.
    pub fn parent(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    /// Equal for two ids that some file system would take for one: canonical decomposition,
    /// full case folding, canonical composition.
    pub fn fold_key(&self) -> String {
        fold_case(&self.0)
    }

    /// Compares by UTF-16 code units, the order of the version 1 index and of ties in search.
    /// It differs from byte order only above U+FFFF.
    pub fn cmp_utf16(&self, other: &Self) -> Ordering {
        self.0.encode_utf16().cmp(other.0.encode_utf16())
    }
}

impl FromStr for PageId {
    type Err = PageIdError;

    fn from_str(text: &str) -> Result<Self, PageIdError> {
        Self::parse(text)
    }
}

impl AsRef<str> for PageId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageId({:?})", self.0)
    }
}

/// Canonical caseless form of a text (Unicode chapter 3, D145), composed again. The case step
/// maps each character to lower case of its upper case, which has the same classes as the full
/// folding of CaseFolding.txt but for the dotless i, which must stay itself.
pub(crate) fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd().flat_map(fold_char).nfc().collect()
}

/// The characters of a text decomposed and case folded, each with the place of the character that
/// it comes from. Marks are not put in order and nothing is composed again.
pub(crate) fn fold_with_places(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().flat_map(|(at, c)| {
        std::iter::once(c)
            .nfd()
            .flat_map(fold_char)
            .map(move |folded| (at, folded))
    })
}

fn fold_char(c: char) -> impl Iterator<Item = char> {
    const DOTLESS_I: char = '\u{131}';
    let kept = (c == DOTLESS_I).then_some(c);
    let folded = (c != DOTLESS_I).then(|| {
        c.to_lowercase()
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
    });
    kept.into_iter().chain(folded.into_iter().flatten())
}

/// The first rule that `raw` breaks.
fn fault(raw: &str) -> Option<&'static str> {
    if raw.is_empty() {
        return Some("is empty");
    }
    if raw.len() > MAX_ID_BYTES {
        return Some("is longer than 1024 bytes");
    }
    if raw.starts_with('/') {
        return Some("is an absolute path");
    }
    if matches!(raw.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic()) {
        return Some("begins like a drive letter");
    }
    if let Some(reason) = raw.chars().find_map(character_fault) {
        return Some(reason);
    }
    let last = raw.split('/').count() - 1;
    raw.split('/')
        .enumerate()
        .find_map(|(at, segment)| segment_fault(segment, at == last))
}

fn character_fault(c: char) -> Option<&'static str> {
    match c {
        '\\' => Some("contains a backslash, write / between folders"),
        '%' => Some("contains a percent sign"),
        c if c.is_control() => Some("contains a control character"),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some("contains a character that changes the direction of text")
        }
        _ => None,
    }
}

fn segment_fault(segment: &str, is_last: bool) -> Option<&'static str> {
    match segment {
        "" => return Some("contains an empty segment"),
        "." | ".." => return Some("contains a . or .. segment"),
        // No git keeps such a path, so the page would be missing from every clone.
        name if name.eq_ignore_ascii_case(".git") => return Some("contains a .git segment"),
        _ => {}
    }
    if strip_extension(segment).is_some() {
        // As a folder it would take the place of a page's file.
        return Some("contains a segment that ends in .md");
    }
    let stored = segment.len() + if is_last { EXTENSION.len() } else { 0 };
    if stored > MAX_SEGMENT_BYTES {
        return Some("contains a segment whose file name is longer than 255 bytes");
    }
    is_windows_device(segment).then_some("contains a name that Windows keeps for a device")
}

/// The text before a final `.md` of any case.
pub(crate) fn strip_extension(name: &str) -> Option<&str> {
    let at = name.len().checked_sub(EXTENSION.len())?;
    (name.is_char_boundary(at) && name[at..].eq_ignore_ascii_case(EXTENSION)).then(|| &name[..at])
}

/// Whether Windows would open a device: the part before the first dot, trailing spaces apart,
/// is CON, PRN, AUX, NUL, CONIN$, CONOUT$, or COM or LPT with a digit or superscript digit.
fn is_windows_device(segment: &str) -> bool {
    let stem = segment
        .split('.')
        .next()
        .unwrap_or_default()
        .trim_end_matches(' ');
    let is = |name: &str| stem.eq_ignore_ascii_case(name);
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
        .into_iter()
        .any(is)
    {
        return true;
    }
    let Some((port, number)) = stem.split_at_checked(3) else {
        return false;
    };
    let mut number = number.chars();
    (port.eq_ignore_ascii_case("COM") || port.eq_ignore_ascii_case("LPT"))
        && matches!(
            number.next(),
            Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}')
        )
        && number.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> PageId {
        PageId::parse(text).unwrap()
    }

    fn check_refused(text: &str, reason: &str) {
        let error = PageId::parse(text).expect_err(text);
        assert!(error.reason.contains(reason), "{text:?}: {}", error.reason);
    }

    #[test]
    fn each_rule_names_itself() {
        check_refused("", "empty");
        check_refused("/a", "absolute");
        check_refused("C:/a", "drive");
        check_refused("a\\b", "backslash");
        check_refused("a%20b", "percent");
        check_refused("a\tb", "control");
        check_refused("a\u{85}b", "control");
        check_refused("a\u{202e}b", "direction");
        check_refused("a//b", "empty segment");
        check_refused("a/../b", "..");
        check_refused("x.Md/y", ".md");
        check_refused(".git/a", ".git");
        check_refused("a/.GIT", ".git");
        check_refused("a/nul.txt", "device");
        check_refused("com\u{b9}", "device");
        check_refused("con .txt", "device");
        check_refused(&"a".repeat(253), "255");
        check_refused(&"dir/".repeat(300), "1024");
    }

    #[test]
    fn names_near_a_rule_are_fine() {
        for text in [
            "a.mdx",
            "md",
            "...",
            ".gitignore",
            ".git-notes/a",
            ".store/a",
            "git",
            "console",
            "com",
            "com10",
            "CON1",
            "nulls/x",
            "a:b:c/d",
        ] {
            if text.starts_with("a:") {
                check_refused(text, "drive");
            } else {
                assert_eq!(id(text).as_str(), text);
            }
        }
        assert_eq!(id(&"a".repeat(252)).as_str().len(), 252);
        assert_eq!(id(&format!("{}/x", "a".repeat(255))).base_name(), "x");
    }

    #[test]
    fn parts_of_an_id_join_to_it() {
        let nested = id("a/b/c");
        assert_eq!(nested.segments().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!((nested.parent(), nested.base_name()), ("a/b", "c"));
        assert_eq!((id("top").parent(), id("top").base_name()), ("", "top"));
    }

    #[test]
    fn fold_keys_meet_for_case_and_normalisation_only() {
        let same = |a: &str, b: &str| id(a).fold_key() == id(b).fold_key();
        assert!(same("Guides/A", "guides/a"));
        assert!(same("caf\u{e9}", "CAFE\u{301}"));
        assert!(same("stra\u{df}e", "STRASSE"));
        assert!(same("\u{3c3}\u{3c2}", "\u{3a3}\u{3a3}"));
        assert!(!same("\u{131}stanbul", "istanbul"));
        assert!(!same("cafe", "caf\u{e9}"));
        assert!(!same("\u{ff46}ull", "full"));
    }

    #[test]
    fn utf16_order_differs_from_byte_order_above_the_basic_plane() {
        let (private, emoji) = (id("\u{e000}"), id("\u{1f418}"));
        assert_eq!(private.cmp(&emoji), Ordering::Less);
        assert_eq!(private.cmp_utf16(&emoji), Ordering::Greater);
        assert_eq!(id("a").cmp_utf16(&id("a/b")), Ordering::Less);
    }
}
