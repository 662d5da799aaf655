//! The sections and what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::map::{Map, Module, folder};
use super::text::{code, doc_at_top, doc_of, escape};
use crate::code::{Content, Language, Lines, Symbol, SymbolKind, is_test_path, redact};
use crate::id::{PageId, SourceId};

/// The sections about the whole, in the order of reading.
pub(super) const WHOLE: [&str; 4] = ["index", "architecture", "modules", "data-flow"];
/// Arrows of a diagram: more is a ball of wool. What is left out is said.
const ARROWS: usize = 40;
/// Definitions of a file that are described; the others are counted.
const DESCRIBED: usize = 30;
/// Names that are given for a use; the others are counted.
const NAMES: usize = 6;
/// Members of a type that are named; the others are counted.
const MEMBERS: usize = 12;
/// Steps that are followed from an entry point.
const DEPTH: usize = 3;
/// Ways that are followed from each file.
const WAYS: usize = 5;

/// A section.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) summary: String,
    /// Path of the module that it is about.
    pub(super) module: Option<String>,
    parts: Vec<Part>,
    redacted: u32,
}

/// A piece of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Markdown.
    Text(String),
    /// A link to lines.
    Cite { file: String, first: u32, last: u32 },
}

impl Section {
    fn new(id: &str, title: &str, summary: &str) -> Self {
        let mut section = Self {
            id: id.to_owned(),
            title: String::new(),
            summary: String::new(),
            module: None,
            parts: Vec::new(),
            redacted: 0,
        };
        section.title = section.clean(title);
        section.summary = section.clean(summary);
        section.text(&format!("# {}\n\n", escape(&section.title.clone())));
        section
    }

    /// The page of the section.
    pub(super) fn page(&self) -> String {
        format!("code/{}", self.id)
    }

    /// Files that it cites.
    pub(super) fn files(&self) -> BTreeSet<String> {
        let cited = self.parts.iter().filter_map(|part| match part {
            Part::Cite { file, .. } => Some(file.clone()),
            Part::Text(_) => None,
        });
        cited.collect()
    }

    /// Lines that it cites, each once, in order.
    pub(super) fn cited(&self) -> Vec<(&str, u32, u32)> {
        let mut cited: Vec<(&str, u32, u32)> = Vec::new();
        for part in &self.parts {
            if let Part::Cite { file, first, last } = part
                && !cited.contains(&(file, *first, *last))
            {
                cited.push((file, *first, *last));
            }
        }
        cited
    }

    /// Puts a text below the title.
    pub(super) fn open_with(&mut self, opening: Vec<Part>) {
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        let first = parts.next();
        if let Some(Part::Text(first)) = &first {
            let (title, rest) = first.split_once("\n\n").unwrap_or((first, ""));
            self.parts.push(Part::Text(format!("{title}\n\n")));
            self.parts.extend(opening);
            self.text(&format!("\n\n{rest}"));
        }
        self.parts.extend(parts);
    }

    /// Leaves out what does not fit on a page of this size, and says so.
    pub(super) fn fit(&mut self, most: usize) {
        // Room for the frontmatter and the comment at the end.
        let most = most.saturating_sub(self.title.len() + 2 * self.summary.len() + 600);
        let mut size = 0;
        let mut cited: BTreeSet<&str> = BTreeSet::new();
        let over = self.parts.iter().position(|part| {
            size += match part {
                Part::Text(text) => text.len(),
                // The link, and the source in the frontmatter.
                Part::Cite { file, .. } if cited.insert(file) => 2 * file.len() + 200,
                Part::Cite { file, .. } => 2 * file.len() + 120,
            };
            size > most
        });
        let Some(over) = over else {
            return;
        };
        self.parts.truncate(over);
        while let Some(part) = self.parts.pop() {
            if let Part::Text(text) = part
                && let Some(end) = text.rfind('\n')
            {
                self.parts.push(Part::Text(text[..end].to_owned()));
                break;
            }
        }
        self.text("\n\nThe rest does not fit on a page of this size.\n");
    }

