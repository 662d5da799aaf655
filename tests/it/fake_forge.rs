//! A server with the part of Gitea's REST API that is used here, over real bare git repositories:
//! users and their tokens, lists in pages with `Link` and `x-total-count`, raw files with `ETag`,
//! branches, trees. Each repository can be made to fail in one of the ways in which servers fail.
//! `tests/clients/forge.py` judges it with a client made from Gitea's own description of its API.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::serve::Listener;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The token of the user `ann`, who owns everything here.
pub const TOKEN: &str = "t0k3n-0123456789abcdef";

/// How a repository fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mood {
    Well,
    /// 500, always.
    Down,
    /// So many refusals with this status and these seconds of `Retry-After`, then well.
    Busy(u32, u16, u64),
    /// Says nothing for this long.
    Slow(Duration),
    /// Begins a body and says no more for this long.
    SlowBody(Duration),
    /// Ends every body early.
    Cut,
    Status(u16),
    /// A page for people.
    Html,
    /// To the same repository under another name.
    Renamed(String),
    /// To itself, by a detour.
    Circle,
    /// To another address.
    Elsewhere(String),
    /// Repeats what it was asked with.
    Echo,
}

/// A request that was made.
#[derive(Debug, Clone)]
pub struct Seen {
    pub path: String,
    pub authorization: Option<String>,
    pub if_none_match: Option<String>,
    pub status: u16,
}

struct Repository {
    id: u64,
    owner: String,
    name: String,
    default_branch: String,
    git: PathBuf,
    mood: Mood,
}

struct Shared {
    folder: tempfile::TempDir,
    repositories: Mutex<BTreeMap<String, Repository>>,
    seen: Mutex<Vec<Seen>>,
    /// Largest page of a list that this server gives.
    page_size: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
    next_id: AtomicUsize,
}

/// A running server. It ends with the value.
pub struct Forge {
    shared: Arc<Shared>,
    pub address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

/// Whether there is a git to build repositories with.
pub fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output();
    let has = found.is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("skipped: there is no git");
    }
    has
}

fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    use std::io::Write as _;
    let mut child = Command::new("git")
        .args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn git_done(folder: &Path, arguments: &[&str], input: &[u8]) -> String {
    let output = git(folder, arguments, input);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Forge {
    /// A server without repositories, below the path `/forge` as behind another server.
    pub fn start() -> Self {
        Self::on("127.0.0.1:0")
    }

    pub fn on(address: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let shared = Arc::new(Shared {
            folder: tempfile::tempdir().unwrap(),
            repositories: Mutex::default(),
            seen: Mutex::default(),
            page_size: AtomicUsize::new(50),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
            next_id: AtomicUsize::new(1),
        });
        let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&shared));
        let counting = Counting {
            listener,
            shared: Arc::clone(&shared),
        };
        runtime.spawn(async move { axum::serve(counting, router).await });
        Self {
            shared,
            address,
            _runtime: runtime,
        }
    }

    /// Base address of the server.
    pub fn url(&self) -> String {
        format!("http://{}/forge", self.address)
    }

    /// Makes a repository with a commit on the branch `trunk`, and more branches for further
    /// calls.
    pub fn repository(&self, name: &str, files: &[(&str, &[u8])]) {
        let git_folder = self.shared.folder.path().join(format!("{name}.git"));
        std::fs::create_dir_all(&git_folder).unwrap();
        git_done(
            &git_folder,
            &["init", "--quiet", "--bare", "--initial-branch=trunk"],
            b"",
        );
        let id = self.shared.next_id.fetch_add(1, Ordering::SeqCst) as u64;
        let repository = Repository {
            id,
            owner: "ann".to_owned(),
            name: name.to_owned(),
            default_branch: "trunk".to_owned(),
            git: git_folder,
            mood: Mood::Well,
        };
        let key = format!("ann/{name}");
        self.shared
            .repositories
            .lock()
            .unwrap()
            .insert(key, repository);
        self.commit(name, "trunk", files);
    }

    /// A commit with these files and no other; the commit.
    pub fn commit(&self, name: &str, branch: &str, files: &[(&str, &[u8])]) -> String {
        let folder = self.shared.folder.path().join(format!("{name}.git"));
        let mut listing = String::new();
        for (path, bytes) in files {
            let blob = git_done(&folder, &["hash-object", "-w", "--stdin"], bytes);
            listing.push_str(&format!("100644 {blob}\t{path}\n"));
        }
        let index = folder.join("fake-index");
        let _ = std::fs::remove_file(&index);
        let with_index = |arguments: &[&str], input: &[u8]| {
            let mut all = vec!["-c", "core.bare=true"];
            all.extend(arguments);
            let mut command = Command::new("git");
            command
                .args(all)
                .current_dir(&folder)
                .env("GIT_INDEX_FILE", &index)
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped());
            let mut child = command.spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), input).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "git {arguments:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        with_index(
            &["update-index", "--add", "--index-info"],
            listing.as_bytes(),
        );
        let tree = with_index(&["write-tree"], b"");
        let commit = git_done(&folder, &["commit-tree", &tree, "-m", "change"], b"");
        git_done(
            &folder,
            &["update-ref", &format!("refs/heads/{branch}"), &commit],
            b"",
        );
        commit
    }

    pub fn mood(&self, name: &str, mood: Mood) {
        let mut repositories = self.shared.repositories.lock().unwrap();
        repositories.get_mut(&format!("ann/{name}")).unwrap().mood = mood;
    }

    pub fn default_branch(&self, name: &str, branch: &str) {
        let mut repositories = self.shared.repositories.lock().unwrap();
        let repository = repositories.get_mut(&format!("ann/{name}")).unwrap();
        branch.clone_into(&mut repository.default_branch);
    }

    /// Gives a repository another name; the old one leads to it, as Gitea does it.
    pub fn rename(&self, from: &str, to: &str) {
        let mut repositories = self.shared.repositories.lock().unwrap();
        let mut moved = repositories.remove(&format!("ann/{from}")).unwrap();
        let left = Repository {
            id: 0,
            owner: "ann".to_owned(),
            name: from.to_owned(),
            default_branch: String::new(),
            git: PathBuf::new(),
            mood: Mood::Renamed(to.to_owned()),
        };
        to.clone_into(&mut moved.name);
        repositories.insert(format!("ann/{to}"), moved);
        repositories.insert(format!("ann/{from}"), left);
    }

    pub fn delete(&self, name: &str) {
        self.shared
            .repositories
            .lock()
            .unwrap()
            .remove(&format!("ann/{name}"));
    }

    pub fn page_size(&self, size: usize) {
        self.shared.page_size.store(size, Ordering::SeqCst);
    }

    /// The requests since the last call.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.shared.seen.lock().unwrap())
    }

    /// How many connections were open at once since the last call.
    pub fn most_connections(&self) -> usize {
        self.shared.most_open.swap(0, Ordering::SeqCst)
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let text = |name| {
        let value: Option<&HeaderValue> = parts.headers.get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let mut seen = Seen {
        path: parts.uri.to_string(),
        authorization: text(header::AUTHORIZATION),
        if_none_match: text(header::IF_NONE_MATCH),
        status: 0,
    };
    let host = text(header::HOST).unwrap_or_default();
    let response = route(&shared, &seen, &host).await;
    seen.status = response.status().as_u16();
    shared.seen.lock().unwrap().push(seen);
    response
}

fn reply(status: u16, value: &Value) -> Response {
    Response::builder()
        .status(status)
        .header("content-type", "application/json;charset=utf-8")
        .body(Body::from(value.to_string()))
        .unwrap()
}

fn refuse(status: u16, message: &str) -> Response {
    reply(
        status,
        &json!({"message": message, "url": "http://localhost/api/swagger"}),
    )
}

fn redirect(to: &str) -> Response {
    Response::builder()
        .status(StatusCode::TEMPORARY_REDIRECT)
        .header("location", to)
        .body(Body::empty())
        .unwrap()
}

/// Percent signs resolved once, as servers do.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte == b'%' {
            let digits = std::str::from_utf8(&after[..2]).unwrap();
            bytes.push(u8::from_str_radix(digits, 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn parameter(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|part| {
        let (key, value) = part.split_once('=')?;
        (key == name).then(|| decoded(value))
    })
}

async fn route(shared: &Arc<Shared>, seen: &Seen, host: &str) -> Response {
    let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
    let Some(below) = path.strip_prefix("/forge/api/v1/") else {
        return refuse(404, "Not Found");
    };
    if below == "version" {
        return reply(200, &json!({"version": "1.27.3"}));
    }
    let given = seen.authorization.as_deref();
    let is_ann =
        given == Some(&format!("token {TOKEN}")) || given == Some(&format!("Bearer {TOKEN}"));
    if given.is_some() && !is_ann {
        return refuse(401, "invalid username, password or token");
    }
    let parts: Vec<&str> = below.splitn(5, '/').collect();
    match parts.as_slice() {
        ["user", "repos"] | ["user"] if !is_ann => refuse(401, "token is required"),
        ["user"] => reply(
            200,
            &json!({"id": 1, "login": "ann", "email": "ann@example.org"}),
        ),
        ["user", "repos"] => list(shared, query, host),
        ["repos", owner, name, rest @ ..] => {
            let key = format!("{}/{}", decoded(owner), decoded(name));
            repository(shared, &key, rest, query, seen, host).await
        }
        _ => refuse(404, "Not Found"),
    }
}

fn described(repository: &Repository, host: &str) -> Value {
    json!({
        "id": repository.id,
        "owner": {"id": 1, "login": repository.owner},
        "name": repository.name,
        "full_name": format!("{}/{}", repository.owner, repository.name),
        "private": true,
        "empty": false,
        "archived": false,
        "default_branch": repository.default_branch,
        "html_url": format!("http://{host}/forge/{}/{}", repository.owner, repository.name),
    })
}

fn list(shared: &Shared, query: &str, host: &str) -> Response {
    let repositories = shared.repositories.lock().unwrap();
    let all: Vec<Value> = repositories
        .values()
        .filter(|it| !matches!(it.mood, Mood::Renamed(_)))
        .map(|it| described(it, host))
        .collect();
    let number = |name, default| -> usize {
        parameter(query, name)
            .and_then(|it| it.parse().ok())
            .unwrap_or(default)
    };
    let size = number("limit", 30).min(shared.page_size.load(Ordering::SeqCst));
    let page = number("page", 1).max(1);
    let last = all.len().div_ceil(size).max(1);
    let batch: Vec<Value> = all
        .iter()
        .skip((page - 1) * size)
        .take(size)
        .cloned()
        .collect();
    let mut response = reply(200, &Value::Array(batch));
    let headers = response.headers_mut();
    headers.insert("x-total-count", HeaderValue::from(all.len()));
    if page < last {
        // The address that the server believes to have, as behind another one.
        let link = |page, relation| {
            format!(
                "<http://forge.internal:3000/api/v1/user/repos?limit={size}&page={page}>; rel=\"{relation}\""
            )
        };
        let link = format!("{},{}", link(page + 1, "next"), link(last, "last"));
        headers.insert("link", HeaderValue::from_str(&link).unwrap());
    }
    response
}

async fn repository(
    shared: &Arc<Shared>,
    key: &str,
    rest: &[&str],
    query: &str,
    seen: &Seen,
    host: &str,
) -> Response {
    let found = {
        let mut repositories = shared.repositories.lock().unwrap();
        let Some(repository) = repositories.get_mut(key) else {
            return refuse(404, "The target couldn't be found.");
        };
        let mood = repository.mood.clone();
        if let Mood::Busy(left, status, seconds) = mood {
            repository.mood = if left > 1 {
                Mood::Busy(left - 1, status, seconds)
            } else {
                Mood::Well
            };
        }
        let folder = repository.git.clone();
        (
            mood,
            folder,
            described(repository, host),
            repository.default_branch.clone(),
        )
    };
    let (mood, folder, described, default_branch) = found;
    match &mood {
        Mood::Down => return refuse(500, "database is locked"),
        Mood::Busy(_, status, seconds) => {
            let mut response = refuse(*status, "slow down");
            response
                .headers_mut()
                .insert("retry-after", HeaderValue::from(*seconds));
            return response;
        }
        Mood::Slow(time) => tokio::time::sleep(*time).await,
        Mood::Status(status) => return refuse(*status, "no"),
        Mood::Html => {
            return Response::builder()
                .header("content-type", "text/html; charset=utf-8")
                .body(Body::from("<!DOCTYPE html><title>Sign in</title>"))
                .unwrap();
        }
        Mood::Renamed(to) => {
            let (_, name) = key.split_once('/').unwrap();
            return redirect(&seen.path.replacen(
                &format!("/ann/{name}"),
                &format!("/ann/{to}"),
                1,
            ));
        }
        Mood::Circle => {
            let to = match seen.path.strip_suffix("&again") {
                Some(path) => path.to_owned(),
                None => format!("{}?x=1&again", seen.path.split('?').next().unwrap()),
            };
            return redirect(&to);
        }
        Mood::Elsewhere(url) => return redirect(&format!("{url}{}", seen.path)),
        Mood::Echo => {
            let said = seen.authorization.clone().unwrap_or_default();
            return raw(said.into_bytes(), "\"echo\"");
        }
        Mood::Well | Mood::SlowBody(_) | Mood::Cut => {}
    }
    // git is a matter of moments, and this server of tests.
    let response = serve(&folder, rest, query, seen, &described, &default_branch);
    match mood {
        Mood::Cut => broken(response, Duration::ZERO),
        Mood::SlowBody(time) => broken(response, time),
        _ => response,
    }
}

/// The same answer, its body without an end: it breaks off after some time.
fn broken(response: Response, after: Duration) -> Response {
    let (mut parts, _) = response.into_parts();
    parts
        .headers
        .insert("content-length", HeaderValue::from(5000));
    let begin = futures_util::stream::once(async {
        Ok::<_, std::io::Error>("the beginning of a ".as_bytes())
    });
    let end = futures_util::stream::once(async move {
        tokio::time::sleep(after).await;
        Err(std::io::Error::other("cut"))
    });
    Response::from_parts(parts, Body::from_stream(begin.chain(end)))
}

fn raw(bytes: Vec<u8>, etag: &str) -> Response {
    Response::builder()
        .header("content-type", "text/plain; charset=utf-8")
        .header("etag", etag)
        .body(Body::from(bytes))
        .unwrap()
}

fn serve(
    folder: &Path,
    rest: &[&str],
    query: &str,
    seen: &Seen,
    described: &Value,
    default_branch: &str,
) -> Response {
    let reference = parameter(query, "ref").unwrap_or_else(|| default_branch.to_owned());
    match rest {
        [] => reply(200, described),
        ["raw", path] => {
            let path = decoded(path);
            let name = format!("{reference}:{path}");
            let blob = git(folder, &["rev-parse", "--verify", "--quiet", &name], b"");
            if !blob.status.success() || path.split('/').any(|part| part == "..") {
                return refuse(404, "The target couldn't be found.");
            }
            let etag = format!("\"{}\"", String::from_utf8_lossy(&blob.stdout).trim());
            if seen.if_none_match.as_deref() == Some(etag.as_str()) {
                return Response::builder()
                    .status(304)
                    .header("etag", etag)
                    .body(Body::empty())
                    .unwrap();
            }
            raw(git(folder, &["cat-file", "blob", &name], b"").stdout, &etag)
        }
        ["branches", branch] => {
            let branch = decoded(branch);
            let found = git(
                folder,
                &[
                    "rev-parse",
                    "--verify",
                    "--quiet",
                    &format!("refs/heads/{branch}"),
                ],
                b"",
            );
            if !found.status.success() {
                return refuse(404, "The target couldn't be found.");
            }
            let id = String::from_utf8_lossy(&found.stdout).trim().to_owned();
            reply(
                200,
                &json!({"name": branch, "commit": {"id": id, "message": "change"}}),
            )
        }
        ["git", tree] if tree.starts_with("trees/") => {
            let reference = decoded(&tree["trees/".len()..]);
            let listed = git(folder, &["ls-tree", "-r", "-z", &reference], b"");
            if !listed.status.success() {
                return refuse(404, "The target couldn't be found.");
            }
            let text = String::from_utf8(listed.stdout).unwrap();
            let all: Vec<Value> = text
                .split_terminator('\0')
                .map(|line| {
                    let (facts, path) = line.split_once('\t').unwrap();
                    let facts: Vec<&str> = facts.split(' ').collect();
                    json!({"mode": facts[0], "type": facts[1], "sha": facts[2], "path": path, "size": 0})
                })
                .collect();
            let number = |name, default| -> usize {
                parameter(query, name)
                    .and_then(|it| it.parse().ok())
                    .unwrap_or(default)
            };
            // Few at a time, so that whoever reads has to go on.
            let (size, page) = (number("per_page", 1000).min(3), number("page", 1).max(1));
            let batch: Vec<Value> = all
                .iter()
                .skip((page - 1) * size)
                .take(size)
                .cloned()
                .collect();
            reply(
                200,
                &json!({
                    "sha": reference,
                    "url": "http://localhost/",
                    "tree": batch,
                    "truncated": page * size < all.len(),
                    "page": page,
                    "total_count": all.len(),
                }),
            )
        }
        _ => refuse(404, "Not Found"),
    }
}

/// Counts the connections that are open.
struct Counting {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Counted {
    stream: TcpStream,
    shared: Arc<Shared>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Listener for Counting {
    type Io = Counted;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Counted, SocketAddr) {
        loop {
            if let Ok((stream, address)) = self.listener.accept().await {
                let now = self.shared.open.fetch_add(1, Ordering::SeqCst) + 1;
                self.shared.most_open.fetch_max(now, Ordering::SeqCst);
                let shared = Arc::clone(&self.shared);
                return (Counted { stream, shared }, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Serves until its input ends, for clients of others: see `tests/clients/forge.py`.
#[test]
#[ignore = "a server for another program"]
fn serves_a_forge_for_another_client() {
    let forge = Forge::start();
    forge.page_size(2);
    let page = b"# Retry policy\n\nThree times.\n";
    for name in ["billing", "ledger", "fx"] {
        forge.repository(
            name,
            &[
                (".wiki/index.md", b"- [Retry](concepts/retry.md)\n"),
                (".wiki/concepts/retry.md", page),
                (".tasks/STATUS.md", b"green\n"),
                ("README.md", b"# Read me\n"),
            ],
        );
    }
    println!("forge {}", forge.url());
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
}
