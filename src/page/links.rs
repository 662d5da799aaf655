//! Links and claim citations of a body.
//!
//! Markdown links are exactly those of CommonMark, found by a first pass. Wikilinks are found by
//! a second pass that knows them, in what the first pass left as text; so a reader of any
//! Markdown tool and a reader of a wikilink tool both see the links they know. Code, comments
//! and escapes hold no links, because the parser says so. Whether a page is there is decided by
//! [`resolve`](super::resolve).

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::html;
use super::lines::{ColumnCounter, Columns, LineIndex};
use crate::id::SourceId;

/// The Markdown that pages are read as. Footnotes must be known, or `[^1]: text` would define a
/// link; mathematics must not, or `$HOME/$USER` would hide what lies between.
pub(crate) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS);

/// How a link was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// `[label](target)`, its reference forms, or an HTML `<a href>`.
    Markdown,
    /// `[[target]]`, `[[target|label]]`.
    Wikilink,
    /// `![[target]]`: shows a page or a media file in place. Counts as a link only when it names
    /// a page.
    Embed,
}

/// A link to somewhere in the wiki. Links with a scheme or a host are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// How it was written.
    pub kind: LinkKind,
    /// The path part: of a Markdown link percent-decoded once, without query and fragment.
    /// Empty when the link names a place in its own page.
    pub target: String,
    /// What follows the first `#`, decoded likewise.
    pub fragment: Option<String>,
    /// The line where the link begins.
    pub line: u32,
    /// Where it stands there; none for a link that was not read from a text.
    pub columns: Option<Columns>,
    /// The text that a reader clicks.
    pub label: String,
}

/// A claim citation: a link to `llmwiki://source/<id>`, with or without lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The source, or the text that stands in place of its id.
    pub source: Result<SourceId, String>,
    /// First and last line cited, counting from 1, none for the source as a whole; or the
    /// fragment that is not `L10` or `L10-L20` with rising lines.
    pub lines: Result<Option<(u32, u32)>, String>,
    /// The line where the link begins.
    pub line: u32,
    /// Where it stands there.
    pub columns: Columns,
    /// The link's target as written.
    pub raw: String,
}

/// What a body points to, each list in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Links to pages and files of the wiki.
    pub links: Vec<Link>,
    /// Claim citations.
    pub citations: Vec<Citation>,
}

/// Finds the links and citations of a body whose first line has the number `first_line`.
/// Time and memory are linear in the body.
pub fn references(body: &str, first_line: u32) -> References {
    let mut reader = AnchorReader::default();
    for (event, range) in Parser::new_ext(body, OPTIONS).into_offset_iter() {
        reader.event(body, &event, &range);
    }
    reader.finish(body, &LineIndex::new(body, first_line))
}

/// A link as the parser saw it.
struct Anchor {
    style: Style,
    range: Range<usize>,
    target: String,
    label: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Markdown,
    Wikilink,
    Embed,
    /// No link for us (an image, a mail address), but no place for a wikilink either.
    Covered,
}

/// The first pass: links and images of CommonMark, and anchors in HTML. Takes the events of a body
/// read with [`OPTIONS`].
#[derive(Default)]
pub(super) struct AnchorReader {
    found: Vec<Anchor>,
    open: Option<Anchor>,
    images: usize,
}

