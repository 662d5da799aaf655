//! Faults on demand: every call that changes the disk asks here first.
//!
//! The kill tests stop a command at its n-th change and look at what is left. In production
//! nobody is asked.

use std::fmt;
use std::io;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultOp {
    /// A file is created.
    Create,
    /// Bytes are written.
    Write,
    /// A file or directory is flushed to the disk.
    Sync,
    /// A whole file system is flushed to the disk.
    SyncFs,
    /// A name is moved, swapped or replaced.
    Rename,
    /// A second name is given.
    Link,
    /// A directory is made.
    Mkdir,
    /// A name is removed.
    Unlink,
    /// Owner or permission bits are changed.
    Chmod,
    /// A file is cut.
    Truncate,
}

/// Decides before each change whether it may happen.
pub trait Faults: Send + Sync {
    /// Called before `op` on `what` (a path, for messages).
    ///
    /// # Errors
    /// An error is returned to the caller in place of the operating system's answer; the change
    /// is not made.
    fn before(&self, op: FaultOp, what: &str) -> io::Result<()>;
}

impl fmt::Debug for dyn Faults + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

/// Fails from the n-th change on, for ever: to the files it is as if the process had been killed
/// before that change.
#[derive(Debug)]
pub struct FailFrom {
    seen: AtomicU64,
    first: AtomicU64,
}

impl FailFrom {
    /// Lets `allowed` changes happen and none after them.
    pub fn new(allowed: u64) -> Self {
        Self {
            seen: AtomicU64::new(0),
            first: AtomicU64::new(allowed),
        }
    }

    /// Never fails, only counts.
    pub fn counting() -> Self {
        Self::new(u64::MAX)
    }

    /// How many changes were asked for.
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::SeqCst)
    }

    /// Lets everything happen from now on.
    pub fn heal(&self) {
        self.first.store(u64::MAX, Ordering::SeqCst);
    }

    /// Counts one change of any kind; for other layers that share the count.
    ///
    /// # Errors
    /// Once the allowed number is used up.
    pub fn step(&self) -> io::Result<()> {
        let index = self.seen.fetch_add(1, Ordering::SeqCst);
        if index >= self.first.load(Ordering::SeqCst) {
            return Err(io::Error::other("injected fault"));
        }
        Ok(())
    }
}

impl Faults for FailFrom {
    fn before(&self, _: FaultOp, _: &str) -> io::Result<()> {
        self.step()
    }
}

/// Notes every change in order, and fails none.
#[derive(Debug, Default)]
pub struct Recorder(Mutex<Vec<(FaultOp, String)>>);

impl Recorder {
    /// What was noted so far; starts anew.
    pub fn take(&self) -> Vec<(FaultOp, String)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Faults for Recorder {
    fn before(&self, op: FaultOp, what: &str) -> io::Result<()> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((op, what.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fail_from_never_recovers_until_healed() {
        let faults = FailFrom::new(2);
        let answers: Vec<bool> = (0..4).map(|_| faults.step().is_ok()).collect();
        assert_eq!(answers, [true, true, false, false]);
        faults.heal();
        assert!(faults.step().is_ok());
        assert_eq!(faults.seen(), 5);
    }
}
