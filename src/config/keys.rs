//! The keys of `config.toml`, once: name, range, meaning. `LLMWIKI_<KEY>` and `--set KEY=VALUE`
//! are the same table read from text. Keys are spelled in `snake_case` or `camelCase`.

use std::cell::Cell;
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::Config;
use super::forges::{self, Forge, NamedPlace};
use super::models::{self, Models};
use crate::error::{Error, ErrorCode, Result};
use crate::search::Analysis;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole number in a range, both ends included.
    Number { least: u64, most: u64 },
    /// Text that is not blank.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table that is read by itself; only for files.
    Part,
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name in `snake_case`.
    pub name: &'static str,
    /// What it means, with its default.
    pub meaning: &'static str,
    kind: Kind,
}

/// Largest number that a TOML file can hold.
const MOST: u64 = i64::MAX as u64;

/// Every key, in the order of the reference page.
pub const KEYS: &[Key] = &[
    Key {
        name: "root",
        meaning: "name of the wiki's directory, looked for upward, or its path (.llmwiki)",
        kind: Kind::Text,
    },
    Key {
        name: "max_source_bytes",
        meaning: "largest source in bytes, at least 1 (2097152)",
        kind: Kind::Number {
            least: 1,
            most: MOST,
        },
    },
    Key {
        name: "max_page_bytes",
        meaning: "largest page file in bytes, at least 1 (524288)",
        kind: Kind::Number {
            least: 1,
            most: MOST,
        },
    },
    Key {
        name: "max_results",
        meaning: "number of search hits, 1 to 100 (20)",
        kind: Kind::Number {
            least: 1,
            most: 100,
        },
    },
    Key {
        name: "max_snippet_bytes",
        meaning: "largest snippet in bytes, 64 to 16384 (1200)",
        kind: Kind::Number {
            least: 64,
            most: 16_384,
        },
    },
    Key {
        name: "command_diagnostic_limit",
        meaning: "findings that the console prints before it counts the rest, 1 to 100 (20)",
        kind: Kind::Number {
            least: 1,
            most: 100,
        },
    },
    Key {
        name: "analysis",
        meaning: "how text becomes search terms, standard or classic (standard)",
        kind: Kind::Word(&["standard", "classic"]),
    },
    Key {
        name: "language",
        meaning: "kept for later, no effect yet: the language of each page is detected",
        kind: Kind::Text,
    },
    Key {
        name: "models",
        meaning: "language models: models.NAME with command, or url and model; models.default",
        kind: Kind::Part,
    },
    Key {
        name: "forges",
        meaning: "Gitea and Forgejo servers that hold other projects: forges.NAME with url; token_env, \
                  ca_file, timeout_seconds (20), connections (8)",
        kind: Kind::Part,
    },
    Key {
        name: "projects",
        meaning: "other projects: projects.NAME with path, or with owner and one of forge, gitea; repo, \
                  branch",
        kind: Kind::Part,
    },
];

impl Key {
    /// Name of the environment variable.
    pub fn variable(&self) -> String {
        format!("LLMWIKI_{}", self.name.to_ascii_uppercase())
    }

    fn is_named(&self, name: &str) -> bool {
        self.name == name || camel_case(self.name) == name
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1);
        camel.push_str(&first.to_ascii_uppercase());
        camel.push_str(rest);
    }
    camel
}

/// Where a setting was read, for messages.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// `path:line`.
    File(String),
    /// A place that whoever reports the fault names.
    Told,
    Variable(String),
    Flag,
}

impl Origin {
    fn refuse(&self, message: &str) -> Error {
        let message = match self {
            Self::File(place) => format!("{place}: {message}"),
            Self::Variable(name) => format!("{name}: {message}"),
            Self::Flag => format!("--set: {message}"),
            Self::Told => message.to_owned(),
        };
        Error::new(ErrorCode::InvalidConfig, message)
    }
}

/// A value that was checked against its key.
#[derive(Debug, Clone)]
enum Value {
    Number(u64),
    Text(String),
    Models(Models),
    Forges(Vec<Forge>),
    Projects(Vec<(String, NamedPlace)>),
}

/// A key with its checked value.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    key: &'static Key,
    value: Value,
}