    /// The body, with links to these snapshots, and how much was redacted in it.
    pub(super) fn render(&self, snapshots: &BTreeMap<&str, SourceId>) -> (String, u32) {
        let mut body = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => body.push_str(text),
                Part::Cite { file, first, last } => match snapshots.get(file.as_str()) {
                    Some(id) => {
                        let lines = if last > first {
                            format!("#L{first}-L{last}")
                        } else {
                            format!("#L{first}")
                        };
                        let _ = write!(
                            body,
                            "[{}:{first}](llmwiki://source/{id}{lines})",
                            escape(file)
                        );
                    }
                    None => {
                        let _ = write!(body, "{}", code(&format!("{file}:{first}")));
                    }
                },
            }
        }
        (body.trim_end().to_owned(), self.redacted)
    }

    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    fn cite(&mut self, file: &str, first: u32, last: u32) {
        self.parts.push(Part::Cite {
            file: file.to_owned(),
            first,
            last,
        });
    }

    fn clean(&mut self, text: &str) -> String {
        let found = redact(text);
        self.redacted += found.secrets + found.names;
        found.text.into_owned()
    }

    /// Words of the code, as text.
    fn words(&mut self, words: &str) {
        let words = self.clean(words);
        self.text(&escape(&words));
    }
}

/// The part of an id that stands for a path.
fn spell(path: &str) -> String {
    if path.is_empty() {
        return "top".to_owned();
    }
    let parts: Vec<String> = path
        .split('/')
        .map(|part| {
            let mut spelled = String::new();
            for c in part.chars() {
                if c == '%' || c == '\\' || c == '~' || c.is_control() {
                    let _ = write!(spelled, "~{:02x}", u32::from(c));
                } else {
                    spelled.push(c);
                }
            }
            if spelled.to_ascii_lowercase().ends_with(".md") {
                spelled.push('~');
            }
            if PageId::parse(&spelled).is_err() {
                spelled.insert(0, '~');
            }
            spelled
        })
        .collect();
    parts.join("/")
}

fn module_id(module: &Module) -> String {
    format!("modules/{}", spell(&module.path))
}

/// What a module is called.
fn name_of(map: &Map<'_>, module: &Module) -> String {
    if module.path.is_empty() {
        format!("{} (top folder)", map.code.name)
    } else {
        module.path.clone()
    }
}

