//! Real processes on one wiki, killed with signal 9 at any moment: no acknowledged write is lost,
//! nothing is half done, and what was left over is mended by the next command.
//!
//! Short by default; `LLMWIKI_TORTURE_SECONDS=60 cargo test torture` runs it for longer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::wikis::{TestWiki, page_id};

/// Tells the copy of this binary that runs as a writer what to do.
const ROLE: &str = "LLMWIKI_TEST_WRITER";

/// Not a test of its own: the body of a writer process. Writes pages of its own and one that all
/// share, and says each acknowledged write on stdout before it goes on.
#[test]
fn torture_writer_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (root, name) = role.split_once('|').unwrap();
    let dir = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let own = TestWiki::at(dir, llmwiki::tree::TreeOptions::default());
    let wiki = llmwiki::wiki::Wiki::new(root, own.wiki.config().clone());
    let mut out = std::io::stdout().lock();
    for round in 0u32.. {
        let id = match round % 4 {
            0 => "shared".to_owned(),
            _ => format!("{name}/p{}", round % 7),
        };
        let source = llmwiki::wiki::NewSource {
            name: "n".into(),
            content: format!("evidence {}", round % 5).into_bytes(),
            ..llmwiki::wiki::NewSource::default()
        };
        let Ok(added) = wiki.add_source(&own.ctx, source) else {
            continue;
        };
        let text = format!("# P\n\n{name}word{round} text\n");
        let page = crate::wikis::page(&id, added.id.parse().unwrap(), &text);
        let Ok(report) = wiki.upsert_page(&own.ctx, page) else {
            continue;
        };
        writeln!(out, "ack {id} {} {}", report.revision, report.sha256).unwrap();
        out.flush().unwrap();
    }
}

struct Writer {
    child: Child,
    reader: std::thread::JoinHandle<Vec<(String, u64, String)>>,
}

fn start(root: &Path, name: &str) -> Writer {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "torture::torture_writer_process",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, format!("{}|{name}", root.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut acks = Vec::new();
        for line in BufReader::new(out).lines() {
            // A line that the kill cut off was not acknowledged.
            let Ok(line) = line else { break };
            let words: Vec<&str> = line.split(' ').collect();
            if let ["ack", id, seq, sha] = words.as_slice()
                && sha.len() == 64
            {
                acks.push(((*id).to_owned(), seq.parse().unwrap(), (*sha).to_owned()));
            }
        }
        acks
    });
    Writer { child, reader }
}

#[test]
fn killed_writers_and_steady_readers_keep_every_acknowledged_write() {
    let seconds = std::env::var("LLMWIKI_TORTURE_SECONDS").map_or(6, |text| text.parse().unwrap());
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let wiki = TestWiki::new();
    wiki.wiki.init(&wiki.ctx).unwrap();
    let root = wiki.root();
    let acks: Mutex<Vec<(String, u64, String)>> = Mutex::default();
    // On a busy machine writers may be killed before they have written anything.
    let patience = deadline + Duration::from_mins(2);
    let goes_on = || {
        let now = Instant::now();
        now < deadline || (now < patience && acks.lock().unwrap().len() <= 20)
    };
    let kills = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for slot in 0..4u64 {
            let (root, acks, kills, goes_on) = (&root, &acks, &kills, &goes_on);
            scope.spawn(move || {
                let mut round = 0u64;
                while goes_on() {
                    let mut writer = start(root, &format!("w{slot}"));
                    // Lives of different lengths, so that the kill falls anywhere.
                    let life = 60 + (slot * 97 + round * 131) % 700;
                    std::thread::sleep(Duration::from_millis(life));
                    writer.child.kill().unwrap();
                    writer.child.wait().unwrap();
                    acks.lock().unwrap().extend(writer.reader.join().unwrap());
                    kills.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    round += 1;
                }
            });
        }
        for _ in 0..2 {
            let (reader, goes_on) = (wiki.again(), &goes_on);
            scope.spawn(move || {
                while goes_on() {
                    let request = llmwiki::wiki::SearchRequest {
                        query: "text".into(),
                        limit: None,
                        explain: false,
                    };
                    let report = reader.wiki.search(&reader.ctx, &request).unwrap();
                    for hit in &report.hits {
                        assert!(
                            hit.snippet.contains("text"),
                            "a hit shows its page's own text"
                        );
                    }
                }
            });
        }
    });
    let acks = acks.into_inner().unwrap();
    assert!(acks.len() > 20, "{} writes, {kills:?} kills", acks.len());
    let next = wiki.again();
    let source = next.source("the last word");
    next.page("last", source, "# Last\n\nword\n");
    next.must_be_sound();
    let mut newest: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for (id, seq, sha) in &acks {
        // Every acknowledged text is in the history, under the number that was told.
        let read = next
            .wiki
            .read_page(&next.ctx, &page_id(id), Some(&seq.to_string()));
        assert_eq!(&read.unwrap().sha256, sha, "{id} revision {seq}");
        let entry = newest.entry(id).or_insert((*seq, sha));
        if *seq > entry.0 {
            *entry = (*seq, sha);
        }
    }
    for (id, (seq, _)) in newest {
        let now = next.wiki.read_page(&next.ctx, &page_id(id), None).unwrap();
        assert!(
            now.revision >= seq,
            "{id}: {} is older than the acknowledged {seq}",
            now.revision
        );
        assert_eq!(
            std::fs::read_to_string(next.file(id)).unwrap(),
            now.markdown,
            "{id}"
        );
    }
    let left = std::fs::read_dir(root.join(".store/tmp")).unwrap().count();
    eprintln!(
        "{} acknowledged writes, {kills:?} kills, {left} staged files left",
        acks.len()
    );
}
