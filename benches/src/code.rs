//! `bench code`: the index of a real code base beside a plain loop over the same files, and what a
//! run costs that finds nothing changed beside `git status`.
//!
//! The loop is what no index of definitions can do without: it reads and hashes (SHA-256) every
//! file that llmwiki indexes, parses it with the same tree-sitter grammar and runs the tag queries
//! that come with that grammar, on one thread. It finds no files, remembers nothing, and looks
//! nothing up.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::wiki::Wiki;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use tree_sitter::{Language, Parser, Query, QueryCursor, StreamingIterator as _};

use crate::engines::Result;
use crate::measure::{self, Samples, Spread};
use crate::report::{grouped, machine, replace_part};

/// How often the index and the loop are run, in turns; the middle ones count.
const ROUNDS: usize = 3;
/// How often each program is run; the kernel counts the CPU time of children in hundredths of a
/// second.
const RUNS: u32 = 20;
/// Edits, and questions, that are measured.
const EDITS: usize = 40;
const QUESTIONS: usize = 200;
/// As in the index: larger files are not parsed.
const MAX_PARSED_BYTES: usize = 1 << 20;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The code base; it is copied and left alone
    project: PathBuf,
    /// What it is, for the report
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Where the copy and the wiki are made; removed afterwards
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Where the table is written to
    #[arg(long, value_name = "FILE", default_value = crate::default_report())]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    Index,
    Loop,
    Edit,
    Retrieve,
}

/// One run of the index or of the loop.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Cost {
    cpu: f64,
    wall: f64,
    memory: u64,
    files: u64,
    /// Chunks of the index, tags of the loop.
    found: u64,
}

/// Where things are.
struct Place {
    project: PathBuf,
    root: PathBuf,
}

impl Place {
    fn below(dir: &Path) -> Self {
        Self {
            project: dir.join("project"),
            root: dir.join("wiki"),
        }
    }

    fn wiki(&self) -> Wiki {
        let config = Config {
            project: Some(self.project.clone()),
            ..Config::default()
        };
        Wiki::new(self.root.clone(), config)
    }
}

pub fn main(arguments: &Arguments) -> Result<()> {
    let temporary = std::env::temp_dir().join(format!("llmwiki-bench-{}", std::process::id()));
    let dir = arguments.dir.as_deref().unwrap_or(&temporary);
    fs::create_dir(dir)?;
    let place = Place::below(dir);
    succeeds(
        Command::new("cp")
            .arg("-a")
            .arg(&arguments.project)
            .arg(&place.project),
    )?;
    if !place.project.join(".git").exists() {
        let git = |args: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
            succeeds(git.current_dir(&place.project).args(args))
        };
        git(&["init", "-q"])?;
        git(&["add", "-A"])?;
        git(&["commit", "-q", "-m", "all"])?;
    }
    let (mut indexes, mut loops) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if place.root.exists() {
            fs::remove_dir_all(&place.root)?;
        }
        let index: Cost = in_process(Step::Index, dir)?;
        let plain: Cost = in_process(Step::Loop, dir)?;
        eprintln!("round {round}: {index:?}, {plain:?}");
        indexes.push(index);
        loops.push(plain);
    }
    let retrieval: Retrieval = in_process(Step::Retrieve, dir)?;
    let llmwiki = crate::own_program(dir)?;
    let program = |arguments: &[&str]| {
        let mut command = Command::new(&llmwiki);
        command
            .env("XDG_CONFIG_HOME", dir.join("none"))
            .arg("--root")
            .arg(&place.root);
        command.arg("--project").arg(&place.project).args(arguments);
        command
    };
    succeeds(&mut program(&["generate", "--no-model"]))?;
    let generate = mean_cpu(|| program(&["generate", "--no-model"]))?;
    let ask = mean_cpu(|| program(&["ask", "--no-model", "where is the configuration read"]))?;
    let status = mean_cpu(|| {
        let mut git = Command::new("git");
        git.current_dir(&place.project).arg("status");
        git
    })?;
    let edits: Spread = in_process(Step::Edit, dir)?;
    let text = render(&Found {
        about: arguments.about.as_deref(),
        project: &arguments.project,
        index: middle(indexes),
        plain: middle(loops),
        generate,
        ask,
        status,
        edits,
        retrieval,
    });
    fs::remove_dir_all(dir)?;
    replace_part(&arguments.out, "code", &text)?;
    print!("{text}");
    Ok(())
}

fn middle(mut costs: Vec<Cost>) -> Cost {
    costs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    costs[costs.len() / 2]
}

fn succeeds(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!(
        "{} ended with {}: {said}",
        command.get_program().display(),
        output.status
    )
    .into())
}

/// CPU time of a program, in milliseconds.
fn mean_cpu(command: impl Fn() -> Command) -> Result<f64> {
    succeeds(&mut command())?;
    let before = measure::children_cpu();
    for _ in 0..RUNS {
        succeeds(&mut command())?;
    }
    let spent = measure::children_cpu().saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e3 / f64::from(RUNS))
}

