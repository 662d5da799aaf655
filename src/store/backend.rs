//! The file below redb: the wiki's own wrapper around redb's file backend, which lets a test fail
//! the n-th write or sync, and an overlay that lets salvage open a damaged file without writing
//! to it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, StorageBackend};

use super::error::StoreError;

/// What the backend is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendOp {
    /// Write bytes into the file.
    Write,
    /// Force written bytes to the disk.
    Sync,
    /// Change the length of the file.
    SetLen,
}

/// Asked before each change of the store's file; an error makes that change fail.
pub trait BackendFaults: Send + Sync {
    /// Called before `op`; `Err` makes it fail with that error, and nothing is changed.
    ///
    /// # Errors
    /// The failure to inject.
    fn before(&self, op: BackendOp) -> io::Result<()>;
}

impl BackendFaults for crate::tree::FailFrom {
    fn before(&self, _: BackendOp) -> io::Result<()> {
        self.step()
    }
}

/// redb's file backend, with a place for injected faults.
pub(crate) struct StoreFile {
    inner: FileBackend,
    faults: Option<Arc<dyn BackendFaults>>,
}

impl std::fmt::Debug for StoreFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreFile")
    }
}

impl StoreFile {
    pub(crate) fn new(
        file: File,
        faults: Option<Arc<dyn BackendFaults>>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            inner: FileBackend::new(file)?,
            faults,
        })
    }

    fn ask(&self, op: BackendOp) -> io::Result<()> {
        self.faults
            .as_ref()
            .map_or(Ok(()), |faults| faults.before(op))
    }
}

impl StorageBackend for StoreFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.ask(BackendOp::SetLen)?;
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.ask(BackendOp::Sync)?;
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.ask(BackendOp::Write)?;
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}

const BLOCK: u64 = 4096;

/// A file that is only read; what redb writes while it repairs stays in memory.
pub(crate) struct Overlay {
    base: File,
    base_len: u64,
    state: Mutex<OverlayState>,
}

struct OverlayState {
    len: u64,
    blocks: BTreeMap<u64, Box<[u8]>>,
}

impl std::fmt::Debug for Overlay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Overlay")
    }
}

impl Overlay {
    pub(crate) fn new(base: File) -> io::Result<Self> {
        let base_len = base.metadata()?.len();
        let state = Mutex::new(OverlayState {
            len: base_len,
            blocks: BTreeMap::new(),
        });
        Ok(Self {
            base,
            base_len,
            state,
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, OverlayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block as the file has it, zeros beyond its end.
    fn base_block(&self, block: u64) -> io::Result<Box<[u8]>> {
        let mut bytes = vec![0; to_usize(BLOCK)?].into_boxed_slice();
        let start = block * BLOCK;
        let held = to_usize(self.base_len.saturating_sub(start).min(BLOCK))?;
        self.base.read_exact_at(&mut bytes[..held], start)?;
        Ok(bytes)
    }
}

fn to_usize(value: u64) -> io::Result<usize> {
    usize::try_from(value).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Splits `len` bytes from `offset` at block borders: (block, offset in it, offset in the buffer,
/// length).
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = io::Result<(u64, usize, usize, usize)>> {
    let mut done = 0usize;
    std::iter::from_fn(move || {
        if done >= len {
            return None;
        }
        let at = offset.checked_add(done as u64)?;
        let piece = to_usize(at % BLOCK).and_then(|inside| {
            let count = (to_usize(BLOCK)? - inside).min(len - done);
            Ok((at / BLOCK, inside, done, count))
        });
        if let Ok((_, _, _, count)) = piece {
            done += count;
        } else {
            done = len;
        }
        Some(piece)
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > state.len) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for piece in pieces(offset, out.len()) {
            let (block, inside, at, count) = piece?;
            let target = &mut out[at..at + count];
            match state.blocks.get(&block) {
                Some(bytes) => target.copy_from_slice(&bytes[inside..inside + count]),
                None => target.copy_from_slice(&self.base_block(block)?[inside..inside + count]),
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state();
        if len < state.len {
            // What is cut off reads as zeros if the length grows again.
            let first_gone = len.div_ceil(BLOCK);
            state.blocks.split_off(&first_gone);
            for block in first_gone..state.len.div_ceil(BLOCK).min(self.base_len.div_ceil(BLOCK)) {
                state
                    .blocks
                    .insert(block, vec![0; to_usize(BLOCK)?].into_boxed_slice());
            }
            if !len.is_multiple_of(BLOCK) {
                let block = len / BLOCK;
                let mut bytes = match state.blocks.remove(&block) {
                    Some(bytes) => bytes,
                    None => self.base_block(block)?,
                };
                bytes[to_usize(len % BLOCK)?..].fill(0);
                state.blocks.insert(block, bytes);
            }
        }
        state.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        for piece in pieces(offset, data.len()) {
            let (block, inside, at, count) = piece?;
            let bytes = match state.blocks.entry(block) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.base_block(block)?),
            };
            bytes[inside..inside + count].copy_from_slice(&data[at..at + count]);
        }
        let end = offset.saturating_add(data.len() as u64);
        state.len = state.len.max(end);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlay_reads_its_own_writes_and_leaves_the_file_alone() {
        let mut file = tempfile::tempfile().unwrap();
        let original: Vec<u8> = (0..10_000u32).map(|n| (n % 251) as u8).collect();
        io::Write::write_all(&mut file, &original).unwrap();
        let overlay = Overlay::new(file.try_clone().unwrap()).unwrap();

        let mut model = original.clone();
        for (offset, len) in [(4090usize, 20usize), (0, 1), (9_990, 5_000), (20_000, 10)] {
            let data = vec![0xEE; len];
            overlay.write(offset as u64, &data).unwrap();
            let end = offset + len;
            model.resize(model.len().max(end), 0);
            model[offset..end].copy_from_slice(&data);
        }
        for len in [9_000usize, 12_000, 4096, 8192] {
            overlay.set_len(len as u64).unwrap();
            model.resize(len, 0);
        }
        let mut read = vec![0; model.len()];
        overlay.read(0, &mut read).unwrap();
        assert!(read == model);
        assert!(overlay.read(1, &mut read).is_err());

        let mut untouched = vec![0; original.len()];
        file.read_exact_at(&mut untouched, 0).unwrap();
        assert!(untouched == original);
        assert_eq!(file.metadata().unwrap().len(), 10_000);
    }
}
