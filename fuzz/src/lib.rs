//! Bodies of the fuzz targets: each takes bytes, and panics when a promise is broken.
//!
//! `tests/it/regressions.rs` includes this file too and replays seeds and findings through it, so
//! nothing here may need more than `llmwiki`, `serde_json` and `tempfile`.

pub mod mcp;
pub mod operations;

use llmwiki::federation::{self, Index};
use llmwiki::id::{PageId, SourceId};
use llmwiki::page::{self, Page, PageNames, Resolution, Section};
use llmwiki::search::lengths;
use llmwiki::search::postings::{BlockBuffer, Posting, ROW_POSTINGS, Row, TermPostings};
use llmwiki::search::{Analysis, Candidate, phrase_matches, snippet as make_snippet};
use llmwiki::source::{examine_metadata, is_captured_at, parse_events, parse_metadata};
use llmwiki::store::{self, index};

/// What a target does with its input.
pub type Body = fn(&[u8]);

/// Every target, by the name of its file in `fuzz_targets/`.
pub const TARGETS: &[(&str, Body)] = &[
    ("frontmatter", frontmatter),
    ("links", links),
    ("mcp_frame", mcp::frame),
    ("metadata", metadata),
    ("operations", operations::run),
    ("page_parse", page_parse),
    ("posting_row", posting_row),
    ("query_parse", query_parse),
    ("record_decode", record_decode),
    ("sections", sections),
    ("snippet", snippet),
    ("wiki_index", wiki_index),
];

/// Input taken apart from its front; nothing is left at the end, and zeros come.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// Whether something is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    /// A number below `limit`, which is at most 256.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    /// A number of as many bytes as the next byte says, up to four.
    pub fn number(&mut self) -> u32 {
        (0..self.below(5)).fold(0, |number, _| number << 8 | u32::from(self.byte()))
    }

    /// The next bytes, as many as the byte before them says.
    pub fn bytes(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    /// The next bytes as text.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    /// All that is left, as text with LF line ends.
    pub fn rest(self) -> String {
        body_of(self.0)
    }
}

fn body_of(bytes: &[u8]) -> String {
    page::unix_line_ends(&String::from_utf8_lossy(bytes)).into_owned()
}

/// A body has this many lines, the last of them perhaps empty.
fn line_count(body: &str) -> u32 {
    1 + u32::try_from(body.matches('\n').count()).unwrap()
}

/// Any bytes as a page file.
pub fn page_parse(data: &[u8]) {
    match page::parse_bytes(data) {
        Ok(page) => check_page(&page),
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            let lines = data
                .iter()
                .filter(|&&byte| matches!(byte, b'\n' | b'\r'))
                .count();
            assert!(
                error
                    .line
                    .is_none_or(|line| line >= 1 && line as usize <= lines + 1)
            );
        }
    }
}

/// What every parsed page keeps, and that writing and reading it again changes nothing.
fn check_page(page: &Page) {
    assert!(!page.title.contains(['\n', '\r']) && !page.summary.contains(['\n', '\r']));
    assert!(page.sources.is_sorted_by(|a, b| a < b) && !page.sources.is_empty());
    assert!(page.body.ends_with('\n') && !page.body.ends_with("\n\n") && !page.body.contains('\r'));
    let text = page::render(&page.title, &page.summary, &page.sources, &page.body).unwrap();
    let mut again = page::parse(&text).unwrap();
    assert_eq!(
        text,
        page::render(&again.title, &again.summary, &again.sources, &again.body).unwrap()
    );
    // The canonical form has its lines at fixed places.
    assert_eq!(again.body_start_line as usize, page.sources.len() + 7);
    again.body_start_line = page.body_start_line;
    assert_eq!(&again, page);
}

/// A page made from the input, as it is and with a few changes to its text.
pub fn frontmatter(data: &[u8]) {
    let mut input = Input(data);
    let (title, summary) = (input.text(), input.text());
    let sources: Vec<SourceId> = (0..input.below(4))
        .map(|_| SourceId::of(&[input.byte() % 8]))
        .collect();
    let changes = input.below(4);
    let edits: Vec<(u8, u8, u8)> = (0..changes)
        .map(|_| (input.byte(), input.byte(), input.byte()))
        .collect();
    let Ok(text) = page::render(&title, &summary, &sources, &input.rest()) else {
        return;
    };
    let parsed = page::parse(&text).unwrap();
    assert_eq!((&parsed.title, &parsed.summary), (&title, &summary));
    check_page(&parsed);
    let mut bytes = text.into_bytes();
    for (kind, at, byte) in edits {
        let at = usize::from(at) % bytes.len();
        match kind % 4 {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            _ => {
                let end = bytes[at..]
                    .iter()
                    .position(|&b| b == b'\n')
                    .map_or(bytes.len(), |n| at + n);
                let line = bytes[at..end].to_vec();
                bytes.splice(end..end, line);
            }
        }
        if bytes.is_empty() {
            return;
        }
    }
    page_parse(&bytes);
}

