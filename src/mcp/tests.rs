//! The server as a client sees it, with operations that do what real ones do seldom: take long,
//! tell progress, and break.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};

use super::Server;
use crate::config::Config;
use crate::context::Context;
use crate::error::Result;
use crate::ops::{Effect, Operation, OperationEntry, entry};
use crate::wiki::Wiki;

static STOPPED: AtomicUsize = AtomicUsize::new(0);

/// Goes on until it is cancelled, or for so many steps of a millisecond.
#[derive(Deserialize, JsonSchema)]
struct Long {
    steps: u64,
}

impl Operation for Long {
    const NAME: &'static str = "long";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("test_long");
    type Report = Value;

    fn run(self, _: &Wiki, ctx: &Context) -> Result<Value> {
        for step in 0..self.steps {
            let (stage, done) = match step {
                0..1000 => ("first", step),
                _ => ("second", step - 1000),
            };
            ctx.progress(stage, done, Some(1000));
            if let Err(cause) = ctx.check() {
                STOPPED.fetch_add(1, Ordering::SeqCst);
                return Err(cause);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(json!({"steps": self.steps}))
    }
}

/// Has a defect.
#[derive(Deserialize, JsonSchema)]
struct Broken {}

impl Operation for Broken {
    const NAME: &'static str = "broken";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("test_broken");
    type Report = Value;

    fn run(self, _: &Wiki, _: &Context) -> Result<Value> {
        panic!("a defect that a test wants")
    }
}

/// Shows one section of a generated wiki.
#[derive(Deserialize, JsonSchema)]
struct Show {
    #[serde(default)]
    section: Option<String>,
}

impl Operation for Show {
    const NAME: &'static str = "show";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = Some("test_show");
    type Report = Value;

    fn run(self, _: &Wiki, _: &Context) -> Result<Value> {
        let section = self.section.unwrap_or_else(|| "modules/a".to_owned());
        Ok(json!({"sections": [{"id": section, "body": format!("# {section}\n")}]}))
    }
}

const OPERATIONS: &[OperationEntry] = &[entry::<Long>(), entry::<Broken>(), entry::<Show>()];

struct Client {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
}

impl Client {
    fn of(server: Server) -> Self {
        let (input, reader) = tokio::io::duplex(1 << 16);
        let (writer, output) = tokio::io::duplex(1 << 16);
        tokio::spawn(server.serve(reader, writer, std::future::pending()));
        Self {
            input,
            output: BufReader::new(output).lines(),
        }
    }

    async fn opened(server: Server) -> Self {
        let mut client = Self::of(server);
        let answer = client
            .ask(
                0,
                "initialize",
                json!({"protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"}}),
            )
            .await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
        client
    }

    async fn say(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        loop {
            let answer = self.hear().await;
            if answer["id"] == id {
                return answer;
            }
        }
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.ask(
            id,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        )
        .await["result"]
            .clone()
    }
}

fn server() -> Server {
    let wiki = Wiki::new("nowhere", Config::default());
    Server::with_operations(wiki, &Context::default(), OPERATIONS)
}

fn run<T>(task: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(task)
}

#[test]
fn a_defect_fails_one_call_and_the_server_goes_on() {
    run(async {
        let server = server();
        let before = server.wiki();
        let mut client = Client::opened(server.clone()).await;
        let answer = client.call(1, "test_broken", json!({})).await;
        assert_eq!(answer["isError"], true);
        assert!(answer.get("structuredContent").is_none());
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("INTERNAL: "), "{text}");
        assert!(
            !std::sync::Arc::ptr_eq(&before, &server.wiki()),
            "what the defect may have left half-done is not used again"
        );
        let answer = client.call(2, "test_long", json!({"steps": 1})).await;
        assert_eq!(answer["structuredContent"]["steps"], 1);
    });
}

#[test]
fn progress_rises_over_all_stages_and_ends_with_the_call() {
    run(async {
        let mut client = Client::opened(server()).await;
        client
            .say(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "test_long", "arguments": {"steps": 1500}, "_meta": {"progressToken": "t"}}}))
            .await;
        let mut told = Vec::new();
        loop {
            let heard = client.hear().await;
            if heard["id"] == 1 {
                break;
            }
            assert_eq!(heard["method"], "notifications/progress");
            assert_eq!(heard["params"]["progressToken"], "t");
            assert!(heard["params"]["message"].is_string());
            told.push(heard["params"]["progress"].as_f64().unwrap());
        }
        assert!(told.len() >= 3, "{told:?}");
        assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
        // Nothing more comes: the next thing heard is the next answer.
        let answer = client.call(2, "test_long", json!({"steps": 0})).await;
        assert_eq!(answer["isError"], false);
    });
}

