//! Other projects in directories: added, listed, asked and read, and never written to.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::cli_support::{Ended, Shell};
use crate::mcp_support::Agent;
use crate::wikis::TestWiki;

/// A wiki, and beside it a project with a `.wiki`.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.run(["init"]).done();
    shell.write(
        "billing/.wiki/index.md",
        "# Billing\n\n## Concepts\n\n- [Retry policy](concepts/retry-policy.md) \u{2014} how often a charge is \
         tried\n- [Ledger](concepts/ledger.md)\n- [Gone](concepts/gone.md) - retry no more\n\n\
         ## Raw\n\n- [Retry minutes](raw/retry-minutes.md)\n\n## Decisions\n\n\
         - [Retry or not](decisions/retry.md)\n",
    );
    shell.write(
        "billing/.wiki/concepts/retry-policy.md",
        "---\ntitle: Retry policy\n---\n# Retry policy\n\nA charge that fails is tried again \
         after one, four and sixteen minutes; the RETRY budget of a day is 3.\n",
    );
    shell.write(
        "billing/.wiki/concepts/ledger.md",
        "# Ledger\n\nDouble entry.\n",
    );
    shell.write("billing/.wiki/raw/retry-minutes.md", "raw retry\n");
    shell.write(
        "billing/.wiki/decisions/retry.md",
        "# Retry or not\n\nRetry.\n",
    );
    shell.write("billing/.tasks/STATUS.md", "# Status\n\ngreen\n");
    shell
}

fn ask(shell: &Shell, arguments: &[&str]) -> Ended {
    let mut all = vec!["ask-projects", "--json"];
    all.extend(arguments);
    shell.run(all)
}

fn slugs(answer: &Value) -> Vec<&str> {
    let matches = answer["matches"].as_array().unwrap();
    matches
        .iter()
        .map(|it| it["slug"].as_str().unwrap())
        .collect()
}

/// Every file below a folder with its bytes and its times.
fn everything(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let changed = std::fs::metadata(&folder).unwrap().modified().unwrap();
        found.insert(folder.display().to_string(), (Vec::new(), changed));
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let changed = std::fs::metadata(&path).unwrap().modified().unwrap();
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path.display().to_string(), (bytes, changed));
            }
        }
    }
    found
}

#[test]
fn a_directory_is_added_asked_and_read() {
    let shell = shell();
    let before = everything(&shell.path().join("billing"));
    let added = shell
        .run(["projects", "add", "billing", "--path", "billing", "--json"])
        .done();
    let project = &added.json()["projects"][0];
    assert_eq!(project["backend"], "directory");
    assert_eq!(project["hasWiki"], true);
    assert_eq!(project["status"], "Status");

    let report = ask(&shell, &["retry", "--project", "billing"])
        .done()
        .json();
    assert_eq!(report["asked_projects"], json!(["billing"]));
    let answer = &report["results"][0];
    // Raw pages are asked only when named; folders of its own are asked.
    assert_eq!(
        slugs(answer),
        ["concepts/retry-policy", "decisions/retry", "concepts/gone"]
    );
    let first = &answer["matches"][0];
    assert_eq!(first["type"], "concepts");
    assert_eq!(first["title"], "Retry policy");
    let snippet = first["snippet"].as_str().unwrap();
    assert!(
        snippet.contains("Retry policy A charge") && snippet.chars().count() <= 80,
        "{snippet}"
    );
    assert_eq!(answer["matches"][2]["snippet"], "(fetch failed)");
    assert!(
        answer["matches"][2]["fetch_error"]
            .as_str()
            .unwrap()
            .contains("page not found: billing/.wiki/concepts/gone.md")
    );
    assert!(
        report["next_action_hint"]
            .as_str()
            .unwrap()
            .contains("knowledge_get_from")
    );

    let raw = ask(&shell, &["RETRY", "--project", "billing", "--types", "raw"])
        .done()
        .json();
    assert_eq!(slugs(&raw["results"][0]), ["raw/retry-minutes"]);
    let one = ask(&shell, &["retry", "--project", "billing", "--limit", "1"])
        .done()
        .json();
    assert_eq!(one["results"][0]["more"], 2);

    let page = shell
        .run(["get-from", "billing", "concepts/retry-policy", "--json"])
        .done()
        .json();
    assert!(
        page["content"]
            .as_str()
            .unwrap()
            .contains("the RETRY budget")
    );
    assert_eq!(page["path"], ".wiki/concepts/retry-policy.md");
    let text = shell.run(["get-from", "billing", "concepts/ledger"]).done();
    assert_eq!(text.text(), "# Ledger\n\nDouble entry.\n");
    assert_eq!(before, everything(&shell.path().join("billing")));
}