/// Runs a step in a process of its own.
fn in_process<T: for<'a> Deserialize<'a>>(step: Step, dir: &Path) -> Result<T> {
    let name = step.to_possible_value();
    let output = Command::new(std::env::current_exe()?)
        .arg("code-step")
        .arg(name.as_ref().map_or("", |name| name.get_name()))
        .arg(dir)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("step {step:?} ended with {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub fn step(step: Step, dir: &Path) -> Result<serde_json::Value> {
    let place = Place::below(dir);
    Ok(match step {
        Step::Index => {
            let (cost, report) = timed(|| Ok(place.wiki().index_code(&Context::default())?))?;
            json!(Cost {
                files: report.code.files,
                found: report.code.chunks,
                ..cost
            })
        }
        Step::Loop => {
            let code = place.wiki().code_map(&Context::default())?;
            let files: Vec<(PathBuf, String)> = code
                .files
                .iter()
                .map(|file| (place.project.join(&file.path), file.language.clone()))
                .collect();
            let (cost, found) = timed(|| plain_loop(&files))?;
            json!(Cost {
                files: files.len() as u64,
                found,
                ..cost
            })
        }
        Step::Edit => json!(edits(&place)?),
        Step::Retrieve => json!(retrieval(&place)?),
    })
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Cost, T)> {
    let (started, cpu) = (Instant::now(), measure::cpu());
    let done = work()?;
    let cost = Cost {
        cpu: measure::cpu().saturating_sub(cpu).as_secs_f64(),
        wall: started.elapsed().as_secs_f64(),
        memory: measure::peak_memory(),
        ..Cost::default()
    };
    Ok((cost, done))
}

/// The grammar of a language, and the tag queries that come with it.
fn grammar(language: &str) -> Option<(Language, String)> {
    let (grammar, queries) = match language {
        "bash" => (tree_sitter_bash::LANGUAGE.into(), String::new()),
        "c" => (
            tree_sitter_c::LANGUAGE.into(),
            tree_sitter_c::TAGS_QUERY.to_owned(),
        ),
        "c++" => (
            tree_sitter_cpp::LANGUAGE.into(),
            tree_sitter_cpp::TAGS_QUERY.to_owned(),
        ),
        "go" => (
            tree_sitter_go::LANGUAGE.into(),
            tree_sitter_go::TAGS_QUERY.to_owned(),
        ),
        "java" => (
            tree_sitter_java::LANGUAGE.into(),
            tree_sitter_java::TAGS_QUERY.to_owned(),
        ),
        "javascript" => (
            tree_sitter_javascript::LANGUAGE.into(),
            tree_sitter_javascript::TAGS_QUERY.to_owned(),
        ),
        "lua" => (
            tree_sitter_lua::LANGUAGE.into(),
            tree_sitter_lua::TAGS_QUERY.to_owned(),
        ),
        "php" => (
            tree_sitter_php::LANGUAGE_PHP.into(),
            tree_sitter_php::TAGS_QUERY.to_owned(),
        ),
        "python" => (
            tree_sitter_python::LANGUAGE.into(),
            tree_sitter_python::TAGS_QUERY.to_owned(),
        ),
        "ruby" => (
            tree_sitter_ruby::LANGUAGE.into(),
            tree_sitter_ruby::TAGS_QUERY.to_owned(),
        ),
        "rust" => (
            tree_sitter_rust::LANGUAGE.into(),
            tree_sitter_rust::TAGS_QUERY.to_owned(),
        ),
        "tsx" | "typescript" => {
            let grammar = if language == "tsx" {
                tree_sitter_typescript::LANGUAGE_TSX
            } else {
                tree_sitter_typescript::LANGUAGE_TYPESCRIPT
            };
            let queries = [
                tree_sitter_javascript::TAGS_QUERY,
                tree_sitter_typescript::TAGS_QUERY,
            ];
            (grammar.into(), queries.concat())
        }
        _ => return None,
    };
    Some((grammar, queries))
}

/// Answers the number of tags.
fn plain_loop(files: &[(PathBuf, String)]) -> Result<u64> {
    let mut known: HashMap<&str, Option<(Parser, Query)>> = HashMap::new();
    let mut tags = 0;
    for (path, language) in files {
        let bytes = fs::read(path)?;
        std::hint::black_box(Sha256::digest(&bytes));
        if !known.contains_key(language.as_str()) {
            let made = match grammar(language) {
                Some((grammar, queries)) => {
                    let mut parser = Parser::new();
                    parser.set_language(&grammar)?;
                    Some((parser, Query::new(&grammar, &queries)?))
                }
                None => None,
            };
            known.insert(language, made);
        }
        let Some(Some((parser, query))) = known.get_mut(language.as_str()) else {
            continue;
        };
        if bytes.len() > MAX_PARSED_BYTES {
            continue;
        }
        let tree = parser.parse(&bytes, None).ok_or("a parse was given up")?;
        let mut cursor = QueryCursor::new();
        let mut matches = cursor.matches(query, tree.root_node(), bytes.as_slice());
        while matches.next().is_some() {
            tags += 1;
        }
    }
    Ok(tags)
}

/// One file changes, and the index follows, in one process.
fn edits(place: &Place) -> Result<Spread> {
    let wiki = place.wiki();
    let ctx = Context::default();
    let code = wiki.code_map(&ctx)?;
    let some = code
        .files
        .iter()
        .filter(|file| file.lines > 100 && !file.symbols.is_empty());
    let paths: Vec<PathBuf> = some.map(|file| place.project.join(&file.path)).collect();
    drop(code);
    let mut samples = Samples::default();
    for path in paths
        .iter()
        .step_by((paths.len() / EDITS).max(1))
        .take(EDITS)
    {
        let mut text = fs::read(path)?;
        text.extend_from_slice(b"\n\n");
        // What changed a moment ago is looked at twice; an editor is slower than this loop.
        std::thread::sleep(Duration::from_millis(30));
        fs::write(path, text)?;
        std::thread::sleep(Duration::from_millis(30));
        let report = samples.process(|| wiki.index_code(&ctx))?;
        if report.changed != 1 {
            return Err(format!("{} files changed, and not 1", report.changed).into());
        }
    }
    Ok(samples.spread())
}

/// Questions in one process: with a look at every file of the project, and of ranking alone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Retrieval {
    whole: Spread,
    ranked: Spread,
}

