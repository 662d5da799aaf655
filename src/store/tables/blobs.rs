//! Table `blobs`, since schema 1, durable: source bytes and page versions by their hash.
//! Key: SHA-256 (32 bytes), part number (4 bytes, big-endian). Value: version byte, payload,
//! checksum, where the payload is method (1 byte), number of parts (4 bytes, little-endian), length
//! of the whole content (8 bytes, little-endian), then this part's stored bytes.
//! Written once; removed by `purge-source` and `gc`. How bytes become parts is `store::blobs`.

use crate::id::ContentHash;
use crate::store::codec;
use crate::store::error::StoreError;

/// Name of the table.
pub(crate) const BLOBS: &str = "blobs";

/// Layout of a part.
pub(crate) const VERSION: u8 = 1;

/// Largest stored value: with its key and the page's own bookkeeping it fits a run of 64 KiB.
pub(crate) const MAX_PART_BYTES: usize = 65_000;

const HEAD_BYTES: usize = 1 + 4 + 8;

/// Most content bytes that one part holds.
pub(crate) const MAX_CHUNK_BYTES: usize = MAX_PART_BYTES - HEAD_BYTES - codec::ENVELOPE_BYTES;

/// How the parts of a blob, put together, hold its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Raw,
    Zstd,
}

/// One part of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) method: Method,
    pub(crate) parts: u32,
    pub(crate) content_bytes: u64,
    pub(crate) chunk: &'a [u8],
}

pub(crate) fn row_key(hash: ContentHash, part: u32) -> [u8; 36] {
    let mut key = [0; 36];
    key[..32].copy_from_slice(hash.as_bytes());
    key[32..].copy_from_slice(&part.to_be_bytes());
    key
}

/// The hash and part number of a key.
pub(crate) fn split_key(key: &[u8]) -> Option<(ContentHash, u32)> {
    let (hash, part) = key.split_first_chunk::<32>()?;
    let part = u32::from_be_bytes(part.try_into().ok()?);
    Some((ContentHash::from_bytes(*hash), part))
}

pub(crate) fn encode(key: &[u8], part: &Part<'_>) -> Vec<u8> {
    let mut payload = Vec::with_capacity(HEAD_BYTES + part.chunk.len());
    payload.push(match part.method {
        Method::Raw => 0,
        Method::Zstd => 1,
    });
    payload.extend_from_slice(&part.parts.to_le_bytes());
    payload.extend_from_slice(&part.content_bytes.to_le_bytes());
    payload.extend_from_slice(part.chunk);
    codec::seal(BLOBS, key, VERSION, &payload)
}

/// # Errors
/// `Damaged` for anything that [`encode`] did not make.
pub(crate) fn decode<'a>(key: &[u8], bytes: &'a [u8]) -> Result<Part<'a>, StoreError> {
    let payload = codec::unseal(BLOBS, key, VERSION, bytes)?;
    let damaged = || StoreError::damaged(format!("row \"{}\" of blobs", key.escape_ascii()));
    let (&method, rest) = payload.split_first().ok_or_else(damaged)?;
    let (parts, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
    let (content_bytes, chunk) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
    let method = match method {
        0 => Method::Raw,
        1 => Method::Zstd,
        _ => return Err(damaged()),
    };
    Ok(Part {
        method,
        parts: u32::from_le_bytes(*parts),
        content_bytes: u64::from_le_bytes(*content_bytes),
        chunk,
    })
}
