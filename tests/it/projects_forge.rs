//! Other projects on a forge: found by a sync, asked and read over HTTP, whatever the server does.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli_support::{Ended, Shell};
use crate::fake_forge::{Forge, Mood, TOKEN, has_git};

const INDEX: &[u8] =
    b"# Wiki\n\n## Concepts\n\n- [Retry policy](concepts/retry.md) - how often\n- [[ledger]]\n";
const PAGE: &[u8] = b"# Retry policy\n\nA charge is tried three times.\n";

const FILES: &[(&str, &[u8])] = &[
    (".wiki/index.md", INDEX),
    (".wiki/concepts/retry.md", PAGE),
    (".wiki/ledger.md", b"# Ledger\n"),
    (".tasks/STATUS.md", b"# Green\n"),
];

/// A wiki whose user has configured the forge, with the token in a variable.
fn shell(forge: &Forge, more: &str) -> Shell {
    let shell = Shell::new().with("FORGE_TOKEN", TOKEN);
    shell.write(
        ".config/llmwiki/config.toml",
        format!(
            "[forges.work]\nurl = \"{}\"\ntoken_env = \"FORGE_TOKEN\"\n{more}\n",
            forge.url()
        ),
    );
    shell.run(["init"]).done();
    shell
}

fn sync(shell: &Shell) -> Ended {
    shell.run(["projects", "sync", "--json"])
}

fn ask(shell: &Shell, query: &str, names: &[&str]) -> Value {
    let mut all = vec!["ask-projects", "--json", query];
    all.extend(names.iter().flat_map(|name| ["--project", name]));
    shell.run(all).done().json()
}

