//! What a file defines and what it uses, by name. Without a grammar for its language, nothing;
//! Markdown has its headings.

use super::language::Language;
use super::text::Lines;

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A function that belongs to a type.
    Method,
    /// A class, struct, enum or record.
    Class,
    /// An interface or trait.
    Interface,
    /// Another named type.
    Type,
    /// A module or namespace.
    Module,
    /// A constant, static or variable of a module.
    Constant,
    /// A macro.
    Macro,
    /// A field or property.
    Field,
    /// A heading of a document.
    Heading,
}

impl SymbolKind {
    /// All kinds; the place in this list is the number in the store.
    pub const ALL: &[Self] = &[
        Self::Function,
        Self::Method,
        Self::Class,
        Self::Interface,
        Self::Type,
        Self::Module,
        Self::Constant,
        Self::Macro,
        Self::Field,
        Self::Heading,
    ];

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "type",
            Self::Interface => "interface",
            Self::Type => "type alias",
            Self::Module => "module",
            Self::Constant => "constant",
            Self::Macro => "macro",
            Self::Field => "field",
            Self::Heading => "heading",
        }
    }
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// First line of the definition, without comments above it.
    pub start_line: u32,
    /// Last line of the definition.
    pub end_line: u32,
}

/// Definitions and uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// By first line, the outer before the inner.
    pub symbols: Vec<Symbol>,
    /// Names that the file uses, sorted, each once.
    pub references: Vec<String>,
}

/// Finds what a file defines and uses.
pub fn outline(language: &Language, text: &str, lines: &Lines<'_>) -> Outline {
    if language.name == "markdown" {
        return headings(lines);
    }
    #[cfg(feature = "lang-core")]
    if let Some(grammar) = super::grammar::of(language.name) {
        return grammar.outline(text, lines);
    }
    let _ = text;
    Outline::default()
}

/// The headings of a Markdown document, each up to the next.
fn headings(lines: &Lines<'_>) -> Outline {
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut fence: Option<&str> = None;
    for at in 1..=lines.count() {
        let line = lines.line(at).trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || !line.starts_with('#') {
            continue;
        }
        let name = line.trim_start_matches('#');
        if line.len() - name.len() > 6 || !name.starts_with([' ', '\t']) {
            continue;
        }
        if let Some(last) = symbols.last_mut() {
            last.end_line = at - 1;
        }
        symbols.push(Symbol {
            name: name.trim().trim_end_matches('#').trim_end().to_owned(),
            kind: SymbolKind::Heading,
            start_line: at,
            end_line: lines.count(),
        });
    }
    Outline {
        symbols,
        references: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: &str, text: &str) -> Outline {
        outline(Language::named(language), text, &Lines::new(text))
    }

    #[cfg(feature = "lang-core")]
    fn names(language: &str, text: &str) -> Vec<(String, SymbolKind, u32, u32)> {
        of(language, text)
            .symbols
            .into_iter()
            .map(|symbol| (symbol.name, symbol.kind, symbol.start_line, symbol.end_line))
            .collect()
    }

    #[test]
    fn headings_reach_to_the_next_one_and_fences_hide_them() {
        let found = of("markdown", "# A\n\ntext\n```\n# not\n```\n## B\nx\n#hash\n");
        let lines: Vec<_> = found
            .symbols
            .iter()
            .map(|symbol| (symbol.name.as_str(), symbol.start_line, symbol.end_line))
            .collect();
        assert_eq!(lines, [("A", 1, 6), ("B", 7, 9)]);
    }

    #[cfg(feature = "lang-core")]
    #[test]
    fn definitions_span_their_bodies() {
        use SymbolKind::{Class, Function, Method};
        let s = str::to_owned;
        assert_eq!(
            names(
                "rust",
                "struct A {\n  x: u8,\n}\nimpl A {\n  fn get(&self) -> u8 {\n    self.x\n  }\n}\n"
            ),
            [(s("A"), Class, 1, 3), (s("get"), Method, 5, 7)]
        );
        assert_eq!(
            names("c", "// note\nstatic int\nwidth(void) {\n  return 42;\n}\n"),
            [(s("width"), Function, 2, 5)]
        );
        assert_eq!(
            names("python", "@decorated\ndef f():\n    return 1\n"),
            [(s("f"), Function, 1, 3)]
        );
        assert_eq!(
            names("javascript", "export const run = () => {\n  go()\n}\n"),
            [(s("run"), Function, 1, 3)]
        );
    }

    #[cfg(feature = "lang-core")]
    #[test]
    fn lone_carriage_returns_end_lines_here_too() {
        assert_eq!(
            names("c", "int a;\rint f(void) {\r  return 1;\r}\r"),
            [("f".to_owned(), SymbolKind::Function, 2, 4)]
        );
    }

    #[cfg(feature = "lang-core")]
    #[test]
    fn uses_are_named_once() {
        let found = of("rust", "fn a() { b(); b(); c.d(); }\n");
        assert_eq!(found.references, ["b", "d"]);
    }

    #[cfg(feature = "code")]
    #[test]
    fn each_language_finds_a_definition() {
        for (language, text, name) in [
            ("rust", "const LIMIT: u8 = 1;\n", "LIMIT"),
            ("python", "class A:\n    pass\n", "A"),
            ("javascript", "function run() {}\n", "run"),
            ("typescript", "interface Shape { x: number }\n", "Shape"),
            ("tsx", "export function App() { return <div/>; }\n", "App"),
            ("go", "package a\n\nfunc Run() {}\n", "Run"),
            ("java", "class A { void run() {} }\n", "run"),
            ("c", "int run(void) { return 1; }\n", "run"),
            ("c++", "class A { int run(); };\n", "A"),
            ("ruby", "class A\n  def run\n  end\nend\n", "run"),
            ("php", "<?php\nfunction run() {}\n", "run"),
            ("bash", "run() {\n  true\n}\n", "run"),
            ("lua", "function run() end\n", "run"),
        ] {
            let found = of(language, text);
            assert!(
                found.symbols.iter().any(|symbol| symbol.name == name),
                "{language}: {found:?}"
            );
        }
    }
}
