//! What a reader opens, each with what stands around it at the same moment: a page with where its
//! links lead, who links to it and what it rests on; a source with who cites it; a file of the
//! project; a folder of pages.

use std::collections::BTreeSet;

use super::code_find::read_now;
use super::links::Lookup;
use super::pages::PageSummary;
use super::root::Wiki;
use super::session::Reading;
use super::sources::{ReadSourceReport, SourceMetadata, metadata_of};
use crate::code::redact;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, PageId, SourceId};
use crate::page::{self, Link, Page, Resolution, resolve};
use crate::store::{PageRecord, StoreError};

use super::ReadPageReport;

/// A page that was opened.
#[derive(Debug, Clone)]
pub struct OpenPage {
    /// The page as `read-page` gives it, whole.
    pub report: ReadPageReport,
    /// Its text, taken apart; nothing for a text that is no page.
    pub page: Option<Page>,
    /// Where each link of the body leads now.
    pub links: Vec<(Link, Resolution)>,
    /// The pages that link here, in id order.
    pub backlinks: Vec<PageSummary>,
    /// What the page cites: in its frontmatter or by a claim; nothing is known of a source that
    /// is not there.
    pub sources: Vec<(SourceId, Option<SourceMetadata>)>,
    /// What stands beside it in its folder.
    pub folder: Folder,
}

/// A source that was opened.
#[derive(Debug, Clone)]
pub struct OpenSource {
    /// The source as `read-source` gives it, whole, verified now.
    pub report: ReadSourceReport,
    /// The pages that cite it, in id order.
    pub cited_by: Vec<PageSummary>,
}

/// A file of the project that was opened.
#[derive(Debug, Clone)]
pub struct OpenCode {
    /// Path below the project.
    pub file: String,
    /// Its text as it is now, without secrets and names of people; no line is moved.
    pub text: String,
    /// SHA-256 of its bytes.
    pub sha256: ContentHash,
    /// Name of its language.
    pub language: String,
    /// Whether it is as the index knows it.
    pub fresh: bool,
    /// How much was taken out of the text.
    pub redacted: u32,
}

/// The pages of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folder {
    /// Its path without the slash at the end; empty for the top.
    pub path: String,
    /// Paths of the folders in it, in order; those behind the cursor.
    pub folders: Vec<String>,
    /// The pages right in it, in id order.
    pub pages: Vec<PageSummary>,
    /// The id to go on behind; nothing at the end.
    pub next: Option<String>,
}

impl Wiki {
    /// What people call the wiki: the name of the project's directory, else of its own.
    pub fn name(&self) -> String {
        let directory = self.project_directory();
        let root = std::path::absolute(self.root()).unwrap_or_else(|_| self.root().to_owned());
        let directory = directory.unwrap_or(root);
        let name = directory.file_name().map(|name| name.to_string_lossy());
        name.map_or_else(|| "wiki".to_owned(), std::borrow::Cow::into_owned)
    }

    /// Opens a page, now or at a revision.
    ///
    /// # Errors
    /// As [`Wiki::read_page`].
    pub fn open_page(&self, ctx: &Context, id: &PageId, at: Option<&str>) -> Result<OpenPage> {
        self.mending(ctx, || {
            let reading = self.reading(ctx)?;
            let report = Self::read_page_in(&reading, ctx, id, at)?;
            let page = page::parse(&report.markdown).ok();
            let lookup = Lookup::new(&reading.snapshot);
            let mut cited: BTreeSet<SourceId> = BTreeSet::new();
            let mut links = Vec::new();
            if let Some(page) = &page {
                cited.extend(&page.sources);
                let found = page::references(&page.body, page.body_start_line);
                cited.extend(found.citations.into_iter().filter_map(|it| it.source.ok()));
                links = found
                    .links
                    .into_iter()
                    .map(|link| {
                        let leads = resolve(id, &link, &lookup);
                        (link, leads)
                    })
                    .collect();
            }
            lookup.told()?;
            let mut sources = Vec::with_capacity(cited.len());
            for id in cited {
                let record = reading.snapshot.source(id)?;
                sources.push((id, record.map(|record| metadata_of(id, record).into())));
            }
            let backlinks = report.backlinks.iter().map(|id| PageId::parse(id));
            let backlinks = backlinks.collect::<std::result::Result<Vec<_>, _>>()?;
            Ok(OpenPage {
                backlinks: summaries(&reading, backlinks)?,
                folder: folder_of(&reading, ctx, id.parent(), None, BESIDE)?,
                report,
                page,
                links,
                sources,
            })
        })
    }

