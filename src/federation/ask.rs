//! A question to the projects that are named, and to no other. Each gives the pages whose slug or
//! title holds the words; their texts are read where they are, for the stretch around the words.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use super::backend::{Backend, FoundPage, Got, ProjectError, Question, failed};
use super::index::{Entry, Index};
use super::known::{Known, Project, call};
use super::{fold, parallel, snippet};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::store::{CachedFile, ProjectRecord};
use crate::wiki::{FetchedPage, Wiki};

/// Matches of a project when nobody says.
pub const DEFAULT_LIMIT: usize = 5;
/// Most matches of a project.
pub const MAX_LIMIT: usize = 20;
/// Length of a snippet in characters.
const SNIPPET_CHARS: usize = 80;
/// What stands in the place of a snippet when the page could not be read.
const FETCH_FAILED: &str = "(fetch failed)";

/// A question to other projects.
#[derive(Debug, Clone, Default)]
pub struct AskProjectsRequest {
    /// What to look for.
    pub query: String,
    /// Whom to ask; at least one.
    pub projects: Vec<String>,
    /// At most this many matches a project, 1 to 20.
    pub limit: Option<usize>,
    /// Only pages of these types; all but `raw` when empty.
    pub types: Vec<String>,
}

/// A page that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProjectMatch {
    /// The page, as `get-from` takes it.
    pub slug: String,
    /// Its type: entities, concepts, packages, sources, raw, or another folder.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its title.
    pub title: String,
    /// Its text around the words, or "(fetch failed)".
    pub snippet: String,
    /// Why its text could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_error: Option<String>,
}

/// What one project answers: matches, or an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProjectAnswer {
    /// The project, as it was named.
    pub project: String,
    /// The pages that answer; none is an answer too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<Vec<ProjectMatch>>,
    /// Pages that match beyond the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<usize>,
    /// When its index was read; absent where it is read just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_synced_at: Option<String>,
    /// How old the index is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_age_seconds: Option<i64>,
    /// What else is to be known of this answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why it gives no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What all of them answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AskProjectsReport {
    /// Whom was asked.
    pub asked_projects: Vec<String>,
    /// One answer a project, in that order.
    pub results: Vec<ProjectAnswer>,
    /// What to do next.
    pub next_action_hint: String,
}

/// What is known before any page is read.
struct Candidates<'k> {
    project: &'k Project,
    backend: Box<dyn Backend>,
    entries: Vec<Entry>,
    /// Answers of a place that searches by itself.
    found: Vec<FoundPage>,
    more: usize,
    notes: Vec<String>,
    is_live: bool,
}

/// A page to be read.
struct Job<'c> {
    at: usize,
    entry: &'c Entry,
    candidates: &'c Candidates<'c>,
    cached: Vec<Option<CachedFile>>,
}

