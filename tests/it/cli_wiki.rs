//! The command line on a wiki: bytes exact, JSON whole, exit statuses, settings, one script run
//! twice.

use std::fs;
use std::path::Path;

use super::cli_support::{Ended, Shell};

const BODY: &str = "# Install\n\nThe installer asks for a key.\n";

/// A shell whose wiki holds one source and one page; with the id of the source.
fn wiki() -> (Shell, String) {
    let shell = Shell::new();
    shell.write("notes.txt", "The installer asks for a key.\n");
    shell.write("body.md", BODY);
    let added = shell.run(["add-source", "notes.txt"]).done();
    let id = added.text().trim().to_owned();
    upsert(&shell, "guides/install", &id, &[]).done();
    (shell, id)
}

fn upsert(shell: &Shell, page: &str, source: &str, more: &[&str]) -> Ended {
    let line = [
        "upsert-page",
        page,
        "--title",
        "Install",
        "--summary",
        "How to.",
        "--source",
        source,
        "--body",
        "body.md",
    ];
    shell.run([&line, more].concat())
}

#[test]
fn any_bytes_come_back_as_they_went_in() {
    let shell = Shell::new();
    let bytes: Vec<u8> = (0..=255).chain([0xef, 0xbb, 0xbf, b'\r', b'\n']).collect();
    shell.write("odd name \u{e9}.bin", &bytes);
    let added = shell
        .run(["add-source", "odd name \u{e9}.bin", "--json"])
        .done()
        .json();
    assert_eq!(added["metadata"]["name"], "odd name \u{e9}.bin");
    let id = added["id"].as_str().unwrap();
    assert_eq!(shell.run(["read-source", id]).done().stdout, bytes);
    assert!(shell.run(["read-source", id, "--json"]).done().json()["contentBase64"].is_string());

    let piped = shell
        .pipe(["add-source", "-", "--name", "piped", "--json"], &bytes)
        .done()
        .json();
    assert_eq!(piped["id"], id);
    assert_eq!(piped["deduplicated"], true);
    assert_eq!(piped["captures"], 2);
}

#[test]
fn several_files_answer_a_line_each_and_a_bad_one_stops_nothing() {
    let shell = Shell::new();
    shell.write("a", "a\n");
    shell.write("c", "c\n");
    shell.write("empty", "");
    let ended = shell.run(["--json", "add-source", "a", "b", "empty", ".", "c"]);
    assert_ne!(ended.status, 0);
    let lines = ended.json_lines();
    assert_eq!(lines.len(), 5);
    assert!(lines[0]["id"].is_string() && lines[4]["id"].is_string());
    for (line, input) in [(1, "b"), (2, "empty"), (3, ".")] {
        assert_eq!(lines[line]["error"]["input"], input);
        assert!(lines[line]["error"]["code"].is_string());
    }
    assert_eq!(
        shell
            .run(["--json", "add-source", "a", "c", "--name", "x"])
            .status,
        2
    );
}

#[test]
fn a_source_over_the_limit_is_refused_from_a_file_and_from_a_pipe() {
    let shell = Shell::new().with("LLMWIKI_MAX_SOURCE_BYTES", "4");
    shell.write("five", "12345");
    shell.write("four", "1234");
    for ended in [
        shell.run(["--json", "add-source", "five"]),
        shell.pipe(["--json", "add-source", "-"], b"12345"),
    ] {
        assert_eq!(ended.error_code(), "LIMIT_EXCEEDED");
        assert_eq!(ended.status, 3);
    }
    assert!(
        !shell.path().join(".llmwiki").exists(),
        "an error means that nothing was written"
    );
    shell.run(["add-source", "four"]).done();
}

