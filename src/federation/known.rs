//! Which projects there are: those of the store and those of the configuration, found by name; and
//! how to reach the place of each.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::backend::{Backend, Call, ProjectError};
use super::directory::Directory;
use crate::config::{Forge, NamedPlace, Others, Server};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::PageId;
use crate::store::{ProjectPlace, ProjectRecord};
use crate::wiki::Wiki;

/// A project that can be asked.
#[derive(Debug, Clone)]
pub(super) struct Project {
    pub(super) name: String,
    pub(super) record: ProjectRecord,
    /// Whether the configuration names it.
    pub(super) configured: bool,
}

impl Project {
    /// Connections to a project are counted by this.
    pub(super) fn group(&self) -> String {
        match &self.record.place {
            ProjectPlace::Directory(_) => String::new(),
            ProjectPlace::Gitea { url, .. } => url.clone(),
        }
    }
}

/// All projects, by name, and the servers that hold them.
pub(super) struct Known<'w> {
    pub(super) projects: BTreeMap<String, Project>,
    others: &'w Others,
    #[cfg(feature = "net")]
    clients: std::sync::Mutex<BTreeMap<String, std::sync::Arc<crate::net::Client>>>,
}

impl<'w> Known<'w> {
    /// # Errors
    /// Those of the store; `INVALID_CONFIG` where a project of the configuration names a forge that
    /// is not there.
    pub(super) fn of(wiki: &'w Wiki, ctx: &Context) -> Result<Self> {
        let others = &wiki.config().others;
        let mut projects: BTreeMap<String, Project> = wiki
            .projects(ctx)?
            .into_iter()
            .map(|(name, record)| {
                let project = Project {
                    name: name.clone(),
                    record,
                    configured: false,
                };
                (name, project)
            })
            .collect();
        for (name, place) in &others.projects {
            let place = place_of(others, name, place)?;
            let known = projects
                .remove(name)
                .filter(|known| is_same(&known.record.place, &place));
            let record = known.map_or_else(|| new_record(place, false), |known| known.record);
            let project = Project {
                name: name.clone(),
                record,
                configured: true,
            };
            projects.insert(name.clone(), project);
        }
        Ok(Self {
            projects,
            others,
            #[cfg(feature = "net")]
            clients: std::sync::Mutex::default(),
        })
    }

