//! tree-sitter: the grammars, and the tag queries that say which nodes define and use names.
//! Only this file and `highlight` name tree-sitter.

use std::sync::{LazyLock, OnceLock};

use tree_sitter::{Node, Parser, Query, QueryCursor, StreamingIterator};

use super::outline::{Outline, Symbol, SymbolKind};
use super::text::Lines;

/// Parsing takes some fifty times as long as reading; what is larger is cut by lines.
const MAX_PARSED_BYTES: usize = 1 << 20;
/// Patterns in progress at a time; beyond it matches are lost, and time would be.
const MATCH_LIMIT: u32 = 1024;

/// A grammar with its query, which is compiled at first use.
pub(super) struct Grammar {
    name: &'static str,
    language: fn() -> tree_sitter::Language,
    queries: &'static [&'static str],
    compiled: OnceLock<Option<Tags>>,
}

/// A compiled query.
struct Tags {
    language: tree_sitter::Language,
    query: Query,
    roles: Vec<Role>,
}

#[derive(Clone, Copy)]
enum Role {
    Name,
    Defines(SymbolKind),
    Uses,
    Other,
}

fn grammar(
    name: &'static str,
    language: fn() -> tree_sitter::Language,
    queries: &'static [&'static str],
) -> Grammar {
    Grammar {
        name,
        language,
        queries,
        compiled: OnceLock::new(),
    }
}

const RUST_MORE: &str = "
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.constant
(function_signature_item name: (identifier) @name) @definition.method
(type_identifier) @name @reference.type
";
const PYTHON_MORE: &str = "
(import_from_statement name: (dotted_name (identifier) @name)) @reference.type
(class_definition superclasses: (argument_list (identifier) @name)) @reference.type
(attribute attribute: (identifier) @name) @reference.type
";
const SCRIPT_MORE: &str = "
(import_specifier name: (identifier) @name) @reference.type
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.constant)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name)) @definition.constant))
";
const TYPES_MORE: &str = "
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.class
(type_identifier) @name @reference.type
";
const GO_MORE: &str = "
(const_spec name: (identifier) @name) @definition.constant
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.constant))
";
const JAVA_MORE: &str = "
(constructor_declaration name: (identifier) @name) @definition.method
(enum_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(type_identifier) @name @reference.type
";
const C_MORE: &str = "
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(call_expression function: (identifier) @name) @reference.call
(type_identifier) @name @reference.type
";

#[cfg(feature = "lang-more")]
const BASH: &str = "
(function_definition name: (word) @name) @definition.function
(command name: (command_name (word) @name)) @reference.call
";
#[cfg(feature = "lang-more")]
const CPP_MORE: &str = "
(namespace_definition name: (namespace_identifier) @name) @definition.module
";

static GRAMMARS: LazyLock<Vec<Grammar>> = LazyLock::new(|| {
    vec![
        grammar(
            "rust",
            || tree_sitter_rust::LANGUAGE.into(),
            &[tree_sitter_rust::TAGS_QUERY, RUST_MORE],
        ),
        grammar(
            "python",
            || tree_sitter_python::LANGUAGE.into(),
            &[tree_sitter_python::TAGS_QUERY, PYTHON_MORE],
        ),
        grammar(
            "javascript",
            || tree_sitter_javascript::LANGUAGE.into(),
            &[tree_sitter_javascript::TAGS_QUERY, SCRIPT_MORE],
        ),
        grammar(
            "typescript",
            || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            &[
                tree_sitter_javascript::TAGS_QUERY,
                tree_sitter_typescript::TAGS_QUERY,
                SCRIPT_MORE,
                TYPES_MORE,
            ],
        ),
        grammar(
            "tsx",
            || tree_sitter_typescript::LANGUAGE_TSX.into(),
            &[
                tree_sitter_javascript::TAGS_QUERY,
                tree_sitter_typescript::TAGS_QUERY,
                SCRIPT_MORE,
                TYPES_MORE,
            ],
        ),
        grammar(
            "go",
            || tree_sitter_go::LANGUAGE.into(),
            &[tree_sitter_go::TAGS_QUERY, GO_MORE],
        ),
        grammar(
            "java",
            || tree_sitter_java::LANGUAGE.into(),
            &[tree_sitter_java::TAGS_QUERY, JAVA_MORE],
        ),
        grammar(
            "c",
            || tree_sitter_c::LANGUAGE.into(),
            &[tree_sitter_c::TAGS_QUERY, C_MORE],
        ),
        #[cfg(feature = "lang-more")]
        grammar(
            "c++",
            || tree_sitter_cpp::LANGUAGE.into(),
            &[tree_sitter_cpp::TAGS_QUERY, C_MORE, CPP_MORE],
        ),
        #[cfg(feature = "lang-more")]
        grammar(
            "ruby",
            || tree_sitter_ruby::LANGUAGE.into(),
            &[tree_sitter_ruby::TAGS_QUERY],
        ),
        #[cfg(feature = "lang-more")]
        grammar(
            "php",
            || tree_sitter_php::LANGUAGE_PHP.into(),
            &[tree_sitter_php::TAGS_QUERY],
        ),
        #[cfg(feature = "lang-more")]
        grammar("bash", || tree_sitter_bash::LANGUAGE.into(), &[BASH]),
        #[cfg(feature = "lang-more")]
        grammar(
            "lua",
            || tree_sitter_lua::LANGUAGE.into(),
            &[tree_sitter_lua::TAGS_QUERY],
        ),
    ]
});

/// The grammar of a language.
pub(super) fn of(language: &str) -> Option<&'static Grammar> {
    GRAMMARS.iter().find(|grammar| grammar.name == language)
}

