//! Which page a link means.
//!
//! A Markdown link is a path from its page. A wikilink is looked for from its page, from the
//! top, by base name (nearest folder first), by title. The wiki is asked through
//! [`PageLookup`], so that this stays a function of values.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::links::{Link, LinkKind, has_scheme};
use super::title::fold_title;
use crate::id::{PageId, fold_case, strip_extension};

/// What resolving has to know of the other pages.
pub trait PageLookup {
    /// Whether there is a page with this id.
    fn exists(&self, id: &PageId) -> bool;
    /// The pages whose last segment, taken as an id, has this [`fold_key`](PageId::fold_key), in
    /// any order.
    fn by_base_name(&self, folded: &str) -> Vec<PageId>;
    /// The pages whose title [folds](fold_title) to this, in any order.
    fn by_title(&self, folded: &str) -> Vec<PageId>;
}

/// The names of some pages, as a [`PageLookup`] in memory.
#[derive(Debug, Clone, Default)]
pub struct PageNames {
    ids: BTreeSet<PageId>,
    by_base_name: BTreeMap<String, Vec<PageId>>,
    by_title: BTreeMap<String, Vec<PageId>>,
}

impl PageNames {
    /// Adds a page. An id that is there already is left as it is.
    pub fn insert(&mut self, id: PageId, title: &str) {
        if !self.ids.insert(id.clone()) {
            return;
        }
        self.by_base_name
            .entry(fold_case(id.base_name()))
            .or_default()
            .push(id.clone());
        self.by_title.entry(fold_title(title)).or_default().push(id);
    }
}

impl PageLookup for PageNames {
    fn exists(&self, id: &PageId) -> bool {
        self.ids.contains(id)
    }

    fn by_base_name(&self, folded: &str) -> Vec<PageId> {
        self.by_base_name.get(folded).cloned().unwrap_or_default()
    }

