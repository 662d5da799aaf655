//! Progress bars on standard error, and only where that is a terminal.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::context::{Progress, ProgressSink};

/// What is done sooner needs no bar; one that only flashes by annoys.
const PATIENCE: Duration = Duration::from_millis(400);

/// The bar of the stage that runs now, once somebody may wonder.
#[derive(Debug)]
pub(crate) struct Bars {
    started: Instant,
    current: Mutex<Option<(&'static str, ProgressBar)>>,
}

impl Bars {
    /// Bars, when somebody could see them.
    pub(crate) fn on_terminal() -> Option<Arc<Self>> {
        let bars = || {
            Arc::new(Self {
                started: Instant::now(),
                current: Mutex::new(None),
            })
        };
        std::io::stderr().is_terminal().then(bars)
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        let taken = self
            .current
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((_, bar)) = taken {
            bar.finish_and_clear();
        }
    }
}

impl ProgressSink for Bars {
    fn report(&self, progress: Progress) {
        if self.started.elapsed() < PATIENCE {
            return;
        }
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let same = current
            .as_ref()
            .is_some_and(|(stage, _)| *stage == progress.stage);
        if !same {
            if let Some((_, old)) = current.take() {
                old.finish_and_clear();
            }
            *current = Some((progress.stage, bar(progress)));
        }
        if let Some((_, bar)) = current.as_ref() {
            if let Some(total) = progress.total {
                bar.set_length(total);
            }
            bar.set_position(progress.done);
        }
    }
}

fn bar(progress: Progress) -> ProgressBar {
    let template = if progress.total.is_some() {
        "{msg} [{bar:30}] {pos}/{len}, {eta} left"
    } else {
        "{msg} {spinner} {pos}, {elapsed}"
    };
    let bar = progress
        .total
        .map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(progress.stage);
    bar
}
