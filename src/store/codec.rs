//! How a value is laid out: one version byte, a bincode payload, eight bytes of checksum.
//!
//! ```text
//! [version][bincode, standard configuration ...][xxh3-64 of table, key, version, payload; LE]
//! ```
//!
//! The checksum covers the name of the table and the key, so that a row found at a wrong place is
//! as detectable as a changed byte, and so that salvage can recognise a row on a torn page.
//! redb checks no checksum on reading; this one is checked on every read. Decoding never panics,
//! refuses trailing bytes and allocates no more than [`MAX_RECORD_BYTES`].

use bincode::{Decode, Encode};
use xxhash_rust::xxh3::xxh3_64;

use super::error::StoreError;
use crate::id::{ContentHash, SourceId};

/// Largest encoded payload, and most memory that decoding one may claim.
pub(crate) const MAX_RECORD_BYTES: usize = 64 << 20;

/// Bytes that the envelope adds to a payload.
pub(crate) const ENVELOPE_BYTES: usize = 1 + TAIL_BYTES;

const TAIL_BYTES: usize = 8;

/// A value of one table.
pub(crate) trait Record: Encode + Decode<()> {
    /// Name of the table, as redb knows it.
    const TABLE: &'static str;
    /// First byte of the encoding; a changed layout has a new one.
    const VERSION: u8 = 1;
}

fn configuration() -> bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<MAX_RECORD_BYTES>,
> {
    bincode::config::standard().with_limit::<MAX_RECORD_BYTES>()
}

/// Checksum of a row. The three parts are hashed alone and rotated apart, so that no byte can
/// move from one to another unnoticed.
fn checksum(table: &str, key: &[u8], body: &[u8]) -> u64 {
    xxh3_64(body) ^ xxh3_64(key).rotate_left(17) ^ xxh3_64(table.as_bytes()).rotate_left(41)
}

/// Wraps a payload made elsewhere (posting rows, blob parts) in version byte and checksum.
pub(crate) fn seal(table: &str, key: &[u8], version: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + ENVELOPE_BYTES);
    bytes.push(version);
    bytes.extend_from_slice(payload);
    finish(table, key, bytes)
}

fn finish(table: &str, key: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
    let tail = checksum(table, key, &bytes);
    bytes.extend_from_slice(&tail.to_le_bytes());
    bytes
}

/// The payload of a row whose checksum holds and whose version byte is `version`.
///
/// # Errors
/// `Damaged`, naming the table and the key.
pub(crate) fn unseal<'a>(
    table: &str,
    key: &[u8],
    version: u8,
    bytes: &'a [u8],
) -> Result<&'a [u8], StoreError> {
    let damaged = |what: &str| row_damaged(table, key, what);
    let Some((body, tail)) = bytes.split_last_chunk::<TAIL_BYTES>() else {
        return Err(damaged("is too short"));
    };
    if u64::from_le_bytes(*tail) != checksum(table, key, body) {
        return Err(damaged("fails its checksum"));
    }
    match body.split_first() {
        Some((&found, payload)) if found == version => Ok(payload),
        Some((&found, _)) => Err(damaged(&format!("has the unknown layout {found}"))),
        None => Err(damaged("is too short")),
    }
}

fn row_damaged(table: &str, key: &[u8], what: &str) -> StoreError {
    StoreError::damaged(format!("row \"{}\" of {table} {what}", key.escape_ascii()))
}

/// Encodes a record for its table and key.
///
/// # Errors
/// `TooLarge` above [`MAX_RECORD_BYTES`].
pub(crate) fn encode<R: Record>(key: &[u8], record: &R) -> Result<Vec<u8>, StoreError> {
    let too_large = || StoreError::TooLarge {
        what: R::TABLE,
        limit: MAX_RECORD_BYTES as u64,
    };
    let mut bytes = vec![R::VERSION];
    bincode::encode_into_std_write(record, &mut bytes, configuration()).map_err(|_| too_large())?;
    if bytes.len() > MAX_RECORD_BYTES {
        return Err(too_large());
    }
    Ok(finish(R::TABLE, key, bytes))
}

/// Stands for a record that stood sealed in its table: equal for equal records, whatever their key.
pub(crate) fn mark(sealed: &[u8]) -> u64 {
    xxh3_64(&sealed[..sealed.len().saturating_sub(TAIL_BYTES)])
}

/// The [`mark`] of a record that is not in a table yet.
///
/// # Errors
/// As [`encode`].
pub(crate) fn mark_of<R: Record>(record: &R) -> Result<u64, StoreError> {
    encode(&[], record).map(|sealed| mark(&sealed))
}

