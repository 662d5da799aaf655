//! `bench engine`: llmwiki beside tantivy and SQLite FTS5, on made-up wikis of stated sizes.
//! `bench lint`: lint beside a plain loop over the same files.
//! `bench code`: the code index beside a plain loop over the same files, and `git status`.
//! `bench projects`: questions to other projects.
//!
//! Each step runs in a process of its own, so that peak memory is that of the step, and tells what
//! it cost as one JSON line. What was measured is written to docs/benchmarks.md, one
//! part each.

mod code;
mod codeqa;
mod corpus;
mod engines;
mod ir;
mod lint;
mod mcp;
mod measure;
mod projects;
mod report;
mod steps;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;

use engines::Result;
use report::Results;
use steps::Step;

/// That of the program, for llmwiki and tantivy alike; SQLite brings its own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
#[command(about = "Measures llmwiki beside its peers")]
enum Arguments {
    /// Bulk build, upserts, queries, cold search, size and memory, beside tantivy and FTS5
    Engine(Engine),
    /// How well it finds what was asked for
    #[command(subcommand)]
    Eval(Eval),
    /// What one call of an MCP tool costs beyond the operation itself
    Mcp {
        /// How many calls are measured
        #[arg(long, default_value_t = 2000)]
        calls: u64,
    },
    /// What it costs to ask other projects
    Projects {
        /// Where the table is written to
        #[arg(long, value_name = "FILE", default_value = default_report())]
        out: PathBuf,
    },
    /// The server that holds the projects, in its own process
    #[command(hide = true)]
    ProjectsServer,
    /// Lint beside a plain loop over the same files and rows
    Lint(lint::Arguments),
    /// The index of a code base beside a plain loop, and what nothing changed costs beside git
    Code(code::Arguments),
    /// One step of `code`, in its own process
    #[command(hide = true)]
    CodeStep { step: code::Step, dir: PathBuf },
    /// One step of `lint`, in its own process
    #[command(hide = true)]
    LintStep {
        step: lint::Step,
        #[arg(long)]
        size: u64,
        #[arg(long)]
        dir: PathBuf,
    },
    /// One step, in its own process
    #[command(hide = true)]
    Step {
        step: Step,
        #[arg(long)]
        size: u64,
        #[arg(long)]
        dir: PathBuf,
        #[arg(long)]
        llmwiki: PathBuf,
    },
}

#[derive(Debug, clap::Subcommand)]
enum Eval {
    /// Questions about code bases
    Codeqa(codeqa::CodeQa),
    /// A retrieval test collection, beside tantivy and FTS5
    Ir(ir::Ir),
}

#[derive(Debug, clap::Args)]
struct Engine {
    /// Number of sections; may be given several times [default: 10000 and 100000]
    #[arg(long)]
    size: Vec<u64>,
    /// Where the wikis are made; kept afterwards. A temporary directory when not given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Only these steps, on what an earlier run left in --dir
    #[arg(long, value_enum, value_delimiter = ',', requires = "dir")]
    steps: Vec<Step>,
    /// The program for cold searches; this one knows its commands too
    #[arg(long, value_name = "PROGRAM")]
    llmwiki: Option<PathBuf>,
    /// Where the tables are written to
    #[arg(long, value_name = "FILE", default_value = default_report())]
    out: PathBuf,
}

fn default_report() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks.md")
}

fn main() -> ExitCode {
    // Called by the name `llmwiki`, this is `llmwiki`: cold searches need a program, and building a
    // second one would double the time before anything is measured.
    let called = std::env::args_os().next().map(PathBuf::from);
    if called.is_some_and(|path| path.file_name().is_some_and(|name| name == "llmwiki")) {
        return llmwiki::cli::run(std::env::args_os());
    }
    let done = match Arguments::parse() {
        Arguments::Engine(engine) => run(&engine),
        Arguments::Eval(Eval::Codeqa(codeqa)) => codeqa::run(&codeqa),
        Arguments::Eval(Eval::Ir(ir)) => ir::run(&ir),
        Arguments::Mcp { calls } => mcp::run(calls),
        Arguments::Projects { out } => projects::run(&out),
        Arguments::ProjectsServer => projects::serve(),
        Arguments::Lint(arguments) => lint::main(&arguments),
        Arguments::Code(arguments) => code::main(&arguments),
        Arguments::CodeStep { step, dir } => {
            code::step(step, &dir).map(|found| println!("{found}"))
        }
        Arguments::LintStep { step, size, dir } => {
            lint::step(step, &dir, size).map(|found| println!("{found}"))
        }
        Arguments::Step {
            step,
            size,
            dir,
            llmwiki,
        } => steps::run(step, size, &dir, &llmwiki).map(|results| println!("{results}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(engine: &Engine) -> Result<()> {
    let temporary = std::env::temp_dir().join(format!("llmwiki-bench-{}", std::process::id()));
    let base = engine.dir.as_deref().unwrap_or(&temporary);
    let sizes: &[u64] = if engine.size.is_empty() {
        &[10_000, 100_000]
    } else {
        &engine.size
    };
    let measured = sizes.iter().map(|&size| measure(engine, base, size));
    let measured: Result<Vec<Results>> = measured.collect();
    if engine.dir.is_none() {
        std::fs::remove_dir_all(&temporary)?;
    }
    let text = report::render(&measured?);
    report::replace_part(&engine.out, "engine", &text)?;
    print!("{text}");
    Ok(())
}

fn measure(engine: &Engine, base: &Path, size: u64) -> Result<Results> {
    let dir = base.join(size.to_string());
    let results_file = dir.join("results.json");
    if engine.steps.is_empty() && dir.exists() {
        return Err(format!("{} is in the way", dir.display()).into());
    }
    std::fs::create_dir_all(&dir)?;
    let llmwiki = match &engine.llmwiki {
        Some(program) => program.clone(),
        None => own_program(&dir)?,
    };
    let mut results = serde_json::Map::new();
    if let Ok(text) = std::fs::read_to_string(&results_file) {
        results = serde_json::from_str(&text)?;
    }
    results.insert("size".to_owned(), size.into());
    let steps = if engine.steps.is_empty() {
        Step::ALL
    } else {
        &engine.steps
    };
    for &step in steps {
        eprintln!("{size} sections: {}", step.name());
        let output = Command::new(std::env::current_exe()?)
            .args(["step", &step.name(), "--size", &size.to_string(), "--dir"])
            .arg(&dir)
            .arg("--llmwiki")
            .arg(&llmwiki)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("step {} ended with {}", step.name(), output.status).into());
        }
        let found: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&output.stdout)?;
        eprintln!("  {}", serde_json::Value::Object(found.clone()));
        results.extend(found);
        std::fs::write(&results_file, serde_json::to_vec_pretty(&results)?)?;
    }
    Ok(serde_json::from_value(results.into())?)
}

fn own_program(dir: &Path) -> Result<PathBuf> {
    let link = dir.join("llmwiki-program").join("llmwiki");
    std::fs::create_dir_all(dir.join("llmwiki-program"))?;
    if std::fs::symlink_metadata(&link).is_ok() {
        std::fs::remove_file(&link)?;
    }
    std::os::unix::fs::symlink(std::env::current_exe()?, &link)?;
    Ok(link)
}