impl AnchorReader {
    pub(super) fn event(&mut self, body: &str, event: &Event<'_>, range: &Range<usize>) {
        match event {
            // A link in the description of an image is never shown as one.
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) if self.images == 0 => {
                let style = if *link_type == LinkType::Email {
                    Style::Covered
                } else {
                    Style::Markdown
                };
                self.open = Some(Anchor {
                    style,
                    range: range.clone(),
                    target: dest_url.to_string(),
                    label: String::new(),
                });
            }
            Event::End(TagEnd::Link) if self.images == 0 => self.found.extend(self.open.take()),
            Event::Start(Tag::Image { .. }) => {
                self.images += 1;
                if self.images == 1 && self.open.is_none() {
                    self.found.push(Anchor {
                        style: Style::Covered,
                        range: range.clone(),
                        target: String::new(),
                        label: String::new(),
                    });
                }
            }
            Event::End(TagEnd::Image) => self.images -= 1,
            Event::Text(text) | Event::Code(text) => label(self.open.as_mut(), text),
            Event::SoftBreak | Event::HardBreak => label(self.open.as_mut(), " "),
            Event::InlineHtml(html) => html_anchors(html, range.start, &mut self.found),
            // The block's own slice, since a tag may be spread over several of its events.
            Event::Start(Tag::HtmlBlock) => {
                html_anchors(&body[range.clone()], range.start, &mut self.found);
            }
            _ => {}
        }
    }

    /// What the links and the wikilinks beside them refer to.
    pub(super) fn finish(self, body: &str, lines: &LineIndex) -> References {
        let mut anchors = self.found;
        // HTML in the label of a link is found before the link is at its end.
        anchors.sort_by_key(|anchor| anchor.range.start);
        if body.contains("[[") {
            let wikilinks = wikilink_anchors(body);
            merge(&mut anchors, wikilinks);
        }
        let mut references = References::default();
        let mut counter = ColumnCounter::new(body);
        for anchor in anchors {
            if matches!(anchor.style, Style::Covered) {
                continue;
            }
            let start = anchor.range.start;
            let line = lines.line(start);
            let columns = counter.columns(lines.start(start), &anchor.range);
            match anchor.style {
                Style::Covered => {}
                Style::Markdown => markdown(anchor, line, columns, &mut references),
                Style::Wikilink => {
                    let link = wikilink(&anchor, LinkKind::Wikilink, line, columns);
                    references.links.extend(link);
                }
                Style::Embed => {
                    let link = wikilink(&anchor, LinkKind::Embed, line, columns);
                    references.links.extend(link);
                }
            }
        }
        references
    }
}

fn label(open: Option<&mut Anchor>, text: &str) {
    if let Some(anchor) = open {
        anchor.label.push_str(text);
    }
}

fn html_anchors(html: &str, at: usize, found: &mut Vec<Anchor>) {
    found.extend(html::hrefs(html).into_iter().map(|(tag, target)| Anchor {
        style: Style::Markdown,
        range: at + tag.start..at + tag.end,
        target,
        label: String::new(),
    }));
}

/// The second pass: wikilinks and embeds, whatever the first pass made of them. Tables are read
/// as running text here, since people write `| [[page|label]] |` without the backslash that the
/// bar needs in a table, and mean the page.
fn wikilink_anchors(body: &str) -> Vec<Anchor> {
    let mut found = Vec::new();
    let mut open: Option<Anchor> = None;
    let options = OPTIONS
        .difference(Options::ENABLE_TABLES)
        .union(Options::ENABLE_WIKILINKS);
    for (event, range) in Parser::new_ext(body, options).into_offset_iter() {
        match event {
            Event::Start(
                Tag::Link {
                    link_type: LinkType::WikiLink { has_pothole },
                    ref dest_url,
                    ..
                }
                | Tag::Image {
                    link_type: LinkType::WikiLink { has_pothole },
                    ref dest_url,
                    ..
                },
            ) => {
                // In a table the bar is written `\|`, and the backslash is left to us.
                let target = match dest_url.strip_suffix('\\') {
                    Some(target) if has_pothole => target,
                    _ => dest_url,
                };
                let is_link = matches!(event, Event::Start(Tag::Link { .. }));
                let style = if is_link {
                    Style::Wikilink
                } else {
                    Style::Embed
                };
                open = Some(Anchor {
                    style,
                    range,
                    target: target.to_owned(),
                    label: String::new(),
                });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => found.extend(open.take()),
            Event::Text(text) | Event::Code(text) => label(open.as_mut(), &text),
            Event::SoftBreak | Event::HardBreak => label(open.as_mut(), " "),
            _ => {}
        }
    }
    found
}

/// Adds the wikilinks that no anchor of the first pass, sorted by place, overlaps, at their place.
fn merge(anchors: &mut Vec<Anchor>, wikilinks: Vec<Anchor>) {
    let known = anchors.len();
    let mut at = 0;
    for wikilink in wikilinks {
        while at < known && anchors[at].range.end <= wikilink.range.start {
            at += 1;
        }
        if at == known || anchors[at].range.start >= wikilink.range.end {
            anchors.push(wikilink);
        }
    }
    anchors.sort_by_key(|anchor| anchor.range.start);
}

fn markdown(anchor: Anchor, line: u32, columns: Columns, references: &mut References) {
    let target = anchor.target;
    if has_scheme(&target) {
        references
            .citations
            .extend(citation(&target, line, columns));
        return;
    }
    if target.starts_with("//") {
        return;
    }
    let (target, fragment) = markdown_place(&target);
    references.links.push(Link {
        kind: LinkKind::Markdown,
        target,
        fragment,
        line,
        columns: Some(columns),
        label: anchor.label,
    });
}

/// The path and the fragment that the target of a Markdown link names.
fn markdown_place(target: &str) -> (String, Option<String>) {
    let (path, fragment) = match target.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (target, None),
    };
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    (percent_decoded(path), fragment.map(percent_decoded))
}

