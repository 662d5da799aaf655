//! Wiki text as HTML that is safe by the way it is made: every element and every attribute that
//! comes out is written here, everything of the text is escaped. Raw HTML keeps a list of
//! elements without their attributes (`raw`); a link leads to where the engine says it leads, to
//! the web, or nowhere (`target`). Nothing of the text becomes script, style or a request.

mod code;
mod mermaid;
mod raw;
mod target;

use std::collections::HashMap;
use std::fmt::Write as _;

use pulldown_cmark::{
    Alignment, BlockQuoteKind, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd,
};

use crate::id::{PageId, SourceId};
use crate::page::{Link, LinkKind, OPTIONS, Resolution, Slugs, fold_title, target_of};
use crate::wiki::SourceMetadata;

use super::urls;
use code::language_of;
pub(super) use code::{code_html, parts_html};
use raw::Open;
pub(super) use target::IMAGES;

/// The text between tags and in attributes.
pub(super) fn escape(out: &mut String, text: &str) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let as_text = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        out.push_str(&text[from..at]);
        out.push_str(as_text);
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

/// What a page is read in: where its links lead, and what is known of its sources.
#[derive(Default)]
pub(super) struct Surroundings<'a> {
    /// The page; none for a text that stands for itself.
    pub(super) page: Option<&'a PageId>,
    /// Where links lead.
    pub(super) links: &'a [(Link, Resolution)],
    /// What is cited.
    pub(super) sources: &'a [(SourceId, Option<SourceMetadata>)],
    /// What the targets that [`chip_target`] makes open.
    pub(super) chips: &'a [Chip],
    /// Number of the first line of the text.
    pub(super) first_line: u32,
    /// Blocks in these lines are marked.
    pub(super) lit: Option<urls::Lines>,
    /// A first heading that says this is left out: it stands above the text.
    pub(super) title: Option<&'a str>,
}

/// A citation that is shown as a number.
#[derive(Debug)]
pub(super) struct Chip {
    /// What is cited, for people.
    pub(super) title: String,
    /// Where it opens.
    pub(super) url: String,
}

/// The target of a link that opens the chip of this index.
pub(super) fn chip_target(index: usize) -> String {
    format!("{CHIP}{index}")
}

/// No scheme of anybody; means nothing where there are no chips.
const CHIP: &str = "llmwiki-cite:";

/// A heading of the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) level: u8,
    pub(super) text: String,
    pub(super) id: String,
}

/// A text as HTML.
#[derive(Debug, Default)]
pub(super) struct Article {
    pub(super) html: String,
    pub(super) headings: Vec<Heading>,
}

/// The text as HTML.
pub(super) fn article(text: &str, around: &Surroundings<'_>) -> Article {
    let mut writer = Writer::new(text, around);
    let options = OPTIONS | Options::ENABLE_GFM | Options::ENABLE_WIKILINKS | Options::ENABLE_MATH;
    writer.run(Parser::new_ext(text, options).into_offset_iter());
    writer.finish()
}

/// Marks the first of the blocks that are marked.
const LIT_ID: &str = " id=\"w-lit\"";

type LinkKey<'a> = (LinkKind, &'a str, Option<&'a str>);

