//! Language models of the configuration: `[models.NAME]` with `command` or `url` and `model`,
//! and `models.default`. A file inside a project counts only where the user trusts it.

use std::path::Path;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use crate::error::{Error, ErrorCode, Result};

/// How long a model may take when nobody says.
const TIMEOUT_SECONDS: u64 = 180;

/// A model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub kind: ModelKind,
    /// How long it may take.
    pub timeout: Duration,
}

/// How a model is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelKind {
    /// It always gives this text.
    Stub(String),
    /// A program with its arguments.
    Command(Vec<String>),
    /// An OpenAI-compatible server.
    Http(Endpoint),
}

/// An OpenAI-compatible server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Address up to and with the version, for example `https://api.openai.com/v1`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The key, where one is needed.
    pub key: Option<Key>,
}

/// A key, which is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Keeps a key.
    pub fn new(key: String) -> Self {
        Self(key)
    }

    /// The key itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Models of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Models {
    /// Name of the one that is used when nobody names one.
    pub default: Option<String>,
    /// All of them, later ones over earlier ones of the same name.
    pub known: Vec<Model>,
    /// The text that stands for any model's answer, for tests.
    pub stub: Option<String>,
    /// Whether a file inside the project names models and is not trusted.
    pub untrusted: bool,
}

impl Models {
    /// The model to use: the stub, else the one of this name, else the default; nothing where
    /// there is none.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a name that is not configured.
    pub fn choose(&self, name: Option<&str>) -> Result<Option<Model>> {
        if let Some(stub) = &self.stub {
            return Ok(Some(Model {
                name: "stub".to_owned(),
                kind: ModelKind::Stub(stub.clone()),
                timeout: Duration::from_secs(TIMEOUT_SECONDS),
            }));
        }
        let Some(name) = name.or(self.default.as_deref()) else {
            return Ok(None);
        };
        let found = self.known.iter().rev().find(|model| model.name == name);
        if let Some(model) = found.cloned().or_else(|| agent(name)) {
            return Ok(Some(model));
        }
        let mut names: Vec<&str> = self.known.iter().map(|model| model.name.as_str()).collect();
        names.extend(AGENTS.iter().map(|(name, _)| *name));
        let error = Error::new(
            ErrorCode::InvalidArgument,
            format!("there is no model {name:?}"),
        );
        Err(if self.untrusted {
            error
                .with_hint("the wiki's config.toml names models; `llmwiki trust` lets them be used")
        } else {
            error.with_hint(format!("there are {}", names.join(", ")))
        })
    }

    /// Why there is no model, and what could be done.
    pub fn why_none(&self) -> String {
        if self.untrusted {
            return "no model was used: the wiki's config.toml names some and is not trusted (`llmwiki trust`)"
                .to_owned();
        }
        let found = agents_on_path();
        if found.is_empty() {
            "no model was used: none is configured".to_owned()
        } else {
            format!(
                "no model was used: none is configured; found on the path: {} (--model NAME)",
                found.join(", ")
            )
        }
    }

    /// Takes over what other models are configured further up.
    pub(super) fn merge(&mut self, other: Self) {
        self.known.extend(other.known);
        if other.default.is_some() {
            self.default = other.default;
        }
    }
}

/// Programs that are models when they are named: how they are called.
const AGENTS: &[(&str, &[&str])] = &[
    ("claude", &["claude", "-p"]),
    ("codex", &["codex", "exec", "--skip-git-repo-check", "-"]),
    ("gemini", &["gemini"]),
    ("llm", &["llm"]),
];

fn agent(name: &str) -> Option<Model> {
    let (_, argv) = AGENTS.iter().find(|(known, _)| *known == name)?;
    Some(Model {
        name: name.to_owned(),
        kind: ModelKind::Command(argv.iter().map(|part| (*part).to_owned()).collect()),
        timeout: Duration::from_secs(TIMEOUT_SECONDS),
    })
}

/// Programs on the path that `--model` would take.
pub fn agents_on_path() -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    AGENTS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| {
            std::env::split_paths(&path).any(|dir| crate::tree::is_program(&dir.join(name)))
        })
        .collect()
}

/// Reads the table `models` of a file. `refuse` makes an error that names the file.
pub(super) fn read(
    value: &DeValue<'_>,
    keys: &dyn Fn(&str) -> Option<Key>,
    refuse: &dyn Fn(&str) -> Error,
) -> Result<Models> {
    let DeValue::Table(table) = value else {
        return Err(refuse("models takes a table"));
    };
    let mut models = Models::default();
    for (name, value) in table {
        let name = name.get_ref().to_string();
        match value.get_ref() {
            DeValue::String(text) if name == "default" => models.default = Some(text.to_string()),
            DeValue::Table(model) => models.known.push(read_model(&name, model, keys, refuse)?),
            _ => return Err(refuse(&format!("models.{name} takes a table"))),
        }
    }
    models.known.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(models)
}

