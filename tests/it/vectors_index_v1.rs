//! Family `index_v1`: the peer's index files byte for byte, and what its lint says about pairs
//! of such files.

use llmwiki::id::{ContentHash, PageId, SourceId};
use llmwiki::page::{self, Page};
use llmwiki::search::index_v1::{self, IndexFault, IndexFile};
use serde_json::Value;

use crate::vectors::{self, Failures};

/// The pages of a search wiki as their files hold them.
pub fn pages(wiki: &Value) -> Vec<(PageId, ContentHash, Page)> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    wiki["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| {
            let sources: Vec<SourceId> = value["sources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|id| SourceId::parse(id.as_str().unwrap()).unwrap())
                .collect();
            let markdown = page::render(
                &text(value, "title"),
                &text(value, "summary"),
                &sources,
                &text(value, "body"),
            )
            .unwrap();
            let id = PageId::parse(&text(value, "id")).unwrap();
            let hash = ContentHash::of(markdown.as_bytes());
            (id, hash, page::parse(&markdown).unwrap())
        })
        .collect()
}

/// The search wikis of the folder, by name.
pub fn wikis() -> Vec<(String, Value)> {
    let Ok(folder) = std::fs::read_dir(vectors::folder().join("search")) else {
        eprintln!("skipped: no search vectors");
        return Vec::new();
    };
    let mut names: Vec<String> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.strip_suffix(".json").is_some())
        .collect();
    names.sort();
    names
        .into_iter()
        .filter_map(|name| Some((name.clone(), vectors::load(&format!("search/{name}"))?)))
        .collect()
}

#[test]
fn vectors_index_v1() {
    let mut failures = Failures::default();
    for (name, family) in wikis() {
        let exported = index_v1::export(&pages(&family["wiki"]));
        let folder = vectors::folder()
            .join("index_v1")
            .join(name.trim_end_matches(".json"));
        for (file, text, key) in [
            ("search.json", &exported.search_json, "searchSha256"),
            ("state.json", &exported.state_json, "stateSha256"),
        ] {
            // Every wiki has the hashes; some have the files, which show where a difference is.
            if let Ok(expected) = std::fs::read_to_string(folder.join(file)) {
                let differs = text.lines().zip(expected.lines()).find(|(a, b)| a != b);
                if let Some((ours, theirs)) = differs {
                    failures.note(&name, format!("{file}: {ours:?}, expected {theirs:?}"));
                    continue;
                }
            }
            let hash = ContentHash::of(text.as_bytes()).to_string();
            if family["wiki"]["index"][key] != hash {
                failures.note(&name, format!("{file} has another hash"));
            }
        }
    }
    failures.check();
}

/// An exported index is sound and describes the pages it was made of.
#[test]
fn an_exported_index_is_fresh() {
    for (name, family) in wikis() {
        let pages = pages(&family["wiki"]);
        let exported = index_v1::export(&pages);
        let fingerprints: Vec<_> = pages.into_iter().map(|(id, hash, _)| (id, hash)).collect();
        let faults = index_v1::check(
            exported.search_json.as_bytes(),
            exported.state_json.as_bytes(),
            &fingerprints,
        );
        assert!(faults.is_empty(), "{name}: {faults:?}");
    }
}

/// Bytes of a lint entry that is a file.
fn bytes(entry: &Value) -> Option<Vec<u8>> {
    if entry["kind"] != "file" {
        return None;
    }
    if let Some(text) = entry["text"].as_str() {
        return Some(text.as_bytes().to_vec());
    }
    decode_base64(entry["base64"].as_str()?)
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    let mut bits = 0u32;
    let mut held = 0;
    for byte in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | u32::try_from(DIGITS.iter().position(|&d| d == byte)?).ok()?;
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xFF).ok()?);
        }
    }
    Some(out)
}

#[test]
fn index_faults_are_those_that_the_peer_reports() {
    let mut failures = Failures::default();
    for case in vectors::cases("lint.json") {
        let id = vectors::id(&case);
        let Some(diagnostics) = case["expected"]["report"]["diagnostics"].as_array() else {
            continue;
        };
        let entries = case["entries"].as_array().unwrap();
        let file = |path: &str| {
            let entry = entries.iter().find(|entry| entry["path"] == path)?;
            bytes(entry)
        };
        let (Some(search), Some(state)) = (file(".index/search.json"), file(".index/state.json"))
        else {
            continue;
        };
        let whole = |entry: &&Value| {
            let path = entry["path"].as_str().unwrap_or_default();
            !entries.iter().any(|other| {
                other["kind"] != "dir"
                    && other["path"]
                        .as_str()
                        .is_some_and(|above| path.starts_with(&format!("{above}/")))
            })
        };
        let pages: Vec<(PageId, ContentHash)> = entries
            .iter()
            .filter(whole)
            .filter_map(|entry| {
                let name = entry["path"].as_str()?.strip_prefix("pages/")?;
                let id = PageId::parse(name.strip_suffix(".md")?).ok()?;
                let bytes = bytes(entry)?;
                page::parse_bytes(&bytes).ok()?;
                Some((id, ContentHash::of(&bytes)))
            })
            .collect();
        let ours: Vec<(&str, &str)> = index_v1::check(&search, &state, &pages)
            .into_iter()
            .map(|fault| match fault {
                IndexFault::Malformed(file, _) => ("INDEX_MALFORMED", path_of(file)),
                IndexFault::Incompatible(file) => ("INDEX_INCOMPATIBLE", path_of(file)),
                IndexFault::Stale => ("INDEX_STALE", ".index"),
            })
            .collect();
        let theirs: Vec<(&str, &str)> = diagnostics
            .iter()
            .map(|one| (one["code"].as_str().unwrap(), one["path"].as_str().unwrap()))
            .filter(|(code, _)| code.starts_with("INDEX_"))
            .collect();
        if ours != theirs {
            failures.note(
                id,
                format!("{} {ours:?}, expected {theirs:?}", case["name"]),
            );
        }
    }
    failures.check();
}

fn path_of(file: IndexFile) -> &'static str {
    match file {
        IndexFile::Search => ".index/search.json",
        IndexFile::State => ".index/state.json",
    }
}
