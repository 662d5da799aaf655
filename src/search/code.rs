//! Search over code: identifiers split into words, chunks and their files scored together.
//!
//! A chunk's score is BM25 over its terms, plus a share of the BM25 of its whole file: a question
//! is about a place, and the file around it says what the place is about. Fields weigh symbol and
//! path three times as much as the body. Tests, documents and settings count less: they are about
//! the thing that is asked for. Every posting of a query's terms is looked at; nothing is pruned,
//! since the second sum needs them all.
//!
//! Ties are broken by the place of the file in the order of paths, then by line.

use std::collections::HashMap;
use std::sync::LazyLock;

use xxhash_rust::xxh3::Xxh3;

use super::AnalyzedSection;
use super::bm25;
use super::language;
use super::postings::Posting;
use super::tokenize::{UnitKind, standard_units};
use super::vocabulary::{self, Vocabulary};

/// Weight of a word in the body, in half units.
const BODY: u32 = 2;
/// Weight of a word of a symbol or path.
const NAME: u32 = 3 * BODY;
const PATH: u32 = 3 * BODY;
/// Saturation of term frequency, of chunks and files.
const K1: f64 = 2.0;
/// How much length counts, of chunks and files.
const B: f64 = 0.6;
/// Share of the file's score in that of a chunk.
const FILE_SHARE: f64 = 0.3;
/// Lines of a snippet, and how many of them stand before the best one.
const SNIPPET_LINES: usize = 8;
const SNIPPET_BEFORE: usize = 2;
/// What a chunk of tests inside a file of code counts.
const TEST_SHARE: f64 = 0.5;
/// Longest word that is indexed; longer ones are data.
const MAX_WORD_BYTES: usize = 64;

/// What a chunk is found by.
#[derive(Debug, Clone, Copy)]
pub struct CodeFields<'a> {
    /// Path of the file.
    pub path: &'a str,
    /// Names of the definitions in it and around it.
    pub symbols: &'a [&'a str],
    /// Its text.
    pub text: &'a str,
}

/// Counts the terms of a chunk.
pub fn analyze_code(fields: CodeFields<'_>) -> AnalyzedSection {
    vocabulary::with(|vocabulary| {
        let mut length = add(vocabulary, fields.text, BODY);
        for symbol in fields.symbols {
            length += add(vocabulary, symbol, NAME);
        }
        add(vocabulary, fields.path, PATH);
        let terms = vocabulary.take();
        length = length.max(1);
        let mut hash = Xxh3::new();
        hash.update(&length.to_le_bytes());
        for (term, weight) in &terms {
            hash.update(term.as_bytes());
            hash.update(&[0]);
            hash.update(&weight.to_le_bytes());
        }
        AnalyzedSection {
            heading_trail: Vec::new(),
            start_line: 0,
            end_line: 0,
            length,
            terms,
            fingerprint: hash.digest128().to_le_bytes(),
        }
    })
}

/// Adds the words of a text; answers how many there are.
fn add(vocabulary: &mut Vocabulary, text: &str, weight: u32) -> u32 {
    let mut count = 0;
    words(text, &mut |word| match word {
        Word::Part(part) => {
            count += 1;
            vocabulary.add_word(part, None, weight);
        }
        Word::Whole(joined) => vocabulary.add_term(joined, weight),
    });
    count
}

/// A word of code.
enum Word<'a> {
    /// A part of an identifier, or a word of a comment.
    Part(&'a str),
    /// A compound identifier, its parts joined in lower case.
    Whole(&'a str),
}

/// Calls `emit` with the words of a text: identifiers cut at underscores, at changes of case and
/// between letters and digits. Other scripts are cut as on pages.
fn words(text: &str, emit: &mut impl FnMut(Word<'_>)) {
    let bytes = text.as_bytes();
    let mut joined = String::new();
    let mut part = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte >= 0x80 {
            let end = text[at..]
                .find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric())
                .map_or(bytes.len(), |length| at + length);
            standard_units(&text[at..end], &mut |unit| {
                if unit.kind == UnitKind::Word || unit.text.chars().count() == 1 {
                    emit(Word::Part(unit.text));
                }
            });
            at = end;
            continue;
        }
        if !byte.is_ascii_alphanumeric() && byte != b'_' {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
            at += 1;
        }
        let identifier = &bytes[start..at];
        if identifier.len() > MAX_WORD_BYTES {
            continue;
        }
        joined.clear();
        let mut parts = 0;
        let mut from = 0;
        while from < identifier.len() {
            if identifier[from] == b'_' {
                from += 1;
                continue;
            }
            let end = part_end(identifier, from);
            part.clear();
            part.extend(
                identifier[from..end]
                    .iter()
                    .map(|byte| char::from(byte.to_ascii_lowercase())),
            );
            from = end;
            joined.push_str(&part);
            if part.len() > 1 {
                parts += 1;
                emit(Word::Part(&part));
            }
        }
        if parts > 1 {
            emit(Word::Whole(&joined));
        }
    }
}

