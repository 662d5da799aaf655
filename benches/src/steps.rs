//! The steps of a benchmark. Each leaves its work in the directory for those after it and answers
//! with a JSON object of what it measured, under names of [`crate::report::Results`].

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::corpus::{Corpus, Page, Rng};
use crate::engines::{Result, fts5, llmwiki, tantivy};
use crate::measure::{self, Samples, Spread};
use crate::report::{Cold, Upserts};

/// Writes of one page each.
const UPSERTS: u64 = 320;
/// Queries of each class.
const QUERIES: usize = 40;
/// A class is asked in rounds until this much time has gone, but at least twice.
const CLASS_TIME: Duration = Duration::from_millis(1500);
const MAX_ROUNDS: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Step {
    Import,
    Reindex,
    BuildTantivy,
    BuildFts5,
    Pick,
    Cold,
    BuildTerms,
    Query,
    Answer,
    UpsertLlmwiki,
    UpsertTantivy,
    UpsertFts5,
}

impl Step {
    pub const ALL: &[Self] = &[
        Self::Import,
        Self::Reindex,
        Self::BuildTantivy,
        Self::BuildFts5,
        Self::Pick,
        Self::Cold,
        Self::BuildTerms,
        Self::Query,
        Self::Answer,
        Self::UpsertLlmwiki,
        Self::UpsertTantivy,
        Self::UpsertFts5,
    ];

