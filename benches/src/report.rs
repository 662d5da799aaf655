//! What was measured, and the tables made of it.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::measure::{Build, Spread};

/// One size. Steps that did not run are absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Results {
    pub size: u64,
    pub pages: u64,
    pub sources: u64,
    pub import: Option<Build>,
    pub reindex: Option<Build>,
    pub build_tantivy: Option<Build>,
    pub build_fts5: Option<Build>,
    pub bands: Vec<String>,
    pub cold: Option<Cold>,
    pub query_llmwiki: Vec<(String, Spread)>,
    pub query_tantivy: Vec<(String, Spread)>,
    pub query_fts5: Vec<(String, Spread)>,
    pub answer: Vec<(String, Spread)>,
    pub answer_memory: u64,
    pub upsert_llmwiki: Option<Upserts>,
    pub upsert_llmwiki_section: Option<Upserts>,
    pub upsert_tantivy: Option<Upserts>,
    pub upsert_fts5: Option<Upserts>,
    pub bytes_after_upserts: u64,
}

/// Searches by new processes, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Cold {
    pub runs: u64,
    pub cpu_mean: f64,
    pub wall_p50: f64,
}

/// Writes of one page each.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Upserts {
    pub time: Spread,
    /// Bytes given to write calls, per write.
    pub bytes: u64,
}

/// The whole document.
pub fn render(all: &[Results]) -> String {
    let mut out = String::from(INTRODUCTION);
    let sizes: Vec<String> = all
        .iter()
        .map(|one| format!(" --size {}", one.size))
        .collect();
    let _ = writeln!(
        out,
        "```sh\ncargo run --release --manifest-path benches/Cargo.toml -- engine{}\n```\n",
        sizes.concat()
    );
    let _ = writeln!(out, "Measured on {}.\n", machine());
    out.push_str(METHOD);
    for one in all {
        one.render(&mut out);
    }
    out
}

const INTRODUCTION: &str = "# Benchmarks

