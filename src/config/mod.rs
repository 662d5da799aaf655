//! Settings of one wiki: the values, and where they come from. In rising order: the defaults,
//! `config.toml` in the root, the user's `config.toml`, `LLMWIKI_*` variables, flags.
//!
//! `locate` finds the root; `keys` holds the one table of keys with their ranges, so that the
//! three spellings (file, variable, flag) cannot come to differ.

mod forges;
mod keys;
mod locate;
mod models;

pub use forges::{Forge, NamedPlace, Others, Server, url_fault};
pub use keys::{KEYS, Key};
pub use locate::Chosen;
pub use models::{Endpoint, Key as ModelKey, Model, ModelKind, Models, agents_on_path};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorCode, Result};
use crate::limits::Limits;
use crate::search::Analysis;
use crate::tree::{self, RelPath, RootState, TreeError};

/// Settings of one wiki.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Limits of sources, pages, results and reports.
    pub limits: Limits,
    /// How text becomes terms. A change reindexes.
    pub analysis: Analysis,
    /// Language of the pages, which the `standard` analysis otherwise detects.
    pub language: Option<String>,
    /// Who writes, as recorded in revisions; empty when nobody said.
    pub actor: String,
    /// Share the store between processes by whole-file locks instead of byte ranges
    /// (`LLMWIKI_STORE_MODE=exclusive`).
    pub exclusive_store: bool,
    /// The directory whose code is indexed, where somebody named one (`--project`,
    /// `LLMWIKI_PROJECT`).
    pub project: Option<PathBuf>,
    /// Language models.
    pub models: Models,
    /// Other projects and the servers that hold them.
    pub others: Others,
    /// The user's own directory of settings.
    pub user_directory: Option<PathBuf>,
}

/// A config file is a few lines; what is larger is something else.
const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Settings of one wiki, beside its pages.
pub const CONFIG_FILE: &str = "config.toml";

/// The parts of the process environment that settings come from, taken once.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Where relative roots start; empty when the working directory is gone.
    pub directory: PathBuf,
    /// The user's own config file, which may not exist.
    pub user_file: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    ///
    /// # Errors
    /// `INVALID_CONFIG` for an `LLMWIKI_*` variable that is not UTF-8.
    pub fn of_process() -> Result<Self> {
        let mut variables = BTreeMap::new();
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| name.starts_with("LLMWIKI_")) else {
                continue;
            };
            let value = value.into_string().map_err(|_| {
                Error::new(
                    ErrorCode::InvalidConfig,
                    format!("the variable {name} is not UTF-8"),
                )
            })?;
            variables.insert(name.to_owned(), value);
        }
        // One that was deleted is nobody's matter where the root is named by an absolute path.
        let directory = std::env::current_dir().unwrap_or_default();
        let user_file = etcetera::choose_base_strategy().ok().map(|strategy| {
            use etcetera::BaseStrategy as _;
            strategy.config_dir().join("llmwiki").join("config.toml")
        });
        Ok(Self {
            variables,
            directory,
            user_file,
        })
    }

    /// An environment made by hand, for tests and embedding.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            variables: BTreeMap::new(),
            directory: directory.into(),
            user_file: None,
        }
    }

    /// The same environment with one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The value of a variable; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }
}

/// What flags say: they win over everything else.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--root`.
    pub root: Option<PathBuf>,
    /// `--project`.
    pub project: Option<PathBuf>,
    /// `--actor`.
    pub actor: Option<String>,
    /// `--set KEY=VALUE`, in order.
    pub settings: Vec<(String, String)>,
}

/// A root with its settings. The default is a place where no wiki is looked for.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The root directory; it need not exist.
    pub root: PathBuf,
    /// Who chose that root.
    pub chosen: Chosen,
    /// The merged settings.
    pub config: Config,
    /// What of the user's own settings this user may not read; the rest is without them.
    pub unread: Option<Error>,
}

