//! The lock that every write transaction holds.
//!
//! It is `flock` on the root directory itself, which needs no file, works on a read-only disk,
//! and goes away with its holder however that ends. The directory is opened anew for each
//! acquisition, because an open file description can be locked only once.
//!
//! Two things stand before it, for fairness: bulk work that gives the lock up between batches
//! must not have it again before those who wait. Inside the process a gate for each root lets
//! threads in by turn (it also holds where a system emulates `flock` by locks that belong to the
//! process). Between processes a turnstile, `flock` on `.store`, is held by the one who waits
//! next; who comes later, or comes back, queues behind it.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
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
/// The longest wait of a thread between two looks at the cancellation.
const GATE_PAUSE: Duration = Duration::from_millis(20);
/// First and later pauses between two trials at the turnstile. They shrink, so that who waits
/// longer tries more often than who has just come.
const TURNSTILE_PAUSES: (Duration, Duration) =
    (Duration::from_millis(4), Duration::from_micros(500));
/// First and later pauses between two trials at the lock, where one process waits at most.
const LOCK_PAUSES: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(1));

/// The root's lock, held until dropped.
#[derive(Debug)]
pub struct RootLock {
    // In this order: the next thread is let in when the lock is free.
    _lock: DirectoryLock,
    _gate: GateGuard,
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
        let lock = self.lock_to_look(wait, context)?;
        self.note_holder();
        Ok(lock)
    }

    /// [`Tree::lock`] for one who only wants nobody to write meanwhile: leaves no trace, not even
    /// who holds the lock. To be held for moments only, since those who wait cannot be told whom
    /// they wait for.
    ///
    /// # Errors
    /// As [`Tree::lock`].
    pub fn lock_to_look(&self, wait: Duration, context: &Context) -> Result<RootLock> {
        let start = Instant::now();
        let patience = Patience {
            deadline: start.checked_add(wait),
            context,
        };
        let busy = |lost| match lost {
            Lost::Expired => TreeError::Busy {
                holder: self.lock_holder(),
                waited: start.elapsed(),
            },
            Lost::Aborted => TreeError::Aborted,
            Lost::Failed(error) => TreeError::new("lock", shown(self), error.into()),
        };

        let gate = Gate::of(self.identity()).enter(&patience).map_err(busy)?;
        let turnstile = match self.open_dir(&RelPath::known(".store")) {
            Ok(store) => Some(
                DirectoryLock::take(store.as_fd(), TURNSTILE_PAUSES, &patience).map_err(busy)?,
            ),
            // It is a matter of turns only; what is wrong there is told by those who need it.
            Err(_) => None,
        };
        let lock = DirectoryLock::take(self.root_fd(), LOCK_PAUSES, &patience).map_err(busy)?;
        drop(turnstile);
        if !self.is_current() {
            return Err(TreeError::Moved { path: shown(self) });
        }
        Ok(RootLock {
            _lock: lock,
            _gate: gate,
        })
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

fn shown(tree: &Tree) -> String {
    use std::os::unix::ffi::OsStrExt;
    escape(tree.path().as_os_str().as_bytes())
}

/// How long one is ready to wait.
struct Patience<'a> {
    /// Nothing: for ever.
    deadline: Option<Instant>,
    context: &'a Context,
}

/// Why waiting ended in vain.
enum Lost {
    Expired,
    Aborted,
    Failed(Errno),
}

impl Patience<'_> {
    /// Whether to go on waiting, and how long at most.
    fn left(&self) -> Result<Duration, Lost> {
        if self.context.check().is_err() {
            return Err(Lost::Aborted);
        }
        match self.deadline {
            None => Ok(Duration::MAX),
            Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => Ok(left),
                _ => Err(Lost::Expired),
            },
        }
    }
}

/// `flock` on a directory, released when dropped.
#[derive(Debug)]
struct DirectoryLock(OwnedFd);

impl DirectoryLock {
    /// Opens the directory anew and locks it. There is no lock call with a time limit, hence the
    /// trials.
    fn take(
        directory: BorrowedFd<'_>,
        pauses: (Duration, Duration),
        patience: &Patience<'_>,
    ) -> Result<Self, Lost> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle =
            rustix::fs::openat(directory, ".", flags, Mode::empty()).map_err(Lost::Failed)?;
        let (mut pause, last) = pauses;
        loop {
            match rustix::fs::flock(&handle, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(handle)),
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => {}
                Err(error) => return Err(Lost::Failed(error)),
            }
            thread::sleep(pause.min(patience.left()?));
            pause = if pause < last {
                (pause * 2).min(last)
            } else {
                (pause / 2).max(last)
            };
        }
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        // Said aloud and not left to closing: a child process that was forked and not yet
        // replaced by `exec` holds a copy of the handle.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
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

