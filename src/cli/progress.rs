//! Progress bars on standard error, and only where that is a terminal.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};

use crate::context::{Progress, ProgressSink};

/// The bar of the stage that runs now.
#[derive(Debug, Default)]
pub(crate) struct Bars(Mutex<Option<(&'static str, ProgressBar)>>);

impl Bars {
    /// Bars, when somebody could see them.
    pub(crate) fn on_terminal() -> Option<Arc<Self>> {
        std::io::stderr().is_terminal().then(Arc::default)
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((_, bar)) = taken {
            bar.finish_and_clear();
        }
    }
}

impl ProgressSink for Bars {
    fn report(&self, progress: Progress) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        "{msg} [{bar:30}] {pos}/{len} {eta}"
    } else {
        "{msg} {spinner} {pos} {per_sec}"
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