#[test]
fn reading_a_page_gives_the_file_and_its_history_gives_every_version() {
    let (shell, id) = wiki();
    let file = fs::read(shell.path().join(".llmwiki/pages/guides/install.md")).unwrap();
    assert_eq!(
        shell.run(["read-page", "guides/install"]).done().stdout,
        file
    );
    let read = shell
        .run(["--json", "read-page", "guides/install"])
        .done()
        .json();
    assert_eq!(read["markdown"].as_str().unwrap().as_bytes(), file);
    assert_eq!(read["metadata"]["sources"][0], id.as_str());

    shell.write("body.md", "# Install\n\nIt asks for two keys.\n");
    let hash = read["sha256"].as_str().unwrap();
    let wrong = upsert(
        &shell,
        "guides/install",
        &id,
        &["--expected-sha256", "absent", "--json"],
    );
    assert_eq!(wrong.error_code(), "CONFLICT");
    assert!(wrong.text().contains(hash), "{}", wrong.text());
    let line = [
        "--expected-sha256",
        hash,
        "-m",
        "two keys",
        "--actor",
        "ann",
        "--json",
    ];
    let updated = upsert(&shell, "guides/install", &id, &line).done().json();
    assert_eq!(updated["created"], false);

    let history = shell
        .run(["--json", "history", "guides/install", "--diff"])
        .done()
        .json();
    let newest = &history["revisions"][0];
    assert_eq!(newest["actor"], "ann");
    assert_eq!(newest["message"], "two keys");
    assert!(
        newest["diff"]
            .as_str()
            .unwrap()
            .contains("+It asks for two keys.")
    );
    assert_eq!(history["revisions"].as_array().unwrap().len(), 2);
    for at in [history["revisions"][1]["seq"].to_string(), {
        history["revisions"][1]["id"].as_str().unwrap()[..12].to_owned()
    }] {
        let old = shell
            .run(["read-page", "guides/install", "--at", &at])
            .done();
        assert_eq!(old.stdout, file);
    }
}

#[test]
fn lists_are_whole_unless_cut_and_then_go_on() {
    let (shell, id) = wiki();
    for page in ["a", "b", "guides/zebra"] {
        upsert(&shell, page, &id, &[]).done();
    }
    let all = shell.run(["list-pages"]).done();
    assert_eq!(all.text().lines().count(), 4);
    let guides = shell
        .run(["--json", "list-pages", "--prefix", "guides/"])
        .done()
        .json();
    assert_eq!(guides["pages"].as_array().unwrap().len(), 2);
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let mut line = vec![
            "--json".to_owned(),
            "list-pages".into(),
            "--limit".into(),
            "1".into(),
        ];
        line.extend(
            cursor
                .iter()
                .flat_map(|cursor: &String| ["--cursor".into(), cursor.clone()]),
        );
        let page = shell.run(&line).done().json();
        seen.push(page["pages"][0]["id"].as_str().unwrap().to_owned());
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, ["a", "b", "guides/install", "guides/zebra"]);
    for list in ["list-pages", "list-sources", "history"] {
        let none = shell.run(["--json", list, "--limit", "0"]);
        assert_eq!(none.error_code(), "LIMIT_EXCEEDED", "{list}");
        shell.run([list, "--limit", "101"]).done();
    }
}

#[test]
fn search_takes_words_with_and_without_quotes_and_answers_0_without_a_hit() {
    let (shell, _) = wiki();
    for line in [
        &["search", "installer", "key"][..],
        &["search", "installer key"],
        &["search", "\"asks for\""],
    ] {
        let found = shell.run([&["--json"], line].concat()).done().json();
        assert_eq!(found["hits"][0]["pageId"], "guides/install", "{line:?}");
    }
    assert_eq!(
        shell.run(["--json", "search", "zebra"]).done().json()["hits"],
        serde_json::json!([])
    );
    for bad in [
        &["search", " "][..],
        &["search", "a", "--limit", "0"],
        &["search", "a", "--limit", "-1"],
    ] {
        let ended = shell.run([&["--json"], bad].concat());
        assert_ne!(ended.status, 0, "{bad:?}");
        assert!(ended.json()["error"]["code"].is_string(), "{bad:?}");
    }
    shell.run(["search", "installer", "--limit", "101"]).done();
}