/// Finds the root and merges its settings.
///
/// # Errors
/// `INVALID_CONFIG` naming file and line, variable or flag: for an unknown key, a value of the
/// wrong type or out of its range, or a file that cannot be read.
pub fn load(environment: &Environment, flags: &Flags) -> Result<Loaded> {
    load_with(environment, flags, false)
}

/// [`load`], as if there were no settings beside the wiki where those are faulty: for what tells of
/// such faults itself.
///
/// # Errors
/// As [`load`], for everything else.
pub fn load_past_faults(environment: &Environment, flags: &Flags) -> Result<Loaded> {
    load_with(environment, flags, true)
}

fn load_with(environment: &Environment, flags: &Flags, past_faults: bool) -> Result<Loaded> {
    let user_directory = environment.user_file.as_deref().and_then(Path::parent);
    let mut unread = None;
    let auth = match user_directory {
        Some(directory) => readable(models::auth(&directory.join("auth.toml")), &mut unread)?,
        None => Vec::new(),
    };
    let user = match &environment.user_file {
        Some(path) => readable(read_file(path, &auth), &mut unread)?,
        None => Vec::new(),
    };
    let mut variables = Vec::new();
    for key in KEYS {
        let name = key.variable();
        if let Some(value) = environment.get(&name) {
            variables.push(keys::Setting::of_text(
                key,
                value,
                &keys::Origin::Variable(name),
            )?);
        }
    }
    let mut settings = Vec::new();
    for (name, value) in &flags.settings {
        let key = keys::find(name, &keys::Origin::Flag)?;
        settings.push(keys::Setting::of_text(key, value, &keys::Origin::Flag)?);
    }

    let named = |settings: &[keys::Setting]| {
        settings
            .iter()
            .filter_map(keys::Setting::root)
            .next_back()
            .map(PathBuf::from)
    };
    let (root, chosen) = locate::root(
        &environment.directory,
        flags.root.clone().or_else(|| named(&settings)).as_deref(),
        named(&variables).as_deref(),
        named(&user).as_deref(),
    )?;

    if environment.directory.as_os_str().is_empty() && root.is_relative() {
        return Err(Error::new(
            ErrorCode::InvalidConfig,
            "the working directory does not exist any more",
        )
        .with_hint("change to one that does, or name the wiki by an absolute --root"));
    }
    let root_file = root.join(CONFIG_FILE);
    let read = read_root_file(&root).and_then(|bytes| {
        let settings = settings_of(bytes.clone(), &root_file, &auth)?;
        Ok((bytes, settings))
    });
    let (bytes_of_root, mut of_root) = match read {
        Err(_) if past_faults => (None, Vec::new()),
        read => read?,
    };
    let mut config = Config {
        user_directory: user_directory.map(Path::to_owned),
        ..Config::default()
    };
    // What is judged is what was read: a second look at the path could see another file.
    if of_root.iter().any(keys::Setting::reaches_out)
        && (unread.is_some()
            || !is_trusted(
                user_directory,
                bytes_of_root.as_deref().unwrap_or_default(),
                &root_file,
            )?)
    {
        config.models.untrusted = of_root.iter().any(keys::Setting::names_models);
        config.others.untrusted = of_root.iter().any(keys::Setting::names_others);
        of_root.retain(|setting| !setting.reaches_out());
    }
    for setting in [of_root, user, variables, settings].iter().flatten() {
        setting.apply(&mut config);
    }
    if let Some(actor) = flags.actor.as_deref().or(environment.get("LLMWIKI_ACTOR")) {
        actor.trim().clone_into(&mut config.actor);
    }
    let project = environment.get("LLMWIKI_PROJECT").map(PathBuf::from);
    config.project = flags
        .project
        .clone()
        .or(project)
        .map(|project| environment.directory.join(project));
    if let Some(model) = environment.get("LLMWIKI_MODEL") {
        config.models.default = Some(model.to_owned());
    }
    if let Some(stub) = environment.get("LLMWIKI_LLM_STUB") {
        let file = tree::read_optional(&environment.directory.join(stub), MAX_CONFIG_BYTES)
            .ok()
            .flatten();
        config.models.stub = Some(match file {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => stub.to_owned(),
        });
    }
    match environment.get("LLMWIKI_STORE_MODE") {
        None | Some("shared") => {}
        Some("exclusive") => config.exclusive_store = true,
        Some(other) => {
            return Err(Error::new(
                ErrorCode::InvalidConfig,
                format!("LLMWIKI_STORE_MODE is {other:?}"),
            )
            .with_hint("it is either shared (the default) or exclusive"));
        }
    }
    Ok(Loaded {
        root,
        chosen,
        config,
        unread,
    })
}

