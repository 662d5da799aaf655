//! What can be asked: listed, added, removed, and read anew. Each project is one transaction of its
//! own, so that a sync that is stopped keeps what it has read; one that fails keeps what was known.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::ask::cached_index;
use super::backend::{Got, ProjectError};
use super::forges;
use super::index::Index;
use super::known::{Known, Project, call, check_name, check_repository, new_record};
use super::parallel;
use crate::config::url_fault;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::store::{CachedFile, ProjectPlace, ProjectRecord};
use crate::tree;
use crate::wiki::Wiki;

/// What is known of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectInfo {
    /// The name under which it is asked.
    pub name: String,
    /// What holds it: directory or gitea.
    pub backend: String,
    /// Where it is: a directory, or the address of a repository.
    pub place: String,
    /// How it came to be known: added, configured, or found by a sync.
    pub known_by: String,
    /// The branch that is read; null where there is none.
    pub branch: Option<String>,
    /// Whether it has a .wiki/index.md, or is a wiki of this program.
    pub has_wiki: bool,
    /// How many pages its index lists; null where it is not read here.
    pub page_count: Option<usize>,
    /// First line of its .tasks/STATUS.md.
    pub status: Option<String>,
    /// When it was read last; null when never, or where it is read each time it is asked.
    pub synced_at: Option<String>,
    /// Why it cannot be asked, or why the last sync failed.
    pub error: Option<String>,
}

/// How a sync went.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SyncOutcome {
    /// Projects that were read.
    pub synced: u64,
    /// Repositories with neither .wiki/index.md nor .tasks/STATUS.md.
    pub skipped: u64,
    /// Projects that could not be read; what was known of them stays.
    pub failed: u64,
    /// Forges that could not be listed, and lists that were not whole.
    pub faults: Vec<String>,
}

/// Projects, and what was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectsReport {
    /// The projects that this is about, by name: all of them for list and sync.
    pub projects: Vec<ProjectInfo>,
    /// Names that can no longer be asked.
    pub removed: Vec<String>,
    /// How the sync went, where there was one.
    pub sync: Option<SyncOutcome>,
}

/// Where a project is that somebody adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddedPlace {
    /// A directory.
    Directory(PathBuf),
    /// A repository on a Gitea or Forgejo server.
    Gitea {
        /// Base address of the server.
        url: String,
        /// Who it belongs to.
        owner: String,
        /// Its name; that of the project when not given.
        repo: Option<String>,
        /// The branch; the default branch when not given.
        branch: Option<String>,
    },
}

/// Lists the projects that can be asked. Reads no project.
///
/// # Errors
/// `NOT_INITIALIZED`, and those of the store.
pub fn list(wiki: &Wiki, ctx: &Context) -> Result<ProjectsReport> {
    let known = Known::of(wiki, ctx)?;
    Ok(ProjectsReport {
        projects: known.projects.values().map(|it| info(&known, it)).collect(),
        ..ProjectsReport::default()
    })
}

/// Adds a project by name, and reads it. One that cannot be read now is added all the same.
///
/// # Errors
/// `INVALID_ARGUMENT` for a name or a place that cannot be meant; `CONFLICT` for a name that is
/// taken; `NOT_INITIALIZED`, and those of the store.
pub fn add(wiki: &Wiki, ctx: &Context, name: &str, place: AddedPlace) -> Result<ProjectsReport> {
    check_name(name)?;
    let place = match place {
        AddedPlace::Directory(path) => {
            let Some(path) = tree::resolved(&path) else {
                return Err(Error::new(
                    ErrorCode::InvalidArgument,
                    format!("there is no directory {}", path.display()),
                )
                .with_hint("name a folder that holds .wiki or .llmwiki, or such a folder itself"));
            };
            ProjectPlace::Directory(path.as_os_str().as_bytes().to_vec())
        }
        AddedPlace::Gitea {
            url,
            owner,
            repo,
            branch,
        } => {
            if let Some(what) = url_fault(&url) {
                // What is wrong with it may be that it holds a key.
                return Err(Error::new(
                    ErrorCode::InvalidArgument,
                    format!("the address of the server {what}"),
                )
                .with_hint("give its base address, for example https://git.example.org"));
            }
            let repo = repo.unwrap_or_else(|| name.to_owned());
            let branch = branch.unwrap_or_default();
            check_repository(&owner, &repo, &branch)?;
            ProjectPlace::Gitea {
                url: url.trim_end_matches('/').to_owned(),
                forge: String::new(),
                owner,
                repo,
                id: 0,
                branch,
            }
        }
    };
    let known = Known::of(wiki, ctx)?;
    if let Some(taken) = known.projects.get(name) {
        return Err(Error::new(
            ErrorCode::Conflict,
            format!(
                "project {name} is known already: {}",
                shown(&taken.record.place)
            ),
        )
        .with_hint(format!(
            "take another name, or `llmwiki projects remove {name}` first"
        )));
    }
    let mut project = Project {
        name: name.to_owned(),
        record: new_record(place, true),
        configured: false,
    };
    wiki.put_projects(ctx, &[(name, &project.record)], &[])?;
    let read = read(&known, &project, ctx);
    let outcome = settle(&mut project, read, ctx);
    ctx.check()?;
    wiki.put_projects(ctx, &[(name, &project.record)], &[])?;
    Ok(ProjectsReport {
        projects: vec![info(&known, &project)],
        removed: Vec::new(),
        sync: Some(outcome),
    })
}