#[test]
fn a_cancelled_call_stops_and_gets_no_answer() {
    run(async {
        let mut client = Client::opened(server()).await;
        let stopped = STOPPED.load(Ordering::SeqCst);
        client
            .say(
                json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
                "name": "test_long", "arguments": {"steps": 1_000_000}}}),
            )
            .await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        client
            .say(
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": 7, "reason": "enough"}}),
            )
            .await;
        while STOPPED.load(Ordering::SeqCst) == stopped {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        client
            .say(json!({"jsonrpc": "2.0", "id": 8, "method": "ping"}))
            .await;
        assert_eq!(client.hear().await["id"], 8);
    });
}

#[test]
fn what_takes_longer_than_the_limit_is_stopped_and_says_so() {
    run(async {
        let server = server().with_time_limit(Duration::from_millis(30));
        let mut client = Client::opened(server).await;
        let answer = client
            .call(1, "test_long", json!({"steps": 1_000_000}))
            .await;
        assert_eq!(answer["isError"], true);
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(
            text.starts_with("ABORTED: the operation took longer"),
            "{text}"
        );
    });
}

#[test]
fn many_calls_at_once_all_get_their_answer() {
    run(async {
        let mut client = Client::opened(server()).await;
        for id in 1..=200 {
            client
                .say(
                    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                    "name": "test_long", "arguments": {"steps": 1}}}),
                )
                .await;
        }
        let mut ids: Vec<u64> = Vec::new();
        for _ in 1..=200 {
            ids.push(client.hear().await["id"].as_u64().unwrap());
        }
        ids.sort_unstable();
        assert_eq!(ids, (1..=200).collect::<Vec<_>>());
    });
}

#[test]
fn what_is_in_work_at_the_end_of_input_is_finished_and_answered() {
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}});
    let calls = [100, 6000].map(|steps| {
        json!({"jsonrpc": "2.0", "id": steps, "method": "tools/call", "params": {
            "name": "test_long", "arguments": {"steps": steps}}})
        .to_string()
    });
    let input = format!("{open}\n{}", calls.join("\n"));
    let output = server().replay(input.as_bytes()).unwrap();
    let output = String::from_utf8(output).unwrap();
    for steps in [100, 6000] {
        assert!(output.contains(&format!("\"steps\":{steps}")), "{output}");
    }
}

#[test]
fn what_comes_before_the_client_has_begun_is_no_end() {
    let early = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 3, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}),
        json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}),
    ];
    let early = early.map(|line| line.to_string()).join("\n");
    let open = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}});
    let output = server()
        .replay(format!("{early}\n{open}\n").as_bytes())
        .unwrap();
    let output = String::from_utf8(output).unwrap();
    let last: Value = serde_json::from_str(output.lines().last().unwrap()).unwrap();
    assert_eq!(last["id"], 0);
    assert!(last["result"]["serverInfo"].is_object());
}

#[test]
fn a_generated_wiki_is_a_template_once_an_operation_shows_it() {
    run(async {
        let mut client = Client::opened(server()).await;
        let answer = client.ask(1, "resources/templates/list", json!({})).await;
        let text = answer.to_string();
        assert!(text.contains("llmwiki://wiki/{+section}"), "{text}");
        let uri = json!({"uri": "llmwiki://wiki/modules/src%20x"});
        let answer = client.ask(2, "resources/read", uri).await;
        assert_eq!(answer["result"]["contents"][0]["text"], "# modules/src x\n");
        let complete = json!({"ref": {"type": "ref/resource", "uri": "llmwiki://wiki/{+section}"},
            "argument": {"name": "section", "value": "mod"}});
        let answer = client.ask(3, "completion/complete", complete).await;
        assert_eq!(
            answer["result"]["completion"]["values"],
            json!(["modules/a"])
        );
    });
}

#[test]
fn tools_without_an_operation_are_not_listed() {
    run(async {
        let mut client = Client::opened(server()).await;
        let answer = client.ask(1, "tools/list", json!({})).await;
        let names: Vec<&str> = answer["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["test_long", "test_broken", "test_show"]);
        let answer = client
            .ask(2, "tools/call", json!({"name": "llmwiki_search"}))
            .await;
        assert_eq!(answer["error"]["code"], -32602);
    });
}
