//! Trials of the whole store: killed at every write and sync, damaged in every way, migrated.

#![expect(
    clippy::disallowed_methods,
    reason = "tests damage files behind our back"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::testing::{COMMITS, Place, commit_number, dump, noise, put_project, quiet_guard};
use super::{Access, Concurrency, Meta, Opened, Store, StoreError, StoreOptions, salvage, verify};
use crate::context::Context;
use crate::id::{ContentHash, SourceId};
use crate::tree::{FailFrom, STORE_FILE, STORE_FILE_NEW};

fn dump_of(store: &Store) -> String {
    dump(&store.read().unwrap())
}

/// A store with all commits, and its dump after each of them.
fn history() -> (Place, Vec<String>) {
    let place = Place::new();
    let store = place.create();
    let mut states = vec![dump_of(&store)];
    for number in 1..=COMMITS {
        commit_number(&store, number).unwrap();
        states.push(dump_of(&store));
    }
    drop(store);
    (place, states)
}

fn faulty(faults: &Arc<FailFrom>, concurrency: Concurrency) -> StoreOptions {
    StoreOptions {
        concurrency,
        faults: Some(faults.clone()),
        ..StoreOptions::default()
    }
}

fn run_commits(place: &Place, options: &StoreOptions) -> Result<u32, (u32, StoreError)> {
    let store = match place.open_with(Access::ReadWrite, options) {
        Ok(Opened::Ready(store)) => store,
        Ok(other) => panic!("{other:?}"),
        Err(error) => return Err((0, error)),
    };
    for number in 1..=COMMITS {
        commit_number(&store, number).map_err(|error| (number - 1, error))?;
    }
    Ok(COMMITS)
}

