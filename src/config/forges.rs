//! Servers that hold other projects, and projects that are named here: `[forges.NAME]` with `url`,
//! `[projects.NAME]` with `path`, or `owner` and a `forge` or the address of one (`gitea`). A file
//! inside a project counts only where the user trusts it.

use std::path::PathBuf;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::models::Key;
use crate::error::{Error, Result};

/// How long one question may take when nobody says.
const TIMEOUT_SECONDS: u64 = 20;
/// How many connections are open at the same time when nobody says.
const CONNECTIONS: u64 = 8;

/// A server that holds other projects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forge {
    /// Its name.
    pub name: String,
    /// Base address, without a slash at its end.
    pub url: String,
    /// What proves to it who asks.
    pub token: Option<Key>,
    /// File with the certificates of its own authority, in PEM.
    pub ca_file: Option<PathBuf>,
    /// How long all answers to one question may take.
    pub timeout: Duration,
    /// How many connections are open at the same time.
    pub connections: usize,
}

impl Forge {
    /// A server that nobody configured: it is asked without a token.
    pub fn anonymous(url: &str) -> Self {
        Self {
            name: String::new(),
            url: url.trim_end_matches('/').to_owned(),
            token: None,
            ca_file: None,
            timeout: Duration::from_secs(TIMEOUT_SECONDS),
            connections: usize::try_from(CONNECTIONS).unwrap_or(1),
        }
    }
}

/// Where a project of the configuration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedPlace {
    /// A directory.
    Path(PathBuf),
    /// A repository on a Gitea or Forgejo server.
    Gitea {
        /// Address of the server, or the name of a forge.
        server: Server,
        /// Who it belongs to.
        owner: String,
        /// Its name.
        repo: String,
        /// The branch; empty for the default branch.
        branch: String,
    },
}

/// How a server is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// By its name in the configuration.
    Forge(String),
    /// By its address.
    Url(String),
}

/// Whom this wiki can ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// Servers, later ones over earlier ones of the same name.
    pub forges: Vec<Forge>,
    /// Projects, likewise.
    pub projects: Vec<(String, NamedPlace)>,
    /// Whether a file inside the project names some and is not trusted.
    pub untrusted: bool,
}

impl Others {
    /// The forge of a name.
    pub fn forge(&self, name: &str) -> Option<&Forge> {
        self.forges.iter().rev().find(|forge| forge.name == name)
    }

    /// The forge at an address, else one that nobody configured.
    pub fn forge_at(&self, url: &str) -> Forge {
        let url = url.trim_end_matches('/');
        let found = self.forges.iter().rev().find(|forge| forge.url == url);
        found.cloned().unwrap_or_else(|| Forge::anonymous(url))
    }

    /// Each forge once, by name.
    pub fn all_forges(&self) -> Vec<&Forge> {
        let mut names: Vec<&str> = self.forges.iter().map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.iter().filter_map(|name| self.forge(name)).collect()
    }

    /// The project of a name.
    pub fn project(&self, name: &str) -> Option<&NamedPlace> {
        let found = self.projects.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, place)| place)
    }
}

/// What is wrong with the address of a server, as the rest of a sentence.
pub fn url_fault(url: &str) -> Option<&'static str> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else {
        return Some("is no http or https address");
    };
    let host = rest.split('/').next().unwrap_or_default();
    if host.contains('@') {
        return Some("holds a name or a key, which belong into auth.toml or token_env");
    }
    if host.is_empty() || rest.contains(['?', '#']) || rest.contains(char::is_whitespace) {
        return Some("is no address of a server");
    }
    None
}

/// Takes what a table holds, by key; what is left over is refused.
struct Table<'a, 'i> {
    name: String,
    entries: Vec<(String, &'a DeValue<'i>)>,
    refuse: &'a dyn Fn(&str) -> Error,
}

impl<'a, 'i> Table<'a, 'i> {
    fn new(name: String, table: &'a DeTable<'i>, refuse: &'a dyn Fn(&str) -> Error) -> Self {
        let entries = table
            .iter()
            .map(|(key, value)| (snake_case(key.get_ref()), value.get_ref()))
            .collect();
        Self {
            name,
            entries,
            refuse,
        }
    }

