//! What the file system says about a file without reading it, and the clock to compare it with.

use std::fmt;

use rustix::fs::{FileType, Stat};

/// What a directory entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it points.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A Unix socket.
    Socket,
    /// A character or block device.
    Device,
    /// Something this system does not tell.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a regular file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "of unknown kind",
        })
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
}

/// Which file it is, whatever its name: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// Device number.
    pub device: u64,
    /// Inode number on that device.
    pub inode: u64,
}

/// What `stat` says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// Inode number.
    pub inode: u64,
    /// Device number.
    pub device: u64,
    /// Last change of the content, nanoseconds since 1970; anybody can set it.
    pub mtime_ns: i64,
    /// Last change of content or inode, nanoseconds since 1970; only the kernel sets it.
    pub ctime_ns: i64,
    /// How many names the file has.
    pub link_count: u64,
    /// Permission bits.
    pub mode: u32,
}

impl Stamp {
    /// Device and inode.
    pub fn identity(&self) -> Identity {
        Identity {
            device: self.device,
            inode: self.inode,
        }
    }

    /// Whether the file may have changed after it was read without a change of the stamp: it was
    /// last changed in the same tick of the clock as `seen_ns` or later (git's racy rule).
    /// `seen_ns` is [`now_ns`] from before the file was read. Such a file must be hashed again.
    ///
    /// Looks at `ctime` alone: `mtime` is set at will by `touch`, `tar` and `rsync`, and one in
    /// the future would make the file racy for ever.
    pub fn is_racy(&self, seen_ns: i64) -> bool {
        self.ctime_ns >= seen_ns
    }
}

// The types of the fields differ between platforms; all values fit.
#[allow(
    clippy::allow_attributes,
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_lossless,
    clippy::useless_conversion
)]
impl From<&Stat> for Stamp {
    fn from(stat: &Stat) -> Self {
        let nanos = |seconds: i64, part: i64| seconds.saturating_mul(1_000_000_000) + part;
        Self {
            kind: FileType::from_raw_mode(stat.st_mode as _).into(),
            size: stat.st_size as u64,
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
            mtime_ns: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime_ns: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            link_count: stat.st_nlink as u64,
            mode: (stat.st_mode & 0o7777) as u32,
        }
    }
}

/// The present moment in nanoseconds since 1970, by the clock that the kernel stamps files with.
///
/// That is the coarse real-time clock: a file that is changed after this call never gets a stamp
/// that is smaller than the result. (The precise clock runs up to a tick ahead of it.)
pub fn now_ns() -> i64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = rustix::time::ClockId::RealtimeCoarse;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = rustix::time::ClockId::Realtime;
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_changed_after_the_clock_was_read_is_racy() {
        let dir = tempfile::tempdir().unwrap();
        for round in 0..200 {
            let seen = now_ns();
            let path = dir.path().join(format!("f{round}"));
            std::fs::write(&path, b"x").unwrap();
            let stat = rustix::fs::stat(&path).unwrap();
            assert!(Stamp::from(&stat).is_racy(seen), "round {round}");
        }
    }

    #[test]
    fn file_much_older_than_the_look_is_not_racy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"x").unwrap();
        let stamp = Stamp::from(&rustix::fs::stat(&path).unwrap());
        assert!(!stamp.is_racy(stamp.ctime_ns + 1));
        assert!(stamp.is_racy(stamp.ctime_ns));
    }

    #[test]
    fn kinds_read_well_in_a_sentence() {
        assert_eq!(format!("it is {}", Kind::Fifo), "it is a FIFO");
        assert_eq!(Kind::from(FileType::BlockDevice), Kind::Device);
    }
}