    /// The project of a name: its own, else `owner/repo`, else that of one repository alone.
    pub(super) fn find(&self, name: &str) -> Option<&Project> {
        if let Some(project) = self.projects.get(name) {
            return Some(project);
        }
        let mut found = self.projects.values().filter(|project| {
            let ProjectPlace::Gitea { owner, repo, .. } = &project.record.place else {
                return false;
            };
            repo == name || name.split_once('/') == Some((owner.as_str(), repo.as_str()))
        });
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// The server of a project; none for a directory.
    ///
    /// # Errors
    /// `INVALID_CONFIG` for a forge that the configuration no longer names.
    pub(super) fn forge_of(&self, project: &Project) -> Result<Option<Forge>> {
        let ProjectPlace::Gitea { url, forge, .. } = &project.record.place else {
            return Ok(None);
        };
        if forge.is_empty() {
            return Ok(Some(self.others.forge_at(url)));
        }
        match self.others.forge(forge) {
            Some(forge) if forge.url == *url => Ok(Some(forge.clone())),
            Some(_) => Err(Error::new(
                ErrorCode::InvalidConfig,
                format!(
                    "project {} was found on {url}, and forge {forge} has another address now",
                    project.name
                ),
            )
            .with_hint("`llmwiki projects sync` finds the projects anew")),
            None => Err(unconfigured(self.others, forge, &project.name)),
        }
    }

    /// How many connections a group of projects may have at once.
    pub(super) fn connections(&self, group: &str) -> usize {
        if group.is_empty() {
            return 4;
        }
        self.others.forge_at(group).connections
    }

    /// When answers from these projects are no longer waited for.
    pub(super) fn deadline(&self, projects: &[&Project]) -> Result<Instant> {
        let mut wait = Duration::ZERO;
        for project in projects {
            let forge = self.forge_of(project)?;
            wait = wait.max(forge.map_or(Duration::from_secs(20), |forge| forge.timeout));
        }
        Ok(Instant::now() + wait)
    }

    /// Opens the place of a project. `reference` is the branch to read.
    pub(super) fn open(&self, project: &Project) -> Result<Box<dyn Backend>, ProjectError> {
        match &project.record.place {
            ProjectPlace::Directory(path) => {
                let directory = Directory::open(Path::new(OsStr::from_bytes(path)))?;
                Ok(Box::new(directory))
            }
            #[cfg(feature = "net")]
            ProjectPlace::Gitea {
                owner,
                repo,
                branch,
                ..
            } => {
                let forge = self.forge_of(project);
                let forge = forge.map_err(|cause| ProjectError::Failed(cause.explained()))?;
                let Some(forge) = forge else {
                    return Err(ProjectError::Unknown);
                };
                let reference = if branch.is_empty() {
                    &project.record.default_branch
                } else {
                    branch
                };
                Ok(Box::new(super::gitea::Gitea {
                    client: self.client(&forge)?,
                    owner: owner.clone(),
                    repo: repo.clone(),
                    reference: reference.clone(),
                }))
            }
            #[cfg(not(feature = "net"))]
            ProjectPlace::Gitea { .. } => Err(ProjectError::Failed(
                "this build has no HTTP client".to_owned(),
            )),
        }
    }

    /// The client of a forge, one for all its projects.
    #[cfg(feature = "net")]
    pub(super) fn client(
        &self,
        forge: &Forge,
    ) -> Result<std::sync::Arc<crate::net::Client>, ProjectError> {
        let mut clients = self
            .clients
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(client) = clients.get(&forge.url) {
            return Ok(std::sync::Arc::clone(client));
        }
        let client = std::sync::Arc::new(crate::net::Client::new(forge)?);
        clients.insert(forge.url.clone(), std::sync::Arc::clone(&client));
        Ok(client)
    }

    /// Forges that a sync lists.
    pub(super) fn forges(&self) -> Vec<Forge> {
        self.others.all_forges().into_iter().cloned().collect()
    }
}

/// A project of which nothing is known yet.
pub(super) fn new_record(place: ProjectPlace, added: bool) -> ProjectRecord {
    ProjectRecord {
        place,
        added,
        default_branch: String::new(),
        index: None,
        status: None,
        files: Vec::new(),
        synced_at: String::new(),
        fault: String::new(),
    }
}

/// Whether two places are the same, whatever a sync learnt of them.
fn is_same(one: &ProjectPlace, other: &ProjectPlace) -> bool {
    match (one, other) {
        (
            ProjectPlace::Gitea {
                url,
                owner,
                repo,
                branch,
                ..
            },
            ProjectPlace::Gitea {
                url: other_url,
                owner: other_owner,
                repo: other_repo,
                branch: other_branch,
                ..
            },
        ) => (url, owner, repo, branch) == (other_url, other_owner, other_repo, other_branch),
        (one, other) => one == other,
    }
}

fn place_of(others: &Others, name: &str, place: &NamedPlace) -> Result<ProjectPlace> {
    match place {
        NamedPlace::Path(path) => Ok(ProjectPlace::Directory(
            path.as_os_str().as_bytes().to_vec(),
        )),
        NamedPlace::Gitea {
            server,
            owner,
            repo,
            branch,
        } => {
            let url = match server {
                Server::Url(url) => url.clone(),
                Server::Forge(forge) => others
                    .forge(forge)
                    .map(|forge| forge.url.clone())
                    .ok_or_else(|| unconfigured(others, forge, name))?,
            };
            check_repository(owner, repo, branch)?;
            Ok(ProjectPlace::Gitea {
                url,
                forge: String::new(),
                owner: owner.clone(),
                repo: repo.clone(),
                id: 0,
                branch: branch.clone(),
            })
        }
    }
}

fn unconfigured(others: &Others, forge: &str, project: &str) -> Error {
    let error = Error::new(
        ErrorCode::InvalidConfig,
        format!("project {project} is on forge {forge}, which is not configured"),
    );
    if others.untrusted {
        error.with_hint("the wiki's config.toml names forges; `llmwiki trust` lets them be used")
    } else {
        error.with_hint(format!(
            "put [forges.{forge}] with its url into your own config.toml"
        ))
    }
}

/// Owner, repository and branch become parts of addresses: each must be a plain name.
///
/// # Errors
/// `INVALID_ARGUMENT` naming the one that is not.
pub(super) fn check_repository(owner: &str, repo: &str, branch: &str) -> Result<()> {
    let is_plain = |name: &str| PageId::parse(name).is_ok() && !name.contains('/');
    let refuse = |what: &str, name: &str| {
        Error::new(
            ErrorCode::InvalidArgument,
            format!("{name:?} is no name of {what}"),
        )
        .with_hint("give it as the server shows it, without slashes and without an address")
    };
    if !is_plain(owner) {
        return Err(refuse("an owner", owner));
    }
    if !is_plain(repo) {
        return Err(refuse("a repository", repo));
    }
    if !branch.is_empty() && PageId::parse(branch).is_err() {
        return Err(refuse("a branch", branch));
    }
    Ok(())
}

/// The name under which a project is asked.
///
/// # Errors
/// `INVALID_ARGUMENT` for one that is no plain name or `owner/repo`.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.len() <= 200 && PageId::parse(name).is_ok() && name.matches('/').count() < 2 {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::InvalidArgument,
        format!("{name:?} is no name of a project"),
    )
    .with_hint("a name is one word such as billing, or owner/repo"))
}

/// One call.
pub(super) fn call(ctx: &Context, deadline: Instant) -> Call<'_> {
    Call { ctx, deadline }
}