#[test]
fn what_is_read_can_be_kept_as_a_source_and_cited() {
    let shell = shell();
    shell
        .run(["projects", "add", "billing", "--path", "billing"])
        .done();
    let page = shell
        .run(["get-from", "billing", "concepts/ledger", "--save", "--json"])
        .done()
        .json();
    let id = page["saved_source"].as_str().unwrap();
    let source = shell.run(["read-source", id, "--json"]).done().json();
    assert_eq!(source["content"], "# Ledger\n\nDouble entry.\n");
    assert_eq!(
        source["metadata"]["origin"],
        "project:billing/.wiki/concepts/ledger.md"
    );
}

#[test]
fn nobody_is_asked_unnamed_and_who_is_not_known_says_so() {
    let shell = shell();
    assert_eq!(shell.run(["ask-projects", "retry"]).status, 2);
    let report = ask(&shell, &["retry", "--project", "nobody"]).done().json();
    let error = report["results"][0]["error"].as_str().unwrap();
    assert_eq!(error, "unknown project \u{2014} run sync first");
    let refused = shell.run(["get-from", "nobody", "x", "--json"]);
    assert_eq!(refused.error_code(), "PROJECT_UNKNOWN");
    assert_eq!(refused.status, 3);
    let zero = ask(&shell, &["x", "--project", "a", "--limit", "0"]);
    assert_eq!(zero.error_code(), "LIMIT_EXCEEDED");
    let blank = ask(&shell, &[" ", "--project", "a"]);
    assert_eq!(blank.error_code(), "INVALID_ARGUMENT");
}

#[test]
fn one_that_cannot_answer_says_why_and_the_others_answer() {
    let shell = shell();
    shell.write("empty/README.md", "nothing\n");
    shell.write("page/.wiki/index.md", "<!DOCTYPE html><p>sign in");
    shell.write("bytes/.wiki/index.md", b"# x\n\xff");
    shell.write("words/.wiki/index.md", "# Index\n\nNothing yet.\n");
    shell.write("words/.wiki/concepts/retry.md", "# Retry\n");
    for name in ["billing", "empty", "page", "bytes", "words"] {
        shell.run(["projects", "add", name, "--path", name]).done();
    }
    std::fs::create_dir(shell.path().join("away")).unwrap();
    shell
        .run(["projects", "add", "away", "--path", "away"])
        .done();
    std::fs::remove_dir(shell.path().join("away")).unwrap();
    let names = [
        "empty", "page", "bytes", "away", "nobody", "words", "billing",
    ];
    let mut arguments = vec!["retry"];
    arguments.extend(names.iter().flat_map(|name| ["--project", name]));
    let report = ask(&shell, &arguments).done().json();
    let error = |at: usize| report["results"][at]["error"].as_str().unwrap().to_owned();
    assert_eq!(error(0), "no wiki \u{2014} repo has no .wiki/index.md");
    assert_eq!(
        error(1),
        "wiki index malformed: it is an HTML page, not Markdown"
    );
    assert!(
        error(2).starts_with("wiki index malformed: it is not UTF-8"),
        "{}",
        error(2)
    );
    assert!(error(3).contains("does not exist"), "{}", error(3));
    assert!(error(4).starts_with("unknown project"), "{}", error(4));
    assert_eq!(slugs(&report["results"][5]), ["concepts/retry"]);
    assert!(
        report["results"][5]["notes"][0]
            .as_str()
            .unwrap()
            .contains("lists no page")
    );
    assert_eq!(slugs(&report["results"][6]).len(), 3);
    // Said on a terminal too.
    let mut arguments = vec!["ask-projects", "retry"];
    arguments.extend(names.iter().flat_map(|name| ["--project", name]));
    let told = shell.run(arguments).done();
    assert!(
        told.stderr.contains("page: wiki index malformed"),
        "{}",
        told.stderr
    );
    assert!(
        told.text().contains("concepts/retry-policy"),
        "{}",
        told.text()
    );
}