    fn take(&mut self, key: &str) -> Option<&'a DeValue<'i>> {
        let at = self.entries.iter().position(|(known, _)| known == key)?;
        Some(self.entries.remove(at).1)
    }

    fn wrong(&self, key: &str, wanted: &str) -> Error {
        (self.refuse)(&format!("{}.{key} takes {wanted}", self.name))
    }

    fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.take(key) {
            None => Ok(None),
            Some(DeValue::String(text)) if !text.trim().is_empty() => Ok(Some(text.to_string())),
            Some(_) => Err(self.wrong(key, "text in quotes")),
        }
    }

    fn number(&mut self, key: &str, most: u64, default: u64) -> Result<u64> {
        match self.take(key) {
            None => Ok(default),
            Some(DeValue::Integer(number)) => u64::from_str_radix(number.as_str(), number.radix())
                .ok()
                .filter(|number| (1..=most).contains(number))
                .ok_or_else(|| self.wrong(key, &format!("1 to {most}"))),
            Some(_) => Err(self.wrong(key, "a whole number")),
        }
    }

    fn url(&self, key: &str, url: &str) -> Result<String> {
        match url_fault(url) {
            Some(what) => Err((self.refuse)(&format!("{}.{key} {what}", self.name))),
            None => Ok(url.trim_end_matches('/').to_owned()),
        }
    }

    fn nothing_left(&self, known: &str) -> Result<()> {
        match self.entries.first() {
            None => Ok(()),
            Some((key, _)) => Err((self.refuse)(&format!("unknown key {}.{key}", self.name))
                .with_hint(format!("the known keys are {known}"))),
        }
    }
}