/// Asks the named projects.
///
/// # Errors
/// `INVALID_ARGUMENT` for a question to nobody or without words, `LIMIT_EXCEEDED` for a limit of 0,
/// `INVALID_CONFIG` for a forge that is needed and not configured, `ABORTED`. A single project that
/// fails is no error of the whole.
pub fn ask_projects(
    wiki: &Wiki,
    ctx: &Context,
    request: &AskProjectsRequest,
) -> Result<AskProjectsReport> {
    let question = question_of(request)?;
    let mut names: Vec<&str> = Vec::new();
    for name in &request.projects {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let known = Known::of(wiki, ctx)?;
    let asked: Vec<Option<&Project>> = names.iter().map(|name| known.find(name)).collect();
    let there: Vec<&Project> = asked.iter().flatten().copied().collect();
    // A forge that is not configured fails the whole, before anybody is asked.
    let deadline = known.deadline(&there)?;
    let prepared: Vec<Result<Candidates<'_>, ProjectError>> = asked
        .iter()
        .map(|project| {
            let project = project.ok_or(ProjectError::Unknown)?;
            candidates(&known, project, &question, ctx, deadline)
        })
        .collect();
    ctx.check()?;
    let mut jobs = Vec::new();
    for (at, candidates) in prepared.iter().enumerate() {
        let Ok(candidates) = candidates else { continue };
        for entry in &candidates.entries {
            let wanted: Vec<(&str, String)> = entry
                .paths
                .iter()
                .map(|path| {
                    let place = candidates.backend.place_of(path);
                    (candidates.project.name.as_str(), place)
                })
                .collect();
            let cached = if candidates.is_live {
                vec![None; wanted.len()]
            } else {
                wiki.project_pages(ctx, &wanted)?
            };
            jobs.push(Job {
                at,
                entry,
                candidates,
                cached,
            });
        }
    }
    let limit = ctx.limits.max_source_bytes;
    let mut done = 0;
    let total = jobs.len() as u64;
    let mut texts: Vec<Option<Result<Fetched, ProjectError>>> = jobs.iter().map(|_| None).collect();
    parallel::for_each(
        &jobs,
        |job| job.candidates.project.group(),
        |group| known.connections(group),
        |job| fetch(job, limit, ctx, deadline),
        |at, text| {
            done += 1;
            ctx.progress("reading pages of other projects", done, Some(total));
            texts[at] = Some(text);
        },
    );
    ctx.check()?;
    let mut kept: Vec<FetchedPage> = Vec::new();
    let mut matches: Vec<Vec<ProjectMatch>> = prepared.iter().map(|_| Vec::new()).collect();
    for (job, text) in jobs.iter().zip(texts) {
        let (shown, fetch_error) = match text {
            Some(Ok(fetched)) => {
                let text = page_text(&fetched.bytes);
                if let Some((path, etag)) = fetched.new {
                    let file = CachedFile::new(&fetched.bytes, &etag)?;
                    kept.push((job.candidates.project.name.clone(), path, file));
                }
                (shown(&text, &question.needle, job.entry), None)
            }
            Some(Err(error)) => (FETCH_FAILED.to_owned(), Some(error.to_string())),
            None => (FETCH_FAILED.to_owned(), None),
        };
        matches[job.at].push(ProjectMatch {
            slug: job.entry.slug.to_string(),
            kind: job.entry.kind.clone(),
            title: job.entry.title.clone(),
            snippet: shown,
            fetch_error,
        });
    }
    drop(jobs);
    wiki.keep_project_pages(ctx, &kept)?;
    let mut results = Vec::new();
    for ((name, prepared), fetched) in names.iter().zip(prepared).zip(matches) {
        results.push(answer(name, prepared, fetched, ctx)?);
    }
    let next_action_hint = hint(&results);
    Ok(AskProjectsReport {
        asked_projects: names.into_iter().map(str::to_owned).collect(),
        results,
        next_action_hint,
    })
}

fn question_of(request: &AskProjectsRequest) -> Result<Question> {
    if request.projects.is_empty() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "projects is empty, and nobody is asked unnamed",
        )
        .with_hint("name the projects to ask; `llmwiki projects list` shows them"));
    }
    let text = request.query.trim();
    if text.is_empty() {
        return Err(
            Error::new(ErrorCode::InvalidArgument, "the question is empty")
                .with_hint("give the words to look for"),
        );
    }
    let limit = match request.limit {
        Some(0) => {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!("limit 0 is not between 1 and {MAX_LIMIT}"),
            )
            .with_hint("leave it out for the default"));
        }
        limit => limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
    };
    Ok(Question {
        text: text.to_owned(),
        needle: fold(&one_space(text)),
        limit,
        types: request.types.iter().map(|kind| fold(kind.trim())).collect(),
    })
}