fn names(report: &Value) -> Vec<&str> {
    let projects = report["projects"].as_array().unwrap();
    projects
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_sync_finds_every_repository_with_a_wiki_over_all_pages_of_the_list() {
    if !has_git() {
        return;
    }
    let forge = Forge::start();
    forge.page_size(3);
    for number in 0..10 {
        forge.repository(&format!("p{number}"), FILES);
    }
    forge.repository("plain", &[("README.md", b"nothing\n")]);
    forge.repository("tasks", &[(".tasks/STATUS.md", b"busy\n")]);
    let shell = shell(&forge, "connections = 2");
    let report = sync(&shell).done().json();
    assert_eq!(names(&report).len(), 11, "{report}");
    assert!(!names(&report).contains(&"plain"));
    assert_eq!(
        report["sync"],
        json!({"synced": 11, "skipped": 1, "failed": 0, "faults": []})
    );
    let p0 = &report["projects"][0];
    assert_eq!(
        (&p0["branch"], &p0["pageCount"], &p0["status"]),
        (&json!("trunk"), &json!(2), &json!("Green"))
    );
    assert!(forge.most_connections() <= 2);
    // What did not change is not sent again.
    forge.seen();
    sync(&shell).done();
    let seen = forge.seen();
    assert!(
        seen.iter()
            .filter(|it| it.path.contains("index.md"))
            .all(|it| it.status == 304
                || it.path.contains("/plain/")
                || it.path.contains("/tasks/")),
        "{seen:?}"
    );
    // A repository that is gone is gone here, too.
    forge.delete("p3");
    let report = sync(&shell).done().json();
    assert_eq!(report["removed"], json!(["p3"]));
    let asked = ask(&shell, "retry", &["tasks", "p0"]);
    assert_eq!(
        asked["results"][0]["error"],
        "no wiki \u{2014} repo has no .wiki/index.md"
    );
    assert_eq!(asked["results"][1]["matches"][0]["slug"], "concepts/retry");
    assert_eq!(asked["results"][1]["index_age_seconds"], 0);
}

#[test]
fn a_page_is_asked_for_once_and_read_as_it_is_now() {
    if !has_git() {
        return;
    }
    let forge = Forge::start();
    forge.repository("billing", FILES);
    let shell = shell(&forge, "");
    sync(&shell).done();
    forge.seen();
    let first = ask(&shell, "RETRY", &["billing"]);
    let page = &first["results"][0]["matches"][0];
    assert_eq!(
        page["snippet"],
        "# Retry policy A charge is tried three times."
    );
    assert_eq!(ask(&shell, "retry", &["billing"]), first);
    let statuses: Vec<u16> = forge.seen().iter().map(|it| it.status).collect();
    assert_eq!(statuses, [200, 304]);
    // A wikilink without a folder is found where it is.
    assert_eq!(
        ask(&shell, "ledger", &["billing"])["results"][0]["matches"][0]["snippet"],
        "# Ledger"
    );
    let commit = forge.commit(
        "billing",
        "trunk",
        &[
            (".wiki/index.md", INDEX),
            (
                ".wiki/concepts/retry.md",
                b"# Retry policy\n\nNow four times.\n",
            ),
        ],
    );
    let got = shell
        .run(["get-from", "billing", "concepts/retry", "--save", "--json"])
        .done()
        .json();
    assert_eq!(got["content"], "# Retry policy\n\nNow four times.\n");
    assert_eq!(got["commit"], commit.as_str());
    assert_eq!(
        got["origin"],
        format!("project:billing/.wiki/concepts/retry.md@{commit}")
    );
    let id = got["saved_source"].as_str().unwrap();
    let source = shell.run(["read-source", id, "--json"]).done().json();
    assert_eq!(source["metadata"]["origin"], got["origin"]);
    let missing = shell.run(["get-from", "billing", "concepts/none", "--json"]);
    assert_eq!(
        missing.json()["error"]["message"],
        "page not found: billing/.wiki/concepts/none.md"
    );
}

#[test]
fn each_failure_says_what_and_why_and_the_others_answer_in_time() {
    if !has_git() {
        return;
    }
    let forge = Forge::start();
    let long = Duration::from_mins(1);
    let moods = [
        ("down", Mood::Down, "answered 500"),
        ("slow", Mood::Slow(long), "in time"),
        ("slow-body", Mood::SlowBody(long), "in time"),
        ("cut", Mood::Cut, "broke off"),
        (
            "who",
            Mood::Status(401),
            "answered 401 (the token is missing or not accepted)",
        ),
        ("never", Mood::Status(403), "answered 403"),
        ("html", Mood::Html, "an HTML page"),
        ("circle", Mood::Circle, "redirects in a circle"),
        ("echo", Mood::Echo, "holds the token"),
    ];
    for (name, ..) in &moods {
        forge.repository(name, FILES);
    }
    forge.repository("old-name", FILES);
    let mut large = INDEX.to_vec();
    while large.len() < 1_000_000 {
        let number = large.len();
        large.extend(format!("- [Page {number}](concepts/page-{number}.md) - words\n").bytes());
    }
    forge.repository(
        "large",
        &[
            (".wiki/index.md", &large),
            (".wiki/concepts/retry.md", PAGE),
        ],
    );
    forge.repository("well", FILES);
    let shell = shell(&forge, "timeout_seconds = 3");
    sync(&shell).done();
    for (name, mood, _) in &moods {
        // Something to be sent, which is where some of them fail.
        let changed = [INDEX, b"- [New](concepts/new.md)\n"].concat();
        forge.commit(
            name,
            "trunk",
            &[
                (".wiki/index.md", &changed),
                (".wiki/concepts/retry.md", PAGE),
            ],
        );
        forge.mood(name, mood.clone());
    }
    forge.rename("old-name", "new-name");
    // A failed sync keeps what was known.
    let start = Instant::now();
    let synced = sync(&shell);
    assert_eq!(synced.status, 1, "{}", synced.text());
    let report = synced.json();
    assert_eq!(report["sync"]["failed"], 9, "{report}");
    for (name, _, said) in &moods {
        let projects = report["projects"].as_array().unwrap();
        let project = projects.iter().find(|it| it["name"] == *name).unwrap();
        assert!(
            project["error"].as_str().unwrap().contains(said),
            "{project}"
        );
        assert_eq!(project["pageCount"], 2, "{project}");
    }
    let mut asked: Vec<&str> = moods.iter().map(|(name, ..)| *name).collect();
    asked.extend(["old-name", "new-name", "large", "well", "nobody"]);
    let answers = ask(&shell, "retry", &asked);
    assert!(
        start.elapsed() < Duration::from_secs(25),
        "{:?}",
        start.elapsed()
    );
    for (at, (name, _, said)) in moods.iter().enumerate() {
        let page = &answers["results"][at]["matches"][0];
        assert_eq!(page["slug"], "concepts/retry", "{name}");
        assert_eq!(page["snippet"], "(fetch failed)", "{name}");
        assert!(
            page["fetch_error"].as_str().unwrap().contains(said),
            "{page}"
        );
    }
    for at in 9..13 {
        let page = &answers["results"][at]["matches"][0];
        assert!(
            page["snippet"].as_str().unwrap().contains("three times"),
            "{answers}"
        );
    }
    assert_eq!(
        answers["results"][13]["error"],
        "unknown project \u{2014} run sync first"
    );
    for shown in [
        answers.to_string(),
        report.to_string(),
        synced.stderr.clone(),
    ] {
        assert!(!shown.contains(TOKEN));
    }
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    if !has_git() {
        return;
    }
    let forge = Forge::start();
    forge.repository("busy", FILES);
    let shell = shell(&forge, "");
    sync(&shell).done();
    forge.mood("busy", Mood::Busy(2, 429, 1));
    forge.seen();
    let start = Instant::now();
    let answers = ask(&shell, "retry", &["busy"]);
    assert!(
        answers["results"][0]["matches"][0]["snippet"]
            .as_str()
            .unwrap()
            .contains("three times")
    );
    assert!(start.elapsed() >= Duration::from_secs(2));
    let statuses: Vec<u16> = forge.seen().iter().map(|it| it.status).collect();
    assert_eq!(statuses, [429, 429, 200]);
    // One that asks for more time than there is is not waited for.
    forge.mood("busy", Mood::Busy(9, 503, 3600));
    let start = Instant::now();
    let answers = ask(&shell, "ledger", &["busy"]);
    let error = answers["results"][0]["matches"][0]["fetch_error"]
        .as_str()
        .unwrap();
    assert!(error.contains("answered 503: slow down"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Everything below a folder, as one text.
fn all_bytes(folder: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.extend(all_bytes(&path));
        } else {
            bytes.extend(std::fs::read(&path).unwrap());
        }
    }
    bytes
}

#[test]
fn the_token_goes_to_its_forge_and_nowhere_else() {
    if !has_git() {
        return;
    }
    let (forge, other) = (Forge::start(), Forge::start());
    forge.repository("billing", FILES);
    forge.repository("moved", FILES);
    other.repository("moved", FILES);
    // The token stands in a file of the user's own.
    let shell = Shell::new().with("LLMWIKI_LOG", "trace");
    shell.write(
        ".config/llmwiki/config.toml",
        format!("[forges.work]\nurl = \"{}\"\n", forge.url()),
    );
    let auth = shell.write(
        ".config/llmwiki/auth.toml",
        format!("[forges]\nwork = \"{TOKEN}\"\n"),
    );
    let permit = |mode| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&auth, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    permit(0o644);
    shell.run(["init"]).done();
    // One that others can read is not used.
    let open = shell.run(["projects", "sync", "--json"]);
    assert_eq!(open.status, 2, "{}", open.text());
    permit(0o600);
    let mut said = String::new();
    let synced = sync(&shell).done();
    said += synced.text();
    said += &synced.stderr;
    assert!(
        forge
            .seen()
            .iter()
            .all(|it| it.authorization.as_deref() == Some(&format!("token {TOKEN}")))
    );
    forge.mood(
        "moved",
        Mood::Elsewhere(format!("http://{}", other.address)),
    );
    for arguments in [
        vec![
            "ask-projects",
            "retry",
            "--project",
            "moved",
            "--project",
            "billing",
            "--json",
        ],
        vec!["get-from", "moved", "concepts/retry"],
        vec!["projects", "list", "--json"],
        vec!["projects", "sync"],
    ] {
        let ended = shell.run(&arguments);
        said += ended.text();
        said += &ended.stderr;
    }
    let seen = other.seen();
    assert!(seen.len() >= 2, "{seen:?}");
    assert!(seen.iter().all(|it| it.authorization.is_none()), "{seen:?}");
    // A wrong token is not told either.
    shell.write(
        ".config/llmwiki/auth.toml",
        "[forges]\nwork = \"wr0ng-t0k3n\"\n",
    );
    permit(0o600);
    let refused = sync(&shell);
    assert_eq!(refused.status, 1);
    said += refused.text();
    said += &refused.stderr;
    assert!(
        refused.text().contains("answered 401"),
        "{}",
        refused.text()
    );
    for token in [TOKEN, "wr0ng-t0k3n"] {
        assert!(!said.contains(token));
        let kept = all_bytes(&shell.path().join(".llmwiki"));
        assert!(
            !kept
                .windows(token.len())
                .any(|part| part == token.as_bytes())
        );
    }
    assert!(
        said.contains("ureq") || said.contains("root"),
        "the log was read"
    );
}

#[test]
fn a_repository_is_added_by_name_and_branch() {
    if !has_git() {
        return;
    }
    let forge = Forge::start();
    forge.repository("billing", FILES);
    forge.repository("bare", &[("README.md", b"nothing\n")]);
    forge.commit(
        "billing",
        "next/one",
        &[
            (".wiki/index.md", b"- [Next](concepts/next.md)\n"),
            (".wiki/concepts/next.md", b"next\n"),
        ],
    );
    let shell = shell(&forge, "");
    let url = forge.url();
    let add = |name: &str, more: &[&str]| {
        let mut all = vec![
            "projects", "add", "--json", name, "--gitea", &url, "--owner", "ann",
        ];
        all.extend(more);
        shell.run(all)
    };
    add("next", &["--repo", "billing", "--branch", "next/one"]).done();
    assert_eq!(
        ask(&shell, "next", &["next"])["results"][0]["matches"][0]["snippet"],
        "next"
    );
    let got = shell.run(["get-from", "next", "concepts/next"]).done();
    assert_eq!(got.text(), "next\n");
    add("bare", &[]).done();
    // It keeps its row, and says what it lacks.
    sync(&shell).done();
    assert_eq!(
        ask(&shell, "x", &["bare"])["results"][0]["error"],
        "no wiki \u{2014} repo has no .wiki/index.md"
    );
    // One that is not there is added all the same, and says so.
    let none = add("none", &[]);
    assert_eq!(none.status, 1);
    assert!(
        none.json()["projects"][0]["error"]
            .as_str()
            .unwrap()
            .contains("404")
    );
    for owner in ["../x", "a/b", "a%2fb", ""] {
        let refused = shell.run([
            "projects", "add", "--json", "x", "--gitea", &url, "--owner", owner,
        ]);
        assert_eq!(refused.error_code(), "INVALID_ARGUMENT", "{owner}");
    }
    // The default branch of tomorrow is followed.
    add("billing", &[]).done();
    forge.commit(
        "billing",
        "main",
        &[(".wiki/index.md", b"- [Moved](concepts/moved.md)\n")],
    );
    forge.default_branch("billing", "main");
    assert_eq!(sync(&shell).json()["sync"]["failed"], 1);
    assert_eq!(
        ask(&shell, "moved", &["billing"])["results"][0]["matches"][0]["slug"],
        "concepts/moved"
    );
}

#[test]
fn files_stand_in_for_an_index_that_lists_nothing() {
    if !has_git() {
        return;
    }
    let forge = Forge::start();
    let pages: Vec<String> = (0..9)
        .map(|number| format!(".wiki/concepts/page-{number}.md"))
        .collect();
    let mut files: Vec<(&str, &[u8])> = vec![
        (".wiki/index.md", b"# Wiki\n\nNothing yet.\n"),
        ("src/a.md", b"no\n"),
    ];
    files.extend(
        pages
            .iter()
            .map(|path| (path.as_str(), b"# Page\n".as_slice())),
    );
    forge.repository("words", &files);
    let shell = shell(&forge, "");
    let report = sync(&shell).done().json();
    assert_eq!(report["projects"][0]["pageCount"], 9);
    let answers = ask(&shell, "page", &["words"]);
    assert_eq!(answers["results"][0]["more"], 4);
    assert!(
        answers["results"][0]["notes"][0]
            .as_str()
            .unwrap()
            .contains("lists no page")
    );
}

#[test]
fn a_forge_that_is_needed_and_not_configured_fails_the_call() {
    if !has_git() {
        return;
    }
    let forge = Forge::start();
    forge.repository("billing", FILES);
    let shell = shell(&forge, "");
    sync(&shell).done();
    shell.write(".config/llmwiki/config.toml", "");
    let refused = shell.run(["ask-projects", "--json", "retry", "--project", "billing"]);
    assert_eq!(refused.error_code(), "INVALID_CONFIG");
    assert!(
        refused
            .text()
            .contains("forge work, which is not configured"),
        "{}",
        refused.text()
    );
    // In the configuration a project can be named, too.
    shell.write(
        ".config/llmwiki/config.toml",
        format!("[forges.home]\nurl = \"{}\"\ntoken_env = \"FORGE_TOKEN\"\n[projects.bill]\nforge = \"home\"\nowner = \"ann\"\nrepo = \"billing\"\n", forge.url()),
    );
    assert!(
        ask(&shell, "retry", &["bill"])["results"][0]["error"]
            .as_str()
            .unwrap()
            .contains("run sync first")
    );
    sync(&shell).done();
    assert_eq!(
        ask(&shell, "retry", &["bill"])["results"][0]["matches"][0]["slug"],
        "concepts/retry"
    );
    // Certificates that cannot be used are said before anything is sent.
    forge.seen();
    shell.write(
        ".config/llmwiki/config.toml",
        format!(
            "[forges.home]\nurl = \"{}\"\nca_file = \"/nowhere/ca.pem\"\n",
            forge.url()
        ),
    );
    let refused = sync(&shell);
    assert!(
        refused.text().contains("/nowhere/ca.pem"),
        "{}",
        refused.text()
    );
    assert!(forge.seen().is_empty());
}

/// Answers every request over TLS with an empty list, and gives the requests.
fn tls_server() -> (String, std::sync::mpsc::Receiver<String>) {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let data = |name: &str| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/federation/tls");
        std::fs::read(format!("{folder}/{name}")).unwrap()
    };
    let certificate = CertificateDer::from_pem_slice(&data("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(&data("server.key")).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = std::sync::Arc::new(config);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let session = rustls::ServerConnection::new(std::sync::Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(session, stream.unwrap());
            let mut begin = [0; 2048];
            // Who does not trust the certificate says no word.
            let Ok(read) = std::io::Read::read(&mut stream, &mut begin) else {
                continue;
            };
            let _ = sender.send(String::from_utf8_lossy(&begin[..read]).into_owned());
            let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                           content-length: 2\r\nconnection: close\r\n\r\n[]";
            std::io::Write::write_all(&mut stream, answer).unwrap();
            stream.conn.send_close_notify();
            let _ = std::io::Write::flush(&mut stream);
        }
    });
    (url, requests)
}

