//! `bench eval ir`: a retrieval test collection, searched by llmwiki and its peers.
//!
//! A collection is a folder with `corpus.jsonl` (`id`, `title`, `text`), `queries.jsonl` (`id`,
//! `text`) and, for scores, `qrels.tsv` (query, document, grade). Each document is a page of its
//! own; queries are given as they are. The run of llmwiki is written in TREC's six columns. The
//! peers get title and text as one field, and the words of a query joined by OR.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use llmwiki::config::Config;
use llmwiki::context::{Context, SystemClock};
use llmwiki::id::SourceId;
use llmwiki::limits::Limits;
use llmwiki::wiki::{SearchRequest, Wiki};
use rusqlite::{Connection, params};
use serde::Deserialize;
use serde_json::json;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value as _,
};
use tantivy::tokenizer::TokenStream as _;
use tantivy::{Index, TantivyDocument, Term};

use crate::engines::Result;
use crate::report::replace_part;

/// Hits for each query.
const DEPTH: usize = 100;
const SOURCE: &str = "A stand-in: test collections come without evidence.\n";

#[derive(Debug, clap::Args)]
pub struct Ir {
    /// Folders, each with one collection
    #[arg(required = true, value_name = "DIR")]
    collections: Vec<PathBuf>,
    /// Where the run is written to; with several collections, a folder for NAME.run
    #[arg(long, value_name = "RUN")]
    out: PathBuf,
    /// The analysis of llmwiki
    #[arg(long, value_name = "NAME", default_value = "standard", value_parser = ["standard", "classic"])]
    analysis: String,
    /// Leave the peers out, and the report as it is
    #[arg(long)]
    alone: bool,
    /// Where the table is written to
    #[arg(long, value_name = "FILE", default_value = crate::default_report())]
    report: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Text {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

struct Collection {
    name: String,
    documents: Vec<Text>,
    queries: Vec<Text>,
    /// Grades by query and document.
    judgements: HashMap<String, HashMap<String, u32>>,
}

/// Documents and scores of each query, best first.
type Run = Vec<Vec<(String, f64)>>;

/// Searches all collections, writes the runs, and prints the scores as a table.
pub fn run(arguments: &Ir) -> Result<()> {
    let mut table: Vec<(&str, Vec<String>)> = Vec::new();
    let mut names = Vec::new();
    for (at, dir) in arguments.collections.iter().enumerate() {
        let collection = Collection::load(dir)?;
        let mut engines: Vec<(&str, Run)> =
            vec![("llmwiki", with_llmwiki(&collection, &arguments.analysis)?)];
        let out = if arguments.collections.len() == 1 {
            arguments.out.clone()
        } else {
            std::fs::create_dir_all(&arguments.out)?;
            arguments.out.join(format!("{}.run", collection.name))
        };
        write_run(&collection, &engines[0].1, &out)?;
        if !arguments.alone {
            for (name, tokenizer) in [
                ("tantivy default", "default"),
                ("tantivy en_stem", "en_stem"),
            ] {
                engines.push((name, with_tantivy(&collection, tokenizer)?));
            }
            for (name, tokenizer) in [
                ("FTS5 unicode61", "unicode61"),
                ("FTS5 porter", "porter unicode61"),
                ("FTS5 trigram", "trigram"),
            ] {
                engines.push((name, with_fts5(&collection, tokenizer)?));
            }
        }
        for (row, (name, run)) in engines.into_iter().enumerate() {
            if at == 0 {
                table.push((name, Vec::new()));
            }
            table[row].1.push(collection.score(&run));
        }
        names.push(collection.name);
    }
    let mut text = String::from(REPORT_HEAD);
    let _ = writeln!(text, "| | {} |", names.join(" | "));
    let _ = writeln!(text, "| --- |{}", " --- |".repeat(names.len()));
    for (name, cells) in table {
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    print!("{text}");
    if !arguments.alone {
        replace_part(&arguments.report, "retrieval", &text)?;
    }
    Ok(())
}

const REPORT_HEAD: &str = "\
# Retrieval

nDCG@10 / Recall@100 / MRR@10 on test collections, each document a page, the queries as they are, one \
setting for all. The peers get title and text (FTS5 as two columns, tantivy as one field) and the \
words of a query joined by OR. Written by

```sh
cargo run --release --manifest-path benches/Cargo.toml -- eval ir DIR... --out RUNS
```

where each `DIR` holds `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`.

";

impl Collection {
    fn load(dir: &Path) -> Result<Self> {
        let read = |name: &str| -> Result<Vec<Text>> {
            let path = dir.join(name);
            let file = std::fs::File::open(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            let mut all = Vec::new();
            for line in BufReader::new(file).lines() {
                let line = line?;
                if !line.trim().is_empty() {
                    all.push(serde_json::from_str(&line)?);
                }
            }
            Ok(all)
        };
        let mut documents = read("corpus.jsonl")?;
        let count = documents.len();
        documents.retain(|document| !document.text.trim().is_empty());
        if documents.len() < count {
            let blank = count - documents.len();
            eprintln!("{}: {blank} blank documents are left out", dir.display());
        }
        let mut judgements: HashMap<String, HashMap<String, u32>> = HashMap::new();
        let qrels = dir.join("qrels.tsv");
        if qrels.exists() {
            for line in std::fs::read_to_string(&qrels)?.lines() {
                let columns: Vec<&str> = line.split_whitespace().collect();
                if let [query, .., document, grade] = columns[..]
                    && let Ok(grade) = grade.parse()
                {
                    let query = judgements.entry(query.to_owned()).or_default();
                    query.insert(document.to_owned(), grade);
                }
            }
        }
        Ok(Self {
            name: dir
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            documents,
            queries: read("queries.jsonl")?,
            judgements,
        })
    }

    /// Means over the queries that have a relevant document, as `trec_eval` takes them: hits by
    /// falling score, equal ones by falling id.
    fn score(&self, run: &Run) -> String {
        let (mut judged, mut sums) = (0_u32, [0.0; 3]);
        for (query, hits) in self.queries.iter().zip(run) {
            let Some(grades) = self.judgements.get(&query.id) else {
                continue;
            };
            let mut ideal: Vec<u32> = grades
                .values()
                .copied()
                .filter(|&grade| grade > 0)
                .collect();
            if ideal.is_empty() {
                continue;
            }
            judged += 1;
            let mut hits = hits.clone();
            hits.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(&a.0)));
            let found: Vec<u32> = hits
                .iter()
                .map(|(document, _)| grades.get(document).copied().unwrap_or(0))
                .collect();
            ideal.sort_unstable_by(|a, b| b.cmp(a));
            sums[0] += gain(&found) / gain(&ideal);
            let relevant = found.iter().take(DEPTH).filter(|&&grade| grade > 0).count();
            sums[1] += relevant as f64 / ideal.len() as f64;
            let first = found.iter().take(10).position(|&grade| grade > 0);
            sums[2] += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        }
        if judged == 0 {
            return "not judged".to_owned();
        }
        let mut cell = String::new();
        for sum in sums {
            let slash = if cell.is_empty() { "" } else { " / " };
            let _ = write!(cell, "{slash}{:.3}", sum / f64::from(judged));
        }
        cell
    }
}

/// Discounted cumulative gain of the first ten.
fn gain(grades: &[u32]) -> f64 {
    let ranks = (2..).map(f64::from);
    let gains = grades.iter().take(10).zip(ranks);
    gains
        .map(|(&grade, rank)| f64::from(grade) / rank.log2())
        .sum()
}

fn write_run(collection: &Collection, run: &Run, out: &Path) -> Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(out)?);
    for (query, hits) in collection.queries.iter().zip(run) {
        for (rank, (document, score)) in hits.iter().enumerate() {
            writeln!(
                file,
                "{} Q0 {document} {} {score} llmwiki",
                query.id,
                rank + 1
            )?;
        }
    }
    Ok(file.flush()?)
}