/// A link from one section to another.
fn link(from: &str, to: &str, label: &str) -> String {
    let up = "../".repeat(from.matches('/').count());
    let target: String = to
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    format!("[{}]({up}{target}.md)", escape(label))
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// Every section.
pub(super) fn all(map: &Map<'_>) -> Vec<Section> {
    let mut sections = vec![index(map), architecture(map), modules(map), data_flow(map)];
    sections.extend(map.modules.iter().map(|module| page(map, module)));
    sections
}

/// What a file says it is.
fn doc_of_file(map: &Map<'_>, file: usize) -> Option<String> {
    let text = map.code.text(&map.code.files[file].path)?;
    doc_at_top(&Lines::new(&text))
}

fn index(map: &Map<'_>) -> Section {
    let files = &map.code.files;
    let readme = readme(map);
    let summary = readme.as_ref().map_or_else(
        || format!("What {} is and how it is laid out.", map.code.name),
        |found| found.words.clone(),
    );
    let mut section = Section::new("index", &map.code.name, &summary);
    if let Some(readme) = &readme {
        section.words(&readme.words);
        section.text(" ");
        section.cite(&readme.file, readme.first, readme.last);
        section.text("\n\n");
    }
    let mut languages: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for file in files
        .iter()
        .filter(|file| Language::named(&file.language).content == Content::Code)
    {
        let (count, lines) = languages.entry(&file.language).or_default();
        *count += 1;
        *lines += u64::from(file.lines);
    }
    let mut languages: Vec<_> = languages.into_iter().collect();
    languages.sort_by_key(|&(name, (_, lines))| (std::cmp::Reverse(lines), name));
    let tests = files.iter().filter(|file| is_test_path(&file.path)).count() as u64;
    section.text("| language | files | lines |\n| --- | ---: | ---: |\n");
    for (name, (count, lines)) in languages {
        section.text(&format!("| {name} | {count} | {lines} |\n"));
    }
    section.text(&format!(
        "\n{} in all, {} of them tests, examples or benchmarks.\n",
        counted(files.len() as u64, "file"),
        tests
    ));
    let entries = map.entries();
    if !entries.is_empty() {
        section.text("\n## Where it begins\n\n");
        for &(at, why) in entries.iter().take(12) {
            let file = &files[at];
            section.text(&format!("- {}: {why}", code(&file.path)));
            if let Some(doc) = doc_of_file(map, at) {
                section.text(". ");
                section.words(&doc);
            }
            let main = file.symbols.iter().find(|symbol| symbol.name == "main");
            section.text(" ");
            match main {
                Some(main) => section.cite(&file.path, main.start_line, main.end_line),
                None => section.cite(&file.path, 1, file.lines.clamp(1, 40)),
            }
            section.text("\n");
        }
        if entries.len() > 12 {
            section.text(&format!("- and {} more\n", entries.len() - 12));
        }
    }
    section.text("\n## How it is laid out\n\n");
    layout(map, &mut section);
    section.text("\n## Read on\n\n");
    for (id, label, what) in [
        ("architecture", "Architecture", "which module uses which"),
        ("modules", "Modules", "every module with what it is for"),
        (
            "data-flow",
            "Data flow",
            "what happens from the entry points on",
        ),
    ] {
        section.text(&format!("- {}: {what}\n", link("index", id, label)));
    }
    section
}

/// The folders at the top, with what is in them.
fn layout(map: &Map<'_>, section: &mut Section) {
    let mut folders: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for file in &map.code.files {
        let top = file.path.split_once('/').map_or("", |(top, _)| top);
        let (count, lines) = folders.entry(top).or_default();
        *count += 1;
        *lines += u64::from(file.lines);
    }
    for (top, (count, lines)) in folders {
        let label = if top.is_empty() {
            "(top)".to_owned()
        } else {
            format!("{top}/")
        };
        section.text(&format!(
            "- {}: {}, {}",
            code(&label),
            counted(count, "file"),
            counted(lines, "line")
        ));
        let module = map
            .modules
            .iter()
            .find(|module| !top.is_empty() && module.path == top);
        if let Some(module) = module {
            section.text(&format!(
                " ({})",
                link("index", &module_id(module), "module")
            ));
            if let Some(doc) = doc_of_file(map, map.head(module)) {
                section.text(": ");
                section.words(&doc);
            }
        }
        section.text("\n");
    }
}

struct Readme {
    words: String,
    file: String,
    first: u32,
    last: u32,
}

/// The first paragraph of running text in the README.
fn readme(map: &Map<'_>) -> Option<Readme> {
    let file = map
        .code
        .files
        .iter()
        .filter(|file| folder(&file.path).is_empty())
        .find(|file| file.path.to_ascii_lowercase().starts_with("readme"))?;
    let text = map.code.text(&file.path)?;
    let lines = Lines::new(&text);
    let is_text = |line: &str| {
        let line = line.trim();
        // Lists, tables, pictures, badges, HTML.
        let is_mark = line
            .starts_with(['#', '[', '!', '<', '=', '-', '`', '|', '>', '.', '~', '+'])
            || line.starts_with("* ");
        !line.is_empty()
            && !is_mark
            && !line.starts_with("http")
            && line.chars().filter(|c| c.is_alphabetic()).count() * 2 > line.chars().count()
    };
    let is_rule = |line: &str| {
        let line = line.trim();
        line.len() >= 3 && line.chars().all(|c| matches!(c, '=' | '-' | '~'))
    };
    let mut at = 1;
    let mut fence = false;
    while at <= lines.count() {
        if lines.line(at).trim_start().starts_with("```") {
            fence = !fence;
        }
        if fence {
            at += 1;
            continue;
        }
        // A line above a rule is a heading.
        if is_text(lines.line(at)) && !(at < lines.count() && is_rule(lines.line(at + 1))) {
            let first = at;
            while at < lines.count() && !lines.line(at + 1).trim().is_empty() {
                at += 1;
            }
            let words: Vec<&str> = (first..=at).map(|line| lines.line(line).trim()).collect();
            let words = words.join(" ");
            if words.split_whitespace().count() >= 4 {
                return Some(Readme {
                    words: plain(&words),
                    file: file.path.clone(),
                    first,
                    last: at,
                });
            }
        }
        at += 1;
    }
    None
}

/// Markdown as plain words: links by their text, no marks.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let parser = pulldown_cmark::Parser::new(text);
    for event in parser {
        match event {
            pulldown_cmark::Event::Text(text) | pulldown_cmark::Event::Code(text) => {
                out.push_str(&text);
            }
            pulldown_cmark::Event::SoftBreak | pulldown_cmark::Event::HardBreak => out.push(' '),
            _ => {}
        }
    }
    if out.len() > 600 {
        let mut at = 600;
        while !out.is_char_boundary(at) {
            at -= 1;
        }
        out.truncate(out[..at].rfind(' ').unwrap_or(at));
        out.push_str(" ...");
    }
    out.trim().to_owned()
}