/// Where the part of an identifier that begins at `from` ends.
fn part_end(identifier: &[u8], from: usize) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let mut at = from + 1;
    while at < identifier.len() {
        let (before, here) = (class(identifier[at - 1]), class(identifier[at]));
        let next = identifier.get(at + 1).map_or(3, |&byte| class(byte));
        match (before, here) {
            // `HTTPServer`: the last capital belongs to the next part.
            (1, 1) if next == 0 => return at,
            // `Server`: a capital and what follows it.
            (1, 0) => {}
            (before, here) if before == here => {}
            _ => return at,
        }
        at += 1;
    }
    at
}

/// Words that questions are made of and that say nothing about what is asked for.
const QUESTION_WORDS: &[&str] = &[
    "how",
    "what",
    "where",
    "which",
    "when",
    "why",
    "who",
    "does",
    "do",
    "did",
    "is",
    "are",
    "can",
    "could",
    "should",
    "would",
    "happen",
    "happens",
    "code",
    "function",
    "file",
    "find",
    "show",
    "explain",
    "work",
    "works",
    "implement",
    "implemented",
    "implementation",
    "defined",
    "define",
    "handle",
    "handled",
    "handles",
    "project",
    "codebase",
    "library",
    "use",
    "used",
    "uses",
    "using",
    "way",
    "make",
    "made",
    "get",
    "gets",
];

/// The terms of a question, each with how often it counts. Empty when it has no word.
pub fn code_query(question: &str) -> Vec<(String, u32)> {
    let mut all: Vec<(String, u32)> = Vec::new();
    let mut kept: Vec<(String, u32)> = Vec::new();
    let put = |list: &mut Vec<(String, u32)>, term: &str| match list
        .iter_mut()
        .find(|(known, _)| known == term)
    {
        Some((_, count)) => *count += 1,
        None => list.push((term.to_owned(), 1)),
    };
    words(question, &mut |word| match word {
        Word::Part(part) => language::stems(part, None, |stem| {
            put(&mut all, stem);
            if !QUESTION_WORDS.contains(&part) && !language::is_stop_word(part, None) {
                put(&mut kept, stem);
            }
        }),
        Word::Whole(joined) => {
            put(&mut all, joined);
            put(&mut kept, joined);
        }
    });
    if kept.is_empty() { all } else { kept }
}

/// Words and what identifiers make of them. A question says one, code the other.
const SHORTENED: &[&str] = &[
    "address addr",
    "allocate alloc",
    "application app",
    "argument arg args",
    "asynchronous async",
    "attribute attr",
    "authenticate authentication authorization auth",
    "buffer buf",
    "character char",
    "column col",
    "command cmd",
    "compare comparison cmp",
    "concatenate concat",
    "configuration configure conf config cfg",
    "connection conn",
    "context ctx",
    "current cur curr",
    "database db",
    "decrement dec",
    "delete remove del",
    "descriptor desc fd",
    "destination dest dst",
    "dictionary dict",
    "directory dir folder",
    "document doc",
    "environment env",
    "error err",
    "execute execution exec",
    "expression expr",
    "extension ext",
    "function func fn",
    "header hdr",
    "identifier ident id",
    "implementation impl",
    "increment inc",
    "index idx",
    "information info",
    "initialize initialization init",
    "integer int",
    "iterator iterate iter",
    "language lang",
    "length len",
    "library lib",
    "maximum max",
    "memory mem",
    "message msg",
    "minimum min",
    "number num",
    "object obj",
    "option opt opts",
    "package pkg",
    "parameter param params",
    "password passwd pwd",
    "pointer ptr",
    "position pos",
    "previous prev",
    "process proc",
    "property prop props",
    "reference ref",
    "repository repo",
    "request req",
    "response resp res",
    "sequence seq",
    "separator sep",
    "source src",
    "specification spec",
    "statistics stats",
    "string str",
    "synchronize synchronization sync",
    "temporary temp tmp",
    "user usr",
    "utility util utils",
    "value val",
    "variable var",
    "version ver",
];