struct Writer<'a> {
    around: &'a Surroundings<'a>,
    links: HashMap<LinkKey<'a>, &'a Resolution>,
    sources: HashMap<SourceId, Option<&'a SourceMetadata>>,
    text: &'a str,
    line_starts: Vec<usize>,
    out: String,
    stack: Vec<Open>,
    headings: Vec<Heading>,
    slugs: Slugs,
    /// The heading that is being read: where it begins in the output, and its words.
    heading: Option<(usize, String)>,
    alignments: Vec<Alignment>,
    column: usize,
    in_head: bool,
    /// Output around footnotes that are being read.
    outer: Vec<(String, String)>,
    /// Labels of footnotes in the order of their first use, with how often they are used.
    used: Vec<(String, u32)>,
    notes: HashMap<String, String>,
    diagrams: usize,
    has_lit: bool,
    is_first: bool,
    /// The raw HTML that is being read.
    html: String,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, around: &'a Surroundings<'a>) -> Self {
        let links = around.links.iter().map(|(link, leads)| {
            let key = (link.kind, link.target.as_str(), link.fragment.as_deref());
            (key, leads)
        });
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self {
            around,
            links: links.collect(),
            sources: around
                .sources
                .iter()
                .map(|(id, it)| (*id, it.as_ref()))
                .collect(),
            text,
            line_starts: std::iter::once(0)
                .chain(breaks.map(|(at, _)| at + 1))
                .collect(),
            out: String::with_capacity(text.len() * 2),
            stack: Vec::new(),
            headings: Vec::new(),
            slugs: Slugs::default(),
            heading: None,
            alignments: Vec::new(),
            column: 0,
            in_head: false,
            outer: Vec::new(),
            used: Vec::new(),
            notes: HashMap::new(),
            diagrams: 0,
            has_lit: false,
            is_first: true,
            html: String::new(),
        }
    }

    fn run<'t>(&mut self, events: impl Iterator<Item = (Event<'t>, std::ops::Range<usize>)>) {
        let mut events = events;
        while let Some((event, range)) = events.next() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let mut text = String::new();
                    for (event, _) in events.by_ref() {
                        match event {
                            Event::Text(part) => text.push_str(&part),
                            Event::End(TagEnd::CodeBlock) => break,
                            _ => {}
                        }
                    }
                    self.code_block(&kind, &text, &range);
                }
                Event::Start(Tag::Image {
                    link_type,
                    dest_url,
                    ..
                }) => {
                    let mut label = String::new();
                    let mut depth = 1;
                    for (event, _) in events.by_ref() {
                        match event {
                            Event::Start(Tag::Image { .. }) => depth += 1,
                            Event::End(TagEnd::Image) => {
                                depth -= 1;
                                if depth == 0 {
                                    break;
                                }
                            }
                            Event::Text(part) | Event::Code(part) => label.push_str(&part),
                            Event::SoftBreak | Event::HardBreak => label.push(' '),
                            _ => {}
                        }
                    }
                    self.image(link_type, &dest_url, &label);
                }
                Event::Start(tag) => self.start(tag, &range),
                Event::End(end) => self.end(end),
                event => self.inline(event),
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: &std::ops::Range<usize>) {
        let first = std::mem::take(&mut self.is_first);
        match tag {
            Tag::Paragraph => self.block("p", range),
            Tag::Heading { level, .. } => {
                // The title stands above; what is left out keeps its place in the list of slugs.
                let skipped = first && level as u8 == 1 && self.around.title.is_some();
                self.stack
                    .push(Open::Markdown(if skipped { "skip" } else { "" }));
                self.heading = Some((self.out.len(), String::new()));
                // A heading has an id of its own.
                let class = self.lit_attribute(range);
                self.out
                    .push_str(class.strip_suffix(LIT_ID).unwrap_or(&class));
                self.out.push('>');
                if class.ends_with(LIT_ID) {
                    let _ = write!(self.out, "<span{LIT_ID}></span>");
                }
            }
            Tag::BlockQuote(None) => self.block("blockquote", range),
            Tag::BlockQuote(Some(kind)) => {
                let (class, title) = match kind {
                    BlockQuoteKind::Note => ("note", "Note"),
                    BlockQuoteKind::Tip => ("tip", "Tip"),
                    BlockQuoteKind::Important => ("important", "Important"),
                    BlockQuoteKind::Warning => ("warning", "Warning"),
                    BlockQuoteKind::Caution => ("caution", "Caution"),
                };
                let _ = write!(
                    self.out,
                    "<div class=\"alert {class}\" role=\"note\"><p class=\"alert-title\">{title}</p>"
                );
                self.stack.push(Open::Markdown("</div>\n"));
            }
            Tag::List(None) => self.open("<ul>\n", "</ul>\n"),
            Tag::List(Some(1)) => self.open("<ol>\n", "</ol>\n"),
            Tag::List(Some(start)) => {
                let _ = writeln!(self.out, "<ol start=\"{start}\">");
                self.stack.push(Open::Markdown("</ol>\n"));
            }
            Tag::Item => self.block("li", range),
            Tag::FootnoteDefinition(label) => {
                let outer = std::mem::take(&mut self.out);
                self.outer.push((label.to_string(), outer));
                self.stack.push(Open::Markdown(""));
            }
            Tag::Table(alignments) => {
                self.alignments = alignments;
                let class = self.lit_attribute(range);
                let _ = write!(
                    self.out,
                    "<div{class}><div class=\"table\" tabindex=\"0\" role=\"region\" \
                     aria-label=\"Table\"><table>"
                );
                self.stack
                    .push(Open::Markdown("</tbody></table></div></div>\n"));
            }
            Tag::TableHead => {
                (self.in_head, self.column) = (true, 0);
                self.open("<thead><tr>", "</tr></thead>\n<tbody>\n");
            }
            Tag::TableRow => {
                self.column = 0;
                self.open("<tr>", "</tr>\n");
            }
            Tag::TableCell => {
                let cell = if self.in_head { "th" } else { "td" };
                let class = match self.alignments.get(self.column) {
                    Some(Alignment::Right) => " class=\"right\"",
                    Some(Alignment::Center) => " class=\"center\"",
                    _ => "",
                };
                self.column += 1;
                let _ = write!(self.out, "<{cell}{class}>");
                self.stack
                    .push(Open::Markdown(if self.in_head { "</th>" } else { "</td>" }));
            }
            Tag::Emphasis => self.open("<em>", "</em>"),
            Tag::Strong => self.open("<strong>", "</strong>"),
            Tag::Strikethrough => self.open("<del>", "</del>"),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => {
                let (open, close) = if link_type == LinkType::Email {
                    target::outside(&format!("mailto:{dest_url}"))
                } else {
                    let kind = kind_of(link_type, false);
                    self.anchor(&target_of(kind, &dest_url), &dest_url)
                };
                self.out.push_str(&open);
                self.stack.push(Open::Markdown(close));
            }
            Tag::HtmlBlock => self.stack.push(Open::HtmlBlock),
            // What is not asked for does not come.
            _ => self.open("", ""),
        }
    }

    fn open(&mut self, open: &str, close: &'static str) {
        self.out.push_str(open);
        self.stack.push(Open::Markdown(close));
    }

    fn block(&mut self, name: &'static str, range: &std::ops::Range<usize>) {
        let class = self.lit_attribute(range);
        let _ = write!(self.out, "<{name}{class}>");
        self.stack.push(Open::Markdown(match name {
            "p" => "</p>\n",
            "li" => "</li>\n",
            _ => "</blockquote>\n",
        }));
    }

    /// The line of a place in the text.
    fn line(&self, at: usize) -> u32 {
        let before = self.line_starts.partition_point(|&start| start <= at);
        self.around.first_line + u32::try_from(before).unwrap_or(u32::MAX).saturating_sub(1)
    }

    /// Says of a block whether it is in the lines that are to be marked.
    fn lit_attribute(&mut self, range: &std::ops::Range<usize>) -> String {
        let Some((first, last)) = self.around.lit else {
            return String::new();
        };
        let end = self.text[range.clone()].trim_end().len() + range.start;
        let (start, end) = (self.line(range.start), self.line(end.max(range.start)));
        if start > last || end < first {
            return String::new();
        }
        let id = if std::mem::replace(&mut self.has_lit, true) {
            ""
        } else {
            LIT_ID
        };
        format!(" class=\"lit\"{id}")
    }

    fn end(&mut self, end: TagEnd) {
        if matches!(end, TagEnd::HtmlBlock) {
            let html = std::mem::take(&mut self.html);
            // Elements that are open stay open for the blocks that follow.
            self.stack.retain(|open| !matches!(open, Open::HtmlBlock));
            raw::write(self, &html);
            self.out.push('\n');
            return;
        }
        // Raw elements end with what they stand in.
        let close = loop {
            match self.stack.pop() {
                Some(Open::Raw(name)) => {
                    let _ = write!(self.out, "</{name}>");
                }
                Some(Open::Markdown(close)) => break close,
                Some(Open::HtmlBlock) => {}
                None => return,
            }
        };
        match end {
            TagEnd::Heading(level) => self.end_heading(level as u8, close == "skip"),
            TagEnd::FootnoteDefinition => {
                if let Some((label, outer)) = self.outer.pop() {
                    let note = std::mem::replace(&mut self.out, outer);
                    self.notes.entry(label).or_insert(note);
                }
            }
            TagEnd::TableHead => {
                self.in_head = false;
                self.out.push_str(close);
            }
            _ => self.out.push_str(close),
        }
    }

    fn end_heading(&mut self, level: u8, may_skip: bool) {
        let Some((at, words)) = self.heading.take() else {
            return;
        };
        let inner = self.out.split_off(at);
        let words = words.trim().to_owned();
        let id = self.slugs.next(&words);
        let is_title = |title: &str| fold_title(title) == fold_title(&words);
        if may_skip && self.around.title.is_some_and(is_title) {
            let _ = write!(self.out, "<span id=\"");
            escape(&mut self.out, &id);
            self.out.push_str("\"></span>");
            if inner.contains(LIT_ID) {
                let _ = write!(self.out, "<span{LIT_ID}></span>");
            }
            return;
        }
        let _ = write!(self.out, "<h{level} id=\"");
        escape(&mut self.out, &id);
        let _ = write!(self.out, "\"{inner}");
        if !id.is_empty() {
            self.out.push_str(" <a class=\"anchor\" href=\"#");
            self.out.push_str(&urls::path(&id));
            self.out
                .push_str("\" aria-label=\"Link to this section\">#</a>");
        }
        let _ = writeln!(self.out, "</h{level}>");
        self.headings.push(Heading {
            level,
            text: words,
            id,
        });
    }

    fn inline(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => {
                self.say(&text);
                escape(&mut self.out, &text);
            }
            Event::Code(text) => {
                self.say(&text);
                self.out.push_str("<code>");
                escape(&mut self.out, &text);
                self.out.push_str("</code>");
            }
            Event::InlineMath(text) => self.math(&text, "$"),
            Event::DisplayMath(text) => self.math(&text, "$$"),
            Event::InlineHtml(html) => raw::write(self, &html),
            Event::Html(html) => self.html.push_str(&html),
            Event::SoftBreak => {
                self.say(" ");
                self.out.push('\n');
            }
            Event::HardBreak => {
                self.say(" ");
                self.out.push_str("<br>\n");
            }
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.out.push_str(if done {
                "<input type=\"checkbox\" disabled checked aria-label=\"done\"> "
            } else {
                "<input type=\"checkbox\" disabled aria-label=\"to do\"> "
            }),
            Event::FootnoteReference(label) => self.footnote(&label),
            Event::Start(_) | Event::End(_) => {}
        }
    }

    fn say(&mut self, text: &str) {
        if let Some((_, words)) = &mut self.heading {
            words.push_str(text);
        }
    }

    /// Mathematics stays as it was written, its signs of Markdown untouched. Prices and names of
    /// variables look like it too, so the signs around it stay, and links in it work.
    fn math(&mut self, text: &str, sign: &str) {
        self.say(&format!("{sign}{text}{sign}"));
        if text.contains("](") || text.contains("[[") || text.contains('`') {
            let heading = self.heading.take();
            self.out.push_str(sign);
            let options = OPTIONS | Options::ENABLE_WIKILINKS;
            let is_frame = |event: &Event<'_>| {
                matches!(
                    event,
                    Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph)
                )
            };
            let events = Parser::new_ext(text, options).into_offset_iter();
            let inner: Vec<_> = events.filter(|(event, _)| !is_frame(event)).collect();
            self.run(inner.into_iter().map(|(event, _)| (event, 0..0)));
            self.out.push_str(sign);
            self.heading = heading;
            return;
        }
        let class = if sign == "$$" { "math display" } else { "math" };
        let _ = write!(self.out, "<span class=\"{class}\">{sign}");
        escape(&mut self.out, text);
        let _ = write!(self.out, "{sign}</span>");
    }

    fn footnote(&mut self, label: &str) {
        let at = match self.used.iter().position(|(known, _)| known == label) {
            Some(at) => at,
            None => {
                self.used.push((label.to_owned(), 0));
                self.used.len() - 1
            }
        };
        self.used[at].1 += 1;
        let (number, use_of) = (at + 1, self.used[at].1);
        let _ = write!(
            self.out,
            "<sup class=\"note-mark\"><a id=\"w-ref-{number}-{use_of}\" href=\"#w-note-{number}\" \
             aria-label=\"Footnote {number}\">{number}</a></sup>"
        );
    }

    fn code_block(&mut self, kind: &CodeBlockKind<'_>, text: &str, range: &std::ops::Range<usize>) {
        self.is_first = false;
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let class = self.lit_attribute(range);
        if info.eq_ignore_ascii_case("mermaid") {
            self.diagrams += 1;
            self.diagram(text, &class);
            return;
        }
        let _ = write!(self.out, "<figure{class}><div class=\"code\">");
        if !info.is_empty() {
            self.out.push_str("<span class=\"lang\">");
            escape(&mut self.out, info);
            self.out.push_str("</span>");
        }
        self.out.push_str("<pre tabindex=\"0\"><code>");
        code_html(&mut self.out, language_of(info), text);
        self.out.push_str("</code></pre></div></figure>\n");
    }

    /// The drawing, and its text for who cannot see it or wants to copy it.
    fn diagram(&mut self, text: &str, class: &str) {
        match mermaid::svg(text, self.diagrams) {
            Ok(svg) => {
                let _ = write!(
                    self.out,
                    "<figure{class}><div class=\"diagram\" tabindex=\"0\" role=\"group\" \
                     aria-label=\"Diagram\">{svg}</div><details><summary>Text of the \
                     diagram</summary><pre><code>"
                );
                escape(&mut self.out, text);
                self.out.push_str("</code></pre></details></figure>\n");
            }
            Err(why) => {
                let _ = write!(
                    self.out,
                    "<figure{class}><div class=\"code\"><span class=\"lang\">mermaid, not drawn: "
                );
                escape(&mut self.out, &why);
                self.out.push_str("</span><pre tabindex=\"0\"><code>");
                escape(&mut self.out, text);
                self.out.push_str("</code></pre></div></figure>\n");
            }
        }
    }

    fn finish(mut self) -> Article {
        while let Some(open) = self.stack.pop() {
            if let Open::Raw(name) = open {
                let _ = write!(self.out, "</{name}>");
            }
        }
        let mut notes = std::mem::take(&mut self.notes);
        let used = std::mem::take(&mut self.used);
        if !used.is_empty() {
            self.out
                .push_str("<section class=\"footnotes\" aria-label=\"Footnotes\"><ol>\n");
            for (at, (label, uses)) in used.iter().enumerate() {
                let number = at + 1;
                let _ = write!(self.out, "<li id=\"w-note-{number}\">");
                match notes.remove(label) {
                    Some(note) => self.out.push_str(&note),
                    None => self
                        .out
                        .push_str("<p class=\"faint\">This footnote is not there.</p>"),
                }
                for use_of in 1..=*uses {
                    let _ = write!(
                        self.out,
                        "<a class=\"back\" href=\"#w-ref-{number}-{use_of}\" \
                         aria-label=\"Back to the text\">&#8617;</a> "
                    );
                }
                self.out.push_str("</li>\n");
            }
            self.out.push_str("</ol></section>\n");
        }
        Article {
            html: self.out,
            headings: self.headings,
        }
    }
}

fn kind_of(link: LinkType, is_image: bool) -> LinkKind {
    match link {
        LinkType::WikiLink { .. } if is_image => LinkKind::Embed,
        LinkType::WikiLink { .. } => LinkKind::Wikilink,
        _ => LinkKind::Markdown,
    }
}

#[cfg(test)]
mod tests;
