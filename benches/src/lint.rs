//! `bench lint`: lint beside one plain loop over the same files and rows.
//!
//! The loop is what no lint can do without: it lists the wiki, reads and hashes (SHA-256) every
//! file, parses every page (pulldown-cmark, CommonMark with tables) and scans every row of the
//! store once, all with the plainest calls and on one thread. It opens files by path, asks nothing
//! about links or kinds, checks nothing and remembers nothing.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::ValueEnum;
use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::id::{ContentHash, SourceId};
use llmwiki::lint::{LintOptions, LintReport, run as lint};
use llmwiki::source::Metadata;
use llmwiki::wiki::Wiki;
use pulldown_cmark::{Options, Parser};
use redb::{ReadableTable, TableDefinition, TableHandle};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::corpus::{Corpus, Rng};
use crate::engines::{Result, llmwiki as engine};
use crate::measure;
use crate::report::{grouped, machine, mebibytes, replace_part};

/// How often each is run, in turns; the middle one counts.
const ROUNDS: usize = 5;
/// Length of the one source of the memory steps.
const LARGE_SOURCE_BYTES: u64 = 500_000_000;
/// Usual length of a source.
const SOURCE_BYTES: usize = 3000;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Number of pages, and of sources; may be given several times [default: 10000 and 100000]
    #[arg(long)]
    size: Vec<u64>,
    /// Where the wikis are made, or were made by an earlier run; kept afterwards. A temporary
    /// directory when not given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Where the table is written to
    #[arg(long, value_name = "FILE", default_value = crate::default_report())]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    Build,
    Lint,
    Loop,
    BuildLarge,
    IndexLarge,
}

/// One run of lint or of the loop.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Cost {
    cpu: f64,
    wall: f64,
    memory: u64,
    files: u64,
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let temporary = std::env::temp_dir().join(format!("llmwiki-bench-{}", std::process::id()));
    let base = arguments.dir.as_deref().unwrap_or(&temporary);
    let sizes: &[u64] = if arguments.size.is_empty() {
        &[10_000, 100_000]
    } else {
        &arguments.size
    };
    let found = sizes
        .iter()
        .map(|&size| measured(&base.join(format!("lint-{size}")), size))
        .collect::<Result<Vec<_>>>()?;
    let large = base.join("lint-large");
    in_process::<serde_json::Value>(Step::BuildLarge, &large, 1)?;
    let tree_alone: Cost = in_process(Step::Lint, &large, 1)?;
    in_process::<serde_json::Value>(Step::IndexLarge, &large, 1)?;
    let with_store: Cost = in_process(Step::Lint, &large, 1)?;
    fs::remove_dir_all(&large)?;
    if arguments.dir.is_none() {
        fs::remove_dir_all(&temporary)?;
    }
    let text = render(&found, tree_alone, with_store);
    replace_part(&arguments.out, "lint", &text)?;
    print!("{text}");
    Ok(())
}

struct Measured {
    size: u64,
    wiki_bytes: u64,
    store_bytes: u64,
    lint: Cost,
    plain: Cost,
}

fn measured(dir: &Path, size: u64) -> Result<Measured> {
    if !dir.exists() {
        eprintln!("{size} pages and sources: build");
        in_process::<serde_json::Value>(Step::Build, dir, size)?;
    }
    let (mut lints, mut loops) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let found: Cost = in_process(Step::Lint, dir, size)?;
        let plain: Cost = in_process(Step::Loop, dir, size)?;
        eprintln!("{size} pages and sources, round {round}: {found:?}, {plain:?}");
        lints.push(found);
        loops.push(plain);
    }
    let store_bytes = engine::store_bytes(dir);
    Ok(Measured {
        size,
        wiki_bytes: measure::bytes_below(dir) - store_bytes,
        store_bytes,
        lint: middle(lints),
        plain: middle(loops),
    })
}

fn middle(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    costs[costs.len() / 2]
}

/// Runs a step in a process of its own.
fn in_process<T: for<'a> Deserialize<'a>>(step: Step, dir: &Path, size: u64) -> Result<T> {
    let name = step.to_possible_value();
    let output = Command::new(std::env::current_exe()?)
        .arg("lint-step")
        .arg(name.as_ref().map_or("", |name| name.get_name()))
        .args(["--size", &size.to_string(), "--dir"])
        .arg(dir)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("step {step:?} ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub fn step(step: Step, dir: &Path, size: u64) -> Result<serde_json::Value> {
    Ok(match step {
        Step::Build => {
            let corpus = Corpus::of_pages(size, SOURCE_BYTES);
            engine::import(dir, &corpus)?;
            json!({})
        }
        Step::Lint => {
            let (cost, report) = timed(|| linted(&engine::root(dir)))?;
            json!(Cost {
                files: report.files_examined,
                ..cost
            })
        }
        Step::Loop => {
            let (cost, files) = timed(|| plain_loop(&engine::root(dir)))?;
            json!(Cost { files, ..cost })
        }
        Step::BuildLarge => {
            large_source(dir)?;
            json!({})
        }
        Step::IndexLarge => {
            let mut config = Config::default();
            config.limits.max_source_bytes = LARGE_SOURCE_BYTES;
            Wiki::new(engine::root(dir), config).reindex(&Context::default())?;
            json!({})
        }
    })
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Cost, T)> {
    let (started, cpu) = (Instant::now(), measure::cpu());
    let done = work()?;
    let cost = Cost {
        cpu: measure::cpu().saturating_sub(cpu).as_secs_f64(),
        wall: started.elapsed().as_secs_f64(),
        memory: measure::peak_memory(),
        files: 0,
    };
    Ok((cost, done))
}

/// Lints a wiki that must be sound but for pages that nobody links to.
fn linted(root: &Path) -> Result<LintReport> {
    let report = lint(root, &Context::default(), &LintOptions::default())?;
    let fault = report
        .diagnostics
        .iter()
        .find(|found| !["ORPHAN_PAGE", "INDEX_MISSING"].contains(&found.code));
    match fault {
        Some(fault) => Err(format!("the wiki is not sound: {fault:?}").into()),
        None => Ok(report),
    }
}

fn plain_loop(root: &Path) -> Result<u64> {
    let mut files = Vec::new();
    list(root, &mut files)?;
    for path in &files {
        let bytes = fs::read(path)?;
        std::hint::black_box(Sha256::digest(&bytes));
        if path.extension().is_some_and(|ending| ending == "md") {
            let text = String::from_utf8(bytes)?;
            let events = Parser::new_ext(&text, Options::ENABLE_TABLES).into_offset_iter();
            std::hint::black_box(events.count());
        }
    }
    scan_rows(&root.join(".store/wiki.redb"))?;
    Ok(files.len() as u64)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            files.push(entry.path());
        } else if entry.file_name() != ".store" {
            list(&entry.path(), files)?;
        }
    }
    Ok(())
}

