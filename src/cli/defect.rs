//! What happens on a defect of our own: one honest line, exit status 3.

use std::panic::{self, PanicHookInfo};

use super::output::say;
use crate::store;

/// Makes a panic end the process with one line on standard error and exit status 3. A crash at
/// any instruction leaves a wiki whole, so ending at once is safe.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        if store::in_guard() {
            // An answer about a damaged file; the store says so as an error.
            return;
        }
        say(&line(info));
        std::process::exit(3);
    }));
}

fn line(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let place = info
        .location()
        .map(|place| format!(" ({}:{})", place.file(), place.line()))
        .unwrap_or_default();
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("error: a defect of llmwiki itself, please report it: {message}{place}\n")
}
