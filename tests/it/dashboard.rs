//! The dashboard as a browser gets it: what is shown, what is not, and that looking changes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::cli_support::Shell;
use crate::serve::{Answer, Served};

const TEXT: &str = "one\ntwo <script>alert(1)</script>\nthree\nfour\n";

/// A wiki with two pages and a source; gives the id of the source.
fn wiki(shell: &Shell) -> String {
    let file = shell.write("notes.txt", TEXT);
    let added = shell
        .run(["--json".as_ref(), "add-source".as_ref(), file.as_os_str()])
        .done();
    let id = added.json()["id"].as_str().unwrap().to_owned();
    let body = format!(
        "# Start\n\nA [claim](llmwiki://source/{id}#L2-L3) and [more](guides/next.md).\n\n\
         ## Part\n\n<img src=x onerror=alert(1)> [x](javascript:alert(1))\n"
    );
    page(shell, "start", "Start", &id, &body);
    page(
        shell,
        "guides/next",
        "Next",
        &id,
        "The tide gauge. Back to [[start]].\n",
    );
    id
}

fn page(shell: &Shell, id: &str, title: &str, source: &str, body: &str) {
    let body = shell.write("body.md", body);
    let body = body.to_str().unwrap();
    let arguments = [
        "upsert-page",
        id,
        "--title",
        title,
        "--summary",
        "What it is about",
        "--source",
        source,
        "--body",
        body,
    ];
    shell.run(arguments).done();
}

#[track_caller]
fn get(served: &Served, path: &str) -> Answer {
    let answer = served.ask("GET", path, &[], "");
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer
}

#[test]
fn a_page_shows_its_text_its_sources_and_who_links_to_it() {
    let shell = Shell::new();
    let id = wiki(&shell);
    let served = Served::start(&shell, &[]);
    let start = get(&served, "/page/start").body;
    let cited = format!("href=\"/source/{id}?L=2-3#L2\"");
    for part in [
        &*cited,
        "href=\"/page/guides/next\"",
        "<h2 id=\"part\">",
        "notes.txt",
        "title=\"What it is about\">Next</a>",
        "&lt;img src=x onerror=alert(1)&gt;",
    ] {
        assert!(start.contains(part), "{part} is not in {start}");
    }
    assert_eq!(start.matches("<h1").count(), 1, "the title stands once");
    let text = get(&served, "/page/start?view=text&L=8").body;
    assert!(text.contains("class=\"line lit\" id=\"L8\""), "{text}");
    let home = get(&served, "/").body;
    for part in [
        "href=\"/page/start\"",
        "href=\"/pages?in=guides\"",
        "written",
    ] {
        assert!(home.contains(part), "{part} is not in {home}");
    }
    let history = get(&served, "/history/start").body;
    assert!(history.contains("class=\"plus\">+# Start"), "{history}");
}