/// The key of this name.
pub(super) fn find(name: &str, origin: &Origin) -> Result<&'static Key> {
    KEYS.iter().find(|key| key.is_named(name)).ok_or_else(|| {
        let known: Vec<_> = KEYS.iter().map(|key| key.name).collect();
        origin
            .refuse(&format!("unknown key {name:?}"))
            .with_hint(format!("the known keys are {}", known.join(", ")))
    })
}

impl Setting {
    /// A setting given as text, by a variable or flag.
    pub(super) fn of_text(key: &'static Key, text: &str, origin: &Origin) -> Result<Self> {
        let value = match key.kind {
            Kind::Number { .. } => Value::Number(text.trim().parse().map_err(|_| {
                origin.refuse(&format!("{} takes a whole number, not {text:?}", key.name))
            })?),
            Kind::Text | Kind::Word(_) => Value::Text(text.to_owned()),
            Kind::Part => {
                return Err(origin.refuse(&format!("{} can only stand in a file", key.name)));
            }
        };
        Self::checked(key, value, origin)
    }

    fn of_toml(
        key: &'static Key,
        value: &DeValue<'_>,
        origin: &Origin,
        auth: &[(String, models::Key)],
    ) -> Result<Self> {
        let wrong = |wanted: &str| origin.refuse(&format!("{} takes {wanted}", key.name));
        let value = match (key.kind, value) {
            (Kind::Number { .. }, DeValue::Integer(number)) => {
                let digits = number.as_str();
                Value::Number(
                    u64::from_str_radix(digits, number.radix())
                        .map_err(|_| wrong("a whole number that is not negative"))?,
                )
            }
            (Kind::Number { .. }, _) => return Err(wrong("a whole number")),
            (Kind::Text | Kind::Word(_), DeValue::String(text)) => {
                Value::Text(text.clone().into_owned())
            }
            (Kind::Text | Kind::Word(_), _) => return Err(wrong("text in quotes")),
            (Kind::Part, value) => {
                let known = |name: &str| {
                    let found = auth.iter().find(|(known, _)| known == name);
                    found.map(|(_, key)| key.clone())
                };
                let refuse = |what: &str| origin.refuse(what);
                match key.name {
                    "models" => Value::Models(models::read(value, &known, &refuse)?),
                    "forges" => Value::Forges(forges::read_forges(value, &known, &refuse)?),
                    _ => Value::Projects(forges::read_projects(value, &refuse)?),
                }
            }
        };
        Self::checked(key, value, origin)
    }

    fn checked(key: &'static Key, value: Value, origin: &Origin) -> Result<Self> {
        let name = key.name;
        match (key.kind, &value) {
            (Kind::Number { least, most }, Value::Number(number))
                if !(least..=most).contains(number) =>
            {
                let range = if most == MOST {
                    format!("at least {least}")
                } else {
                    format!("{least} to {most}")
                };
                Err(origin.refuse(&format!("{name} is {number}, it must be {range}")))
            }
            (Kind::Text, Value::Text(text)) if text.trim().is_empty() => {
                Err(origin.refuse(&format!("{name} is blank")))
            }
            (Kind::Word(words), Value::Text(text)) if !words.contains(&text.as_str()) => {
                Err(origin.refuse(&format!(
                    "{name} is {text:?}, it must be {}",
                    words.join(" or ")
                )))
            }
            _ => Ok(Self { key, value }),
        }
    }

