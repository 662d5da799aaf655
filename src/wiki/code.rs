//! The index of the project's code: found, compared with what is known, and brought up to date.
//!
//! Files that did not change are neither read nor parsed. The others are read, cut and analysed
//! outside the lock, on a few threads; under it one transaction replaces what is known of them.
//! Where that cannot be done now (somebody else is writing, the disk is read-only) the answer is
//! from the index as it is, and says how many files it is behind.
//!
//! Invariant: a file's postings, chunks and text in the store are of the same bytes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::root::{Made, Wiki};
use super::session::{Look, Writing, may_answer_without_writing};
use crate::code::{self, Content, Language, Lines, Outline, SymbolKind};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::ContentHash;
use crate::search::{AnalyzedSection, CodeFields, RankedFile, analyze_code};
use crate::store::index::{self, BulkIndexer, IndexSet};
use crate::store::{
    Batch, CodeChunkRecord, CodeChunksRecord, CodeFileRecord, CodeStateRow, CodeSymbolRecord,
    CodeTextRecord, Snapshot, Store, StoreError, View,
};
use crate::tree::{self, Discovery, Identity, Project, ProjectFile, RelPath, Tree};

/// How long a write waits for the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often the work starts again because another process changed the code index meanwhile.
const ATTEMPTS: u32 = 3;
/// Most threads that read and parse.
const MAX_THREADS: usize = 4;
/// Prepared files that wait for their turn, for each thread.
const WAITING: usize = 16;
/// Files whose postings are changed together.
const APPLY_FILES: usize = 64;

/// What is known of every file, for ranking and reports.
#[derive(Debug)]
pub(super) struct CodeTable {
    /// The store that it was read from, and the commit that made it.
    state: (Identity, u64),
    /// Every file that was looked at, in the byte order of paths.
    rows: Vec<(Vec<u8>, CodeFileRecord)>,
    /// Path and record of each file that is indexed, in the byte order of paths.
    pub(super) files: Vec<(String, CodeFileRecord)>,
    /// Files that were read and left out.
    pub(super) skipped: Vec<(String, String)>,
    /// For ranking, as `files`.
    pub(super) ranked: Vec<RankedFile>,
    /// Places in `files` by rising first chunk.
    pub(super) by_chunk: Vec<u32>,
    /// Hash of all files.
    pub(super) signature: ContentHash,
}

/// The code index, for one request.
pub(super) struct CodeReading {
    pub(super) project: Project,
    pub(super) tree: Tree,
    pub(super) store: Arc<Store>,
    pub(super) snapshot: Snapshot,
    pub(super) table: Arc<CodeTable>,
    /// Files whose change the index does not know.
    pub(super) pending: u64,
    pub(super) change: CodeChange,
    /// What was left out by its kind, with the reason.
    pub(super) excluded: Vec<(String, &'static str)>,
    /// Whether the wiki itself was made for this.
    pub(super) created: bool,
}

/// How many files changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CodeChange {
    pub(super) added: u64,
    pub(super) changed: u64,
    pub(super) removed: u64,
}

/// What must be done to bring the index up to date.
#[derive(Default)]
struct Difference {
    /// Files that are new or not as they were.
    stale: Vec<ProjectFile>,
    /// Paths that are gone.
    gone: Vec<Vec<u8>>,
    /// Whether nothing that is known is of use.
    all: bool,
}

/// A file, ready for the store.
struct Prepared {
    path: Vec<u8>,
    record: CodeFileRecord,
    /// Nothing for a file that is left out.
    body: Option<PreparedBody>,
}

struct PreparedBody {
    chunks: CodeChunksRecord,
    text: CodeTextRecord,
    analyzed: Vec<AnalyzedSection>,
}

