//! `export wiki`: this wiki as a `.wiki/` that others can ask. Pages keep their paths, so that the
//! links between them hold; the index is canonical.

use std::collections::BTreeSet;
use std::path::Path;

use super::index::{Index, MAX_INDEX_BYTES, render};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{PageId, strip_extension};
use crate::tree::{Flow, Kind, RelPath, Tree};
use crate::wiki::{ExportReport, Wiki};

/// Title of the index.
const TITLE: &str = "Wiki";
/// The index, which no page can be.
const INDEX: &str = "index";

/// Writes all valid pages below `directory/.wiki`, or into `directory` where that is its name, with
/// an index of them. Pages that an export before this one listed and that are gone are removed;
/// other files stay, and are named.
///
/// # Errors
/// `NOT_INITIALIZED`; `CONFLICT` for an index that no export wrote, unless `force`;
/// `UNSAFE_FILESYSTEM`, `STORE_FULL`.
pub fn publish(wiki: &Wiki, ctx: &Context, directory: &Path, force: bool) -> Result<ExportReport> {
    let folder = if directory.file_name().is_some_and(|name| name == ".wiki") {
        directory.to_owned()
    } else {
        directory.join(".wiki")
    };
    let mut pages: Vec<(PageId, String)> = Vec::new();
    let mut taken: BTreeSet<PageId> = BTreeSet::new();
    wiki.each_page(ctx, &mut |id, page, _| {
        taken.insert(id.clone());
        pages.push((id.clone(), page.title.clone()));
        Ok(())
    })?;
    // A page of the name of the index makes way for it.
    let place_of = |id: &PageId| -> Result<PageId> {
        if id.as_str() != INDEX {
            return Ok(id.clone());
        }
        let free = PageId::parse("pages/index")?;
        if taken.contains(&free) {
            return Err(Error::new(
                ErrorCode::Conflict,
                "the pages index and pages/index cannot both be exported: .wiki/index.md is the index",
            )
            .with_hint("write one of them anew under another id"));
        }
        Ok(free)
    };
    let listed: Vec<(PageId, String)> = pages
        .into_iter()
        .map(|(id, title)| Ok((place_of(&id)?, title)))
        .collect::<Result<_>>()?;
    let index = render(TITLE, listed.iter().map(|(id, title)| (id, title.as_str())));
    let tree = Tree::create(&folder)?;
    let index_path = RelPath::new("index.md")?;
    let before = tree.read(&index_path, MAX_INDEX_BYTES)?;
    let before = before.map(|file| file.bytes).unwrap_or_default();
    let old = ours(&before);
    if old.is_none() && !before.is_empty() && !force {
        return Err(Error::new(
            ErrorCode::Conflict,
            format!("{}/index.md was not written by an export", folder.display()),
        )
        .with_hint("export into another directory, or give --force to replace it"));
    }
    let mut files = Vec::new();
    wiki.each_page(ctx, &mut |id, _, bytes| {
        let path = RelPath::new(format!("{}.md", place_of(id)?))?;
        if tree.replace(&path, bytes)? {
            files.push(path.to_string());
        }
        Ok(())
    })?;
    let written: BTreeSet<&PageId> = listed.iter().map(|(id, _)| id).collect();
    for gone in old.iter().flatten().filter(|id| !written.contains(id)) {
        let path = RelPath::new(format!("{gone}.md"))?;
        if tree.remove(&path)? {
            files.push(path.to_string());
        }
        if let Some(parent) = path.parent() {
            tree.remove_empty_dirs(&parent, &RelPath::root())?;
        }
    }
    // Last, so that it never lists a page that is not there.
    if tree.replace(&index_path, index.as_bytes())? {
        files.push(index_path.to_string());
    }
    let mut left = Vec::new();
    tree.walk(&RelPath::root(), &mut |entry| {
        if entry.kind == Kind::Directory {
            return Flow::Continue;
        }
        let path = String::from_utf8_lossy(entry.path).into_owned();
        let id = strip_extension(&path).and_then(|id| PageId::parse(id).ok());
        if path != "index.md" && id.is_none_or(|id| !written.contains(&id)) {
            left.push(path);
        }
        Flow::Continue
    })?;
    Ok(ExportReport {
        files,
        page_count: listed.len() as u64,
        section_count: index.matches("\n## ").count() as u64,
        directory: Some(folder.display().to_string()),
        left,
    })
}

/// The pages that an index lists, when an export wrote it.
fn ours(bytes: &[u8]) -> Option<Vec<PageId>> {
    let index = Index::parse(bytes).ok()?;
    let pages = index
        .entries
        .iter()
        .map(|entry| (&entry.paths[0], entry.title.as_str()));
    let is_ours = render(TITLE, pages).as_bytes() == bytes;
    is_ours.then(|| {
        let paths = index.entries.iter().map(|entry| entry.paths[0].clone());
        paths.collect()
    })
}