/// Lets one thread in at a time, in the order of asking.
#[derive(Debug, Default)]
struct Gate {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    held: bool,
    next_ticket: u64,
    waiting: VecDeque<u64>,
}

/// The gates of this process, by root. A gate lives while somebody holds it or waits at it.
static GATES: Mutex<BTreeMap<Identity, Weak<Gate>>> = Mutex::new(BTreeMap::new());

impl Gate {
    fn of(root: Identity) -> Arc<Self> {
        let mut gates = unpoisoned(GATES.lock());
        gates.retain(|_, gate| gate.strong_count() > 0);
        if let Some(gate) = gates.get(&root).and_then(Weak::upgrade) {
            return gate;
        }
        let gate = Arc::new(Self::default());
        gates.insert(root, Arc::downgrade(&gate));
        gate
    }

    fn enter(self: Arc<Self>, patience: &Patience<'_>) -> Result<GateGuard, Lost> {
        let mut queue = unpoisoned(self.queue.lock());
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.waiting.push_back(ticket);
        let lost = loop {
            if !queue.held && queue.waiting.front() == Some(&ticket) {
                break None;
            }
            match patience.left() {
                Ok(left) => {
                    queue = unpoisoned(self.changed.wait_timeout(queue, left.min(GATE_PAUSE))).0;
                }
                Err(lost) => break Some(lost),
            }
        };
        queue.waiting.retain(|&other| other != ticket);
        if let Some(lost) = lost {
            drop(queue);
            self.changed.notify_all();
            return Err(lost);
        }
        queue.held = true;
        drop(queue);
        Ok(GateGuard(self))
    }
}

#[derive(Debug)]
struct GateGuard(Arc<Gate>);

impl Drop for GateGuard {
    fn drop(&mut self) {
        unpoisoned(self.0.queue.lock()).held = false;
        self.0.changed.notify_all();
    }
}

