//! What the index says about a project as a whole: its modules, and which uses which.
//!
//! A module is a folder with code in it; in a project of one or two folders, a file. What a file
//! imports is told by its own lines. A name that it uses leads to the imported file that defines
//! it, else, where its language needs no import, to the files that define it, where few enough do
//! that the name tells them apart: there is no type checker here, so common names are left out, not
//! guessed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::code::{
    Content, Import, Language, SymbolKind, imports, is_made_from_source, is_test_path, must_import,
    stem,
};
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
    /// Place of the definition in that file; none where the file is imported and no definition can
    /// be named.
    pub(super) symbol: Option<usize>,
}

/// A project.
pub(super) struct Map<'a> {
    pub(super) code: &'a CodeMap,
    pub(super) modules: Vec<Module>,
    /// What each file uses of others.
    pub(super) uses: Vec<Vec<Use>>,
    /// Files that each file imports, with the line that says so.
    pub(super) imports: Vec<BTreeMap<usize, u32>>,
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

/// Whether a name tells one thing from others. Members of types with one common word for a name
/// (`push`, `next`) are those of every type.
fn is_telling(name: &str, is_member: bool) -> bool {
    let is_compound =
        name.trim_matches('_').contains('_') || name.chars().skip(1).any(char::is_uppercase);
    let shortest = if is_member && !is_compound {
        SHORTEST_WORD
    } else {
        SHORTEST_NAME
    };
    name.len() >= shortest
}

/// A definition at which a use may lead.
#[derive(Debug, Clone, Copy)]
struct Definer {
    file: usize,
    symbol: usize,
    /// Whether it belongs to a type.
    is_member: bool,
}

/// The definitions of each name.
fn definers<'a>(code: &'a CodeMap, program: &[usize]) -> HashMap<&'a str, Vec<Definer>> {
    let mut definers: HashMap<&str, Vec<Definer>> = HashMap::new();
    for &file in program {
        // Those outside types come first: a name is known by its most general definition.
        let mut own: BTreeMap<&str, Definer> = BTreeMap::new();
        let mut type_end = 0;
        for (symbol, found) in code.files[file].symbols.iter().enumerate() {
            let is_member = found.kind == SymbolKind::Method || found.start_line <= type_end;
            if matches!(found.kind, SymbolKind::Class | SymbolKind::Interface) {
                type_end = type_end.max(found.end_line);
            }
            if matches!(
                found.kind,
                SymbolKind::Heading | SymbolKind::Field | SymbolKind::Module
            ) {
                continue;
            }
            let definer = Definer {
                file,
                symbol,
                is_member,
            };
            let known = own.entry(&found.name).or_insert(definer);
            if known.is_member && !is_member {
                *known = definer;
            }
        }
        for (name, definer) in own {
            definers.entry(name).or_default().push(definer);
        }
    }
    definers
}

/// Whether a file speaks for its folder.
fn is_head(path: &str) -> bool {
    matches!(
        stem(path).rsplit('/').next(),
        Some("index" | "__init__" | "mod" | "lib" | "init")
    )
}

/// The files of a project by what imports call them.
struct Paths<'a> {
    code: &'a CodeMap,
    whole: HashMap<&'a str, usize>,
    /// By the path without ending; for a file that speaks for its folder, by that too.
    stems: HashMap<&'a str, Vec<usize>>,
    /// By the last part of those.
    ends: HashMap<&'a str, Vec<(&'a str, usize)>>,
}

impl<'a> Paths<'a> {
    fn new(code: &'a CodeMap, program: &[usize]) -> Self {
        let mut paths = Self {
            code,
            whole: HashMap::new(),
            stems: HashMap::new(),
            ends: HashMap::new(),
        };
        for &file in program {
            let path = code.files[file].path.as_str();
            paths.whole.insert(path, file);
            let mut names = vec![stem(path), path];
            if is_head(path) {
                names.push(folder(path));
            }
            for name in names {
                if name != path {
                    paths.stems.entry(name).or_default().push(file);
                }
                let end = name.rsplit('/').next().unwrap_or(name);
                paths.ends.entry(end).or_default().push((name, file));
            }
        }
        paths
    }

