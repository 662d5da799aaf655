//! The program `llmwiki`: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    llmwiki::cli::install_panic_hook();
    llmwiki::cli::run(std::env::args_os())
}
