//! `llmwiki serve`: MCP over HTTP, and who may ask.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli_support::Shell;

pub struct Served {
    child: Child,
    pub address: SocketAddr,
    pub token: Option<String>,
}

impl Served {
    pub fn start(shell: &Shell, arguments: &[&str]) -> Self {
        let mut child = shell
            .command()
            .args(["--json", "serve", "--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["url"].as_str().unwrap();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let port = address.parse::<SocketAddr>().unwrap().port();
        Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            token: said["token"].as_str().map(str::to_owned),
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        stream
    }

    /// Sends a request with these headers, and gives status, head and body.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        // Who refuses early may close its end.
        let _ = stream.write_all(body.as_bytes());
        answer(stream)
    }

    fn mcp(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        let mut all = vec![
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        all.extend(headers);
        self.ask("POST", "/mcp", &all, &message.to_string())
    }

    pub fn terminate(&mut self) -> (i32, String) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), said)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The message of an answer, which may come as a stream of events.
    fn message(&self) -> Value {
        let text = self
            .body
            .lines()
            .find_map(|line| {
                let line = line.trim_start_matches("data:").trim();
                line.starts_with('{').then_some(line)
            })
            .unwrap_or_else(|| panic!("{self:?}"));
        serde_json::from_str(text).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A connection that was closed on us ends the answer too.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

#[test]
fn mcp_is_served_to_clients_of_both_generations() {
    let shell = Shell::new();
    let mut served = Served::start(&shell, &[]);
    let opened = served.mcp(&[], &initialize());
    assert_eq!(opened.status, 200, "{opened:?}");
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let session = [
        ("Mcp-Session-Id", session.as_str()),
        ("Mcp-Protocol-Version", "2025-06-18"),
    ];
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(served.mcp(&session, &begun).status, 202);
    let add = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "llmwiki_add_source", "arguments": {"name": "n", "content": "x"}}});
    let added = served.mcp(&session, &add).message();
    assert_eq!(added["result"]["isError"], false, "{added}");

    let search = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "llmwiki_status", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}});
    let headers = [
        ("Mcp-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "llmwiki_status"),
    ];
    let found = served.mcp(&headers, &search);
    assert_eq!(found.status, 200, "{found:?}");
    assert_eq!(
        found.message()["result"]["structuredContent"]["sourceCount"],
        1
    );
    assert_eq!(served.mcp(&[("Mcp-Session-Id", "none")], &add).status, 404);
    let closed = served.ask("DELETE", "/mcp", &session, "");
    assert!(closed.status < 300, "{closed:?}");
    assert_eq!(served.mcp(&session, &add).status, 404);
    assert_eq!(served.terminate(), (0, String::new()));
}

#[test]
fn foreign_names_origins_and_paths_are_refused() {
    let shell = Shell::new();
    let served = Served::start(&shell, &["--allow-host", "wiki.example"]);
    let status = |headers: &[(&str, &str)]| served.mcp(headers, &initialize()).status;
    let own = served.address.to_string();
    let origin = format!("http://{own}");
    assert_eq!(status(&[]), 200);
    assert_eq!(status(&[("Host", "wiki.example")]), 200);
    assert_eq!(status(&[("Host", &own), ("Origin", &origin)]), 200);
    assert_eq!(status(&[("Host", "evil.example")]), 403);
    assert_eq!(status(&[("Origin", "http://evil.example")]), 403);
    assert_eq!(status(&[("Origin", "null")]), 403);
    let there = served.ask("GET", "/", &[], "");
    assert_eq!(there.status, 200);
    assert!(there.body.contains("/mcp"), "{there:?}");
    assert_eq!(
        served
            .ask("GET", "/", &[("Host", "evil.example")], "")
            .status,
        403
    );
    for path in ["/x", "/mcp/..%2f..%2fetc%2fpasswd", "/..%2f", "//mcp"] {
        assert_eq!(served.ask("GET", path, &[], "").status, 404, "{path}");
    }
    assert!(
        !shell.path().join(".llmwiki").exists(),
        "nothing was written"
    );
}

#[test]
fn beyond_loopback_a_token_is_made_and_asked_for() {
    let shell = Shell::new();
    let served = Served::start(&shell, &["--host", "0.0.0.0"]);
    let token = served.token.clone().unwrap();
    assert_eq!(token.len(), 64);
    let refused = served.mcp(&[], &initialize());
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert_eq!(served.ask("GET", "/", &[], "").status, 401);
    let bearer = format!("Bearer {token}");
    let with = [("Authorization", bearer.as_str())];
    assert_eq!(served.mcp(&with, &initialize()).status, 200);

    let shell = Shell::new().with("LLMWIKI_TOKEN", "chosen");
    let served = Served::start(&shell, &[]);
    assert_eq!(served.token, None, "a token that was chosen is not printed");
    assert_eq!(served.mcp(&[], &initialize()).status, 401);
    let with = [("Authorization", "Bearer chosen")];
    assert_eq!(served.mcp(&with, &initialize()).status, 200);
}

#[test]
fn what_is_too_large_or_not_json_is_refused_and_the_server_goes_on() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]);
    let mut stream = served.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 99999999999\r\n\r\n",
        served.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let block = vec![b'x'; 1 << 20];
    for _ in 0..40 {
        if stream.write_all(&block).is_err() {
            break;
        }
    }
    let refused = answer(stream);
    assert!(matches!(refused.status, 413 | 0), "{refused:?}");
    let many = format!("[{}1]", "1,".repeat(200_000));
    for body in ["", "{", "[]", "5", &"[".repeat(100_000), &many] {
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let status = served.ask("POST", "/mcp", &headers, body).status;
        assert!((400..500).contains(&status), "{status} for {body:.20}");
    }
    let mut stream = served.connect();
    stream.write_all(b"\x16\x03\x01 nonsense\r\n\r\n").unwrap();
    assert_eq!(answer(stream).status, 400);
    assert_eq!(served.mcp(&[], &initialize()).status, 200);
}

#[test]
fn two_hundred_clients_at_once_are_answered_or_told_to_wait() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]);
    let idle: Vec<TcpStream> = (0..100).map(|_| served.connect()).collect();
    let begun = Instant::now();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..200)
            .map(|_| scope.spawn(|| served.mcp(&[], &initialize()).status))
            .collect();
        clients.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert!(
        statuses.iter().all(|status| matches!(status, 200 | 503)),
        "{statuses:?}"
    );
    assert!(
        statuses.iter().filter(|&&status| status == 200).count() >= 64,
        "{statuses:?}"
    );
    assert!(begun.elapsed() < Duration::from_mins(1));
    drop(idle);
    assert_eq!(served.mcp(&[], &initialize()).status, 200);
}

#[test]
fn an_address_that_is_taken_is_an_error_with_a_hint() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]);
    let port = served.address.port().to_string();
    let second = shell.run(["--json", "serve", "--port", &port]);
    assert_eq!(second.status, 2);
    assert_eq!(second.error_code(), "INVALID_ARGUMENT");
    assert_eq!(shell.run(["serve", "--host", "somewhere"]).status, 2);
}
