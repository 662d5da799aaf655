//! The code wiki: what is written, what is kept, what changes when.

use serde_json::Value;

use super::cli_support::Shell;

/// A small program of several modules.
pub fn project() -> Shell {
    let shell = Shell::new();
    shell.write(
        "README.md",
        "# Tool\n\n[![badge](x)](y)\n\nTool reads settings and serves [pages](https://example.org) over a socket.\n",
    );
    shell.write(
        "src/main.rs",
        "//! Starts the server.\n\nmod config;\n\n/// Begins.\nfn main() {\n    let settings = load_settings();\n    serve_pages(settings);\n}\n",
    );
    shell.write(
        "src/config/mod.rs",
        "//! Settings from files.\n\n/// What is set. More.\npub struct Settings;\n\n/// Reads the settings.\npub fn load_settings() -> Settings {\n    Settings\n}\n",
    );
    shell.write(
        "src/web/mod.rs",
        "//! The server.\n\nuse crate::config::Settings;\n\n/// Serves pages.\npub fn serve_pages(settings: Settings) {}\n",
    );
    shell.write(
        "tests/all.rs",
        "#[test]\nfn works() { serve_pages(load_settings()); }\n",
    );
    shell
}

pub fn generate(shell: &Shell, more: &[&str]) -> Value {
    shell
        .run([&["generate", "--json"], more].concat())
        .done()
        .json()
}

pub fn changes(report: &Value) -> Vec<(String, String)> {
    let mut changes: Vec<_> = report["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| {
            (
                section["id"].as_str().unwrap().to_owned(),
                section["change"].as_str().unwrap().to_owned(),
            )
        })
        .filter(|(_, change)| change != "unchanged")
        .collect();
    changes.sort();
    changes
}

pub fn body(shell: &Shell, section: &str) -> String {
    let shown = shell.run(["show", section, "--json"]).done().json();
    shown["sections"][0]["body"].as_str().unwrap().to_owned()
}

#[test]
fn the_wiki_says_what_a_project_is_and_every_citation_opens() {
    let shell = project();
    let report = generate(&shell, &[]);
    assert_eq!(report["upToDate"], false);
    assert_eq!(
        changes(&report)
            .into_iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>(),
        [
            "architecture",
            "data-flow",
            "index",
            "modules",
            "modules/src",
            "modules/src/config",
            "modules/src/web"
        ]
    );
    let index = body(&shell, "index");
    for part in [
        "Tool reads settings and serves pages over a socket.",
        "`src/main.rs`",
        "[Architecture](architecture.md)",
    ] {
        assert!(index.contains(part), "{part}: {index}");
    }
    let web = body(&shell, "modules/src/web");
    for part in [
        "The server.",
        "## Uses",
        "`Settings`",
        "## Used by",
        "`serve_pages`",
        "Serves pages.",
    ] {
        assert!(web.contains(part), "{part}: {web}");
    }
    let flow = body(&shell, "data-flow");
    assert!(
        flow.contains("`load_settings` of `src/config/mod.rs`"),
        "{flow}"
    );
    let shown = shell.run(["show", "--json"]).done().json();
    assert_eq!(shown["sections"][0]["id"], "index");
    assert!(
        shown["sections"][1]["diagram"]
            .as_str()
            .unwrap()
            .contains("-->")
    );
    let mut count = 0;
    for section in shown["sections"].as_array().unwrap() {
        for citation in section["citations"].as_array().unwrap() {
            let id = citation["sourceId"].as_str().unwrap();
            let source = shell.run(["read-source", id, "--json"]).done().json();
            let file = citation["file"].as_str().unwrap();
            let text = std::fs::read_to_string(shell.path().join(file)).unwrap();
            assert_eq!(source["content"], text);
            assert!(citation["line"].as_u64().unwrap() <= text.lines().count() as u64);
            count += 1;
        }
        // The page file holds what is shown.
        let page = shell.path().join(format!(
            ".llmwiki/pages/code/{}.md",
            section["id"].as_str().unwrap()
        ));
        let file = std::fs::read_to_string(page).unwrap();
        assert!(file.ends_with(section["body"].as_str().unwrap()));
    }
    assert!(count > 10, "{count}");
    let lint = shell.run(["lint", "--json"]);
    assert_eq!(
        (lint.status, &lint.json()["warningCount"]),
        (0, &0.into()),
        "{}",
        lint.text()
    );
}