fn architecture(map: &Map<'_>) -> Section {
    let mut section = Section::new(
        "architecture",
        &format!("{}: architecture", map.code.name),
        &format!(
            "Which module of {} uses which, by what they import and the names that they use.",
            map.code.name
        ),
    );
    let mut arrows: Vec<(usize, usize, usize)> = Vec::new();
    for (from, module) in map.modules.iter().enumerate() {
        for (&to, names) in &module.uses {
            arrows.push((names.len(), from, to));
        }
    }
    arrows.sort_by_key(|&(weight, from, to)| (std::cmp::Reverse(weight), from, to));
    section.text(&format!(
        "{} with code, {} between them. An arrow means that what its head defines is imported or used \
         at its tail; names that cannot be told apart are left out.\n\n",
        counted(map.modules.len() as u64, "module"),
        counted(arrows.len() as u64, "arrow"),
    ));
    if !arrows.is_empty() {
        let shown = &arrows[..arrows.len().min(ARROWS)];
        diagram(map, shown, &mut section);
        if arrows.len() > ARROWS {
            section.text(&format!(
                "\n{} thinner arrows are not drawn.\n",
                arrows.len() - ARROWS
            ));
        }
        section.text("\n## Strongest ties\n\n");
        for &(_, from, to) in shown.iter().take(20) {
            let (user, used) = (&map.modules[from], &map.modules[to]);
            let used_names = &user.uses[&to];
            let tie = if used_names.is_empty() {
                "imports".to_owned()
            } else {
                format!("uses {} of", names(used_names))
            };
            section.text(&format!(
                "- {} {tie} {}",
                link("architecture", &module_id(user), &name_of(map, user)),
                link("architecture", &module_id(used), &name_of(map, used)),
            ));
            let shown = definition(map, used, used_names).or_else(|| import(map, user, used));
            if let Some((file, first, last)) = shown {
                section.text(" ");
                section.cite(&file, first, last);
            }
            section.text("\n");
        }
    }
    section
}

/// Where a module defines one of these names.
fn definition(
    map: &Map<'_>,
    module: &Module,
    names: &BTreeSet<String>,
) -> Option<(String, u32, u32)> {
    module.files.iter().find_map(|&at| {
        let file = &map.code.files[at];
        let symbol = file
            .symbols
            .iter()
            .find(|symbol| names.contains(&symbol.name))?;
        Some((file.path.clone(), symbol.start_line, symbol.end_line))
    })
}

