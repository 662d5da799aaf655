//! Runs the program as a user does: its own process, a folder of its own, no settings but those
//! that a test gives.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder with nothing in it, in which commands run.
pub struct Shell {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Shell {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            variables: vec![("LLMWIKI_NOW".into(), "2026-02-03T04:05:06.789Z".into())],
        }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file in the folder, with its parents.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llmwiki"));
        command
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Ended {
        ended(&self.command().args(arguments).output().unwrap())
    }

    /// Runs with bytes on standard input.
    pub fn pipe<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Ended {
        let mut child = self
            .command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A command that refuses early closes its end: that is its right.
            scope.spawn(move || drop(stdin.write_all(input)));
            ended(&child.wait_with_output().unwrap())
        })
    }
}

fn ended(output: &Output) -> Ended {
    Ended {
        status: output.status.code().unwrap_or(-1),
        stdout: output.stdout.clone(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Ended {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// The one JSON document that standard output must be.
    #[track_caller]
    pub fn json(&self) -> Value {
        let text = self.text();
        assert_eq!(
            text.matches('\n').count(),
            1,
            "one line, not {text:?} ({})",
            self.stderr
        );
        serde_json::from_str(text).unwrap()
    }

    /// One JSON document a line.
    pub fn json_lines(&self) -> Vec<Value> {
        self.text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Code of the JSON error; standard error must be empty then.
    #[track_caller]
    pub fn error_code(&self) -> String {
        assert_eq!(self.stderr, "");
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn done(self) -> Self {
        assert_eq!(
            self.status,
            0,
            "{}{}",
            self.stderr,
            String::from_utf8_lossy(&self.stdout)
        );
        self
    }
}
