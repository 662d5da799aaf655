//! A stream of operations, by the engine and behind its back, against a model of the tree.
//!
//! The model holds the bytes of every page file and the sources that stand in the tree. After
//! each operation the outcome is the one that the model allows; at each look the engine's pages
//! are the valid files of the model, each unique word finds the pages that hold it and no others,
//! `verify` finds nothing but sources that are gone from the tree, and no text that an operation
//! replaced is missing from the history.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use llmwiki::config::Config;
use llmwiki::context::{Context, FixedClock};
use llmwiki::error::{Error, ErrorCode};
use llmwiki::id::{ContentHash, PageId, SourceId};
use llmwiki::page;
use llmwiki::search::Analysis;
use llmwiki::wiki::{
    Expectation, HistoryRequest, NewSource, RestoreRequest, SearchRequest, UpsertPage, Wiki,
};

use super::Input;

/// Operations of one run; what follows in the input is ignored.
const STEPS: usize = 40;
/// Ids whose files sort oddly among folders, collide by case, or nest.
const IDS: &[&str] = &["a", "a/b", "a-b", "a.b", "b", "B", "c/d/e", "z"];
const SOURCES: &[&[u8]] = &[b"one\n", b"two\ntwo\n", b"\xff\x00bytes", b"four"];

/// Runs the operations that the input spells.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut world = World::new();
    world.add_source(0, 0);
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        world.step(&mut input);
    }
    world.look(0);
    world.same_after_reindex();
    world.look(1);
}