/// Decodes a record that stood in its table under `key`.
///
/// # Errors
/// `Damaged`, naming the table and the key, for anything that [`encode`] did not make.
pub(crate) fn decode<R: Record>(key: &[u8], bytes: &[u8]) -> Result<R, StoreError> {
    let payload = unseal(R::TABLE, key, R::VERSION, bytes)?;
    match bincode::decode_from_slice::<R, _>(payload, configuration()) {
        Ok((record, used)) if used == payload.len() => Ok(record),
        Ok(_) => Err(row_damaged(R::TABLE, key, "has trailing bytes")),
        Err(error) => Err(row_damaged(
            R::TABLE,
            key,
            &format!("cannot be decoded ({error})"),
        )),
    }
}

impl Encode for ContentHash {
    fn encode<E: bincode::enc::Encoder>(
        &self,
        encoder: &mut E,
    ) -> Result<(), bincode::error::EncodeError> {
        self.as_bytes().encode(encoder)
    }
}

impl<C> Decode<C> for ContentHash {
    fn decode<D: bincode::de::Decoder<Context = C>>(
        decoder: &mut D,
    ) -> Result<Self, bincode::error::DecodeError> {
        <[u8; 32]>::decode(decoder).map(Self::from_bytes)
    }
}

impl Encode for SourceId {
    fn encode<E: bincode::enc::Encoder>(
        &self,
        encoder: &mut E,
    ) -> Result<(), bincode::error::EncodeError> {
        self.as_bytes().encode(encoder)
    }
}

impl<C> Decode<C> for SourceId {
    fn decode<D: bincode::de::Decoder<Context = C>>(
        decoder: &mut D,
    ) -> Result<Self, bincode::error::DecodeError> {
        ContentHash::decode(decoder).map(Self::from_hash)
    }
}

bincode::impl_borrow_decode!(ContentHash);
bincode::impl_borrow_decode!(SourceId);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Encode, Decode)]
    struct Sample {
        name: String,
        ids: Vec<u32>,
        hash: Option<ContentHash>,
    }

    impl Record for Sample {
        const TABLE: &'static str = "sample";
    }

    fn sample() -> Sample {
        Sample {
            name: "n".to_owned(),
            ids: vec![1, 300],
            hash: Some(ContentHash::of(b"x")),
        }
    }

    #[test]
    fn a_record_reads_back_under_its_own_key_only() {
        let bytes = encode(b"k", &sample()).unwrap();
        assert_eq!(decode::<Sample>(b"k", &bytes).unwrap(), sample());
        assert!(decode::<Sample>(b"l", &bytes).is_err());
        assert!(unseal("other", b"k", 1, &bytes).is_err());
    }

    #[test]
    fn a_mark_knows_the_record_and_not_its_key() {
        let mark_of = |record: &Sample| super::mark_of(record).unwrap();
        for key in [&b"k"[..], b"l"] {
            assert_eq!(mark(&encode(key, &sample()).unwrap()), mark_of(&sample()));
        }
        let mut other = sample();
        other.ids[0] = 2;
        assert_ne!(mark_of(&other), mark_of(&sample()));
        assert_eq!(mark(b"short"), xxh3_64(b""));
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let bytes = encode(b"k", &sample()).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert!(
                    decode::<Sample>(b"k", &changed).is_err(),
                    "byte {at}, bit {bit}"
                );
            }
        }
        for length in 0..bytes.len() {
            assert!(
                decode::<Sample>(b"k", &bytes[..length]).is_err(),
                "length {length}"
            );
        }
    }

    #[test]
    fn trailing_bytes_and_other_layouts_are_refused() {
        let inner = encode(b"k", &sample()).unwrap();
        let payload = &inner[1..inner.len() - TAIL_BYTES];
        let mut longer = payload.to_vec();
        longer.push(0);
        let refused = decode::<Sample>(b"k", &seal("sample", b"k", 1, &longer));
        assert!(refused.unwrap_err().to_string().contains("trailing"));
        let newer = decode::<Sample>(b"k", &seal("sample", b"k", 2, payload));
        assert!(newer.unwrap_err().to_string().contains("unknown layout 2"));
    }

    #[test]
    fn a_length_that_lies_claims_no_memory() {
        // A vector of 2^62 elements, by its length prefix (bincode's marker 253 = u64).
        let mut payload = vec![0, 253];
        payload.extend_from_slice(&(1u64 << 62).to_le_bytes());
        assert!(decode::<Sample>(b"k", &seal("sample", b"k", 1, &payload)).is_err());
    }

    #[test]
    fn the_layout_of_schema_1_is_frozen() {
        let bytes = encode(b"k", &sample()).unwrap();
        let hex = bytes
            .iter()
            .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        assert!(hex.starts_with("01016e0201fb2c0101"), "{hex}");
        assert!(hex.ends_with("2258717921a4881489de3dfe1d52262"), "{hex}");
    }
}