/// The path and the fragment that the target of a wikilink names; nothing for one that no
/// wikilink tool would take.
fn wikilink_place(target: &str) -> Option<(String, Option<String>)> {
    // Brackets stand in `[[1,2],[3,4]]` and the like; a line break ends a wikilink.
    if target.contains(['[', ']', '\n']) {
        return None;
    }
    let (target, fragment) = match target.split_once('#') {
        Some((target, fragment)) => (target, Some(fragment.trim().to_owned())),
        None => (target, None),
    };
    let target = target.trim().to_owned();
    (!target.is_empty() || fragment.is_some()).then_some((target, fragment))
}

/// What the target of one link names, for whoever meets the link while reading a body.
#[cfg(feature = "web")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A place of the wiki: how it was written, path and fragment, as in [`Link`].
    Place(LinkKind, String, Option<String>),
    /// Lines of a source.
    Cited(Citation),
    /// Something with a scheme or a host.
    Outside,
    /// Nothing.
    Nowhere,
}

/// What a target as pulldown-cmark gives it names.
#[cfg(feature = "web")]
pub(crate) fn target_of(kind: LinkKind, target: &str) -> Target {
    if kind != LinkKind::Markdown {
        let place = wikilink_place(target.strip_suffix('\\').unwrap_or(target));
        return place.map_or(Target::Nowhere, |(path, fragment)| {
            Target::Place(kind, path, fragment)
        });
    }
    if has_scheme(target) {
        let cited = citation(target, 0, Columns { start: 0, end: 0 });
        return cited.map_or(Target::Outside, Target::Cited);
    }
    if target.starts_with("//") {
        return Target::Outside;
    }
    let (path, fragment) = markdown_place(target);
    Target::Place(kind, path, fragment)
}

/// A wikilink, unless its target is one that no wikilink tool would take.
fn wikilink(anchor: &Anchor, kind: LinkKind, line: u32, columns: Columns) -> Option<Link> {
    let (target, fragment) = wikilink_place(&anchor.target)?;
    Some(Link {
        kind,
        target,
        fragment,
        line,
        columns: Some(columns),
        label: anchor.label.trim().to_owned(),
    })
}

const SOURCE_URI: &str = "llmwiki://source/";

/// The citation that a target with a scheme is, if it is one.
fn citation(target: &str, line: u32, columns: Columns) -> Option<Citation> {
    let prefix = target.get(..SOURCE_URI.len())?;
    if !prefix.eq_ignore_ascii_case(SOURCE_URI) {
        return None;
    }
    let rest = &target[SOURCE_URI.len()..];
    let (id, fragment) = match rest.split_once('#') {
        Some((id, fragment)) => (id, Some(fragment)),
        None => (rest, None),
    };
    let lines = match fragment {
        None => Ok(None),
        Some(fragment) => line_range(fragment)
            .map(Some)
            .ok_or_else(|| fragment.to_owned()),
    };
    let source = SourceId::parse(id).map_err(|_| id.to_owned());
    Some(Citation {
        source,
        lines,
        line,
        columns,
        raw: target.to_owned(),
    })
}

/// Reads `L10` or `L10-L20`.
fn line_range(fragment: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let digits = text.strip_prefix('L')?;
        let plain = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain {
            digits.parse::<u32>().ok()
        } else {
            None
        }
    };
    match fragment.split_once('-') {
        None => number(fragment).map(|line| (line, line)),
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some((first, last))
        }
    }
}

/// Whether a target begins with a scheme of RFC 3986. A drive letter looks like one and is as
/// foreign.
pub(super) fn has_scheme(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    })
}

