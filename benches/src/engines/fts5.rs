//! SQLite FTS5, stemmed by `porter`, in WAL mode with full syncs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::{HITS, Result};
use crate::corpus::Corpus;
use crate::measure::{Build, BuildTimer};

/// Row ids of a page: this many for each, its sections first.
const PAGE_ROWS: u64 = 64;

fn folder(dir: &Path) -> PathBuf {
    dir.join("fts5")
}

fn connect(dir: &Path) -> Result<Connection> {
    let connection = Connection::open(folder(dir).join("index.sqlite"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;",
    )?;
    Ok(connection)
}

fn insert(connection: &Connection, page: u64, texts: &[String]) -> Result<()> {
    let mut statement =
        connection.prepare_cached("INSERT INTO sections(rowid, text) VALUES (?1, ?2)")?;
    for (row, text) in (page * PAGE_ROWS..).zip(texts) {
        statement.execute(params![i64::try_from(row)?, text])?;
    }
    Ok(())
}

/// Builds the table, which keeps the texts too.
pub fn build(dir: &Path, corpus: &Corpus) -> Result<Build> {
    std::fs::create_dir_all(folder(dir))?;
    let mut timer = BuildTimer::start();
    let mut connection = connect(dir)?;
    connection.execute_batch(
        "CREATE VIRTUAL TABLE sections USING fts5(text, tokenize = 'porter unicode61');",
    )?;
    let transaction = connection.transaction()?;
    for number in 0..corpus.pages() {
        let texts: Vec<String> = timer.input(|| {
            let page = corpus.page(number);
            (0..page.sections.len()).map(|at| page.merged(at)).collect()
        });
        insert(&transaction, number, &texts)?;
    }
    transaction.commit()?;
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);")?;
    Ok(timer.finish(&folder(dir)))
}

/// An open table.
pub struct Table {
    connection: Connection,
}

impl Table {
    pub fn open(dir: &Path) -> Result<Self> {
        let connection = connect(dir)?;
        Ok(Self { connection })
    }

    /// Merges all of the index into one segment, as the peers have it for queries.
    pub fn optimize(&self) -> Result<()> {
        self.connection
            .execute_batch("INSERT INTO sections(sections) VALUES ('optimize');")?;
        Ok(())
    }

    /// Replaces a page in one transaction.
    pub fn upsert(&mut self, page: u64, texts: &[String]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        transaction
            .prepare_cached("DELETE FROM sections WHERE rowid BETWEEN ?1 AND ?2")?
            .execute(params![
                i64::try_from(page * PAGE_ROWS)?,
                i64::try_from((page + 1) * PAGE_ROWS - 1)?
            ])?;
        insert(&transaction, page, texts)?;
        Ok(transaction.commit()?)
    }

    /// The best sections that hold any of the words.
    pub fn search(&self, words: &[String]) -> Result<usize> {
        let mut query = String::new();
        for word in words {
            let or = if query.is_empty() { "" } else { " OR " };
            let _ = write!(query, "{or}\"{word}\"");
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT rowid, rank FROM sections WHERE sections MATCH ?1 ORDER BY rank LIMIT ?2",
        )?;
        let mut rows = statement.query(params![query, i64::try_from(HITS)?])?;
        let mut hits = 0;
        while rows.next()?.is_some() {
            hits += 1;
        }
        Ok(hits)
    }
}