/// Removes a project that was added or found, with what is cached of it.
///
/// # Errors
/// `PROJECT_UNKNOWN`; `INVALID_ARGUMENT` for one that the configuration names.
pub fn remove(wiki: &Wiki, ctx: &Context, name: &str) -> Result<ProjectsReport> {
    let known = Known::of(wiki, ctx)?;
    let Some(project) = known.projects.get(name) else {
        return Err(Error::new(
            ErrorCode::ProjectUnknown,
            format!("there is no project {name}"),
        )
        .with_hint("`llmwiki projects list` shows the names"));
    };
    if project.configured {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            format!("project {name} is named in the configuration"),
        )
        .with_hint(format!("take [projects.{name}] out of config.toml")));
    }
    wiki.put_projects(ctx, &[], &[name])?;
    Ok(ProjectsReport {
        removed: vec![name.to_owned()],
        ..ProjectsReport::default()
    })
}

/// Reads every project that was added or is configured, and every repository that the users of the
/// configured forges can read.
///
/// # Errors
/// `NOT_INITIALIZED`, `ABORTED`, and those of the store. What fails at single projects and forges is
/// in the report.
pub fn sync(wiki: &Wiki, ctx: &Context) -> Result<ProjectsReport> {
    let known = Known::of(wiki, ctx)?;
    let mut outcome = SyncOutcome::default();
    let mut removed = Vec::new();
    let mut jobs: Vec<Project> = known
        .projects
        .values()
        .filter(|it| it.record.added || it.configured)
        .cloned()
        .collect();
    forges::list(&known, ctx, &mut jobs, &mut removed, &mut outcome)?;
    // What only the configuration named, and names no more.
    for project in known.projects.values() {
        if !project.record.added && !project.configured && !is_listed(&project.record.place) {
            removed.push(project.name.clone());
        }
    }
    if !removed.is_empty() {
        let names: Vec<&str> = removed.iter().map(String::as_str).collect();
        wiki.put_projects(ctx, &[], &names)?;
    }
    let total = jobs.len() as u64;
    let mut done = 0;
    let mut stopped = None;
    let mut seen = BTreeSet::new();
    parallel::for_each(
        &jobs,
        Project::group,
        |group| known.connections(group),
        |project| read(&known, project, ctx),
        |at, read| {
            done += 1;
            ctx.progress("reading projects", done, Some(total));
            let mut project = jobs[at].clone();
            if stopped.is_some() || matches!(read, Err(ProjectError::Aborted)) {
                return;
            }
            let one = settle(&mut project, read, ctx);
            outcome.synced += one.synced;
            outcome.skipped += one.skipped;
            outcome.failed += one.failed;
            let is_kept = one.skipped == 0 || project.record.added || project.configured;
            let is_there = known.projects.contains_key(&project.name);
            let put = if is_kept {
                seen.insert(project.name.clone());
                wiki.put_projects(ctx, &[(&project.name, &project.record)], &[])
            } else if is_there {
                removed.push(project.name.clone());
                wiki.put_projects(ctx, &[], &[&project.name])
            } else {
                Ok(())
            };
            stopped = put.err();
        },
    );
    if let Some(error) = stopped {
        return Err(error);
    }
    ctx.check()?;
    removed.sort();
    let known = Known::of(wiki, ctx)?;
    Ok(ProjectsReport {
        projects: known.projects.values().map(|it| info(&known, it)).collect(),
        removed,
        sync: Some(outcome),
    })
}

/// Whether a sync of a forge found the project.
fn is_listed(place: &ProjectPlace) -> bool {
    matches!(place, ProjectPlace::Gitea { forge, .. } if !forge.is_empty())
}

/// What was read of a project.
struct ReadProject {
    default_branch: String,
    id: u64,
    index: Option<CachedFile>,
    status: Option<CachedFile>,
    files: Vec<String>,
    is_live: bool,
    note: Option<String>,
}

