//! Raw HTML in wiki text: a list of elements passes, without any attribute but the place an `<a>`
//! leads to or names; containers that only style are dropped; comments are; every other tag is
//! shown as the text that it is. What is opened is closed, and never past the block it is in.

use super::{Writer, escape};
use crate::page::{LinkKind, tags, target_of};

/// What is open in the output.
pub(super) enum Open {
    /// An element that Markdown made, with what closes it.
    Markdown(&'static str),
    /// An element of raw HTML, by name.
    Raw(&'static str),
    /// The block of HTML that is being read.
    HtmlBlock,
}

/// Elements that pass.
const KEPT: [&str; 46] = [
    "abbr",
    "b",
    "blockquote",
    "caption",
    "cite",
    "code",
    "dd",
    "del",
    "details",
    "dfn",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "pre",
    "q",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "small",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Elements without content that pass.
const VOID: [&str; 3] = ["br", "hr", "wbr"];

/// Elements that say nothing but how to look: what is in them stays.
const DROPPED: [&str; 10] = [
    "article", "center", "div", "font", "p", "picture", "section", "span", "tt", "u",
];

pub(super) fn write(writer: &mut Writer<'_>, html: &str) {
    let mut at = 0;
    for tag in tags(html) {
        text(&mut writer.out, &html[at..tag.range.start]);
        at = tag.range.end;
        let name = tag.name.to_ascii_lowercase();
        let known = |list: &[&'static str]| list.iter().find(|it| **it == name).copied();
        if name.is_empty() || known(&DROPPED).is_some() {
            continue;
        }
        if let Some(name) = known(&VOID) {
            writer.out.push('<');
            writer.out.push_str(name);
            writer.out.push('>');
        } else if name == "a" {
            if tag.closes {
                close(writer, &["a", "span"]);
                continue;
            }
            if let Some(id) = tag.id.filter(|it| !it.starts_with("w-")) {
                writer.out.push_str("<span id=\"");
                escape(&mut writer.out, &id);
                writer.out.push_str("\"></span>");
            }
            let (open, end) = match &tag.href {
                Some(href) => writer.anchor(&target_of(LinkKind::Markdown, href), href),
                None => ("<span>".to_owned(), "</span>"),
            };
            writer.out.push_str(&open);
            let name = if end == "</a>" { "a" } else { "span" };
            writer.stack.push(Open::Raw(name));
        } else if let Some(name) = known(&KEPT) {
            if tag.closes {
                close(writer, &[name]);
            } else {
                writer.out.push('<');
                writer.out.push_str(name);
                writer.out.push('>');
                writer.stack.push(Open::Raw(name));
            }
        } else {
            escape(&mut writer.out, &html[tag.range.clone()]);
        }
    }
    text(&mut writer.out, &html[at..]);
}

/// Closes the last element of these names, and those in it, unless it is outside of the block.
fn close(writer: &mut Writer<'_>, names: &[&str]) {
    let inner = writer.stack.iter().rev();
    let inner: Vec<&str> = inner
        .map_while(|open| match open {
            Open::Raw(name) => Some(*name),
            Open::Markdown(_) | Open::HtmlBlock => None,
        })
        .collect();
    let Some(depth) = inner.iter().position(|name| names.contains(name)) else {
        return;
    };
    for name in &inner[..=depth] {
        writer.out.push_str("</");
        writer.out.push_str(name);
        writer.out.push('>');
    }
    writer.stack.truncate(writer.stack.len() - depth - 1);
}

/// Text between tags, where a character reference is one.
fn text(out: &mut String, raw: &str) {
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        escape(out, &rest[..at]);
        let inner = &rest[at + 1..];
        let end = inner.find(';').filter(|&end| (2..=31).contains(&end));
        let is_reference = end.is_some_and(|end| {
            let name = inner[..end].strip_prefix('#').unwrap_or(&inner[..end]);
            !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric())
        });
        match end {
            Some(end) if is_reference => {
                out.push('&');
                out.push_str(&inner[..=end]);
                rest = &inner[end + 1..];
            }
            _ => {
                out.push_str("&amp;");
                rest = inner;
            }
        }
    }
    escape(out, rest);
}
