//! The text of one page of another project, as it is there now.

use schemars::JsonSchema;
use serde::Serialize;

use super::ask::{cached_index, live_index};
use super::backend::{Got, ProjectError};
use super::known::{Known, call};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{PageId, strip_extension};
use crate::wiki::Wiki;

/// A page of another project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GetFromReport {
    /// The project, as it was named.
    pub project: String,
    /// The page, as it was named.
    pub slug: String,
    /// Its file in the project.
    pub path: String,
    /// The commit that it was read at, where the project is a repository on a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What names it as the origin of a source: project, path and commit.
    pub origin: String,
    /// The text, or the range of it that was asked for.
    pub content: String,
    /// First byte that is here.
    pub byte_start: u64,
    /// The byte behind the last one that is here.
    pub byte_end: u64,
    /// Length of the whole page.
    pub byte_count: u64,
    /// Id of the source that keeps the whole page here, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_source: Option<String>,
}

/// Reads a page of another project.
///
/// # Errors
/// `PROJECT_UNKNOWN`; `PAGE_NOT_FOUND`; `INVALID_PATH` for a slug that leads elsewhere;
/// `INVALID_CONFIG` for a forge that is not configured; `REMOTE_FAILED`; `LIMIT_EXCEEDED` for a page
/// larger than a source may be.
pub fn get_from(wiki: &Wiki, ctx: &Context, project: &str, slug: &str) -> Result<GetFromReport> {
    let known = Known::of(wiki, ctx)?;
    let Some(found) = known.find(project) else {
        return Err(Error::new(
            ErrorCode::ProjectUnknown,
            format!("{}: {project}", ProjectError::Unknown),
        )
        .with_hint(
            "`llmwiki projects list` shows the projects that can be asked, `llmwiki projects sync` \
             finds those of your forges",
        ));
    };
    let slug_id = slug_of(slug)?;
    let deadline = known.deadline(&[found])?;
    let call = call(ctx, deadline);
    let remote = |error: ProjectError| remote(error, project);
    let backend = known.open(found).map_err(remote)?;
    let listed = if found.group().is_empty() {
        live_index(&*backend, ctx, deadline)
    } else {
        cached_index(&found.record)
    };
    // A page that no index lists may be there all the same.
    let entry = listed.ok().and_then(|listed| {
        let entry = listed.index.find(&slug_id)?;
        Some(entry.paths.clone())
    });
    let paths = entry.unwrap_or_else(|| vec![slug_id.clone()]);
    let (backend, commit) = match backend.at_commit(call).map_err(remote)? {
        Some((at, commit)) => (at, Some(commit)),
        None => (backend, None),
    };
    let limit = ctx.limits.max_source_bytes;
    for path in &paths {
        let got = backend.page(path, "", limit, call).map_err(remote)?;
        let Got::New { bytes, .. } = got else {
            continue;
        };
        let place = backend.place_of(path);
        let content = String::from_utf8(bytes).map_err(|_| {
            Error::new(
                ErrorCode::RemoteFailed,
                format!("{project}/{place} is not UTF-8"),
            )
        })?;
        let at = commit.as_ref().map(|commit| format!("@{commit}"));
        let byte_count = content.len() as u64;
        return Ok(GetFromReport {
            project: project.to_owned(),
            slug: slug.to_owned(),
            origin: format!("project:{}/{place}{}", found.name, at.unwrap_or_default()),
            path: place,
            commit,
            content,
            byte_start: 0,
            byte_end: byte_count,
            byte_count,
            saved_source: None,
        });
    }
    Err(Error::new(
        ErrorCode::PageNotFound,
        format!("page not found: {project}/{}", backend.place_of(&slug_id)),
    )
    .with_hint("`llmwiki ask-projects WORDS --project NAME` gives slugs as they are taken here"))
}

/// A slug, with or without what surrounds it in the project.
fn slug_of(slug: &str) -> Result<PageId> {
    let inner = slug.strip_prefix(".wiki/").unwrap_or(slug);
    let inner = strip_extension(inner).unwrap_or(inner);
    PageId::parse(inner).map_err(|cause| {
        Error::new(
            ErrorCode::InvalidPath,
            format!("slug {inner:?} {}", cause.reason),
        )
        .with_hint(
            "a slug is a type and a path without .md, for example concepts/retries, as \
             ask-projects gives it",
        )
    })
}

fn remote(error: ProjectError, project: &str) -> Error {
    match error {
        ProjectError::Aborted => Error::new(ErrorCode::Aborted, "the operation was cancelled"),
        ProjectError::Unknown => Error::new(
            ErrorCode::ProjectUnknown,
            format!("{}: {project}", ProjectError::Unknown),
        ),
        error => Error::new(
            ErrorCode::RemoteFailed,
            format!("project {project}: {error}"),
        )
        .with_hint("`llmwiki projects list` shows where it is and how its last sync went"),
    }
}

impl GetFromReport {
    /// Keeps a range of the text, cut at characters.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a range that begins behind the end or inside a character.
    pub fn keep_range(&mut self, offset: u64, limit: Option<u64>) -> Result<()> {
        let start = usize::try_from(offset)
            .ok()
            .filter(|&start| self.content.is_char_boundary(start));
        let Some(start) = start else {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                format!(
                    "offset {offset} is behind the end of the page ({} bytes) or inside a character",
                    self.byte_count
                ),
            )
            .with_hint("go on where the last answer ended"));
        };
        self.content.drain(..start);
        self.byte_start = offset;
        let kept = limit.map_or(self.content.len(), |limit| {
            let most = usize::try_from(limit).unwrap_or(usize::MAX);
            let first = self.content.chars().next().map_or(0, char::len_utf8);
            // At least one character, so that whoever reads on moves on.
            let most = most.clamp(first, self.content.len());
            self.content.floor_char_boundary(most)
        });
        self.keep(kept);
        Ok(())
    }

    /// Keeps the first `bytes` of the text that is here.
    pub fn keep(&mut self, bytes: usize) {
        self.content.truncate(bytes);
        self.byte_end = self.byte_start + self.content.len() as u64;
    }
}