fn one_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn candidates<'k>(
    known: &Known<'_>,
    project: &'k Project,
    question: &Question,
    ctx: &Context,
    deadline: Instant,
) -> Result<Candidates<'k>, ProjectError> {
    let backend = known.open(project)?;
    let mut candidates = Candidates {
        project,
        entries: Vec::new(),
        found: Vec::new(),
        more: 0,
        notes: Vec::new(),
        is_live: project.group().is_empty(),
        backend,
    };
    if let Some(found) = candidates.backend.search(question, call(ctx, deadline)) {
        let found = found.map_err(|cause| failed(&cause))?;
        candidates.found = found.pages;
        candidates.notes = found.notes;
        return Ok(candidates);
    }
    let index = if candidates.is_live {
        live_index(&*candidates.backend, ctx, deadline)?
    } else {
        cached_index(&project.record)?
    };
    if index.is_of_files {
        candidates.notes.push(NO_ENTRY.to_owned());
    }
    if !project.record.fault.is_empty() {
        candidates
            .notes
            .push(format!("the last sync: {}", project.record.fault));
    }
    let mut chosen = select(&index.index, question);
    candidates.more = chosen.len().saturating_sub(question.limit);
    chosen.truncate(question.limit);
    candidates.entries = chosen.into_iter().cloned().collect();
    Ok(candidates)
}

const NO_ENTRY: &str = "its index lists no page: the files below .wiki/ stand in for it";

/// An index, or the files that stand in for one.
pub(super) struct Listed {
    pub(super) index: Index,
    pub(super) is_of_files: bool,
}

/// The index of a project that is read where it is.
pub(super) fn live_index(
    backend: &dyn Backend,
    ctx: &Context,
    deadline: Instant,
) -> Result<Listed, ProjectError> {
    let call = call(ctx, deadline);
    let Got::New { bytes, .. } = backend.index("", call)? else {
        return Err(ProjectError::NoWiki);
    };
    let index = Index::parse(&bytes)?;
    if !index.entries.is_empty() {
        return Ok(Listed {
            index,
            is_of_files: false,
        });
    }
    let files = backend.files(call)?;
    Ok(of_files(&files, index))
}

/// The index of a project as it was read last.
pub(super) fn cached_index(record: &ProjectRecord) -> Result<Listed, ProjectError> {
    let Some(file) = &record.index else {
        return Err(match (record.synced_at.is_empty(), &record.fault) {
            (false, _) => ProjectError::NoWiki,
            (true, fault) if fault.is_empty() => ProjectError::Unknown,
            (true, fault) => ProjectError::Failed(fault.clone()),
        });
    };
    let bytes = file
        .bytes()
        .map_err(|cause| ProjectError::Failed(cause.to_string()))?;
    let index = Index::parse(&bytes)?;
    if index.entries.is_empty() {
        return Ok(of_files(&record.files, index));
    }
    Ok(Listed {
        index,
        is_of_files: false,
    })
}

fn of_files(files: &[String], empty: Index) -> Listed {
    let index = Index::of_files(files.iter().map(String::as_str));
    let is_of_files = !index.entries.is_empty();
    Listed {
        index: if is_of_files { index } else { empty },
        is_of_files,
    }
}

/// The entries that hold the words: first those whose slug or title holds them as they were asked,
/// then those where each word stands somewhere in slug, title or description. In index order.
fn select<'i>(index: &'i Index, question: &Question) -> Vec<&'i Entry> {
    let words: Vec<&str> = question.needle.split(' ').collect();
    let (mut whole, mut loose) = (Vec::new(), Vec::new());
    for entry in index.entries.iter().filter(|it| question.wants(&it.kind)) {
        let slug = fold(entry.slug.as_str());
        let spaced = slug.replace(['-', '_', '/'], " ");
        let title = fold(&entry.title);
        let holds = |text: &str| text.contains(&question.needle);
        if holds(&slug) || holds(&title) || holds(&spaced) {
            whole.push(entry);
            continue;
        }
        let description = fold(&entry.description);
        let is_somewhere = |word: &&str| {
            spaced.contains(word) || title.contains(word) || description.contains(word)
        };
        if words.iter().all(is_somewhere) {
            loose.push(entry);
        }
    }
    whole.append(&mut loose);
    whole
}

/// The bytes of a page, and where they are to be kept when they are new.
struct Fetched {
    bytes: Vec<u8>,
    new: Option<(String, String)>,
}