#[test]
fn no_slug_and_no_link_leads_out_of_the_wiki() {
    let shell = shell();
    shell.write("billing/secret.md", "SECRET\n");
    shell.write("billing/.wiki/concepts/plain.md", "plain\n");
    std::os::unix::fs::symlink(
        "../../secret.md",
        shell.path().join("billing/.wiki/concepts/link.md"),
    )
    .unwrap();
    shell
        .run(["projects", "add", "billing", "--path", "billing"])
        .done();
    for slug in [
        "../secret",
        "concepts/../../secret",
        "/etc/passwd",
        "%2e%2e/secret",
        "..%2fsecret",
        "concepts\\..\\secret",
        "",
    ] {
        let refused = shell.run(["get-from", "--json", "billing", slug]);
        assert_eq!(refused.error_code(), "INVALID_PATH", "{slug}");
    }
    let refused = shell.run(["get-from", "--json", "billing", "concepts/link"]);
    assert_eq!(refused.error_code(), "REMOTE_FAILED");
    assert!(!refused.text().contains("SECRET"));
    let missing = shell.run(["get-from", "--json", "billing", "concepts/none"]);
    assert_eq!(missing.error_code(), "PAGE_NOT_FOUND");
    assert_eq!(
        missing.json()["error"]["message"],
        "page not found: billing/.wiki/concepts/none.md"
    );
    for name in ["../x", "a/b/c", "a b\n", ""] {
        let refused = shell.run(["projects", "add", "--json", name, "--path", "billing"]);
        assert_eq!(refused.error_code(), "INVALID_ARGUMENT", "{name}");
    }
}

#[test]
fn projects_are_listed_and_removed() {
    let shell = shell();
    shell
        .run(["projects", "add", "billing", "--path", "billing/.wiki"])
        .done();
    let taken = shell.run(["projects", "add", "billing", "--path", ".", "--json"]);
    assert_eq!(taken.error_code(), "CONFLICT");
    let nowhere = shell.run(["projects", "add", "x", "--path", "nowhere", "--json"]);
    assert_eq!(nowhere.error_code(), "INVALID_ARGUMENT");
    let key = shell.run([
        "projects",
        "add",
        "x",
        "--gitea",
        "https://u:k3y@h",
        "--owner",
        "o",
        "--json",
    ]);
    assert_eq!(key.error_code(), "INVALID_ARGUMENT");
    assert!(!key.text().contains("k3y"));
    let listed = shell.run(["projects", "--json"]).done().json();
    assert_eq!(listed["projects"][0]["name"], "billing");
    assert_eq!(
        shell
            .run(["projects", "remove", "billing", "--json"])
            .done()
            .json()["removed"],
        json!(["billing"])
    );
    assert_eq!(
        shell.run(["projects", "list", "--json"]).done().json()["projects"],
        json!([])
    );
    let gone = shell.run(["projects", "remove", "billing", "--json"]);
    assert_eq!(gone.error_code(), "PROJECT_UNKNOWN");
}

#[test]
fn a_wiki_of_this_program_is_searched_by_its_own_index_and_left_as_it_is() {
    let other = TestWiki::new();
    let source = other.source("evidence");
    other.page(
        "concepts/tides",
        source,
        "# Tides\n\nThe moon pulls the sea twice a day.\n",
    );
    other.page("install", source, "# Install\n\nPull the lever at sea.\n");
    other.search("moon");
    // Something that its own next command would take in.
    std::fs::write(
        other.root().join("pages/new.md"),
        crate::wikis::page_text("new", source, "# Sea\n"),
    )
    .unwrap();
    let before = everything(&other.root());
    let shell = Shell::new();
    shell.run(["init"]).done();
    let root = other.root();
    shell
        .run(["projects", "add", "tides", "--path", root.to_str().unwrap()])
        .done();
    let report = ask(&shell, &["moon", "pulling", "--project", "tides"])
        .done()
        .json();
    let answer = &report["results"][0];
    assert_eq!(slugs(answer)[0], "concepts/tides");
    assert!(
        answer["matches"][0]["snippet"]
            .as_str()
            .unwrap()
            .contains("moon pulls")
    );
    assert!(
        answer["notes"][0].as_str().unwrap().contains("1 changes"),
        "{answer}"
    );
    let page = shell
        .run(["get-from", "tides", "concepts/tides", "--json"])
        .done()
        .json();
    assert!(page["content"].as_str().unwrap().contains("twice a day"));
    assert_eq!(before, everything(&other.root()));
    // Without a store it is searched all the same, and gets none.
    std::fs::remove_dir_all(other.root().join(".store")).unwrap();
    let before = everything(&other.root());
    let report = ask(&shell, &["moon", "--project", "tides"]).done().json();
    assert_eq!(slugs(&report["results"][0]), ["concepts/tides"]);
    assert_eq!(before, everything(&other.root()));
}