llmwiki beside tantivy 0.27 and SQLite FTS5 (bundled with rusqlite 0.43), all in one run, on a \
wiki that the benchmark makes itself (`benches/src/corpus.rs`: words by Zipf's law, one page in \
eight in Han or Hangul, links, lists, code). The tables below are written by

";

const METHOD: &str = "How to read them:

- *CPU* is user and system time of all threads. On a shared machine it is the figure to compare; \
wall time is told beside it. `x : y` is the ratio of CPU time, below 1 where llmwiki is faster.
- Every step runs in a process of its own; peak memory is its `VmHWM`. Making the input is not \
counted.
- `reindex` reads every page from the store, parses it, finds links and citations, analyses it and \
writes all derived tables. tantivy and FTS5 are given ready texts and keep an index only (FTS5 the \
texts too). `import` also writes the tree, one file a page, and syncs it; nothing of the peers \
compares with it.
- The store holds pages, sources and history beside the index, and free space for the next writes.
- An upsert replaces all sections of one page, durably, 320 times on pages by chance, folds and \
merges included. The row *one section* changes the first section only. Bytes written are those \
given to write calls.
- Queries rank sections and give the best 20, any word may match, warm, one thread. tantivy searches \
an index of the very terms that llmwiki holds (one segment, document frequencies checked to be \
equal), so both do equal work; FTS5 has its own terms, of the same texts, after `optimize`. *whole \
answer* is `Wiki::search`: it first compares the tree with the store, file by file, then ranks, then \
reads pages and makes snippets.
- A cold search is a new process `llmwiki search --json`.

";

/// Puts a text into its part of the document, between two comments that name it.
pub fn replace_part(path: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->\n"));
    let old = match std::fs::read_to_string(path) {
        Ok(old) => old,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let part = format!("{open}\n{}\n\n{close}", text.trim());
    let new = match (old.find(&open), old.find(&close)) {
        (Some(start), Some(end)) if start < end => {
            format!("{}{part}{}", &old[..start], &old[end + close.len()..])
        }
        _ if old.is_empty() => part,
        _ => format!("{old}\n{part}"),
    };
    std::fs::write(path, new)
}

pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    // Only the version: what follows names the build.
    let kernel = kernel.trim().split('-').next().unwrap_or_default();
    format!("{cores} cores, Linux {kernel}, other work going on")
}

impl Results {
    fn render(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "## {} sections\n\n{} pages, {} sources.\n",
            grouped(self.size),
            grouped(self.pages),
            grouped(self.sources)
        );
        self.builds(out);
        self.upserts(out);
        self.queries(out);
        self.reach(out);
    }

    fn builds(&self, out: &mut String) {
        out.push_str("| bulk build | CPU s | wall s | peak MiB | size MiB |\n");
        out.push_str("| --- | ---: | ---: | ---: | ---: |\n");
        for (name, build) in [
            ("llmwiki `import`", self.import),
            ("llmwiki `reindex`", self.reindex),
            ("tantivy", self.build_tantivy),
            ("FTS5", self.build_fts5),
        ] {
            if let Some(build) = build {
                let _ = writeln!(
                    out,
                    "| {name} | {:.2} | {:.2} | {} | {} |",
                    build.cpu,
                    build.wall,
                    mebibytes(build.memory),
                    mebibytes(build.bytes)
                );
            }
        }
        if let (Some(ours), Some(tantivy), Some(fts5)) =
            (self.reindex, self.build_tantivy, self.build_fts5)
        {
            let _ = writeln!(
                out,
                "\n`reindex` : tantivy {:.2}, : FTS5 {:.2}.",
                ours.cpu / tantivy.cpu,
                ours.cpu / fts5.cpu
            );
        }
        out.push('\n');
    }

    fn upserts(&self, out: &mut String) {
        let rows = [
            ("llmwiki", self.upsert_llmwiki),
            ("llmwiki, one section", self.upsert_llmwiki_section),
            ("tantivy", self.upsert_tantivy),
            ("FTS5", self.upsert_fts5),
        ];
        if rows.iter().all(|(_, upserts)| upserts.is_none()) {
            return;
        }
        out.push_str(
            "| upsert of a page | CPU ms p50 | CPU ms mean | CPU ms p99 | wall ms p50 | KiB written |\n",
        );
        out.push_str("| --- | ---: | ---: | ---: | ---: | ---: |\n");
        for (name, upserts) in rows {
            if let Some(Upserts { time, bytes }) = upserts {
                let _ = writeln!(
                    out,
                    "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
                    time.cpu_p50,
                    time.cpu_mean,
                    time.cpu_p99,
                    time.wall_p50,
                    bytes.div_ceil(1024)
                );
            }
        }
        if self.bytes_after_upserts > 0 {
            let _ = writeln!(
                out,
                "\nThe store after these writes: {} MiB.",
                mebibytes(self.bytes_after_upserts)
            );
        }
        out.push('\n');
    }

    fn queries(&self, out: &mut String) {
        if self.query_llmwiki.is_empty() {
            return;
        }
        out.push_str(
            "| query, CPU ms p50 / p99 | llmwiki | tantivy | FTS5 | : tantivy | : FTS5 | whole answer |\n",
        );
        out.push_str("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        let tantivy = self.query_tantivy.iter();
        let fts5 = self.query_fts5.iter();
        for (place, ((name, ours), ((_, tantivy), (_, fts5)))) in
            (0..).zip(self.query_llmwiki.iter().zip(tantivy.zip(fts5)))
        {
            let answer = self.answer.get(place).map(|(_, spread)| spread);
            let _ = writeln!(
                out,
                "| {name} | {} | {} | {} | {:.2} | {:.2} | {} |",
                spread(ours),
                spread(tantivy),
                spread(fts5),
                ours.cpu_p50 / tantivy.cpu_p50,
                ours.cpu_p50 / fts5.cpu_p50,
                answer.map_or_else(String::new, spread)
            );
        }
        let _ = writeln!(
            out,
            "\nGeometric mean of the ratios to tantivy: {:.2}. Words: {}.",
            self.geometric_mean(),
            self.bands.join("; ")
        );
        if let Some(cold) = self.cold {
            let _ = writeln!(
                out,
                "Cold search: {:.1} ms CPU (mean of {}), {:.1} ms wall (p50).",
                cold.cpu_mean, cold.runs, cold.wall_p50
            );
        }
        if self.answer_memory > 0 {
            let _ = writeln!(
                out,
                "Peak memory of the process that answered: {} MiB.",
                mebibytes(self.answer_memory)
            );
        }
        out.push('\n');
    }

    fn ratios(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        self.query_llmwiki
            .iter()
            .zip(&self.query_tantivy)
            .map(|((name, ours), (_, theirs))| {
                (name.as_str(), ours.cpu_p50 / theirs.cpu_p50, ours.cpu_p50)
            })
    }

    fn geometric_mean(&self) -> f64 {
        let (count, sum) = self
            .ratios()
            .fold((0.0, 0.0), |(count, sum), (_, ratio, _)| {
                (count + 1.0, sum + ratio.ln())
            });
        (sum / count).exp()
    }

    /// What we set out to reach, and whether we did.
    fn reach(&self, out: &mut String) {
        let mut rows: Vec<(String, String, bool)> = Vec::new();
        if let Some(Upserts { time, .. }) = self.upsert_llmwiki {
            rows.push(row("upsert, CPU p50", time.cpu_p50, 3.0, "ms"));
            rows.push(row("upsert, CPU mean", time.cpu_mean, 8.0, "ms"));
        }
        if self.size == 100_000 && !self.query_llmwiki.is_empty() {
            let mean = self.geometric_mean();
            rows.push(row("queries : tantivy, geometric mean", mean, 1.0, ""));
            let worst = self
                .ratios()
                .filter(|(_, _, time)| *time >= 0.1)
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((name, ratio, _)) = worst {
                let name = format!("queries : tantivy, worst from 0.1 ms on ({name})");
                rows.push(row(&name, ratio, 1.4, ""));
            }
        }
        if let Some(cold) = self.cold {
            match self.size {
                10_000 => rows.push(row("cold search, CPU", cold.cpu_mean, 30.0, "ms")),
                1_000_000 => rows.push(row("cold search, CPU", cold.cpu_mean, 700.0, "ms")),
                _ => {}
            }
        }
        if let (Some(ours), Some(fts5)) = (self.reindex, self.build_fts5) {
            rows.push(row("`reindex` : FTS5, CPU", ours.cpu / fts5.cpu, 4.0, ""));
            let memory = ours.memory as f64 / f64::from(1 << 30);
            rows.push(row("`reindex`, peak memory", memory, 2.0, "GiB"));
        }
        if rows.is_empty() {
            return;
        }
        out.push_str("| reach | measured | at most | |\n| --- | ---: | ---: | --- |\n");
        for (name, values, met) in rows {
            let _ = writeln!(
                out,
                "| {name} | {values} | {} |",
                if met { "met" } else { "missed" }
            );
        }
        out.push('\n');
    }
}

fn row(name: &str, value: f64, limit: f64, unit: &str) -> (String, String, bool) {
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(" {unit}")
    };
    let values = format!("{value:.2}{unit} | {limit}{unit}");
    (name.to_owned(), values, value <= limit)
}

fn spread(spread: &Spread) -> String {
    format!("{} / {}", short(spread.cpu_p50), short(spread.cpu_p99))
}

fn short(milliseconds: f64) -> String {
    if milliseconds < 0.1 {
        format!("{milliseconds:.3}")
    } else {
        format!("{milliseconds:.2}")
    }
}

pub fn mebibytes(bytes: u64) -> String {
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    if mebibytes < 10.0 {
        format!("{mebibytes:.1}")
    } else {
        format!("{mebibytes:.0}")
    }
}

pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
