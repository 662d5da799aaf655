//! The peer's derived index, format version 1: `.index/search.json` and `.index/state.json`.
//! [`export`] writes both byte for byte as the peer does; [`check`] tells what is wrong with a pair
//! that lies in a tree. Files and paths are others' business.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::json::{self, Json};
use super::tokenize;
use crate::id::{ContentHash, PageId};
use crate::page::{self, Page};

const FORMAT_VERSION: u32 = 1;

/// Both files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedIndex {
    /// Text of `search.json`.
    pub search_json: String,
    /// Text of `state.json`.
    pub state_json: String,
}

/// The index of these pages, each with the hash of its file's bytes. Their order does not
/// matter.
pub fn export(pages: &[(PageId, ContentHash, Page)]) -> ExportedIndex {
    let mut pages: Vec<_> = pages.iter().collect();
    pages.sort_by(|a, b| utf16_order(a.0.as_str(), b.0.as_str()));
    let fingerprints: Vec<_> = pages
        .iter()
        .map(|(id, hash, _)| fingerprint(id, hash))
        .collect();

    let mut frequencies: BTreeMap<Utf16, u32> = BTreeMap::new();
    let mut total = 0u64;
    let mut sections = Vec::new();
    for (id, _, page) in pages {
        let title = count([page.title.as_str()]);
        for section in page::sections_classic(&page.body, page.body_start_line) {
            let headings = count(section.heading_trail.iter().map(String::as_str));
            let text = tokenize::normalized(&page.body[section.text.clone()]);
            let body = count([&*text]);
            let length = u64::from(headings.total) + u64::from(body.total);
            total += length;
            let mut terms: Vec<&Utf16> = Vec::new();
            for field in [&title, &headings, &body] {
                terms.extend(field.terms.keys());
            }
            terms.sort_unstable();
            terms.dedup();
            for term in terms {
                if let Some(frequency) = frequencies.get_mut(term) {
                    *frequency += 1;
                } else {
                    frequencies.insert(term.clone(), 1);
                }
            }
            sections.push(Json::object([
                ("pageId", Json::from(id.as_str())),
                ("title", Json::from(page.title.as_str())),
                (
                    "headingTrail",
                    section
                        .heading_trail
                        .iter()
                        .map(|h| h.as_str().into())
                        .collect(),
                ),
                ("startLine", Json::from(u64::from(section.start_line))),
                (
                    "sourceIds",
                    page.sources
                        .iter()
                        .map(|id| Json::String(id.to_string()))
                        .collect(),
                ),
                ("normalizedText", Json::from(&*text)),
                ("length", Json::from(length)),
                ("titleTermFrequencies", title.json()),
                ("headingTermFrequencies", headings.json()),
                ("bodyTermFrequencies", body.json()),
            ]));
        }
    }

    let average = if sections.is_empty() {
        0.0
    } else {
        total as f64 / sections.len() as f64
    };
    let documents = sections.len() as u64;
    let search_json = file(&Json::object([
        ("formatVersion", Json::from(u64::from(FORMAT_VERSION))),
        ("pageFingerprints", fingerprints.iter().cloned().collect()),
        ("documentCount", Json::from(documents)),
        ("averageSectionLength", Json::Number(average)),
        ("documentFrequencies", term_counts(&frequencies)),
        ("sections", Json::Array(sections)),
    ]));
    let state_json = file(&Json::object([
        ("formatVersion", Json::from(u64::from(FORMAT_VERSION))),
        ("pages", Json::Array(fingerprints)),
        (
            "searchSha256",
            Json::String(ContentHash::of(search_json.as_bytes()).to_string()),
        ),
    ]));
    ExportedIndex {
        search_json,
        state_json,
    }
}

/// A text that orders by UTF-16 code units, as JavaScript sorts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Utf16(String);

impl Ord for Utf16 {
    fn cmp(&self, other: &Self) -> Ordering {
        utf16_order(&self.0, &other.0)
    }
}