fn snake_case(key: &str) -> String {
    let mut out = String::new();
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn tables<'a, 'i>(
    what: &str,
    value: &'a DeValue<'i>,
    refuse: &'a dyn Fn(&str) -> Error,
) -> Result<Vec<(String, Table<'a, 'i>)>> {
    let DeValue::Table(table) = value else {
        return Err(refuse(&format!("{what} takes a table: [{what}.NAME]")));
    };
    let mut named = Vec::new();
    for (name, value) in table {
        let name = name.get_ref().to_string();
        let DeValue::Table(table) = value.get_ref() else {
            return Err(refuse(&format!("{what}.{name} takes a table")));
        };
        let place = format!("{what}.{name}");
        named.push((name, Table::new(place, table, refuse)));
    }
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(named)
}

/// Reads the table `forges` of a file. `refuse` makes an error that names the file.
pub(super) fn read_forges(
    value: &DeValue<'_>,
    keys: &dyn Fn(&str) -> Option<Key>,
    refuse: &dyn Fn(&str) -> Error,
) -> Result<Vec<Forge>> {
    let mut forges = Vec::new();
    for (name, mut table) in tables("forges", value, refuse)? {
        let url = table
            .text("url")?
            .ok_or_else(|| refuse(&format!("forges.{name} has no url")))?;
        let url = table.url("url", &url)?;
        let variable = table.text("token_env")?;
        let token = variable
            .and_then(|variable| std::env::var(variable).ok())
            .filter(|token| !token.is_empty())
            .map(Key::new);
        let ca_file = table.text("ca_file")?.map(PathBuf::from);
        let timeout = table.number("timeout_seconds", 3600, TIMEOUT_SECONDS)?;
        let connections = table.number("connections", 64, CONNECTIONS)?;
        table.nothing_left("url, token_env, ca_file, timeout_seconds, connections")?;
        forges.push(Forge {
            token: token.or_else(|| keys(&format!("forges.{name}"))),
            name,
            url,
            ca_file,
            timeout: Duration::from_secs(timeout),
            connections: usize::try_from(connections).unwrap_or(1),
        });
    }
    Ok(forges)
}

/// Reads the table `projects` of a file.
pub(super) fn read_projects(
    value: &DeValue<'_>,
    refuse: &dyn Fn(&str) -> Error,
) -> Result<Vec<(String, NamedPlace)>> {
    let mut projects = Vec::new();
    for (name, mut table) in tables("projects", value, refuse)? {
        let (path, forge, gitea) = (
            table.text("path")?,
            table.text("forge")?,
            table.text("gitea")?,
        );
        let (owner, repo, branch) = (
            table.text("owner")?,
            table.text("repo")?,
            table.text("branch")?,
        );
        table.nothing_left("path, forge, gitea, owner, repo, branch")?;
        let server = match (forge, gitea) {
            (Some(forge), None) => Some(Server::Forge(forge)),
            (None, Some(url)) => Some(Server::Url(table.url("gitea", &url)?)),
            _ => None,
        };
        let place = match (path, server, owner) {
            (Some(path), None, None) if repo.is_none() && branch.is_none() => {
                let path = PathBuf::from(path);
                if !path.is_absolute() {
                    return Err(refuse(&format!("projects.{name}.path is not absolute")));
                }
                NamedPlace::Path(path)
            }
            (None, Some(server), Some(owner)) => NamedPlace::Gitea {
                server,
                owner,
                repo: repo.unwrap_or_else(|| name.clone()),
                branch: branch.unwrap_or_default(),
            },
            _ => {
                return Err(refuse(&format!(
                    "projects.{name} takes a path, or an owner and one of forge and gitea"
                )));
            }
        };
        projects.push((name, place));
    }
    Ok(projects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn refuse(what: &str) -> Error {
        Error::new(ErrorCode::InvalidConfig, what.to_owned())
    }

    fn others(text: &str) -> Result<Others> {
        let table = DeTable::parse(text).unwrap();
        let part = |name: &str| {
            table
                .get_ref()
                .get(name)
                .map(|value| value.get_ref().clone())
        };
        let key = |name: &str| (name == "forges.work").then(|| Key::new("t0ken".to_owned()));
        let forges = part("forges").map(|value| read_forges(&value, &key, &refuse));
        let projects = part("projects").map(|value| read_projects(&value, &refuse));
        Ok(Others {
            forges: forges.transpose()?.unwrap_or_default(),
            projects: projects.transpose()?.unwrap_or_default(),
            untrusted: false,
        })
    }

    #[test]
    fn forges_and_projects_are_read_and_found() {
        let read = others(
            "[forges.work]\nurl = \"https://git.example:8443/forge/\"\ntimeoutSeconds = 5\n\
             [projects.a]\npath = \"/src/a\"\n\
             [projects.b]\nforge = \"work\"\nowner = \"ann\"\nbranch = \"next\"\n\
             [projects.c]\ngitea = \"http://h/\"\nowner = \"o\"\nrepo = \"r\"\n",
        )
        .unwrap();
        let forge = read.forge("work").unwrap();
        assert_eq!(forge.url, "https://git.example:8443/forge");
        assert_eq!(forge.timeout, Duration::from_secs(5));
        assert_eq!(forge.token.as_ref().unwrap().reveal(), "t0ken");
        assert!(!format!("{read:?}").contains("t0ken"));
        assert_eq!(
            read.forge_at("https://git.example:8443/forge/").name,
            "work"
        );
        assert_eq!(read.forge_at("https://git.example/forge").token, None);
        assert_eq!(
            read.project("a"),
            Some(&NamedPlace::Path(PathBuf::from("/src/a")))
        );
        assert_eq!(
            read.project("b"),
            Some(&NamedPlace::Gitea {
                server: Server::Forge("work".to_owned()),
                owner: "ann".to_owned(),
                repo: "b".to_owned(),
                branch: "next".to_owned(),
            })
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_name() {
        for (text, said) in [
            ("[forges.w]\n", "forges.w has no url"),
            ("[forges.w]\nurl = \"ftp://h\"\n", "forges.w.url is no http"),
            (
                "[forges.w]\nurl = \"https://u:k@h\"\n",
                "holds a name or a key",
            ),
            (
                "[forges.w]\nurl = \"https://h\"\ntoken = \"x\"\n",
                "forges.w.token",
            ),
            (
                "[forges.w]\nurl = \"https://h\"\nconnections = 0\n",
                "1 to 64",
            ),
            ("[projects.p]\npath = \"a\"\n", "not absolute"),
            ("[projects.p]\nowner = \"a\"\n", "projects.p takes a path"),
            (
                "[projects.p]\npath = \"/a\"\nowner = \"a\"\n",
                "projects.p takes",
            ),
            ("[[projects]]\nname = \"p\"\n", "[projects.NAME]"),
        ] {
            let error = others(text).unwrap_err();
            assert!(error.message().contains(said), "{text}: {error}");
        }
    }
}