impl Grammar {
    /// A query that does not fit its grammar is a fault of this program, which the tests find; a
    /// file is cut by lines then.
    fn tags(&self) -> Option<&Tags> {
        self.compiled
            .get_or_init(|| {
                let language = (self.language)();
                let query = Query::new(&language, &self.queries.concat())
                    .inspect_err(|error| tracing::error!(%error, self.name, "tag query"))
                    .ok()?;
                let roles = query
                    .capture_names()
                    .iter()
                    .map(|name| role(name))
                    .collect();
                Some(Tags {
                    language,
                    query,
                    roles,
                })
            })
            .as_ref()
    }

    pub(super) fn outline(&self, text: &str, lines: &Lines<'_>) -> Outline {
        if text.len() > MAX_PARSED_BYTES {
            return Outline::default();
        }
        self.tags()
            .and_then(|tags| tags.outline(text, lines))
            .unwrap_or_default()
    }
}

fn role(capture: &str) -> Role {
    match capture {
        "name" => Role::Name,
        "definition.function" => Role::Defines(SymbolKind::Function),
        "definition.method" => Role::Defines(SymbolKind::Method),
        "definition.class" => Role::Defines(SymbolKind::Class),
        "definition.interface" => Role::Defines(SymbolKind::Interface),
        "definition.type" => Role::Defines(SymbolKind::Type),
        "definition.module" => Role::Defines(SymbolKind::Module),
        "definition.constant" => Role::Defines(SymbolKind::Constant),
        "definition.macro" => Role::Defines(SymbolKind::Macro),
        "definition.field" => Role::Defines(SymbolKind::Field),
        _ if capture.starts_with("reference.") => Role::Uses,
        _ => Role::Other,
    }
}

thread_local! {
    static PARSER: std::cell::RefCell<Parser> = std::cell::RefCell::new(Parser::new());
}

/// A definition with what is needed to tell it from others.
struct Found {
    start: usize,
    end: usize,
    name_at: usize,
    name: String,
    kind: SymbolKind,
}

impl Tags {
    fn outline(&self, text: &str, lines: &Lines<'_>) -> Option<Outline> {
        let tree = PARSER.with_borrow_mut(|parser| {
            parser.set_language(&self.language).ok()?;
            parser.parse(text, None)
        })?;
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MATCH_LIMIT);
        let mut found: Vec<Found> = Vec::new();
        let mut references: Vec<&str> = Vec::new();
        let mut matches = cursor.matches(&self.query, tree.root_node(), text.as_bytes());
        while let Some(matched) = matches.next() {
            let mut name: Option<Node<'_>> = None;
            let mut defined = None;
            let mut uses = false;
            for capture in matched.captures() {
                match self.roles.get(capture.index as usize) {
                    Some(Role::Name) => name = Some(capture.node),
                    Some(Role::Defines(kind)) => defined = Some((*kind, capture.node)),
                    Some(Role::Uses) => uses = true,
                    _ => {}
                }
            }
            let Some((name, written)) =
                name.and_then(|name| Some((name, text.get(name.byte_range())?)))
            else {
                continue;
            };
            if let Some((kind, node)) = defined {
                let whole = whole(node);
                found.push(Found {
                    start: whole.start_byte(),
                    end: whole.end_byte(),
                    name_at: name.start_byte(),
                    name: written.to_owned(),
                    kind,
                });
            } else if uses {
                references.push(written);
            }
        }
        // Two patterns may see one definition; the method is then the better word, and the
        // constant the worse.
        found.sort_by(|a, b| {
            (a.name_at, rank(a.kind), b.end).cmp(&(b.name_at, rank(b.kind), a.end))
        });
        found.dedup_by_key(|found| found.name_at);
        found.sort_by(|a, b| (a.start, b.end, a.name_at).cmp(&(b.start, a.end, b.name_at)));
        references.sort_unstable();
        references.dedup();
        Some(Outline {
            symbols: found
                .into_iter()
                .map(|found| Symbol {
                    start_line: lines.line_of(found.start),
                    end_line: lines.line_of(found.end.saturating_sub(1).max(found.start)),
                    name: found.name,
                    kind: found.kind,
                })
                .collect(),
            references: references.into_iter().map(str::to_owned).collect(),
        })
    }
}

fn rank(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Method => 0,
        SymbolKind::Constant => 2,
        _ => 1,
    }
}

/// The definition as a reader sees it: some queries name a part of it only.
fn whole(mut node: Node<'_>) -> Node<'_> {
    while let Some(parent) = node.parent() {
        let is_wrapper = matches!(
            parent.kind(),
            "function_definition"
                | "pointer_declarator"
                | "reference_declarator"
                | "parenthesized_declarator"
                | "template_declaration"
                | "type_definition"
                | "type_declaration"
                | "decorated_definition"
                | "export_statement"
                | "lexical_declaration"
                | "variable_declaration"
                | "expression_statement"
        ) || parent.kind() == "declaration" && parent.named_child_count() <= 3;
        // A nested function's parent is a block, never the definition around it.
        if !is_wrapper {
            break;
        }
        node = parent;
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_fits_its_grammar() {
        for grammar in GRAMMARS.iter() {
            assert!(grammar.tags().is_some(), "{}", grammar.name);
        }
    }
}
