//! Where a link of wiki text leads: to a page, to cited lines, to the web, or nowhere. Only
//! `http`, `https` and `mailto` leave the dashboard; every other scheme is dead and says so.

use std::fmt::Write as _;

use pulldown_cmark::LinkType;

use super::{Writer, escape, kind_of, urls};
use crate::id::SourceId;
use crate::page::{Citation, LinkKind, Resolution, Target, slug, target_of};

/// Media types of images that browsers show and that cannot hold a program.
pub(in super::super) const IMAGES: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/avif",
];

impl Writer<'_> {
    /// The start tag of what a reader clicks, and its end tag. `written` is the target as the
    /// text has it.
    pub(super) fn anchor(&self, target: &Target, written: &str) -> (String, &'static str) {
        match target {
            Target::Place(kind, path, fragment) => {
                let key = (*kind, path.as_str(), fragment.as_deref());
                match self.links.get(&key) {
                    Some(Resolution::Page(id)) => {
                        let fragment = fragment.as_deref().map(|it| {
                            let last = it.rsplit('#').next().unwrap_or(it);
                            match kind {
                                LinkKind::Markdown => last.to_owned(),
                                _ => slug(last),
                            }
                        });
                        let is_here = self.around.page == Some(id);
                        let mut url = match (&fragment, is_here) {
                            (Some(_), true) => String::new(),
                            _ => urls::page(id.as_str()),
                        };
                        if let Some(fragment) = fragment {
                            let _ = write!(url, "#{}", urls::path(&fragment));
                        }
                        (format!("<a href=\"{url}\">"), "</a>")
                    }
                    Some(Resolution::Broken(id)) => {
                        dead("missing", &format!("There is no page {id}"))
                    }
                    _ if self.around.page.is_none() && path.is_empty() => {
                        let fragment = fragment.as_deref().unwrap_or_default();
                        (format!("<a href=\"#{}\">", urls::path(fragment)), "</a>")
                    }
                    _ => dead("dead", &format!("{written} is no page of this wiki")),
                }
            }
            Target::Cited(citation) => self.cited(citation),
            Target::Outside => match self.chip(written) {
                Some(chip) => chip,
                None => outside(written),
            },
            Target::Nowhere => dead("dead", "This link names nothing"),
        }
    }

    fn chip(&self, written: &str) -> Option<(String, &'static str)> {
        let index: usize = written.strip_prefix(super::CHIP)?.parse().ok()?;
        let chip = self.around.chips.get(index)?;
        let mut open = "<a class=\"cite chip\" href=\"".to_owned();
        escape(&mut open, &chip.url);
        open.push_str("\" title=\"");
        escape(&mut open, &chip.title);
        open.push_str("\">");
        Some((open, "</a>"))
    }

    fn cited(&self, citation: &Citation) -> (String, &'static str) {
        let (Ok(id), Ok(lines)) = (&citation.source, &citation.lines) else {
            return dead("dead cite", "This citation is malformed");
        };
        let Some(Some(metadata)) = self.sources.get(id) else {
            return dead("missing cite", &format!("There is no source {id}"));
        };
        let mut title = metadata.name.clone();
        match lines {
            Some((first, last)) if first == last => {
                let _ = write!(title, ", line {first}");
            }
            Some((first, last)) => {
                let _ = write!(title, ", lines {first} to {last}");
            }
            None => {}
        }
        let mut open = format!(
            "<a class=\"cite\" href=\"{}\" title=\"",
            urls::source(&id.to_string(), *lines)
        );
        escape(&mut open, &title);
        open.push_str("\">");
        (open, "</a>")
    }

    /// An image that is a preserved source is shown. One elsewhere is a link to it: a page asks
    /// nobody for anything without its reader's doing.
    pub(super) fn image(&mut self, link: LinkType, written: &str, label: &str) {
        let target = target_of(kind_of(link, true), written);
        let words = if label.trim().is_empty() {
            written
        } else {
            label
        };
        if let Target::Cited(Citation { source: Ok(id), .. }) = &target
            && self.is_image(*id)
        {
            let _ = write!(
                self.out,
                "<img loading=\"lazy\" src=\"/source/{id}/raw\" alt=\""
            );
            escape(&mut self.out, label);
            self.out.push_str("\">");
            return;
        }
        let (open, close) = self.anchor(&target, written);
        self.out.push_str(&open);
        escape(&mut self.out, words);
        self.out.push_str(close);
    }

    fn is_image(&self, id: SourceId) -> bool {
        let known = self.sources.get(&id).copied().flatten();
        known.is_some_and(|it| IMAGES.contains(&it.media_type.as_str()))
    }
}

/// A target with a scheme.
pub(super) fn outside(target: &str) -> (String, &'static str) {
    let begins = |scheme: &str| {
        target
            .get(..scheme.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(scheme))
    };
    if begins("https://") || begins("http://") || begins("mailto:") {
        let mut open = "<a class=\"out\" rel=\"noopener noreferrer nofollow\" href=\"".to_owned();
        escape(&mut open, target);
        open.push_str("\">");
        return (open, "</a>");
    }
    if begins("llmwiki://page/") {
        let id = target["llmwiki://page/".len()..].split('#').next();
        return match id.map(crate::id::PageId::parse) {
            Some(Ok(id)) => (format!("<a href=\"{}\">", urls::page(id.as_str())), "</a>"),
            _ => dead("dead", "This names no page"),
        };
    }
    let scheme = target.split(':').next().unwrap_or_default();
    dead(
        "dead",
        &format!("Links with the scheme {scheme} are not followed"),
    )
}

/// What looks like a link and leads nowhere, with the reason for who points at it.
fn dead(class: &str, why: &str) -> (String, &'static str) {
    let mut open = format!("<span class=\"{class}\" title=\"");
    escape(&mut open, why);
    open.push_str("\">");
    (open, "</span>")
}
