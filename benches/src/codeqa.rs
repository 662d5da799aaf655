//! `bench eval codeqa`: questions about code bases, answered from a code index of each, in the form
//! that a scorer reads: one JSON object a line with the hits, best first.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::wiki::Wiki;
use serde::{Deserialize, Serialize};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Hits for each question.
const HITS: usize = 20;

#[derive(Debug, clap::Args)]
pub struct CodeQa {
    /// A folder that holds one folder for each code base
    dir: PathBuf,
    /// The questions: JSON lines with `id`, `code_base`, `question`
    #[arg(long, value_name = "FILE")]
    questions: PathBuf,
    /// Where the results are written to
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Question {
    id: String,
    code_base: String,
    question: String,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    id: &'a str,
    hits: Vec<Hit>,
    ms: f64,
}

#[derive(Debug, Serialize)]
struct Hit {
    file: String,
    start_line: u32,
    end_line: u32,
}

/// Answers every question.
pub fn run(arguments: &CodeQa) -> Result<()> {
    let mut by_base: BTreeMap<String, Vec<Question>> = BTreeMap::new();
    for line in BufReader::new(std::fs::File::open(&arguments.questions)?).lines() {
        let line = line?;
        if !line.trim().is_empty() {
            let question: Question = serde_json::from_str(&line)?;
            by_base
                .entry(question.code_base.clone())
                .or_default()
                .push(question);
        }
    }
    let mut out = BufWriter::new(std::fs::File::create(&arguments.out)?);
    let wikis = std::env::temp_dir().join(format!("llmwiki-codeqa-{}", std::process::id()));
    let mut times = Vec::new();
    for (base, questions) in &by_base {
        let project = arguments.dir.join(base);
        if !project.is_dir() {
            return Err(format!("{} is not there; see fetch.sh", project.display()).into());
        }
        answer(&project, &wikis.join(base), questions, &mut out, &mut times)?;
    }
    out.flush()?;
    std::fs::remove_dir_all(&wikis)?;
    times.sort_by(f64::total_cmp);
    if let (Some(median), Some(worst)) = (times.get(times.len() / 2), times.last()) {
        eprintln!(
            "{} questions, {median:.2} ms in the median, {worst:.2} at most",
            times.len()
        );
    }
    Ok(())
}

fn answer(
    project: &Path,
    root: &Path,
    questions: &[Question],
    out: &mut impl std::io::Write,
    times: &mut Vec<f64>,
) -> Result<()> {
    let config = Config {
        project: Some(project.to_owned()),
        ..Config::default()
    };
    let wiki = Wiki::new(root, config);
    let ctx = Context::default();
    let begun = Instant::now();
    let indexed = wiki.index_code(&ctx)?;
    eprintln!(
        "{}: {} files, {} chunks, {:.1} s",
        project.display(),
        indexed.code.files,
        indexed.code.chunks,
        begun.elapsed().as_secs_f64()
    );
    for question in questions {
        let begun = Instant::now();
        let found = wiki.evidence(&ctx, &question.question, HITS)?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        times.push(ms);
        let answer = Answer {
            id: &question.id,
            hits: found
                .chunks
                .into_iter()
                .map(|chunk| Hit {
                    file: chunk.file,
                    start_line: chunk.start_line,
                    end_line: chunk.end_line,
                })
                .collect(),
            ms,
        };
        serde_json::to_writer(&mut *out, &answer)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
