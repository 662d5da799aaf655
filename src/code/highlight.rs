//! Which parts of a text are what, for a reader's eye: keywords, strings, comments. Queries and
//! grammars are those of tree-sitter; a language without one, and a text that is too large, stays
//! plain.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use tree_sitter_highlight::{HighlightConfiguration, HighlightEvent, Highlighter};

use super::language::Language;

/// What is larger stays plain: colours are not worth the wait.
const MAX_BYTES: usize = 256 << 10;

/// The kinds of parts that are told apart; each the name of a capture, or the beginning of one.
const KINDS: [&str; 14] = [
    "attribute",
    "comment",
    "constant",
    "constructor",
    "function",
    "keyword",
    "label",
    "module",
    "number",
    "operator",
    "property",
    "string",
    "tag",
    "type",
];

struct Colours {
    language: &'static str,
    grammar: fn() -> tree_sitter::Language,
    queries: &'static [&'static str],
    compiled: OnceLock<Option<HighlightConfiguration>>,
}

macro_rules! colours {
    ($($name:literal $grammar:expr, [$($query:expr),+];)+) => {
        vec![$(Colours {
            language: $name,
            grammar: || $grammar.into(),
            queries: &[$($query),+],
            compiled: OnceLock::new(),
        }),+]
    };
}

static CORE: LazyLock<Vec<Colours>> = LazyLock::new(|| {
    colours! {
        "rust" tree_sitter_rust::LANGUAGE, [tree_sitter_rust::HIGHLIGHTS_QUERY];
        "python" tree_sitter_python::LANGUAGE, [tree_sitter_python::HIGHLIGHTS_QUERY];
        "javascript" tree_sitter_javascript::LANGUAGE,
            [tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_javascript::JSX_HIGHLIGHT_QUERY];
        "typescript" tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            [tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_typescript::HIGHLIGHTS_QUERY];
        "tsx" tree_sitter_typescript::LANGUAGE_TSX,
            [tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_javascript::JSX_HIGHLIGHT_QUERY,
                tree_sitter_typescript::HIGHLIGHTS_QUERY];
        "go" tree_sitter_go::LANGUAGE, [tree_sitter_go::HIGHLIGHTS_QUERY];
        "java" tree_sitter_java::LANGUAGE, [tree_sitter_java::HIGHLIGHTS_QUERY];
        "c" tree_sitter_c::LANGUAGE, [tree_sitter_c::HIGHLIGHT_QUERY];
    }
});

#[cfg(feature = "lang-more")]
static MORE: LazyLock<Vec<Colours>> = LazyLock::new(|| {
    colours! {
        "c++" tree_sitter_cpp::LANGUAGE,
            [tree_sitter_c::HIGHLIGHT_QUERY, tree_sitter_cpp::HIGHLIGHT_QUERY];
        "ruby" tree_sitter_ruby::LANGUAGE, [tree_sitter_ruby::HIGHLIGHTS_QUERY];
        "php" tree_sitter_php::LANGUAGE_PHP, [tree_sitter_php::HIGHLIGHTS_QUERY];
        "bash" tree_sitter_bash::LANGUAGE, [tree_sitter_bash::HIGHLIGHT_QUERY];
        "lua" tree_sitter_lua::LANGUAGE, [tree_sitter_lua::HIGHLIGHTS_QUERY];
    }
});

fn all() -> impl Iterator<Item = &'static Colours> {
    #[cfg(feature = "lang-more")]
    return CORE.iter().chain(MORE.iter());
    #[cfg(not(feature = "lang-more"))]
    CORE.iter()
}

impl Colours {
    /// A query that does not fit its grammar is a fault of this program, which the tests find.
    fn configuration(&self) -> Option<&HighlightConfiguration> {
        self.compiled
            .get_or_init(|| {
                let (language, query) = ((self.grammar)(), self.queries.join("\n"));
                let mut made = HighlightConfiguration::new(language, self.language, &query, "", "")
                    .inspect_err(|error| tracing::error!(%error, self.language, "highlight query"))
                    .ok()?;
                made.configure(&KINDS);
                Some(made)
            })
            .as_ref()
    }
}

thread_local! {
    static HIGHLIGHTER: RefCell<Highlighter> = RefCell::new(Highlighter::new());
}

/// The parts of a text that are of some kind, in order and without overlap; what lies between is
/// plain. A kind is one lower-case word, such as `keyword`.
pub fn highlight(language: &Language, text: &str) -> Vec<(Range<usize>, &'static str)> {
    if text.len() > MAX_BYTES {
        return Vec::new();
    }
    let known = all().find(|it| it.language == language.name);
    let Some(configuration) = known.and_then(Colours::configuration) else {
        return Vec::new();
    };
    HIGHLIGHTER.with_borrow_mut(|highlighter| {
        let bytes = text.as_bytes();
        let Ok(events) = highlighter.highlight(configuration, bytes, None, None, |_| None) else {
            return Vec::new();
        };
        let mut found: Vec<(Range<usize>, &'static str)> = Vec::new();
        let mut open = Vec::new();
        for event in events {
            match event {
                Ok(HighlightEvent::HighlightStart(kind)) => open.push(KINDS[kind.0]),
                Ok(HighlightEvent::HighlightEnd) => {
                    open.pop();
                }
                Ok(HighlightEvent::Source { start, end }) => {
                    let is_whole = text.is_char_boundary(start) && text.is_char_boundary(end);
                    if let Some(kind) = open.last().filter(|_| start < end && is_whole) {
                        found.push((start..end, kind));
                    }
                }
                // What was found so far stands.
                Err(_) => break,
            }
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_fits_its_grammar_and_its_language_is_known() {
        for colours in all() {
            assert!(colours.configuration().is_some(), "{}", colours.language);
            let language = Language::named(colours.language);
            assert!(language.has_symbols(), "{}", colours.language);
        }
    }

    #[test]
    fn parts_are_in_order_and_of_the_kind_that_they_are() {
        let text = "// caf\u{e9}\nfn main() { let x = \"a\"; }\n";
        let parts = highlight(Language::named("rust"), text);
        let of = |kind: &str| -> Vec<&str> {
            let mine = parts.iter().filter(|(_, it)| *it == kind);
            mine.map(|(range, _)| &text[range.clone()]).collect()
        };
        assert!(
            of("comment").concat().starts_with("// caf\u{e9}"),
            "{parts:?}"
        );
        assert_eq!(of("keyword"), ["fn", "let"]);
        assert_eq!(of("string"), ["\"a\""]);
        assert!(parts.windows(2).all(|two| two[0].0.end <= two[1].0.start));
        assert!(highlight(Language::named("plain"), text).is_empty());
        assert!(highlight(Language::named("rust"), &text.repeat(9000)).is_empty());
    }
}