    /// The root, when this setting names one.
    pub(super) fn root(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) if self.key.name == "root" => Some(text),
            _ => None,
        }
    }

    /// Whether this setting names programs or addresses.
    pub(super) fn reaches_out(&self) -> bool {
        self.names_models() || self.names_others()
    }

    /// Whether this setting names models.
    pub(super) fn names_models(&self) -> bool {
        matches!(self.value, Value::Models(_))
    }

    /// Whether this setting names forges or other projects.
    pub(super) fn names_others(&self) -> bool {
        matches!(self.value, Value::Forges(_) | Value::Projects(_))
    }

    /// Puts the value where it belongs. The root is not part of it: it was found before.
    pub(super) fn apply(&self, config: &mut Config) {
        let limits = &mut config.limits;
        match (self.key.name, &self.value) {
            ("max_source_bytes", &Value::Number(number)) => limits.max_source_bytes = number,
            ("max_page_bytes", &Value::Number(number)) => limits.max_page_bytes = number,
            ("max_results", &Value::Number(number)) => limits.max_results = size(number),
            ("max_snippet_bytes", &Value::Number(number)) => {
                limits.max_snippet_bytes = size(number);
            }
            ("command_diagnostic_limit", &Value::Number(number)) => {
                limits.command_diagnostic_limit = size(number);
            }
            ("analysis", Value::Text(word)) => {
                // `checked` let only names of analyses pass.
                config.analysis = Analysis::parse(word).unwrap_or_default();
            }
            (_, Value::Models(models)) => config.models.merge(models.clone()),
            (_, Value::Forges(forges)) => config.others.forges.extend(forges.iter().cloned()),
            (_, Value::Projects(projects)) => {
                config.others.projects.extend(projects.iter().cloned());
            }
            ("language", Value::Text(language)) => config.language = Some(language.clone()),
            _ => {}
        }
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Reads a file; `path` is for messages.
pub(super) fn read(
    text: &str,
    path: &Path,
    auth: &[(String, models::Key)],
) -> Result<Vec<Setting>> {
    read_from(text, auth, &|line| {
        Origin::File(format!("{}:{line}", path.display()))
    })
}

/// What is wrong with a file: the line, and the fault without its place; none if nothing is.
pub(super) fn fault(text: &str) -> Option<(u32, Error)> {
    // Reading ends at the first fault, so the line asked for last is the one of the fault.
    let last = Cell::new(1);
    let read = read_from(text, &[], &|line| {
        last.set(line);
        Origin::Told
    });
    read.err().map(|error| (last.get(), error))
}

fn read_from(
    text: &str,
    auth: &[(String, models::Key)],
    place: &dyn Fn(u32) -> Origin,
) -> Result<Vec<Setting>> {
    let origin = |at: usize| {
        let before = text.get(..at).unwrap_or(text);
        let breaks = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX);
        place(breaks.saturating_add(1))
    };
    let table = DeTable::parse(text).map_err(|cause| {
        let at = cause.span().map_or(0, |span| span.start);
        origin(at).refuse(cause.message())
    })?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let mut settings: Vec<Setting> = Vec::new();
    for (name, value) in entries {
        let place = origin(name.span().start);
        let key = find(name.get_ref(), &place)?;
        if settings.iter().any(|setting| setting.key.name == key.name) {
            return Err(place.refuse(&format!("{} is given twice", key.name)));
        }
        settings.push(Setting::of_toml(key, value.get_ref(), &place, auth)?);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_the_same_key() {
        assert_eq!(camel_case("max_source_bytes"), "maxSourceBytes");
        for key in KEYS {
            assert!(key.is_named(key.name) && key.is_named(&camel_case(key.name)));
        }
    }

    #[test]
    fn a_fault_has_its_line_and_no_place_in_its_message() {
        assert!(fault("max_results = 5\n").is_none());
        // What names a key of the user's own file is no fault of this one.
        assert!(fault("[models.a]\nurl = \"http://localhost\"\nmodel = \"m\"\n").is_none());
        for (text, line, what) in [
            ("max_results = 5\nmax_result = 5\n", 2, "unknown key"),
            ("\n\nmax_results = 0\n", 3, "must be 1 to 100"),
            ("max_results = \n", 1, ""),
        ] {
            let (at, error) = fault(text).unwrap();
            assert_eq!(at, line, "{text:?}: {error}");
            assert!(error.message().contains(what), "{error}");
            assert!(!error.message().starts_with(':'), "{error}");
        }
    }

    #[test]
    fn every_key_but_the_parts_and_the_root_changes_the_config() {
        for key in KEYS {
            let text = match key.kind {
                Kind::Number { most, .. } => most.to_string(),
                Kind::Text => "de".to_owned(),
                Kind::Word(words) => words[words.len() - 1].to_owned(),
                Kind::Part => continue,
            };
            let mut config = Config::default();
            Setting::of_text(key, &text, &Origin::Flag)
                .unwrap()
                .apply(&mut config);
            assert_eq!(
                config == Config::default(),
                key.name == "root",
                "{}",
                key.name
            );
        }
    }

    #[test]
    fn the_ends_of_each_range_are_inside() {
        for key in KEYS {
            let Kind::Number { least, most } = key.kind else {
                continue;
            };
            let set = |number: u64| Setting::of_text(key, &number.to_string(), &Origin::Flag);
            assert!(set(least).is_ok() && set(most).is_ok(), "{}", key.name);
            assert!(
                set(least - 1).is_err() && set(most + 1).is_err(),
                "{}",
                key.name
            );
        }
    }
}