#[test]
fn a_citation_opens_the_lines_of_its_source() {
    let shell = Shell::new();
    let id = wiki(&shell);
    let served = Served::start(&shell, &[]);
    let shown = get(&served, &format!("/source/{id}?L=2-3")).body;
    assert_eq!(shown.matches("class=\"line lit\"").count(), 2, "{shown}");
    for part in [
        "verified now",
        "&lt;script&gt;alert(1)",
        &id,
        "Cited by 2 pages",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let beyond = get(&served, &format!("/source/{id}?L=3-9")).body;
    assert!(beyond.contains("there are 4"), "{beyond}");
    let raw = get(&served, &format!("/source/{id}/raw"));
    assert_eq!(raw.body, TEXT);
    assert_eq!(raw.header("content-type"), Some("application/octet-stream"));
    assert_eq!(
        raw.header("content-disposition"),
        Some("attachment; filename*=UTF-8''notes.txt")
    );
    assert!(
        raw.header("content-security-policy")
            .unwrap()
            .contains("sandbox")
    );
}

#[test]
fn search_marks_words_and_leads_to_their_lines() {
    let shell = Shell::new();
    wiki(&shell);
    let served = Served::start(&shell, &[]);
    let found = get(&served, "/search?q=tide+%3Cb%3E").body;
    for part in [
        "<mark>tide</mark>",
        "/page/guides/next?L=",
        "#w-lit",
        "tide &lt;b&gt;",
    ] {
        assert!(found.contains(part), "{part} is not in {found}");
    }
    let nothing = get(&served, "/search?q=zzzz").body;
    assert!(nothing.contains("Nothing was found"), "{nothing}");
    assert_eq!(served.ask("GET", "/search?q=a&in=x", &[], "").status, 400);
}

#[test]
fn files_of_the_project_open_when_the_index_knows_them() {
    let shell = Shell::new();
    shell.write("src/lib.rs", "/// Adds.\npub fn add() {}\n");
    shell.write(".gitignore", "secret.txt\n");
    shell.write("secret.txt", "hunter2\n");
    wiki(&shell);
    shell.run(["index-code"]).done();
    let served = Served::start(&shell, &[]);
    let shown = get(&served, "/file/src/lib.rs?L=2").body;
    for part in [
        "class=\"line lit\" id=\"L2\"",
        "as indexed",
        "<span class=\"hl-keyword\">fn</span>",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let found = get(&served, "/search?q=add&in=code").body;
    assert!(found.contains("href=\"/file/src/lib.rs?L="), "{found}");
    for path in [
        "/file/secret.txt",
        "/file/.llmwiki/schema.md",
        "/file/..%2f..%2fetc/passwd",
        "/file/src/..%2f..%2fsecret.txt",
        "/file/%2fetc%2fpasswd",
    ] {
        let answer = served.ask("GET", path, &[], "");
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        assert!(
            !answer.body.contains("hunter2") && !answer.body.contains("root:"),
            "{path}"
        );
    }
}

#[test]
fn the_graph_draws_pages_links_and_sources_and_has_a_table() {
    let shell = Shell::new();
    let id = wiki(&shell);
    let served = Served::start(&shell, &[]);
    let drawn = get(&served, "/graph").body;
    assert_eq!(drawn.matches("class=\"node page\"").count(), 2, "{drawn}");
    assert_eq!(drawn.matches("<line ").count(), 2, "a link each way");
    assert!(
        drawn.contains("<td><a href=\"/page/start\">Start</a></td>"),
        "{drawn}"
    );
    let with = get(&served, "/graph?sources=1").body;
    assert!(
        with.contains(&format!("class=\"node source\" href=\"/source/{id}\"")),
        "{with}"
    );
    let folder = get(&served, "/graph?in=guides").body;
    assert_eq!(folder.matches("class=\"node page\"").count(), 1, "{folder}");
}

#[test]
fn other_projects_are_asked_by_name_and_their_pages_are_read() {
    let shell = Shell::new();
    wiki(&shell);
    let served = Served::start(&shell, &[]);
    assert!(
        get(&served, "/projects")
            .body
            .contains("No project is known yet")
    );
    let body = "Tides repeat. <script>alert(1)</script>\n";
    shell.write(
        "other/.wiki/index.md",
        "# Index\n\n- [Tides](concepts/tides.md) - about tides\n",
    );
    shell.write(
        "other/.wiki/concepts/tides.md",
        format!("# Tides\n\n{body}"),
    );
    let other = shell.path().join("other");
    shell
        .run(["projects", "add", "sea", "--path", other.to_str().unwrap()])
        .done();
    let listed = get(&served, "/projects").body;
    assert!(listed.contains("<strong>sea</strong>"), "{listed}");
    let asked = served.ask(
        "POST",
        "/projects",
        &[],
        "query=tides&project=sea&project=nobody",
    );
    assert_eq!(asked.status, 200, "{asked:?}");
    let link = "href=\"/projects/sea/concepts/tides\"";
    assert!(
        asked.body.contains(link) && asked.body.contains("nobody"),
        "{asked:?}"
    );
    let page = get(&served, "/projects/sea/concepts/tides").body;
    assert!(
        page.contains("Tides repeat.") && !page.contains("<script>alert"),
        "{page}"
    );
    assert_eq!(served.ask("GET", "/projects/gone/x", &[], "").status, 404);
    let out = served.ask("GET", "/projects/sea/..%2f..%2f..%2fetc%2fpasswd", &[], "");
    assert!(
        (400..500).contains(&out.status) && !out.body.contains("root:"),
        "{out:?}"
    );
}

/// Every file below a folder with its bytes.
fn files(dir: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else {
            out.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
}

#[test]
fn every_link_leads_somewhere_and_following_all_of_them_changes_nothing() {
    let shell = Shell::new();
    shell.write("src/lib.rs", "/// Adds.\npub fn add() {}\n");
    wiki(&shell);
    shell.run(["generate", "--no-model"]).done();
    let served = Served::start(&shell, &[]);
    get(&served, "/");
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    files(shell.path(), &mut before);
    let mut seen = BTreeSet::new();
    let mut open = vec!["/".to_owned(), "/search?q=add+tide".to_owned()];
    while let Some(path) = open.pop() {
        let answer = get(&served, &path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        if !answer
            .header("content-type")
            .unwrap()
            .starts_with("text/html")
        {
            continue;
        }
        for part in ["onerror=alert", "<script>", " style=", "javascript:"] {
            let escaped = answer.body.replace("&lt;img src=x onerror=alert", "");
            let escaped = escaped.replace("[x](javascript:", "");
            assert!(
                !escaped.contains(part),
                "{path} holds {part}: {}",
                answer.body
            );
        }
        for part in answer
            .body
            .split("href=\"")
            .chain(answer.body.split("src=\""))
            .skip(1)
        {
            let url = part.split('"').next().unwrap().replace("&amp;", "&");
            let url = url.split('#').next().unwrap().to_owned();
            if url.starts_with('/') && seen.insert(url.clone()) {
                open.push(url);
            }
        }
    }
    assert!(seen.len() > 30, "{seen:?}");
    files(shell.path(), &mut after);
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    for (path, bytes) in &before {
        assert!(after[path] == *bytes, "{path} was changed");
    }
}

#[test]
fn names_that_lead_out_are_refused_in_every_place_that_takes_one() {
    let shell = Shell::new();
    let id = wiki(&shell);
    let served = Served::start(&shell, &[]);
    let names = [
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%252f..%252fetc%252fpasswd",
        "..%c0%af..%c0%afetc%c0%afpasswd",
        "..%ef%bc%8f..%ef%bc%8fetc",
        "%2fetc%2fpasswd",
        "a%00b",
        "a%0d%0aSet-Cookie:x=y",
        "%e2%80%ae",
        "pages%5c..%5c..",
    ];
    for name in names {
        for path in [
            format!("/page/{name}"),
            format!("/page/start?at={name}"),
            format!("/page/start?L={name}"),
            format!("/history/{name}"),
            format!("/history/start?before={name}"),
            format!("/source/{name}"),
            format!("/source/{id}?L={name}"),
            format!("/source/{name}/raw"),
            format!("/file/{name}"),
            format!("/sources?after={name}"),
            format!("/changes?before={name}"),
            format!("/assets/{name}"),
        ] {
            let answer = served.ask("GET", &path, &[], "");
            assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
            assert!(!answer.body.contains("root:"), "{path}");
            assert_eq!(answer.header("set-cookie"), None, "{path}");
        }
        for path in [format!("/pages?in={name}"), format!("/pages?after={name}")] {
            let listed = served.ask("GET", &path, &[], "");
            assert!(!listed.body.contains("root:"), "{path}");
        }
    }
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(
            served.ask(method, "/page/start", &[], "").status,
            405,
            "{method}"
        );
    }
}

#[test]
fn a_browser_gives_the_token_once() {
    let shell = Shell::new().with("LLMWIKI_TOKEN", "cho sen");
    wiki(&shell);
    let served = Served::start(&shell, &[]);
    let html = ("Accept", "text/html");
    let asked = served.ask("GET", "/page/start", &[html], "");
    assert_eq!(asked.status, 401);
    assert!(asked.body.contains("name=\"token\""), "{asked:?}");
    assert!(
        !asked.body.contains("claim"),
        "nothing of the wiki is shown"
    );
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let log_in = |token: &str| served.ask("POST", "/login", &[form], &format!("token={token}"));
    assert_eq!(log_in("wrong").status, 401);
    let entered = log_in("cho+sen");
    assert_eq!(entered.status, 303, "{entered:?}");
    let cookie = entered.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert!(!cookie.contains("cho"), "the token itself is not kept");
    let pass = cookie.split(';').next().unwrap();
    let page = served.ask("GET", "/page/start", &[html, ("Cookie", pass)], "");
    assert_eq!(page.status, 200);
    let wrong = served.ask("GET", "/page/start", &[("Cookie", "llmwiki-pass=0")], "");
    assert_eq!(wrong.status, 401);
}

#[test]
fn where_there_is_no_wiki_the_start_says_how_to_make_one() {
    let shell = Shell::new();
    let served = Served::start(&shell, &[]);
    assert!(get(&served, "/").body.contains("llmwiki init"));
    assert_eq!(served.ask("GET", "/page/start", &[], "").status, 404);
    assert!(get(&served, "/status").body.contains("there is none yet"));
    assert!(get(&served, "/lint").body.contains("ROOT_MISSING"));
    assert!(!shell.path().join(".llmwiki").exists(), "nothing was made");
}