fn with_llmwiki(collection: &Collection, analysis: &str) -> Result<Run> {
    let root = std::env::temp_dir().join(format!("llmwiki-bench-ir-{}", std::process::id()));
    let found = search_wiki(&root, collection, analysis);
    std::fs::remove_dir_all(&root)?;
    found
}

fn search_wiki(root: &Path, collection: &Collection, analysis: &str) -> Result<Run> {
    let mut config = Config::default();
    config.analysis = llmwiki::search::Analysis::parse(analysis).ok_or("no such analysis")?;
    let wiki = Wiki::new(root, config);
    let limits = Limits {
        max_results: DEPTH,
        max_snippet_bytes: 64,
        ..Limits::default()
    };
    let ctx = Context::new(std::sync::Arc::new(SystemClock), limits);
    let source = SourceId::of(SOURCE.as_bytes());
    let mut stream = format!(
        "{}\n",
        json!({"op": "add_source", "name": "stand-in", "content": SOURCE})
    );
    let mut names = HashMap::new();
    for document in &collection.documents {
        let id = page_id(&document.id);
        let title = document
            .title
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let title = if title.is_empty() {
            &document.id
        } else {
            &title
        };
        let page = json!({"op": "upsert_page", "id": id, "title": title, "summary": "document",
            "sources": [source.to_string()], "body": document.text});
        stream.push_str(&format!("{page}\n"));
        if let Some(other) = names.insert(id, document.id.as_str()) {
            return Err(format!("{other} and {} make one page id", document.id).into());
        }
    }
    let report = wiki.import_jsonl(&ctx, &mut stream.as_bytes(), false)?;
    for failure in &report.failures {
        eprintln!("{}: left out: {failure:?}", collection.name);
    }
    let mut run = Vec::with_capacity(collection.queries.len());
    for query in &collection.queries {
        let request = SearchRequest {
            query: query.text.clone(),
            limit: Some(DEPTH),
            explain: false,
        };
        let hits = match wiki.search(&ctx, &request) {
            Ok(report) => report.hits,
            Err(error) => {
                eprintln!("{}: query {}: {error}", collection.name, query.id);
                Vec::new()
            }
        };
        let mut found: Vec<(String, f64)> = Vec::with_capacity(hits.len());
        for hit in hits {
            let document = names.get(&hit.page_id).copied().unwrap_or_default();
            // A document of several sections counts by its best.
            if !found.iter().any(|(known, _)| known == document) {
                found.push((document.to_owned(), hit.score));
            }
        }
        run.push(found);
    }
    Ok(run)
}