fn read_model(
    name: &str,
    table: &DeTable<'_>,
    keys: &dyn Fn(&str) -> Option<Key>,
    refuse: &dyn Fn(&str) -> Error,
) -> Result<Model> {
    let wrong = |key: &str, wanted: &str| refuse(&format!("models.{name}.{key} takes {wanted}"));
    let mut command = None;
    let (mut url, mut model, mut key_env) = (None, None, None);
    let mut timeout = TIMEOUT_SECONDS;
    for (key, value) in table {
        let key = key.get_ref().as_ref();
        match (key, value.get_ref()) {
            ("command", DeValue::Array(parts)) => {
                let parts: Option<Vec<String>> = parts
                    .iter()
                    .map(|part| match part.get_ref() {
                        DeValue::String(text) => Some(text.to_string()),
                        _ => None,
                    })
                    .collect();
                command = Some(
                    parts
                        .filter(|parts| !parts.is_empty())
                        .ok_or_else(|| wrong(key, "a list of words"))?,
                );
            }
            ("url", DeValue::String(text)) => url = Some(text.to_string()),
            ("model", DeValue::String(text)) => model = Some(text.to_string()),
            ("key_env" | "keyEnv", DeValue::String(text)) => key_env = Some(text.to_string()),
            ("timeout_seconds" | "timeoutSeconds", DeValue::Integer(number)) => {
                timeout = u64::from_str_radix(number.as_str(), number.radix())
                    .ok()
                    .filter(|seconds| (1..=3600).contains(seconds))
                    .ok_or_else(|| wrong(key, "1 to 3600"))?;
            }
            ("command", _) => return Err(wrong(key, "a list of words")),
            ("url" | "model" | "key_env" | "keyEnv", _) => {
                return Err(wrong(key, "text in quotes"));
            }
            ("timeout_seconds" | "timeoutSeconds", _) => return Err(wrong(key, "a whole number")),
            _ => {
                return Err(
                    refuse(&format!("unknown key models.{name}.{key}")).with_hint(
                        "the known keys are command, url, model, key_env, timeout_seconds",
                    ),
                );
            }
        }
    }
    let kind = match (command, url) {
        (Some(command), None) => ModelKind::Command(command),
        (None, Some(url)) => {
            if !url.starts_with("https://") && !url.starts_with("http://") {
                return Err(wrong("url", "an http or https address"));
            }
            let key = match &key_env {
                Some(variable) => std::env::var(variable)
                    .ok()
                    .filter(|key| !key.is_empty())
                    .map(Key::new),
                None => None,
            };
            ModelKind::Http(Endpoint {
                url,
                model: model.ok_or_else(|| refuse(&format!("models.{name} has no model")))?,
                key: key.or_else(|| keys(name)),
            })
        }
        _ => {
            return Err(refuse(&format!(
                "models.{name} takes a command or a url, one of them"
            )));
        }
    };
    Ok(Model {
        name: name.to_owned(),
        kind,
        timeout: Duration::from_secs(timeout),
    })
}

/// The keys of the user's `auth.toml`: `NAME = "KEY"` for a model, in the table `forges` for a
/// forge. The file must be the user's alone.
pub(super) fn auth(path: &Path) -> Result<Vec<(String, Key)>> {
    let refuse = |what: &str| {
        Error::new(
            ErrorCode::InvalidConfig,
            format!("{}: {what}", path.display()),
        )
    };
    let Some(bytes) = crate::tree::read_private(path, 1 << 20).map_err(|cause| {
        Error::new(ErrorCode::InvalidConfig, cause.to_string())
            .with_source(cause)
            .with_hint(format!("make it yours alone: chmod 600 {}", path.display()))
    })?
    else {
        return Ok(Vec::new());
    };
    let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))?;
    // The message of a parser could show a key.
    let table = DeTable::parse(&text).map_err(|_| refuse("it is no TOML"))?;
    let mut keys = Vec::new();
    for (name, value) in table.get_ref() {
        match value.get_ref() {
            DeValue::String(key) => {
                keys.push((name.get_ref().to_string(), Key::new(key.to_string())));
            }
            DeValue::Table(table) if name.get_ref() == "forges" => {
                for (forge, value) in table {
                    let DeValue::String(key) = value.get_ref() else {
                        return Err(refuse("it holds something that is no text"));
                    };
                    keys.push((
                        format!("forges.{}", forge.get_ref()),
                        Key::new(key.to_string()),
                    ));
                }
            }
            _ => return Err(refuse("it holds something that is no text")),
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Models> {
        let table = DeTable::parse(text).unwrap();
        let value = table.get_ref().get("models").unwrap().get_ref().clone();
        read(&value, &|_| None, &|what| {
            Error::new(ErrorCode::InvalidConfig, what.to_owned())
        })
    }

    #[test]
    fn programs_and_servers_are_read_and_chosen_by_name() {
        let models = parse(
            "[models]\ndefault = \"near\"\n[models.near]\nurl = \"http://localhost:1/v1\"\nmodel = \"m\"\n\
             [models.agent]\ncommand = [\"a\", \"-p\"]\ntimeout_seconds = 5\n",
        )
        .unwrap();
        assert_eq!(models.choose(None).unwrap().unwrap().name, "near");
        let agent = models.choose(Some("agent")).unwrap().unwrap();
        assert_eq!(agent.timeout, Duration::from_secs(5));
        assert_eq!(
            agent.kind,
            ModelKind::Command(vec!["a".to_owned(), "-p".to_owned()])
        );
        assert!(models.choose(Some("claude")).unwrap().is_some());
        assert_eq!(
            models.choose(Some("x")).unwrap_err().code(),
            ErrorCode::InvalidArgument
        );
        assert_eq!(Models::default().choose(None).unwrap(), None);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_key() {
        for (text, key) in [
            ("models.a.command = []", "models.a.command"),
            (
                "models.a.url = \"ftp://x\"\nmodels.a.model = \"m\"",
                "models.a.url",
            ),
            ("models.a.url = \"http://x\"", "models.a has no model"),
            ("models.a.colour = \"red\"", "models.a.colour"),
            (
                "models.a.timeout_seconds = 0\nmodels.a.command = [\"x\"]",
                "timeout_seconds",
            ),
            ("models.a = 1", "models.a"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains(key), "{text}: {error}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        assert_eq!(format!("{:?}", Key::new("k3y".to_owned())), "Key(..)");
    }
}
