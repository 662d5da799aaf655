//! Replays the seeds of the fuzz targets and every input that ever broke one.

#[path = "../../fuzz/src/lib.rs"]
mod bodies;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn root(folder: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return BTreeSet::new();
    };
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Runs every file of `folder/<target>/` and answers how many there were.
fn replay(folder: &str) -> usize {
    let targets: BTreeSet<String> = bodies::TARGETS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let mut count = 0;
    for target in names(&root(folder)) {
        assert!(
            targets.contains(&target),
            "{folder}/{target} is of no target"
        );
    }
    for (target, body) in bodies::TARGETS {
        let folder = root(folder).join(target);
        for name in names(&folder) {
            let file = folder.join(&name);
            // Printed when the test fails: the panic itself cannot know its input.
            eprintln!("replaying {}", file.display());
            body(&fs::read(&file).unwrap());
            count += 1;
        }
    }
    count
}

#[test]
fn no_input_that_broke_a_target_breaks_it_again() {
    replay("tests/data/regressions");
}

#[test]
fn every_target_takes_its_seeds() {
    if !root("fuzz/corpus").exists() {
        eprintln!("skipped: the package was published without fuzz/");
        return;
    }
    assert!(replay("fuzz/corpus") >= bodies::TARGETS.len());
    for (target, _) in bodies::TARGETS {
        assert!(
            root("fuzz/fuzz_targets")
                .join(format!("{target}.rs"))
                .exists(),
            "{target}"
        );
        assert!(
            !names(&root("fuzz/corpus").join(target)).is_empty(),
            "{target} has no seed"
        );
    }
}
