//! The program `llmwiki`: everything is in the library.

use std::process::ExitCode;

/// Building an index is many short-lived lists of all sizes, which glibc's allocator takes a third
/// of the time for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    llmwiki::cli::install_panic_hook();
    llmwiki::cli::run(std::env::args_os())
}