#[test]
fn a_forge_with_its_own_authority_is_trusted_where_the_user_says_so_and_only_then() {
    let (url, requests) = tls_server();
    let shell = Shell::new().with("FORGE_TOKEN", TOKEN);
    let configure = |more: &str| {
        let text = format!("[forges.work]\nurl = \"{url}\"\ntoken_env = \"FORGE_TOKEN\"\n{more}\n");
        shell.write(".config/llmwiki/config.toml", text);
    };
    shell.run(["init"]).done();
    configure("timeout_seconds = 5");
    let refused = sync(&shell);
    assert_eq!(refused.status, 1);
    let faults = refused.json()["sync"]["faults"][0].to_string();
    assert!(faults.contains("certificate"), "{faults}");
    assert!(requests.try_recv().is_err(), "nothing was sent");
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/federation/tls/ca.pem"
    );
    configure(&format!("ca_file = \"{file}\""));
    let report = sync(&shell).done().json();
    assert_eq!(report["sync"]["faults"], json!([]));
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(request.contains(TOKEN), "{request}");
    // A file without a certificate is no authority.
    let empty = shell.write("empty.pem", "nothing\n");
    configure(&format!("ca_file = \"{}\"", empty.display()));
    let refused = sync(&shell);
    assert!(
        refused.text().contains("it holds no certificate"),
        "{}",
        refused.text()
    );
}
