//! What an operation is told about the world: the clock, whether to go on, where to report
//! progress, and the limits. Equal inputs, context included, give equal bytes.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;

use crate::error::{Error, ErrorCode};
use crate::limits::Limits;

/// Tells the time. A fixed clock makes a run reproducible.
pub trait Clock: Send + Sync {
    /// The present moment, UTC.
    fn now(&self) -> Timestamp;

    /// A number that no other clock gives, for names that must differ between copies of a wiki.
    /// A fixed clock gives a fixed one, so that a run can be repeated to the byte.
    fn salt(&self) -> u64 {
        0
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn salt(&self) -> u64 {
        // The keys of a new hash map state are random.
        RandomState::new().hash_one(std::process::id())
    }
}

/// A clock that stands still.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Timestamp);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// One report of progress: `done` of `total` items of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done, for example `"indexing pages"`.
    pub stage: &'static str,
    /// Items finished so far; never falls within a stage.
    pub done: u64,
    /// Items in all, when known.
    pub total: Option<u64>,
}

/// Takes progress reports. Called from the thread that works, so it must be cheap.
pub trait ProgressSink: Send + Sync {
    /// Takes one report.
    fn report(&self, progress: Progress);
}

struct Silent;

impl ProgressSink for Silent {
    fn report(&self, _: Progress) {}
}

/// Takes what a person should hear beside the report: one sentence, lower-case, no full stop.
pub trait NoticeSink: Send + Sync {
    /// Takes one notice.
    fn notice(&self, text: &str);
}

impl NoticeSink for Silent {
    fn notice(&self, _: &str) {}
}

/// Takes pieces of a text that is still being made, each once it is certain. Put together they are
/// the beginning of the text in the report, unless its maker fails on the way.
pub trait TextSink: Send + Sync {
    /// Takes the next piece.
    fn text(&self, piece: &str);
}

impl TextSink for Silent {
    fn text(&self, _: &str) {}
}

/// Asks a running operation to stop. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Asks every operation that holds a clone to stop at its next check.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What every operation is given first.
#[derive(Clone)]
pub struct Context {
    clock: Arc<dyn Clock>,
    cancellation: Cancellation,
    progress: Arc<dyn ProgressSink>,
    notices: Arc<dyn NoticeSink>,
    texts: Arc<dyn TextSink>,
    /// Limits that apply to this call.
    pub limits: Limits,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Limits::default())
    }
}

impl Context {
    /// A context with this clock and these limits, nobody listening, never cancelled.
    pub fn new(clock: Arc<dyn Clock>, limits: Limits) -> Self {
        Self {
            clock,
            cancellation: Cancellation::default(),
            progress: Arc::new(Silent),
            notices: Arc::new(Silent),
            texts: Arc::new(Silent),
            limits,
        }
    }

    /// The same context, reporting progress to `sink`.
    #[must_use]
    pub fn with_progress(mut self, sink: Arc<dyn ProgressSink>) -> Self {
        self.progress = sink;
        self
    }

    /// The same context, telling notices to `sink`.
    #[must_use]
    pub fn with_notices(mut self, sink: Arc<dyn NoticeSink>) -> Self {
        self.notices = sink;
        self
    }

    /// The same context, giving a text that is being made to `sink`.
    #[must_use]
    pub fn with_texts(mut self, sink: Arc<dyn TextSink>) -> Self {
        self.texts = sink;
        self
    }

    /// The same context, stopped by `cancellation`.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The present moment as stored and printed: RFC 3339, UTC, milliseconds.
    pub fn now_text(&self) -> String {
        rfc3339_millis(self.now())
    }

    /// A name for a new copy of a wiki.
    pub fn replica(&self) -> [u8; 16] {
        let mut name = [0; 16];
        name[..8].copy_from_slice(&self.now().as_millisecond().to_be_bytes());
        name[8..].copy_from_slice(&self.clock.salt().to_be_bytes());
        name
    }

    /// Reports progress.
    pub fn progress(&self, stage: &'static str, done: u64, total: Option<u64>) {
        self.progress.report(Progress { stage, done, total });
    }

    /// Tells what a person should hear beside the report.
    pub fn notice(&self, text: &str) {
        self.notices.notice(text);
    }

    /// Gives a piece of the text that is being made.
    pub fn text(&self, piece: &str) {
        self.texts.text(piece);
    }

    /// Fails with `ABORTED` once cancellation was asked for. Called between items, never
    /// inside a transaction's commit.
    ///
    /// # Errors
    /// `ABORTED` when cancelled.
    pub fn check(&self) -> Result<(), Error> {
        if self.cancellation.is_cancelled() {
            return Err(Error::new(
                ErrorCode::Aborted,
                "the operation was cancelled",
            ));
        }
        Ok(())
    }
}

/// A timestamp as it is stored and printed: `2026-02-03T04:05:06.789Z`.
pub fn rfc3339_millis(at: Timestamp) -> String {
    format!("{at:.3}")
}