fn fetch(
    job: &Job<'_>,
    limit: u64,
    ctx: &Context,
    deadline: Instant,
) -> Result<Fetched, ProjectError> {
    let backend = &job.candidates.backend;
    for (path, cached) in job.entry.paths.iter().zip(&job.cached) {
        let etag = cached.as_ref().map_or("", |file| file.etag.as_str());
        match backend.page(path, etag, limit, call(ctx, deadline))? {
            Got::Absent => {}
            Got::Same => {
                let known = cached.as_ref().map(CachedFile::bytes).transpose();
                let known = known.map_err(|cause| ProjectError::Failed(cause.to_string()))?;
                return Ok(Fetched {
                    bytes: known.unwrap_or_default(),
                    new: None,
                });
            }
            Got::New { bytes, etag } => {
                // Without a name for the version it is no use to keep it.
                let new = (!job.candidates.is_live && !etag.is_empty())
                    .then(|| (backend.place_of(path), etag));
                return Ok(Fetched { bytes, new });
            }
        }
    }
    Err(ProjectError::Failed(format!(
        "page not found: {}/{}",
        job.candidates.project.name,
        backend.place_of(&job.entry.paths[0])
    )))
}

/// The text of a page without its front matter.
fn page_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let text = text.trim_start_matches('\u{feff}');
    let body = text
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(text, |(_, body)| body);
    body.to_owned()
}

/// The stretch of a text around the words; around the first of them that stands there where all of
/// them do not; what the index says where the text says nothing.
fn shown(text: &str, needle: &str, entry: &Entry) -> String {
    let folded = fold(text);
    let place = std::iter::once(needle)
        .chain(needle.split(' '))
        .find(|part| folded.contains(part))
        .unwrap_or_default();
    let shown = snippet(text, place, SNIPPET_CHARS);
    if shown.is_empty() {
        entry.description.clone()
    } else {
        shown
    }
}

fn answer(
    name: &str,
    prepared: Result<Candidates<'_>, ProjectError>,
    fetched: Vec<ProjectMatch>,
    ctx: &Context,
) -> Result<ProjectAnswer> {
    let mut answer = ProjectAnswer {
        project: name.to_owned(),
        ..ProjectAnswer::default()
    };
    let candidates = match prepared {
        Ok(candidates) => candidates,
        Err(ProjectError::Aborted) => {
            ctx.check()?;
            return Err(Error::new(
                ErrorCode::Aborted,
                "the operation was cancelled",
            ));
        }
        Err(error) => {
            answer.error = Some(error.to_string());
            return Ok(answer);
        }
    };
    let own = candidates.found.into_iter().map(|page| ProjectMatch {
        slug: page.slug,
        kind: page.kind,
        title: page.title,
        snippet: page.snippet,
        fetch_error: None,
    });
    answer.matches = Some(own.chain(fetched).collect());
    answer.more = Some(candidates.more).filter(|more| *more > 0);
    answer.notes = candidates.notes;
    if !candidates.is_live {
        let synced_at = &candidates.project.record.synced_at;
        answer.index_age_seconds = synced_at
            .parse()
            .ok()
            .map(|then| ctx.now().duration_since(then).as_secs().max(0));
        answer.index_synced_at = Some(synced_at.clone()).filter(|it| !it.is_empty());
    }
    Ok(answer)
}

fn hint(results: &[ProjectAnswer]) -> String {
    let found = results.iter().any(|answer| {
        let matches = answer.matches.as_ref();
        matches.is_some_and(|matches| !matches.is_empty())
    });
    let unknown = results
        .iter()
        .any(|answer| answer.error.as_deref() == Some(ProjectError::Unknown.to_string().as_str()));
    let next = if found {
        "knowledge_get_from with project and slug gives the full text of a page."
    } else {
        "None of them knows. Other words may match; else file a request with the project \
         (tasks.create, where the host has it)."
    };
    if unknown {
        format!("{next} A project that is unknown here may be found by `llmwiki projects sync`.")
    } else {
        next.to_owned()
    }
}
