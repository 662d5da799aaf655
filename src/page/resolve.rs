//! Which page a link means.
//!
//! A Markdown link is a path from its page. A wikilink is looked for from its page, from the
//! top, by base name (nearest folder first), by title. The wiki is asked through
//! [`PageLookup`], so that this stays a function of values.

use std::cmp::Reverse;

use super::links::{Link, LinkKind, has_scheme};
use super::title::fold_title;
use crate::id::{PageId, fold_case, strip_extension};

/// What resolving has to know of the other pages.
pub trait PageLookup {
    /// Whether there is a page with this id.
    fn exists(&self, id: &PageId) -> bool;
    /// The pages whose last segment has this [`fold_key`](PageId::fold_key), in any order.
    fn by_base_name(&self, folded: &str) -> Vec<PageId>;
    /// The pages whose title [folds](fold_title) to this, in any order.
    fn by_title(&self, folded: &str) -> Vec<PageId>;
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// To this page, which exists.
    Page(PageId),
    /// To a page that does not exist; the id that it would have (which need not be a legal one).
    Broken(String),
    /// Out of `pages/`.
    Escapes,
    /// To no page: a file of another kind, a folder, nothing.
    NotAPage,
}

/// Resolves a link of page `from`.
pub fn resolve(from: &PageId, link: &Link, pages: &dyn PageLookup) -> Resolution {
    if link.target.is_empty() {
        return match link.fragment {
            Some(_) => Resolution::Page(from.clone()),
            None => Resolution::NotAPage,
        };
    }
    match link.kind {
        LinkKind::Markdown => markdown(from, &link.target, pages),
        LinkKind::Wikilink => wikilink(from, link, pages),
        LinkKind::Embed => match wikilink(from, link, pages) {
            Resolution::Page(id) => Resolution::Page(id),
            _ => Resolution::NotAPage,
        },
    }
}

fn markdown(from: &PageId, target: &str, pages: &dyn PageLookup) -> Resolution {
    let Some(path) = join(from.parent(), target) else {
        return Resolution::Escapes;
    };
    let name = target.rsplit('/').next().unwrap_or_default();
    if matches!(name, "" | "." | "..") {
        return Resolution::NotAPage;
    }
    match strip_extension(name) {
        // No page can be called so; `[x](.md)` is a file that is no page.
        Some("" | "." | "..") => Resolution::NotAPage,
        Some(_) => {
            let wanted = strip_extension(&path).unwrap_or(&path);
            match page(wanted, pages) {
                Some(id) => Resolution::Page(id),
                None if can_be_wanted(wanted) => Resolution::Broken(wanted.to_owned()),
                None => Resolution::NotAPage,
            }
        }
        None => page(&path, pages).map_or(Resolution::NotAPage, Resolution::Page),
    }
}

/// Whether a missing page of this name is worth a word. What no tool would take for a page
/// name is not: backslashes, control characters, a second `.md`.
fn can_be_wanted(path: &str) -> bool {
    !path.contains(|c: char| c == '\\' || c.is_ascii_control()) && strip_extension(path).is_none()
}

fn wikilink(from: &PageId, link: &Link, pages: &dyn PageLookup) -> Resolution {
    let text = link.target.as_str();
    if text.starts_with('/') {
        return Resolution::Escapes;
    }
    let stem = strip_extension(text).unwrap_or(text);
    let relative = join(from.parent(), stem);
    let is_relative_only = stem.starts_with("./") || stem.starts_with("../");
    let found = relative
        .as_deref()
        .and_then(|path| page(path, pages))
        .or_else(|| {
            if is_relative_only {
                return None;
            }
            join("", stem)
                .and_then(|path| page(&path, pages))
                .or_else(|| by_base_name(from, stem, pages))
                .or_else(|| nearest(from, pages.by_title(&fold_title(text))))
                .or_else(|| {
                    // A title such as "C# notes" looks like a target and a heading.
                    let fragment = link.fragment.as_deref()?;
                    nearest(
                        from,
                        pages.by_title(&fold_title(&format!("{text}#{fragment}"))),
                    )
                    .or_else(|| {
                        nearest(
                            from,
                            pages.by_title(&fold_title(&format!("{text}# {fragment}"))),
                        )
                    })
                })
        });
    if let Some(id) = found {
        return Resolution::Page(id);
    }
    match relative {
        None => Resolution::Escapes,
        Some(_) if has_scheme(text) || is_media(text) => Resolution::NotAPage,
        Some(path) => match stem.rsplit('/').next() {
            None | Some("" | "." | "..") => Resolution::NotAPage,
            Some(_) => Resolution::Broken(path),
        },
    }
}

/// The nearest page whose path ends in `stem`, letter case and normalisation apart.
fn by_base_name(from: &PageId, stem: &str, pages: &dyn PageLookup) -> Option<PageId> {
    let wanted = fold_case(stem);
    let base = wanted.rsplit('/').next()?;
    let mut candidates = pages.by_base_name(base);
    if base.len() < wanted.len() {
        let suffix = format!("/{wanted}");
        candidates.retain(|id| format!("/{}", id.fold_key()).ends_with(&suffix));
    }
    nearest(from, candidates)
}

/// The candidate with the fewest folder steps from `from`; of those, the one with most of its
/// path in common, then the first by id.
fn nearest(from: &PageId, candidates: Vec<PageId>) -> Option<PageId> {
    let home: Vec<&str> = folders(from);
    candidates.into_iter().min_by_key(|id| {
        let there = folders(id);
        let common = home.iter().zip(&there).take_while(|(a, b)| a == b).count();
        let steps = home.len() + there.len() - 2 * common;
        (steps, Reverse(common), id.clone())
    })
}

fn folders(id: &PageId) -> Vec<&str> {
    let mut segments: Vec<&str> = id.segments().collect();
    segments.pop();
    segments
}

/// The existing page with exactly this id.
fn page(path: &str, pages: &dyn PageLookup) -> Option<PageId> {
    PageId::parse(path).ok().filter(|id| pages.exists(id))
}

/// Walks `target` from a folder: `.` and empty segments stay, `..` goes up. None when the way
/// leaves `pages/`, even if it comes back. An absolute target does.
fn join(folder: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut path: Vec<&str> = if folder.is_empty() {
        Vec::new()
    } else {
        folder.split('/').collect()
    };
    for segment in target.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                path.pop()?;
            }
            _ => path.push(segment),
        }
    }
    Some(path.join("/"))
}

/// Endings of files that wikis attach: a wikilink to one of them means the file.
const MEDIA: [&str; 24] = [
    "avif", "base", "bmp", "canvas", "csv", "flac", "gif", "jpeg", "jpg", "json", "m4a", "mkv",
    "mov", "mp3", "mp4", "ogg", "pdf", "png", "svg", "wav", "webm", "webp", "xlsx", "zip",
];

fn is_media(target: &str) -> bool {
    target
        .rsplit_once('.')
        .is_some_and(|(_, ending)| MEDIA.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}