#[test]
fn agents_ask_and_read_under_both_names() {
    let shell = shell();
    shell
        .run(["projects", "add", "billing", "--path", "billing"])
        .done();
    let mut agent = Agent::at(&shell.path().join(".llmwiki"));
    for ask in ["knowledge_ask_projects", "knowledge.ask_projects"] {
        let report = agent.call(ask, json!({"query": "ledger", "projects": ["billing"]}));
        assert_eq!(slugs(&report["results"][0]), ["concepts/ledger"]);
    }
    for get in ["knowledge_get_from", "knowledge.get_from"] {
        let page = agent.call(
            get,
            json!({"project": "billing", "slug": "concepts/ledger"}),
        );
        assert_eq!(page["content"], "# Ledger\n\nDouble entry.\n");
    }
    let refused = agent.refused(
        "knowledge_ask_projects",
        json!({"query": "x", "projects": []}),
    );
    assert!(
        refused.starts_with("INVALID_ARGUMENT: projects is empty"),
        "{refused}"
    );
    shell.write(
        "billing/.wiki/concepts/ledger.md",
        "line of a long page\n".repeat(20_000),
    );
    let part = agent.call(
        "knowledge_get_from",
        json!({"project": "billing", "slug": "concepts/ledger"}),
    );
    assert_eq!(part["truncated"], true);
    let end = part["byte_end"].as_u64().unwrap();
    let next = agent.call(
        "knowledge_get_from",
        json!({"project": "billing", "slug": "concepts/ledger", "offset": end}),
    );
    assert_eq!(next["byte_start"], end);
}

#[test]
fn what_is_exported_is_found_page_by_page_by_those_who_ask() {
    let ours = TestWiki::new();
    let source = ours.source("evidence");
    let ids = [
        "index",
        "install",
        "pages/install",
        "entities/harbour",
        "concepts/tides/spring",
        "guides/my page (1)",
        "raw/minutes",
        "code/modules/main",
    ];
    for id in ids {
        ours.page(
            id,
            source,
            &format!("# About {id}\n\nThe mark {id} stands here, see [i](install.md).\n"),
        );
    }
    let shell = Shell::new();
    shell.run(["init"]).done();
    let root = ours.root();
    let export = |more: &[&str]| {
        let mut all = vec![
            "--root",
            root.to_str().unwrap(),
            "export",
            "wiki",
            "--to",
            "out",
            "--json",
        ];
        all.extend(more);
        shell.run(all)
    };
    let report = export(&[]).done().json();
    assert_eq!(report["pageCount"], 8);
    assert_eq!(report["files"].as_array().unwrap().len(), 9);
    shell
        .run(["projects", "add", "ours", "--path", "out"])
        .done();
    let listed = shell.run(["projects", "list", "--json"]).done().json();
    assert_eq!(listed["projects"][0]["hasWiki"], true);
    let types = "raw,pages,entities,concepts,guides,code";
    let mut found = Vec::new();
    for id in ids {
        let answer = ask(
            &shell,
            &[
                "title",
                "of",
                id,
                "--project",
                "ours",
                "--limit",
                "20",
                "--types",
                types,
            ],
        )
        .done()
        .json();
        let matches = answer["results"][0]["matches"].as_array().unwrap();
        let own = matches
            .iter()
            .find(|it| it["title"] == format!("Title of {id}"))
            .unwrap_or_else(|| panic!("{id}: {answer}"));
        assert!(own["fetch_error"].is_null(), "{own}");
        let slug = own["slug"].as_str().unwrap().to_owned();
        let page = shell
            .run(["get-from", "ours", &slug, "--json"])
            .done()
            .json();
        assert!(
            page["content"]
                .as_str()
                .unwrap()
                .contains(&format!("The mark {id} stands")),
            "{id}: {page}"
        );
        found.push(slug);
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), ids.len(), "{found:?}");
    // The same again changes nothing; what is gone goes; what others put there stays.
    assert_eq!(export(&[]).done().json()["files"], json!([]));
    shell.write("out/.wiki/notes.txt", "mine\n");
    ours.wiki
        .delete_page(
            &ours.ctx,
            &crate::wikis::page_id("guides/my page (1)"),
            llmwiki::wiki::Expectation::Any,
            "",
        )
        .unwrap();
    let report = export(&[]).done().json();
    assert_eq!(
        report["files"],
        json!(["guides/my page (1).md", "index.md"])
    );
    assert_eq!(report["left"], json!(["notes.txt"]));
    assert!(!shell.path().join("out/.wiki/guides").exists());
    // An index that somebody wrote is not replaced unasked.
    shell.write(
        "out/.wiki/index.md",
        "# Mine\n\n- [Install](install.md), by hand\n",
    );
    assert_eq!(export(&[]).error_code(), "CONFLICT");
    export(&["--force"]).done();
    assert_eq!(shell.run(["export", "wiki"]).status, 2);
    assert_eq!(
        shell
            .run(["export", "index-v1", "--to", "out", "--json"])
            .error_code(),
        "INVALID_ARGUMENT"
    );
}