/// Reads what there is to be known of a project before it is asked.
fn read(known: &Known<'_>, project: &Project, ctx: &Context) -> Result<ReadProject, ProjectError> {
    let deadline = known
        .deadline(&[project])
        .map_err(|cause| ProjectError::Failed(cause.explained()))?;
    let call = call(ctx, deadline);
    let backend = known.open(project)?;
    let record = &project.record;
    let is_live = project.group().is_empty();
    let (mut default_branch, mut id) = (record.default_branch.clone(), 0);
    if let ProjectPlace::Gitea { forge, .. } = &record.place
        && forge.is_empty()
    {
        // One that a forge listed came with these.
        let head = backend.head(call)?;
        (default_branch, id) = (head.default_branch, head.id);
    }
    // The default branch may be another one than the last time.
    let mut now = project.clone();
    now.record.default_branch.clone_from(&default_branch);
    let same_branch = default_branch == record.default_branch;
    let backend = known.open(&now)?;
    let known_index = record.index.as_ref().filter(|_| same_branch);
    let etag = known_index.map_or("", |file| file.etag.as_str());
    let index = taken(backend.index(etag, call)?, known_index)?;
    let known_status = record.status.as_ref().filter(|_| same_branch);
    let etag = known_status.map_or("", |file| file.etag.as_str());
    let (status, note) = match backend.status(etag, call) {
        Ok(got) => (taken(got, known_status)?, None),
        Err(ProjectError::Aborted) => return Err(ProjectError::Aborted),
        // It is a courtesy; the wiki does not hang on it.
        Err(error) => (record.status.clone(), Some(error.to_string())),
    };
    let files = match &index {
        Some(file) if lists_nothing(file)? => backend.files(call)?,
        _ => Vec::new(),
    };
    Ok(ReadProject {
        default_branch,
        id,
        index,
        status,
        files,
        is_live,
        note,
    })
}

fn taken(got: Got, known: Option<&CachedFile>) -> Result<Option<CachedFile>, ProjectError> {
    match got {
        Got::Absent => Ok(None),
        Got::Same => Ok(known.cloned()),
        Got::New { bytes, etag } => CachedFile::new(&bytes, &etag)
            .map(Some)
            .map_err(|cause| ProjectError::Failed(cause.to_string())),
    }
}

fn lists_nothing(file: &CachedFile) -> Result<bool, ProjectError> {
    let bytes = file
        .bytes()
        .map_err(|cause| ProjectError::Failed(cause.to_string()))?;
    Ok(Index::parse(&bytes).is_ok_and(|index| index.entries.is_empty()))
}

/// Takes what was read into the record. A failure changes nothing but the word about it.
fn settle(
    project: &mut Project,
    read: Result<ReadProject, ProjectError>,
    ctx: &Context,
) -> SyncOutcome {
    let mut outcome = SyncOutcome::default();
    let record = &mut project.record;
    let read = match read {
        Ok(read) => read,
        Err(error) => {
            outcome.failed = 1;
            record.fault = error.to_string();
            return outcome;
        }
    };
    record.fault = read
        .note
        .map_or_else(String::new, |note| format!(".tasks/STATUS.md: {note}"));
    record.synced_at = ctx.now_text();
    record.default_branch = read.default_branch;
    if let ProjectPlace::Gitea { id, .. } = &mut record.place
        && read.id != 0
    {
        *id = read.id;
    }
    if read.index.is_none() && read.status.is_none() && !read.is_live {
        outcome.skipped = 1;
    } else {
        outcome.synced = 1;
    }
    // A directory is read each time that it is asked; nothing of it is kept.
    record.index = read.index.filter(|_| !read.is_live);
    record.status = read.status;
    record.files = if read.is_live { Vec::new() } else { read.files };
    outcome
}

fn info(known: &Known<'_>, project: &Project) -> ProjectInfo {
    let record = &project.record;
    let by = match (project.configured, record.added) {
        (true, _) => "configured",
        (false, true) => "added",
        (false, false) => "found",
    };
    let mut info = ProjectInfo {
        name: project.name.clone(),
        place: shown(&record.place),
        known_by: by.to_owned(),
        status: first_line(record),
        error: Some(record.fault.clone()).filter(|fault| !fault.is_empty()),
        ..ProjectInfo::default()
    };
    match &record.place {
        ProjectPlace::Directory(path) => {
            "directory".clone_into(&mut info.backend);
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            match super::directory::Directory::open(path) {
                Ok(directory) => info.has_wiki = !directory.is_empty(),
                Err(error) => info.error = Some(error.to_string()),
            }
            if info.error.is_none() && !info.has_wiki {
                info.error = Some(ProjectError::NoWiki.to_string());
            }
        }
        ProjectPlace::Gitea { branch, .. } => {
            "gitea".clone_into(&mut info.backend);
            info.has_wiki = record.index.is_some();
            info.synced_at = Some(record.synced_at.clone()).filter(|it| !it.is_empty());
            let read = if branch.is_empty() {
                &record.default_branch
            } else {
                branch
            };
            info.branch = Some(read.clone()).filter(|branch| !branch.is_empty());
            match cached_index(record) {
                Ok(listed) => info.page_count = Some(listed.index.entries.len()),
                Err(error) => {
                    info.error.get_or_insert(error.to_string());
                }
            }
            if let Err(error) = known.forge_of(project) {
                info.error = Some(error.to_string());
            }
        }
    }
    info
}

fn shown(place: &ProjectPlace) -> String {
    match place {
        ProjectPlace::Directory(path) => tree::escape(path),
        ProjectPlace::Gitea {
            url, owner, repo, ..
        } => format!("{url}/{owner}/{repo}"),
    }
}

fn first_line(record: &ProjectRecord) -> Option<String> {
    let bytes = record.status.as_ref()?.bytes().ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text
        .lines()
        .map(|line| line.trim().trim_start_matches('#').trim())
        .find(|line| !line.is_empty())?;
    Some(line.chars().take(120).collect())
}