#[test]
fn only_what_changed_is_written_and_nothing_stale_stays() {
    let shell = project();
    generate(&shell, &[]);
    assert_eq!(generate(&shell, &[])["upToDate"], true);
    shell.write(
        "src/web/mod.rs",
        "//! The server.\n\nuse crate::config::Settings;\n\n/// Serves pages, quickly.\npub fn serve_pages(settings: Settings) {}\n",
    );
    let planned = generate(&shell, &["--dry-run"]);
    let done = generate(&shell, &[]);
    assert_eq!(changes(&planned), changes(&done));
    let changed: Vec<String> = changes(&done).into_iter().map(|(id, _)| id).collect();
    assert!(
        changed.contains(&"modules/src/web".to_owned()),
        "{changed:?}"
    );
    assert!(
        !changed.contains(&"modules/src/config".to_owned()),
        "{changed:?}"
    );
    assert!(body(&shell, "modules/src/web").contains("Serves pages, quickly."));
    std::fs::remove_dir_all(shell.path().join("src/web")).unwrap();
    let gone = generate(&shell, &[]);
    assert!(changes(&gone).contains(&("modules/src/web".to_owned(), "removed".to_owned())));
    assert!(
        !shell
            .path()
            .join(".llmwiki/pages/code/modules/src/web.md")
            .exists()
    );
    assert_eq!(shell.run(["lint", "--json"]).json()["errorCount"], 0);
}

#[test]
fn equal_code_gives_equal_bytes() {
    let shell = project();
    let pages = || {
        generate(&shell, &[]);
        let shown = shell.run(["show", "--json"]).done().json();
        shown["sections"].to_string()
    };
    let first = pages();
    std::fs::remove_dir_all(shell.path().join(".llmwiki")).unwrap();
    assert_eq!(pages(), first);
}

#[test]
fn an_edited_page_is_kept_without_force() {
    let shell = project();
    generate(&shell, &[]);
    let page = shell.path().join(".llmwiki/pages/code/index.md");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, text.replace("Tool reads", "Our tool reads")).unwrap();
    let report = generate(&shell, &[]);
    assert_eq!(
        changes(&report),
        [("index".to_owned(), "edited".to_owned())]
    );
    assert!(
        std::fs::read_to_string(&page)
            .unwrap()
            .contains("Our tool reads")
    );
    let report = generate(&shell, &["--force"]);
    assert!(changes(&report).contains(&("index".to_owned(), "updated".to_owned())));
    assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
}