/// Links and citations of any body, resolved among a few pages.
pub fn links(data: &[u8]) {
    let body = body_of(data);
    let found = page::references(&body, 1);
    let last = line_count(&body);
    let lines = || found.links.iter().map(|link| link.line);
    assert!(lines().is_sorted() && lines().all(|line| (1..=last).contains(&line)));
    let cited = || found.citations.iter().map(|citation| citation.line);
    assert!(cited().is_sorted() && cited().all(|line| (1..=last).contains(&line)));
    for citation in &found.citations {
        if let Ok(Some((first, last))) = citation.lines {
            assert!(1 <= first && first <= last);
        }
    }

    let mut moved = page::references(&body, 11);
    moved.links.iter_mut().for_each(|link| link.line -= 10);
    moved
        .citations
        .iter_mut()
        .for_each(|citation| citation.line -= 10);
    assert_eq!(
        moved, found,
        "the first line's number changes no more than line numbers"
    );

    let mut names = PageNames::default();
    let mut ids = Vec::new();
    for (id, title) in [
        ("a", "A"),
        ("a/b", "Beta"),
        ("Guides/b", "a b"),
        ("c.d", "Stra\u{df}e"),
    ] {
        let id = PageId::parse(id).unwrap();
        names.insert(id.clone(), title);
        ids.push(id);
    }
    for from in &ids {
        for link in &found.links {
            match page::resolve(from, link, &names) {
                Resolution::Page(id) => assert!(ids.contains(&id)),
                Resolution::Broken(wanted) => {
                    assert!(
                        ids.iter().all(|id| id.as_str() != wanted),
                        "{wanted} is there"
                    );
                }
                Resolution::Escapes | Resolution::NotAPage => {}
            }
        }
    }
}

/// Both cutters on any body.
pub fn sections(data: &[u8]) {
    let body = body_of(data);
    for cut in [page::sections, page::sections_classic] {
        let found = cut(&body, 1);
        check_sections(&body, &found);
        let mut moved = cut(&body, 8);
        for section in &mut moved {
            section.start_line -= 7;
            section.end_line -= 7;
        }
        assert_eq!(
            moved, found,
            "the first line's number changes no more than line numbers"
        );
    }
}

fn check_sections(body: &str, found: &[Section]) {
    let mut covered = 0;
    let mut end = 0;
    for (at, section) in found.iter().enumerate() {
        assert!(section.level <= 6);
        assert_eq!(section.level == 0, section.heading_trail.is_empty());
        assert!(
            section.level > 0 || at == 0,
            "only the first has no heading"
        );
        assert!(section.start_line <= section.end_line && section.end_line <= line_count(body));
        assert!(section.start_line > covered, "sections share a line");
        assert!(
            body.get(section.text.clone()).is_some(),
            "a text is cut inside a character"
        );
        assert!(
            section.text.is_empty() || section.text.start >= end,
            "texts overlap"
        );
        end = section.text.end.max(end);
        for line in covered + 1..section.start_line {
            assert_blank(body, line);
        }
        covered = section.end_line;
    }
    for line in covered + 1..=line_count(body) {
        assert_blank(body, line);
    }
}

fn assert_blank(body: &str, line: u32) {
    let text = body.split('\n').nth(line as usize - 1).unwrap_or_default();
    assert!(
        text.chars().all(|c| c.is_whitespace() || c == '\u{feff}'),
        "line {line} is in no section: {text:?}"
    );
}

/// Any bytes as posting rows, and rows made from the input.
pub fn posting_row(data: &[u8]) {
    let mut input = Input(data);
    match input.below(4) {
        0 => {
            if let Ok(row) = Row::decode(input.0) {
                check_row(&row);
            }
        }
        1 => {
            let mut term = TermPostings::default();
            let (first, second) = (input.bytes(), input.0);
            if term.push_row(first).is_ok() && term.push_row(second).is_ok() {
                let mut buffer = BlockBuffer::default();
                for at in 0..term.blocks().len() {
                    let count = term.decode_block(at, &mut buffer);
                    assert_eq!(count, term.blocks()[at].len());
                    assert!(!term.front(&term.blocks()[at]).is_empty());
                }
            }
        }
        2 => {
            if let Ok(block) = lengths::decode_block(input.0) {
                let mut bytes = Vec::new();
                lengths::encode_block(&block, &mut bytes);
                assert_eq!(lengths::decode_block(&bytes).unwrap(), block);
            }
        }
        _ => {
            let mut row = Row {
                document_frequency: input.number(),
                blocks: Vec::new(),
            };
            let mut section = input.number().min(u32::MAX - 1);
            let mut pushed = Vec::new();
            while !input.is_empty() && row.len() < ROW_POSTINGS {
                // The same posting several times over, so that full sub-blocks come early.
                let (times, gap) = (1 + input.below(40), input.number().saturating_add(1));
                let (weight, length) = (input.number().max(1), input.number());
                for _ in 0..times.min(ROW_POSTINGS - row.len()) {
                    row.push(Posting { section, weight }, length);
                    pushed.push((section, weight, length));
                    match section.checked_add(gap) {
                        Some(next) if next < u32::MAX => section = next,
                        _ => {
                            check_built(&row, &pushed);
                            return;
                        }
                    }
                }
            }
            check_built(&row, &pushed);
        }
    }
}

