//! The lock that every write transaction holds.
//!
//! It is `flock` on the root directory itself, which needs no file, works on a read-only disk,
//! and goes away with its holder however that ends. The directory is opened anew for each
//! acquisition, because an open file description can be locked only once. Inside the process a
//! gate for each root comes first: waiting there needs no polling, and it holds where a system
//! emulates `flock` by locks that belong to the process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::path::{RelPath, escape};
use super::root::Tree;
use super::stamp::{Identity, Kind};
use super::{Result, TreeError};
use crate::context::Context;

/// Names the holder, for the message of those who wait. Never relied on.
const HOLDER_FILE: &str = ".store/lock-holder";
/// The longest pause between two trials, and between two looks at the cancellation.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The root's lock, held until dropped.
#[derive(Debug)]
pub struct RootLock {
    directory: OwnedFd,
    _gate: GateGuard,
}

impl Drop for RootLock {
    fn drop(&mut self) {
        // Said aloud and not left to closing: a child process that was forked and not yet
        // replaced by `exec` holds a copy of the handle.
        let _ = rustix::fs::flock(&self.directory, FlockOperation::Unlock);
    }
}

impl Tree {
    /// Takes the lock, waiting for it at most `wait` (zero: one trial).
    ///
    /// The lock does not nest: who holds it and asks again waits in vain.
    ///
    /// # Errors
    /// `Busy` with the holder as far as known; `Aborted` when the context was cancelled; `Moved`
    /// when the root is no longer at its path.
    pub fn lock(&self, wait: Duration, context: &Context) -> Result<RootLock> {
        let start = Instant::now();
        let deadline = start.checked_add(wait);
        let busy = || TreeError::Busy {
            holder: self.lock_holder(),
            waited: start.elapsed(),
        };
        let expired = || deadline.is_some_and(|deadline| Instant::now() >= deadline);

        let gate = Gate::of(self.identity());
        let gate = loop {
            if let Some(guard) = gate.enter(LONGEST_PAUSE.min(wait)) {
                break guard;
            }
            check(context)?;
            if expired() {
                return Err(busy());
            }
        };

        let failed =
            |error: Errno| TreeError::new("lock", escape_path(self), std::io::Error::from(error));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory =
            rustix::fs::openat(self.root_fd(), ".", flags, Mode::empty()).map_err(failed)?;
        let mut pause = Duration::from_micros(200);
        loop {
            match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(failed(error)),
            }
            check(context)?;
            if expired() {
                return Err(busy());
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        let lock = RootLock {
            directory,
            _gate: gate,
        };
        if !self.is_current() {
            return Err(TreeError::Moved {
                path: escape_path(self),
            });
        }
        self.note_holder();
        Ok(lock)
    }

    /// Who holds the lock, as far as known: `process 4711 (llmwiki import)`.
    pub fn lock_holder(&self) -> Option<String> {
        let rel = RelPath::known(HOLDER_FILE);
        let (file, _) = self.open_file(&rel).ok()??;
        let mut text = String::new();
        file.take(256).read_to_string(&mut text).ok()?;
        let (pid, command) = text.lines().next()?.split_once(' ')?;
        let pid: u32 = pid.parse().ok()?;
        // What a killed holder left behind names nobody.
        if !process_lives(pid) {
            return None;
        }
        Some(format!("process {pid} ({})", escape(command.as_bytes())))
    }

    /// Writes down who holds the lock. Best effort, past the fault injector and without a flush:
    /// it is a courtesy to those who wait, and there may be nowhere to write it.
    fn note_holder(&self) {
        let Ok(dir) = self.open_dir(&RelPath::known(".store")) else {
            return;
        };
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let Ok(file) = rustix::fs::openat(&dir, "lock-holder", flags, Mode::from_raw_mode(0o644))
        else {
            return;
        };
        let regular = rustix::fs::fstat(file.as_fd())
            .is_ok_and(|stat| super::Stamp::from(&stat).kind == Kind::File);
        if regular {
            let text = format!("{} {}\n", std::process::id(), own_command());
            let mut file = File::from(file);
            // Cut after writing, so that a reader never finds the file empty.
            if file.write_all(text.as_bytes()).is_ok() {
                let _ = file.set_len(text.len() as u64);
            }
        }
    }
}

fn check(context: &Context) -> Result<()> {
    context.check().map_err(|_| TreeError::Aborted)
}

fn escape_path(tree: &Tree) -> String {
    use std::os::unix::ffi::OsStrExt;
    escape(tree.path().as_os_str().as_bytes())
}

/// The program's name and its sub-command, never its arguments, which may hold secrets.
fn own_command() -> String {
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let program = std::path::Path::new(&program)
        .file_name()
        .unwrap_or_default();
    let mut command = program.to_string_lossy().into_owned();
    if let Some(Ok(first)) = arguments.next().map(std::ffi::OsString::into_string)
        && first.len() <= 20
        && first.starts_with(|letter: char| letter.is_ascii_lowercase())
        && first
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    {
        command.push(' ');
        command.push_str(&first);
    }
    command
}

fn process_lives(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return false;
    };
    !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH))
}

/// Lets one holder in at a time.
#[derive(Debug, Default)]
struct Gate {
    held: Mutex<bool>,
    freed: Condvar,
}

/// The gates of this process, by root. A gate lives while somebody holds it or waits at it.
static GATES: Mutex<BTreeMap<Identity, Weak<Gate>>> = Mutex::new(BTreeMap::new());

impl Gate {
    fn of(root: Identity) -> Arc<Self> {
        let mut gates = unpoisoned(&GATES);
        gates.retain(|_, gate| gate.strong_count() > 0);
        if let Some(gate) = gates.get(&root).and_then(Weak::upgrade) {
            return gate;
        }
        let gate = Arc::new(Self::default());
        gates.insert(root, Arc::downgrade(&gate));
        gate
    }

    fn enter(self: &Arc<Self>, wait: Duration) -> Option<GateGuard> {
        let held = unpoisoned(&self.held);
        let (mut held, _) = self
            .freed
            .wait_timeout_while(held, wait, |held| *held)
            .unwrap_or_else(PoisonError::into_inner);
        if *held {
            return None;
        }
        *held = true;
        drop(held);
        Some(GateGuard(Arc::clone(self)))
    }
}

#[derive(Debug)]
struct GateGuard(Arc<Gate>);

impl Drop for GateGuard {
    fn drop(&mut self) {
        *unpoisoned(&self.0.held) = false;
        self.0.freed.notify_one();
    }
}

/// A panic elsewhere leaves a boolean or a map behind, which are right at any moment.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
