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
use super::lines::LineIndex;
use crate::id::SourceId;

/// The Markdown that pages are read as. Footnotes must be known, or `[^1]: text` would define a
/// link; mathematics must not, or `$HOME/$USER` would hide what lies between.
pub(super) const OPTIONS: Options = Options::ENABLE_TABLES
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
    let mut anchors = Vec::new();
    markdown_anchors(body, &mut anchors);
    if body.contains("[[") {
        let wikilinks = wikilink_anchors(body);
        merge(&mut anchors, wikilinks);
    }
    let lines = LineIndex::new(body, first_line);
    let mut references = References::default();
    for anchor in anchors {
        let line = lines.line(anchor.range.start);
        match anchor.style {
            Style::Covered => {}
            Style::Markdown => markdown(anchor, line, &mut references),
            Style::Wikilink => references
                .links
                .extend(wikilink(&anchor, LinkKind::Wikilink, line)),
            Style::Embed => references
                .links
                .extend(wikilink(&anchor, LinkKind::Embed, line)),
        }
    }
    references
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

/// The first pass: links and images of CommonMark, and anchors in HTML.
fn markdown_anchors(body: &str, found: &mut Vec<Anchor>) {
    let mut open: Option<Anchor> = None;
    let mut images = 0_usize;
    for (event, range) in Parser::new_ext(body, OPTIONS).into_offset_iter() {
        match event {
            // A link in the description of an image is never shown as one.
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) if images == 0 => {
                let style = if link_type == LinkType::Email {
                    Style::Covered
                } else {
                    Style::Markdown
                };
                open = Some(Anchor {
                    style,
                    range,
                    target: dest_url.into_string(),
                    label: String::new(),
                });
            }
            Event::End(TagEnd::Link) if images == 0 => found.extend(open.take()),
            Event::Start(Tag::Image { .. }) => {
                images += 1;
                if images == 1 && open.is_none() {
                    let label = String::new();
                    found.push(Anchor {
                        style: Style::Covered,
                        range,
                        target: String::new(),
                        label,
                    });
                }
            }
            Event::End(TagEnd::Image) => images -= 1,
            Event::Text(text) | Event::Code(text) => label(open.as_mut(), &text),
            Event::SoftBreak | Event::HardBreak => label(open.as_mut(), " "),
            Event::InlineHtml(html) => html_anchors(&html, range, Style::Markdown, found),
            // The block's own slice, since a tag may be spread over several of its events.
            Event::Start(Tag::HtmlBlock) => {
                html_anchors(&body[range.clone()], range, Style::Markdown, found)
            }
            _ => {}
        }
    }
}

fn label(open: Option<&mut Anchor>, text: &str) {
    if let Some(anchor) = open {
        anchor.label.push_str(text);
    }
}

fn html_anchors(html: &str, range: Range<usize>, style: Style, found: &mut Vec<Anchor>) {
    found.extend(html::hrefs(html).into_iter().map(|(offset, target)| {
        let start = range.start + offset;
        Anchor {
            style,
            range: start..start + 1,
            target,
            label: String::new(),
        }
    }));
}

/// The second pass: wikilinks and embeds, whatever the first pass made of them.
fn wikilink_anchors(body: &str) -> Vec<Anchor> {
    let mut found = Vec::new();
    let mut open: Option<Anchor> = None;
    let options = OPTIONS.union(Options::ENABLE_WIKILINKS);
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

/// Adds the wikilinks that no anchor of the first pass overlaps, and sorts all by place.
fn merge(anchors: &mut Vec<Anchor>, wikilinks: Vec<Anchor>) {
    anchors.sort_by_key(|anchor| anchor.range.start);
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

fn markdown(anchor: Anchor, line: u32, references: &mut References) {
    let target = anchor.target;
    if has_scheme(&target) {
        references.citations.extend(citation(&target, line));
        return;
    }
    if target.starts_with("//") {
        return;
    }
    let (path, fragment) = match target.split_once('#') {
        Some((path, fragment)) => (path, Some(fragment)),
        None => (target.as_str(), None),
    };
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    references.links.push(Link {
        kind: LinkKind::Markdown,
        target: percent_decoded(path),
        fragment: fragment.map(percent_decoded),
        line,
        label: anchor.label,
    });
}

/// A wikilink, unless its target is one that no wikilink tool would take.
fn wikilink(anchor: &Anchor, kind: LinkKind, line: u32) -> Option<Link> {
    // Brackets stand in `[[1,2],[3,4]]` and the like; a line break ends a wikilink.
    if anchor.target.contains(['[', ']', '\n']) {
        return None;
    }
    let (target, fragment) = match anchor.target.split_once('#') {
        Some((target, fragment)) => (target, Some(fragment.trim().to_owned())),
        None => (anchor.target.as_str(), None),
    };
    let target = target.trim().to_owned();
    if target.is_empty() && fragment.is_none() {
        return None;
    }
    Some(Link {
        kind,
        target,
        fragment,
        line,
        label: anchor.label.trim().to_owned(),
    })
}

const SOURCE_URI: &str = "llmwiki://source/";

/// The citation that a target with a scheme is, if it is one.
fn citation(target: &str, line: u32) -> Option<Citation> {
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
fn percent_decoded(text: &str) -> String {
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