/// A panic elsewhere leaves a queue or a map behind, which are right at any moment.
fn unpoisoned<T>(locked: std::result::Result<T, PoisonError<T>>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::testing::wiki;
    use super::super::{Durability, RootState, locate};
    use super::*;
    use crate::context::Cancellation;

    const SOON: Duration = Duration::from_secs(20);

    fn context() -> Context {
        Context::default()
    }

    fn is_busy(tree: &Tree) -> bool {
        match tree.lock(Duration::ZERO, &context()) {
            Ok(_) => false,
            Err(TreeError::Busy { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn second_value_of_the_same_root_is_kept_out_until_the_lock_is_dropped() {
        let (_dir, tree) = wiki();
        let RootState::Ready(other) = locate(tree.path()).unwrap() else {
            panic!()
        };
        let held = tree.lock(SOON, &context()).unwrap();
        assert!(is_busy(&other) && is_busy(&tree));
        drop(held);
        assert!(!is_busy(&other) && !is_busy(&tree));
    }

    #[test]
    fn lock_needs_no_store_and_leaves_nothing_in_the_root() {
        let (_dir, tree) = wiki();
        drop(tree.lock(SOON, &context()).unwrap());
        assert!(tree.list(&RelPath::root()).unwrap().unwrap().is_empty());
    }

    #[test]
    fn threads_take_turns_without_losing_an_update() {
        let (_dir, tree) = wiki();
        tree.make_dirs(&RelPath::new(".store").unwrap(), Durability::Batch)
            .unwrap();
        let counter = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _held = tree.lock(SOON, &context()).unwrap();
                        let seen = counter.load(Ordering::Relaxed);
                        thread::yield_now();
                        counter.store(seen + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(counter.into_inner(), 400);
    }

    #[test]
    fn who_gives_the_lock_up_does_not_get_it_back_before_who_waits() {
        let (_dir, tree) = wiki();
        let held = tree.lock(SOON, &context()).unwrap();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                let _held = tree.lock(SOON, &context()).unwrap();
                order.lock().unwrap().push("waiter");
            });
            let gate = Gate::of(tree.identity());
            while gate.queue.lock().unwrap().waiting.is_empty() {
                thread::yield_now();
            }
            drop(held);
            let _held = tree.lock(SOON, &context()).unwrap();
            order.lock().unwrap().push("again");
        });
        assert_eq!(order.into_inner().unwrap(), ["waiter", "again"]);
    }

    #[test]
    fn waiting_ends_at_the_deadline_and_at_cancellation() {
        let (_dir, tree) = wiki();
        let _held = tree.lock(SOON, &context()).unwrap();
        let start = Instant::now();
        let error = tree
            .lock(Duration::from_millis(30), &context())
            .unwrap_err();
        assert!(matches!(error, TreeError::Busy { waited, .. } if waited.as_millis() >= 30));
        let cancellation = Cancellation::default();
        cancellation.cancel();
        let cancelled = context().with_cancellation(cancellation);
        let error = tree.lock(Duration::from_hours(1), &cancelled).unwrap_err();
        assert!(matches!(error, TreeError::Aborted), "{error}");
        assert!(start.elapsed() < SOON);
    }

    #[test]
    fn busy_names_the_holder_and_a_dead_one_is_not_named() {
        let (_dir, tree) = wiki();
        tree.make_dirs(&RelPath::new(".store").unwrap(), Durability::Batch)
            .unwrap();
        let held = tree.lock(SOON, &context()).unwrap();
        let error = tree.lock(Duration::ZERO, &context()).unwrap_err();
        let pid = std::process::id();
        assert!(
            error.to_string().contains(&format!("process {pid} (")),
            "{error}"
        );
        drop(held);

        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let note = tree.path().join(HOLDER_FILE);
        std::fs::write(&note, format!("{} llmwiki import\n", child.id())).unwrap();
        assert_eq!(tree.lock_holder(), None);
        std::fs::write(&note, format!("{pid} evil\u{1b}[2J\n")).unwrap();
        assert_eq!(
            tree.lock_holder().unwrap(),
            format!("process {pid} (evil\\u{{1b}}[2J)")
        );
        for junk in ["", "\n", "x y", "0 init", "-1 all", "99999999999 big"] {
            std::fs::write(&note, junk).unwrap();
            assert_eq!(tree.lock_holder(), None, "{junk:?}");
        }
    }

    #[test]
    fn longer_note_of_an_earlier_holder_leaves_no_rest() {
        let (_dir, tree) = wiki();
        tree.make_dirs(&RelPath::new(".store").unwrap(), Durability::Batch)
            .unwrap();
        std::fs::write(tree.path().join(HOLDER_FILE), "x".repeat(300)).unwrap();
        drop(tree.lock(SOON, &context()).unwrap());
        let note = std::fs::read_to_string(tree.path().join(HOLDER_FILE)).unwrap();
        assert!(note.starts_with(&std::process::id().to_string()) && note.ends_with('\n'));
        assert!(!note.contains('x') || note.len() < 100, "{note}");
    }

    #[test]
    fn child_started_under_the_lock_does_not_keep_it() {
        let (_dir, tree) = wiki();
        let held = tree.lock(SOON, &context()).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        drop(held);
        let free = !is_busy(&tree);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(free);
    }

    /// Not a test of its own: the process that the next test starts and kills.
    #[test]
    fn holder_process() {
        let Some(root) = std::env::var_os("LLMWIKI_TEST_HOLD_LOCK") else {
            return;
        };
        let RootState::Ready(tree) = locate(std::path::Path::new(&root)).unwrap() else {
            panic!()
        };
        let _held = tree.lock(SOON, &context()).unwrap();
        std::fs::write(tree.path().join("held"), "").unwrap();
        // Until it is killed; or until the pipe is closed because the parent died.
        let _ = std::io::stdin().read(&mut [0; 1]);
    }

    #[test]
    fn other_process_excludes_us_and_its_kill_frees_the_lock() {
        let (_dir, tree) = wiki();
        tree.make_dirs(&RelPath::new(".store").unwrap(), Durability::Batch)
            .unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "tree::lock::tests::holder_process",
                "--nocapture",
            ])
            .env("LLMWIKI_TEST_HOLD_LOCK", tree.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while !tree.path().join("held").exists() {
            assert!(start.elapsed() < SOON && child.try_wait().unwrap().is_none());
            thread::yield_now();
        }
        let error = tree
            .lock(Duration::from_millis(20), &context())
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("process {} ", child.id())),
            "{error}"
        );
        child.kill().unwrap();
        child.wait().unwrap();
        drop(tree.lock(SOON, &context()).unwrap());
    }

    #[test]
    fn root_that_was_moved_aside_cannot_be_locked() {
        let (dir, tree) = wiki();
        std::fs::rename(tree.path(), dir.path().join("aside")).unwrap();
        let error = tree.lock(Duration::ZERO, &context()).unwrap_err();
        assert!(matches!(error, TreeError::Moved { .. }), "{error}");
        std::fs::create_dir(tree.path()).unwrap();
        assert!(matches!(
            tree.lock(Duration::ZERO, &context()),
            Err(TreeError::Moved { .. })
        ));
        assert!(!tree.is_current());
    }
}