fn is_denied(cause: &TreeError) -> bool {
    match cause {
        TreeError::Denied { .. } => true,
        TreeError::Io { source, .. } => source.kind() == std::io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

/// Settings that this user may not read are as good as none, and told.
fn readable<T>(read: Result<Vec<T>>, unread: &mut Option<Error>) -> Result<Vec<T>> {
    use std::error::Error as _;
    match read {
        Err(error)
            if error
                .source()
                .and_then(|cause| cause.downcast_ref::<TreeError>())
                .is_some_and(is_denied) =>
        {
            unread.get_or_insert(error);
            Ok(Vec::new())
        }
        other => other,
    }
}

fn read_file(path: &Path, auth: &[(String, ModelKey)]) -> Result<Vec<keys::Setting>> {
    let read = tree::read_optional(path, MAX_CONFIG_BYTES).map_err(unreadable)?;
    settings_of(read, path, auth)
}

/// The file of settings beside a wiki. It may have come with a repository of somebody else, so it
/// is read as every file below a root is: no link is followed, and no FIFO waited for.
fn read_root_file(root: &Path) -> Result<Option<Vec<u8>>> {
    // What is wrong with the root itself, the command says.
    let Ok(RootState::Ready(tree)) = tree::locate(root) else {
        return Ok(None);
    };
    let read = RelPath::new(CONFIG_FILE)
        .and_then(|path| tree.read(&path, MAX_CONFIG_BYTES))
        .map_err(unreadable)?;
    Ok(read.map(|file| file.bytes))
}

/// What is wrong with the settings beside a wiki: the line, where there is one, and the fault
/// without its place. None where nothing is, or where there is no such file.
pub fn root_file_fault(tree: &tree::Tree) -> Option<(Option<u32>, Error)> {
    let read = RelPath::new(CONFIG_FILE).and_then(|path| tree.read(&path, MAX_CONFIG_BYTES));
    match read.map_err(unreadable) {
        Err(error) => Some((None, error)),
        Ok(None) => None,
        Ok(Some(file)) => match std::str::from_utf8(&file.bytes) {
            Ok(text) => keys::fault(text).map(|(line, error)| (Some(line), error)),
            Err(_) => {
                let message = "it is not UTF-8";
                Some((None, Error::new(ErrorCode::InvalidConfig, message)))
            }
        },
    }
}

fn unreadable(cause: TreeError) -> Error {
    Error::new(ErrorCode::InvalidConfig, cause.to_string())
        .with_source(cause)
        .with_hint("see that it is a plain file and that this user may read it")
}

fn settings_of(
    read: Option<Vec<u8>>,
    path: &Path,
    auth: &[(String, ModelKey)],
) -> Result<Vec<keys::Setting>> {
    let Some(bytes) = read else {
        return Ok(Vec::new());
    };
    let text = String::from_utf8(bytes).map_err(|_| {
        Error::new(
            ErrorCode::InvalidConfig,
            format!("{} is not UTF-8", path.display()),
        )
    })?;
    keys::read(&text, path, auth)
}

/// Name of the list of trusted files in the user's directory: a hash and a path a line.
const TRUSTED: &str = "trusted";

/// What `trust` writes down for a file: its text, and where it is. Changed text is not trusted.
fn trust_line(bytes: &[u8], path: &Path) -> String {
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    format!("{} {}", crate::id::ContentHash::of(bytes), place.display())
}

fn trusted(directory: &Path) -> Result<Vec<String>> {
    let path = directory.join(TRUSTED);
    let read = tree::read_private(&path, MAX_CONFIG_BYTES).map_err(|cause| {
        Error::new(ErrorCode::InvalidConfig, cause.to_string())
            .with_source(cause)
            .with_hint(format!("chmod 600 {}", path.display()))
    })?;
    let text = read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(text
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect())
}

fn is_trusted(directory: Option<&Path>, bytes: &[u8], path: &Path) -> Result<bool> {
    let Some(directory) = directory else {
        return Ok(false);
    };
    Ok(trusted(directory)?.contains(&trust_line(bytes, path)))
}

/// Trusts the configuration file of a wiki as it is now, or with `revoke` no longer trusts it in
/// any state. Answers whether anything changed.
///
/// # Errors
/// `INVALID_CONFIG` when there is no such file, or the user's directory cannot be written.
pub fn trust(directory: &Path, root: &Path, revoke: bool) -> Result<bool> {
    let path = root.join(CONFIG_FILE);
    let Some(bytes) = read_root_file(root)? else {
        return Err(Error::new(
            ErrorCode::InvalidConfig,
            format!("there is no {}", path.display()),
        )
        .with_hint("there is nothing to trust: only its config.toml can name programs"));
    };
    let line = trust_line(&bytes, &path);
    let before = trusted(directory)?;
    let place = line.split_once(' ').map_or("", |(_, place)| place);
    let mut lines: Vec<String> = before
        .iter()
        .filter(|known| {
            known
                .split_once(' ')
                .is_none_or(|(_, other)| other != place)
        })
        .cloned()
        .collect();
    if !revoke {
        lines.push(line);
    }
    if lines == before {
        return Ok(false);
    }
    let mut text = lines.join("\n");
    text.push('\n');
    tree::write_private(&directory.join(TRUSTED), text.as_bytes()).map_err(|cause| {
        Error::new(ErrorCode::InvalidConfig, cause.to_string()).with_source(cause)
    })?;
    Ok(true)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests arrange files themselves")]
mod tests {
    use super::*;

    fn files(root: &str, user: &str) -> (tempfile::TempDir, Environment) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".llmwiki")).unwrap();
        std::fs::write(folder.path().join(".llmwiki/config.toml"), root).unwrap();
        std::fs::write(folder.path().join("user.toml"), user).unwrap();
        let mut environment = Environment::new(folder.path());
        environment.user_file = Some(folder.path().join("user.toml"));
        (folder, environment)
    }

    #[test]
    fn later_layers_win_over_earlier_ones() {
        let (_folder, environment) = files(
            "max_results = 1\nmax_page_bytes = 10\nmaxSnippetBytes = 100\nanalysis = 'classic'\n",
            "max_results = 2\nmax_page_bytes = 20\n",
        );
        let environment = environment.with("LLMWIKI_MAX_RESULTS", "3");
        let flags = Flags {
            settings: vec![("maxResults".into(), "4".into())],
            ..Flags::default()
        };
        let config = load(&environment, &Flags::default()).unwrap().config;
        assert_eq!(config.limits.max_results, 3);
        assert_eq!(config.limits.max_page_bytes, 20);
        assert_eq!(config.limits.max_snippet_bytes, 100);
        assert_eq!(config.analysis, Analysis::Classic);
        assert_eq!(
            load(&environment, &flags)
                .unwrap()
                .config
                .limits
                .max_results,
            4
        );
    }

    #[test]
    fn a_fault_is_named_with_file_and_line() {
        for (text, line, word) in [
            (
                "max_results = 1\nmax_result = 2\n",
                ":2:",
                "unknown key \"max_result\"",
            ),
            ("\n\nmax_results = 101\n", ":3:", "1 to 100"),
            ("max_results = 'ten'\n", ":1:", "max_results"),
            ("max_results = 1\nmaxResults = 2\n", ":2:", "twice"),
            ("max_results = \n", ":1:", ""),
            ("analysis = 'fancy'\n", ":1:", "classic"),
        ] {
            let (_folder, environment) = files(text, "");
            let error = load(&environment, &Flags::default()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidConfig);
            let said = format!("{} {}", error.message(), error.hint().unwrap_or_default());
            assert!(
                said.contains(line) && said.contains(word),
                "{text:?} gives {said}"
            );
            assert!(said.contains("config.toml"), "{said}");
        }
    }

    #[test]
    fn an_unknown_key_is_told_the_known_ones() {
        let (_folder, environment) = files("typo = 1\n", "");
        let error = load(&environment, &Flags::default()).unwrap_err();
        for key in KEYS {
            assert!(error.hint().unwrap().contains(key.name), "{}", key.name);
        }
    }

    #[test]
    fn a_variable_out_of_range_is_named() {
        let environment = Environment::new("/").with("LLMWIKI_MAX_SNIPPET_BYTES", "63");
        let error = load(&environment, &Flags::default()).unwrap_err();
        assert!(
            error.message().contains("LLMWIKI_MAX_SNIPPET_BYTES"),
            "{}",
            error.message()
        );
    }

    #[test]
    fn forges_and_projects_count_from_the_user_or_where_the_file_is_trusted() {
        let forges = "[forges.work]\nurl = 'https://h'\n[projects.a]\npath = '/a'\n";
        let (folder, environment) = files(forges, "[projects.b]\npath = '/b'\n");
        let load = || load(&environment, &Flags::default()).unwrap().config.others;
        let others = load();
        assert!(others.untrusted && others.forges.is_empty());
        assert!(others.project("a").is_none() && others.project("b").is_some());
        assert!(trust(folder.path(), &folder.path().join(".llmwiki"), false).unwrap());
        let others = load();
        assert!(!others.untrusted && others.project("a").is_some());
        assert_eq!(others.forge("work").unwrap().url, "https://h");
    }

    #[test]
    fn a_project_names_programs_only_where_the_user_trusts_its_very_text() {
        let models = "[models]\ndefault = \"x\"\n[models.x]\ncommand = [\"x\"]\n";
        let (folder, environment) = files(models, "");
        let root = folder.path().join(".llmwiki");
        let path = root.join(CONFIG_FILE);
        let load = || load(&environment, &Flags::default()).unwrap().config.models;
        assert!(load().untrusted && load().choose(None).unwrap().is_none());
        assert!(trust(folder.path(), &root, false).unwrap());
        assert!(!trust(folder.path(), &root, false).unwrap());
        assert_eq!(load().choose(None).unwrap().unwrap().name, "x");
        std::fs::write(&path, format!("{models}# changed\n")).unwrap();
        assert!(load().untrusted);
        assert!(trust(folder.path(), &root, false).unwrap());
        assert!(!load().untrusted);
        assert!(trust(folder.path(), &root, true).unwrap());
        assert!(load().untrusted);
    }

    #[test]
    fn the_users_own_models_need_no_trust() {
        let (_folder, environment) = files("", "[models.x]\ncommand = [\"x\"]\n");
        let models = load(&environment, &Flags::default()).unwrap().config.models;
        assert!(models.choose(Some("x")).unwrap().is_some());
        assert_eq!(models.choose(None).unwrap(), None);
    }

    #[test]
    fn settings_beside_a_wiki_are_read_without_following_links_or_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(".llmwiki");
        std::fs::create_dir(&root).unwrap();
        let elsewhere = folder.path().join("elsewhere.toml");
        std::fs::write(&elsewhere, "max_page_bytes = 4096\n").unwrap();
        std::os::unix::fs::symlink(&elsewhere, root.join("config.toml")).unwrap();
        let error = read_root_file(&root).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfig);
        assert!(error.message().contains("config.toml"), "{error}");
        std::fs::remove_file(root.join("config.toml")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("config.toml"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        // Opened for reading, it would wait for a writer that never comes.
        let error = read_root_file(&root).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidConfig);
    }
}
