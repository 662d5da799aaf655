//! `lint` as a whole: gather the facts, apply the rules, sort the report.

use std::cmp::Ordering;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::facts::{DirectoryFacts, Facts, SchemaFacts};
use super::gather::Wanted;
use super::look::settled;
use super::registry::{Check, RULES, Rule, Severity, Sink, rule};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
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
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
}

/// What to look for. The default is everything but the rules that must be asked for.
#[derive(Debug, Clone, Default)]
pub struct LintOptions {
    /// Also apply the rules that must be asked for.
    pub all: bool,
    /// Report only these codes; none means all. A code that must be asked for is asked for so.
    pub only: Vec<String>,
    /// Do not report these codes.
    pub skip: Vec<String>,
    /// Report only faults at or below these paths of the wiki; none means all. The whole wiki is
    /// read all the same.
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
/// `UNSAFE_FILESYSTEM` where the root cannot be looked at, `ABORTED`. What is wrong with the wiki is never an error but in the report.
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
    let (diagnostics, facts) = settled(root, ctx, wanted, store, &|facts| {
        let mut found = apply(&rules, facts);
        if !options.paths.is_empty() {
            found.retain(|found| {
                let paths = &mut options.paths.iter();
                paths.any(|path| is_within(&found.path, path))
            });
        }
        found
    })?;
    for path in &options.paths {
        if !facts.has_path(path) && !diagnostics.iter().any(|found| is_within(&found.path, path)) {
            let message = format!("there is nothing at {path:?} in the wiki");
            return Err(Error::new(ErrorCode::InvalidArgument, message).with_hint(
                "name a path as lint prints it, for example pages/guides or schema.md",
            ));
        }
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
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                format!("there is no diagnostic with the code {code:?}"),
            )
            .with_hint("`llmwiki explain` lists the codes"));
        }
    }
    let named = |list: &[String], rule: &Rule| list.iter().any(|code| code == rule.code.as_str());
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

/// What `rules` find in `facts`, in the order of the report.
pub(crate) fn apply(rules: &[&Rule], facts: &Facts) -> Vec<Diagnostic> {
    let mut sink = Sink::default();
    for rule in rules {
        match rule.check {
            Check::Entry(check) => facts
                .entries
                .iter()
                .for_each(|entry| check(entry, &mut sink)),
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
            skip: vec!["ORPHAN_PAGE".to_owned()],
            ..LintOptions::default()
        };
        assert!(!codes(&skip).unwrap().contains(&"ORPHAN_PAGE"));
        let wrong = LintOptions {
            skip: vec!["ORPHAN".to_owned()],
            ..LintOptions::default()
        };
        assert_eq!(
            codes(&wrong).unwrap_err().code(),
            ErrorCode::InvalidArgument
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
    fn paths_match_whole_components() {
        assert!(is_within("pages/a/b.md", "pages/a"));
        assert!(is_within("pages/a/b.md", "./pages/"));
        assert!(is_within("pages/a.md", "."));
        assert!(!is_within("pages/ab.md", "pages/a"));
    }
}