struct World {
    dir: tempfile::TempDir,
    /// Two handles, as two processes have them.
    wikis: [Wiki; 2],
    ctx: Context,
    files: BTreeMap<&'static str, Vec<u8>>,
    /// Sources that stand in the tree.
    sources: BTreeSet<SourceId>,
    /// Sources that the store remembers, gone from the tree or not.
    known: BTreeSet<SourceId>,
    /// Sources that stood in the tree when the store was removed: the next store remembers them
    /// if a command came before they were gone.
    glimpsed: BTreeSet<SourceId>,
    /// Texts that must be in the history.
    kept: BTreeSet<(&'static str, ContentHash)>,
    /// Every text that ever stood in the place of a page.
    seen: BTreeSet<(&'static str, ContentHash)>,
    /// Texts that are no pages.
    spoilt: BTreeSet<ContentHash>,
    words: u32,
}

fn page_id(id: &str) -> PageId {
    PageId::parse(id).unwrap()
}

fn source_id(which: usize) -> SourceId {
    SourceId::of(SOURCES[which])
}

/// A word that no stemmer touches and no other word holds.
fn word(number: u32) -> String {
    let letters = b"bcdfghjkmp";
    let digits = [number / 100 % 10, number / 10 % 10, number % 10];
    let middle: String = digits
        .iter()
        .map(|&digit| char::from(letters[digit as usize]))
        .collect();
    format!("zq{middle}vx")
}

fn is_page(bytes: &[u8]) -> bool {
    page::parse_bytes(bytes).is_ok()
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let open = || Wiki::new(dir.path().join("wiki"), Config::default());
        let wikis = [open(), open()];
        let clock = Arc::new(FixedClock("2026-02-03T04:05:06.789Z".parse().unwrap()));
        let ctx = Context::new(clock, wikis[0].config().limits.clone());
        Self {
            dir,
            wikis,
            ctx,
            files: BTreeMap::new(),
            sources: BTreeSet::new(),
            known: BTreeSet::new(),
            glimpsed: BTreeSet::new(),
            kept: BTreeSet::new(),
            seen: BTreeSet::new(),
            spoilt: BTreeSet::new(),
            words: 0,
        }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join("wiki").join(relative)
    }

    fn file(&self, id: &str) -> PathBuf {
        self.path(&format!("pages/{id}.md"))
    }

    fn step(&mut self, input: &mut Input<'_>) {
        let operation = input.below(20);
        let at = input.below(2);
        match operation {
            0 => self.add_source(at, input.below(SOURCES.len())),
            1..=4 => self.upsert(at, input),
            5 => self.delete(at, input),
            6 | 7 => self.edit(input),
            8 => self.spoil(input),
            9 => self.remove_file(input),
            10 => self.remove_source(input.below(SOURCES.len())),
            11 => drop(self.search(at, "common")),
            12 => self.reindex(at),
            13 => self.reopen(at, input.below(4) == 3),
            14 => self.remove_store(),
            15 => self.restore(at, input),
            16 => self.rename(input),
            17 => self.read(at, IDS[input.below(IDS.len())]),
            18 => self.restore_missing(at),
            _ => self.look(at),
        }
        self.must_match_tree();
    }

    fn add_source(&mut self, at: usize, which: usize) {
        let source = NewSource {
            name: "evidence".into(),
            content: SOURCES[which].to_vec(),
            ..NewSource::default()
        };
        let report = self.wikis[at].add_source(&self.ctx, source).unwrap();
        let id = source_id(which);
        assert_eq!(report.id, id.to_string());
        let known = !self.sources.insert(id) | !self.known.insert(id);
        if known || !self.glimpsed.remove(&id) {
            assert_eq!(report.deduplicated, known);
        }
    }

    /// Title, sources and body of a new text; its word is in the body.
    fn text(&mut self, id: &str, input: &mut Input<'_>) -> (String, Vec<SourceId>, String) {
        self.words += 1;
        let word = word(self.words);
        let shape = input.byte();
        let mut sources = BTreeSet::from([source_id(usize::from(shape & 3))]);
        if shape & 4 != 0 {
            sources.insert(source_id(0));
        }
        let target = IDS[usize::from(shape >> 5)];
        let mut body = match shape >> 3 & 3 {
            0 => format!("common {word}\n"),
            1 => format!("# Heading\n\ncommon common {word}\n\n## More\n\n[link]({target}.md)\n"),
            2 => format!(
                "Before.\n\n# common\n\n{word} [[{target}]] [x](llmwiki://source/{}#L1)\n",
                source_id(0)
            ),
            _ => format!(
                "{}\n# H {word}\n\n```\n# common\n",
                "common word\n".repeat(30)
            ),
        };
        body.push_str("\n\n");
        body.push_str(&input.text());
        let title = if shape & 4 == 0 {
            format!("Title of {id}")
        } else {
            "Shared title".into()
        };
        (title, sources.into_iter().collect(), body)
    }

    fn upsert(&mut self, at: usize, input: &mut Input<'_>) {
        let id = IDS[input.below(IDS.len())];
        let expecting = input.below(8);
        let (title, sources, body) = self.text(id, input);
        let current = self.files.get(id).map(|bytes| ContentHash::of(bytes));
        let expected = match expecting {
            0 => Expectation::Absent,
            1 => Expectation::Sha256(current.unwrap_or(ContentHash::of(b"none"))),
            2 => Expectation::Sha256(ContentHash::of(b"another")),
            _ => Expectation::Any,
        };
        let mut allowed = Vec::new();
        match (expected, current) {
            (Expectation::Absent, Some(_)) | (Expectation::Sha256(_), None) => {
                allowed.push(ErrorCode::Conflict);
            }
            (Expectation::Sha256(wanted), Some(current)) if wanted != current => {
                allowed.push(ErrorCode::Conflict);
            }
            _ => {}
        }
        // A claim in the text needs its source as well.
        let claims = body.contains(&format!("llmwiki://source/{}", source_id(0)));
        if !sources.iter().all(|source| self.sources.contains(source))
            || claims && !self.sources.contains(&source_id(0))
        {
            allowed.push(ErrorCode::SourceNotFound);
        }
        let must_fail = !allowed.is_empty();
        let folded = page_id(id).fold_key();
        let twin = |other: &&str| **other != *id && page_id(other).fold_key() == folded;
        if current.is_none() && self.files.keys().any(twin) {
            // Only a twin that the store has taken in is refused.
            allowed.push(ErrorCode::InvalidPath);
        }
        let text = page::render(&title, "Summary.", &sources, &body).unwrap();
        let request = UpsertPage {
            id: page_id(id),
            title,
            summary: "Summary.".into(),
            sources,
            body,
            expected,
            message: String::new(),
        };
        match self.wikis[at].upsert_page(&self.ctx, request) {
            Ok(report) => {
                assert!(!must_fail, "{allowed:?} was due");
                assert_eq!(report.created, current.is_none());
                assert_eq!(
                    report.unchanged,
                    current == Some(ContentHash::of(text.as_bytes()))
                );
                // What is no page was never a state of the page: it is told where it is kept.
                let is_no_page = self.files.get(id).is_some_and(|text| !is_page(text));
                assert_eq!(report.displaced.is_some(), is_no_page);
                assert_eq!(report.sha256, ContentHash::of(text.as_bytes()).to_string());
                self.replace(id, Some(text.into_bytes()));
            }
            Err(error) => assert!(allowed.contains(&error.code()), "{error:?} of {allowed:?}"),
        }
    }

    /// The engine put another text into the place of a page: the one before is in the history.
    fn replace(&mut self, id: &'static str, text: Option<Vec<u8>>) {
        let old = match text {
            Some(text) => {
                let hash = ContentHash::of(&text);
                self.kept.insert((id, hash));
                self.seen.insert((id, hash));
                self.files.insert(id, text)
            }
            None => self.files.remove(id),
        };
        if let Some(old) = old {
            self.kept.insert((id, ContentHash::of(&old)));
        }
    }

    fn delete(&mut self, at: usize, input: &mut Input<'_>) {
        let id = IDS[input.below(IDS.len())];
        let deleted = self.wikis[at].delete_page(&self.ctx, &page_id(id), Expectation::Any, "");
        match self.files.get(id) {
            Some(text) => {
                assert_eq!(deleted.unwrap().sha256, ContentHash::of(text).to_string());
                self.replace(id, None);
            }
            None => assert_eq!(deleted.unwrap_err().code(), ErrorCode::PageNotFound),
        }
    }

    /// A person saves a page.
    fn edit(&mut self, input: &mut Input<'_>) {
        let id = IDS[input.below(IDS.len())];
        let (title, sources, body) = self.text(id, input);
        let text = page::render(&title, "Summary.", &sources, &body).unwrap();
        self.save(id, text.into_bytes(), input.below(3));
    }

    /// A person saves something that is no page, or an empty file.
    fn spoil(&mut self, input: &mut Input<'_>) {
        let id = IDS[input.below(IDS.len())];
        let mut text = input.bytes().to_vec();
        if is_page(&text) {
            text.clear();
        }
        self.spoilt.insert(ContentHash::of(&text));
        self.save(id, text, input.below(3));
    }

    fn save(&mut self, id: &'static str, text: Vec<u8>, how: usize) {
        let file = self.file(id);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        if how == 0 {
            fs::write(&file, &text).unwrap();
        } else {
            let beside = file.with_extension("swp");
            fs::write(&beside, &text).unwrap();
            fs::rename(&beside, &file).unwrap();
        }
        if how == 2 {
            age(&file);
        }
        self.seen.insert((id, ContentHash::of(&text)));
        self.files.insert(id, text);
    }

    fn remove_file(&mut self, input: &mut Input<'_>) {
        let id = IDS[input.below(IDS.len())];
        if self.files.remove(id).is_some() {
            fs::remove_file(self.file(id)).unwrap();
        }
    }

    fn rename(&mut self, input: &mut Input<'_>) {
        let (from, to) = (IDS[input.below(IDS.len())], IDS[input.below(IDS.len())]);
        if from == to {
            return;
        }
        if let Some(text) = self.files.remove(from) {
            fs::create_dir_all(self.file(to).parent().unwrap()).unwrap();
            fs::rename(self.file(from), self.file(to)).unwrap();
            self.seen.insert((to, ContentHash::of(&text)));
            self.files.insert(to, text);
        }
    }

    fn remove_source(&mut self, which: usize) {
        let id = source_id(which);
        if self.sources.remove(&id) {
            fs::remove_dir_all(self.path(&format!("sources/{id}"))).unwrap();
        }
    }

    /// With the store goes the history, and what was known of sources that are gone.
    fn remove_store(&mut self) {
        let store = self.path(".store");
        if store.exists() {
            fs::remove_dir_all(store).unwrap();
        }
        self.kept.clear();
        self.known.clear();
        self.glimpsed.clone_from(&self.sources);
    }

    fn reopen(&mut self, at: usize, classic: bool) {
        let analysis = if classic {
            Analysis::Classic
        } else {
            Analysis::Standard
        };
        let config = Config {
            analysis,
            ..Config::default()
        };
        self.wikis[at] = Wiki::new(self.dir.path().join("wiki"), config);
    }

    fn reindex(&mut self, at: usize) {
        let report = self.wikis[at].reindex(&self.ctx).unwrap();
        let pages = self.files.values().filter(|text| is_page(text)).count();
        assert_eq!(report.page_count, pages as u64);
        for (&id, text) in &self.files {
            if is_page(text) {
                self.kept.insert((id, ContentHash::of(text)));
            }
        }
    }

    fn restore(&mut self, at: usize, input: &mut Input<'_>) {
        let id = IDS[input.below(IDS.len())];
        let request = RestoreRequest::Page {
            id: page_id(id),
            revision: None,
        };
        match self.wikis[at].restore(&self.ctx, &request, false) {
            Ok(report) => {
                assert!(report.applied);
                let text = fs::read(self.file(id)).unwrap();
                let hash = ContentHash::of(&text);
                assert_eq!(report.items[0].sha256, hash.to_string());
                assert!(
                    self.seen.contains(&(id, hash)),
                    "a text that was never there"
                );
                self.replace(id, Some(text));
                self.see_sources();
            }
            Err(error) => self.may_lack(id, &error),
        }
    }

    /// Why a page cannot come back: nothing is known of it, its sources are gone for good, or a
    /// page whose id differs by case is there.
    fn may_lack(&self, id: &str, error: &Error) {
        match error.code() {
            ErrorCode::PageNotFound => {
                // What was never a valid page is in the history, but no newest text.
                let is_newest =
                    |(kept, hash): &(&str, ContentHash)| *kept == id && !self.spoilt.contains(hash);
                assert!(!self.kept.iter().any(is_newest), "{id}: {error:?}");
            }
            ErrorCode::SourceNotFound => assert!(self.sources.len() < SOURCES.len()),
            ErrorCode::InvalidPath => {
                let twin = |other: &&str| **other != *id && other.eq_ignore_ascii_case(id);
                assert!(self.files.keys().any(twin), "{error:?}");
            }
            _ => panic!("{error:?}"),
        }
    }

    fn restore_missing(&mut self, at: usize) {
        match self.wikis[at].restore(&self.ctx, &RestoreRequest::Missing, false) {
            Ok(report) => {
                let mut refused = Vec::new();
                for item in report.items {
                    let Some(name) = item.path.strip_prefix("pages/") else {
                        continue;
                    };
                    let name = name.strip_suffix(".md").unwrap();
                    let id = IDS.iter().find(|id| **id == name).unwrap();
                    if item.action == "refused" {
                        refused.push((id, item));
                        continue;
                    }
                    assert!(!self.files.contains_key(id), "{id} was not missing");
                    let text = fs::read(self.file(id)).unwrap();
                    let hash = ContentHash::of(&text);
                    assert!(
                        self.seen.contains(&(id, hash)),
                        "a text that was never there"
                    );
                    self.replace(id, Some(text));
                }
                for (id, item) in refused {
                    let twin = |other: &&str| other != id && other.eq_ignore_ascii_case(id);
                    let lacks_sources = self.sources.len() < SOURCES.len();
                    assert!(self.files.keys().any(twin) || lacks_sources, "{item:?}");
                    assert!(!self.files.contains_key(id), "{id} was not missing");
                }
            }
            Err(error) => {
                assert!(
                    matches!(
                        error.code(),
                        ErrorCode::SourceNotFound | ErrorCode::InvalidPath
                    ),
                    "{error:?}"
                );
                // Some may have come back before it.
                for id in IDS {
                    if let Ok(text) = fs::read(self.file(id)) {
                        self.files.entry(id).or_insert(text);
                    }
                }
            }
        }
        self.see_sources();
    }

    fn see_sources(&mut self) {
        for which in 0..SOURCES.len() {
            let id = source_id(which);
            if self.path(&format!("sources/{id}/metadata.json")).exists() {
                self.sources.insert(id);
            }
        }
    }

    fn read(&mut self, at: usize, id: &'static str) {
        let read = self.wikis[at].read_page(&self.ctx, &page_id(id), None);
        match (self.files.get(id), read) {
            (Some(text), Ok(read)) if read.sha256 == ContentHash::of(text).to_string() => {
                assert_eq!(read.markdown.as_bytes(), text);
                for missing in read.missing_sources {
                    assert!(
                        !self.sources.contains(&missing.parse().unwrap()),
                        "{missing} is there"
                    );
                }
                self.kept.insert((id, ContentHash::of(text)));
            }
            // A file that may be half-saved waits, and the text before it answers.
            (Some(text), Ok(_)) => assert!(self.may_wait(id, text), "an old text of {id}"),
            (Some(text), Err(error)) if is_page(text) => {
                assert_eq!(error.code(), ErrorCode::StoreBusy);
                assert!(self.may_wait(id, text), "{id}: {error:?}");
            }
            (Some(_), Err(error)) => assert_eq!(error.code(), ErrorCode::InvalidPage),
            (None, Ok(_)) => panic!("{id} is gone and was read"),
            (None, Err(error)) => assert_eq!(error.code(), ErrorCode::PageNotFound),
        }
    }

    /// Whether a file is young, and short or no page.
    fn may_wait(&self, id: &str, text: &[u8]) -> bool {
        let modified = fs::metadata(self.file(id)).unwrap().modified().unwrap();
        let young = modified > SystemTime::now() - Duration::from_secs(30);
        let longest = 2 * text.len() < 1 << 16;
        young && (!is_page(text) || longest)
    }

    /// Ids of the pages that a search finds, and the scores of its hits.
    fn search(&self, at: usize, query: &str) -> (BTreeSet<String>, Vec<(String, u32, u64)>) {
        let request = SearchRequest {
            query: query.into(),
            limit: None,
            explain: false,
        };
        let report = self.wikis[at].search(&self.ctx, &request).unwrap();
        let pages = report.hits.iter().map(|hit| hit.page_id.clone()).collect();
        let hits = report
            .hits
            .into_iter()
            .map(|hit| (hit.page_id, hit.start_line, hit.score.to_bits()))
            .collect();
        (pages, hits)
    }

    /// The tree holds what the model says, whatever the engine did.
    fn must_match_tree(&self) {
        for id in IDS {
            let there = fs::read(self.file(id)).ok();
            assert_eq!(there.as_ref(), self.files.get(id), "the file of {id}");
        }
    }

    /// Compares all that the engine says with the model, once no file is young.
    fn look(&mut self, at: usize) {
        for id in self.files.keys() {
            age(&self.file(id));
        }
        let request = SearchRequest {
            query: "common".into(),
            limit: None,
            explain: false,
        };
        let report = self.wikis[at].search(&self.ctx, &request).unwrap();
        assert_eq!(report.pending, 0);
        let skipped: BTreeSet<String> = report.skipped.into_iter().map(|file| file.path).collect();
        let spoilt: BTreeSet<String> = self
            .files
            .iter()
            .filter(|(_, text)| !is_page(text))
            .map(|(id, _)| format!("pages/{id}.md"))
            .collect();
        assert_eq!(skipped, spoilt);

        let mut valid: Vec<&'static str> = self
            .files
            .iter()
            .filter(|(_, text)| is_page(text))
            .map(|(id, _)| *id)
            .collect();
        valid.sort_unstable();
        let list = self.wikis[at].list_pages(&self.ctx, "", None, 100).unwrap();
        let listed: Vec<&str> = list.pages.iter().map(|page| page.id.as_str()).collect();
        assert_eq!(listed, valid);
        for id in valid {
            self.read(at, id);
            let read = self.wikis[at]
                .read_page(&self.ctx, &page_id(id), None)
                .unwrap();
            assert_eq!(read.markdown.as_bytes(), self.files[id]);
        }

        for number in 1..=self.words {
            let word = word(number);
            let holders: BTreeSet<String> = self
                .files
                .iter()
                .filter(|(_, text)| is_page(text) && String::from_utf8_lossy(text).contains(&word))
                .map(|(id, _)| (*id).to_owned())
                .collect();
            assert_eq!(self.search(at, &word).0, holders, "pages that hold {word}");
        }

        let status = self.wikis[at].status(&self.ctx).unwrap();
        assert_eq!(status.pending, 0);
        let verified = self.wikis[at].verify(&self.ctx).unwrap();
        let is_gone = |subject: &str| {
            let id = subject.strip_prefix("sources/").map(str::parse);
            matches!(id, Some(Ok(id)) if !self.sources.contains(&id))
        };
        let more: Vec<_> = verified
            .findings
            .iter()
            .filter(|finding| !is_gone(&finding.subject))
            .collect();
        assert!(more.is_empty(), "{more:#?}");
        self.must_hold_history(at);
    }

    fn must_hold_history(&self, at: usize) {
        let mut known = BTreeSet::new();
        let request = HistoryRequest {
            limit: 10_000,
            ..HistoryRequest::default()
        };
        for revision in self.wikis[at]
            .history(&self.ctx, &request)
            .unwrap()
            .revisions
        {
            known.extend(revision.sha256.map(|sha256| (revision.page, sha256)));
        }
        for (id, hash) in &self.kept {
            let wanted = ((*id).to_owned(), hash.to_string());
            assert!(known.contains(&wanted), "the text {hash} of {id} is lost");
        }
    }

    /// The index that many small writes made answers as one made anew, bit for bit.
    fn same_after_reindex(&mut self) {
        let queries = [
            "common",
            "common heading",
            "title shared common",
            "word before",
        ];
        let before: Vec<_> = queries
            .iter()
            .map(|query| self.search(0, query).1)
            .collect();
        self.reindex(0);
        for (query, before) in queries.iter().zip(before) {
            assert_eq!(
                self.search(0, query).1,
                before,
                "hits of {query:?} after reindex"
            );
        }
    }
}

/// Makes a file look as if it had been saved a minute ago.
fn age(file: &std::path::Path) {
    let then = SystemTime::now() - Duration::from_mins(1);
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(then)
        .unwrap();
}
