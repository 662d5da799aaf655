//! What the vector families share: where the files are, and which deviations are on purpose.
//!
//! The folder is the one that `LLMWIKI_VECTORS` names, else `tests/data/vectors`. A file that
//! the folder lacks is skipped with a word. Deviations are data, in
//! `tests/data/vector_exceptions.toml`: a rule covers a case by its id, or by one of the kinds
//! that the family's harness finds in it, so that cases we have never seen pass for the same
//! reasons as those we have.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// The folder of the vectors.
pub fn folder() -> PathBuf {
    std::env::var_os("LLMWIKI_VECTORS").map_or_else(default_folder, PathBuf::from)
}

fn default_folder() -> PathBuf {
    data("vectors")
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Whether the vectors are our own copy, on which every rule must be of use.
pub fn is_default_folder() -> bool {
    folder() == default_folder()
}

/// Reads a file of the folder, none (said aloud) where it is not there.
pub fn load(file: &str) -> Option<Value> {
    let path = folder().join(file);
    if !path.exists() {
        eprintln!("skipped: no vectors at {}", path.display());
        return None;
    }
    let text = std::fs::read_to_string(&path).unwrap();
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The cases of a family's file; empty where it is not there.
pub fn cases(file: &str) -> Vec<Value> {
    load(file).map_or_else(Vec::new, |family| {
        family["cases"].as_array().unwrap().clone()
    })
}

/// The stable name of a case.
pub fn id(case: &Value) -> &str {
    case["id"].as_str().unwrap()
}

/// Whether a text of the case cannot exist in UTF-8 (keys that end in `Utf16`), at any depth.
pub fn has_lone_surrogates(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.ends_with("Utf16") || has_lone_surrogates(value)),
        Value::Array(items) => items.iter().any(has_lone_surrogates),
        _ => false,
    }
}

/// One deviation from the vectors on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Name of the rule.
    id: String,
    family: String,
    /// Cases that it covers by name.
    #[serde(default)]
    ids: Vec<String>,
    /// Kind of case that it covers, as the family's harness names it.
    when: Option<String>,
    /// Section and words of the design that ask for it.
    design: String,
    /// What we do instead.
    ours: String,
    /// Whether it is there for cases of other folders only; our own copy need not use it.
    #[serde(default)]
    unseen: bool,
}

/// The deviations of one family, and which of them were of use.
pub struct Exceptions {
    family: &'static str,
    rules: Vec<Rule>,
    used: RefCell<BTreeSet<String>>,
}

impl Exceptions {
    /// Reads the rules of a family.
    pub fn of(family: &'static str) -> Self {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(default)]
            rule: Vec<Rule>,
        }
        let text = std::fs::read_to_string(data("vector_exceptions.toml")).unwrap();
        let file: File = toml::from_str(&text).unwrap();
        let rules: Vec<Rule> = file
            .rule
            .into_iter()
            .filter(|rule| rule.family == family)
            .collect();
        for rule in &rules {
            assert!(
                !rule.design.is_empty() && !rule.ours.is_empty(),
                "{} says why",
                rule.id
            );
            assert!(
                !rule.ids.is_empty() || rule.when.is_some(),
                "{} covers something",
                rule.id
            );
        }
        Self {
            family,
            rules,
            used: RefCell::default(),
        }
    }

    /// Whether a rule covers this case, in which the harness found these kinds of deviation.
    /// The harness names a kind only if our outcome is what the rule says we do.
    pub fn covers(&self, case_id: &str, kinds: &[&str]) -> bool {
        let rule = self.rules.iter().find(|rule| {
            rule.ids.iter().any(|id| id == case_id)
                || rule
                    .when
                    .as_deref()
                    .is_some_and(|kind| kinds.contains(&kind))
        });
        if let Some(rule) = rule {
            self.used.borrow_mut().insert(rule.id.clone());
        }
        rule.is_some()
    }

    /// Fails for rules that no case of our own copy needed.
    pub fn check_all_used(&self) {
        if !is_default_folder() {
            return;
        }
        let used = self.used.borrow();
        let idle: Vec<&str> = self
            .rules
            .iter()
            .filter(|rule| !rule.unseen)
            .map(|rule| rule.id.as_str())
            .filter(|id| !used.contains(*id))
            .collect();
        assert!(
            idle.is_empty(),
            "rules of {} that no case needs: {idle:?}",
            self.family
        );
    }
}

/// Collects what went wrong, so that a run names all bad cases of a family at once.
#[derive(Default)]
pub struct Failures(Vec<String>);

impl Failures {
    /// Notes one bad case.
    pub fn note(&mut self, case_id: &str, what: impl std::fmt::Display) {
        self.0.push(format!("{case_id}: {what}"));
    }

    /// Fails if there was any.
    pub fn check(self) {
        let count = self.0.len();
        assert!(count == 0, "{count} cases differ:\n{}", self.0.join("\n"));
    }
}
