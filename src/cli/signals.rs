//! SIGINT and SIGTERM. The first asks the operation to stop, which it does between two items, so
//! that what it did is whole; the second ends the process at once, which the engine withstands at
//! any instruction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::output::Console;
use crate::context::Cancellation;
use crate::error::{Error, ErrorCode};

/// Says whether the main thread waits for input, where no check of a cancellation is reached.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting(Arc<AtomicBool>);

impl Waiting {
    /// Runs `read`, during which a signal ends the process at once.
    pub(crate) fn during<T>(&self, read: impl FnOnce() -> T) -> T {
        self.0.store(true, Ordering::SeqCst);
        let value = read();
        self.0.store(false, Ordering::SeqCst);
        value
    }
}

/// Listens from now on.
///
/// # Errors
/// `UNSAFE_FILESYSTEM` when the system gives no descriptor to listen with.
pub(crate) fn install(cancellation: Cancellation, console: Console) -> Result<Waiting, Error> {
    let waiting = Waiting::default();
    let seen_by_thread = waiting.clone();
    // Unheard, the signal of a file size limit would end the process in the middle of a write;
    // heard, the write fails with an error that says so.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGXFSZ]).map_err(|cause| {
        Error::new(ErrorCode::UnsafeFilesystem, "cannot listen for signals").with_source(cause)
    })?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGXFSZ {
                continue;
            }
            if cancellation.is_cancelled() || seen_by_thread.0.load(Ordering::SeqCst) {
                let error = Error::new(ErrorCode::Aborted, "interrupted");
                console.fail(&error);
                std::process::exit(i32::from(ErrorCode::Aborted.row().exit_status));
            }
            cancellation.cancel();
        }
    });
    Ok(waiting)
}