    /// Opens a source.
    ///
    /// # Errors
    /// As [`Wiki::read_source`].
    pub fn open_source(&self, ctx: &Context, id: SourceId) -> Result<OpenSource> {
        self.mending(ctx, || {
            let reading = self.reading(ctx)?;
            let report = Self::read_source_in(&reading, ctx, id, None, None)?;
            let cited_by = summaries(&reading, reading.snapshot.pages_citing(id)?)?;
            Ok(OpenSource { report, cited_by })
        })
    }

    /// Opens a file of the project: one that the code index knows, as it is now. What the index
    /// leaves out (ignored files, binary ones, links) is not opened.
    ///
    /// # Errors
    /// `NOT_INITIALIZED` without a wiki or a project; `INVALID_ARGUMENT` for a path that is not
    /// among its indexed files or has gone.
    pub fn open_code(&self, ctx: &Context, path: &str) -> Result<OpenCode> {
        let refuse = |why: &str| {
            Error::new(
                ErrorCode::InvalidArgument,
                format!("{path:?} {why} the code index"),
            )
            .with_hint("`llmwiki search --in code WORDS` finds the files that are there")
        };
        let reading = self.reading(ctx)?;
        let project = self.project()?;
        let known = reading
            .snapshot
            .code_file(path.as_bytes())?
            .filter(|file| file.skipped.is_empty())
            .ok_or_else(|| refuse("is not in"))?;
        let (text, sha256) = read_now(&project, path, ctx.limits.max_source_bytes)
            .ok_or_else(|| refuse("cannot be read any more; it was in"))?;
        let redacted = redact(&text);
        Ok(OpenCode {
            file: path.to_owned(),
            redacted: redacted.secrets + redacted.names,
            text: redacted.text.into_owned(),
            fresh: sha256 == known.sha256,
            sha256,
            language: known.language,
        })
    }

    /// Those of these pages that are there.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; those of the store.
    pub fn known_pages(&self, ctx: &Context, ids: &[&str]) -> Result<Vec<PageSummary>> {
        self.mending(ctx, || {
            let ids = ids.iter().filter_map(|id| PageId::parse(id).ok());
            summaries(&self.reading(ctx)?, ids.collect())
        })
    }

    /// Whether the code of the project has been indexed.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; those of the store.
    pub fn has_code_index(&self, ctx: &Context) -> Result<bool> {
        Ok(self.has_project()? && self.reading(ctx)?.snapshot.code_state()?.changes > 0)
    }

    /// Opens a folder of pages: what is right in it, `limit` pages at a time after `cursor`.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; `INVALID_ARGUMENT` for a cursor that is no page id.
    pub fn open_folder(
        &self,
        ctx: &Context,
        path: &str,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Folder> {
        let after = cursor.map(PageId::parse).transpose().map_err(|error| {
            Error::new(ErrorCode::InvalidArgument, format!("cursor: {error}"))
                .with_hint("pass the `next` of the answer before")
        })?;
        self.mending(ctx, || {
            let reading = self.reading(ctx)?;
            folder_of(&reading, ctx, path, after.as_ref(), limit)
        })
    }
}

/// How many pages of its folder are shown beside a page.
const BESIDE: usize = 40;

fn summaries(reading: &Reading, ids: Vec<PageId>) -> Result<Vec<PageSummary>> {
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(page) = reading.snapshot.page(&id)? {
            found.push(PageSummary {
                id: id.to_string(),
                title: page.title,
                summary: page.summary,
            });
        }
    }
    Ok(found)
}

type Rows<'a> =
    Box<dyn Iterator<Item = std::result::Result<(PageId, PageRecord), StoreError>> + 'a>;

/// What is right in a folder. What is in folders of it is jumped over, not read.
fn folder_of(
    reading: &Reading,
    ctx: &Context,
    path: &str,
    after: Option<&PageId>,
    limit: usize,
) -> Result<Folder> {
    let prefix = if path.is_empty() {
        String::new()
    } else {
        format!("{path}/")
    };
    let mut folder = Folder {
        path: path.to_owned(),
        ..Folder::default()
    };
    let mut rows: Rows<'_> = Box::new(reading.snapshot.pages(&prefix, after));
    while let Some(row) = rows.next() {
        ctx.check()?;
        let (id, page) = row?;
        let name = id.as_str().strip_prefix(&prefix).unwrap_or_default();
        if let Some((inner, _)) = name.split_once('/') {
            let inner = format!("{prefix}{inner}");
            // `0` follows the slash: the first key behind all that is in the folder.
            rows = Box::new(reading.snapshot.pages_from(&format!("{inner}0"), &prefix));
            folder.folders.push(inner);
            continue;
        }
        if folder.pages.len() == limit {
            folder.next = folder.pages.last().map(|last| last.id.clone());
            if after.is_some() {
                break;
            }
            // The folders that follow belong to the first answer.
            continue;
        }
        folder.pages.push(PageSummary {
            id: id.to_string(),
            title: page.title,
            summary: page.summary,
        });
    }
    Ok(folder)
}
