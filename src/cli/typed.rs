//! A text that is shown on a terminal while it is being made.

use std::io::IsTerminal as _;
use std::sync::{Arc, Mutex, PoisonError};

use super::output::Console;
use super::progress::Bars;
use crate::context::TextSink;
use crate::render::safe;

/// Prints pieces as they come, and keeps what it printed.
#[derive(Debug)]
pub(crate) struct Typed {
    console: Console,
    bars: Option<Arc<Bars>>,
    shown: Mutex<String>,
}

impl Typed {
    /// Where somebody looks on; elsewhere a text is printed once, when it is whole.
    pub(crate) fn on_terminal(console: &Console, bars: Option<&Arc<Bars>>) -> Option<Arc<Self>> {
        let looked_at = !console.json && std::io::stdout().is_terminal();
        looked_at.then(|| {
            Arc::new(Self {
                console: console.clone(),
                bars: bars.cloned(),
                shown: Mutex::default(),
            })
        })
    }

    /// What was printed.
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TextSink for Typed {
    fn text(&self, piece: &str) {
        if let Some(bars) = &self.bars {
            bars.clear();
        }
        // A closed pipe is met again when the rest is printed.
        if self.console.text(&safe(piece)).is_ok() {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.push_str(piece);
        }
    }
}