/// Whether a commit is in the store, once nobody has it open.
fn stands_in(place: &Place, options: &StoreOptions, commit_number: u64) -> bool {
    match place.open_with(Access::ReadWrite, options).unwrap() {
        Opened::Ready(store) => store.meta_now().unwrap().commits >= commit_number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_store_killed_at_any_write_or_sync_is_the_old_or_the_new_one() {
    let (_, states) = history();
    let options = StoreOptions::default();
    for mode in [Concurrency::Shared, Concurrency::Exclusive] {
        let plain = StoreOptions {
            concurrency: mode,
            ..options.clone()
        };
        let empty = Place::new();
        drop(empty.create_with(&plain).unwrap());
        let bytes = empty.bytes();
        let mut stops = [0u32; COMMITS as usize + 1];
        for allowed in 0.. {
            let place = Place::new();
            place.put(&bytes);
            let faults = Arc::new(FailFrom::new(allowed));
            let outcome = run_commits(&place, &faulty(&faults, mode));
            let acknowledged = match &outcome {
                Ok(count) => *count,
                Err((count, error)) => {
                    assert!(!error.is_damage(), "after {allowed}: {error}");
                    *count
                }
            };
            stops[acknowledged as usize] += 1;
            // As after a kill: a read-only open may ask for a writer first.
            match place.open_with(Access::ReadOnly, &plain).unwrap() {
                Opened::NeedsRepair | Opened::Ready(_) => {}
                other => panic!("after {allowed}: {other:?}"),
            }
            // The store says itself whether the unacknowledged commit stands. Making it was one.
            let next = u64::from(acknowledged) + 2;
            let stands = stands_in(&place, &plain, next);
            let Opened::Ready(store) = place.open_with(Access::ReadWrite, &plain).unwrap() else {
                panic!("after {allowed}: the store cannot be opened");
            };
            let found = dump_of(&store);
            let after = acknowledged as usize + usize::from(stands);
            assert!(
                found == states[after],
                "after {allowed} changes and {acknowledged} commits:\n{found}"
            );
            let done = (0..=COMMITS)
                .find(|done| states[*done as usize] == found)
                .unwrap();
            for number in done + 1..=COMMITS {
                commit_number(&store, number).unwrap();
            }
            assert!(dump_of(&store) == states[COMMITS as usize]);
            drop(store);
            assert!(matches!(
                place.open_with(Access::ReadOnly, &plain),
                Ok(Opened::Ready(_))
            ));
            if outcome.is_ok() {
                break;
            }
        }
        assert!(stops.iter().all(|&stops| stops > 0), "{stops:?}");
    }
}

#[test]
fn a_store_whose_making_fails_is_never_half_a_store() {
    for allowed in 0.. {
        let place = Place::new();
        let faults = Arc::new(FailFrom::new(allowed));
        let made = place.create_with(&faulty(&faults, Concurrency::Shared));
        let finished = made.is_ok();
        drop(made);
        match place
            .open_with(Access::ReadWrite, &StoreOptions::default())
            .unwrap()
        {
            Opened::Ready(store) => {
                let meta = Meta {
                    commits: 1,
                    ..Meta::new("standard", [1; 16])
                };
                assert_eq!(store.read().unwrap().meta(), &meta);
            }
            Opened::Damaged(_) => assert!(!finished),
            other => panic!("after {allowed}: {other:?}"),
        }
        if finished {
            break;
        }
    }
}

#[test]
fn after_a_failed_write_the_handle_says_that_it_must_be_opened_again() {
    let place = Place::new();
    drop(place.create());
    let faults = Arc::new(FailFrom::counting());
    let options = faulty(&faults, Concurrency::Shared);
    let Ok(Opened::Ready(store)) = place.open_with(Access::ReadWrite, &options) else {
        panic!("not ready");
    };
    drop(store);
    // Enough changes to open the store and fail within the first commit.
    let faults = Arc::new(FailFrom::new(faults.seen() / 2 + 1));
    let options = faulty(&faults, Concurrency::Shared);
    if let Ok(Opened::Ready(store)) = place.open_with(Access::ReadWrite, &options) {
        let failed = (1..=COMMITS).find_map(|number| commit_number(&store, number).err());
        assert!(failed.is_some());
        faults.heal();
        let again = commit_number(&store, 1).unwrap_err();
        assert!(again.wants_reopen(), "{again}");
    } else {
        panic!("the first change already failed");
    }
}

/// Adds what a store of the golden schema does not have yet.
fn with_project(place: &Place) {
    let store = place.ready(Access::ReadWrite);
    let mut batch = store.write().unwrap();
    put_project(&mut batch).unwrap();
    batch.commit().unwrap();
}

#[test]
fn everything_that_was_written_verifies() {
    let (place, _) = history();
    with_project(&place);
    let store = place.ready(Access::ReadOnly);
    let found = verify(&store.read().unwrap(), true, &Context::default()).unwrap();
    assert_eq!(found.faults, vec![]);
    assert!(
        found.rows.iter().all(|(_, rows)| *rows > 0),
        "{:?}",
        found.rows
    );
    assert!(found.contents >= 8);
}

/// What a damaged file is asked in the trials; any answer will do but a panic.
fn ask_everything(place: &Place) -> Asked {
    let mut asked = Asked::default();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        match place.open_with(access, &StoreOptions::default()) {
            Ok(Opened::Ready(store)) => {
                asked.opened = true;
                if let Ok(snapshot) = store.read() {
                    let found = verify(&snapshot, true, &Context::default()).unwrap();
                    asked.faults += found.faults.len();
                    drop(dump(&snapshot));
                }
                if access == Access::ReadWrite {
                    for number in [2, 4] {
                        asked.refused += usize::from(commit_number(&store, number).is_err());
                    }
                }
            }
            Ok(_) => asked.refused += 1,
            Err(error) => {
                let _ = crate::error::Error::from(error);
                asked.refused += 1;
            }
        }
    }
    asked
}

#[derive(Debug, Default)]
struct Asked {
    opened: bool,
    faults: usize,
    refused: usize,
}

/// Runs a trial on damaged bytes; a panic that leaves the store fails the test with its name.
fn trial(what: &str, bytes: &[u8]) -> Asked {
    let place = Place::new();
    place.put(bytes);
    catch_unwind(AssertUnwindSafe(|| ask_everything(&place)))
        .unwrap_or_else(|_| panic!("a panic left the store: {what}"))
}

/// How many trials of each kind, against `default` in an ordinary run.
fn rounds(default: usize) -> usize {
    std::env::var("LLMWIKI_TRIALS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn damage_of_any_page_is_an_answer_and_never_a_panic() {
    quiet_guard();
    let (place, _) = history();
    let bytes = place.bytes();
    let pages = bytes.len() / 4096;
    let mut noticed = 0;
    for page in 0..pages {
        let mut changed = bytes.clone();
        let garbage = noise(4096, page as u64);
        changed[page * 4096..][..4096].copy_from_slice(&garbage);
        let asked = trial(&format!("page {page} is garbage"), &changed);
        noticed += usize::from(asked.faults + asked.refused > 0);
        changed[page * 4096..][..4096].fill(0);
        trial(&format!("page {page} is zero"), &changed);
    }
    assert!(noticed > pages / 4, "{noticed} of {pages}");
}

#[test]
fn flipped_bits_are_an_answer_and_never_a_panic() {
    quiet_guard();
    let (place, _) = history();
    let bytes = place.bytes();
    let chosen = noise(rounds(300) * 8, 99);
    for choice in chosen.chunks_exact(8) {
        let number = usize::from_le_bytes(choice.try_into().unwrap());
        // Every second one goes where it hurts most: headers and page heads.
        let at = match number % 4 {
            0 => (number >> 8) % 512,
            1 => {
                let page = (number >> 8) % (bytes.len() / 4096);
                page * 4096 + (number >> 40) % 64
            }
            _ => (number >> 8) % bytes.len(),
        };
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (number >> 61);
        trial(&format!("bit {} of byte {at}", number >> 61), &changed);
    }
}

#[test]
fn a_file_cut_short_is_an_answer_and_never_a_panic() {
    quiet_guard();
    let (place, _) = history();
    let bytes = place.bytes();
    let step = bytes.len() / 40 + 1;
    for length in (0..bytes.len())
        .step_by(step)
        .chain([1, 9, 63, 320, 511, 4095, 4096, 4097])
    {
        trial(&format!("cut to {length}"), &bytes[..length]);
    }
    trial("text", b"this is no database\n");
    trial("zeros", &[0; 8192]);
}

fn salvage_of(bytes: &[u8]) -> (Place, super::Salvage) {
    let place = Place::new();
    place.put(bytes);
    let meta = Meta::new("standard", [9; 16]);
    let new = Store::create(&place.tree, STORE_FILE_NEW, &meta, &StoreOptions::default()).unwrap();
    let saved = salvage(
        &place.tree,
        STORE_FILE,
        &new,
        &mut |_| None,
        &Context::default(),
    )
    .unwrap();
    assert_eq!(place.bytes(), bytes, "salvage wrote to the damaged file");
    drop(new);
    (place, saved)
}

fn new_store(place: &Place) -> Store {
    let options = StoreOptions::default();
    match Store::open(&place.tree, STORE_FILE_NEW, Access::ReadOnly, &options).unwrap() {
        Opened::Ready(store) => store,
        other => panic!("{other:?}"),
    }
}

#[test]
fn salvage_of_a_whole_store_keeps_all_that_is_durable() {
    quiet_guard();
    let (place, _) = history();
    with_project(&place);
    let (saved_place, saved) = salvage_of(&place.bytes());
    assert_eq!(saved.lost, Vec::<String>::new());
    assert_eq!((saved.sources, saved.revisions, saved.events), (5, 5, 1));
    assert_eq!(saved.pages.len(), 1);
    assert_eq!(saved.carved, 0);
    let (old, new) = (place.ready(Access::ReadOnly), new_store(&saved_place));
    let (old, new) = (old.read().unwrap(), new.read().unwrap());
    assert_eq!(new.meta().replica, [1; 16]);
    assert_eq!(new.meta().next_revision, old.meta().next_revision);
    for (seq, revision) in old.revisions(0).map(Result::unwrap) {
        assert_eq!(new.revision(seq).unwrap(), Some(revision.clone()));
        if let Some(hash) = revision.sha256 {
            assert_eq!(new.blob(&hash).unwrap(), old.blob(&hash).unwrap());
        }
    }
    let sources = |view: &super::View| view.sources(None).map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(sources(&new), sources(&old));
    let project = old.project("billing").unwrap();
    assert!(project.is_some() && new.project("billing").unwrap() == project);
    assert_eq!(
        verify(&new, true, &Context::default()).unwrap().faults,
        vec![]
    );
}

#[test]
fn salvage_carves_rows_out_of_a_file_that_no_longer_opens() {
    quiet_guard();
    let (place, _) = history();
    let mut bytes = place.bytes();
    // Neither header nor catalogue: only leaves are left.
    bytes[..4096].fill(0);
    let (saved_place, saved) = salvage_of(&bytes);
    assert_eq!(
        (saved.sources, saved.revisions, saved.events),
        (5, 5, 1),
        "{saved:?}"
    );
    assert!(saved.carved > 10);
    assert!(!saved.lost.is_empty());
    let new = new_store(&saved_place);
    let new = new.read().unwrap();
    let large = noise(70_000, 1);
    assert_eq!(new.blob(&ContentHash::of(&large)).unwrap().unwrap(), large);
    assert_eq!(
        verify(&new, true, &Context::default()).unwrap().faults,
        vec![]
    );
}

#[test]
fn salvage_never_panics_and_what_it_saves_verifies() {
    quiet_guard();
    let (place, _) = history();
    let bytes = place.bytes();
    let pages = bytes.len() / 4096;
    let mut saved_revisions = 0;
    for page in 0..pages {
        let mut changed = bytes.clone();
        changed[page * 4096..][..4096].copy_from_slice(&noise(4096, page as u64 + 7));
        let (saved_place, saved) = catch_unwind(AssertUnwindSafe(|| salvage_of(&changed)))
            .unwrap_or_else(|_| panic!("a panic left salvage: page {page}"));
        saved_revisions += saved.revisions;
        let new = new_store(&saved_place);
        let found = verify(&new.read().unwrap(), true, &Context::default()).unwrap();
        assert_eq!(found.faults, vec![], "page {page}");
    }
    // One torn page loses next to nothing, since older copies of most rows are still there.
    let all = pages as u64 * u64::from(COMMITS);
    assert!(
        saved_revisions * 100 >= all * 95,
        "{saved_revisions} of {all}"
    );
}

#[test]
fn a_purged_source_is_not_brought_back() {
    quiet_guard();
    let (place, _) = history();
    let secret = SourceId::of(&noise(70_000, 1));
    let store = place.ready(Access::ReadWrite);
    let mut batch = store.write().unwrap();
    let event = super::SourceEvent {
        kind: super::SourceEventKind::PURGED,
        at: "2026-02-05T00:00:00.000Z".to_owned(),
        name: String::new(),
        media_type: String::new(),
        origin: None,
        successor: None,
        reason: "a secret".to_owned(),
        actor: String::new(),
    };
    // Its rows stay where they are, as copies of them may on pages that are free.
    batch.put_source_event(secret, &event).unwrap();
    batch.commit().unwrap();
    drop(store);
    let whole = place.bytes();
    let mut torn = whole.clone();
    torn[..4096].fill(0);
    for bytes in [whole, torn] {
        let (saved_place, saved) = salvage_of(&bytes);
        assert_eq!((saved.sources, saved.events), (4, 2));
        let new = new_store(&saved_place);
        assert!(!new.read().unwrap().has_blob(&secret.hash()).unwrap());
    }
}

#[test]
fn verification_says_what_contradicts_what() {
    let (place, _) = history();
    let store = place.ready(Access::ReadWrite);
    let keys = |table: &'static str| {
        let mut keys = Vec::new();
        let snapshot = store.read().unwrap();
        super::verify::walk(&snapshot, table, &mut |key, _| {
            keys.push(key.to_vec());
            Ok(())
        })
        .unwrap();
        keys
    };
    // Whatever row is taken away, somebody misses it; and who misses it is known.
    for (table, missed_by) in [
        ("blobs", &["blobs", "sources", "pages", "revisions"][..]),
        ("sources", &["meta"]),
        (
            "pages",
            &["meta", "citations", "links", "titles", "sections"],
        ),
        ("revisions", &["pages", "revisions"]),
        ("citations", &["citations"]),
        ("links", &["links"]),
        ("titles", &["titles"]),
        ("sections", &["meta", "pages"]),
    ] {
        for key in keys(table) {
            let mut batch = store.write().unwrap();
            assert!(batch.delete(table, &key).unwrap());
            let found = verify(&batch, false, &Context::default()).unwrap();
            let key = key.escape_ascii();
            assert!(!found.faults.is_empty(), "{table} {key}");
            for fault in found.faults {
                assert!(missed_by.contains(&fault.table), "{table} {key}: {fault:?}");
            }
        }
    }
    // A row that stands under another's key.
    let mut batch = store.write().unwrap();
    let page = batch
        .page(&super::testing::page("guides/even"))
        .unwrap()
        .unwrap();
    batch.put(b"other", &page).unwrap();
    let found = verify(&batch, false, &Context::default()).unwrap();
    assert!(
        found
            .faults
            .iter()
            .any(|fault| fault.what.contains("not its own")),
        "{found:?}"
    );
}

/// Says that the disk is full at the n-th write.
struct FullDisk(FailFrom);

impl super::BackendFaults for FullDisk {
    fn before(&self, op: super::BackendOp) -> std::io::Result<()> {
        match op {
            super::BackendOp::Sync => Ok(()),
            _ => self
                .0
                .step()
                .map_err(|_| std::io::ErrorKind::StorageFull.into()),
        }
    }
}

#[test]
fn a_full_disk_is_named_and_leaves_the_old_store() {
    let (place, states) = history();
    let bytes = place.bytes();
    let (mut named, mut stood) = (0, 0);
    for allowed in 0..60 {
        let place = Place::new();
        place.put(&bytes);
        let options = StoreOptions {
            faults: Some(Arc::new(FullDisk(FailFrom::new(allowed)))),
            ..StoreOptions::default()
        };
        let failed = match place.open_with(Access::ReadWrite, &options) {
            Ok(Opened::Ready(store)) => commit_number(&store, 2).err(),
            Ok(other) => panic!("after {allowed}: {other:?}"),
            Err(error) => Some(error),
        };
        let Some(error) = failed else { break };
        assert!(
            matches!(error, StoreError::Full { .. }),
            "after {allowed}: {error:?}"
        );
        named += 1;
        let next = u64::from(COMMITS) + 2;
        if stands_in(&place, &StoreOptions::default(), next) {
            stood += 1;
        } else {
            assert!(dump_of(&place.ready(Access::ReadWrite)) == states[COMMITS as usize]);
        }
    }
    assert!(
        named > 3 && stood < 2,
        "{named} failures, of which {stood} stand"
    );
}

#[test]
fn a_failed_handle_need_not_be_closed_to_learn_what_stands() {
    let (place, states) = history();
    let bytes = place.bytes();
    let mut stood = 0;
    for allowed in 0.. {
        let place = Place::new();
        place.put(&bytes);
        let faults = Arc::new(FailFrom::new(allowed));
        let opened = place.open_with(Access::ReadWrite, &faulty(&faults, Concurrency::Shared));
        let Ok(Opened::Ready(store)) = opened else {
            continue;
        };
        let failed = commit_number(&store, 2).is_err();
        let next = u64::from(COMMITS) + 2;
        faults.heal();
        let stands = store.landed(next).unwrap().is_some();
        let other = place.ready(Access::ReadOnly);
        assert_eq!(
            stands,
            dump_of(&other) != states[COMMITS as usize],
            "after {allowed}"
        );
        drop(store);
        let again = place.ready(Access::ReadWrite);
        assert!(dump_of(&again) == dump_of(&other), "after {allowed}");
        if !failed {
            assert!(stands);
            break;
        }
        stood += u32::from(stands);
    }
    assert!(stood > 0);
}

#[test]
fn a_mode_that_others_do_not_share_is_refused() {
    let place = Place::new();
    let store = place.create();
    let alone = StoreOptions {
        concurrency: Concurrency::Exclusive,
        ..StoreOptions::default()
    };
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let refused = place.open_with(access, &alone);
        assert!(
            matches!(refused, Err(StoreError::Busy { .. })),
            "{refused:?}"
        );
    }
    assert!(store.read().is_ok());
}