fn retrieval(place: &Place) -> Result<Retrieval> {
    let wiki = place.wiki();
    let ctx = Context::default();
    let code = wiki.code_map(&ctx)?;
    let mut names: Vec<String> = Vec::new();
    for file in &code.files {
        names.extend(file.symbols.first().map(|symbol| symbol.name.clone()));
    }
    let questions: Vec<String> = names
        .iter()
        .step_by((names.len() / QUESTIONS).max(1))
        .map(|name| format!("how does {} work", name.replace('_', " ")))
        .collect();
    let state = wiki.code(&ctx)?;
    let (mut whole, mut ranked) = (Samples::default(), Samples::default());
    for question in &questions {
        std::hint::black_box(whole.process(|| wiki.evidence(&ctx, question, 6))?);
        std::hint::black_box(ranked.process(|| state.retrieve(question, 6))?);
    }
    Ok(Retrieval {
        whole: whole.spread(),
        ranked: ranked.spread(),
    })
}

struct Found<'a> {
    about: Option<&'a str>,
    project: &'a Path,
    index: Cost,
    plain: Cost,
    generate: f64,
    ask: f64,
    status: f64,
    edits: Spread,
    retrieval: Retrieval,
}

fn render(found: &Found<'_>) -> String {
    let mut out = String::from("## The index of code, beside a plain loop and git\n\n");
    let project = found.project.file_name().unwrap_or(OsStr::new("DIR"));
    let _ = writeln!(
        out,
        "The index of a code base beside one loop, on one thread, that reads, hashes and parses the \
         same files with the same tree-sitter grammars and their tag queries \
         (`benches/src/code.rs`). {} files in {} chunks{}.\n\n```sh\ncargo run --release \
         --manifest-path benches/Cargo.toml -- code {}\n```\n\nMeasured on {}.\n",
        grouped(found.index.files),
        grouped(found.index.found),
        found
            .about
            .map(|about| format!(": {about}"))
            .unwrap_or_default(),
        project.display(),
        machine()
    );
    out.push_str(
        "| | CPU | beside | ratio | wall | memory |\n| --- | --: | --: | --: | --: | --: |\n",
    );
    let _ = writeln!(
        out,
        "| first index, loop | {:.2} s | {:.2} s | {:.2} | {:.2} s | {:.0} MiB |",
        found.index.cpu,
        found.plain.cpu,
        found.index.cpu / found.plain.cpu,
        found.index.wall,
        found.index.memory as f64 / f64::from(1 << 20)
    );
    for (name, cpu) in [("generate", found.generate), ("ask", found.ask)] {
        let _ = writeln!(
            out,
            "| `{name}`, nothing changed, `git status` | {cpu:.1} ms | {:.1} ms | {:.2} | | |",
            found.status,
            cpu / found.status
        );
    }
    out.push_str("\n| in one process, CPU | p50 | p99 | mean |\n| --- | --: | --: | --: |\n");
    for (name, spread) in [
        ("one file edited, index brought up to date", found.edits),
        (
            "retrieval, with the look at every file",
            found.retrieval.whole,
        ),
        (
            "retrieval, ranking and reading the chunks",
            found.retrieval.ranked,
        ),
    ] {
        let _ = writeln!(
            out,
            "| {name} | {:.2} ms | {:.2} ms | {:.2} ms |",
            spread.cpu_p50, spread.cpu_p99, spread.cpu_mean
        );
    }
    out
}