/// Reads every key and every value once.
fn scan_rows(store: &Path) -> Result<()> {
    let database = redb::ReadOnlyDatabase::open(store)?;
    let rows = redb::ReadableDatabase::begin_read(&database)?;
    let names: Vec<String> = rows
        .list_tables()?
        .map(|table| table.name().to_owned())
        .collect();
    let mut bytes = 0;
    for name in &names {
        if let Ok(table) = rows.open_table(TableDefinition::<&[u8], &[u8]>::new(name)) {
            for row in table.iter()? {
                let (key, value) = row?;
                bytes += key.value().len() + sum(value.value());
            }
        } else if let Ok(table) = rows.open_table(TableDefinition::<u64, &[u8]>::new(name)) {
            for row in table.iter()? {
                bytes += sum(row?.1.value());
            }
        } else {
            let table = rows.open_table(TableDefinition::<u32, &[u8]>::new(name))?;
            for row in table.iter()? {
                bytes += sum(row?.1.value());
            }
        }
    }
    std::hint::black_box(bytes);
    Ok(())
}

fn sum(bytes: &[u8]) -> usize {
    bytes.iter().map(|&byte| usize::from(byte)).sum()
}

/// A wiki with one large source, which hardly can be compressed, and no store.
fn large_source(dir: &Path) -> Result<()> {
    let root = engine::root(dir);
    let staged = root.join("staged");
    fs::create_dir_all(root.join("pages"))?;
    fs::write(root.join("schema.md"), "# Schema\n")?;
    let mut file = fs::File::create(&staged)?;
    let mut hasher = Sha256::new();
    let mut rng = Rng::new("large source", 0);
    let mut line = vec![b'\n'; 100_000];
    for _ in 0..LARGE_SOURCE_BYTES / line.len() as u64 {
        let end = line.len() - 1;
        for byte in &mut line[..end] {
            *byte = b' ' + rng.below(95) as u8;
        }
        hasher.update(&line);
        file.write_all(&line)?;
    }
    drop(file);
    let hash = ContentHash::from_bytes(hasher.finalize().into());
    let id = SourceId::from_hash(hash);
    let source = root.join(format!("sources/{id}"));
    fs::create_dir_all(&source)?;
    fs::rename(staged, source.join("content"))?;
    let record = Metadata {
        id,
        name: "large.txt".to_owned(),
        media_type: "text/plain".to_owned(),
        byte_count: LARGE_SOURCE_BYTES,
        captured_at: "2026-02-03T04:05:06.789Z".to_owned(),
        origin: None,
    };
    fs::write(source.join("metadata.json"), record.render())?;
    Ok(())
}

const INTRODUCTION: &str = "# Lint

`lint` beside a plain loop over the same wiki, on one thread: it lists the files, reads and hashes \
(SHA-256) each, parses each page (pulldown-cmark) and scans each row of the store once. Both run \
warm, each in a process of its own, in turns; the middle of five runs counts. A wiki has as many \
sources as pages, each of about 3 KB, and a store. Written by

";

fn render(measured: &[Measured], tree_alone: Cost, with_store: Cost) -> String {
    let mut out = String::from(INTRODUCTION);
    let sizes: Vec<String> = measured
        .iter()
        .map(|one| format!(" --size {}", one.size))
        .collect();
    let _ = writeln!(
        out,
        "```sh\ncargo run --release --manifest-path benches/Cargo.toml -- lint{}\n```\n",
        sizes.concat()
    );
    let _ = writeln!(out, "Measured on {}.\n", machine());
    out.push_str(
        "| pages and sources | tree MiB | store MiB | lint CPU s | loop CPU s | lint : loop | lint wall s | peak MiB |\n",
    );
    out.push_str("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for one in measured {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {} |",
            grouped(one.size),
            mebibytes(one.wiki_bytes),
            mebibytes(one.store_bytes),
            one.lint.cpu,
            one.plain.cpu,
            one.lint.cpu / one.plain.cpu,
            one.lint.wall,
            mebibytes(one.lint.memory)
        );
    }
    let _ = writeln!(
        out,
        "\nA wiki with one source of {} MB: {:.2} s CPU and a peak of {} MiB of memory; with a store \
         that holds it too: {:.2} s and {} MiB.",
        LARGE_SOURCE_BYTES / 1_000_000,
        tree_alone.cpu,
        mebibytes(tree_alone.memory),
        with_store.cpu,
        mebibytes(with_store.memory)
    );
    out
}