    pub fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Queries of one class.
#[derive(Debug, Serialize, Deserialize)]
struct Class {
    name: String,
    queries: Vec<Vec<String>>,
}

pub fn run(step: Step, size: u64, dir: &Path, program: &Path) -> Result<Value> {
    let corpus = Corpus::new(size);
    Ok(match step {
        Step::Import => json!({
            "pages": corpus.pages(),
            "sources": corpus.sources(),
            "import": llmwiki::import(dir, &corpus)?,
        }),
        Step::Reindex => {
            let (build, sections) = llmwiki::reindex(dir)?;
            if sections != size {
                return Err(format!("{sections} sections were indexed").into());
            }
            json!({ "reindex": build })
        }
        Step::BuildTantivy => json!({ "build_tantivy": tantivy::build(dir, &corpus)? }),
        Step::BuildFts5 => json!({ "build_fts5": fts5::build(dir, &corpus)? }),
        Step::Pick => pick(dir, &corpus)?,
        Step::Cold => cold(dir, program)?,
        Step::BuildTerms => {
            tantivy::build_terms(dir, &corpus)?;
            fts5::Table::open(dir)?.optimize()?;
            json!({})
        }
        Step::Query => query(dir)?,
        Step::Answer => answer(dir)?,
        Step::UpsertLlmwiki => {
            let wiki = llmwiki::wiki(dir);
            let context = ::llmwiki::context::Context::default();
            let mut write = |page: &Page, _| {
                let request = llmwiki::upsert(page)?;
                let report = wiki.upsert_page(&context, request)?;
                if report.unchanged {
                    return Err("the page was not changed".into());
                }
                Ok(())
            };
            let one_section = upserts(&corpus, 1, true, &mut write)?;
            let whole_page = upserts(&corpus, 2, false, &mut write)?;
            json!({
                "upsert_llmwiki_section": one_section,
                "upsert_llmwiki": whole_page,
                "bytes_after_upserts": llmwiki::store_bytes(dir),
            })
        }
        Step::UpsertTantivy => {
            let mut index = tantivy::Upserts::open(dir)?;
            let mut whole_page = upserts(&corpus, 2, false, &mut |page, number| {
                index.upsert(number, &merged(page))
            })?;
            let rest = measure::cpu();
            index.finish()?;
            let rest = measure::cpu().saturating_sub(rest).as_secs_f64() * 1e3;
            whole_page.time.cpu_mean += rest / UPSERTS as f64;
            json!({ "upsert_tantivy": whole_page })
        }
        Step::UpsertFts5 => {
            let mut table = fts5::Table::open(dir)?;
            let whole_page = upserts(&corpus, 2, false, &mut |page, number| {
                table.upsert(number, &merged(page))
            })?;
            json!({ "upsert_fts5": whole_page })
        }
    })
}

fn merged(page: &Page) -> Vec<String> {
    (0..page.sections.len()).map(|at| page.merged(at)).collect()
}

/// Writes pages in a new text, one at a time. The making of the text is not measured.
fn upserts(
    corpus: &Corpus,
    revision: u64,
    one_section: bool,
    write: &mut dyn FnMut(&Page, u64) -> Result<()>,
) -> Result<Upserts> {
    let mut rng = Rng::new("upserts", revision);
    let mut samples = Samples::default();
    let mut written = 0;
    for _ in 0..UPSERTS {
        let number = rng.below(corpus.pages());
        let revision = revision * UPSERTS + samples.len() as u64;
        let changed = if one_section { 0 } else { usize::MAX };
        let page = corpus.page_at(number, revision, changed);
        let before = measure::written();
        samples.process(|| write(&page, number))?;
        written += measure::written().saturating_sub(before);
    }
    Ok(Upserts {
        time: samples.spread(),
        bytes: written / UPSERTS,
    })
}

/// Chooses words by how many sections hold them, and makes queries of them.
fn pick(dir: &Path, corpus: &Corpus) -> Result<Value> {
    let index = llmwiki::Index::open(dir)?;
    let count = index.document_count()?;
    let bands = [
        ("common", count / 20, count / 2),
        ("mid", count / 1000, count / 100),
        ("rare", 3, (count / 5000).max(20)),
    ];
    let mut words: [Vec<String>; 3] = Default::default();
    let mut seen = std::collections::BTreeSet::new();
    for rank in 0..corpus.words() {
        if words.iter().all(|band| band.len() >= 200) || rank > 60_000 {
            break;
        }
        let word = corpus.word(rank);
        let terms = llmwiki::terms(&word);
        let [(term, _)] = terms.as_slice() else {
            continue;
        };
        if !seen.insert(term.clone()) {
            continue;
        }
        let frequency = index.document_frequency(term)?;
        for ((_, low, high), band) in bands.iter().zip(&mut words) {
            if (*low..=*high).contains(&frequency) && band.len() < 200 {
                band.push(word.clone());
            }
        }
    }
    if let Some(place) = words.iter().position(Vec::is_empty) {
        return Err(format!("no word is {}", bands[place].0).into());
    }
    let mut classes = Vec::new();
    let mut rng = Rng::new("queries", 0);
    let [common, mid, rare] = [0, 1, 2];
    for (name, bands) in [
        ("1 common", &[common][..]),
        ("1 mid", &[mid]),
        ("1 rare", &[rare]),
        ("2 common", &[common, common]),
        ("2 mid", &[mid, mid]),
        ("2 rare", &[rare, rare]),
        ("2 mixed", &[common, rare]),
        ("4 common", &[common, common, common, common]),
        ("4 mid", &[mid, mid, mid, mid]),
        ("4 rare", &[rare, rare, rare, rare]),
        ("4 mixed", &[common, mid, mid, rare]),
    ] {
        let mut queries = Vec::new();
        while queries.len() < QUERIES {
            let mut query: Vec<String> = Vec::new();
            while query.len() < bands.len() {
                let band = &words[bands[query.len()]];
                let word = &band[rng.below(band.len() as u64) as usize];
                if !query.contains(word) || band.len() < bands.len() {
                    query.push(word.clone());
                }
            }
            queries.push(query);
        }
        classes.push(Class {
            name: name.to_owned(),
            queries,
        });
    }
    std::fs::write(dir.join("queries.json"), serde_json::to_vec(&classes)?)?;
    let found: Vec<String> = bands
        .iter()
        .zip(&words)
        .map(|((name, low, high), band)| {
            format!("{name}: in {low} to {high} sections, {} words", band.len())
        })
        .collect();
    Ok(json!({ "bands": found }))
}

fn classes(dir: &Path) -> Result<Vec<Class>> {
    let text = std::fs::read(dir.join("queries.json"))?;
    Ok(serde_json::from_slice(&text)?)
}

fn cold(dir: &Path, program: &Path) -> Result<Value> {
    let classes = classes(dir)?;
    let queries: Vec<String> = classes
        .iter()
        .flat_map(|class| class.queries.iter().take(2))
        .map(|words| words.join(" "))
        .collect();
    // What is young when it is indexed is looked at once more.
    llmwiki::cold_search(program, dir, &queries[0])?;
    let before = measure::children_cpu();
    let mut wall = Vec::new();
    for query in &queries {
        let started = Instant::now();
        llmwiki::cold_search(program, dir, query)?;
        wall.push(started.elapsed());
    }
    let cpu = measure::children_cpu().saturating_sub(before);
    wall.sort_unstable();
    Ok(json!({ "cold": Cold {
        runs: queries.len() as u64,
        cpu_mean: cpu.as_secs_f64() * 1e3 / queries.len() as f64,
        wall_p50: wall[wall.len() / 2].as_secs_f64() * 1e3,
    } }))
}

/// Asks the queries of a class in rounds.
fn ask(queries: usize, ask: &mut dyn FnMut(usize) -> Result<()>) -> Result<Samples> {
    // Warm: what is kept between queries is there.
    for query in 0..queries {
        ask(query)?;
    }
    let mut samples = Samples::default();
    for round in 0..MAX_ROUNDS {
        if round >= 2 && samples.total_wall() > CLASS_TIME {
            break;
        }
        for query in 0..queries {
            samples.thread(|| ask(query))?;
        }
    }
    Ok(samples)
}

/// Ranking alone, all engines in one process, class by class.
fn query(dir: &Path) -> Result<Value> {
    let index = llmwiki::Index::open(dir)?;
    let terms = tantivy::Terms::open(dir)?;
    let table = fts5::Table::open(dir)?;
    let mut found: BTreeMap<&str, Vec<(String, Spread)>> = BTreeMap::new();
    for class in classes(dir)? {
        let asked: Vec<Vec<(String, u32)>> = class
            .queries
            .iter()
            .map(|words| llmwiki::terms(&words.join(" ")))
            .collect();
        for (term, _) in asked.iter().flatten() {
            if index.document_frequency(term)? != terms.document_frequency(term)? {
                return Err(format!("{term} is not in as many sections for tantivy").into());
            }
        }
        let count = asked.len();
        let mut keep = |engine, samples: Samples| {
            let list = found.entry(engine).or_default();
            list.push((class.name.clone(), samples.spread()));
        };
        keep(
            "query_llmwiki",
            ask(count, &mut |at| index.search(&asked[at]).map(drop))?,
        );
        keep(
            "query_tantivy",
            ask(count, &mut |at| terms.search(&asked[at]).map(drop))?,
        );
        keep(
            "query_fts5",
            ask(count, &mut |at| table.search(&class.queries[at]).map(drop))?,
        );
    }
    Ok(json!(found))
}

/// Whole answers of a handle that stays open.
fn answer(dir: &Path) -> Result<Value> {
    let wiki = llmwiki::wiki(dir);
    let mut found = Vec::new();
    for class in classes(dir)? {
        let asked: Vec<String> = class.queries.iter().map(|words| words.join(" ")).collect();
        let samples = ask(asked.len().min(10), &mut |at| {
            llmwiki::answer(&wiki, &asked[at]).map(drop)
        })?;
        found.push((class.name, samples.spread()));
    }
    Ok(json!({ "answer": found, "answer_memory": measure::peak_memory() }))
}
