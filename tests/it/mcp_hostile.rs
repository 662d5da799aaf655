//! Input that no client sends: the server answers or skips, and goes on.

use serde_json::{Value, json};

use crate::cli_support::Shell;
use crate::mcp_support::Agent;

/// A generator that gives the same numbers on each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "server/discover",
    "subscriptions/listen",
    "notifications/cancelled",
    "notifications/progress",
    "tasks/get",
    "no/such",
    "",
];

const TOOLS: &[&str] = &[
    "llmwiki_status",
    "llmwiki_search",
    "llmwiki_read_page",
    "llmwiki_read_source",
    "llmwiki_add_source",
    "llmwiki_upsert_page",
    "llmwiki_list_pages",
    "llmwiki_lint",
    "knowledge.ask_projects",
    "no_such",
];

const KEYS: &[&str] = &[
    "id",
    "name",
    "content",
    "query",
    "limit",
    "offset",
    "cursor",
    "uri",
    "arguments",
    "sources",
    "title",
    "summary",
    "body",
    "ref",
    "argument",
    "requestId",
    "progressToken",
    "_meta",
    "at",
    "paths",
    "\u{0}",
    "__proto__",
];

/// Any JSON, with what is seldom in it.
fn value(numbers: &mut Numbers, depth: usize) -> String {
    let text = |numbers: &mut Numbers| {
        let texts = [
            "x".to_owned(),
            String::new(),
            "\u{0}\u{1b}[2J\u{7f}".to_owned(),
            "\u{202e}\u{feff}\u{10ffff}".to_owned(),
            "../../etc/passwd".to_owned(),
            "a".repeat(numbers.below(5000)),
            "llmwiki://source/../x#L0-L99999999999999999999".to_owned(),
            "((((\"-title: id:* ".to_owned(),
        ];
        serde_json::to_string(numbers.pick(&texts)).unwrap()
    };
    match numbers.below(if depth > 4 { 7 } else { 10 }) {
        0 => "null".to_owned(),
        1 => "true".to_owned(),
        2 => (*numbers.pick(&[
            "0",
            "-0",
            "1e308",
            "1e309",
            "-1e999",
            "18446744073709551616",
            "0.1",
            "-9223372036854775809",
            "99999999999999999999999999999999999999999",
        ]))
        .to_owned(),
        3 => numbers.below(1000).to_string(),
        4..=6 => text(numbers),
        7 => {
            let items: Vec<String> = (0..numbers.below(5))
                .map(|_| value(numbers, depth + 1))
                .collect();
            format!("[{}]", items.join(","))
        }
        _ => {
            let members: Vec<String> = (0..numbers.below(6))
                .map(|_| {
                    let key = serde_json::to_string(numbers.pick(KEYS)).unwrap();
                    format!("{key}:{}", value(numbers, depth + 1))
                })
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

/// One line of input, its end included.
fn line(numbers: &mut Numbers) -> Vec<u8> {
    let method = serde_json::to_string(numbers.pick(METHODS)).unwrap();
    let id = match numbers.below(6) {
        0 => value(numbers, 5),
        _ => (1_000_000 + numbers.below(1000)).to_string(),
    };
    let params = match numbers.below(4) {
        0 => value(numbers, 0),
        1 => format!(
            "{{\"name\":\"{}\",\"arguments\":{}}}",
            numbers.pick(TOOLS),
            value(numbers, 0)
        ),
        2 => format!("{{\"uri\":{}}}", value(numbers, 4)),
        _ => "{}".to_owned(),
    };
    let mut bytes = match numbers.below(12) {
        0 => format!("{{\"jsonrpc\":\"2.0\",\"method\":{method},\"params\":{params}}}"),
        1 => value(numbers, 0),
        2 => "[".repeat(numbers.below(20_000)),
        3 => format!("{{\"jsonrpc\":\"1.0\",\"id\":{id},\"method\":{method}}}"),
        4 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{params}}}"),
        _ => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method},\"params\":{params}}}"),
    }
    .into_bytes();
    match numbers.below(10) {
        // Broken in the middle.
        0 if !bytes.is_empty() => bytes.truncate(numbers.below(bytes.len())),
        // A byte that is something else.
        1 if !bytes.is_empty() => {
            let at = numbers.below(bytes.len());
            bytes[at] = u8::try_from(numbers.below(256)).unwrap();
        }
        2 => bytes.push(b'\r'),
        _ => {}
    }
    bytes.push(b'\n');
    bytes
}

/// Largest amount of memory that a process ever held, in bytes.
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}

#[test]
fn ten_thousand_hostile_lines_neither_end_the_server_nor_fill_its_memory() {
    let shell = Shell::new();
    let mut agent = Agent::open(&shell);
    let seed = std::env::var("LLMWIKI_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ seed);
    let mut answers = 0;
    for number in 0..10_000 {
        agent.write(&line(&mut numbers));
        match number {
            // Twenty megabytes, as one text, as a list, and as nothing at all.
            2000 => {
                let large = "x".repeat(20_000_000);
                let call = json!({"jsonrpc": "2.0", "id": "large", "method": "tools/call",
                    "params": {"name": "llmwiki_add_source",
                        "arguments": {"name": "large", "content": large}}});
                agent.write(format!("{call}\n").as_bytes());
            }
            4000 => agent.write(format!("[{}1]\n", "1,".repeat(10_000_000)).as_bytes()),
            6000 => {
                agent.write(&vec![b'x'; 50_000_000]);
                agent.write(b"\n");
            }
            _ => {}
        }
        for answer in agent.heard() {
            let message: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(message["jsonrpc"], "2.0");
            answers += 1;
        }
    }
    // What was asked last is answered last or not at all; this is answered.
    let status = agent.call("llmwiki_status", json!({}));
    assert!(status["root"].is_string());
    assert!(answers > 1000, "{answers} answers");
    if cfg!(target_os = "linux") {
        let peak = peak_memory(agent.child.id());
        assert!(peak < 300 << 20, "{} MB", peak >> 20);
    }
    let (status, said) = agent.end();
    assert_eq!(status, 0, "{said}");
    assert!(!said.contains("defect"), "{said}");
}

#[test]
fn a_request_that_is_much_too_large_is_told_so() {
    let shell = Shell::new();
    let mut agent = Agent::open(&shell);
    let said = agent.refused(
        "llmwiki_add_source",
        json!({"name": "large", "content": "x".repeat(20_000_000)}),
    );
    assert!(said.starts_with("LIMIT_EXCEEDED: "), "{said}");
    agent.write(&vec![b'x'; 40 << 20]);
    agent.write(b"\n");
    let answer = agent.hear();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
}

#[test]
fn who_does_not_listen_is_not_read_for_ever() {
    let shell = Shell::new();
    let mut child = shell
        .command()
        .arg("mcp")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "deaf", "version": "1"}}});
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let writer = std::thread::spawn(move || {
        use std::io::Write as _;
        let mut text = format!("{opening}\n");
        for _ in 0..100_000 {
            text.push_str(&format!("{ask}\n"));
        }
        // The answers would be two gigabytes.
        input.write_all(text.as_bytes()).is_err()
    });
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(
        !writer.is_finished(),
        "everything was read, and nothing taken"
    );
    if cfg!(target_os = "linux") {
        let peak = peak_memory(child.id());
        assert!(peak < 100 << 20, "{} MB", peak >> 20);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(writer.join().unwrap());
}
