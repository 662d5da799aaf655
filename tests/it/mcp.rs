//! The MCP server over standard input and output, as agent hosts run it.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli_support::Shell;
use crate::mcp_support::Agent;

const HASH_OF_X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

fn add(agent: &mut Agent, content: &str) -> String {
    let arguments = json!({"name": "notes", "content": content});
    let report = agent.call("llmwiki_add_source", arguments);
    report["id"].as_str().unwrap().to_owned()
}

fn page(id: &str, source: &str, body: &str) -> Value {
    json!({"id": id, "title": format!("Title of {id}"), "summary": "A page.",
        "sources": [source], "body": body})
}

#[test]
fn the_list_of_tools_is_the_golden_one() {
    let shell = Shell::new();
    let mut agent = Agent::open(&shell);
    let answer = agent.ask("tools/list", json!({}));
    let text = format!("{:#}\n", answer["result"]);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mcp/tools.json");
    if std::env::var_os("LLMWIKI_UPDATE_DOCS").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let known = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(
        text == known,
        "tools/list changed, which every agent host notices: \
         LLMWIKI_UPDATE_DOCS=1 cargo test mcp writes tests/data/mcp/tools.json anew"
    );
    assert_eq!(
        agent.ask("tools/list", json!({}))["result"],
        answer["result"]
    );
    assert_eq!(agent.end(), (0, String::new()));
}

#[test]
fn every_protocol_with_a_handshake_is_spoken() {
    let shell = Shell::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut agent = Agent::start(shell.command().arg("mcp"));
        let answer = agent.initialize(version);
        assert_eq!(answer["result"]["protocolVersion"], version);
        let status = agent.call("llmwiki_status", json!({}));
        assert_eq!(status["initialized"], false);
        let missing = agent.ask("resources/read", json!({"uri": "llmwiki://page/a"}));
        assert_eq!(missing["error"]["code"], -32002);
        assert_eq!(agent.end().0, 0);
    }
    let mut agent = Agent::start(shell.command().arg("mcp"));
    let answer = agent.initialize("2031-01-01");
    assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn the_protocol_without_a_handshake_is_spoken() {
    let shell = Shell::new();
    let mut agent = Agent::start(shell.command().arg("mcp"));
    agent.speak("2026-07-28");
    let answer = agent.ask("server/discover", json!({}));
    let versions = answer["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28"), "{answer}");
    assert!(answer["result"]["instructions"].is_string());
    let answer = agent.ask("tools/list", json!({}));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert!(answer["result"]["ttlMs"].is_u64() && answer["result"]["cacheScope"].is_string());
    let id = add(&mut agent, "oil every 500 hours\n");
    agent.call("llmwiki_upsert_page", page("pump", &id, "Oil.\n"));
    let missing = agent.ask("resources/read", json!({"uri": "llmwiki://page/a"}));
    assert_eq!(missing["error"]["code"], -32602);
    assert_eq!(agent.end().0, 0);
}

