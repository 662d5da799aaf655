//! SHA-256 content hashes and the source ids made of them.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A text is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a SHA-256 in 64 lower-case hexadecimal digits")]
pub struct HashError {
    /// What was given.
    pub given: String,
}

/// SHA-256 of some bytes. Orders as its bytes do, which is also the order of its hex form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A hash computed elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 lower-case hexadecimal digits.
    ///
    /// # Errors
    /// [`HashError`] for anything else, upper case included.
    pub fn parse(text: &str) -> Result<Self, HashError> {
        let refuse = || HashError {
            given: text.to_owned(),
        };
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(refuse());
        }
        let mut bytes = [0u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let (Some(high), Some(low)) = (nibble(pair[0]), nibble(pair[1])) else {
                return Err(refuse());
            };
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl FromStr for ContentHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        Self::parse(text)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// Id of a source: the SHA-256 of its exact bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(ContentHash);

impl SourceId {
    /// The id of a source with this content.
    pub fn of(content: &[u8]) -> Self {
        Self(ContentHash::of(content))
    }

    /// The id with this hash.
    pub const fn from_hash(hash: ContentHash) -> Self {
        Self(hash)
    }

    /// Reads 64 lower-case hexadecimal digits.
    ///
    /// # Errors
    /// [`HashError`] for anything else.
    pub fn parse(text: &str) -> Result<Self, HashError> {
        ContentHash::parse(text).map(Self)
    }

    /// The hash that the id is.
    pub const fn hash(&self) -> ContentHash {
        self.0
    }

    /// The 32 raw bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

impl FromStr for SourceId {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        Self::parse(text)
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceId({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_reads_back_and_nothing_else_is_read() {
        let hash = ContentHash::of(b"abc");
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(ContentHash::parse(text), Ok(hash));
        for bad in [
            "",
            "ba",
            &text.to_uppercase(),
            &text[1..],
            &format!("{text}0"),
        ] {
            assert!(ContentHash::parse(bad).is_err(), "{bad}");
        }
    }
}