    fn by_title(&self, folded: &str) -> Vec<PageId> {
        self.by_title.get(folded).cloned().unwrap_or_default()
    }
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
    let found = relative
        .as_deref()
        .and_then(|path| page(path, pages))
        .or_else(|| {
            if is_relative(stem) {
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

/// Whether the target of a wikilink says by its first segment that it is a path from the page's own
/// folder, and so never a base name or a title.
pub(crate) fn is_relative(target: &str) -> bool {
    target.starts_with("./") || target.starts_with("../")
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
    let distance = |id: &PageId| {
        let common = folders(from)
            .zip(folders(id))
            .take_while(|(a, b)| a == b)
            .count();
        let steps = folders(from).count() + folders(id).count() - 2 * common;
        (steps, Reverse(common))
    };
    candidates
        .into_iter()
        .min_by(|a, b| distance(a).cmp(&distance(b)).then_with(|| a.cmp(b)))
}

fn folders(id: &PageId) -> impl Iterator<Item = &str> {
    id.parent().split('/').filter(|segment| !segment.is_empty())
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::links::references;
    use super::*;

    fn id(text: &str) -> PageId {
        PageId::parse(text).unwrap()
    }

    fn pages() -> PageNames {
        let mut pages = PageNames::default();
        for (name, title) in [
            ("top", "Top"),
            ("guides/here", "Here"),
            ("guides/there", "There"),
            ("guides/deep/setup", "Deep setup"),
            ("other/setup", "Other setup"),
            ("other/Mixed Case", "C# notes"),
            ("other/sub/leaf", "A leaf: green"),
            ("sp ace", "Space"),
            ("v1.2", "Version 1.2"),
            ("a#b", "Hash"),
            ("q/w/w", "Twice"),
        ] {
            pages.insert(id(name), title);
        }
        pages
    }

    /// Resolves the one link of `body` on page `guides/here`.
    fn resolved(body: &str) -> String {
        let links = references(body, 1).links;
        assert_eq!(links.len(), 1, "{body}");
        match resolve(&id("guides/here"), &links[0], &pages()) {
            Resolution::Page(id) => id.to_string(),
            Resolution::Broken(wanted) => format!("broken {wanted}"),
            Resolution::Escapes => "escapes".to_owned(),
            Resolution::NotAPage => "no page".to_owned(),
        }
    }

    fn check(expected: &str, bodies: &[&str]) {
        for body in bodies {
            assert_eq!(resolved(body), expected, "{body}");
        }
    }

    #[test]
    fn a_markdown_link_is_a_path_from_its_page() {
        check(
            "guides/there",
            &[
                "[x](there.md)",
                "[x](./there.md#p)",
                "[x](there.MD)",
                "[x](there)",
                "[x](../guides//there.md)",
            ],
        );
        check("sp ace", &["[x](../sp%20ace.md)", "[x](<../sp ace.md>)"]);
        check("v1.2", &["[x](../v1.2)", "[x](../v1.2.md)"]);
        check("guides/here", &["[x](#part)"]);
        check("broken guides/gone", &["[x](gone.md)", "[x](<gone.md>)"]);
        check("broken guides/top", &["[x](top.md)"]);
        check("broken guides/bad%zz", &["[x](bad%zz.md)"]);
        check("broken guides/...", &["[x](....md)"]);
        check(
            "no page",
            &[
                "[x](gone)",
                "[x](pic.png)",
                "[x]()",
                "[x](.md)",
                "[x](../.md)",
                "[x](...md)",
                "[x](there.md.md)",
                "[x](there.md/.)",
                "[x](..)",
                "[x](deep/)",
                "[x](a\\b.md)",
            ],
        );
        check(
            "escapes",
            &[
                "[x](../../x.md)",
                "[x](../../guides/there.md)",
                "[x](/top.md)",
                "[x](/)",
                "[x](../..)",
                "[x](../../src/main.rs)",
                "[x](%2e%2e/%2e%2e/x.md)",
            ],
        );
    }

    #[test]
    fn a_wikilink_is_looked_for_from_near_to_far() {
        check(
            "guides/there",
            &[
                "[[there]]",
                "[[there.md]]",
                "[[ there ]]",
                "[[there#p|l]]",
                "[[guides/there]]",
                "[[There]]",
                "[[./there]]",
            ],
        );
        check("top", &["[[top]]", "[[../top]]", "[[TOP]]"]);
        check(
            "guides/deep/setup",
            &["[[setup]]", "[[deep/setup]]", "[[Deep Setup]]"],
        );
        check("other/setup", &["[[other/setup]]", "[[Other setup]]"]);
        check(
            "other/sub/leaf",
            &[
                "[[leaf]]",
                "[[sub/leaf]]",
                "[[SUB/Leaf]]",
                "[[A leaf: green]]",
            ],
        );
        check("other/Mixed Case", &["[[mixed case]]", "[[C# notes]]"]);
        check("guides/here", &["[[#part]]"]);
        check("broken guides/gone", &["[[gone]]", "[[gone.md]]"]);
        check("broken guides/ub/leaf", &["[[ub/leaf]]"]);
        check("broken guides/50% more", &["[[50% more]]"]);
        check("broken guides/setup", &["[[./setup]]"]);
        check("broken guides/top", &["[[./top]]"]);
        check("broken guides/q/w", &["[[q/w]]"]);
        check("escapes", &["[[../../out]]", "[[/top]]"]);
        check(
            "no page",
            &[
                "[[https://a.b]]",
                "[[c:drive]]",
                "[[paper.pdf]]",
                "[[.md]]",
                "[[..]]",
            ],
        );
    }

    #[test]
    fn an_embed_is_a_link_only_to_a_page() {
        check("guides/there", &["![[there]]"]);
        check("no page", &["![[pic.png]]", "![[gone]]", "![[../../x]]"]);
    }

    #[test]
    fn the_nearest_of_equal_names_wins_whatever_order_they_come_in() {
        let near = |from: &str, ids: &[&str]| {
            let mut candidates: Vec<PageId> = ids.iter().map(|text| id(text)).collect();
            let first = nearest(&id(from), candidates.clone());
            candidates.reverse();
            assert_eq!(nearest(&id(from), candidates), first);
            first.unwrap().to_string()
        };
        assert_eq!(near("a/b/x", &["s", "a/s", "a/b/c/s", "z/s"]), "a/b/c/s");
        assert_eq!(near("a/b/x", &["s", "z/s", "a/c/s"]), "a/c/s");
        assert_eq!(near("x", &["b/s", "a/s"]), "a/s");
        assert_eq!(near("a/x", &["a/b/c/d/s", "s"]), "s");
        assert_eq!(near("m/n/x", &["m/a", "m/n/z/a"]), "m/n/z/a");
    }

    proptest! {
        #[test]
        fn resolving_never_leaves_the_pages(target in "[a-z./%\\\\:# ]{0,20}", wiki: bool) {
            let kind = if wiki { LinkKind::Wikilink } else { LinkKind::Markdown };
            let link = Link { kind, target, fragment: None, line: 1, columns: None, label: String::new() };
            let pages = pages();
            match resolve(&id("guides/here"), &link, &pages) {
                Resolution::Page(found) => prop_assert!(pages.exists(&found)),
                Resolution::Broken(wanted) => prop_assert!(!wanted.split('/').any(|segment| segment == "..")),
                Resolution::Escapes | Resolution::NotAPage => {}
            }
        }
    }
}
