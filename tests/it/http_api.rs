//! The JSON API: the code wiki as other dashboards read it, every operation, changes as they
//! happen, and what pages of other sites may see.

use std::io::{BufRead as _, BufReader, Write as _};

use serde_json::{Value, json};

use crate::cli_support::Shell;
use crate::cli_terminal::slow_model;
use crate::serve::{Answer, Served};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn project() -> Shell {
    let shell = Shell::new().with("LLMWIKI_LLM_STUB", "It adds numbers [1].");
    shell.write(
        "src/lib.rs",
        "/// Adds two numbers.\npub fn add_numbers(a: u8, b: u8) -> u8 {\n    a + b\n}\n",
    );
    shell
}

fn document(answer: &Answer) -> Value {
    // A body of unknown length comes in chunks.
    let text = answer.body.lines().find(|line| line.starts_with('{'));
    serde_json::from_str(text.unwrap_or_default()).unwrap_or_else(|_| panic!("{answer:?}"))
}

#[track_caller]
fn get(served: &Served, path: &str, status: u16) -> Value {
    let answer = served.ask("GET", path, &[], "");
    assert_eq!(answer.status, status, "{path}: {answer:?}");
    assert_eq!(
        answer.header("content-type"),
        Some("application/json"),
        "{path}"
    );
    document(&answer)
}

#[track_caller]
fn post(served: &Served, path: &str, body: &Value, status: u16) -> Value {
    let answer = served.ask("POST", path, &[JSON], &body.to_string());
    assert_eq!(answer.status, status, "{path} {body}: {answer:?}");
    document(&answer)
}

#[test]
fn the_code_wiki_has_the_shape_that_dashboards_read() {
    let shell = project();
    let served = Served::start(&shell, &[]);
    let none = get(&served, "/api/wiki", 200);
    assert_eq!(none["generated"], false);
    assert_eq!(none["sections"], json!([]));
    assert!(none["message"].as_str().unwrap().contains("generate"));
    let absent = get(&served, "/api/wiki/modules/src/gone", 200);
    let expected = json!({
        "generated": false, "id": "modules/src/gone", "title": "", "body": "", "citations": [],
    });
    assert_eq!(absent, expected);
    for name in ["other", "modules/", "index/x", "..%2findex"] {
        let refused = get(&served, &format!("/api/wiki/{name}"), 400);
        assert_eq!(refused["error"]["code"], "INVALID_ARGUMENT", "{name}");
    }

    shell.run(["generate", "--no-model"]).done();
    let there = get(&served, "/api/wiki", 200);
    let keys: Vec<&String> = there.as_object().unwrap().keys().collect();
    let wanted = [
        "file_count",
        "generated",
        "generated_at",
        "project",
        "sections",
        "signature",
    ];
    assert_eq!(keys, wanted);
    assert_eq!(there["file_count"], 1);
    let sections = there["sections"].as_array().unwrap();
    assert!(sections.len() >= 4, "{there}");
    for section in sections {
        let id = section["id"].as_str().unwrap();
        let shown = get(&served, &format!("/api/wiki/{id}"), 200);
        assert_eq!(shown["title"], section["title"]);
        let citations = shown["citations"].as_array().unwrap();
        assert_eq!(section["citation_count"], citations.len());
        assert!(
            citations
                .iter()
                .all(|it| it["file"].is_string() && it["line"].is_u64())
        );
        let html = shown["html"].as_str().unwrap();
        assert!(
            !shown["body"].as_str().unwrap().is_empty() && html.starts_with('<'),
            "{shown}"
        );
    }
    get(&served, "/api/wiki/modules/src/gone", 404);
    get(&served, "/api/wiki/other", 400);
}

#[test]
fn questions_are_bounded_and_answered_with_citations() {
    let shell = project();
    shell.run(["index-code"]).done();
    let served = Served::start(&shell, &[]);
    let ask = |body: Value, status: u16| post(&served, "/api/wiki/ask", &body, status);
    let report = ask(json!({"question": "how are numbers added"}), 200);
    assert_eq!(report["mode"], "model", "{report}");
    assert_eq!(report["citations"][0]["file"], "src/lib.rs");
    let html = report["html"].as_str().unwrap();
    assert!(
        html.contains("class=\"cite chip\" href=\"/file/src/lib.rs?L=1-4#L1\""),
        "{html}"
    );
    let nothing = ask(json!({"question": "zzzz"}), 200);
    assert_eq!(nothing["answer"], "");
    assert!(nothing["note"].is_string());
    for body in [
        json!({}),
        json!({"question": ""}),
        json!({"question": "x".repeat(2001)}),
        json!({"question": "x", "k": 0}),
        json!({"question": "x", "k": 21}),
        json!({"question": "x", "k": "1"}),
        json!({"question": "x", "model": "m"}),
        json!({"question": ["x"]}),
    ] {
        assert_eq!(ask(body, 400)["error"]["code"], "INVALID_ARGUMENT");
    }
    let most = json!({"question": "\u{e9}".repeat(2000), "k": 20});
    ask(most, 200);
    let form = served.ask("POST", "/api/wiki/ask", &[], "{\"question\":\"x\"}");
    assert_eq!(form.status, 415, "{form:?}");
    let page = served.ask("POST", "/ask", &[], "question=how+are+numbers+added");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("class=\"cite chip\""), "{page:?}");
}

