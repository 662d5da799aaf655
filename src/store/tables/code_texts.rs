//! Table `code_texts`, since schema 1, derived: the text of each indexed file as it was analysed,
//! so that its postings can be taken out again and a moved chunk can be found again.
//! Key: the path below the project, as bytes. Written and removed with the row of `code_files`.

use bincode::{Decode, Encode};

use crate::store::codec::Record;
use crate::store::error::StoreError;

/// A text, compressed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CodeTextRecord {
    /// Length of the text in bytes.
    pub length: u64,
    /// The text, as one zstd frame.
    pub frame: Vec<u8>,
}

impl Record for CodeTextRecord {
    const TABLE: &'static str = "code_texts";
}

/// Fast, since the first index is waited for.
const LEVEL: i32 = 1;

impl CodeTextRecord {
    /// Compresses a text.
    ///
    /// # Errors
    /// `TooLarge` when zstd refuses it.
    pub fn new(text: &str) -> Result<Self, StoreError> {
        let frame =
            zstd::bulk::compress(text.as_bytes(), LEVEL).map_err(|_| StoreError::TooLarge {
                what: Self::TABLE,
                limit: u64::MAX,
            })?;
        Ok(Self {
            length: text.len() as u64,
            frame,
        })
    }

    /// The text.
    ///
    /// # Errors
    /// `Damaged` when it is not what was compressed.
    pub fn text(&self) -> Result<String, StoreError> {
        let damaged = || StoreError::damaged("a row of code_texts does not unpack");
        let length = usize::try_from(self.length)
            .ok()
            .filter(|&length| length <= crate::store::codec::MAX_RECORD_BYTES)
            .ok_or_else(damaged)?;
        let bytes = zstd::bulk::decompress(&self.frame, length).map_err(|_| damaged())?;
        if bytes.len() != length {
            return Err(damaged());
        }
        String::from_utf8(bytes).map_err(|_| damaged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_and_damage_is_an_error() {
        let record = CodeTextRecord::new("fn a() {}\n").unwrap();
        assert_eq!(record.text().unwrap(), "fn a() {}\n");
        assert_eq!(CodeTextRecord::new("").unwrap().text().unwrap(), "");
        for broken in [
            CodeTextRecord {
                length: 3,
                ..record.clone()
            },
            CodeTextRecord {
                length: u64::MAX,
                ..record.clone()
            },
            CodeTextRecord {
                frame: vec![1, 2],
                ..record
            },
        ] {
            assert!(broken.text().is_err());
        }
    }
}