fn check_built(row: &Row, pushed: &[(u32, u32, u32)]) {
    let bounded = |row: &Row| {
        let mut left = pushed.iter();
        for block in &row.blocks {
            for posting in &block.postings {
                let &(_, weight, length) = left
                    .find(|&&(section, ..)| section == posting.section)
                    .expect("postings come in the order in which they were pushed");
                assert_eq!(weight, posting.weight);
                assert!(block.front.bounds(weight, length));
            }
        }
    };
    let again = check_row(row);
    assert_eq!(again.len(), pushed.len());
    bounded(&again);
    let gone: Vec<u32> = pushed
        .iter()
        .step_by(3)
        .map(|&(section, ..)| section)
        .collect();
    let mut fewer = again.clone();
    assert_eq!(fewer.remove(&gone), gone.len());
    assert_eq!(fewer.len() + gone.len(), pushed.len());
    bounded(&check_row(&fewer));
}

/// Encodes and decodes a row: the same postings, and the second time the same bytes.
fn check_row(row: &Row) -> Row {
    let encode = |row: &Row| {
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        bytes
    };
    let bytes = encode(row);
    let again = Row::decode(&bytes).expect("what was encoded is decoded");
    let postings = |row: &Row| -> Vec<Posting> {
        row.blocks
            .iter()
            .flat_map(|block| block.postings.iter().copied())
            .collect()
    };
    assert_eq!(postings(&again), postings(row));
    assert_eq!(again.document_frequency, row.document_frequency);
    assert_eq!(encode(&again), bytes);
    again
}

/// Tables of sealed records, each with a key of its shape.
const RECORDS: &[(&str, &[u8])] = &[
    ("meta", b"schema"),
    ("meta", b"state"),
    ("blobs", &[7; 36]),
    ("sources", &[7; 32]),
    ("source_events", &[7; 64]),
    ("pages", b"a/b"),
    ("revisions", &[0; 9]),
    ("revisions", &[1; 9]),
    ("intents", b"pages/a.md"),
    ("stamps", b"pages/a.md"),
    ("skipped", b"pages/a.md"),
    ("citations", b"\0a"),
    ("citations", b"\x01a\0b"),
    ("links", b"\0a"),
    ("links", b"\x01a\0b"),
    ("titles", b"\0a"),
    ("titles", b"\x01a\0b"),
    ("sections", &[0, 0, 0, 1]),
    ("projects", b"billing"),
    ("project_pages", b"billing\0.wiki/a.md"),
];

/// Any payload as a record of any table, or as a row of the index's delta.
pub fn record_decode(data: &[u8]) {
    let mut input = Input(data);
    let which = input.below(RECORDS.len() + 1);
    let result = match RECORDS.get(which) {
        Some((table, key)) => store::decode_payload(table, key, input.0),
        None => index::decode_delta(input.0),
    };
    if let Err(error) = result {
        assert!(!error.to_string().is_empty());
    }
}

/// Any text as a query of both analyses.
pub fn query_parse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let id = PageId::parse("guides/a").unwrap();
    let sources = [SourceId::of(b"1")];
    let trail = ["Heading".to_owned()];
    for &analysis in Analysis::ALL {
        let query = analysis.query(&text);
        assert_eq!(query, analysis.query(&text));
        let mut terms: Vec<&str> = query.terms.iter().map(|(term, _)| term.as_str()).collect();
        assert!(
            query
                .terms
                .iter()
                .all(|(term, count)| !term.is_empty() && *count > 0)
        );
        terms.sort_unstable();
        assert!(
            terms.is_sorted_by(|a, b| a < b),
            "a term is there twice: {terms:?}"
        );
        assert!(
            query
                .phrases
                .iter()
                .chain(&query.minus_phrases)
                .all(|phrase| !phrase.is_empty())
        );
        assert!(analysis == Analysis::Standard || !query.has_conditions());
        let candidate = Candidate {
            id: &id,
            title: "Title",
            summary: "Summary.",
            sources: &sources,
            heading_trail: &trail,
            text: &text,
        };
        query.accepts(analysis, &candidate);
        for phrase in &query.phrases {
            assert!(
                phrase_matches(analysis, phrase, &text),
                "{phrase:?} stands in the query"
            );
        }
        if !query.has_conditions() {
            check_found(analysis, &query.terms, &text);
        }
    }
}

