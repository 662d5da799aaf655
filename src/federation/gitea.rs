//! Projects on a Gitea or Forgejo server, over its REST API, version 1.

use std::fmt::Write as _;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::backend::{AtCommit, Backend, Call, Got, Head, OwnSearch, ProjectError, Question};
use super::directory::MAX_STATUS_BYTES;
use super::index::MAX_INDEX_BYTES;
use crate::error::Result;
use crate::id::{PageId, strip_extension};
use crate::net::{Answer, Client, NetError, Request};

/// Largest answer that is a list.
const MAX_JSON_BYTES: u64 = 16 << 20;
/// How many entries are asked for at once; a server may give fewer.
const PAGE_SIZE: u32 = 50;
/// How many pages of a list are read: what is longer has no end.
const MAX_PAGES: u32 = 2000;
/// What a segment of an address spells as it is.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl From<NetError> for ProjectError {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Aborted => Self::Aborted,
            error => Self::Failed(error.to_string()),
        }
    }
}

/// A repository as the server tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Repository {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) owner: Owner,
    #[serde(default)]
    pub(super) default_branch: String,
    #[serde(default)]
    pub(super) empty: bool,
}

/// Whom a repository belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Owner {
    pub(super) login: String,
}

/// The repositories that a token's user can read.
#[derive(Debug, Clone, Default)]
pub(super) struct Repositories {
    pub(super) found: Vec<Repository>,
    /// How many the server says there are, where it gave fewer.
    pub(super) missing: u64,
}

/// Lists every repository of the token's user, by owner and name.
pub(super) fn repositories(client: &Client, call: Call<'_>) -> Result<Repositories, ProjectError> {
    let mut repositories = Repositories::default();
    let mut total = None;
    let mut page = 1;
    for _ in 0..MAX_PAGES {
        let path = format!("/api/v1/user/repos?page={page}&limit={PAGE_SIZE}");
        let answer = get(client, &path, "", MAX_JSON_BYTES, call)?;
        let batch: Vec<Repository> = json(client, &answer)?;
        let is_end = batch.is_empty();
        for repository in batch {
            let known = repositories
                .found
                .iter()
                .any(|known| known.id == repository.id);
            if !known {
                repositories.found.push(repository);
            }
        }
        call.ctx.progress(
            "listing repositories",
            repositories.found.len() as u64,
            total,
        );
        total = answer.header("x-total-count").trim().parse().ok().or(total);
        let next = next_page(answer.header("link"));
        let is_whole = total.is_none_or(|total| repositories.found.len() as u64 >= total);
        if is_end || next.is_none() && is_whole {
            repositories
                .found
                .sort_by(|a, b| (&a.owner.login, &a.name).cmp(&(&b.owner.login, &b.name)));
            repositories.missing = total
                .unwrap_or_default()
                .saturating_sub(repositories.found.len() as u64);
            return Ok(repositories);
        }
        // Only ever forward, whatever the server says.
        page = next.filter(|next| *next > page).unwrap_or(page + 1);
    }
    Err(ProjectError::Failed(format!(
        "the list of repositories of {} does not end",
        client.host()
    )))
}

/// The number of the page that `Link` calls the next. Only the number: where a server stands behind
/// another, the addresses that it gives may be its own, and the token goes to no other address.
fn next_page(link: &str) -> Option<u32> {
    link.split(',').find_map(|part| {
        let (address, relation) = part.split_once(';')?;
        relation
            .replace('"', "")
            .contains("rel=next")
            .then_some(())?;
        let address = address.trim().strip_prefix('<')?.strip_suffix('>')?;
        let (_, query) = address.split_once('?')?;
        let mut parameters = query.split('&');
        parameters.find_map(|parameter| parameter.strip_prefix("page=")?.parse().ok())
    })
}

fn get(
    client: &Client,
    path: &str,
    etag: &str,
    limit: u64,
    call: Call<'_>,
) -> Result<Answer, NetError> {
    let request = Request {
        path,
        etag,
        limit,
        deadline: call.deadline,
    };
    client.get(&request, call.ctx)
}

fn json<T: DeserializeOwned>(client: &Client, answer: &Answer) -> Result<T, ProjectError> {
    let failed = |what: &str| ProjectError::Failed(format!("{} {what}", client.host()));
    match answer.status {
        404 => Err(failed(
            "answered 404 (not found, or not to be seen with this token)",
        )),
        _ if is_html(answer) => Err(failed(HTML)),
        _ => serde_json::from_slice(&answer.body)
            .map_err(|_| failed("sent something that is not the JSON of this API")),
    }
}

const HTML: &str = "sent an HTML page; is that the base address of a Gitea or Forgejo server?";

fn is_html(answer: &Answer) -> bool {
    let kind = answer.header("content-type").to_ascii_lowercase();
    kind.starts_with("text/html") || kind.starts_with("application/xhtml")
}

/// A repository.
pub(super) struct Gitea {
    pub(super) client: Arc<Client>,
    pub(super) owner: String,
    pub(super) repo: String,
    /// Branch or commit; empty for the default branch.
    pub(super) reference: String,
}

