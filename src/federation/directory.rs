//! Projects in directories of this machine: a folder that holds `.llmwiki` or `.wiki`, or such a
//! folder itself. A `.llmwiki` is searched with its own index. Read as every file of a wiki is: no
//! link is followed, nothing outside is reached, nothing is written.

use std::path::{Path, PathBuf};

use super::backend::{
    AtCommit, Backend, Call, FoundPage, Got, Head, OwnSearch, ProjectError, Question,
};
use super::index::{MAX_INDEX_BYTES, UNTYPED};
use crate::config::Config;
use crate::context::Context;
use crate::error::{ErrorCode, Result};
use crate::id::{PageId, strip_extension};
use crate::tree::{self, Flow, Kind, RelPath, RootState, Tree, TreeError};
use crate::wiki::{SearchRequest, Wiki};

/// Largest `.tasks/STATUS.md` that is kept.
pub(super) const MAX_STATUS_BYTES: u64 = 64 << 10;
/// How long a snippet of a page's own search is, in bytes.
const SNIPPET_BYTES: usize = 160;

/// A project in a directory.
pub(super) struct Directory {
    tree: Tree,
    layout: Layout,
}

/// What the directory is.
enum Layout {
    /// It holds a wiki of Markdown files below this prefix.
    Wiki(&'static str),
    /// There is a root of ours; the path, and the prefix of its pages.
    Root(PathBuf, &'static str),
    /// Neither.
    Nothing,
}

impl Directory {
    /// Looks at a directory.
    ///
    /// # Errors
    /// `Failed` when there is none, or it cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self, ProjectError> {
        let failed =
            |what: &str| ProjectError::Failed(format!("the directory {} {what}", path.display()));
        let tree = match tree::locate(path).map_err(|cause| unreadable(&cause))? {
            RootState::Ready(tree) => tree,
            RootState::Missing => return Err(failed("does not exist")),
            RootState::Symlink => return Err(failed("is a symbolic link now")),
            RootState::NotDirectory(kind) => return Err(failed(&format!("is {kind}"))),
        };
        let is = |name: &str, kind: Kind| -> Result<bool, ProjectError> {
            let stamp = RelPath::new(name).and_then(|rel| tree.stat(&rel));
            let stamp = stamp.map_err(|cause| unreadable(&cause))?;
            Ok(stamp.is_some_and(|stamp| stamp.kind == kind))
        };
        let is_root = is("pages", Kind::Directory)?
            && (is("sources", Kind::Directory)? || is("schema.md", Kind::File)?);
        let layout = if is(".llmwiki", Kind::Directory)? {
            Layout::Root(path.join(".llmwiki"), ".llmwiki/pages/")
        } else if is(".wiki", Kind::Directory)? {
            Layout::Wiki(".wiki/")
        } else if is_root {
            Layout::Root(path.to_owned(), "pages/")
        } else if is("index.md", Kind::File)? || path.ends_with(".wiki") {
            Layout::Wiki("")
        } else {
            Layout::Nothing
        };
        Ok(Self { tree, layout })
    }

    /// In words, what was found.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.layout, Layout::Nothing)
    }

    fn read(&self, path: &str, limit: u64) -> Result<Got, ProjectError> {
        let read = RelPath::new(path).and_then(|rel| self.tree.read(&rel, limit));
        match read {
            Ok(Some(file)) => Ok(Got::New {
                bytes: file.bytes,
                etag: String::new(),
            }),
            Ok(None) => Ok(Got::Absent),
            Err(cause) => Err(unreadable(&cause)),
        }
    }
}

fn unreadable(cause: &TreeError) -> ProjectError {
    ProjectError::Failed(cause.to_string())
}

impl Backend for Directory {
    fn head(&self, _: Call<'_>) -> Result<Head, ProjectError> {
        Ok(Head::default())
    }