#[test]
fn a_change_that_failed_forbids_the_commit() {
    let (place, states) = history();
    let store = place.ready(Access::ReadWrite);
    let mut batch = store.write().unwrap();
    batch.put_blob(b"half of something").unwrap();
    let links = super::LinksRecord {
        links: vec![],
        needles: vec!["\0".to_owned()],
    };
    assert!(
        batch
            .put_links(&super::testing::page("a"), Some(&links))
            .is_err()
    );
    // Refused before anything was changed, so the batch is still whole.
    assert!(batch.change(|_| Err::<(), _>(StoreError::Closed)).is_err());
    assert!(matches!(batch.commit(), Err(StoreError::Misuse { .. })));
    assert!(dump_of(&store) == states[COMMITS as usize]);
}

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/0001_initial/golden")
}

/// Writes the golden database of the newest schema anew: `LLMWIKI_WRITE_GOLDEN=1 cargo test`.
/// Only ever for a schema that was not released.
#[test]
fn the_golden_store_is_what_it_was_when_its_schema_was_released() {
    quiet_guard();
    let folder = golden_folder();
    if std::env::var_os("LLMWIKI_WRITE_GOLDEN").is_some() {
        let (place, states) = history();
        assert!(place.ready(Access::ReadWrite).compact().unwrap());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(STORE_FILE), place.bytes()).unwrap();
        std::fs::write(folder.join("dump.txt"), &states[COMMITS as usize]).unwrap();
    }
    let place = Place::new();
    place.put(&std::fs::read(folder.join(STORE_FILE)).unwrap());
    let expected = std::fs::read_to_string(folder.join("dump.txt")).unwrap();
    let store = place.ready(Access::ReadOnly);
    assert_eq!(dump_of(&store), expected);
    let found = verify(&store.read().unwrap(), true, &Context::default()).unwrap();
    assert_eq!(found.faults, vec![]);
    drop(store);
    // The same commits make the same rows today: migrated equals fresh.
    let (_, states) = history();
    assert_eq!(states[COMMITS as usize], expected);
    // And it can be written to.
    let store = place.ready(Access::ReadWrite);
    commit_number(&store, 1).unwrap();
}
