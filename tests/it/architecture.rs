//! ARCHITECTURE.md says which module may use which; the source is held to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Module -> modules that it may use, from the table.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| module |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let may = cells[3]
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        (cells[1].to_owned(), may.map(str::to_owned).collect())
    })
    .collect()
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// The source below `src/`, each file with the module it belongs to; tests left out.
fn sources() -> Vec<(String, PathBuf, String)> {
    let src = repository().join("src");
    let mut paths = Vec::new();
    files(&src, &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let below = path.strip_prefix(&src).unwrap();
            let first = below
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_string_lossy();
            let module = first.strip_suffix(".rs").unwrap_or(&first).to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let end = text.find("\nmod tests {").unwrap_or(text.len());
            let code = text[..end].to_owned();
            (module, path, code)
        })
        .filter(|(_, path, _)| !is_test_file(path))
        .collect()
}

/// Files that only tests are made of.
fn is_test_file(path: &Path) -> bool {
    let name = path.file_stem().unwrap().to_string_lossy();
    matches!(name.as_ref(), "testing" | "trials" | "tests" | "proptests")
}

/// Names that follow `crate::` in code, comments left out.
fn used(code: &str) -> BTreeSet<String> {
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let mut found = BTreeSet::new();
    for line in lines {
        for part in line.split("crate::").skip(1) {
            let name: String = part
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            if !name.is_empty() {
                found.insert(name);
            }
            // `use crate::{a::B, c}`
            if let Some(list) = part.strip_prefix('{') {
                for item in list.split(',') {
                    let name: String = item
                        .trim()
                        .chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect();
                    found.insert(name);
                }
            }
        }
    }
    found
}

#[test]
fn every_module_uses_only_what_the_table_allows() {
    let table = table();
    let modules: BTreeSet<&String> = table.keys().collect();
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (module, path, code) in sources() {
        if matches!(module.as_str(), "lib" | "main") {
            continue;
        }
        let Some(may) = table.get(&module) else {
            wrong.push(format!("{} is in no row of the table", path.display()));
            continue;
        };
        seen.insert(module.clone());
        for name in used(&code) {
            if modules.contains(&name) && name != module && !may.contains(&name) {
                wrong.push(format!("{} uses {name}", path.display()));
            }
        }
    }
    for module in table.keys().filter(|module| !seen.contains(*module)) {
        wrong.push(format!(
            "the table has a row for {module}, which is not there"
        ));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn redb_and_the_file_system_are_named_in_their_modules_only() {
    let mut wrong = Vec::new();
    for (module, path, code) in sources() {
        let code: String = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for (name, home) in [
            ("redb::", "store"),
            ("std::fs", "tree"),
            ("rustix::fs", "tree"),
            ("clap::", "cli"),
        ] {
            let is_attribute = name == "clap::" && module == "ops";
            // `store` is handed open files by `tree`, and has to name their type.
            let code = if module == "store" {
                code.replace("std::fs::File", "")
            } else {
                code.clone()
            };
            if code.contains(name) && module != home && !is_attribute {
                wrong.push(format!("{} names {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
