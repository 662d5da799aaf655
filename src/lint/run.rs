//! `lint` as a whole: gather the facts, apply the rules, sort the report.

use std::cmp::Ordering;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{DirectoryFacts, Facts, SchemaFacts};
use super::gather::Wanted;
use super::look::settled;
use super::registry::{Check, RULES, Rule, Severity, Sink, nearest_code, rule};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::page::Columns;
use crate::store::StoreOptions;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Its stable code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where, relative to the root of the wiki, with `/`; `.` is the root. Bytes of a name that
    /// are not UTF-8 are written `\xNN`.
    pub path: String,
    /// Line of the fault, from 1, where there is one to name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// First column of the fault on its line, from 1, in UTF-16 code units, where it is a part of
    /// the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The column behind the last one of the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
}

impl Diagnostic {
    /// Where on its line the fault is.
    pub fn columns(&self) -> Option<Columns> {
        let (start, end) = self.column.zip(self.end_column)?;
        Some(Columns { start, end })
    }
}

/// What to look for. The default is everything but the rules that must be asked for.
#[derive(Debug, Clone, Default)]
pub struct LintOptions {
    /// Also apply the rules that must be asked for.
    pub all: bool,
    /// Report only these codes, in any case; none means all. A code that must be asked for is
    /// asked for so.
    pub only: Vec<String>,
    /// Do not report these codes.
    pub skip: Vec<String>,
    /// Report only faults at or below these: paths of the wiki, page ids, folders of page ids,
    /// source ids; none means all. The whole wiki is read all the same.
    pub paths: Vec<String>,
}

/// What lint found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LintReport {
    /// The faults, by path, line (faults of a file as a whole last), code and message, compared
    /// by UTF-16 code units.
    pub diagnostics: Vec<Diagnostic>,
    /// How many are errors.
    pub error_count: u64,
    /// How many are warnings.
    pub warning_count: u64,
    /// How many files were read.
    pub files_examined: u64,
}

impl LintReport {
    /// Whether nothing forbids going on: no errors, and no warnings where those are denied.
    pub fn passes(&self, deny_warnings: bool) -> bool {
        self.error_count == 0 && !(deny_warnings && self.warning_count > 0)
    }
}

/// Checks the wiki at `root`. Changes nothing, and works where there is no wiki.
///
/// # Errors
/// `INVALID_ARGUMENT` for a code that does not exist or a path that names nothing,
/// `UNSAFE_FILESYSTEM` where the root cannot be looked at, `ABORTED`. What is wrong with the wiki
/// is never an error but in the report.
pub fn run(root: &Path, ctx: &Context, options: &LintOptions) -> Result<LintReport> {
    run_with_store(root, ctx, options, &StoreOptions::default())
}

/// [`run`], opening the store in another way.
///
/// # Errors
/// As [`run`].
pub fn run_with_store(
    root: &Path,
    ctx: &Context,
    options: &LintOptions,
    store: &StoreOptions,
) -> Result<LintReport> {
    let rules = chosen(options)?;
    let wants = |code: &str| rules.iter().any(|rule| rule.code.as_str() == code);
    let wanted = Wanted {
        anchors: wants("BROKEN_FRAGMENT"),
        ..Wanted::default()
    };
    let (mut diagnostics, facts) =
        settled(root, ctx, wanted, store, &|facts| apply(&rules, facts))?;
    if !options.paths.is_empty() {
        let paths = options
            .paths
            .iter()
            .map(|path| named_path(path, &facts, &diagnostics))
            .collect::<Result<Vec<_>>>()?;
        diagnostics.retain(|found| paths.iter().any(|path| is_within(&found.path, path)));
    }
    let count = |severity| {
        diagnostics
            .iter()
            .filter(|found| found.severity == severity)
            .count() as u64
    };
    Ok(LintReport {
        error_count: count(Severity::Error),
        warning_count: count(Severity::Warning),
        files_examined: facts.files_examined,
        diagnostics,
    })
}

