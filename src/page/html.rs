//! Raw HTML: its tags, and of these the `href` of each `<a>`.
//!
//! Markdown lets HTML through, so a browser follows these links like any other. Comments and
//! the contents of `<script>`, `<style>` and `<textarea>` are text to a browser and to us.

use std::ops::Range;

/// A tag of raw HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HtmlTag<'h> {
    /// Where it stands.
    pub(crate) range: Range<usize>,
    /// Its name as written; a comment has none.
    pub(crate) name: &'h str,
    /// Whether it is an end tag.
    pub(crate) closes: bool,
    /// Its first `href`, character references resolved.
    pub(crate) href: Option<String>,
    /// Its first `id` or `name`.
    pub(crate) id: Option<String>,
}

/// The tags and comments of a text, in order. What `<script>`, `<style>` and `<textarea>` hold is
/// no tag.
pub(crate) fn tags(html: &str) -> Vec<HtmlTag<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = html[at..].find('<').map(|offset| at + offset) {
        let rest = &html[open..];
        if rest.starts_with("<!--") {
            at = end_of(html, open + 4, "-->");
            found.push(HtmlTag {
                range: open..at,
                name: "",
                closes: false,
                href: None,
                id: None,
            });
            continue;
        }
        let closes = rest.starts_with("</");
        let start = 1 + usize::from(closes);
        let name_end = rest[start..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .map_or(rest.len(), |offset| start + offset);
        let name = &rest[start..name_end];
        if name.is_empty() {
            at = open + 1;
            continue;
        }
        let (attributes, end) = attributes(html, open + name_end);
        at = end;
        if let Some(Attributes { href, id }) = attributes {
            found.push(HtmlTag {
                range: open..end,
                name,
                closes,
                href: href.map(unescape),
                id: id.map(unescape),
            });
        }
        if !closes
            && let Some(closing) = RAW_TEXT
                .iter()
                .find(|(raw, _)| name.eq_ignore_ascii_case(raw))
        {
            at = end_of_ignoring_case(html, at, closing.1);
        }
    }
    found
}

/// The `href` of each `<a>` tag with the bytes of the tag, in order. Character references
/// in the value are resolved for the few characters that must be written so.
pub(super) fn hrefs(html: &str) -> Vec<(Range<usize>, String)> {
    let links = tags(html)
        .into_iter()
        .filter(|tag| !tag.closes && tag.name.eq_ignore_ascii_case("a"));
    links
        .filter_map(|tag| Some((tag.range, tag.href?)))
        .collect()
}

/// What is read of the attributes of a tag.
#[derive(Default)]
struct Attributes<'h> {
    href: Option<&'h str>,
    id: Option<&'h str>,
}

const RAW_TEXT: [(&str, &str); 3] = [
    ("script", "</script"),
    ("style", "</style"),
    ("textarea", "</textarea"),
];

fn end_of(html: &str, from: usize, needle: &str) -> usize {
    html[from..]
        .find(needle)
        .map_or(html.len(), |offset| from + offset + needle.len())
}

fn end_of_ignoring_case(html: &str, from: usize, needle: &str) -> usize {
    html.as_bytes()[from..]
        .windows(needle.len())
        .position(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
        .map_or(html.len(), |offset| from + offset + needle.len())
}

/// Walks the attributes of a tag from behind its name: what they say, and the offset behind the
/// tag; nothing and the end of the text for a tag that never ends.
fn attributes(html: &str, mut at: usize) -> (Option<Attributes<'_>>, usize) {
    let mut found = Attributes::default();
    loop {
        let gap = html[at..].len() - html[at..].trim_start_matches(is_gap).len();
        at += gap;
        let Some(next) = html[at..].chars().next() else {
            // A browser drops a tag that never ends.
            return (None, html.len());
        };
        if next == '>' {
            return (Some(found), at + 1);
        }
        let name_end = html[at + next.len_utf8()..]
            .find(|c: char| is_gap(c) || c == '>' || c == '=')
            .map_or(html.len(), |offset| at + next.len_utf8() + offset);
        let name = &html[at..name_end];
        at = name_end;
        let after = html[at..].trim_start_matches(is_gap);
        let Some(value) = after.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start_matches(is_gap);
        let start = html.len() - value.len();
        let (text, end) = if let Some(quote @ ('"' | '\'')) = value.chars().next() {
            let length = value[1..].find(quote).unwrap_or(value.len() - 1);
            (&value[1..=length], (start + length + 2).min(html.len()))
        } else {
            let is_end = |c: char| c == '>' || c.is_ascii_whitespace();
            let length = value.find(is_end).unwrap_or(value.len());
            (&value[..length], start + length)
        };
        at = end;
        if found.href.is_none() && name.eq_ignore_ascii_case("href") {
            found.href = Some(text);
        }
        let names_it = name.eq_ignore_ascii_case("id") || name.eq_ignore_ascii_case("name");
        if found.id.is_none() && names_it {
            found.id = Some(text);
        }
    }
}

/// White space between attributes; a slash there means nothing.
fn is_gap(c: char) -> bool {
    c.is_ascii_whitespace() || c == '/'
}

fn unescape(value: &str) -> String {
    if !value.contains('&') {
        return value.to_owned();
    }
    value
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: &[&str]) {
        let found: Vec<String> = hrefs(html).into_iter().map(|(_, href)| href).collect();
        assert_eq!(found, expected, "{html}");
    }

    #[test]
    fn every_spelling_of_an_attribute_is_read() {
        check(r#"<a href="x.md">x</a>"#, &["x.md"]);
        check(r"<A class=b HREF='x.md' id=c>", &["x.md"]);
        check("<a\n  title=\"a > b\"\n  href = x.md>", &["x.md"]);
        check(
            r#"<p><a href="x.md?a=1&amp;b=2"/><a href=y.md></p>"#,
            &["x.md?a=1&b=2", "y.md"],
        );
        check(r#"<a href="">"#, &[""]);
    }

    #[test]
    fn what_a_browser_does_not_follow_is_no_link() {
        check(r#"<abbr href="x.md"> <link href="y.css"> a < b"#, &[]);
        check(r#"<!-- <a href="x.md"> --><a href="y.md">"#, &["y.md"]);
        check(
            r#"<script>"<a href='x.md'>"</SCRIPT><a href="y.md">"#,
            &["y.md"],
        );
        check(r#"<a name="x"> <a data-href="x.md">"#, &[]);
    }

    #[test]
    fn torn_tags_end_with_the_text() {
        for html in [
            "<",
            "<a",
            "<a ",
            "<a href",
            "<a href=",
            "<a href=\"",
            "<a href='x",
            "<!--",
            "<script>",
            "<a \u{e9}=\u{e9}",
        ] {
            hrefs(html);
        }
        check("<a href=\"x", &[]);
        check("<a href=x", &[]);
    }
}