impl PartialOrd for Utf16 {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn utf16_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

struct Counts {
    terms: BTreeMap<Utf16, u32>,
    total: u32,
}

impl Counts {
    fn json(&self) -> Json {
        term_counts(&self.terms)
    }
}

fn count<'a>(texts: impl IntoIterator<Item = &'a str>) -> Counts {
    let mut counts = Counts {
        terms: BTreeMap::new(),
        total: 0,
    };
    for text in texts {
        tokenize::classic_each(&tokenize::normalized(text), &mut |token| {
            *counts.terms.entry(Utf16(token.to_owned())).or_default() += 1;
            counts.total += 1;
        });
    }
    counts
}

fn term_counts(counts: &BTreeMap<Utf16, u32>) -> Json {
    counts
        .iter()
        .map(|(term, &count)| {
            Json::object([
                ("term", Json::from(term.0.as_str())),
                ("count", Json::from(u64::from(count))),
            ])
        })
        .collect()
}

fn fingerprint(id: &PageId, hash: &ContentHash) -> Json {
    Json::object([
        ("pageId", Json::from(id.as_str())),
        ("sha256", Json::String(hash.to_string())),
    ])
}

fn file(value: &Json) -> String {
    let mut text = value.pretty();
    text.push('\n');
    text
}

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexFile {
    /// `.index/search.json`.
    Search,
    /// `.index/state.json`.
    State,
}

/// Why a file is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformation {
    /// The bytes are no JSON text in UTF-8.
    #[error("it is not JSON in UTF-8")]
    NotJson,
    /// The values are not those of the format.
    #[error("it does not match format version 1")]
    Shape,
    /// The values are right, but written in another way than the one that the format has.
    #[error("it is not serialised as format version 1 is")]
    NotCanonical,
}

/// What is wrong with an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexFault {
    /// A file cannot be read as format version 1.
    Malformed(IndexFile, Malformation),
    /// A file says another format version.
    Incompatible(IndexFile),
    /// The files are sound but do not describe the present pages, or not each other.
    Stale,
}

/// What is wrong with these two files. `pages` are the pages that can be parsed, in any order,
/// with the hashes of their file bytes. At most one fault a file, `search.json` first; staleness
/// is only judged when both are sound.
pub fn check(search: &[u8], state: &[u8], pages: &[(PageId, ContentHash)]) -> Vec<IndexFault> {
    let search_value = read(search, IndexFile::Search);
    let state_value = read(state, IndexFile::State);
    let (search_value, state_value) = match (search_value, state_value) {
        (Ok(search), Ok(state)) => (search, state),
        (search, state) => return search.err().into_iter().chain(state.err()).collect(),
    };
    let mut pages: Vec<_> = pages.iter().collect();
    pages.sort_by(|a, b| utf16_order(a.0.as_str(), b.0.as_str()));
    let present: Json = pages
        .iter()
        .map(|(id, hash)| fingerprint(id, hash))
        .collect();
    let same = |listed: Option<&Json>| listed.is_some_and(|listed| same_pages(listed, &present));
    let hash = ContentHash::of(search).to_string();
    let fresh = same(state_value.get("pages"))
        && same(search_value.get("pageFingerprints"))
        && state_value.get("searchSha256").and_then(Json::as_str) == Some(&hash);
    if fresh {
        Vec::new()
    } else {
        vec![IndexFault::Stale]
    }
}

fn same_pages(a: &Json, b: &Json) -> bool {
    let (Json::Array(a), Json::Array(b)) = (a, b) else {
        return false;
    };
    a.len() == b.len()
        && a.iter()
            .zip(b)
            .all(|(a, b)| a.get("pageId") == b.get("pageId") && a.get("sha256") == b.get("sha256"))
}

fn read(bytes: &[u8], file: IndexFile) -> Result<Json, IndexFault> {
    let malformed = |why| IndexFault::Malformed(file, why);
    let text = std::str::from_utf8(bytes).map_err(|_| malformed(Malformation::NotJson))?;
    // Reading a file as UTF-8 text takes one byte order mark away.
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let value = json::parse(text).ok_or(malformed(Malformation::NotJson))?;
    if let Some(version) = value.get("formatVersion")
        && *version != Json::Number(f64::from(FORMAT_VERSION))
    {
        return Err(IndexFault::Incompatible(file));
    }
    let sound = match file {
        IndexFile::Search => is_search(&value),
        IndexFile::State => is_state(&value),
    };
    if !sound {
        return Err(malformed(Malformation::Shape));
    }
    // What JavaScript would write back must be what is there: indentation, numbers, escapes.
    let written = value.pretty();
    if text.strip_suffix('\n') != Some(&written) {
        return Err(malformed(Malformation::NotCanonical));
    }
    Ok(value)
}

