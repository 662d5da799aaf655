//! What the index says about a project as a whole: its modules, and which uses which.
//!
//! A module is a folder with code in it; in a project of one or two folders, a file. A name that a
//! file uses leads to the files that define it, where few enough do that the name tells them
//! apart: there is no type checker here, so common names are left out, not guessed.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{Content, Language, SymbolKind, is_made_from_source, is_test_path};
use crate::wiki::{CodeMap, CodeMapFile};

/// A name that more files define says nothing.
const MOST_DEFINERS: usize = 2;
/// Shorter names are those of everything.
const SHORTEST_NAME: usize = 4;
/// Shorter methods of one word, too.
const SHORTEST_WORD: usize = 12;

/// A module.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Path below the project; empty for its top.
    pub(super) path: String,
    /// Places of its files.
    pub(super) files: Vec<usize>,
    /// Number of their lines.
    pub(super) lines: u64,
    /// Modules that it uses, with the names.
    pub(super) uses: BTreeMap<usize, BTreeSet<String>>,
    /// Modules that use it, with the names.
    pub(super) used_by: BTreeMap<usize, BTreeSet<String>>,
}

/// A use of a definition in another file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    /// The file that defines it.
    pub(super) file: usize,
    /// Place of the definition in that file.
    pub(super) symbol: usize,
}

/// A project.
pub(super) struct Map<'a> {
    pub(super) code: &'a CodeMap,
    pub(super) modules: Vec<Module>,
    /// What each file uses of others.
    pub(super) uses: Vec<Vec<Use>>,
    /// Module of each file, where it has one.
    pub(super) module_of: Vec<Option<usize>>,
}

/// Whether a file is a part of the program.
pub(super) fn is_program(file: &CodeMapFile) -> bool {
    Language::named(&file.language).content == Content::Code
        && !is_test_path(&file.path)
        && !is_made_from_source(&file.path)
        && !matches!(file.language.as_str(), "html" | "css")
}

/// Whether a name tells one thing from others. Methods with one common word for a name (`push`,
/// `next`) are those of every type.
fn is_telling(name: &str, kind: SymbolKind) -> bool {
    let is_compound =
        name.trim_matches('_').contains('_') || name.chars().skip(1).any(char::is_uppercase);
    let shortest = if kind == SymbolKind::Method && !is_compound {
        SHORTEST_WORD
    } else {
        SHORTEST_NAME
    };
    name.len() >= shortest
}

/// The folder of a path; empty at the top.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl<'a> Map<'a> {
    pub(super) fn new(code: &'a CodeMap) -> Self {
        let program: Vec<usize> = (0..code.files.len())
            .filter(|&at| is_program(&code.files[at]))
            .collect();
        let folders: BTreeSet<&str> = program
            .iter()
            .map(|&at| folder(&code.files[at].path))
            .collect();
        let by_file = folders.len() <= 2;
        let mut modules: BTreeMap<&str, Module> = BTreeMap::new();
        for &at in &program {
            let path = &code.files[at].path;
            let key = if by_file { path } else { folder(path) };
            let module = modules.entry(key).or_insert_with(|| Module {
                path: key.to_owned(),
                ..Module::default()
            });
            module.files.push(at);
            module.lines += u64::from(code.files[at].lines);
        }
        let mut map = Self {
            code,
            modules: modules.into_values().collect(),
            uses: vec![Vec::new(); code.files.len()],
            module_of: vec![None; code.files.len()],
        };
        for (place, module) in map.modules.iter().enumerate() {
            for &file in &module.files {
                map.module_of[file] = Some(place);
            }
        }
        map.resolve(&program);
        map
    }

    /// Finds what each file uses of others.
    fn resolve(&mut self, program: &[usize]) {
        let files = &self.code.files;
        let mut definers: BTreeMap<&str, Vec<Use>> = BTreeMap::new();
        for &file in program {
            let mut own: BTreeSet<&str> = BTreeSet::new();
            for (symbol, found) in files[file].symbols.iter().enumerate() {
                if is_telling(&found.name, found.kind)
                    && !matches!(
                        found.kind,
                        SymbolKind::Heading | SymbolKind::Field | SymbolKind::Module
                    )
                    && own.insert(&found.name)
                {
                    definers
                        .entry(&found.name)
                        .or_default()
                        .push(Use { file, symbol });
                }
            }
        }
        for &file in program {
            let mut uses = Vec::new();
            for name in &files[file].references {
                let Some(found) = definers.get(name.as_str()) else {
                    continue;
                };
                if found.len() > MOST_DEFINERS || found.iter().any(|found| found.file == file) {
                    continue;
                }
                uses.extend(found.iter().cloned());
            }
            uses.sort();
            for used in &uses {
                let (Some(from), Some(to)) = (self.module_of[file], self.module_of[used.file])
                else {
                    continue;
                };
                if from == to {
                    continue;
                }
                let name = &files[used.file].symbols[used.symbol].name;
                self.modules[from]
                    .uses
                    .entry(to)
                    .or_default()
                    .insert(name.clone());
                self.modules[to]
                    .used_by
                    .entry(from)
                    .or_default()
                    .insert(name.clone());
            }
            self.uses[file] = uses;
        }
    }

    /// Files where a reader, or the program, begins: places with the reason.
    pub(super) fn entries(&self) -> Vec<(usize, &'static str)> {
        let mut found: Vec<(u8, usize, &'static str)> = Vec::new();
        for (at, file) in self.code.files.iter().enumerate() {
            if self.module_of[at].is_none() {
                continue;
            }
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            let stem = name.split('.').next().unwrap_or(name);
            let depth = file.path.matches('/').count();
            let has_main = file
                .symbols
                .iter()
                .any(|symbol| symbol.name == "main" && symbol.kind == SymbolKind::Function);
            let entry = match (stem, depth) {
                _ if has_main && depth <= 4 => {
                    Some((0, "a program begins here: it defines `main`"))
                }
                ("__main__", _) => Some((0, "what running the package does")),
                ("lib", 0..=3) if name == "lib.rs" => Some((1, "the root of the library")),
                ("__init__", 0..=2) if !self.has_init_above(&file.path) => {
                    Some((1, "what importing the package gives"))
                }
                ("index", 0..=1) => Some((1, "what requiring the package gives")),
                ("main" | "cli" | "app" | "server" | "cmd", 0..=2) => {
                    Some((2, "by its name, a place to begin"))
                }
                _ => None,
            };
            if let Some((rank, why)) = entry {
                found.push((rank, at, why));
            }
        }
        found.sort_by_key(|&(rank, at, _)| {
            (rank, self.code.files[at].path.matches('/').count(), at)
        });
        found.into_iter().map(|(_, at, why)| (at, why)).collect()
    }

    fn has_init_above(&self, path: &str) -> bool {
        let above = folder(folder(path));
        let init = if above.is_empty() {
            "__init__.py".to_owned()
        } else {
            format!("{above}/__init__.py")
        };
        self.code.files.iter().any(|file| file.path == init)
    }

    /// The file that stands for a module: the one that its language reads first, else the largest.
    pub(super) fn head(&self, module: &Module) -> usize {
        let rank = |&at: &usize| {
            let file = &self.code.files[at];
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            let stem = name.split('.').next().unwrap_or(name);
            let first = matches!(
                stem,
                "mod" | "lib" | "main" | "__init__" | "index" | "doc" | "package-info"
            );
            let own = folder(&file.path).rsplit('/').next() == Some(stem);
            (!first, !own, std::cmp::Reverse(file.lines), at)
        };
        module.files.iter().copied().min_by_key(rank).unwrap_or(0)
    }
}