/// The terms that stand for the same as a term, without it.
static SAME: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut same: HashMap<String, Vec<String>> = HashMap::new();
    for group in SHORTENED {
        let mut terms: Vec<String> = Vec::new();
        for word in group.split(' ') {
            language::stems(word, None, |stem| {
                if !terms.iter().any(|known| known == stem) {
                    terms.push(stem.to_owned());
                }
            });
        }
        for term in &terms {
            let others = same.entry(term.clone()).or_default();
            others.extend(terms.iter().filter(|other| *other != term).cloned());
        }
    }
    same
});

/// The postings of a term of a question together with those of the terms that stand for the same:
/// `conf` where `configuration` is asked for. A term that the question has by itself is left to
/// itself.
///
/// # Errors
/// Those of `postings`.
pub fn code_postings<E>(
    term: &str,
    query: &[(String, u32)],
    mut postings: impl FnMut(&str) -> Result<Vec<Posting>, E>,
) -> Result<Vec<Posting>, E> {
    let mut found = postings(term)?;
    for other in SAME.get(term).into_iter().flatten() {
        if query.iter().any(|(known, _)| known == other) {
            continue;
        }
        let more = postings(other)?;
        if more.is_empty() {
            continue;
        }
        found.extend(more);
        found.sort_by_key(|posting| posting.section);
        found.dedup_by(|next, before| {
            let is_same = next.section == before.section;
            if is_same {
                before.weight = before.weight.saturating_add(next.weight);
            }
            is_same
        });
    }
    Ok(found)
}

/// The lines of a chunk around the one that holds most of the terms, at most `limit` bytes.
pub fn code_snippet(text: &str, terms: &[String], limit: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let score = |line: &str| {
        let mut held: Vec<String> = Vec::new();
        words(line, &mut |word| match word {
            Word::Part(part) => language::stems(part, None, |stem| held.push(stem.to_owned())),
            Word::Whole(joined) => held.push(joined.to_owned()),
        });
        terms.iter().filter(|term| held.contains(term)).count()
    };
    let best = (0..lines.len())
        .max_by_key(|&at| (score(lines[at]), std::cmp::Reverse(at)))
        .unwrap_or(0);
    let mut first = best.saturating_sub(SNIPPET_BEFORE);
    while first > 0 && lines.len() - first < SNIPPET_LINES {
        first -= 1;
    }
    let mut snippet = String::new();
    for line in lines.iter().skip(first).take(SNIPPET_LINES) {
        if snippet.len() + line.len() > limit {
            if snippet.is_empty() {
                snippet.push_str(language::head(line, limit));
            }
            break;
        }
        snippet.push_str(line);
    }
    snippet
}

/// One term of a question with where it occurs.
#[derive(Debug)]
pub struct CodeTerm {
    /// How often it counts.
    pub count: u32,
    /// Its postings, by rising chunk id.
    pub postings: Vec<Posting>,
}

/// A file for ranking.
#[derive(Debug, Clone, Copy)]
pub struct RankedFile {
    /// Id of its first chunk.
    pub first_chunk: u32,
    /// Number of its chunks, which have consecutive ids.
    pub chunks: u32,
    /// Number of chunks at its end that hold tests only, and count half.
    pub test_chunks: u32,
    /// Sum of the lengths of its chunks.
    pub length: u32,
    /// What its scores are multiplied with.
    pub weight: f32,
}