/// The line by which one module imports another.
fn import(map: &Map<'_>, user: &Module, used: &Module) -> Option<(String, u32, u32)> {
    user.files.iter().find_map(|&from| {
        let line = used.files.iter().find_map(|to| map.imports[from].get(to))?;
        Some((map.code.files[from].path.clone(), *line, *line))
    })
}

fn names(names: &BTreeSet<String>) -> String {
    let mut text: Vec<String> = names.iter().take(NAMES).map(|name| code(name)).collect();
    if names.len() > NAMES {
        text.push(format!("{} more", names.len() - NAMES));
    }
    text.join(", ")
}

fn diagram(map: &Map<'_>, arrows: &[(usize, usize, usize)], section: &mut Section) {
    let nodes: BTreeSet<usize> = arrows
        .iter()
        .flat_map(|&(_, from, to)| [from, to])
        .collect();
    section.text("```mermaid\nflowchart LR\n");
    for &node in &nodes {
        let label: String = name_of(map, &map.modules[node])
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ' ' | '@'))
            .collect();
        section.text(&format!("  m{node}[\"{label}\"]\n"));
    }
    for &(_, from, to) in arrows {
        section.text(&format!("  m{from} --> m{to}\n"));
    }
    section.text("```\n");
}

fn modules(map: &Map<'_>) -> Section {
    let mut section = Section::new(
        "modules",
        &format!("{}: modules", map.code.name),
        &format!("Every module of {} with what it is for.", map.code.name),
    );
    if map.modules.is_empty() {
        section.text("There is no module with code.\n");
    }
    for module in &map.modules {
        section.text(&format!(
            "- {} ({}, {}, used by {})",
            link("modules", &module_id(module), &name_of(map, module)),
            counted(module.files.len() as u64, "file"),
            counted(module.lines, "line"),
            module.used_by.len(),
        ));
        let head = map.head(module);
        if let Some(doc) = doc_of_file(map, head) {
            section.text(": ");
            section.words(&doc);
            section.text(" ");
            let file = &map.code.files[head];
            section.cite(&file.path, 1, file.lines.clamp(1, 20));
        } else {
            let defined = outermost(&map.code.files[head].symbols);
            if !defined.is_empty() {
                section.text(&format!(": defines {}", names(&defined)));
            }
        }
        section.text("\n");
    }
    section
}

/// Names of the definitions that no other one holds.
fn outermost(symbols: &[Symbol]) -> BTreeSet<String> {
    let mut end = 0;
    let mut found = BTreeSet::new();
    for symbol in symbols {
        if symbol.start_line > end && symbol.kind != SymbolKind::Heading {
            found.insert(symbol.name.clone());
            end = symbol.end_line;
        }
    }
    found
}

fn data_flow(map: &Map<'_>) -> Section {
    let mut section = Section::new(
        "data-flow",
        &format!("{}: data flow", map.code.name),
        &format!(
            "What is reached from the entry points of {}, step by step.",
            map.code.name
        ),
    );
    let entries = map.entries();
    if entries.is_empty() {
        section.text("No entry point is known: no `main`, and no file whose name says that one begins there.\n");
    } else {
        section.text(
            "From each entry point, the files that are imported or whose definitions are used, those \
             with the most uses first. It follows imports and names, not values.\n",
        );
    }
    for &(entry, _) in entries.iter().take(6) {
        let file = &map.code.files[entry];
        section.text(&format!("\n## From {}\n\n", escape(&file.path)));
        let mut seen = BTreeSet::from([entry]);
        follow(map, entry, 0, &mut seen, &mut section);
        if seen.len() == 1 {
            section.text("- It uses nothing of other files that can be told by name.\n");
        }
    }
    if entries.len() > 6 {
        section.text(&format!(
            "\n{} more entry points are not followed here.\n",
            entries.len() - 6
        ));
    }
    section
}