/// The rules that the options ask for, in registry order.
fn chosen(options: &LintOptions) -> Result<Vec<&'static Rule>> {
    for code in options.only.iter().chain(&options.skip) {
        if rule(code).is_none() {
            return Err(unknown_code(code));
        }
    }
    let named = |list: &[String], rule: &Rule| {
        let mut list = list.iter();
        list.any(|code| code.eq_ignore_ascii_case(rule.code.as_str()))
    };
    Ok(RULES
        .iter()
        .copied()
        .filter(|rule| {
            let asked = if options.only.is_empty() {
                options.all || !rule.on_request
            } else {
                named(&options.only, rule)
            };
            asked && !named(&options.skip, rule)
        })
        .collect())
}

/// Refuses what is no code of a diagnostic.
fn unknown_code(code: &str) -> Error {
    let message = format!("there is no diagnostic with the code {code:?}");
    let all = "`llmwiki explain` lists the codes";
    let hint = match nearest_code(code) {
        Some(meant) => format!("did you mean {meant}? {all}"),
        None => all.to_owned(),
    };
    Error::new(ErrorCode::InvalidArgument, message).with_hint(hint)
}

/// The path of the wiki that is meant by a path, the id of a page or source, or a folder of page
/// ids.
fn named_path(given: &str, facts: &Facts, found: &[Diagnostic]) -> Result<String> {
    let plain = plain(given);
    let candidates = [
        plain.to_owned(),
        format!("pages/{plain}.md"),
        format!("pages/{plain}"),
        format!("sources/{plain}"),
    ];
    let names_something = |path: &String| {
        facts.has_path(path) || found.iter().any(|found| is_within(&found.path, path))
    };
    if let Some(path) = candidates.into_iter().find(names_something) {
        return Ok(path);
    }
    let message = format!("there is nothing at {given:?} in the wiki");
    let known: Vec<&str> = facts.pages.iter().map(|page| page.path.as_str()).collect();
    let wanted = match plain.strip_prefix("pages/") {
        Some(_) => plain.to_owned(),
        None => format!("pages/{plain}"),
    };
    let near = similar::get_close_matches(wanted.as_str(), &known, 1, 0.7).pop();
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => {
            "name a page, a source, or a path as lint prints it, for example pages/guides".into()
        }
    };
    Err(Error::new(ErrorCode::InvalidArgument, message).with_hint(hint))
}

/// What `rules` find in `facts`, in the order of the report.
pub(crate) fn apply(rules: &[&Rule], facts: &Facts) -> Vec<Diagnostic> {
    let mut sink = Sink::default();
    for rule in rules {
        match rule.check {
            Check::Source(check) => {
                facts
                    .sources
                    .iter()
                    .for_each(|source| check(source, &mut sink));
            }
            Check::Page(check) => {
                facts
                    .pages
                    .iter()
                    .for_each(|page| check(page, facts, &mut sink));
            }
            Check::Wiki(check) => check(facts, &mut sink),
        }
    }
    let mut found = sink.into_diagnostics();
    found.sort_by(report_order);
    found
}

fn report_order(a: &Diagnostic, b: &Diagnostic) -> Ordering {
    let line = |found: &Diagnostic| (found.line.is_none(), found.line);
    cmp_utf16(&a.path, &b.path)
        .then_with(|| line(a).cmp(&line(b)))
        .then_with(|| a.code.cmp(b.code))
        .then_with(|| cmp_utf16(&a.message, &b.message))
}

/// Byte order differs from the order of UTF-16 code units only above U+FFFF.
fn cmp_utf16(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() {
        return a.cmp(b);
    }
    a.encode_utf16().cmp(b.encode_utf16())
}

/// A path as diagnostics have it.
fn plain(path: &str) -> &str {
    path.strip_prefix("./")
        .unwrap_or(path)
        .trim_end_matches('/')
}

