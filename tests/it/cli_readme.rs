//! What the README shows, done as it stands there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cli_support::Shell;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The fenced blocks of the README in this language.
fn blocks(language: &str) -> Vec<String> {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let fence = format!("```{language}\n");
    readme
        .split(&fence)
        .skip(1)
        .map(|rest| rest.split("\n```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_minute_with_it_goes_as_shown() {
    let shell = Shell::new();
    let minute = blocks("sh")
        .into_iter()
        .find(|block| block.starts_with("$ "))
        .unwrap();
    // A command is a line after `$ ` and the lines it is continued on; all else is answer.
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in minute.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(command.to_owned());
        } else if goes_on {
            let last = commands.last_mut().unwrap();
            last.push('\n');
            last.push_str(line);
        }
        goes_on = line.ends_with('\\');
    }
    assert!(commands.len() > 5, "{commands:?}");
    let binary = Path::new(env!("CARGO_BIN_EXE_llmwiki"));
    let path = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
    let mut id = String::new();
    for command in commands {
        // The README shortens the id, and looks at JSON with a tool that need not be there.
        let command = command
            .replace("9223\u{2026}", &id)
            .replace("| jq '.hits[0].pageId'", "");
        let output = Command::new("sh")
            .args(["-ec", &command])
            .current_dir(shell.path())
            .env_clear()
            .env("HOME", shell.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{command}: {said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        if command.starts_with("llmwiki add-source") {
            said.trim().clone_into(&mut id);
            assert!(id.starts_with("9223"), "the README shows another id: {id}");
        }
        if command.starts_with("llmwiki search") {
            assert!(said.contains("pump/oil"), "{said}");
        }
    }
}

#[test]
fn the_example_wiki_lacks_its_index_alone_and_a_search_makes_it() {
    let shell = Shell::new();
    let root = shell.path().join("station-wiki");
    copy(&repository().join("examples/station-wiki"), &root);
    let run = |line: &[&str]| shell.run([&["--json", "--root", "station-wiki"], line].concat());
    let codes = |report: &serde_json::Value| {
        let found = report["diagnostics"].as_array().unwrap();
        found
            .iter()
            .map(|found| found["code"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&run(&["lint"]).done().json()), ["INDEX_MISSING"]);
    let found = run(&["search", "ferry office"]).done().json();
    assert!(!found["hits"].as_array().unwrap().is_empty());
    assert_eq!(codes(&run(&["lint"]).done().json()), [""; 0]);
    assert_eq!(run(&["verify"]).done().json()["sound"], true);
}

#[test]
fn the_configuration_that_is_shown_is_one() {
    let shell = Shell::new();
    let shown = blocks("toml");
    assert!(!shown.is_empty());
    for block in shown {
        shell.write(".llmwiki/config.toml", block);
        shell.run(["--json", "lint"]).json();
        assert_eq!(shell.run(["--json", "status"]).status, 0);
    }
}

/// Copies a folder but for a store that somebody's own search left there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == ".store" {
            continue;
        }
        let goal = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &goal);
        } else {
            fs::copy(entry.path(), goal).unwrap();
        }
    }
}
