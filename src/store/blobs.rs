//! Content by its hash: cut into parts, compressed where that pays, verified when read.
//!
//! A redb value takes a run of pages whose number is a power of two, so large content is cut into
//! parts of at most 65 000 bytes. Content is compressed as a whole, then cut, and kept compressed
//! only if that saves an eighth. What is read back always hashes to its key.

use std::cell::RefCell;
use std::io::{self, Read};

use zstd::bulk::{Compressor, Decompressor};

use super::batch::Batch;
use super::error::StoreError;
use super::snapshot::View;
use super::tables::blobs::{self, BLOBS, MAX_CHUNK_BYTES, Method, Part};
use super::tables::{after_prefix, bytes_table};
use crate::id::ContentHash;

/// Content shorter than this is never compressed: the saving is lost in the page.
const MIN_COMPRESSED: usize = 256;

const ZSTD_LEVEL: i32 = 3;

/// Up to this length content is unpacked in one go, into room of the length that its row claims.
const MAX_AT_ONCE: u64 = 4 << 20;

thread_local! {
    /// Contexts of zstd, made once a thread: to make one costs as much as to pack or unpack a page.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn pack(content: &[u8]) -> io::Result<Vec<u8>> {
    PACKER.with_borrow_mut(|kept| {
        let packer = match kept {
            Some(packer) => packer,
            None => kept.insert(Compressor::new(ZSTD_LEVEL)?),
        };
        packer.compress(content)
    })
}

/// Unpacks at most `length` bytes; fails when there are more.
fn unpack_at_once(stored: &[u8], length: usize) -> io::Result<Vec<u8>> {
    UNPACKER.with_borrow_mut(|kept| {
        let unpacker = match kept {
            Some(unpacker) => unpacker,
            None => kept.insert(Decompressor::new()?),
        };
        unpacker.decompress(stored, length)
    })
}

/// Content as it is stored: one method for all parts.
struct Stored {
    method: Method,
    bytes: Vec<u8>,
}

fn store_form(content: &[u8]) -> Stored {
    if content.len() >= MIN_COMPRESSED
        && let Ok(bytes) = pack(content)
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

fn unpack(stored: &[u8], content_bytes: u64) -> io::Result<Vec<u8>> {
    if content_bytes <= MAX_AT_ONCE
        && let Ok(length) = usize::try_from(content_bytes)
        && let Ok(content) = unpack_at_once(stored, length)
    {
        return Ok(content);
    }
    // Grows as it is read, so a length that lies claims no memory. Damage comes here too, to be
    // told from a wrong length.
    let mut content = Vec::new();
    zstd::stream::read::Decoder::new(stored)?
        .take(content_bytes.saturating_add(1))
        .read_to_end(&mut content)?;
    Ok(content)
}

/// The content behind stored bytes, or why there is none.
fn content_form(method: Method, stored: Vec<u8>, content_bytes: u64) -> Result<Vec<u8>, String> {
    let content = match method {
        Method::Raw => stored,
        Method::Zstd => unpack(&stored, content_bytes)
            .map_err(|error| format!("cannot be unpacked ({error})"))?,
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
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(BLOBS))?;
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
        self.change(|view| {
            let mut rows = view.rows_mut(bytes_table(BLOBS))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{Place, noise};
    use crate::store::{Access, verify};

    #[test]
    fn content_of_any_length_reads_back_and_small_parts_are_kept() {
        let place = Place::new();
        let store = place.create();
        let mut contents: Vec<Vec<u8>> = vec![Vec::new(), b"x".to_vec(), vec![b'a'; 500_000]];
        for len in [
            MIN_COMPRESSED,
            MAX_CHUNK_BYTES - 1,
            MAX_CHUNK_BYTES,
            MAX_CHUNK_BYTES + 1,
            3 * MAX_CHUNK_BYTES,
            1_000_000,
        ] {
            contents.push(noise(len, len as u64));
        }
        let mut batch = store.write().unwrap();
        for content in &contents {
            let hash = batch.put_blob(content).unwrap();
            assert_eq!(batch.blob(&hash).unwrap().unwrap(), *content);
        }
        batch.commit().unwrap();
        let snapshot = store.read().unwrap();
        for content in &contents {
            let hash = ContentHash::of(content);
            assert_eq!(snapshot.blob(&hash).unwrap().unwrap(), *content);
            assert_eq!(
                snapshot.blob_len(&hash).unwrap(),
                Some(content.len() as u64)
            );
        }
        assert_eq!(snapshot.blob_hashes().unwrap().len(), contents.len());
        let found = verify(&snapshot, true, &crate::context::Context::default()).unwrap();
        assert_eq!(found.faults, vec![]);
        drop((snapshot, store));
        // 500 000 equal bytes take next to nothing; incompressible ones take their own length.
        assert!(place.bytes().len() < 4_000_000);
    }

    #[test]
    fn a_part_is_never_longer_than_a_run_of_pages_allows() {
        let content = noise(MAX_CHUNK_BYTES, 3);
        let part = Part {
            method: Method::Raw,
            parts: 1,
            content_bytes: 0,
            chunk: &content,
        };
        let value = blobs::encode(&blobs::row_key(ContentHash::of(&content), 0), &part);
        assert_eq!(value.len(), blobs::MAX_PART_BYTES);
    }

    #[test]
    fn damaged_content_is_an_error_until_it_is_put_again() {
        let place = Place::new();
        let store = place.create();
        let content = noise(200_000, 5);
        let hash = ContentHash::of(&content);
        let mut batch = store.write().unwrap();
        batch.put_blob(&content).unwrap();
        assert!(batch.delete(BLOBS, &blobs::row_key(hash, 1)).unwrap());
        batch.commit().unwrap();
        assert!(store.read().unwrap().blob(&hash).unwrap_err().is_damage());
        let mut batch = store.write().unwrap();
        batch.put_blob(&content).unwrap();
        batch.commit().unwrap();
        assert_eq!(
            place
                .ready(Access::ReadOnly)
                .read()
                .unwrap()
                .blob(&hash)
                .unwrap(),
            Some(content)
        );
    }

    #[test]
    fn parts_of_another_content_are_not_put_together() {
        let content = noise(10, 1);
        let part = Part {
            method: Method::Raw,
            parts: 1,
            content_bytes: 10,
            chunk: &content,
        };
        let mut assembly = Assembly::default();
        assembly.add(0, &part).unwrap();
        assert!(assembly.finish(ContentHash::of(b"other")).is_err());
        let mut assembly = Assembly::default();
        assert!(assembly.add(1, &part).is_err());
        // A length that lies about what is packed.
        let packed = zstd::bulk::compress(&[7; 1000], 1).unwrap();
        let part = Part {
            method: Method::Zstd,
            parts: 1,
            content_bytes: u64::MAX,
            chunk: &packed,
        };
        let mut assembly = Assembly::default();
        assembly.add(0, &part).unwrap();
        assert!(assembly.finish(ContentHash::of(&[7; 1000])).is_err());
    }
}