fn is_state(value: &Json) -> bool {
    value.has_keys(&["formatVersion", "pages", "searchSha256"])
        && value.get("pages").is_some_and(is_fingerprints)
        && value.get("searchSha256").is_some_and(is_hash)
}

fn is_search(value: &Json) -> bool {
    let keys = [
        "formatVersion",
        "pageFingerprints",
        "documentCount",
        "averageSectionLength",
        "documentFrequencies",
        "sections",
    ];
    if !value.has_keys(&keys) || !value.get("pageFingerprints").is_some_and(is_fingerprints) {
        return false;
    }
    let Some(Json::Array(sections)) = value.get("sections") else {
        return false;
    };
    let average = value.get("averageSectionLength").and_then(Json::as_number);
    value.get("documentCount").and_then(Json::as_count) == Some(sections.len() as u64)
        && average.is_some_and(|average| average >= 0.0)
        && value.get("documentFrequencies").is_some_and(is_term_counts)
        && sections.iter().all(is_section)
        && sections
            .windows(2)
            .all(|pair| section_order(&pair[0], &pair[1]).is_lt())
}

fn is_section(value: &Json) -> bool {
    let keys = [
        "pageId",
        "title",
        "headingTrail",
        "startLine",
        "sourceIds",
        "normalizedText",
        "length",
        "titleTermFrequencies",
        "headingTermFrequencies",
        "bodyTermFrequencies",
    ];
    let text = |key| value.get(key).and_then(Json::as_str).is_some();
    let counts = |key| value.get(key).is_some_and(is_term_counts);
    value.has_keys(&keys)
        && value.get("pageId").is_some_and(is_page_id)
        && text("title")
        && text("normalizedText")
        && matches!(value.get("headingTrail"), Some(Json::Array(trail))
            if trail.iter().all(|heading| heading.as_str().is_some()))
        && value
            .get("startLine")
            .and_then(Json::as_count)
            .is_some_and(|line| line > 0)
        && matches!(value.get("sourceIds"), Some(Json::Array(ids))
            if ids.iter().all(is_hash) && ascending(ids, Json::as_str))
        && value.get("length").and_then(Json::as_count).is_some()
        && counts("titleTermFrequencies")
        && counts("headingTermFrequencies")
        && counts("bodyTermFrequencies")
}

fn section_order(a: &Json, b: &Json) -> Ordering {
    let text = |value: &Json| value.get("pageId").and_then(Json::as_str).map(Utf16::from);
    let line = |value: &Json| value.get("startLine").and_then(Json::as_count);
    text(a).cmp(&text(b)).then_with(|| line(a).cmp(&line(b)))
}

