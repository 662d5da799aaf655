//! Damage, bit by bit: what `lint` says of a store or a tree in which something flipped.
//!
//! A sample by default; `LLMWIKI_TRIALS=500 cargo test lint_damage` tries 500 flips of each kind
//! and 50 truncations.

use std::path::{Path, PathBuf};

use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::id::SourceId;
use llmwiki::lint::Diagnostic;
use llmwiki::page::parse_bytes;
use llmwiki::store::{Access, Opened, Store, StoreOptions};
use llmwiki::tree::{RootState, STORE_FILE, locate};
use llmwiki::wiki::{NewSource, Wiki};

use crate::lint::{lint_all, sound_wiki};

/// How many flips of each kind.
fn trials() -> usize {
    std::env::var("LLMWIKI_TRIALS").map_or(50, |text| text.parse().unwrap())
}

/// A wiki of some pages and sources, with a store that has seen some history.
fn wiki_with_history(folder: &Path) -> PathBuf {
    let root = sound_wiki(folder, false);
    let setup = std::fs::read_to_string(root.join("pages/guides/setup.md")).unwrap();
    for n in 0..12 {
        let text = setup.replace("Setup", &format!("Part {n} of a longer story"));
        let path = root.join(format!("pages/part-{n}.md"));
        std::fs::write(path, text.replace("../", "")).unwrap();
    }
    let ctx = Context::default();
    let wiki = Wiki::new(&root, Config::default());
    wiki.reindex(&ctx).unwrap();
    for n in 0..4 {
        let path = root.join(format!("pages/part-{n}.md"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}\nAnd more of it.\n")).unwrap();
        let source = NewSource {
            name: format!("note-{n}.txt"),
            content: format!("note {n}\n").repeat(40).into_bytes(),
            ..NewSource::default()
        };
        wiki.add_source(&ctx, source.clone()).unwrap();
        // Once more: an event.
        wiki.add_source(
            &ctx,
            NewSource {
                name: "other".into(),
                ..source
            },
        )
        .unwrap();
    }
    wiki.reindex(&ctx).unwrap();
    root
}

/// The durable rows of a store, as far as they can be read.
fn durable_rows(root: &Path) -> Option<String> {
    let RootState::Ready(tree) = locate(root).ok()? else {
        return None;
    };
    let options = StoreOptions::default();
    let opened = Store::open(&tree, STORE_FILE, Access::ReadOnly, &options);
    let Ok(Opened::Ready(store)) = opened else {
        return None;
    };
    let view = store.read().ok()?;
    let mut rows = format!("{:?}", view.meta());
    for (id, record) in view.pages("", None).collect::<Result<Vec<_>, _>>().ok()? {
        rows.push_str(&format!(
            "{id} {record:?} {:?}",
            view.blob(&record.sha256).ok()?
        ));
    }
    for (id, record) in view.sources(None).collect::<Result<Vec<_>, _>>().ok()? {
        rows.push_str(&format!(
            "{id} {record:?} {:?}",
            view.blob(&id.hash()).ok()?
        ));
        rows.push_str(&format!("{:?}", view.source_events(id).ok()?));
    }
    for (_, record) in view.revisions(0).collect::<Result<Vec<_>, _>>().ok()? {
        rows.push_str(&format!("{record:?}"));
        if let Some(hash) = record.sha256 {
            rows.push_str(&format!("{:?}", view.blob(&hash).ok()?));
        }
    }
    Some(rows)
}

/// A cheap generator of numbers with a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end as u64).unwrap()
    }

    /// Flips a bit somewhere; answers where.
    fn flip(&mut self, bytes: &mut [u8]) -> usize {
        let at = self.below(bytes.len());
        bytes[at] ^= 1 << self.below(8);
        at
    }
}

#[test]
fn damage_to_the_store_never_stops_lint_nor_goes_unseen_in_durable_records() {
    let folder = tempfile::tempdir().unwrap();
    let root = wiki_with_history(folder.path());
    let store = root.join(".store/wiki.redb");
    let sound = std::fs::read(&store).unwrap();
    let rows = durable_rows(&root).unwrap();
    assert_eq!(
        lint_all(&root)
            .diagnostics
            .iter()
            .find(|found| is_news(found)),
        None
    );

    let mut numbers = Numbers(2026);
    let (flips, cuts) = (trials(), trials() / 10);
    let mut seen = 0;
    for round in 0..flips + cuts {
        let mut bytes = sound.clone();
        if round < flips {
            numbers.flip(&mut bytes);
        } else {
            bytes.truncate(numbers.below(bytes.len()));
        }
        std::fs::write(&store, &bytes).unwrap();
        let report = lint_all(&root);
        let now = std::fs::read(&store).unwrap();
        assert!(now == bytes, "round {round}: lint wrote");
        if report.diagnostics.iter().any(is_news) {
            seen += 1;
            continue;
        }
        let verified = || Wiki::new(&root, Config::default()).verify(&Context::default());
        let same = durable_rows(&root).is_some_and(|now| now == rows);
        assert!(
            same || verified().is_ok_and(|report| !report.sound),
            "round {round}"
        );
    }
    assert!(seen * 10 > flips, "{seen} of {} were seen", flips + cuts);
}

/// Whether it is about damage; the sound wiki has pages that nobody links to, and sources that
/// nobody cites.
fn is_news(found: &Diagnostic) -> bool {
    !matches!(
        found.code,
        "ORPHAN_PAGE" | "SOURCE_UNCITED" | "DUPLICATE_TITLE"
    )
}

#[test]
fn every_flipped_bit_of_a_source_is_told_and_of_a_page_that_it_spoils() {
    let folder = tempfile::tempdir().unwrap();
    let root = wiki_with_history(folder.path());
    let mut numbers = Numbers(7);
    let note = SourceId::of("note 1\n".repeat(40).as_bytes());
    for round in 0..trials() {
        for name in [
            format!("sources/{note}/content"),
            format!("sources/{note}/metadata.json"),
            "pages/part-1.md".to_owned(),
        ] {
            let path = root.join(&name);
            let sound = std::fs::read(&path).unwrap();
            let mut bytes = sound.clone();
            let at = numbers.flip(&mut bytes);
            std::fs::write(&path, &bytes).unwrap();
            let report = lint_all(&root);
            std::fs::write(&path, &sound).unwrap();
            let has = |code: &str, path: &str| {
                let mut found = report.diagnostics.iter();
                found.any(|found| found.code == code && found.path == path)
            };
            let is_told = if name.ends_with("content") {
                has("SOURCE_HASH_MISMATCH", &name)
            } else if name.ends_with("metadata.json") {
                let source = format!("sources/{note}");
                let mut found = report.diagnostics.iter();
                found.any(|found| is_news(found) && found.path.starts_with(&source))
            } else if parse_bytes(&bytes).is_err() {
                has("PAGE_INVALID_MARKDOWN", &name)
            } else {
                has("INDEX_STALE", ".store/wiki.redb")
            };
            assert!(
                is_told,
                "round {round}, byte {at} of {name}: {:#?}",
                report.diagnostics
            );
        }
    }
}
