//! The command line where no wiki is needed: usage errors, exit statuses, JSON, configuration.

use super::cli_support::Shell;

#[test]
fn a_usage_error_is_status_2_on_standard_error_and_json_on_request() {
    let shell = Shell::new();
    for line in [
        &["serch", "x"][..],
        &["search"],
        &["upsert-page", "a"],
        &["read-source", "--offset", "minus"],
        &["status", "--no-such-flag"],
        &["restore", "a", "--missing"],
        &["restore"],
        &["export", "pdf"],
        &["completions", "tcl"],
        &["man", "nothing"],
        &["schema", "nothing"],
        &["explain", "NO_SUCH_CODE"],
        &["search", "--limit", "0x", "a"],
        &["--set", "nonsense", "status"],
    ] {
        let plain = shell.run(line);
        assert_eq!(plain.status, 2, "{line:?}");
        assert_eq!(plain.text(), "", "{line:?}");
        assert!(
            plain.stderr.starts_with("error: "),
            "{line:?} {}",
            plain.stderr
        );

        let json = shell.run([&["--json"], line].concat());
        assert_eq!(json.status, 2, "{line:?}");
        assert_eq!(json.error_code(), "INVALID_ARGUMENT", "{line:?}");
        let error = &json.json()["error"];
        assert!(!error["message"].as_str().unwrap().is_empty(), "{line:?}");
        assert!(error.get("hint").is_some(), "{line:?}");
    }
}

#[test]
fn a_word_after_two_dashes_is_no_flag() {
    let shell = Shell::new();
    let ended = shell.run(["explain", "--", "--json"]);
    assert_eq!(ended.status, 2);
    assert_eq!(ended.text(), "");
    assert!(
        ended.stderr.contains("there is no code"),
        "{}",
        ended.stderr
    );
}

#[test]
fn help_and_version_are_data() {
    let shell = Shell::new();
    let help = shell.run(["--help"]).done();
    for word in ["Exit status:", "add-source", "LLMWIKI_ROOT"] {
        assert!(help.text().contains(word), "{word}");
    }
    assert_eq!(help.stderr, "");
    let version = shell.run(["--version"]).done();
    assert_eq!(
        version.text(),
        concat!("llmwiki ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let version = shell.run(["--version", "--json"]).done();
    assert_eq!(version.json()["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn help_is_a_command_too() {
    let shell = Shell::new();
    let whole = shell.run(["help"]).done();
    assert_eq!(whole.text(), shell.run(["--help"]).done().text());
    let one = shell.run(["help", "search"]).done();
    assert_eq!(one.text(), shell.run(["search", "--help"]).done().text());
    assert_eq!(shell.run(["help", "nothing"]).status, 2);
}

#[test]
fn every_report_has_a_schema_that_is_an_object() {
    let shell = Shell::new();
    let names = shell.run(["schema"]).done();
    assert!(names.text().lines().count() > 15);
    for name in names.text().lines() {
        for flag in [&[][..], &["--request"]] {
            let schema = shell
                .run([&["--json", "schema", name], flag].concat())
                .done();
            assert_eq!(schema.json()["type"], "object", "{name} {flag:?}");
        }
    }
}

#[test]
fn completions_and_man_pages_are_printed_for_every_shell_and_command() {
    let shell = Shell::new();
    for name in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = shell.run(["completions", name]).done();
        assert!(script.text().contains("upsert-page"), "{name}");
    }
    for command in ["", "upsert-page", "search", "schema"] {
        let page = shell
            .run(["man", command].into_iter().filter(|word| !word.is_empty()))
            .done();
        assert!(page.text().contains(".SH NAME"), "{command}");
    }
}

#[test]
fn a_faulty_configuration_is_named_and_does_not_keep_the_help_away() {
    let shell = Shell::new();
    shell.write(".llmwiki/config.toml", "max_results = 5\nmax_reslts = 6\n");
    let ended = shell.run(["--json", "status"]);
    assert_eq!(ended.status, 2);
    assert_eq!(ended.error_code(), "INVALID_CONFIG");
    let message = ended.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        message.contains("config.toml:2: unknown key \"max_reslts\""),
        "{message}"
    );
    let hint = ended.json()["error"]["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("max_results"), "{hint}");
    shell.run(["explain", "INVALID_CONFIG"]).done();
    shell.run(["completions", "bash"]).done();
}

#[test]
fn a_variable_that_cannot_be_used_is_named() {
    for (name, value) in [
        ("LLMWIKI_MAX_RESULTS", "101"),
        ("LLMWIKI_MAX_SOURCE_BYTES", "0"),
        ("LLMWIKI_MAX_SNIPPET_BYTES", "many"),
        ("LLMWIKI_ANALYSIS", "fancy"),
        ("LLMWIKI_STORE_MODE", "both"),
        ("LLMWIKI_NOW", "yesterday"),
        ("LLMWIKI_LOG", "=["),
    ] {
        let ended = Shell::new().with(name, value).run(["--json", "status"]);
        assert_eq!(ended.status, 2, "{name}");
        assert_eq!(ended.error_code(), "INVALID_CONFIG", "{name}");
        assert!(ended.text().contains(name), "{}", ended.text());
    }
}

#[test]
fn colour_follows_the_flag_and_never_reaches_a_pipe() {
    let shell = Shell::new();
    assert!(
        !shell
            .run(["explain", "CONFLICT"])
            .done()
            .text()
            .contains('\u{1b}')
    );
    let painted = shell
        .run(["--color", "always", "explain", "CONFLICT"])
        .done();
    assert!(painted.text().contains('\u{1b}'));
    let forced = Shell::new().with("CLICOLOR_FORCE", "1");
    assert!(
        forced
            .run(["explain", "CONFLICT"])
            .done()
            .text()
            .contains('\u{1b}')
    );
    let refused = Shell::new()
        .with("CLICOLOR_FORCE", "1")
        .with("NO_COLOR", "1");
    assert!(
        !refused
            .run(["explain", "CONFLICT"])
            .done()
            .text()
            .contains('\u{1b}')
    );
    let json = shell
        .run(["--color", "always", "--json", "explain", "CONFLICT"])
        .done();
    assert!(!json.text().contains('\u{1b}'));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    use std::process::Stdio;
    let shell = Shell::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = shell
        .command()
        .arg("--help")
        .stdout(Stdio::from(writer))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_full_disk_under_standard_output_is_an_error() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        eprintln!("skipped: there is no /dev/full");
        return;
    };
    let shell = Shell::new();
    let output = shell
        .command()
        .args(["explain", "CONFLICT"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("standard output") && !said.contains("STORE_FULL"),
        "{said}"
    );
}

#[test]
fn a_signal_ends_a_command_that_waits_for_input_with_130() {
    use std::io::Read as _;
    use std::process::Stdio;
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let shell = Shell::new();
        let mut child = shell
            .command()
            .args(["-v", "add-source", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It says which root it uses once it listens for signals.
        let mut stderr = child.stderr.take().unwrap();
        let mut said = Vec::new();
        while !String::from_utf8_lossy(&said).contains("root") {
            let mut piece = [0; 256];
            let length = stderr.read(&mut piece).unwrap();
            assert_ne!(length, 0, "{}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&piece[..length]);
        }
        let id = rustix::process::Pid::from_child(&child);
        // The first may come before it waits; then it only asks, and the second ends it.
        while child.try_wait().unwrap().is_none() {
            let _ = rustix::process::kill_process(id, signal);
            std::thread::yield_now();
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal:?}");
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("(ABORTED)"), "{rest}");
    }
}
