//! What happens on a defect of our own: one honest line, exit status 3; in a server, the line and
//! an error for the one call that met it.

use std::io::Write as _;
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};

use super::output::{ErrorDocument, ErrorObject, say};
use crate::store;

/// Makes a panic end the process with one line on standard error and exit status 3. A crash at
/// any instruction leaves a wiki whole, so ending at once is safe.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        if store::in_guard() {
            // An answer about a damaged file; the store says so as an error.
            return;
        }
        let message = message(info);
        if SERVING.load(Ordering::Relaxed) {
            // One call of many: its caller is told, the others go on.
            say(&format!("error: {message}\nhint: please report it\n"));
            return;
        }
        if JSON.load(Ordering::Relaxed) {
            // No code of the table: those are answers, and this is none.
            let error = ErrorObject {
                code: "INTERNAL",
                message: &message,
                hint: Some("please report it"),
                input: None,
            };
            if let Ok(document) = serde_json::to_string(&ErrorDocument { error }) {
                let _ = writeln!(std::io::stdout(), "{document}");
            }
        } else {
            say(&format!("error: {message}\nhint: please report it\n"));
        }
        std::process::exit(3);
    }));
}

static JSON: AtomicBool = AtomicBool::new(false);

/// Says that standard output must carry a JSON document, whatever happens.
pub(super) fn speak_json(json: bool) {
    JSON.store(json, Ordering::Relaxed);
}

static SERVING: AtomicBool = AtomicBool::new(false);

/// Says that the process serves many calls: a defect ends one of them, and standard output is not
/// for its message.
#[cfg(feature = "mcp")]
pub(super) fn serve() {
    SERVING.store(true, Ordering::Relaxed);
}

fn message(info: &PanicHookInfo<'_>) -> String {
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
    format!("a defect of llmwiki itself: {message}{place}")
}

#[cfg(test)]
#[cfg(feature = "mcp")]
mod tests {
    use std::process::{Command, Output};

    use super::*;

    /// Runs one of the tests below that wait to be run, in a process of its own.
    fn run(name: &str) -> Output {
        Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture"])
            .arg(format!("cli::defect::tests::{name}"))
            .output()
            .unwrap()
    }

    fn words(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn serves_with_a_defect() {
        install();
        speak_json(true);
        serve();
        let call = std::thread::spawn(|| panic!("wanted by a test"));
        assert!(call.join().is_err());
        say("the others go on\n");
        std::process::exit(17);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn answers_with_a_defect() {
        install();
        speak_json(true);
        panic!("wanted by a test");
    }

    #[test]
    fn a_defect_in_a_server_is_told_on_standard_error_alone_and_ends_one_call() {
        let output = run("serves_with_a_defect");
        assert_eq!(output.status.code(), Some(17));
        assert!(!words(&output.stdout).contains("wanted"));
        let said = words(&output.stderr);
        assert!(said.contains("a defect of llmwiki itself: wanted by a test (src/cli/defect.rs:"));
        assert!(said.contains("the others go on"));
    }

    #[test]
    fn a_defect_of_a_command_is_one_document_and_exit_status_3() {
        let output = run("answers_with_a_defect");
        assert_eq!(output.status.code(), Some(3));
        let line = words(&output.stdout)
            .lines()
            .find(|line| line.starts_with('{'));
        let document: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
        assert_eq!(document["error"]["code"], "INTERNAL");
        assert!(!words(&output.stderr).contains("wanted"));
    }
}