#[test]
fn an_agent_keeps_evidence_writes_a_page_and_finds_it() {
    let shell = Shell::new();
    let mut agent = Agent::open(&shell);
    let id = add(
        &mut agent,
        "first line\nThe pump needs oil every 500 hours.\nlast line",
    );
    let again = agent.call(
        "llmwiki_add_source",
        json!({"name": "other", "content": "first line\nThe pump needs oil every 500 hours.\nlast line"}),
    );
    assert_eq!(again["deduplicated"], true);
    let written = agent.call(
        "llmwiki_upsert_page",
        page("pump/oil", &id, "Oil change.\n"),
    );
    assert_eq!(written["created"], true);
    let found = agent.call("llmwiki_search", json!({"query": "oil change", "limit": 3}));
    assert_eq!(found["hits"][0]["pageId"], "pump/oil");
    let read = agent.call("llmwiki_read_page", json!({"id": "pump/oil"}));
    assert_eq!(read["sha256"], written["sha256"]);
    assert!(read.get("truncated").is_none());
    let mut changed = page("pump/oil", &id, "Oil change, every 500 hours.\n");
    changed["expectedSha256"] = written["sha256"].clone();
    agent.call("llmwiki_upsert_page", changed.clone());
    let refused = agent.refused("llmwiki_upsert_page", changed);
    assert!(refused.starts_with("CONFLICT: "), "{refused}");
    let list = agent.call("llmwiki_list_pages", json!({"prefix": "pump/"}));
    assert_eq!(list["pages"].as_array().unwrap().len(), 1);
    let lint = agent.call("llmwiki_lint", json!({}));
    assert_eq!(lint["errorCount"], 0);
    let made = agent.call("llmwiki_reindex", json!({}));
    assert_eq!(made["pageCount"], 1);

    let answer = agent.ask("resources/list", json!({}));
    let uris: Vec<&str> = answer["result"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect();
    let known = [
        "llmwiki://schema",
        "llmwiki://pages",
        "llmwiki://page/pump/oil",
    ];
    assert_eq!(uris, known);
    let read = |agent: &mut Agent, uri: &str| {
        let answer = agent.ask("resources/read", json!({"uri": uri}));
        let text = answer["result"]["contents"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert!(read(&mut agent, "llmwiki://schema").starts_with("# How this wiki"));
    assert_eq!(
        read(&mut agent, "llmwiki://pages"),
        "pump/oil\tTitle of pump/oil\n"
    );
    assert!(read(&mut agent, "llmwiki://page/pump%2Foil").ends_with("every 500 hours.\n"));
    let source = format!("llmwiki://source/{id}");
    assert!(read(&mut agent, &source).ends_with("last line"));
    let line = read(&mut agent, &format!("{source}#L2"));
    assert_eq!(line, "The pump needs oil every 500 hours.\n");
    let complete = |agent: &mut Agent, uri: &str, value: &str| {
        let answer = agent.ask(
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": uri},
                "argument": {"name": "id", "value": value}}),
        );
        answer["result"]["completion"]["values"].clone()
    };
    let pages = complete(&mut agent, "llmwiki://page/{+id}", "pump/");
    assert_eq!(pages, json!(["pump/oil"]));
    assert_eq!(
        complete(&mut agent, "llmwiki://source/{id}", &id[..3]),
        json!([id])
    );
    assert_eq!(
        complete(&mut agent, "llmwiki://source/{id}", "zz"),
        json!([])
    );

    let prompts = agent.ask("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 4);
    let prompt = agent.ask(
        "prompts/get",
        json!({"name": "answer_with_citations", "arguments": {"question": "How often?"}}),
    );
    let text = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(text.contains("How often?"), "{text}");
    assert_eq!(agent.end(), (0, String::new()));
}

#[test]
fn what_is_wrong_with_a_call_is_said_by_code_and_name() {
    let shell = Shell::new();
    let mut agent = Agent::open(&shell);
    let id = add(&mut agent, "x");
    assert_eq!(id, HASH_OF_X);
    let mut refused = |tool: &str, arguments: Value, wanted: &[&str]| {
        let said = agent.refused(tool, arguments);
        for words in wanted {
            assert!(said.contains(words), "{tool}: {said}");
        }
    };
    let page_without = |key: &str| {
        let mut page = page("a", &id, "b\n");
        page.as_object_mut().unwrap().remove(key);
        page
    };
    refused(
        "llmwiki_search",
        json!({}),
        &["INVALID_ARGUMENT: ", "`query`"],
    );
    let colour = json!({"query": "x", "colour": "red"});
    refused(
        "llmwiki_search",
        colour,
        &["INVALID_ARGUMENT: ", "`colour`", "`limit`"],
    );
    refused(
        "llmwiki_search",
        json!({"query": 5}),
        &["INVALID_ARGUMENT: ", "query: "],
    );
    refused(
        "llmwiki_search",
        json!({"query": "x", "limit": 0}),
        &["LIMIT_EXCEEDED: "],
    );
    refused(
        "llmwiki_search",
        json!({"query": "x", "limit": -1}),
        &["INVALID_ARGUMENT: ", "limit: "],
    );
    refused(
        "llmwiki_status",
        json!({"verbose": true}),
        &["INVALID_ARGUMENT: ", "`verbose`"],
    );
    refused(
        "llmwiki_read_page",
        json!({"id": "no"}),
        &["PAGE_NOT_FOUND: ", "`llmwiki_list_pages`"],
    );
    refused(
        "llmwiki_read_page",
        json!({"id": "../x"}),
        &["INVALID_PATH: "],
    );
    let none = json!({"id": "0".repeat(64)});
    refused("llmwiki_read_source", none, &["SOURCE_NOT_FOUND: "]);
    refused(
        "llmwiki_read_source",
        json!({"id": id, "offset": 99}),
        &["LIMIT_EXCEEDED: "],
    );
    refused(
        "llmwiki_add_source",
        json!({"name": "e", "content": ""}),
        &["INVALID_ARGUMENT: "],
    );
    let large = json!({"name": "large", "content": "x".repeat(2_097_153)});
    refused("llmwiki_add_source", large, &["LIMIT_EXCEEDED: "]);
    let uncited = json!({"id": "a", "title": "t", "summary": "s", "sources": [], "body": "b"});
    refused("llmwiki_upsert_page", uncited, &["INVALID_PAGE: "]);
    for key in ["id", "title", "summary", "sources", "body"] {
        refused(
            "llmwiki_upsert_page",
            page_without(key),
            &["INVALID_ARGUMENT: ", key],
        );
    }
    refused(
        "llmwiki_lint",
        json!({"only": ["NO_SUCH"]}),
        &["INVALID_ARGUMENT: ", "NO_SUCH"],
    );
    refused(
        "knowledge.get_from",
        json!({"project": "p", "slug": "entities/x"}),
        &["PROJECT_UNKNOWN: ", "run sync first"],
    );
    // A tool that is none, and arguments that are none, are faults of the protocol.
    let unknown = agent.ask("tools/call", json!({"name": "llmwiki_delete_everything"}));
    assert_eq!(unknown["error"]["code"], -32602);
    let list = agent.ask(
        "tools/call",
        json!({"name": "llmwiki_search", "arguments": ["x"]}),
    );
    assert_eq!(list["error"]["code"], -32602);
    let wrong = agent.ask("prompts/get", json!({"name": "none"}));
    assert_eq!(wrong["error"]["code"], -32602);
    let wrong = agent.ask("resources/read", json!({"uri": "file:///etc/passwd"}));
    assert_eq!(wrong["error"]["code"], -32602);
    // No argument is a path of this machine: what looks like one is text.
    let literal = json!({"name": "@/etc/passwd", "content": "@/etc/passwd"});
    let report = agent.call("llmwiki_add_source", literal);
    assert_eq!(report["metadata"]["byteCount"], 12);
    assert_eq!(agent.end().0, 0);
}

#[test]
fn long_answers_come_in_parts_that_make_up_the_whole() {
    let shell = Shell::new();
    let mut agent = Agent::open(&shell);
    let text: String = (0..30_000)
        .map(|line| format!("line {line} \"quoted\" \u{6f22}\u{5b57}\n"))
        .collect();
    let id = add(&mut agent, &text);
    let mut whole = String::new();
    let mut offset = 0;
    for part in 0.. {
        let report = agent.call("llmwiki_read_source", json!({"id": id, "offset": offset}));
        whole.push_str(report["content"].as_str().unwrap());
        offset = report["byteEnd"].as_u64().unwrap();
        if report.get("truncated").is_none() {
            assert!(part > 10);
            break;
        }
        let more = report["more"].as_str().unwrap();
        assert!(more.contains(&format!("offset {offset}")), "{more}");
    }
    assert!(whole == text);

    let body: String = (0..20_000)
        .map(|line| format!("{line} words\n\n"))
        .collect();
    agent.call("llmwiki_upsert_page", page("long", &id, &body));
    let mut whole = String::new();
    let mut offset = 0;
    loop {
        let report = agent.call("llmwiki_read_page", json!({"id": "long", "offset": offset}));
        whole.push_str(report["markdown"].as_str().unwrap());
        offset = report["byteEnd"].as_u64().unwrap();
        if report.get("truncated").is_none() {
            break;
        }
    }
    assert!(whole.ends_with(&format!("{}\n", body.trim_end())) && whole.starts_with("---\n"));

    let summary = "s".repeat(2000);
    for number in 0..60 {
        let mut page = page(&format!("many/{number:02}"), &id, "common word\n");
        page["summary"] = summary.clone().into();
        agent.call("llmwiki_upsert_page", page);
    }
    let mut ids = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({"prefix": "many/"});
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let report = agent.call("llmwiki_list_pages", arguments);
        let pages = report["pages"].as_array().unwrap();
        ids.extend(
            pages
                .iter()
                .map(|page| page["id"].as_str().unwrap().to_owned()),
        );
        cursor = report["next"].clone();
        if cursor.is_null() {
            break;
        }
        assert_eq!(report["truncated"], true);
    }
    assert_eq!(ids.len(), 60);
    assert!(ids.is_sorted());
    let lint = agent.call("llmwiki_lint", json!({"all": true}));
    assert!(lint["warningCount"].as_u64().unwrap() > 0);
    assert_eq!(agent.end().0, 0);
}

#[test]
fn the_end_of_input_and_a_signal_end_the_server_and_nothing_else_goes_to_standard_output() {
    let shell = Shell::new();
    let mut agent = Agent::start(shell.command().args(["--json", "mcp"]));
    agent.initialize("2025-06-18");
    assert_eq!(agent.end(), (0, String::new()));

    let agent = Agent::start(shell.command().arg("mcp"));
    assert_eq!(agent.end(), (0, String::new()), "an end before a beginning");

    for begun in [false, true] {
        let mut agent = Agent::start(shell.command().arg("mcp"));
        agent.initialize("2025-06-18");
        if begun {
            add(&mut agent, "y");
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(agent.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(agent.wait(), (0, String::new()));
    }

    shell.write(".llmwiki/config.toml", "nonsense = 1\n");
    let mut agent = Agent::start(shell.command().args(["--json", "mcp"]));
    let (status, said) = agent.wait();
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("nonsense"), "{said}");
    assert!(agent.heard().is_empty());
}

#[test]
fn the_snippet_of_each_host_is_the_one_in_the_documentation() {
    let shell = Shell::new();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agents.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let program = env!("CARGO_BIN_EXE_llmwiki");
    for host in ["claude", "codex", "cursor", "vscode", "gemini", "zed"] {
        let printed = shell.run(["mcp", "--print-config", host]).done();
        let text = printed.text().replace(program, "/usr/local/bin/llmwiki");
        assert!(
            docs.contains(&text),
            "docs/agents.md lacks this for {host}:\n{text}"
        );
        assert!(printed.stderr.contains("put it into"), "{}", printed.stderr);
    }
    let rooted = shell
        .run(["--root", "here", "mcp", "--print-config", "codex"])
        .done();
    let root = shell.path().join("here").display().to_string();
    assert!(rooted.text().contains(&root), "{}", rooted.text());
    let json = shell
        .run(["--json", "mcp", "--print-config", "zed"])
        .done()
        .json();
    assert!(
        json["snippet"]
            .as_str()
            .unwrap()
            .contains("context_servers")
    );
    assert_eq!(shell.run(["mcp", "--print-config", "emacs"]).status, 2);
}
