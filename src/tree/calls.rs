//! The system calls that change the disk, one function each. Every one of them asks the fault
//! injector first; nothing else in this module changes the disk.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};

use super::faults::{FaultOp, Faults};

/// Permission bits of new files, before the umask.
const FILE_MODE: u32 = 0o666;
/// Permission bits of new directories, before the umask.
const DIR_MODE: u32 = 0o777;

/// The changing calls, with the injector that may forbid them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calls<'a>(pub(super) Option<&'a dyn Faults>);

impl Calls<'_> {
    fn ask(self, op: FaultOp, what: &str) -> io::Result<()> {
        match self.0 {
            Some(faults) => faults.before(op, what),
            None => Ok(()),
        }
    }

    /// Creates a file that must not exist yet, open for reading and writing.
    pub(super) fn create(self, dir: BorrowedFd<'_>, name: &[u8], what: &str) -> io::Result<File> {
        self.ask(FaultOp::Create, what)?;
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(
            dir,
            name,
            flags,
            mode(FILE_MODE),
        )?))
    }

    /// Writes all of `bytes`.
    pub(super) fn write(self, mut file: &File, bytes: &[u8], what: &str) -> io::Result<()> {
        self.ask(FaultOp::Write, what)?;
        file.write_all(bytes)
    }

    /// Flushes a file: bytes and length are on the disk when this returns.
    pub(super) fn sync(self, file: &File, what: &str) -> io::Result<()> {
        self.ask(FaultOp::Sync, what)?;
        sync_all(file)
    }

    /// Flushes a directory: the names in it are on the disk when this returns. `dir` may be a
    /// handle that cannot be flushed itself, as `O_PATH` gives.
    pub(super) fn sync_dir(self, dir: BorrowedFd<'_>, what: &str) -> io::Result<()> {
        self.ask(FaultOp::Sync, what)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle: OwnedFd = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
        sync_all(&File::from(handle))
    }

    /// Flushes the whole file system that holds `dir`.
    pub(super) fn sync_fs(self, dir: BorrowedFd<'_>, what: &str) -> io::Result<()> {
        self.ask(FaultOp::SyncFs, what)?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        rustix::fs::syncfs(dir)?;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        {
            let _ = dir;
            rustix::fs::sync();
        }
        Ok(())
    }

    /// Makes a directory.
    pub(super) fn mkdir(self, dir: BorrowedFd<'_>, name: &[u8], what: &str) -> io::Result<()> {
        self.ask(FaultOp::Mkdir, what)?;
        Ok(rustix::fs::mkdirat(dir, name, mode(DIR_MODE))?)
    }

    /// Moves a name; `flags` empty replaces what is at the goal.
    pub(super) fn rename(
        self,
        from: (BorrowedFd<'_>, &[u8]),
        to: (BorrowedFd<'_>, &[u8]),
        flags: RenameFlags,
        what: &str,
    ) -> io::Result<()> {
        self.ask(FaultOp::Rename, what)?;
        if flags.is_empty() {
            rustix::fs::renameat(from.0, from.1, to.0, to.1)?;
        } else {
            rustix::fs::renameat_with(from.0, from.1, to.0, to.1, flags)?;
        }
        Ok(())
    }

    /// Gives a file a second name, which must be free.
    pub(super) fn link(
        self,
        from: (BorrowedFd<'_>, &[u8]),
        to: (BorrowedFd<'_>, &[u8]),
        what: &str,
    ) -> io::Result<()> {
        self.ask(FaultOp::Link, what)?;
        Ok(rustix::fs::linkat(
            from.0,
            from.1,
            to.0,
            to.1,
            AtFlags::empty(),
        )?)
    }

    /// Removes a file's name; links are removed, not followed.
    pub(super) fn unlink(self, dir: BorrowedFd<'_>, name: &[u8], what: &str) -> io::Result<()> {
        self.ask(FaultOp::Unlink, what)?;
        Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty())?)
    }

    /// Removes an empty directory.
    pub(super) fn rmdir(self, dir: BorrowedFd<'_>, name: &[u8], what: &str) -> io::Result<()> {
        self.ask(FaultOp::Unlink, what)?;
        Ok(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)?)
    }

    /// Sets permission bits.
    pub(super) fn chmod(self, file: impl AsFd, bits: u32, what: &str) -> io::Result<()> {
        self.ask(FaultOp::Chmod, what)?;
        Ok(rustix::fs::fchmod(file, mode(bits))?)
    }

    /// Cuts a file to `length` bytes.
    pub(super) fn truncate(self, file: &File, length: u64, what: &str) -> io::Result<()> {
        self.ask(FaultOp::Truncate, what)?;
        file.set_len(length)
    }
}

/// `fsync` (on Apple systems `F_FULLFSYNC`). Some network and user-space file systems cannot
/// flush a directory and say so; there is nothing better to do there.
fn sync_all(file: &File) -> io::Result<()> {
    use rustix::io::Errno;
    match file.sync_all() {
        Err(error)
            if matches!(
                Errno::from_io_error(&error),
                Some(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS)
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

// The raw mode is 16 bits wide on Apple systems.
#[allow(
    clippy::allow_attributes,
    clippy::useless_conversion,
    clippy::cast_possible_truncation
)]
fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as _)
}