/// The text with its `%xx` resolved once. A text with a malformed escape, or one whose bytes
/// would not be UTF-8, is taken as it stands.
pub(crate) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digit = |at: usize| {
            after
                .get(at)
                .and_then(|&digit| char::from(digit).to_digit(16))
        };
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return text.to_owned();
        };
        let Ok(value) = u8::try_from(high * 16 + low) else {
            return text.to_owned();
        };
        bytes.push(value);
        rest = &after[2..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `kind target #fragment (label) @line` for each link.
    fn check(body: &str, expected: &[&str]) {
        let found: Vec<String> = references(body, 1)
            .links
            .iter()
            .map(|link| {
                let kind = match link.kind {
                    LinkKind::Markdown => "md",
                    LinkKind::Wikilink => "wiki",
                    LinkKind::Embed => "embed",
                };
                let fragment = link
                    .fragment
                    .as_ref()
                    .map(|text| format!(" #{text}"))
                    .unwrap_or_default();
                format!(
                    "{kind} {}{fragment} ({}) @{}",
                    link.target, link.label, link.line
                )
            })
            .collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn every_spelling_of_a_markdown_link_is_seen() {
        check("[x](a.md)", &["md a.md (x) @1"]);
        check("[x](a.md#part \"title\")", &["md a.md #part (x) @1"]);
        check(
            "[x](<a b.md>) [y](a%20b.md)",
            &["md a b.md (x) @1", "md a b.md (y) @1"],
        );
        check(
            "[x][r], [r] and [r][]\n\n[R]: a.md",
            &["md a.md (x) @1", "md a.md (r) @1", "md a.md (r) @1"],
        );
        check("[![alt](p.png)](a.md)", &["md a.md (alt) @1"]);
        check("[a [b] `c`](n(2).md)", &["md n(2).md (a [b] c) @1"]);
        check("[a\\]b](a.md)", &["md a.md (a]b) @1"]);
        check("text\n\n[a\nb](\na.md)", &["md a.md (a b) @3"]);
        check(
            "<a href=\"a.md\">x</a>\n\n<div>\n\n<p\n><a\nhref=b.md>",
            &["md a.md () @1", "md b.md () @6"],
        );
        check(
            "# [x](a.md)\n- [y](b.md)\n> [z](c.md)",
            &["md a.md (x) @1", "md b.md (y) @2", "md c.md (z) @3"],
        );
        check("| a |\n|---|\n| [x](a.md) |", &["md a.md (x) @3"]);
        check("text[^1]\n\n[^1]: [x](a.md)", &["md a.md (x) @3"]);
        check(
            "[x](a.md?raw=1#l) [y](a%3Fb.md) [z](#here) [w]()",
            &[
                "md a.md #l (x) @1",
                "md a?b.md (y) @1",
                "md  #here (z) @1",
                "md  (w) @1",
            ],
        );
    }

    #[test]
    fn wikilinks_are_seen_with_their_parts() {
        check("[[a]] [[ b c ]]", &["wiki a (a) @1", "wiki b c (b c) @1"]);
        check(
            "[[a|the a]] [[a#part]] [[a#part|p]]",
            &[
                "wiki a (the a) @1",
                "wiki a #part (a#part) @1",
                "wiki a #part (p) @1",
            ],
        );
        check(
            "| x |\n|---|\n| [[a\\|A]] |\n| [[b|B]] |",
            &["wiki a (A) @3", "wiki b (B) @4"],
        );
        check("[[#here]] [[]] [[|x]] [[ ]]", &["wiki  #here (#here) @1"]);
        check(
            "![[pic.png]] ![[note|300]]",
            &["embed pic.png (pic.png) @1", "embed note (300) @1"],
        );
        check("**[[a]]** *[[b|*c*]]*", &["wiki a (a) @1", "wiki b (c) @1"]);
        check("[[[a]]]", &["wiki a (a) @1"]);
    }

    #[test]
    fn markdown_has_the_first_word_where_both_see_a_link() {
        check("[[a]](b.md)", &["md b.md ([a]) @1"]);
        check("see [[a]]\n\n[a]: dir/a.md \"A\"", &["md dir/a.md (a) @1"]);
        check(
            "[see [[a]] there](b.md) [[c]]",
            &["md b.md (see [[a]] there) @1", "wiki c (c) @1"],
        );
    }

    #[test]
    fn code_comments_escapes_and_foreign_targets_are_no_links() {
        for body in [
            "`[x](a.md)` `[[a]]`",
            "```\n[x](a.md) [[a]]\n",
            "~~~md\n[[a]]\n~~~",
            "    [x](a.md)\n    [[a]]",
            "<!-- [x](a.md) [[a]] <a href='a.md'> -->",
            "<!--\n\n[[a]]\n\n-->",
            "\\[x](a.md) \\[[a]] [\\[a]]",
            "![x](a.md)",
            "![a [x](b.md)](c.png)",
            "[x] (a.md) [x](no where.md)",
            "[x](https://a.b/c.md) <https://a.b> [m](mailto:a@b.c) <a@b.c> [p](//a.b/c.md) [c](C:/x.md)",
            "[[1,2],[3,4]] a[[i] [[a]b]]",
            "[[two\nlines]]",
            "[^1]: not a link\n\n[^1]",
            "[x]: a.md",
        ] {
            check(body, &[]);
        }
    }

    #[test]
    fn links_stand_in_the_order_of_the_text() {
        check(
            "[one <a href=two.md>\n](three.md)",
            &["md three.md (one  ) @1", "md two.md () @1"],
        );
    }

    #[test]
    fn targets_are_decoded_once_and_malformed_escapes_stay() {
        check(
            "[a](x%2520y.md) [b](bad%zz.md) [c](%2e%2e/s.md) [d](%ff.md) [e](a%) [f](a%2Fb.md)",
            &[
                "md x%20y.md (a) @1",
                "md bad%zz.md (b) @1",
                "md ../s.md (c) @1",
                "md %ff.md (d) @1",
                "md a% (e) @1",
                "md a/b.md (f) @1",
            ],
        );
    }

    #[test]
    fn citations_are_read_to_the_letter() {
        let id = SourceId::of(b"abc");
        let cited = |fragment: &str| {
            let body = format!("text\n[x](llmwiki://source/{id}{fragment})");
            let mut found = references(&body, 1);
            assert_eq!((found.links.len(), found.citations.len()), (0, 1), "{body}");
            let citation = found.citations.remove(0);
            assert_eq!((citation.source, citation.line), (Ok(id), 2));
            citation.lines
        };
        assert_eq!(cited(""), Ok(None));
        assert_eq!(cited("#L10"), Ok(Some((10, 10))));
        assert_eq!(cited("#L10-L20"), Ok(Some((10, 20))));
        for bad in [
            "#",
            "#10",
            "#L0",
            "#L01",
            "#L20-L10",
            "#L1-2",
            "#L1-L2-L3",
            "#L99999999999",
            "#l1",
            "#L+1",
        ] {
            assert_eq!(cited(bad), Err(bad[1..].to_owned()), "{bad}");
        }
        let autolink = references(&format!("<llmwiki://source/{id}#L3>"), 1);
        assert_eq!(autolink.citations[0].lines, Ok(Some((3, 3))));
        let broken = references("[x](llmwiki://source/abc#L1) [y](llmwiki://page/x)", 1);
        assert_eq!(broken.citations.len(), 1);
        assert_eq!(broken.citations[0].source, Err("abc".to_owned()));
        assert_eq!(broken.citations[0].raw, "llmwiki://source/abc#L1");
        assert_eq!(
            references("`llmwiki://source/abc` llmwiki://source/abc", 1),
            References::default()
        );
    }

    proptest! {
        #[test]
        fn any_text_gives_links_inside_it(body in body(), first_line in 1_u32..9) {
            let found = references(&body, first_line);
            let last_line = first_line + u32::try_from(body.matches('\n').count()).unwrap();
            let lines = found.links.iter().map(|link| link.line).chain(found.citations.iter().map(|citation| citation.line));
            for line in lines {
                prop_assert!((first_line..=last_line).contains(&line));
            }
            prop_assert!(found.links.windows(2).all(|pair| pair[0].line <= pair[1].line));
            prop_assert_eq!(references(&body, first_line), found);
        }
    }

    fn body() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "[",
            "]",
            "[[",
            "]]",
            "![[",
            "![",
            "](",
            ")",
            "<",
            ">",
            "a.md",
            "b",
            "\u{e9}",
            "|",
            "\\",
            "\n",
            "\n\n",
            " ",
            "#",
            "`",
            "```\n",
            "<a href=",
            "\"",
            "<!--",
            "-->",
            "%20",
            "%",
            ":",
            "/",
            "..",
            "[x]: y",
            "[^1]",
            "> ",
            "- ",
            "|-|",
            "*",
            "llmwiki://source/",
            "&amp;",
            "<div>",
            "\t",
        ]);
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }
}