impl Facts {
    /// Whether something of the wiki is at or below this path.
    fn has_path(&self, path: &str) -> bool {
        let is_here = |known: &str| is_within(known, path);
        self.pages.iter().any(|page| is_here(&page.path))
            || self.entries.iter().any(|entry| is_here(&entry.path))
            // What lies in a source is not told one by one.
            || self
                .sources
                .iter()
                .any(|source| is_here(&source.path) || is_within(plain(path), &source.path))
            || (self.schema != SchemaFacts::Missing && is_here("schema.md"))
            || [
                ("pages", self.pages_directory),
                ("sources", self.sources_directory),
                (".index", self.index.directory),
                (".store", self.store.directory),
            ]
            .into_iter()
            .any(|(name, directory)| directory != DirectoryFacts::Missing && is_here(name))
    }
}

/// Whether `path` is `wanted` or stands below it.
fn is_within(path: &str, wanted: &str) -> bool {
    let wanted = plain(wanted);
    wanted.is_empty()
        || wanted == "."
        || path
            .strip_prefix(wanted)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::testing::{page, source, wiki};

    #[test]
    fn only_and_skip_choose_rules_and_refuse_unknown_codes() {
        let codes = |options: &LintOptions| {
            chosen(options).map(|rules| {
                rules
                    .iter()
                    .map(|rule| rule.code.as_str())
                    .collect::<Vec<_>>()
            })
        };
        let only = LintOptions {
            only: vec!["ORPHAN_PAGE".to_owned()],
            ..LintOptions::default()
        };
        assert_eq!(codes(&only).unwrap(), ["ORPHAN_PAGE"]);
        let skip = LintOptions {
            skip: vec!["orphan_page".to_owned()],
            ..LintOptions::default()
        };
        assert!(!codes(&skip).unwrap().contains(&"ORPHAN_PAGE"));
        let wrong = LintOptions {
            skip: vec!["ORPHAN".to_owned()],
            ..LintOptions::default()
        };
        let error = codes(&wrong).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().contains("\"ORPHAN\""), "{error}");
        assert!(
            error.hint().unwrap().contains("mean ORPHAN_PAGE?"),
            "{error:?}"
        );
    }

    #[test]
    fn a_path_is_known_if_anything_is_at_or_below_it() {
        let facts = wiki([page("guides/setup", "A", "x")], [source(b"abc")]);
        let content = format!("{}/content", facts.sources[0].path);
        for path in [
            "pages/guides/setup.md",
            "./pages/guides/",
            "pages",
            ".",
            "sources",
            "schema.md",
            &content,
        ] {
            assert!(facts.has_path(path), "{path}");
        }
        for path in [
            "pages/guide",
            "pages/guides/setup",
            "guides/setup",
            ".store",
            "x",
        ] {
            assert!(!facts.has_path(path), "{path}");
        }
    }

    #[test]
    fn a_page_a_source_and_a_folder_are_named_by_path_or_id() {
        let facts = wiki([page("guides/setup", "A", "x")], [source(b"abc")]);
        let source = facts.sources[0].path.clone();
        let id = source.trim_start_matches("sources/");
        for (given, path) in [
            ("pages/guides/setup.md", "pages/guides/setup.md"),
            ("guides/setup", "pages/guides/setup.md"),
            ("guides/setup.md", "pages/guides/setup.md"),
            ("./guides/", "pages/guides"),
            ("pages", "pages"),
            (id, &source),
        ] {
            assert_eq!(named_path(given, &facts, &[]).unwrap(), path, "{given}");
        }
        for (given, hint) in [
            ("guides/setpu", "did you mean pages/guides/setup.md?"),
            ("pages/guides/setup", "pages/guides/setup.md"),
            ("x", "name a page"),
        ] {
            let error = named_path(given, &facts, &[]).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArgument);
            assert!(error.message().contains(given), "{error}");
            assert!(error.hint().unwrap().contains(hint), "{given}: {error:?}");
        }
    }

    #[test]
    fn paths_match_whole_components() {
        assert!(is_within("pages/a/b.md", "pages/a"));
        assert!(is_within("pages/a/b.md", "./pages/"));
        assert!(is_within("pages/a.md", "."));
        assert!(!is_within("pages/ab.md", "pages/a"));
    }
}
