//! Anchors of a page: the places a `#fragment` can name. Headings as GitHub makes slugs of them
//! (lower case, punctuation and symbols out, spaces to hyphens, `-1` behind a repeat), and `id`
//! and `name` attributes of HTML. Pure.

use std::collections::HashMap;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

/// What GitHub takes out of a heading: all but word characters as Ruby has them, hyphens, spaces.
static REMOVED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\- ]").ok());

static HTML_NAME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)\s(?:id|name)\s*=\s*["']?([^"'\s>]+)"#).ok());

/// The slug of a heading's text, before repeats are numbered.
pub(crate) fn slug(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = match &*REMOVED {
        Some(removed) => removed.replace_all(&lower, "").into_owned(),
        None => lower,
    };
    kept.replace(' ', "-")
}

/// The anchors of a body, in the order of the text.
pub(crate) fn anchors(body: &str) -> Vec<String> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
    let mut found = Vec::new();
    let mut slugs = Slugs::default();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(body, options) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let Some(text) = heading.take() else { continue };
                found.push(slugs.next(&text));
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                if let Some(pattern) = &*HTML_NAME {
                    found.extend(
                        pattern
                            .captures_iter(&html)
                            .map(|capture| capture[1].to_owned()),
                    );
                }
            }
            _ => {}
        }
    }
    found
}

/// The slugs of one page, each its own: a repeat gets the first free number behind it.
#[derive(Default)]
pub(crate) struct Slugs(HashMap<String, u32>);

impl Slugs {
    /// The slug of the next heading.
    pub(crate) fn next(&mut self, heading: &str) -> String {
        let taken = &mut self.0;
        let plain = slug(heading);
        let mut next = taken.get(&plain).copied().unwrap_or(0);
        let mut candidate = plain.clone();
        while taken.contains_key(&candidate) {
            next += 1;
            candidate = format!("{plain}-{next}");
        }
        taken.insert(plain, next);
        taken.entry(candidate.clone()).or_insert(0);
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_those_of_github() {
        for (heading, want) in [
            ("Setup", "setup"),
            ("Getting Started: Part 2", "getting-started-part-2"),
            ("snake_case & kebab-case", "snake_case--kebab-case"),
            (
                "\u{6771}\u{4eac} \u{8a08}\u{753b}",
                "\u{6771}\u{4eac}-\u{8a08}\u{753b}",
            ),
            ("\u{1f680} Launch", "-launch"),
            ("caf\u{e9}", "caf\u{e9}"),
            ("C++", "c"),
        ] {
            assert_eq!(slug(heading), want, "{heading}");
        }
    }

    #[test]
    fn repeats_are_numbered_and_html_names_count() {
        let body =
            "# A\n\n## A\n\nText\n===\n\n<a id=\"here\"></a>\n\n```\n# no\n```\n\n### `code` x\n";
        assert_eq!(anchors(body), ["a", "a-1", "text", "here", "code-x"]);
    }
}