impl Wiki {
    /// The directory whose code is indexed.
    ///
    /// # Errors
    /// `NOT_INITIALIZED` when none was named and none can be told.
    pub(super) fn project(&self) -> Result<Project> {
        let root = std::path::absolute(self.root()).unwrap_or_else(|_| self.root().to_owned());
        let directory = match &self.config().project {
            Some(named) => Some(named.clone()),
            None if root.file_name().is_some_and(|name| name == ".llmwiki") => {
                root.parent().map(Path::to_owned)
            }
            None => tree::git_top(&root),
        };
        let directory: PathBuf = directory.ok_or_else(|| {
            Error::new(
                ErrorCode::NotInitialized,
                format!("no project belongs to the wiki at {}", root.display()),
            )
            .with_hint("name its directory with --project")
        })?;
        Ok(Project::open(&directory)?)
    }

    /// Whether a project belongs to the wiki.
    ///
    /// # Errors
    /// Those of opening it, where one was named.
    pub fn has_project(&self) -> Result<bool> {
        match self.project() {
            Ok(_) => Ok(true),
            Err(error) if error.code() == ErrorCode::NotInitialized => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The directory whose code is indexed.
    ///
    /// # Errors
    /// `NOT_INITIALIZED` when none was named and none can be told.
    pub fn project_directory(&self) -> Result<PathBuf> {
        Ok(self.project()?.path().to_owned())
    }

    /// The code index, brought up to date. With `wait`, another writer is waited for, and a wiki
    /// is made where there is none.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`, `STORE_BUSY`, `UNSAFE_FILESYSTEM`; those of the store.
    pub(super) fn code_reading(&self, ctx: &Context, wait: bool) -> Result<CodeReading> {
        self.mending(ctx, || {
            for _ in 0..ATTEMPTS {
                if let Some(reading) = self.try_code_reading(ctx, wait)? {
                    return Ok(reading);
                }
            }
            Err(Error::new(
                ErrorCode::StoreBusy,
                "another process changes the code index again and again",
            )
            .with_hint("try again when it is done"))
        })
    }

    /// Nothing when another process changed the code index meanwhile.
    fn try_code_reading(&self, ctx: &Context, wait: bool) -> Result<Option<CodeReading>> {
        ctx.check()?;
        let (tree, made) = if wait {
            self.make_tree()?
        } else {
            (self.tree()?, Made::default())
        };
        let project = self.project()?;
        let (store, snapshot) = match self.look(&tree)? {
            Look::Ready(store, snapshot) => (store, snapshot),
            _ => {
                let reading = self.reading(ctx)?;
                (reading.store, reading.snapshot)
            }
        };
        let mut discovery = project.discover(self.root())?;
        let excluded = named(&mut discovery);
        let state = snapshot.code_state()?;
        let table = self.code_table(&store, &snapshot, &state)?;
        let difference = compare(&table, &state, &project, discovery);
        let mut reading = CodeReading {
            project,
            tree,
            store,
            snapshot,
            table,
            pending: 0,
            change: CodeChange::default(),
            excluded,
            created: made.created,
        };
        if difference.is_empty() && state.revision == code::REVISION {
            return Ok(Some(reading));
        }
        let work = Self::prepare_code(ctx, &reading, &difference)?;
        let patience = if wait || reading.table.files.is_empty() {
            LOCK_WAIT
        } else {
            Duration::ZERO
        };
        let written = self
            .writing_for(ctx, reading.tree.clone(), made, patience)
            .and_then(|writing| write(&writing, &reading.project, &state, work));
        match written {
            Ok(None) => Ok(None),
            Ok(Some(written)) => {
                let state = written.snapshot.code_state()?;
                let name = (written.store.identity(), state.changes);
                let table = Arc::new(if difference.all {
                    CodeTable::read(&written.snapshot, name)?
                } else {
                    reading.table.with(written.rows, name)
                });
                *self.code.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Arc::clone(&table));
                reading.table = table;
                reading.store = written.store;
                reading.snapshot = written.snapshot;
                reading.change = written.change;
                Ok(Some(reading))
            }
            Err(error) if !wait && may_answer_without_writing(&error) => {
                reading.pending = (difference.stale.len() + difference.gone.len()) as u64;
                Ok(Some(reading))
            }
            Err(error) => Err(error),
        }
    }

    /// The code index as it is, compared with the files and not changed.
    pub(super) fn known_code(
        &self,
        project: Project,
        tree: Tree,
        store: Arc<Store>,
        snapshot: Snapshot,
    ) -> Result<CodeReading> {
        let mut discovery = project.discover(self.root())?;
        let excluded = named(&mut discovery);
        let state = snapshot.code_state()?;
        let table = self.code_table(&store, &snapshot, &state)?;
        let difference = compare(&table, &state, &project, discovery);
        Ok(CodeReading {
            project,
            tree,
            store,
            snapshot,
            table,
            pending: (difference.stale.len() + difference.gone.len()) as u64,
            change: CodeChange::default(),
            excluded,
            created: false,
        })
    }

    /// What is known of every file. Kept between requests.
    fn code_table(
        &self,
        store: &Store,
        snapshot: &Snapshot,
        state: &CodeStateRow,
    ) -> Result<Arc<CodeTable>> {
        let mut cached = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = cached.as_ref()
            && state.changes > 0
            && known.state == (store.identity(), state.changes)
        {
            return Ok(Arc::clone(known));
        }
        let table = Arc::new(CodeTable::read(
            snapshot,
            (store.identity(), state.changes),
        )?);
        *cached = Some(Arc::clone(&table));
        Ok(table)
    }

    /// Reads and analyses the files that changed.
    fn prepare_code(ctx: &Context, reading: &CodeReading, difference: &Difference) -> Result<Work> {
        let limit = ctx.limits.max_source_bytes;
        let bulk = difference.all.then(BulkIndexer::new);
        let mut work = Work {
            bulk,
            files: Vec::with_capacity(difference.stale.len()),
            gone: difference.gone.clone(),
        };
        let mut next = if difference.all {
            index::next_section(&reading.snapshot, IndexSet::Code)?
        } else {
            0
        };
        let total = difference.stale.len() as u64;
        in_order(
            &difference.stale,
            ctx,
            &reading.project,
            limit,
            |done, mut file| {
                if let (Some(bulk), Some(body)) = (&mut work.bulk, &mut file.body) {
                    file.record.first_chunk = next;
                    for section in std::mem::take(&mut body.analyzed) {
                        bulk.push(next, &section)?;
                        next = next.checked_add(1).ok_or(StoreError::TooLarge {
                            what: "the number of chunks ever made",
                            limit: u64::from(u32::MAX),
                        })?;
                    }
                }
                work.files.push(file);
                ctx.progress("indexing code", done, Some(total));
                Ok(())
            },
        )?;
        Ok(work)
    }
}

/// Takes out what was left out, for reports.
fn named(discovery: &mut Discovery) -> Vec<(String, &'static str)> {
    std::mem::take(&mut discovery.excluded)
        .into_iter()
        .map(|(path, why)| (tree::escape(&path), why.word()))
        .collect()
}

/// What is to be written.
struct Work {
    /// In place of the whole index.
    bulk: Option<BulkIndexer>,
    files: Vec<Prepared>,
    gone: Vec<Vec<u8>>,
}

impl Difference {
    fn is_empty(&self) -> bool {
        self.stale.is_empty() && self.gone.is_empty()
    }
}

/// Compares the files with what is known of them.
fn compare(
    table: &CodeTable,
    state: &CodeStateRow,
    project: &Project,
    discovery: Discovery,
) -> Difference {
    use std::os::unix::ffi::OsStrExt;
    let mut difference = Difference::default();
    let is_other =
        state.revision != code::REVISION || state.project != project.path().as_os_str().as_bytes();
    if is_other || table.rows.is_empty() {
        difference.all = true;
        difference.stale = discovery.files;
        return difference;
    }
    let mut known = table.rows.iter().peekable();
    for file in discovery.files {
        while let Some((path, _)) = known.next_if(|(path, _)| *path < file.path) {
            difference.gone.push(path.clone());
        }
        let same = known
            .next_if(|(path, _)| *path == file.path)
            .is_some_and(|(_, record)| is_same(record, &file));
        if !same {
            difference.stale.push(file);
        }
    }
    difference.gone.extend(known.map(|(path, _)| path.clone()));
    difference
}

/// Whether a file looks as it did. One that changed while it was looked at may look the same.
fn is_same(record: &CodeFileRecord, file: &ProjectFile) -> bool {
    let stamp = &file.stamp;
    (record.size, record.inode, record.mtime_ns, record.ctime_ns)
        == (stamp.size, stamp.inode, stamp.mtime_ns, stamp.ctime_ns)
        && !stamp.is_racy(record.seen_ns)
}

/// Prepares files on a few threads and hands them over in order.
fn in_order(
    files: &[ProjectFile],
    ctx: &Context,
    project: &Project,
    limit: u64,
    mut take: impl FnMut(u64, Prepared) -> Result<()>,
) -> Result<()> {
    let wanted = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = wanted.min(MAX_THREADS).min(files.len().div_ceil(8));
    if threads < 2 {
        for (done, file) in (1..).zip(files) {
            ctx.check()?;
            if let Some(prepared) = prepare_file(project, file, limit)? {
                take(done, prepared)?;
            }
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        let channels: Vec<Receiver<Result<Option<Prepared>>>> = (0..threads)
            .map(|thread| {
                let (sender, receiver) = sync_channel(WAITING);
                scope.spawn(move || {
                    for file in files.iter().skip(thread).step_by(threads) {
                        // A receiver that is gone has met an error.
                        if sender.send(prepare_file(project, file, limit)).is_err() {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        for at in 0..files.len() {
            ctx.check()?;
            let Ok(prepared) = channels[at % threads].recv() else {
                return Err(Error::new(
                    ErrorCode::Aborted,
                    "a thread that reads code ended",
                ));
            };
            if let Some(prepared) = prepared? {
                take(at as u64 + 1, prepared)?;
            }
        }
        Ok(())
    })
}

/// Reads and analyses one file. Nothing when it vanished; a file that cannot be used has its
/// reason in its record.
fn prepare_file(project: &Project, file: &ProjectFile, limit: u64) -> Result<Option<Prepared>> {
    let rel = RelPath::new(file.path.clone())?;
    let shown = tree::escape(&file.path);
    let language = Language::of_path(&shown);
    let mut record = CodeFileRecord {
        size: file.stamp.size,
        inode: file.stamp.inode,
        mtime_ns: file.stamp.mtime_ns,
        ctime_ns: file.stamp.ctime_ns,
        seen_ns: tree::now_ns(),
        sha256: ContentHash::of(b""),
        language: language.name.to_owned(),
        skipped: String::new(),
        lossy: false,
        lines: 0,
        first_chunk: 0,
        chunks: 0,
        test_chunks: 0,
        length: 0,
    };
    let left_out = |mut record: CodeFileRecord, why: &str| {
        why.clone_into(&mut record.skipped);
        Ok(Some(Prepared {
            path: file.path.clone(),
            record,
            body: None,
        }))
    };
    if std::str::from_utf8(&file.path).is_err() {
        return left_out(record, "name is not UTF-8");
    }
    if shown.as_bytes() != file.path {
        return left_out(record, "name has control characters");
    }
    if file.stamp.size > limit {
        return left_out(record, "too large");
    }
    let read = match project.read(&rel, limit) {
        Ok(Some(read)) => read,
        Ok(None) => return Ok(None),
        Err(error) => {
            tracing::debug!(path = %shown, %error, "code file left out");
            return left_out(record, "unreadable");
        }
    };
    record.size = read.stamp.size;
    record.inode = read.stamp.inode;
    record.mtime_ns = read.stamp.mtime_ns;
    record.ctime_ns = read.stamp.ctime_ns;
    record.seen_ns = read.seen_ns;
    record.sha256 = ContentHash::of(&read.bytes);
    let decoded = match code::decode(&read.bytes) {
        Ok(decoded) => decoded,
        Err(why) => return left_out(record, why.word()),
    };
    if let Err(why) = code::suitable(&shown, language, &decoded.text) {
        return left_out(record, why.word());
    }
    record.lossy = decoded.lossy;
    let lines = Lines::new(&decoded.text);
    record.lines = lines.count();
    let outline = code::outline(language, &decoded.text, &lines);
    let cut = code::chunks(&lines, &outline);
    let chunks = chunks_record(&outline, &cut);
    let analyzed = analyze(&shown, &lines, &chunks);
    record.chunks = u32::try_from(cut.len()).unwrap_or(u32::MAX);
    record.length = analyzed.iter().map(|section| section.length).sum();
    record.test_chunks = test_chunks(&chunks);
    Ok(Some(Prepared {
        path: file.path.clone(),
        record,
        body: Some(PreparedBody {
            text: CodeTextRecord::new(&decoded.text)?,
            chunks,
            analyzed,
        }),
    }))
}

fn chunks_record(outline: &Outline, cut: &[code::Chunk]) -> CodeChunksRecord {
    let places = |list: &[usize]| {
        list.iter()
            .filter_map(|&at| u32::try_from(at).ok())
            .collect()
    };
    CodeChunksRecord {
        chunks: cut
            .iter()
            .map(|chunk| CodeChunkRecord {
                start_line: chunk.start_line,
                end_line: chunk.end_line,
                symbols: places(&chunk.symbols),
                within: places(&chunk.within),
            })
            .collect(),
        symbols: outline
            .symbols
            .iter()
            .map(|symbol| CodeSymbolRecord {
                name: symbol.name.clone(),
                kind: kind_number(symbol.kind),
                start_line: symbol.start_line,
                end_line: symbol.end_line,
            })
            .collect(),
        references: outline.references.clone(),
    }
}

fn kind_number(kind: SymbolKind) -> u8 {
    let at = SymbolKind::ALL.iter().position(|known| *known == kind);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
}

/// What a symbol of the store is.
pub(super) fn kind_of(symbol: &CodeSymbolRecord) -> SymbolKind {
    let known = SymbolKind::ALL.get(usize::from(symbol.kind));
    known.copied().unwrap_or(SymbolKind::Function)
}

/// Counts the terms of each chunk.
fn analyze(path: &str, lines: &Lines<'_>, record: &CodeChunksRecord) -> Vec<AnalyzedSection> {
    record
        .chunks
        .iter()
        .map(|chunk| {
            let names: Vec<&str> = chunk_symbols(record, chunk)
                .map(|symbol| symbol.name.as_str())
                .collect();
            analyze_code(CodeFields {
                path,
                symbols: &names,
                text: lines.slice(chunk.start_line, chunk.end_line),
            })
        })
        .collect()
}

/// The definitions around a chunk, then those that begin in it.
pub(super) fn chunk_symbols<'a>(
    record: &'a CodeChunksRecord,
    chunk: &'a CodeChunkRecord,
) -> impl Iterator<Item = &'a CodeSymbolRecord> {
    chunk
        .within
        .iter()
        .chain(&chunk.symbols)
        .filter_map(|&at| record.symbols.get(at as usize))
}

/// How many chunks at the end are in a module of tests.
fn test_chunks(record: &CodeChunksRecord) -> u32 {
    let is_test = |chunk: &CodeChunkRecord| {
        let first = chunk.within.first().or(chunk.symbols.first());
        first
            .and_then(|&at| record.symbols.get(at as usize))
            .is_some_and(|symbol| {
                kind_of(symbol) == SymbolKind::Module
                    && matches!(symbol.name.as_str(), "test" | "tests")
            })
    };
    let count = record
        .chunks
        .iter()
        .rev()
        .take_while(|chunk| is_test(chunk))
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What is known of a file; nothing for one that is gone.
type Row = (Vec<u8>, Option<CodeFileRecord>);

/// What was written, and the store after it.
struct Written {
    store: Arc<Store>,
    snapshot: Snapshot,
    change: CodeChange,
    /// The rows that changed.
    rows: Vec<Row>,
}

/// Writes what was prepared. Nothing when another process changed the code index since it was
/// compared.
fn write(
    writing: &Writing<'_>,
    project: &Project,
    seen: &CodeStateRow,
    work: Work,
) -> Result<Option<Written>> {
    use std::os::unix::ffi::OsStrExt;
    let mut batch = writing.batch()?;
    if batch.code_state()? != *seen {
        return Ok(None);
    }
    let mut change = CodeChange::default();
    let mut rows = Vec::new();
    let Work { bulk, files, gone } = work;
    if let Some(bulk) = bulk {
        batch.clear_code()?;
        change.added = files.len() as u64;
        for file in files {
            put(&mut batch, &file)?;
        }
        bulk.finish(&mut batch, IndexSet::Code)?;
    } else {
        let mut files = files.into_iter().peekable();
        let mut gone = gone.into_iter().peekable();
        while files.peek().is_some() || gone.peek().is_some() {
            writing.ctx.check()?;
            let some: Vec<Prepared> = files.by_ref().take(APPLY_FILES).collect();
            let away: Vec<Vec<u8>> = gone.by_ref().take(APPLY_FILES).collect();
            rows.extend(apply(&mut batch, some, &away, &mut change)?);
        }
    }
    batch.put_code_state(&CodeStateRow {
        revision: code::REVISION,
        project: project.path().as_os_str().as_bytes().to_vec(),
        changes: batch.commit_number(),
    })?;
    writing.commit(batch)?;
    Ok(Some(Written {
        store: Arc::clone(&writing.store),
        snapshot: writing.store.read()?,
        change,
        rows,
    }))
}

fn put(batch: &mut Batch, file: &Prepared) -> Result<()> {
    batch.put_code_file(&file.path, &file.record)?;
    if let Some(body) = &file.body {
        batch.put_code_chunks(&file.path, &body.chunks, &body.text)?;
    }
    Ok(())
}

/// Takes some files out of the index and puts others in. Answers the rows that changed.
fn apply(
    batch: &mut Batch,
    mut files: Vec<Prepared>,
    gone: &[Vec<u8>],
    change: &mut CodeChange,
) -> Result<Vec<Row>> {
    let mut removed: Vec<(u32, Vec<String>)> = Vec::new();
    for path in gone {
        terms_of(batch, path, &mut removed)?;
        batch.remove_code_file(path)?;
        change.removed += 1;
    }
    let mut next = index::next_section(batch, IndexSet::Code)?;
    for file in &mut files {
        let old = batch.code_file(&file.path)?;
        match old {
            // Touched, and the same: only its stamp is new.
            Some(old) if old.sha256 == file.record.sha256 && old.skipped == file.record.skipped => {
                file.record.first_chunk = old.first_chunk;
                if let Some(body) = &mut file.body {
                    body.analyzed.clear();
                }
                batch.put_code_file(&file.path, &file.record)?;
                continue;
            }
            Some(_) => {
                terms_of(batch, &file.path, &mut removed)?;
                batch.remove_code_file(&file.path)?;
                change.changed += 1;
            }
            None => change.added += 1,
        }
        file.record.first_chunk = next;
        next = next
            .checked_add(file.record.chunks)
            .ok_or(StoreError::TooLarge {
                what: "the number of chunks ever made",
                limit: u64::from(u32::MAX),
            })?;
        put(batch, file)?;
    }
    let added: Vec<(u32, &AnalyzedSection)> = files
        .iter()
        .filter_map(|file| Some((file.record.first_chunk, file.body.as_ref()?)))
        .flat_map(|(first, body)| (first..).zip(&body.analyzed))
        .collect();
    index::apply(batch, IndexSet::Code, &removed, &added)?;
    let away = gone.iter().map(|path| (path.clone(), None));
    let files = files.into_iter();
    Ok(away
        .chain(files.map(|file| (file.path, Some(file.record))))
        .collect())
}

/// The terms of each chunk of a file as it is in the store.
fn terms_of(view: &View, path: &[u8], terms: &mut Vec<(u32, Vec<String>)>) -> Result<()> {
    let (Some(file), Some(chunks)) = (view.code_file(path)?, view.code_chunks(path)?) else {
        return Ok(());
    };
    let text = view.code_text(path)?.ok_or_else(|| StoreError::Damaged {
        what: format!("the text of {} is missing", tree::escape(path)),
    })?;
    let analyzed = analyze(&tree::escape(path), &Lines::new(&text), &chunks);
    for (id, section) in (file.first_chunk..).zip(analyzed) {
        terms.push((
            id,
            section.terms.into_iter().map(|(term, _)| term).collect(),
        ));
    }
    Ok(())
}

impl CodeTable {
    fn read(snapshot: &Snapshot, state: (Identity, u64)) -> Result<Self> {
        let rows: Result<Vec<_>, StoreError> = snapshot.code_files().collect();
        Ok(Self::of(rows?, state))
    }

    /// The same, with some rows changed.
    fn with(&self, mut changed: Vec<Row>, state: (Identity, u64)) -> Self {
        changed.sort_by(|a, b| a.0.cmp(&b.0));
        let mut rows = Vec::with_capacity(self.rows.len() + changed.len());
        let mut old = self.rows.iter().peekable();
        for (path, record) in changed {
            while let Some(row) = old.next_if(|(known, _)| *known < path) {
                rows.push(row.clone());
            }
            let _ = old.next_if(|(known, _)| *known == path);
            rows.extend(record.map(|record| (path, record)));
        }
        rows.extend(old.cloned());
        Self::of(rows, state)
    }

    fn of(rows: Vec<(Vec<u8>, CodeFileRecord)>, state: (Identity, u64)) -> Self {
        let mut table = Self {
            state,
            rows: Vec::new(),
            files: Vec::new(),
            skipped: Vec::new(),
            ranked: Vec::new(),
            by_chunk: Vec::new(),
            signature: ContentHash::of(b""),
        };
        let mut signature = code::SignatureBuilder::default();
        for (path, record) in &rows {
            let shown = tree::escape(path);
            if !record.skipped.is_empty() {
                table.skipped.push((shown, record.skipped.clone()));
                continue;
            }
            signature.add(path, &record.sha256);
            table.ranked.push(RankedFile {
                first_chunk: record.first_chunk,
                chunks: record.chunks,
                test_chunks: record.test_chunks,
                length: record.length,
                weight: weight_of(&shown, record),
            });
            table.files.push((shown, record.clone()));
        }
        table.rows = rows;
        table.by_chunk = (0u32..).take(table.files.len()).collect();
        let ranked = &table.ranked;
        table
            .by_chunk
            .sort_unstable_by_key(|&at| ranked[at as usize].first_chunk);
        table.signature = signature.finish();
        table
    }
}

/// How much a file's words count. What is about the thing, or made from it, counts less than the
/// thing.
fn weight_of(path: &str, record: &CodeFileRecord) -> f32 {
    let own: f32 = match Language::named(&record.language).content {
        _ if code::is_test_path(path) => 0.5,
        Content::Code => 1.0,
        Content::Docs => 0.35,
        Content::Data => 0.4,
    };
    if code::is_made_from_source(path) {
        own * 0.35
    } else {
        own
    }
}