/// A chunk that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodeHit {
    /// Place of its file in the list.
    pub file: usize,
    /// Place of the chunk in its file.
    pub chunk: u32,
    /// Its score.
    pub score: f64,
    /// How many of the terms it holds.
    pub matched: u32,
}

/// Scores every chunk that holds a term and answers the `k` best, best first.
///
/// `files` are in the order of paths, `by_chunk` holds their places by rising first chunk;
/// `length` tells the length of a chunk, and nothing for one that is gone.
pub fn rank_code(
    terms: &[CodeTerm],
    files: &[RankedFile],
    by_chunk: &[u32],
    length: impl Fn(u32) -> Option<u32>,
    k: usize,
) -> Vec<CodeHit> {
    let chunk_count: u64 = files.iter().map(|file| u64::from(file.chunks)).sum();
    let total: u64 = files.iter().map(|file| u64::from(file.length)).sum();
    if chunk_count == 0 || k == 0 {
        return Vec::new();
    }
    let average_chunk = total as f64 / chunk_count as f64;
    let average_file = total as f64 / files.len() as f64;
    let mut file_scores = vec![0f64; files.len()];
    let mut chunk_scores: Vec<Vec<(f64, u32)>> = vec![Vec::new(); files.len()];
    for term in terms {
        let mut at = 0;
        let mut found = 0u64;
        // (file, sum of weights), and (file, chunk, weight, length) of live postings.
        let mut in_files: Vec<(usize, u32)> = Vec::new();
        let mut live: Vec<(usize, u32, u32, u32)> = Vec::with_capacity(term.postings.len());
        for posting in &term.postings {
            while at < by_chunk.len() {
                let file = &files[by_chunk[at] as usize];
                if posting.section < file.first_chunk.saturating_add(file.chunks) {
                    break;
                }
                at += 1;
            }
            let Some(&place) = by_chunk.get(at) else {
                break;
            };
            let place = place as usize;
            let file = &files[place];
            let Some(chunk) = posting.section.checked_sub(file.first_chunk) else {
                continue;
            };
            let Some(length) = length(posting.section) else {
                continue;
            };
            found += 1;
            live.push((place, chunk, posting.weight, length));
            match in_files.last_mut() {
                Some((known, sum)) if *known == place => *sum += posting.weight,
                _ => in_files.push((place, posting.weight)),
            }
        }
        let count = f64::from(term.count);
        let idf = bm25::idf(chunk_count, found) * count;
        let file_idf = bm25::idf(files.len() as u64, in_files.len() as u64) * count;
        for (place, chunk, weight, length) in live {
            let scores = &mut chunk_scores[place];
            if scores.is_empty() {
                scores.resize(files[place].chunks as usize, (0.0, 0));
            }
            let (score, matched) = &mut scores[chunk as usize];
            *score += idf * saturated(weight, length, average_chunk);
            *matched += 1;
        }
        for (place, sum) in in_files {
            file_scores[place] += file_idf * saturated(sum, files[place].length, average_file);
        }
    }
    let mut hits: Vec<CodeHit> = Vec::new();
    for (file, scores) in chunk_scores.iter().enumerate() {
        let weight = f64::from(files[file].weight);
        for (chunk, &(score, matched)) in (0..).zip(scores) {
            if matched > 0 {
                let is_test = chunk >= files[file].chunks.saturating_sub(files[file].test_chunks);
                let weight = if is_test { weight * TEST_SHARE } else { weight };
                hits.push(CodeHit {
                    file,
                    chunk,
                    score: weight * (score + FILE_SHARE * file_scores[file]),
                    matched,
                });
            }
        }
    }
    let order = |a: &CodeHit, b: &CodeHit| {
        (b.score.total_cmp(&a.score)).then((a.file, a.chunk).cmp(&(b.file, b.chunk)))
    };
    if hits.len() > k {
        hits.select_nth_unstable_by(k - 1, order);
        hits.truncate(k);
    }
    hits.sort_unstable_by(order);
    hits
}

/// Saturated frequency of a weight in half units.
fn saturated(weight: u32, length: u32, average: f64) -> f64 {
    let frequency = f64::from(weight) / f64::from(BODY);
    let norm = K1 * (1.0 - B + B * f64::from(length) / average);
    frequency * (K1 + 1.0) / (frequency + norm)
}