impl From<&str> for Utf16 {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

fn is_fingerprints(value: &Json) -> bool {
    let Json::Array(pages) = value else {
        return false;
    };
    pages.iter().all(|page| {
        page.has_keys(&["pageId", "sha256"])
            && page.get("pageId").is_some_and(is_page_id)
            && page.get("sha256").is_some_and(is_hash)
    }) && ascending(pages, |page| page.get("pageId").and_then(Json::as_str))
}

fn is_term_counts(value: &Json) -> bool {
    let Json::Array(terms) = value else {
        return false;
    };
    terms.iter().all(|term| {
        term.has_keys(&["term", "count"])
            && term
                .get("term")
                .and_then(Json::as_str)
                .is_some_and(|term| !term.is_empty())
            && term
                .get("count")
                .and_then(Json::as_count)
                .is_some_and(|count| count > 0)
    }) && ascending(terms, |term| term.get("term").and_then(Json::as_str))
}

fn ascending(values: &[Json], text: impl Fn(&Json) -> Option<&str>) -> bool {
    values
        .windows(2)
        .all(|pair| match (text(&pair[0]), text(&pair[1])) {
            (Some(a), Some(b)) => utf16_order(a, b).is_lt(),
            _ => false,
        })
}

/// Whether a value is a relative path that could name a page. Looser than [`PageId`], because
/// the peer's pages may have ids that we would not create.
fn is_page_id(value: &Json) -> bool {
    value.as_str().is_some_and(|id| {
        !id.contains(['\\', '%'])
            && id
                .split('/')
                .all(|segment| !matches!(segment, "" | "." | ".."))
    })
}

fn is_hash(value: &Json) -> bool {
    value
        .as_str()
        .is_some_and(|text| ContentHash::parse(text).is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pages() -> Vec<(PageId, ContentHash, Page)> {
        let source = crate::id::SourceId::of(b"evidence");
        [
            ("b", "# Canal\n\nboats"),
            ("a", "one \u{914D}\u{7F6E}"),
            ("\u{E9}", "# X\n\n\u{7F}\u{1}\""),
        ]
        .into_iter()
        .map(|(id, body)| {
            let text = page::render(id, "summary", &[source], body).unwrap();
            let hash = ContentHash::of(text.as_bytes());
            (
                PageId::parse(id).unwrap(),
                hash,
                page::parse(&text).unwrap(),
            )
        })
        .collect()
    }

    fn faults(search: &str, state: &str) -> Vec<IndexFault> {
        let present: Vec<_> = pages()
            .into_iter()
            .map(|(id, hash, _)| (id, hash))
            .collect();
        check(search.as_bytes(), state.as_bytes(), &present)
    }

    #[test]
    fn the_order_of_pages_does_not_matter() {
        let mut turned = pages();
        turned.reverse();
        assert_eq!(export(&turned), export(&pages()));
    }

    #[test]
    fn each_file_has_its_own_fault_and_staleness_comes_last() {
        let ExportedIndex {
            search_json,
            state_json,
        } = export(&pages());
        assert_eq!(faults(&search_json, &state_json), []);
        let cut = &search_json[..search_json.len() - 1];
        let malformed = IndexFault::Malformed(IndexFile::Search, Malformation::NotCanonical);
        assert_eq!(faults(cut, &state_json), [malformed]);
        let newer = state_json.replacen("\"formatVersion\": 1", "\"formatVersion\": 2", 1);
        assert_eq!(
            faults(&search_json, &newer),
            [IndexFault::Incompatible(IndexFile::State)]
        );
        assert_eq!(
            faults(cut, &newer),
            [malformed, IndexFault::Incompatible(IndexFile::State)]
        );
        let other = search_json.replace("boats", "boaty");
        assert_eq!(faults(&other, &state_json), [IndexFault::Stale]);
        let repeated = state_json.replacen('{', "{\n  \"formatVersion\": 1,", 1);
        let malformed = IndexFault::Malformed(IndexFile::State, Malformation::Shape);
        assert_eq!(faults(&search_json, &repeated), [malformed]);
        let climbing = state_json.replace("\"pageId\": \"a\"", "\"pageId\": \"../a\"");
        let malformed = IndexFault::Malformed(IndexFile::State, Malformation::Shape);
        assert_eq!(faults(&search_json, &climbing), [malformed]);
    }

    #[test]
    fn an_index_of_fewer_pages_is_stale() {
        let ExportedIndex {
            search_json,
            state_json,
        } = export(&pages()[1..]);
        assert_eq!(faults(&search_json, &state_json), [IndexFault::Stale]);
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_never_fresh(at in 0usize..1000, byte: u8, in_state: bool) {
            let ExportedIndex { search_json, state_json } = export(&pages());
            let (mut search, mut state) = (search_json.into_bytes(), state_json.into_bytes());
            let file = if in_state { &mut state } else { &mut search };
            let at = at % file.len();
            prop_assume!(file[at] != byte);
            file[at] = byte;
            let present: Vec<_> = pages().into_iter().map(|(id, hash, _)| (id, hash)).collect();
            prop_assert!(!check(&search, &state, &present).is_empty());
        }
    }
}