    fn index(&self, _: &str, _: Call<'_>) -> Result<Got, ProjectError> {
        match &self.layout {
            // One byte more than is read as an index, so that it says itself that it is too large.
            Layout::Wiki(prefix) => self.read(&format!("{prefix}index.md"), MAX_INDEX_BYTES),
            _ => Ok(Got::Absent),
        }
    }

    fn status(&self, _: &str, _: Call<'_>) -> Result<Got, ProjectError> {
        self.read(".tasks/STATUS.md", MAX_STATUS_BYTES)
    }

    fn page(&self, path: &PageId, _: &str, limit: u64, _: Call<'_>) -> Result<Got, ProjectError> {
        match &self.layout {
            Layout::Nothing => Err(ProjectError::NoWiki),
            _ => self.read(&self.place_of(path), limit),
        }
    }

    fn place_of(&self, path: &PageId) -> String {
        match &self.layout {
            Layout::Wiki(prefix) | Layout::Root(_, prefix) => format!("{prefix}{path}.md"),
            Layout::Nothing => format!(".wiki/{path}.md"),
        }
    }

    fn files(&self, _: Call<'_>) -> Result<Vec<String>, ProjectError> {
        let Layout::Wiki(prefix) = &self.layout else {
            return Ok(Vec::new());
        };
        let start = match prefix.strip_suffix('/') {
            Some(folder) => RelPath::new(folder).map_err(|cause| unreadable(&cause))?,
            None => RelPath::root(),
        };
        let mut files = Vec::new();
        self.tree
            .walk(&start, &mut |entry| {
                let path = std::str::from_utf8(entry.path).unwrap_or_default();
                let hidden = path
                    .rsplit('/')
                    .next()
                    .is_some_and(|it| it.starts_with('.'));
                if entry.kind == Kind::Directory && hidden && path != ".wiki" {
                    return Flow::SkipDirectory;
                }
                if entry.kind == Kind::File
                    && let Some(below) = path.strip_prefix(prefix)
                    && strip_extension(below).is_some()
                {
                    files.push(below.to_owned());
                }
                Flow::Continue
            })
            .map_err(|cause| unreadable(&cause))?;
        Ok(files)
    }

    fn at_commit(&self, _: Call<'_>) -> Result<AtCommit, ProjectError> {
        // What is read is the working tree, which is that of no commit.
        Ok(None)
    }

    fn search(&self, question: &Question, call: Call<'_>) -> Option<Result<OwnSearch>> {
        let Layout::Root(root, _) = &self.layout else {
            return None;
        };
        Some(search_root(root, question, call.ctx))
    }
}

/// Searches a wiki of somebody else by its own index, and gives each page once.
fn search_root(root: &Path, question: &Question, ctx: &Context) -> Result<OwnSearch> {
    let wiki = Wiki::new(root, Config::default());
    let mut own = ctx.clone();
    own.limits.max_snippet_bytes = SNIPPET_BYTES;
    // Pages of other types and further sections of a page take places among the hits.
    own.limits.max_results = 100;
    let request = SearchRequest {
        query: question.text.clone(),
        limit: None,
        explain: false,
    };
    let report = match wiki.search_untouched(&own, &request) {
        // A question without a word finds nothing.
        Err(error) if error.code() == ErrorCode::InvalidPage => return Ok(OwnSearch::default()),
        report => report?,
    };
    let mut found = OwnSearch::default();
    for hit in report.hits {
        let kind = hit
            .page_id
            .split_once('/')
            .map_or(UNTYPED, |(kind, _)| kind);
        let known = found.pages.iter().any(|page| page.slug == hit.page_id);
        if known || !question.wants(kind) || found.pages.len() == question.limit {
            continue;
        }
        found.pages.push(FoundPage {
            kind: kind.to_owned(),
            title: hit.title,
            snippet: hit.snippet.split_whitespace().collect::<Vec<_>>().join(" "),
            slug: hit.page_id,
        });
    }
    if report.pending > 0 {
        found.notes.push(format!(
            "{} changes in its files are not in its index yet",
            report.pending
        ));
    }
    Ok(found)
}