    /// The file that an import of `from` means; nothing where it is none of the project, or several
    /// may be meant.
    fn find(&self, from: usize, import: &Import) -> Option<usize> {
        let family = |file: usize| family(&self.code.files[file].language);
        let fits = |&file: &usize| file != from && family(file) == family(from);
        for candidate in &import.candidates {
            let exact = self.whole.get(candidate.as_str()).copied().into_iter();
            let by_stem = self
                .stems
                .get(candidate.as_str())
                .into_iter()
                .flatten()
                .copied();
            if let Some(found) = exact.chain(by_stem).find(fits) {
                return Some(found);
            }
            if !import.anywhere {
                continue;
            }
            let end = candidate.rsplit('/').next().unwrap_or(candidate);
            let longer = self.ends.get(end).into_iter().flatten();
            let found: BTreeSet<usize> = longer
                .filter(|(name, file)| {
                    let before = name.strip_suffix(candidate.as_str());
                    before.is_some_and(|before| before.ends_with('/')) && fits(file)
                })
                .map(|&(_, file)| file)
                .collect();
            if found.len() == 1 {
                return found.into_iter().next();
            }
        }
        None
    }
}

/// Languages whose files import each other.
fn family(language: &str) -> &str {
    match language {
        "typescript" | "tsx" => "javascript",
        "c++" => "c",
        other => other,
    }
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
            imports: vec![BTreeMap::new(); code.files.len()],
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

    /// Finds what each file imports and uses of others.
    fn resolve(&mut self, program: &[usize]) {
        let files = &self.code.files;
        let paths = Paths::new(self.code, program);
        for &file in program {
            let code = &files[file];
            let text = self.code.text(&code.path).unwrap_or_default();
            for import in imports(&code.path, &code.language, &text) {
                if let Some(found) = paths.find(file, &import) {
                    self.imports[file].entry(found).or_insert(import.line);
                }
            }
        }
        let definers = definers(self.code, program);
        for &file in program {
            let uses = self.uses_of(file, &definers);
            for used in &uses {
                let (Some(from), Some(to)) = (self.module_of[file], self.module_of[used.file])
                else {
                    continue;
                };
                if from == to {
                    continue;
                }
                let name = used
                    .symbol
                    .map(|at| files[used.file].symbols[at].name.clone());
                let uses = self.modules[from].uses.entry(to).or_default();
                uses.extend(name.clone());
                let used_by = self.modules[to].used_by.entry(from).or_default();
                used_by.extend(name);
            }
            self.uses[file] = uses;
        }
    }

    /// What a file uses of others, by file and place.
    fn uses_of(&self, file: usize, definers: &HashMap<&str, Vec<Definer>>) -> Vec<Use> {
        let files = &self.code.files;
        let imported = &self.imports[file];
        // What a package gives is often defined in what its head imports.
        let within: BTreeSet<usize> = imported
            .keys()
            .filter(|&&head| is_head(&files[head].path))
            .flat_map(|&head| self.imports[head].keys().copied())
            .chain(imported.keys().copied())
            .collect();
        let mut chosen: Vec<Definer> = Vec::new();
        for name in &files[file].references {
            let Some(found) = definers.get(name.as_str()) else {
                continue;
            };
            if found.iter().any(|found| found.file == file) {
                continue;
            }
            let of_imported = found
                .iter()
                .filter(|found| within.contains(&found.file))
                .filter(|found| !found.is_member || is_telling(name, true));
            let before = chosen.len();
            chosen.extend(of_imported);
            if chosen.len() == before
                && !must_import(&files[file].language)
                && found.len() <= MOST_DEFINERS
                && found.iter().all(|found| is_telling(name, found.is_member))
            {
                chosen.extend(found);
            }
        }
        // Methods alone, of a file that is not imported, are those of something else.
        let of_more: BTreeSet<usize> = chosen
            .iter()
            .filter(|found| !found.is_member)
            .map(|found| found.file)
            .collect();
        chosen.retain(|found| within.contains(&found.file) || of_more.contains(&found.file));
        let named: BTreeSet<usize> = chosen.iter().map(|found| found.file).collect();
        let whole = imported.keys().filter(|target| !named.contains(target));
        let mut uses: Vec<Use> = chosen
            .iter()
            .map(|found| Use {
                file: found.file,
                symbol: Some(found.symbol),
            })
            .chain(whole.map(|&file| Use { file, symbol: None }))
            .collect();
        uses.sort();
        uses
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
