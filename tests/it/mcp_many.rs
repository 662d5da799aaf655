//! Eight servers on one wiki, which is how hosts start them, and a command line beside them.
//! `LLMWIKI_MANY_SECONDS=20 cargo test --release mcp_many -- --nocapture` is the long run.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli_support::Shell;
use crate::mcp_support::Agent;

const SERVERS: usize = 8;

#[test]
fn eight_servers_and_a_command_line_lose_nothing() {
    let seconds = std::env::var("LLMWIKI_MANY_SECONDS");
    let time = Duration::from_secs(seconds.map_or(2, |text| text.parse().unwrap()));
    let shell = Shell::new();
    shell.run(["init"]).done();
    let root = shell.path().join(".llmwiki");
    let end = Instant::now() + time;
    let (mut waits, pages, shared) = std::thread::scope(|scope| {
        let servers: Vec<_> = (0..SERVERS)
            .map(|server| {
                let root = &root;
                scope.spawn(move || serve(root, server, end))
            })
            .collect();
        let console = scope.spawn(|| command_line(&shell, end));
        let mut waits = Vec::new();
        let mut pages = console.join().unwrap();
        let mut shared = 0;
        for server in servers {
            let (searches, written, acknowledged) = server.join().unwrap();
            waits.extend(searches);
            pages.extend(written);
            shared += acknowledged;
        }
        (waits, pages, shared)
    });

    // Everything that was acknowledged is there, with the text that was acknowledged last.
    let mut agent = Agent::at(&root);
    for (id, sha256) in &pages {
        let read = agent.call("llmwiki_read_page", json!({"id": id}));
        assert_eq!(&read["sha256"], sha256, "{id}");
        let found = agent.call("llmwiki_search", json!({"query": format!("id:{id} word")}));
        assert_eq!(found["hits"][0]["pageId"], id.as_str());
    }
    let status = agent.call("llmwiki_status", json!({}));
    assert_eq!(status["pageCount"], pages.len() + 1);
    drop(agent);
    let history = shell
        .run(["--json", "history", "shared", "--limit", "1000000"])
        .done()
        .json();
    assert_eq!(history["revisions"].as_array().unwrap().len(), shared);
    assert_eq!(shell.run(["verify"]).status, 0);

    waits.sort_unstable();
    let at = |share: usize| waits[(waits.len() * share / 100).min(waits.len() - 1)];
    println!(
        "{} pages, the shared one {shared} times, {} searches in {time:?}; search p50 {:?}, p99 {:?}, longest {:?}",
        pages.len(),
        waits.len(),
        at(50),
        at(99),
        at(100)
    );
}

type Written = Vec<(String, serde_json::Value)>;

/// Writes pages of its own, one that all share, and searches.
fn serve(root: &std::path::Path, server: usize, end: Instant) -> (Vec<Duration>, Written, usize) {
    let mut agent = Agent::at(root);
    let mut waits = Vec::new();
    let mut written = Vec::new();
    let content = format!("evidence of server {server}");
    let source = agent.call(
        "llmwiki_add_source",
        json!({"name": "n", "content": content}),
    );
    let mut shared = 0;
    for round in 0.. {
        if Instant::now() >= end && round > 3 {
            break;
        }
        let id = format!("s{server}/p{round}");
        let page = agent.call(
            "llmwiki_upsert_page",
            json!({"id": id, "title": format!("Page {round}"), "summary": "s",
                "sources": [source["id"]], "body": format!("word of server {server}\n")}),
        );
        written.push((id, page["sha256"].clone()));
        let asked = Instant::now();
        let found = agent.call("llmwiki_search", json!({"query": "word", "limit": 5}));
        waits.push(asked.elapsed());
        assert!(!found["hits"].as_array().unwrap().is_empty());
        // All write this one; who is not the first is told so.
        let known = match agent.ask(
            "tools/call",
            json!({"name": "llmwiki_read_page",
            "arguments": {"id": "shared"}}),
        )["result"]["structuredContent"]["sha256"]
        {
            serde_json::Value::Null => json!("absent"),
            ref hash => hash.clone(),
        };
        let answer = agent.ask(
            "tools/call",
            json!({"name": "llmwiki_upsert_page", "arguments": {
                "id": "shared", "title": "Shared", "summary": "s", "sources": [source["id"]],
                "body": format!("by {server} in round {round}\n"), "expectedSha256": known}}),
        );
        if answer["result"]["isError"] == true {
            let said = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(said.starts_with("CONFLICT: "), "{said}");
        } else {
            shared += 1;
        }
    }
    let (status, said) = agent.end();
    // What another was just writing may be all that there is to tell.
    let late = "could not be taken in yet";
    assert!(
        status == 0 && said.lines().all(|line| line.ends_with(late)),
        "{status} {said}"
    );
    (waits, written, shared)
}

/// Does the same with commands.
fn command_line(shell: &Shell, end: Instant) -> Written {
    let mut written = Vec::new();
    shell.write("notes.txt", "evidence of the command line");
    shell.write("body.md", "word of the command line\n");
    let source = shell
        .run(["--json", "add-source", "notes.txt"])
        .done()
        .json();
    let source = source["id"].as_str().unwrap().to_owned();
    for round in 0.. {
        if Instant::now() >= end && round > 3 {
            break;
        }
        let id = format!("cli/p{round}");
        let page = shell
            .run([
                "--json",
                "upsert-page",
                &id,
                "--title",
                "t",
                "--summary",
                "s",
                "--source",
                &source,
                "--body",
                "body.md",
            ])
            .done()
            .json();
        written.push((id, page["sha256"].clone()));
        shell.run(["search", "word"]).done();
    }
    written
}