fn follow(
    map: &Map<'_>,
    from: usize,
    depth: usize,
    seen: &mut BTreeSet<usize>,
    section: &mut Section,
) {
    let mut ways: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for used in &map.uses[from] {
        ways.entry(used.file).or_default().extend(used.symbol);
    }
    let mut ways: Vec<(usize, Vec<usize>)> = ways
        .into_iter()
        .filter(|(file, _)| !seen.contains(file))
        .collect();
    ways.sort_by_key(|(file, symbols)| (std::cmp::Reverse(symbols.len()), *file));
    let left = ways.len().saturating_sub(WAYS);
    ways.truncate(WAYS);
    seen.extend(ways.iter().map(|(file, _)| *file));
    let indent = "  ".repeat(depth);
    for (file, symbols) in ways {
        let target = &map.code.files[file];
        let used: BTreeSet<String> = symbols
            .iter()
            .map(|&at| target.symbols[at].name.clone())
            .collect();
        if used.is_empty() {
            section.text(&format!("{indent}- {} ", code(&target.path)));
        } else {
            section.text(&format!(
                "{indent}- {} of {} ",
                names(&used),
                code(&target.path)
            ));
        }
        if let Some(first) = symbols.first().and_then(|&at| target.symbols.get(at)) {
            section.cite(&target.path, first.start_line, first.end_line);
        } else if let Some(&line) = map.imports[from].get(&file) {
            section.cite(&map.code.files[from].path, line, line);
        }
        section.text("\n");
        if depth + 1 < DEPTH {
            follow(map, file, depth + 1, seen, section);
        }
    }
    if left > 0 {
        section.text(&format!(
            "{indent}- and {} more\n",
            counted(left as u64, "file")
        ));
    }
}

fn page(map: &Map<'_>, module: &Module) -> Section {
    let id = module_id(module);
    let head = map.head(module);
    let doc = doc_of_file(map, head);
    let name = name_of(map, module);
    let summary = doc.clone().unwrap_or_else(|| {
        format!(
            "Module {name}: {}, {}.",
            counted(module.files.len() as u64, "file"),
            counted(module.lines, "line")
        )
    });
    let mut section = Section::new(&id, &name, &summary);
    section.module = Some(module.path.clone());
    if let Some(doc) = doc {
        section.words(&doc);
        section.text(" ");
        let file = &map.code.files[head];
        section.cite(&file.path, 1, file.lines.clamp(1, 20));
        section.text("\n\n");
    }
    section.text(&format!(
        "{}, {}. {}\n",
        counted(module.files.len() as u64, "file"),
        counted(module.lines, "line"),
        link(&id, "modules", "All modules"),
    ));
    for (title, ties) in [("Uses", &module.uses), ("Used by", &module.used_by)] {
        if ties.is_empty() {
            continue;
        }
        section.text(&format!("\n## {title}\n\n"));
        let mut ties: Vec<_> = ties.iter().collect();
        ties.sort_by_key(|(other, names)| (std::cmp::Reverse(names.len()), **other));
        for (&other, used) in ties {
            let other = &map.modules[other];
            let of = if used.is_empty() {
                String::new()
            } else {
                format!(": {}", names(used))
            };
            section.text(&format!(
                "- {}{of}\n",
                link(&id, &module_id(other), &name_of(map, other)),
            ));
        }
    }
    section.text("\n## What it defines\n");
    let mut files = module.files.clone();
    files.sort_by_key(|&file| (file != head, file));
    for file in files {
        definitions(map, file, module.files.len() > 1, &mut section);
    }
    section
}