/// A page that is called as the query says is found by it.
fn check_found(analysis: Analysis, terms: &[(String, u32)], text: &str) {
    let page = Page {
        title: text.to_owned(),
        summary: "s".to_owned(),
        sources: vec![SourceId::of(b"1")],
        body: "text\n".to_owned(),
        body_start_line: 8,
    };
    let sections = analysis.sections(&PageId::parse("x").unwrap(), &page);
    assert_eq!(sections.len(), 1);
    let found = sections[0]
        .terms
        .iter()
        .any(|(term, _)| terms.iter().any(|(other, _)| other == term));
    assert!(
        found || terms.is_empty(),
        "{terms:?} are none of {:?}",
        sections[0].terms
    );
    assert!(sections[0].terms.is_sorted_by(|a, b| a.0 < b.0));
}

/// Snippets of any text: what follows the first line, for the query in the first line.
pub fn snippet(data: &[u8]) {
    let mut input = Input(data);
    let max_bytes = 64 + usize::from(input.byte());
    let rest = input.rest();
    let (asked, text) = rest.split_once('\n').unwrap_or((&rest, ""));
    for &analysis in Analysis::ALL {
        let query = analysis.query(asked);
        let found = make_snippet(analysis, text, &query, max_bytes);
        assert!(found.text.len() <= max_bytes, "{} bytes", found.text.len());
        assert_eq!(
            text.get(found.start..found.start + found.text.len()),
            Some(&*found.text)
        );
        let newlines = text[..found.start].matches('\n').count();
        assert_eq!(found.lines_before as usize, newlines);
        let mut before = 0;
        for &(start, end) in &found.matches {
            assert!(before <= start && start < end, "{:?}", found.matches);
            assert!(found.text.get(start..end).is_some());
            before = end;
        }
        assert!(!text.chars().any(char::is_alphanumeric) || !found.text.trim().is_empty());
    }
}

/// Any bytes as `metadata.json` and as `events.jsonl`.
pub fn metadata(data: &[u8]) {
    let examined = examine_metadata(data);
    match parse_metadata(data) {
        Ok(record) => {
            assert!(examined.unknown_keys.is_empty());
            assert_eq!(examined.record.as_ref(), Ok(&record));
        }
        Err(faults) => {
            assert!(!faults.is_empty());
            for fault in faults {
                assert!(!fault.to_string().is_empty());
            }
        }
    }
    if let Ok(record) = examined.record {
        assert!(is_captured_at(&record.captured_at));
        assert_eq!(parse_metadata(record.render().as_bytes()), Ok(record));
    }
    let (events, bad) = parse_events(data);
    assert!(bad.is_sorted_by(|a, b| a < b));
    let text: String = events.iter().map(|event| event.render() + "\n").collect();
    assert_eq!(parse_events(text.as_bytes()), (events, Vec::new()));
}

/// Any bytes as the index of another project.
pub fn wiki_index(data: &[u8]) {
    let index = match Index::parse(data) {
        Ok(index) => index,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    for entry in &index.entries {
        assert!(!entry.paths.is_empty());
        assert!(!entry.title.contains('\n') && !entry.description.contains('\n'));
        let found = index.find(&entry.slug).unwrap();
        assert_eq!(found.slug, entry.slug);
    }
    // Written canonically, it lists the same pages under the same titles.
    let sorted = |mut pages: Vec<(PageId, String)>| {
        pages.sort();
        pages
    };
    let listed = index.entries.iter();
    let listed = sorted(
        listed
            .map(|entry| (entry.slug.clone(), entry.title.clone()))
            .collect(),
    );
    let text = federation::render(
        "Wiki",
        listed.iter().map(|(id, title)| (id, title.as_str())),
    );
    let again = Index::parse(text.as_bytes()).unwrap();
    assert_eq!(again.dropped, federation::Dropped::default(), "{text}");
    // A slug without a folder is a path at the top, which has a type of its own when it is read.
    let paths = again.entries.iter();
    let paths = paths.map(|entry| (entry.paths[0].clone(), entry.title.clone()));
    assert_eq!(sorted(paths.collect()), listed, "{text}");
    let needle = federation::fold(&String::from_utf8_lossy(&data[..data.len().min(8)]));
    let text = String::from_utf8_lossy(data);
    assert!(federation::snippet(&text, &needle, 80).chars().count() <= 8 * 18);
}