#[test]
fn an_answer_comes_while_it_is_written() {
    let shell = Shell::new();
    shell.write("src/a.rs", "/// Reads a port.\npub fn parse_port() {}\n");
    let url = slow_model(true);
    let config =
        format!("[models]\ndefault = \"near\"\n[models.near]\nurl = {url:?}\nmodel = \"small\"\n");
    shell.write(".config/llmwiki/config.toml", config);
    shell.run(["index-code"]).done();
    let served = Served::start(&shell, &[]);
    let headers = [JSON, ("Accept", "text/event-stream")];
    let body = json!({"question": "parse a port"}).to_string();
    let answer = served.ask("POST", "/api/wiki/ask", &headers, &body);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let text = answer
        .body
        .find("event: text")
        .unwrap_or_else(|| panic!("{answer:?}"));
    let report = answer.body.find("event: report").unwrap();
    assert!(text < report, "{answer:?}");
    let after = &answer.body[report..];
    let data = after
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .unwrap();
    let report: Value = serde_json::from_str(data).unwrap();
    let written = report["answer"].as_str().unwrap();
    assert!(
        written.starts_with("It parses ports [src/a.rs:1]."),
        "{written}"
    );
}

#[test]
fn every_operation_is_there_by_name_and_only_what_reads_by_get() {
    let shell = project();
    let served = Served::start(&shell, &[]);
    let described = get(&served, "/api/openapi.json", 200);
    let source = post(
        &served,
        "/api/ops/add-source",
        &json!({"name": "n", "content": "tide"}),
        200,
    );
    let id = source["id"].as_str().unwrap();
    let page = json!({
        "id": "guides/a", "title": "A", "summary": "s", "sources": [id], "body": "The tide. [x](gone.md)\n",
    });
    assert_eq!(
        post(&served, "/api/ops/upsert-page", &page, 200)["created"],
        true
    );
    let absent = json!({"id": "guides/a", "title": "A", "summary": "s", "sources": [id],
        "body": "Other.\n", "expectedSha256": "absent"});
    assert_eq!(
        post(&served, "/api/ops/upsert-page", &absent, 409)["error"]["code"],
        "CONFLICT"
    );
    let found = get(
        &served,
        "/api/ops/search?query=tide&limit=1&in=pages&explain=true",
        200,
    );
    assert_eq!(found["hits"][0]["pageId"], "guides/a");
    assert!(found["hits"][0]["explanation"].is_object(), "{found}");
    let linted = get(
        &served,
        "/api/ops/lint?only=ORPHAN_PAGE&only=BROKEN_PAGE_LINK",
        200,
    );
    assert_eq!(
        linted["diagnostics"].as_array().unwrap().len(),
        1,
        "{linted}"
    );
    for path in [
        "/api/ops/search",
        "/api/ops/search?query=a&limit=x",
        "/api/ops/search?query=a&b=c",
    ] {
        assert_eq!(
            get(&served, path, 400)["error"]["code"],
            "INVALID_ARGUMENT",
            "{path}"
        );
    }
    get(&served, "/api/ops/read-page?id=gone", 404);
    for (path, operations) in described["paths"].as_object().unwrap() {
        if path.starts_with("/api/ops/") && operations.get("get").is_none() {
            let refused = get(&served, path, 405);
            assert!(
                refused["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("POST"),
                "{path}"
            );
        }
    }
    post(&served, "/api/ops/trust", &json!({}), 404);
    get(&served, "/api/ops/nothing", 404);
    let history = get(&served, "/api/ops/history", 200);
    assert_eq!(
        history["revisions"].as_array().unwrap().len(),
        1,
        "no GET wrote"
    );
}

#[test]
fn listeners_hear_of_changes_and_the_server_ends_without_waiting_for_them() {
    let shell = project();
    let source = shell
        .run(["--json", "add-source", "src/lib.rs"])
        .done()
        .json();
    let id = source["id"].as_str().unwrap().to_owned();
    let mut served = Served::start(&shell, &[]);
    let mut stream = served.connect();
    let head = format!(
        "GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n",
        served.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == ":"), "the stream is open");
    shell.write("body.md", "Text\n");
    shell
        .run([
            "upsert-page",
            "a",
            "--title",
            "A",
            "--summary",
            "s",
            "--source",
            &id,
            "--body",
            "body.md",
        ])
        .done();
    let change = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let change: Value = serde_json::from_str(&change.unwrap()).unwrap();
    assert_eq!(change["page"], "a");
    let begun = std::time::Instant::now();
    assert_eq!(served.terminate().0, 0);
    assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
}

#[test]
fn a_page_of_a_site_that_was_named_may_show_the_code_wiki_and_nothing_else() {
    let shell = project().with("LLMWIKI_TOKEN", "secret");
    let served = Served::start(&shell, &["--allow-origin", "https://board.example"]);
    let board = ("Origin", "https://board.example");
    let bearer = ("Authorization", "Bearer secret");
    let asked = served.ask("OPTIONS", "/api/wiki/ask", &[board], "");
    assert_eq!(asked.status, 204, "{asked:?}");
    assert_eq!(asked.header("access-control-allow-origin"), Some(board.1));
    assert!(
        asked
            .header("access-control-allow-headers")
            .unwrap()
            .contains("authorization")
    );
    let shown = served.ask("GET", "/api/wiki", &[board, bearer], "");
    assert_eq!(shown.status, 200);
    assert_eq!(shown.header("access-control-allow-origin"), Some(board.1));
    assert_eq!(served.ask("GET", "/api/wiki", &[board], "").status, 401);
    let other = ("Origin", "https://other.example");
    for (path, origin) in [
        ("/api/wiki", other),
        ("/api/ops/status", board),
        ("/", board),
    ] {
        let refused = served.ask("GET", path, &[origin, bearer], "");
        assert_eq!(refused.status, 403, "{path}: {refused:?}");
        assert_eq!(
            refused.header("access-control-allow-origin"),
            None,
            "{path}"
        );
    }
    let usage = shell.run(["serve", "--allow-origin", "https://a.example/path"]);
    assert_eq!(usage.status, 2);
}