/// The definitions of a file at its outermost level.
fn definitions(map: &Map<'_>, at: usize, with_heading: bool, section: &mut Section) {
    let file = &map.code.files[at];
    let Some(text) = map.code.text(&file.path) else {
        return;
    };
    let lines = Lines::new(&text);
    if with_heading {
        section.text(&format!("\n### {}\n", escape(&file.path)));
        if let Some(doc) = doc_at_top(&lines) {
            section.text("\n");
            section.words(&doc);
            section.text("\n");
        }
    }
    section.text("\n");
    let mut end = 0;
    let (mut shown, mut left) = (0, 0);
    // Methods that no type above holds, as those of an `impl` elsewhere.
    let mut methods: Vec<&str> = Vec::new();
    let inside = insides(&file.symbols);
    for (place, symbol) in file.symbols.iter().enumerate() {
        let is_inner = symbol.start_line <= end && symbol.kind != SymbolKind::Module;
        if is_inner || matches!(symbol.kind, SymbolKind::Method | SymbolKind::Field) {
            if !is_inner && symbol.kind == SymbolKind::Method {
                methods.push(&symbol.name);
            }
            continue;
        }
        if matches!(symbol.name.as_str(), "tests" | "test") {
            end = symbol.end_line;
            continue;
        }
        if symbol.kind != SymbolKind::Module {
            end = end.max(symbol.end_line);
        }
        if shown == DESCRIBED {
            left += 1;
            continue;
        }
        shown += 1;
        section.text(&format!("- {} {} ", symbol.kind.word(), code(&symbol.name)));
        section.cite(&file.path, symbol.start_line, symbol.end_line);
        if let Some(doc) = doc_of(&lines, symbol.start_line) {
            section.text(": ");
            section.words(&doc);
        }
        section.text("\n");
        if let Some(names) = inside.get(&place) {
            members(names, section);
        }
    }
    if left > 0 {
        section.text(&format!("- and {left} more\n"));
    }
    if !methods.is_empty() {
        section.text(&format!(
            "- {} of types, defined apart from them\n",
            counted(methods.len() as u64, "method")
        ));
        members(&methods, section);
    }
    if shown == 0 && methods.is_empty() {
        section.text("- no definition that is known; ");
        section.cite(&file.path, 1, file.lines.max(1));
        section.text("\n");
    }
}

/// Methods and functions right inside each type, by its place.
fn insides(symbols: &[Symbol]) -> BTreeMap<usize, Vec<&str>> {
    let mut found: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    let mut around: Vec<usize> = Vec::new();
    for (place, symbol) in symbols.iter().enumerate() {
        while around
            .last()
            .is_some_and(|&top| symbols[top].end_line < symbol.start_line)
        {
            around.pop();
        }
        if matches!(symbol.kind, SymbolKind::Method | SymbolKind::Function)
            && let Some(&top) = around.last()
            && matches!(symbols[top].kind, SymbolKind::Class | SymbolKind::Interface)
        {
            found.entry(top).or_default().push(&symbol.name);
        }
        if symbol.end_line > symbol.start_line {
            around.push(place);
        }
    }
    found
}

/// The members of a type; those for its users first.
fn members(names: &[&str], section: &mut Section) {
    let mut names = names.to_vec();
    names.sort_by_key(|name| name.starts_with('_'));
    let shown: Vec<String> = names.iter().take(MEMBERS).map(|name| code(name)).collect();
    let more = names.len().saturating_sub(MEMBERS);
    let more = if more > 0 {
        format!(", {more} more")
    } else {
        String::new()
    };
    section.text(&format!("  - {}{more}\n", shown.join(", ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_makes_a_legal_id() {
        for path in [
            "",
            "src/a.rs",
            "docs/x.md",
            "a%b/c\\d",
            "con/aux.c",
            "x.MD/y",
            "a~b",
            " ",
        ] {
            let id = format!("code/modules/{}", spell(path));
            assert!(PageId::parse(&id).is_ok(), "{path:?}: {id:?}");
        }
        assert_ne!(spell("a~25b"), spell("a%b"));
    }

    #[test]
    fn links_lead_from_page_to_page() {
        assert_eq!(link("index", "modules/src/a", "a"), "[a](modules/src/a.md)");
        assert_eq!(
            link("modules/src/a", "modules", "All"),
            "[All](../../modules.md)"
        );
        assert_eq!(
            link("modules/a", "modules/b c", "b"),
            "[b](../modules/b%20c.md)"
        );
    }
}