impl Gitea {
    fn base(&self) -> String {
        format!(
            "/api/v1/repos/{}/{}",
            utf8_percent_encode(&self.owner, KEPT),
            utf8_percent_encode(&self.repo, KEPT)
        )
    }

    fn raw(&self, path: &str, etag: &str, limit: u64, call: Call<'_>) -> Result<Got, ProjectError> {
        let mut address = format!("{}/raw/{}", self.base(), encoded(path));
        if !self.reference.is_empty() {
            let _ = write!(
                address,
                "?ref={}",
                utf8_percent_encode(&self.reference, KEPT)
            );
        }
        let answer = get(&self.client, &address, etag, limit, call)?;
        match answer.status {
            304 => Ok(Got::Same),
            404 => Ok(Got::Absent),
            _ if is_html(&answer) => Err(ProjectError::Failed(format!(
                "{} {HTML}",
                self.client.host()
            ))),
            _ => Ok(Got::New {
                etag: answer.header("etag").to_owned(),
                bytes: answer.body,
            }),
        }
    }
}

/// A path with its segments spelled for an address.
fn encoded(path: &str) -> String {
    let segments = path
        .split('/')
        .map(|segment| utf8_percent_encode(segment, KEPT).to_string());
    segments.collect::<Vec<_>>().join("/")
}

#[derive(Deserialize)]
struct Branch {
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    id: String,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(default)]
    tree: Vec<Listed>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct Listed {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Backend for Gitea {
    fn head(&self, call: Call<'_>) -> Result<Head, ProjectError> {
        let answer = get(&self.client, &self.base(), "", MAX_JSON_BYTES, call)?;
        let repository: Repository = json(&self.client, &answer)?;
        Ok(Head {
            owner: repository.owner.login,
            repo: repository.name,
            id: repository.id,
            default_branch: repository.default_branch,
        })
    }

    fn index(&self, etag: &str, call: Call<'_>) -> Result<Got, ProjectError> {
        self.raw(".wiki/index.md", etag, MAX_INDEX_BYTES, call)
    }

    fn status(&self, etag: &str, call: Call<'_>) -> Result<Got, ProjectError> {
        self.raw(".tasks/STATUS.md", etag, MAX_STATUS_BYTES, call)
    }

    fn page(
        &self,
        path: &PageId,
        etag: &str,
        limit: u64,
        call: Call<'_>,
    ) -> Result<Got, ProjectError> {
        self.raw(&self.place_of(path), etag, limit, call)
    }

    fn place_of(&self, path: &PageId) -> String {
        format!(".wiki/{path}.md")
    }

    fn files(&self, call: Call<'_>) -> Result<Vec<String>, ProjectError> {
        let reference = if self.reference.is_empty() {
            "HEAD"
        } else {
            &self.reference
        };
        let mut files = Vec::new();
        for page in 1..=MAX_PAGES {
            let path = format!(
                "{}/git/trees/{}?recursive=true&per_page=1000&page={page}",
                self.base(),
                utf8_percent_encode(reference, KEPT)
            );
            let answer = get(&self.client, &path, "", MAX_JSON_BYTES, call)?;
            let listing: Listing = json(&self.client, &answer)?;
            let is_end = listing.tree.is_empty() || !listing.truncated;
            let below = listing.tree.iter().filter_map(|listed| {
                let path = listed.path.strip_prefix(".wiki/")?;
                (listed.kind == "blob" && strip_extension(path).is_some()).then(|| path.to_owned())
            });
            files.extend(below);
            if is_end {
                return Ok(files);
            }
        }
        Err(ProjectError::Failed(format!(
            "the list of files of {} does not end",
            self.client.host()
        )))
    }

    fn at_commit(&self, call: Call<'_>) -> Result<AtCommit, ProjectError> {
        let branch = if self.reference.is_empty() {
            self.head(call)?.default_branch
        } else {
            self.reference.clone()
        };
        let path = format!("{}/branches/{}", self.base(), encoded(&branch));
        let answer = get(&self.client, &path, "", MAX_JSON_BYTES, call)?;
        let branch: Branch = json(&self.client, &answer)?;
        let at = Self {
            client: Arc::clone(&self.client),
            owner: self.owner.clone(),
            repo: self.repo.clone(),
            reference: branch.commit.id.clone(),
        };
        Ok(Some((Box::new(at), branch.commit.id)))
    }

    fn search(&self, _: &Question, _: Call<'_>) -> Option<Result<OwnSearch>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_a_number_wherever_the_link_leads() {
        let link = "<https://evil.example/api/v1/user/repos?limit=50&page=3>; rel=\"next\",\
                    <http://h/x?page=9>; rel=\"last\"";
        assert_eq!(next_page(link), Some(3));
        assert_eq!(next_page("<http://h/x?page=9>; rel=\"last\""), None);
        assert_eq!(next_page(""), None);
        assert_eq!(next_page("<http://h/x?page=-1>; rel=\"next\""), None);
    }

    #[test]
    fn a_path_is_spelled_so_that_it_stays_where_it_is() {
        assert_eq!(
            encoded(".wiki/a b/c?d#e%2f.md"),
            ".wiki/a%20b/c%3Fd%23e%252f.md"
        );
    }
}
