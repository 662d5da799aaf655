//! Content by its hash: cut into parts, compressed where that pays, verified when read.
//!
//! A redb value takes a run of pages whose number is a power of two, so large content is cut into
//! parts of at most 65 000 bytes. Content is compressed as a whole, then cut, and kept compressed
//! only if that saves an eighth. What is read back always hashes to its key.

use std::io::Read;

use super::batch::Batch;
use super::error::StoreError;
use super::snapshot::View;
use super::tables::blobs::{self, BLOBS, MAX_CHUNK_BYTES, Method, Part};
use super::tables::{after_prefix, bytes_table};
use crate::id::ContentHash;

/// Content shorter than this is never compressed: the saving is lost in the page.
const MIN_COMPRESSED: usize = 256;

const ZSTD_LEVEL: i32 = 3;

/// Content as it is stored: one method for all parts.
struct Stored {
    method: Method,
    bytes: Vec<u8>,
}

fn store_form(content: &[u8]) -> Stored {
    if content.len() >= MIN_COMPRESSED
        && let Ok(bytes) = zstd::bulk::compress(content, ZSTD_LEVEL)
        && bytes.len() <= content.len() / 8 * 7
    {
        return Stored {
            method: Method::Zstd,
            bytes,
        };
    }
    Stored {
        method: Method::Raw,
        bytes: content.to_vec(),
    }
}

/// The content behind stored bytes, or why there is none.
fn content_form(method: Method, stored: Vec<u8>, content_bytes: u64) -> Result<Vec<u8>, String> {
    let content = match method {
        Method::Raw => stored,
        Method::Zstd => {
            // Grows as it is read, so a length that lies claims no memory.
            let mut content = Vec::new();
            zstd::stream::read::Decoder::new(stored.as_slice())
                .and_then(|decoder| {
                    decoder
                        .take(content_bytes.saturating_add(1))
                        .read_to_end(&mut content)
                })
                .map_err(|error| format!("cannot be unpacked ({error})"))?;
            content
        }
    };
    if content.len() as u64 != content_bytes {
        return Err("has another length".to_owned());
    }
    Ok(content)
}

fn blob_damaged(hash: ContentHash, what: &str) -> StoreError {
    StoreError::damaged(format!("the preserved content {hash} {what}"))
}

/// Collects parts in order and checks that they belong together.
#[derive(Default)]
pub(crate) struct Assembly {
    method: Option<Method>,
    parts: u32,
    content_bytes: u64,
    next: u32,
    stored: Vec<u8>,
}

impl Assembly {
    pub(crate) fn add(&mut self, number: u32, part: &Part<'_>) -> Result<(), &'static str> {
        if self.next == 0 {
            self.method = Some(part.method);
            self.parts = part.parts;
            self.content_bytes = part.content_bytes;
        }
        let same = self.method == Some(part.method)
            && self.parts == part.parts
            && self.content_bytes == part.content_bytes;
        if number != self.next || number >= self.parts || !same {
            return Err("has parts that do not belong together");
        }
        self.next += 1;
        self.stored.extend_from_slice(part.chunk);
        Ok(())
    }

    /// The content, if all parts came and it hashes to `hash`.
    pub(crate) fn finish(self, hash: ContentHash) -> Result<Vec<u8>, String> {
        let Some(method) = self.method.filter(|_| self.next == self.parts) else {
            return Err("lacks parts".to_owned());
        };
        let content = content_form(method, self.stored, self.content_bytes)?;
        if ContentHash::of(&content) != hash {
            return Err("does not hash to its name".to_owned());
        }
        Ok(content)
    }
}

impl View {
    /// The content with this hash; what is answered was hashed again.
    ///
    /// # Errors
    /// `Damaged` when a part is unreadable or missing, or the content has another hash.
    pub fn blob(&self, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let prefix = hash.as_bytes();
        let end = after_prefix(prefix);
        let assembly = self.with_bytes(BLOBS, |rows| {
            let to = end
                .as_deref()
                .map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
            let mut assembly = None::<Assembly>;
            for row in rows.range(std::ops::Bound::Included(prefix), to)? {
                let (key, value) = row?;
                let part = blobs::decode(key.value(), value.value())?;
                let Some((_, number)) = blobs::split_key(key.value()) else {
                    return Err(blob_damaged(*hash, "has an impossible key"));
                };
                assembly
                    .get_or_insert_default()
                    .add(number, &part)
                    .map_err(|what| blob_damaged(*hash, what))?;
            }
            Ok(assembly)
        })?;
        match assembly.flatten() {
            Some(assembly) => assembly
                .finish(*hash)
                .map(Some)
                .map_err(|what| blob_damaged(*hash, &what)),
            None => Ok(None),
        }
    }