#[test]
fn secrets_reach_neither_pages_nor_snapshots() {
    let shell = project();
    let secret = concat!("gh", "p_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5");
    shell.write(
        "src/config/keys.rs",
        format!("//! Keys such as {secret}, by ann@mail.company.com.\n\npub const ACCESS: &str = \"{secret}\";\n"),
    );
    let report = generate(&shell, &[]);
    assert_eq!(report["withheld"][0], "src/config/keys.rs");
    assert!(report["redacted"].as_u64().unwrap() >= 2);
    let body = body(&shell, "modules/src/config");
    assert!(body.contains("`src/config/keys.rs:3`"), "{body}");
    let mut folders = vec![
        shell.path().join(".llmwiki/pages"),
        shell.path().join(".llmwiki/sources"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                assert!(
                    !text.contains(secret) && !text.contains("ann@mail"),
                    "{}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn one_module_can_be_asked_for_and_names_that_make_no_page_id_are_spelled() {
    let shell = project();
    shell.write("src/100%/x.md.rs", "pub fn percent_function() {}\n");
    let report = generate(&shell, &["src/config"]);
    let ids: Vec<String> = changes(&report).into_iter().map(|(id, _)| id).collect();
    assert_eq!(
        ids,
        [
            "architecture",
            "data-flow",
            "index",
            "modules",
            "modules/src/config"
        ]
    );
    generate(&shell, &[]);
    assert!(body(&shell, "modules/src/100~25").contains("percent_function"));
    let refused = shell.run(["generate", "no/such", "--json"]);
    assert_eq!(refused.error_code(), "INVALID_ARGUMENT");
    assert_eq!(
        shell.run(["show", "no-such", "--json"]).error_code(),
        "PAGE_NOT_FOUND"
    );
}

#[test]
fn the_console_names_a_part_of_the_project_or_another_project() {
    let shell = project();
    let one = generate(&shell, &["./src/../src/config"]);
    assert_eq!(one["sections"].as_array().unwrap().len(), 5);
    let all = generate(&shell, &["."]);
    assert_eq!(all["sections"].as_array().unwrap().len(), 7);
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("a.py"), "def answer():\n    return 42\n").unwrap();
    let there = generate(&shell, &[other.path().to_str().unwrap()]);
    assert_eq!(there["sections"].as_array().unwrap().len(), 5);
    assert!(other.path().join(".llmwiki/pages/code/index.md").exists());
    // A part that has a wiki of its own is a project of its own.
    shell.write("inner/b.py", "def question():\n    return 6 * 9\n");
    assert!(
        generate(&shell, &["inner"])["project"] == all["project"],
        "it has none yet"
    );
    shell.run(["--root", "inner/.llmwiki", "init"]).done();
    let inner = generate(&shell, &["inner"]);
    assert_eq!(inner["project"], "inner");
    assert!(
        shell
            .path()
            .join("inner/.llmwiki/pages/code/index.md")
            .exists()
    );
    // Where a project was named, nothing beside it is meant.
    let refused = shell.run([
        "--project",
        "src",
        "generate",
        other.path().to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(refused.error_code(), "INVALID_ARGUMENT");
}

#[test]
fn showing_makes_no_wiki_and_says_what_the_sections_were_made_from() {
    let shell = project();
    assert_eq!(
        shell.run(["show", "--json"]).error_code(),
        "NOT_INITIALIZED"
    );
    assert!(!shell.path().join(".llmwiki").exists());
    let made = generate(&shell, &[]);
    let show = || shell.run(["show", "--json"]).done().json();
    assert_eq!(show()["signature"], made["signature"]);
    assert_eq!(show()["fileCount"], 5);
    // What was shown before the code changed was made from the code before.
    shell.write("src/more.rs", "pub fn more_of_it() {}\n");
    assert_eq!(show()["signature"], made["signature"]);
    assert_ne!(generate(&shell, &[])["signature"], made["signature"]);
    assert_eq!(show()["fileCount"], 6);
}

#[test]
fn a_page_holds_what_fits_and_says_that_there_is_more() {
    let shell = project();
    for file in 0..60 {
        let text: String = (0..20)
            .map(|at| format!("/// Does the {at}th thing.\npub fn thing_{file}_{at}() {{}}\n"))
            .collect();
        shell.write(&format!("src/many/f{file}.rs"), text);
    }
    let report = generate(&shell, &["--set", "max_page_bytes=40000"]);
    assert!(
        changes(&report)
            .iter()
            .all(|(_, change)| change == "created"),
        "{report}"
    );
    let body = body(&shell, "modules/src/many");
    assert!(body.contains("The rest does not fit"), "{body}");
    assert!(body.len() > 20_000 && body.len() < 40_000, "{}", body.len());
    assert_eq!(
        generate(&shell, &["--set", "max_page_bytes=40000"])["upToDate"],
        true
    );
}

#[test]
fn names_that_cannot_be_shown_are_left_out_and_stop_nothing() {
    let shell = project();
    shell.write("src/a\u{202e}b.rs", "pub fn hidden_function() {}\n");
    shell.write("src/a\nb.rs", "pub fn hidden_function() {}\n");
    generate(&shell, &[]);
    let asked = shell
        .run(["ask", "hidden_function serve_pages", "--json"])
        .json();
    assert!(asked["citations"][0]["file"] != "", "{asked}");
    let status = shell.run(["status", "--json"]).json();
    assert_eq!(
        status["code"]["skipped"][0]["reason"],
        "name has control characters"
    );
    assert_eq!(status["code"]["skipped"][0]["count"], 2);
}

#[test]
fn an_agent_reads_a_section_as_a_resource() {
    let shell = project();
    generate(&shell, &[]);
    let mut agent = crate::mcp_support::Agent::open(&shell);
    let complete = serde_json::json!({
        "ref": {"type": "ref/resource", "uri": "llmwiki://wiki/{+section}"},
        "argument": {"name": "section", "value": "mod"}});
    let found = agent.ask("completion/complete", complete);
    let sections = found["result"]["completion"]["values"]
        .as_array()
        .unwrap()
        .clone();
    assert!(
        sections.len() > 1 && sections.contains(&"modules".into()),
        "{found}"
    );
    for section in sections {
        let section = section.as_str().unwrap();
        let uri = serde_json::json!({"uri": format!("llmwiki://wiki/{section}")});
        let read = agent.ask("resources/read", uri);
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        assert_eq!(text, body(&shell, section), "{section}");
    }
    let uri = serde_json::json!({"uri": "llmwiki://wiki/nothing"});
    let answer = agent.ask("resources/read", uri);
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("nothing"),
        "{answer}"
    );
}

#[test]
fn snapshots_that_no_page_and_no_revision_names_can_be_removed() {
    let shell = project();
    generate(&shell, &[]);
    shell.write(
        "src/web/mod.rs",
        "//! Another server.\n\n/// Serves.\npub fn serve_pages() {}\n",
    );
    generate(&shell, &[]);
    // A person's own capture, which says the same of itself.
    let own = shell
        .pipe(
            [
                "add-source",
                "-",
                "--name",
                "x.rs",
                "--origin",
                "mail",
                "--json",
            ],
            b"own\n",
        )
        .done()
        .json();
    let gc = |more: &[&str]| shell.run([&["gc", "--json"], more].concat()).done().json();
    // The history names what the older section cited.
    assert_eq!(gc(&[])["snapshots"].as_array().unwrap().len(), 0);
    let sources = |shell: &Shell| {
        std::fs::read_dir(shell.path().join(".llmwiki/sources"))
            .unwrap()
            .count()
    };
    let all = sources(&shell);
    // In a fresh copy there is no history.
    std::fs::remove_dir_all(shell.path().join(".llmwiki/.store")).unwrap();
    let found = gc(&["--dry-run"]);
    assert_eq!(
        (
            found["removed"].as_bool(),
            found["snapshots"].as_array().unwrap().len()
        ),
        (Some(false), 1)
    );
    assert_eq!(found["snapshots"][0]["name"], "src/web/mod.rs");
    assert_eq!(sources(&shell), all);
    let id = found["snapshots"][0]["id"].as_str().unwrap();
    assert_eq!(gc(&["--yes"])["removed"], true);
    assert_eq!(sources(&shell), all - 1);
    assert_eq!(
        shell.run(["read-source", id, "--json"]).error_code(),
        "SOURCE_NOT_FOUND"
    );
    shell
        .run(["read-source", own["id"].as_str().unwrap()])
        .done();
    assert_eq!(gc(&["--yes"])["snapshots"].as_array().unwrap().len(), 0);
    assert_eq!(generate(&shell, &[])["upToDate"], true);
    assert_eq!(shell.run(["lint", "--json"]).json()["errorCount"], 0);
    shell.run(["verify"]).done();
    assert_ne!(shell.run(["gc", "--yes", "--dry-run"]).status, 0);
}

#[test]
fn types_name_their_members_and_docstrings_belong_to_what_they_stand_in() {
    let shell = Shell::new();
    shell.write(
        "pump/__init__.py",
        "#  __\n# /_/\n\n\"\"\"\nPumps\n~~~~~\n\nLooks after pumps.\n\"\"\"\n\n\nclass Pump:\n    def __init__(self):\n        \"\"\"Makes one.\"\"\"\n\n    def start(self):\n        return 1\n",
    );
    generate(&shell, &[]);
    let body = body(&shell, "modules/pump/__init__.py");
    assert!(body.contains("Looks after pumps."), "{body}");
    assert!(body.contains("  - `start`, `__init__`"), "{body}");
    assert!(!body.contains("Makes one."), "{body}");
}

#[test]
fn what_is_up_to_date_is_not_made_again_and_every_doubt_is_looked_into() {
    let shell = project();
    generate(&shell, &[]);
    let same = generate(&shell, &[]);
    assert_eq!(
        (
            &same["upToDate"],
            same["sections"].as_array().unwrap().len()
        ),
        (&true.into(), 7)
    );
    // A page that is gone, though the code is the same.
    let page = shell.path().join(".llmwiki/pages/code/modules/src/web.md");
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert_eq!(
        changes(&generate(&shell, &[])),
        [("modules/src/web".to_owned(), "created".to_owned())]
    );
    assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
    // A page of another size.
    let smaller = generate(&shell, &["--set", "max_page_bytes=2000"]);
    assert_eq!(smaller["upToDate"], false);
    assert_eq!(generate(&shell, &["src/web"])["upToDate"], false);
    generate(&shell, &[]);
    assert_eq!(generate(&shell, &[])["upToDate"], true);
}

#[test]
fn imports_tie_what_names_cannot_tell_apart() {
    let shell = Shell::new();
    shell.write("index.js", "module.exports = require('./lib/express');\n");
    shell.write(
        "lib/express.js",
        "var app = require('./application');\nvar route = require('./router/route');\n\nfunction createApplication() {\n  return app.handle(route);\n}\n",
    );
    shell.write(
        "lib/application.js",
        "exports.handle = function handle(req) {\n  return req;\n};\n",
    );
    shell.write(
        "lib/router/route.js",
        "exports.handle = function handle(req) {\n  return 1;\n};\n",
    );
    // Nobody imports it, so nobody uses it, though a name is the same.
    shell.write(
        "lib/other/alone.js",
        "exports.createRoute = function createRoute() {};\n",
    );
    shell.write("lib/other/user.js", "createApplication();\n");
    generate(&shell, &[]);
    let flow = body(&shell, "data-flow");
    assert!(flow.contains("- `lib/express.js` [index.js:1]"), "{flow}");
    assert!(flow.contains("`handle` of `lib/application.js`"), "{flow}");
    assert!(flow.contains("`handle` of `lib/router/route.js`"), "{flow}");
    let architecture = body(&shell, "architecture");
    assert!(
        architecture
            .contains("top folder)](modules/top.md) imports [lib](modules/lib.md) [index.js:1]"),
        "{architecture}"
    );
    assert!(!architecture.contains("lib/other"), "{architecture}");
    let modules = body(&shell, "modules");
    assert!(
        modules.contains("used by 0): defines `createRoute`"),
        "{modules}"
    );
}

#[test]
fn a_member_of_a_type_is_no_tie_by_its_common_name() {
    let shell = Shell::new();
    shell.write("pump/__init__.py", "from .engine import Engine\n");
    shell.write(
        "pump/engine.py",
        "class Engine:\n    def copy(self):\n        return self\n\n\ndef start_engine():\n    return Engine()\n",
    );
    shell.write(
        "pump/plan.py",
        "from pump import start_engine\n\n\ndef plan(items):\n    start_engine()\n    return items.copy()\n",
    );
    // A dictionary has these, too.
    shell.write(
        "pump/table.py",
        "def table(rows):\n    return rows.copy()\n",
    );
    generate(&shell, &[]);
    let plan = body(&shell, "modules/pump/plan.py");
    assert!(plan.contains("engine.py.md): `start_engine`\n"), "{plan}");
    assert!(plan.contains("pump/\\_\\_init\\_\\_.py"), "{plan}");
    let table = body(&shell, "modules/pump/table.py");
    assert!(!table.contains("## Uses"), "{table}");
}
