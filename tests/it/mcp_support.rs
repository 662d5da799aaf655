//! Drives the MCP server as a host does: its own process, lines in, lines out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli_support::Shell;

/// Nothing here takes longer on any machine that can run it.
const PATIENCE: Duration = Duration::from_mins(2);

/// A running server and its client.
pub struct Agent {
    pub child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    next: u64,
    /// What each request carries.
    meta: Option<Value>,
}

impl Agent {
    /// A server in the folder of a shell, opened with a protocol that has a handshake.
    pub fn open(shell: &Shell) -> Self {
        let mut agent = Self::start(shell.command().arg("mcp"));
        let answer = agent.initialize("2025-11-25");
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        agent
    }

    /// A server of the wiki at `root`.
    pub fn at(root: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llmwiki"));
        command.arg("--root").arg(root).arg("mcp");
        let mut agent = Self::start(&mut command);
        agent.initialize("2025-06-18");
        agent
    }

    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, output) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { break };
                if lines.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            output,
            next: 1,
            meta: None,
        }
    }

    /// From now on each request says for itself which protocol it speaks.
    pub fn speak(&mut self, version: &str) {
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }));
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        let answer = self.ask(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}),
        );
        self.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        answer
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// The next line, which must be a message of the protocol.
    #[track_caller]
    pub fn hear(&mut self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).unwrap();
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line} is no protocol"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Every line that is there by now.
    pub fn heard(&mut self) -> Vec<String> {
        self.output.try_iter().collect()
    }

    #[track_caller]
    pub fn ask(&mut self, method: &str, mut params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(format!("{request}\n").as_bytes());
        loop {
            let answer = self.hear();
            if answer["id"] == id {
                return answer;
            }
        }
    }

    /// Calls a tool that must succeed, and gives its report.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= 60_000, "{tool}: {} bytes", text.len());
        let said: Value = serde_json::from_str(text).unwrap();
        assert_eq!(said, result["structuredContent"]);
        said
    }

    /// Calls a tool that must fail, and gives what it says.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        assert!(result.get("structuredContent").is_none(), "{answer}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Ends the input; gives the exit status and what was said on standard error.
    pub fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        self.wait()
    }

    /// Waits for the end.
    pub fn wait(&mut self) -> (i32, String) {
        let mut said = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut said).unwrap();
        let status = self.child.wait().unwrap();
        (status.code().unwrap_or(-1), said)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