/// A legal page id for any document id.
fn page_id(document: &str) -> String {
    let mut id = String::from("d/");
    for byte in document.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => id.push(char::from(byte)),
            byte => {
                let _ = write!(id, "_{byte:02x}");
            }
        }
    }
    id
}

fn with_tantivy(collection: &Collection, tokenizer: &str) -> Result<Run> {
    let mut schema = Schema::builder();
    let number = schema.add_u64_field("number", STORED);
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(tokenizer)
        .set_index_option(IndexRecordOption::WithFreqs);
    let text = schema.add_text_field(
        "text",
        TextOptions::default().set_indexing_options(indexing),
    );
    let index = Index::create_in_ram(schema.build());
    let mut writer = index.writer_with_num_threads(1, 64 << 20)?;
    for (at, document) in collection.documents.iter().enumerate() {
        let mut entry = TantivyDocument::default();
        entry.add_u64(number, at as u64);
        entry.add_text(text, format!("{}\n{}", document.title, document.text));
        writer.add_document(entry)?;
    }
    writer.commit()?;
    let searcher = index.reader()?.searcher();
    let mut analyzer = index.tokenizer_for_field(text)?;
    let mut run = Vec::with_capacity(collection.queries.len());
    for query in &collection.queries {
        let mut terms: Vec<Term> = Vec::new();
        let mut stream = analyzer.token_stream(&query.text);
        while let Some(token) = stream.next() {
            let term = Term::from_field_text(text, &token.text);
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        run.push(best(&searcher, terms, number, collection)?);
    }
    Ok(run)
}

fn best(
    searcher: &tantivy::Searcher,
    terms: Vec<Term>,
    number: Field,
    collection: &Collection,
) -> Result<Vec<(String, f64)>> {
    let clauses: Vec<Box<dyn Query>> = terms
        .into_iter()
        .map(|term| -> Box<dyn Query> {
            Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
        })
        .collect();
    let collector = TopDocs::with_limit(DEPTH).order_by_score();
    let hits = searcher.search(&BooleanQuery::union(clauses), &collector)?;
    let mut found = Vec::with_capacity(hits.len());
    for (score, address) in hits {
        let entry: TantivyDocument = searcher.doc(address)?;
        let at = entry.get_first(number).and_then(|value| value.as_u64());
        let at = usize::try_from(at.ok_or("a document without its number")?)?;
        found.push((collection.documents[at].id.clone(), f64::from(score)));
    }
    Ok(found)
}

fn with_fts5(collection: &Collection, tokenizer: &str) -> Result<Run> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(&format!(
        "CREATE VIRTUAL TABLE documents USING fts5(title, text, tokenize = '{tokenizer}');"
    ))?;
    let transaction = connection.transaction()?;
    for (at, document) in collection.documents.iter().enumerate() {
        transaction
            .prepare_cached("INSERT INTO documents(rowid, title, text) VALUES (?1, ?2, ?3)")?
            .execute(params![i64::try_from(at)?, document.title, document.text])?;
    }
    transaction.commit()?;
    let mut run = Vec::with_capacity(collection.queries.len());
    for query in &collection.queries {
        let words = query.text.split(|c: char| !c.is_alphanumeric());
        let mut parts: Vec<String> = Vec::new();
        for word in words.filter(|word| !word.is_empty()) {
            if tokenizer == "trigram" {
                let characters: Vec<char> = word.chars().collect();
                parts.extend(characters.windows(3).map(|three| three.iter().collect()));
            } else {
                parts.push(word.to_owned());
            }
        }
        let mut found = Vec::new();
        if !parts.is_empty() {
            let parts: Vec<String> = parts.iter().map(|part| format!("\"{part}\"")).collect();
            let mut statement = connection.prepare_cached(
                "SELECT rowid, rank FROM documents WHERE documents MATCH ?1 ORDER BY rank LIMIT ?2",
            )?;
            let mut rows = statement.query(params![parts.join(" OR "), i64::try_from(DEPTH)?])?;
            while let Some(row) = rows.next()? {
                let at = usize::try_from(row.get::<_, i64>(0)?)?;
                // The rank of FTS5 is smaller for better ones.
                found.push((collection.documents[at].id.clone(), -row.get::<_, f64>(1)?));
            }
        }
        found.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal));
        run.push(found);
    }
    Ok(run)
}