    /// Whether content with this hash is here. Does not read it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn has_blob(&self, hash: &ContentHash) -> Result<bool, StoreError> {
        self.has(BLOBS, &blobs::row_key(*hash, 0))
    }

    /// Length of the content with this hash, from its first part alone.
    ///
    /// # Errors
    /// `Damaged` when the first part is unreadable.
    pub fn blob_len(&self, hash: &ContentHash) -> Result<Option<u64>, StoreError> {
        let key = blobs::row_key(*hash, 0);
        let found = self.with_bytes(BLOBS, |rows| match rows.get(&key)? {
            Some(value) => blobs::decode(&key, value.value()).map(|part| Some(part.content_bytes)),
            None => Ok(None),
        })?;
        Ok(found.flatten())
    }

    /// Hashes of all preserved content, in the order of hashes.
    ///
    /// # Errors
    /// `Damaged` for an impossible key.
    pub fn blob_hashes(&self) -> Result<Vec<ContentHash>, StoreError> {
        let hashes = self.with_bytes(BLOBS, |rows| {
            let mut hashes = Vec::<ContentHash>::new();
            for row in rows.range(std::ops::Bound::Unbounded, std::ops::Bound::Unbounded)? {
                let (key, _) = row?;
                let (hash, _) = blobs::split_key(key.value())
                    .ok_or_else(|| super::snapshot::bad_key(BLOBS, key.value()))?;
                if hashes.last() != Some(&hash) {
                    hashes.push(hash);
                }
            }
            Ok(hashes)
        })?;
        Ok(hashes.unwrap_or_default())
    }
}

impl Batch {
    /// Preserves content and answers its hash. Content that is here and reads back whole is left
    /// alone; damaged content is replaced.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn put_blob(&mut self, content: &[u8]) -> Result<ContentHash, StoreError> {
        let hash = ContentHash::of(content);
        match self.blob(&hash) {
            Ok(Some(_)) => return Ok(hash),
            Ok(None) => {}
            Err(StoreError::Damaged { .. }) => {
                self.remove_blob(&hash)?;
            }
            Err(error) => return Err(error),
        }
        let stored = store_form(content);
        let too_large = || StoreError::TooLarge {
            what: "content",
            limit: u64::from(u32::MAX) * 65_000,
        };
        let parts = u32::try_from(stored.bytes.len().div_ceil(MAX_CHUNK_BYTES).max(1))
            .map_err(|_| too_large())?;
        super::error::guard(|| {
            let mut rows = self.rows_mut(bytes_table(BLOBS))?;
            let mut chunks = stored.bytes.chunks(MAX_CHUNK_BYTES);
            for number in 0..parts {
                let key = blobs::row_key(hash, number);
                let part = Part {
                    method: stored.method,
                    parts,
                    content_bytes: content.len() as u64,
                    // Empty content has one empty part.
                    chunk: chunks.next().unwrap_or_default(),
                };
                rows.insert(key.as_slice(), blobs::encode(&key, &part).as_slice())?;
            }
            Ok(hash)
        })
    }

    /// Forgets content. Answers whether there was any.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn remove_blob(&mut self, hash: &ContentHash) -> Result<bool, StoreError> {
        super::error::guard(|| {
            let mut rows = self.rows_mut(bytes_table(BLOBS))?;
            let first = blobs::row_key(*hash, 0);
            let last = blobs::row_key(*hash, u32::MAX);
            let keys = rows
                .range::<&[u8]>(first.as_slice()..=last.as_slice())?
                .map(|row| row.map(|(key, _)| key.value().to_vec()))
                .collect::<Result<Vec<_>, _>>()?;
            for key in &keys {
                rows.remove(key.as_slice())?;
            }
            Ok(!keys.is_empty())
        })
    }
}