#[test]
fn a_word_with_a_minus_needs_no_dashes_before_it() {
    let (shell, id) = wiki();
    shell.write("body.md", "# Remove\n\nThe installer forgets the storm.\n");
    upsert(&shell, "guides/remove", &id, &[]).done();
    let found = |words: &[&str]| -> Vec<String> {
        let ended = shell.run([&["search"], words].concat()).done();
        let report: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        let hits = report["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["pageId"].as_str().unwrap().to_owned())
            .collect()
    };
    for words in [
        &["installer", "-storm", "--json"][..],
        &["-storm", "--json", "installer", "-n", "5", "-q"],
        &["installer", "--json", "--", "-storm"],
        &["installer", "--json", "-id:guides/remove"],
    ] {
        assert_eq!(found(words), ["guides/install"], "{words:?}");
    }
    // A page by id or source alone.
    assert_eq!(found(&["--json", "id:guides/*"]).len(), 2);
    assert_eq!(found(&["--json", &format!("source:{id}")]).len(), 2);
    let ended = shell.run(["search", "installer", "--storm"]);
    assert_eq!(ended.status, 2);
}

#[test]
fn a_byte_order_mark_is_no_part_of_what_is_written() {
    let (shell, id) = wiki();
    let read = || {
        let page = shell.run(["--json", "read-page", "guides/install"]).done();
        let markdown = page.json()["markdown"].as_str().unwrap().to_owned();
        assert!(!markdown.contains('\u{feff}'), "{markdown:?}");
        markdown
    };
    let plain = read();
    shell.write("body.md", format!("\u{feff}{BODY}"));
    upsert(&shell, "guides/install", &id, &[]).done();
    assert_eq!(read(), plain);
    shell.write("whole.md", format!("\u{feff}{plain}"));
    shell
        .run(["upsert-page", "guides/install", "--file", "whole.md"])
        .done();
    assert_eq!(read(), plain);
}

#[test]
fn a_page_on_a_lost_place_and_settings_nobody_may_read_stop_nothing() {
    let (shell, _) = wiki();
    let root = shell.path().join(".llmwiki");
    let gone = shell.path().join("gone");
    fs::create_dir(&gone).unwrap();
    // The shell removes its own directory before it becomes the program.
    let in_nowhere = |root: &std::ffi::OsStr| {
        std::process::Command::new("/bin/sh")
            .current_dir(&gone)
            .env_clear()
            .env("HOME", shell.path())
            .args([
                "-c",
                "mkdir -p \"$0\" && cd \"$0\" && rmdir \"$0\" && exec \"$@\"",
            ])
            .arg(&gone)
            .arg(env!("CARGO_BIN_EXE_llmwiki"))
            .arg("--root")
            .arg(root)
            .arg("list-pages")
            .output()
            .unwrap()
    };
    let listed = in_nowhere(root.as_os_str());
    assert_eq!(listed.status.code(), Some(0), "{listed:?}");
    fs::create_dir_all(&gone).unwrap();
    let refused = in_nowhere(".llmwiki".as_ref());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("working directory"), "{said}");

    // Others can read the keys: they are not used, and whoever needs them is told.
    let keys = shell.write(".config/llmwiki/auth.toml", "near = \"k\"\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&keys, mode).unwrap();
    let listed = shell.run(["list-pages"]).done();
    assert_eq!(listed.stderr.matches("auth.toml").count(), 1, "{listed:?}");
    assert!(listed.stderr.contains("going on without"), "{listed:?}");
    let asked = shell.run(["ask", "installer"]);
    assert_eq!(asked.status, 2, "{asked:?}");
    assert!(asked.stderr.contains("chmod 600"), "{asked:?}");
}

#[test]
fn two_formats_at_once_are_refused_unless_they_are_one() {
    let (shell, _) = wiki();
    for format in ["text", "jsonl", "sarif", "github"] {
        let ended = shell.run(["--json", "lint", "--format", format]);
        assert_eq!(ended.status, 2, "{format}");
        assert_eq!(ended.error_code(), "INVALID_ARGUMENT", "{format}");
    }
    let both = shell.run(["--json", "lint", "--format", "json"]);
    assert!(both.json()["diagnostics"].is_array());
    let none = shell.run(["lint", "--format", "json", "--limit", "0"]);
    assert!(none.stderr.contains("LIMIT_EXCEEDED"), "{none:?}");
    assert_ne!(shell.run(["lint", "--limit", "101"]).status, 2);
}

#[test]
fn a_status_has_all_its_keys() {
    let shell = Shell::new();
    let none = shell.run(["--json", "status"]).done().json();
    let (shell, _) = wiki();
    let some = shell.run(["--json", "status"]).done().json();
    for key in ["schemaText", "store", "code"] {
        assert!(
            none.get(key).is_some_and(serde_json::Value::is_null),
            "{key}"
        );
        assert!(some.get(key).is_some(), "{key}");
    }
    assert!(some["store"].is_object() && some["schemaText"].is_string());
}

#[test]
fn a_root_that_is_not_there_is_an_error_but_not_for_status_and_lint() {
    let shell = Shell::new();
    for line in [
        &["search", "x"][..],
        &["list-pages"],
        &["list-sources"],
        &["history"],
        &["reindex"],
        &["verify"],
        &["export", "index-v1"],
        &["restore", "--missing"],
    ] {
        let ended = shell.run([&["--json"], line].concat());
        assert_eq!(ended.error_code(), "NOT_INITIALIZED", "{line:?}");
        assert!(ended.text().contains("llmwiki init"), "{line:?}");
        assert_eq!(ended.status, 3, "{line:?}");
    }
    assert_eq!(shell.run(["--json"]).done().json()["initialized"], false);
    let lint = shell.run(["--json", "lint"]);
    assert_eq!(lint.status, 1);
    assert_eq!(lint.json()["diagnostics"][0]["code"], "ROOT_MISSING");
    assert!(
        !shell.path().join(".llmwiki").exists(),
        "reading makes nothing"
    );
}

#[test]
fn lint_speaks_to_other_programs_from_where_they_stand() {
    let (shell, id) = wiki();
    shell.write("body.md", "See [gone](gone.md).\n");
    upsert(&shell, "a", &id, &[]).done();
    let text = shell.run(["lint", "--only", "BROKEN_PAGE_LINK"]);
    assert_eq!(text.status, 1);
    assert!(
        text.text().starts_with("error[BROKEN_PAGE_LINK]: ")
            && text.text().contains("--> pages/a.md:8:5"),
        "{}",
        text.text()
    );
    assert!(
        text.text().ends_with("1 error, 0 warnings in 5 files\n"),
        "{}",
        text.text()
    );
    let run = |format: &str| {
        let ended = shell.run(["lint", "--only", "BROKEN_PAGE_LINK", "--format", format]);
        assert_eq!(ended.status, 1, "{format}");
        ended
    };
    assert_eq!(run("jsonl").json_lines()[0]["code"], "BROKEN_PAGE_LINK");
    assert!(run("github").text().contains("file=.llmwiki/pages/a.md"));
    let sarif: serde_json::Value = serde_json::from_slice(&run("sarif").stdout).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert_eq!(shell.run(["lint", "--skip", "BROKEN_PAGE_LINK"]).status, 0);
    assert_eq!(shell.run(["lint", "--only", "NO_SUCH"]).status, 2);
    // Where nobody links to a page there is a warning.
    assert_eq!(
        shell
            .run(["lint", "--skip", "BROKEN_PAGE_LINK", "--deny", "warnings"])
            .status,
        1
    );
}

#[test]
fn the_root_is_found_from_below_and_named_by_flag_and_variable() {
    let (shell, _) = wiki();
    let below = shell.path().join("src/deep");
    fs::create_dir_all(&below).unwrap();
    let status = |command: &mut std::process::Command| {
        let output = command.arg("--json").output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    assert_eq!(status(shell.command().current_dir(&below))["pageCount"], 1);
    let other = status(shell.command().args(["--root", "other"]));
    assert_eq!(other["initialized"], false);
    let other = status(shell.command().env("LLMWIKI_ROOT", "other"));
    assert_eq!(other["initialized"], false);
}

#[test]
fn restore_writes_only_what_was_agreed_to() {
    let (shell, _) = wiki();
    let page = shell.path().join(".llmwiki/pages/guides/install.md");
    let text = fs::read(&page).unwrap();
    shell.run(["delete-page", "guides/install"]).done();
    let plan = shell
        .run(["--json", "restore", "guides/install"])
        .done()
        .json();
    assert_eq!(plan["applied"], false);
    assert_eq!(plan["items"][0]["path"], "pages/guides/install.md");
    assert!(!page.exists());
    let dry = shell
        .run(["--json", "restore", "guides/install", "--dry-run"])
        .done()
        .json();
    assert_eq!(dry, plan);
    let since = "2026-02-03T04:05:06Z";
    let done = shell
        .run(["--json", "restore", "--deleted-since", since, "--yes"])
        .done()
        .json();
    assert_eq!(done["applied"], true);
    assert_eq!(fs::read(&page).unwrap(), text);
}

#[test]
fn an_import_counts_what_it_left_out_and_strict_stops_there() {
    let (shell, id) = wiki();
    let lines = format!(
        "{{\"op\":\"upsert_page\",\"id\":\"b\",\"title\":\"B\",\"summary\":\"B\",\"sources\":[\"{id}\"],\"body\":\"b\"}}\n\
         nonsense\n\
         {{\"op\":\"upsert_page\",\"id\":\"c\",\"title\":\"C\",\"summary\":\"C\",\"sources\":[\"{id}\"],\"body\":\"c\"}}\n"
    );
    let ended = shell.pipe(["--json", "import", "--jsonl", "-"], lines.as_bytes());
    assert_eq!(ended.status, 1);
    let report = ended.json();
    assert_eq!(report["pagesCreated"], 2);
    assert_eq!(report["failures"][0]["line"], 2);

    let (shell, _) = wiki();
    let ended = shell.pipe(
        ["--json", "import", "--jsonl", "-", "--strict"],
        lines.as_bytes(),
    );
    assert_eq!(ended.status, 1);
    let report = ended.json();
    assert_eq!(report["stopped"]["line"], 2);
    assert_eq!(
        (&report["pagesCreated"], &report["lines"]),
        (&1.into(), &2.into())
    );
    let pages = shell.run(["list-pages"]).done();
    assert_eq!(
        pages.text().lines().count(),
        2,
        "what came before stays: {}",
        pages.text()
    );
}

/// All files below a directory but the store's own, with their bytes.
fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with(".store") {
                    folders.push(path);
                }
            } else {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn one_script_with_a_fixed_clock_gives_the_same_bytes_twice() {
    let script = || {
        let (shell, id) = wiki();
        let mut said = Vec::new();
        let mut note = |ended: Ended| {
            // Folders differ between the runs and are no part of the promise.
            let here = shell.path().to_string_lossy().into_owned();
            said.push(ended.done().text().replace(&here, "HERE"));
        };
        note(upsert(&shell, "b", &id, &["--json"]));
        shell.write("body.md", "# B\n\nSee [install](guides/install.md).\n");
        note(upsert(&shell, "b", &id, &["--json", "-m", "linked"]));
        note(shell.run(["--json", "search", "installer"]));
        note(shell.run(["--json", "read-page", "guides/install"]));
        note(shell.run(["--json", "list-sources"]));
        note(shell.run(["--json", "delete-page", "b"]));
        note(shell.run(["--json", "export", "index-v1"]));
        note(shell.run(["--json", "reindex"]));
        note(shell.run(["--json", "verify"]));
        note(shell.run(["--json", "status", "-q"]));
        (said, tree(&shell.path().join(".llmwiki")))
    };
    let (first_said, first_tree) = script();
    let (second_said, second_tree) = script();
    assert_eq!(first_said, second_said);
    assert_eq!(first_tree, second_tree);
    assert!(
        first_tree
            .iter()
            .any(|(name, _)| name == ".index/search.json")
    );
}

#[test]
fn an_interrupted_import_ends_with_130_and_leaves_a_sound_wiki() {
    use std::io::Write as _;
    use std::process::Stdio;
    let (shell, id) = wiki();
    let mut child = shell
        .command()
        .args(["--json", "import", "--jsonl", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds and more than one batch; then the stream stays open and the import
    // waits for the rest. It listens for signals before it reads.
    let body = "word ".repeat(40);
    for number in 0..320 {
        writeln!(
            stdin,
            "{{\"op\":\"upsert_page\",\"id\":\"p{number}\",\"title\":\"P\",\"summary\":\"P\",\
             \"sources\":[\"{id}\"],\"body\":\"{body}\"}}"
        )
        .unwrap();
    }
    let last = shell.path().join(".llmwiki/pages/p255.md");
    while !last.exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["stopped"]["code"], "ABORTED");
    assert_eq!(document["pagesCreated"], 256);
    assert_eq!(shell.run(["--json", "verify"]).done().json()["sound"], true);
    let listed = shell.run(["--json", "list-pages"]).done().json();
    let files = fs::read_dir(shell.path().join(".llmwiki/pages"))
        .unwrap()
        .count();
    // The pages p0, p1 .. and the folder guides, against the same pages and guides/install.
    assert_eq!(listed["pages"].as_array().unwrap().len(), files);
}
