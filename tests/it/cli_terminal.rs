//! The command line on a terminal: it says what it waits for, asks before it writes, paints, and
//! keeps what would garble the screen away. The terminal is a pseudo-terminal of our own.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::cli_support::Shell;

/// Runs on a terminal where somebody types `keys`; gives the exit status and what the screen
/// showed, echo of the keys included.
fn terminal(shell: &Shell, arguments: &[&str], keys: &str) -> (i32, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs: OwnedFd = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap()
        .into();
    let mut ours = File::from(ours);
    // The terminal holds what was typed until somebody reads it.
    ours.write_all(keys.as_bytes()).unwrap();
    let mut child = {
        let mut command = shell.command();
        command
            .args(arguments)
            .env("TERM", "xterm")
            .stdin(Stdio::from(theirs.try_clone().unwrap()))
            .stdout(Stdio::from(theirs.try_clone().unwrap()))
            .stderr(Stdio::from(theirs));
        command.spawn().unwrap()
    };
    let mut screen = Vec::new();
    let mut piece = [0; 4096];
    // The end of a terminal that nobody holds any more is an error, EIO.
    while let Ok(length @ 1..) = ours.read(&mut piece) {
        screen.extend_from_slice(&piece[..length]);
    }
    let status = child.wait().unwrap().code().unwrap();
    (status, String::from_utf8(screen).unwrap())
}

#[test]
fn input_from_a_terminal_is_announced_unless_quiet() {
    let shell = Shell::new();
    let (status, screen) = terminal(&shell, &["add-source", "-"], "typed\n\u{4}");
    assert_eq!(status, 0, "{screen}");
    assert!(
        screen.contains("reading the source from the terminal"),
        "{screen}"
    );
    let id = llmwiki::id::SourceId::of(b"typed\n").to_string();
    assert!(screen.contains(&id), "{screen}");
    let (_, screen) = terminal(&shell, &["-q", "add-source", "-"], "typed\n\u{4}");
    assert!(!screen.contains("reading"), "{screen}");
}

#[test]
fn restoring_asks_and_only_yes_is_yes() {
    let shell = Shell::new();
    shell.write("text", "text\n");
    let added = shell.run(["add-source", "text"]).done();
    let line = [
        "upsert-page",
        "a",
        "--title",
        "A",
        "--summary",
        "A",
        "--body",
        "text",
        "--source",
        added.text().trim(),
    ];
    shell.run(line).done();
    shell.run(["delete-page", "a"]).done();
    let page = shell.path().join(".llmwiki/pages/a.md");
    for refusal in ["n\n", "\n", "\u{4}"] {
        let (status, screen) = terminal(&shell, &["restore", "a"], refusal);
        assert_eq!(status, 0, "{screen}");
        assert!(
            screen.contains("pages/a.md") && screen.contains("[y/N]"),
            "{screen}"
        );
        assert!(screen.contains("nothing was written"), "{screen}");
        assert!(!page.exists());
    }
    let (status, screen) = terminal(&shell, &["restore", "a"], "y\n");
    assert_eq!(status, 0, "{screen}");
    assert!(page.exists(), "{screen}");
}

#[test]
fn a_terminal_is_painted_unless_somebody_objects() {
    let (_, screen) = terminal(&Shell::new(), &["status"], "");
    assert!(screen.contains('\u{1b}'), "{screen}");
    let plain = Shell::new().with("NO_COLOR", "1");
    let (_, screen) = terminal(&plain, &["status"], "");
    assert!(!screen.contains('\u{1b}'), "{screen}");
    let (_, screen) = terminal(&plain, &["status", "--no-such"], "");
    assert!(!screen.contains('\u{1b}'), "{screen}");
}

#[test]
fn bytes_that_are_no_text_stay_off_the_screen() {
    let shell = Shell::new();
    shell.write("bytes", [0x1b, b'[', b'2', b'J', 0xff]);
    let added = shell.run(["add-source", "bytes"]).done();
    let id = added.text().trim();
    let (status, screen) = terminal(&shell, &["read-source", id], "");
    assert_eq!(status, 2, "{screen}");
    assert!(!screen.contains("[2J"), "{screen}");
    assert_eq!(shell.run(["read-source", id]).done().stdout.len(), 5);
}

/// A model that answers in events, with time between them; `ends` whether it gives its last word.
pub fn slow_model(ends: bool) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut asked = vec![0; 1 << 16];
        let _ = stream.read(&mut asked).unwrap();
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for piece in ["It parses ", "ports [1].\n\n", "And [9] more."] {
            let event = serde_json::json!({"choices": [{"delta": {"content": piece}}]});
            stream
                .write_all(format!("data: {event}\n\n").as_bytes())
                .unwrap();
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        if ends {
            stream.write_all(b"data: [DONE]\n\n").unwrap();
        }
    });
    format!("http://{address}/v1")
}

#[test]
fn an_answer_is_shown_while_it_comes_and_once() {
    for ends in [true, false] {
        let shell = Shell::new();
        shell.write("src/a.rs", "/// Reads a port.\npub fn parse_port() {}\n");
        let url = slow_model(ends);
        shell.write(
            ".config/llmwiki/config.toml",
            format!(
                "[models]\ndefault = \"near\"\n[models.near]\nurl = {url:?}\nmodel = \"small\"\n"
            ),
        );
        shell.run(["init"]).done();
        let (status, screen) = terminal(&shell, &["ask", "parse", "port"], "");
        assert_eq!(status, 0, "{screen}");
        let first = "It parses ports [src/a.rs:1].";
        assert_eq!(screen.matches(first).count(), 1, "{screen}");
        let broke = screen.find("broke off; the answer is");
        if ends {
            assert_eq!(broke, None, "{screen}");
            assert!(screen.contains("And more."), "{screen}");
        } else {
            assert!(screen.find(first) < broke, "{screen}");
            assert!(!screen.contains("And more."), "{screen}");
        }
    }
}
