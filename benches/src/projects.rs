//! What it costs to know and ask other projects: a sync of many repositories, and questions to some
//! of them. The server that holds them is a process of its own, so that its time is not counted.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use llmwiki::config::{Config, Forge};
use llmwiki::context::Context;
use llmwiki::federation::{self, AskProjectsRequest};
use llmwiki::wiki::Wiki;

use crate::engines::Result;
use crate::measure::cpu;

const PROJECTS: usize = 200;
const ENTRIES: usize = 500;
const ASKED: usize = 10;
const CONNECTIONS: usize = 8;
/// Most CPU time of a question to ten projects.
const MOST_MS: f64 = 50.0;

/// Measures and prints, and writes a part of the report.
pub fn run(out: &Path) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("llmwiki-bench-projects-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let text = measure(&folder);
    std::fs::remove_dir_all(&folder)?;
    let text = text?;
    crate::report::replace_part(out, "projects", &text)?;
    print!("{text}");
    Ok(())
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure(folder: &Path) -> Result<String> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("projects-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    let stdout = child.stdout.take().ok_or("no output")?;
    BufReader::new(stdout).read_line(&mut address)?;
    let _server = Server(child);
    let url = format!("http://{}", address.trim());
    let mut config = Config::default();
    config.others.forges.push(Forge {
        name: "bench".to_owned(),
        connections: CONNECTIONS,
        timeout: Duration::from_mins(1),
        ..Forge::anonymous(&url)
    });
    let wiki = Wiki::new(folder.join("wiki"), config);
    let ctx = Context::default();
    wiki.init(&ctx)?;

    let (begun, start) = (cpu(), Instant::now());
    let report = federation::sync(&wiki, &ctx)?;
    let (sync, sync_wall) = (milliseconds(cpu() - begun), start.elapsed());
    let found = report.projects.len();
    if found != PROJECTS || report.sync.is_none_or(|sync| sync.failed > 0) {
        return Err(format!("{found} projects were read, not {PROJECTS}").into());
    }
    let most = most_connections(address.trim())?;

    let ask = |query: &str| -> Result<(f64, usize)> {
        let request = AskProjectsRequest {
            query: query.to_owned(),
            projects: (0..ASKED).map(|it| format!("project-{}", it * 7)).collect(),
            ..AskProjectsRequest::default()
        };
        let begun = cpu();
        let report = federation::ask_projects(&wiki, &ctx, &request)?;
        let cost = milliseconds(cpu() - begun);
        let matches = report.results.iter().flat_map(|it| it.matches.iter().flatten());
        let read = matches.filter(|it| it.fetch_error.is_none()).count();
        Ok((cost, read))
    };
    // The first opens the store.
    ask("no such words anywhere")?;
    let mut none: Vec<f64> = (0..20)
        .map(|_| ask("no such words anywhere").map(|(cost, _)| cost))
        .collect::<Result<_>>()?;
    none.sort_by(f64::total_cmp);
    let (first, read) = ask("policy number 1")?;
    let mut again: Vec<f64> = (0..20)
        .map(|_| ask("policy number 1").map(|(cost, _)| cost))
        .collect::<Result<_>>()?;
    again.sort_by(f64::total_cmp);
    if read != ASKED * federation::DEFAULT_LIMIT {
        return Err(format!("{read} pages were read").into());
    }
    let verdict = |cost: f64| if cost <= MOST_MS { "met" } else { "missed" };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "## Other projects\n\n`bench projects`: {PROJECTS} repositories with an index of {ENTRIES} entries each, on a \
         server of its own process that speaks plain HTTP on loopback. CPU is that of llmwiki, \
         with all that its HTTP client does.\n\n\
         | | CPU ms | at most | |\n| --- | ---: | ---: | --- |\n\
         | question to {ASKED} projects, no page to read, p50 | {:.1} | {MOST_MS:.0} | {} |\n\
         | the same, worst of 20 | {:.1} | {MOST_MS:.0} | {} |\n\
         | question to {ASKED} projects, {read} pages read and kept | {first:.1} | | |\n\
         | the same again, each page unchanged (304), p50 | {:.1} | | |\n\
         | `projects sync` of all {PROJECTS}, {:.1} s wall | {sync:.0} | | |\n\n\
         | | measured | at most | |\n| --- | ---: | ---: | --- |\n\
         | connections open at once during the sync | {most} | {CONNECTIONS} | {} |",
        none[10],
        verdict(none[10]),
        none[19],
        verdict(none[19]),
        again[10],
        sync_wall.as_secs_f64(),
        if most <= CONNECTIONS as u64 { "met" } else { "missed" },
    );
    Ok(text)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn most_connections(address: &str) -> Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /most HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    BufReader::new(stream).read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no body")?;
    Ok(body.trim().parse()?)
}

/// Serves the projects until standard input ends.
pub fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    for stream in listener.incoming() {
        let (stream, counts) = (stream?, Arc::clone(&counts));
        std::thread::spawn(move || {
            let now = counts.0.fetch_add(1, Ordering::SeqCst) + 1;
            let before = counts.1.fetch_max(now, Ordering::SeqCst);
            let _ = connection(&stream, before);
            counts.0.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(())
}

fn connection(stream: &TcpStream, most: u64) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = stream;
    loop {
        let mut request = String::new();
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut known = false;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            known |= line.to_ascii_lowercase().starts_with("if-none-match:");
            if line.trim().is_empty() {
                break;
            }
        }
        let path = request.split(' ').nth(1).unwrap_or_default();
        let (status, body) = body(path, most);
        let (status, body) = if known && status == "200 OK" {
            ("304 Not Modified", String::new())
        } else {
            (status, body)
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\netag: \"1\"\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        writer.write_all(answer.as_bytes())?;
        if path == "/most" {
            return Ok(());
        }
    }
}

fn body(path: &str, most: u64) -> (&'static str, String) {
    if path == "/most" {
        return ("200 OK", most.to_string());
    }
    if path.starts_with("/api/v1/user/repos") {
        let first = path.contains("page=1&");
        let repositories: Vec<String> = (0..if first { PROJECTS } else { 0 })
            .map(|id| {
                format!(
                    "{{\"id\":{},\"name\":\"project-{id}\",\"owner\":{{\"login\":\"ann\"}},\
                     \"default_branch\":\"main\"}}",
                    id + 1
                )
            })
            .collect();
        return ("200 OK", format!("[{}]", repositories.join(",")));
    }
    if path.contains("/raw/.wiki/index.md") {
        let mut index = String::from("# Wiki\n\n## Concepts\n\n");
        for entry in 0..ENTRIES {
            let _ = writeln!(
                index,
                "- [Policy number {entry}](concepts/policy-{entry}.md) \u{2014} what is done when case {entry} comes up"
            );
        }
        return ("200 OK", index);
    }
    if path.contains("/raw/.wiki/concepts/") {
        let text = "A line of a page about what is done, and why. ".repeat(60);
        return ("200 OK", format!("# Policy\n\n{text}Policy number 1 stands here. {text}\n"));
    }
    ("404 Not Found", String::new())
}
