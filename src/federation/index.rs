//! `.wiki/index.md` of other projects, as people and agents write it: lists, tables or plain lines;
//! Markdown links and wikilinks; headings in several languages. And the canonical form, which is
//! what `export wiki` writes: a section a type, `- [title](type/slug.md)`.
//!
//! Pure. An entry always names a page inside `.wiki/`: what leads out of it is dropped and counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use pulldown_cmark::{CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use crate::id::{PageId, fold_case};
use crate::page::percent_decoded;

/// Largest index that is read.
pub const MAX_INDEX_BYTES: u64 = 4 << 20;
/// Type of a page whose path and heading name none.
pub const UNTYPED: &str = "pages";

/// Types with the words by which headings name them.
const TYPES: &str = include_str!("types.txt");

const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_WIKILINKS)
    .union(Options::ENABLE_YAML_STYLE_METADATA_BLOCKS);

/// Why a text is no index at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Larger than [`MAX_INDEX_BYTES`].
    #[error("it has more than {MAX_INDEX_BYTES} bytes")]
    TooLarge,
    /// Not UTF-8.
    #[error("it is not UTF-8: byte {0} begins no character")]
    NotUtf8(usize),
    /// NUL bytes.
    #[error("it is binary: byte {0} is NUL")]
    Binary(usize),
    /// A page for browsers.
    #[error("it is an HTML page, not Markdown")]
    Html,
    /// What stands in the place of a file that Git LFS keeps elsewhere.
    #[error("it is a Git LFS pointer, not the file")]
    LfsPointer,
}

/// A page that an index lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Type and path without `.md`, for example `concepts/retries`.
    pub slug: PageId,
    /// `entities`, `concepts`, `packages`, `sources`, `raw`, any other folder, or [`UNTYPED`].
    pub kind: String,
    /// Text of the link.
    pub title: String,
    /// What the index says of the page behind the link; may be empty.
    pub description: String,
    /// Where the page may be below `.wiki/`, without `.md`, likeliest first; at least one.
    pub paths: Vec<PageId>,
}

/// Links that are no entries, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// They lead out of `.wiki/`: up, to the root, to another host.
    pub outside: u32,
    /// They name a folder, or a place in the index itself.
    pub folders: u32,
    /// They name a file that is no Markdown.
    pub files: u32,
    /// They name what can be no page: control characters, names that some file system refuses.
    pub illegal: u32,
}

impl Dropped {
    /// All of them.
    pub fn count(&self) -> u32 {
        self.outside + self.folders + self.files + self.illegal
    }
}

/// What an index lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    /// The pages, each once, in the order of the text.
    pub entries: Vec<Entry>,
    /// What was left out.
    pub dropped: Dropped,
}

impl Index {
    /// Reads an index.
    ///
    /// # Errors
    /// [`IndexError`] for what is no Markdown at all. One without a single entry is no error.
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        if bytes.len() as u64 > MAX_INDEX_BYTES {
            return Err(IndexError::TooLarge);
        }
        let text =
            std::str::from_utf8(bytes).map_err(|error| IndexError::NotUtf8(error.valid_up_to()))?;
        if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
            return Err(IndexError::Binary(at));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let begin = text.trim_start();
        let begins = |with: &str| {
            begin
                .get(..with.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(with))
        };
        if begins("<!doctype html") || begins("<html") {
            return Err(IndexError::Html);
        }
        if begins("version https://git-lfs.github.com/spec/") {
            return Err(IndexError::LfsPointer);
        }
        let mut reader = Reader::default();
        for event in Parser::new_ext(text, OPTIONS) {
            reader.event(event);
        }
        reader.flush();
        let mut index = reader.index;
        index.keep_each_once();
        Ok(index)
    }

    /// An index of files, for one that lists nothing: each Markdown file below `.wiki/`, by its
    /// path there.
    pub fn of_files<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for path in paths {
            match path_of(path, Written::File, None) {
                Ok(found) if found.paths[0].as_str() != "index" => {
                    let title = found.paths[0].base_name().to_owned();
                    index.entries.push(found.entry(title, String::new()));
                }
                Ok(_) => {}
                Err(why) => index.drop(why),
            }
        }
        index.keep_each_once();
        index
    }

    /// The entry of a slug, or of a path that an entry has.
    pub fn find(&self, slug: &PageId) -> Option<&Entry> {
        let by_path = || self.entries.iter().find(|entry| entry.paths[0] == *slug);
        let by_slug = self.entries.iter().find(|entry| entry.slug == *slug);
        by_slug.or_else(by_path)
    }

    /// Keeps each page once, the first time that it is listed. Where the slug of a page at the top is
    /// the path of another, the path is its slug.
    fn keep_each_once(&mut self) {
        let exact: BTreeSet<PageId> = self
            .entries
            .iter()
            .filter(|entry| entry.slug == entry.paths[0])
            .map(|entry| entry.slug.clone())
            .collect();
        let (mut slugs, mut paths) = (BTreeSet::new(), BTreeSet::new());
        self.entries.retain_mut(|entry| {
            if entry.slug != entry.paths[0] && exact.contains(&entry.slug) {
                entry.slug = entry.paths[0].clone();
            }
            paths.insert(entry.paths[0].clone()) && slugs.insert(entry.slug.clone())
        });
    }

    fn drop(&mut self, why: Why) {
        *match why {
            Why::Outside => &mut self.dropped.outside,
            Why::Folder => &mut self.dropped.folders,
            Why::File => &mut self.dropped.files,
            Why::Illegal => &mut self.dropped.illegal,
        } += 1;
    }
}

/// Why a link is no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Outside,
    Folder,
    File,
    Illegal,
}

/// How a target was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Markdown,
    Wikilink,
    /// The path of a file as it is.
    File,
}

/// Where a link leads.
struct Found {
    slug: PageId,
    kind: String,
    paths: Vec<PageId>,
}

impl Found {
    fn entry(self, title: String, description: String) -> Entry {
        Entry {
            slug: self.slug,
            kind: self.kind,
            title,
            description,
            paths: self.paths,
        }
    }
}

/// Reads a target relative to `.wiki/`. `heading` is the type that the headings above name.
fn path_of(target: &str, written: Written, heading: Option<&str>) -> Result<Found, Why> {
    let place = match written {
        Written::File => target,
        // A query has no meaning for a file, and a fragment is a place inside it.
        Written::Markdown => target.split(['#', '?']).next().unwrap_or_default(),
        Written::Wikilink => target.split('#').next().unwrap_or_default(),
    };
    if place.is_empty() {
        return Err(Why::Folder);
    }
    if written == Written::Markdown && has_scheme(place) || place.contains("://") {
        return Err(Why::Outside);
    }
    let decoded = if written == Written::Markdown {
        percent_decoded(place)
    } else {
        place.trim().to_owned()
    };
    if decoded.starts_with(['/', '\\', '~']) {
        return Err(Why::Outside);
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop().ok_or(Why::Outside)?;
            }
            segment => segments.push(segment),
        }
    }
    if decoded.ends_with('/') || segments.is_empty() || decoded.ends_with("/.") {
        return Err(Why::Folder);
    }
    let mut path = segments.join("/");
    match path.strip_suffix(".md") {
        Some(stem) => path.truncate(stem.len()),
        // The name of a page may hold dots; what looks like the extension of a file is one.
        None if written != Written::Wikilink && has_extension(segments.last().unwrap_or(&"")) => {
            return Err(Why::File);
        }
        None if written == Written::File => return Err(Why::File),
        None => {}
    }
    let path = PageId::parse(&path).map_err(|_| Why::Illegal)?;
    let folder = path.as_str().split_once('/').map(|(folder, _)| folder);
    if let Some(folder) = folder {
        let folded = fold_case(folder);
        let known = TYPE_NAMES.iter().find(|known| **known == folded);
        let kind = known.map_or(folder, |known| known).to_owned();
        return Ok(Found {
            slug: path.clone(),
            kind,
            paths: vec![path],
        });
    }
    let kind = heading.unwrap_or(UNTYPED);
    let slug = PageId::parse(&format!("{kind}/{path}")).map_err(|_| Why::Illegal)?;
    // A wikilink names a page wherever it is: in the folder of its type, or right here.
    let paths = if written == Written::Wikilink && heading.is_some() {
        vec![slug.clone(), path]
    } else {
        vec![path]
    };
    Ok(Found {
        slug,
        kind: kind.to_owned(),
        paths,
    })
}

/// Whether a target begins with the name of a scheme and a colon.
fn has_scheme(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else {
        return target.starts_with("//");
    };
    scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Whether a file name ends like one of a file that is no page: `.png`, `.yaml`.
fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The types in their order.
static TYPE_NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    lines_of_types()
        .filter_map(|line| line.split(' ').next())
        .collect()
});

/// Words of headings, folded, with their type.
static HEADING_WORDS: LazyLock<BTreeMap<String, &'static str>> = LazyLock::new(|| {
    let words = lines_of_types().flat_map(|line| {
        let kind = line.split(' ').next().unwrap_or_default();
        line.split(' ').map(move |word| (fold_case(word), kind))
    });
    words.collect()
});

fn lines_of_types() -> impl Iterator<Item = &'static str> {
    TYPES.lines().filter(|line| !line.starts_with('#'))
}

/// The type that a heading names, if it does.
fn kind_of_heading(text: &str) -> Option<&'static str> {
    let folded = fold_case(text);
    let by_word = folded
        .split(|c: char| !c.is_alphanumeric())
        .find_map(|word| HEADING_WORDS.get(word).copied());
    // Scripts without spaces run their words together.
    let in_run = || {
        HEADING_WORDS
            .iter()
            .find(|(word, _)| {
                word.starts_with(|c: char| c >= '\u{2e80}') && folded.contains(word.as_str())
            })
            .map(|(_, kind)| *kind)
    };
    by_word.or_else(in_run)
}

/// What a list item, a row of a table or a paragraph consists of.
enum Piece {
    Text(String),
    Link {
        target: String,
        written: Written,
        label: String,
    },
    /// The border between two columns.
    Column,
}

#[derive(Default)]
struct Reader {
    index: Index,
    /// Headings that we are below: level, and the type that each names.
    headings: Vec<(HeadingLevel, Option<&'static str>)>,
    heading: Option<HeadingLevel>,
    pieces: Vec<Piece>,
    /// A link whose label is being read.
    open: Option<(String, Written, String)>,
    /// Front matter and images, whose text is none of the index.
    hidden: u32,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::MetadataBlock(_) | Tag::Image { .. }) => self.hidden += 1,
            Event::End(TagEnd::MetadataBlock(_) | TagEnd::Image) => self.hidden -= 1,
            _ if self.hidden > 0 => {}
            Event::Start(Tag::Heading { level, .. }) => {
                self.flush();
                self.heading = Some(level);
            }
            Event::End(TagEnd::Heading(level)) => {
                self.heading = None;
                let kind = kind_of_heading(&self.words());
                while self
                    .headings
                    .last()
                    .is_some_and(|&(above, _)| above >= level)
                {
                    self.headings.pop();
                }
                // A heading may itself be an entry, which belongs to the type above it.
                self.flush();
                self.headings.push((level, kind));
            }
            Event::Start(Tag::Item | Tag::List(_) | Tag::Paragraph | Tag::CodeBlock(_))
            | Event::End(
                TagEnd::Item
                | TagEnd::Paragraph
                | TagEnd::TableRow
                | TagEnd::TableHead
                | TagEnd::CodeBlock,
            ) => self.flush(),
            Event::End(TagEnd::TableCell) => self.pieces.push(Piece::Column),
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                ..
            }) => self.open = Some(opened(link_type, &dest_url)),
            Event::End(TagEnd::Link) => {
                if let Some((target, written, label)) = self.open.take() {
                    self.pieces.push(Piece::Link {
                        target,
                        written,
                        label,
                    });
                }
            }
            Event::Text(text) | Event::Code(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.text("\n"),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, _, label)) = &mut self.open {
            label.push_str(text);
            return;
        }
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            last.push_str(text);
        } else {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }

    /// The text of the pieces.
    fn words(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) | Piece::Link { label: text, .. } => Some(text.as_str()),
            Piece::Column => None,
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    /// Takes the links of the pieces as entries.
    fn flush(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        let heading = self.headings.iter().rev().find_map(|(_, kind)| *kind);
        for (at, piece) in pieces.iter().enumerate() {
            let Piece::Link {
                target,
                written,
                label,
            } = piece
            else {
                continue;
            };
            match path_of(target, *written, heading) {
                Err(why) => self.index.drop(why),
                Ok(found) => {
                    let mut title = row_title(&pieces[..at]).unwrap_or_else(|| one_line(label));
                    // A wikilink without a label shows its target.
                    if title.is_empty() || *written == Written::Wikilink && *label == *target {
                        title = one_line(found.paths[0].base_name());
                    }
                    let description = description(&pieces[at + 1..]);
                    self.index.entries.push(found.entry(title, description));
                }
            }
        }
    }
}

fn opened(link_type: LinkType, target: &CowStr<'_>) -> (String, Written, String) {
    let (target, written) = match link_type {
        // In a table the bar is escaped, and the escape is left in the target.
        LinkType::WikiLink { .. } => (target.trim_end_matches('\\').to_owned(), Written::Wikilink),
        _ => (target.to_string(), Written::Markdown),
    };
    (target, written, String::new())
}

/// What a row of a table calls the page that it links to in a later column: its first column, where
/// that has words and no link of its own.
fn row_title(before: &[Piece]) -> Option<String> {
    let mut title = String::new();
    for piece in before {
        match piece {
            Piece::Text(text) => title.push_str(text),
            Piece::Link { .. } => return None,
            Piece::Column => return Some(one_line(&title)).filter(|title| !title.is_empty()),
        }
    }
    None
}

/// What is said behind a link: after a dash or a colon, or in the next column.
fn description(after: &[Piece]) -> String {
    let mut here = String::new();
    let mut rest = after.iter();
    let mut column = false;
    let mut leads_on = false;
    for piece in rest.by_ref() {
        match piece {
            Piece::Text(text) => here.push_str(text),
            Piece::Link { .. } => {
                leads_on = true;
                break;
            }
            Piece::Column => {
                column = true;
                break;
            }
        }
    }
    let said = here.trim_start();
    let spaced = here.len() != said.len();
    let behind = said
        .strip_prefix(['\u{2014}', '\u{2013}', ':', '\u{ff1a}'])
        .or_else(|| said.strip_prefix("- ").filter(|_| spaced));
    if let Some(behind) = behind {
        // What leads on to the next link is not said of this one.
        let behind = match behind.rfind([',', ';', '.']) {
            Some(end) if leads_on => &behind[..end],
            _ => behind,
        };
        return one_line(behind);
    }
    if !column {
        return String::new();
    }
    let next: Vec<&str> = rest
        .map_while(|piece| match piece {
            Piece::Text(text) | Piece::Link { label: text, .. } => Some(text.as_str()),
            Piece::Column => None,
        })
        .collect();
    one_line(&next.concat())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The canonical index of these pages, each a path and a title: a section a type, which is the folder
/// (those that everybody has first, [`UNTYPED`] for what is in none, `raw` last), in a section as
/// given.
pub fn render<'a>(title: &str, pages: impl IntoIterator<Item = (&'a PageId, &'a str)>) -> String {
    let mut sections: BTreeMap<(usize, &str), Vec<(&PageId, &str)>> = BTreeMap::new();
    for (slug, title) in pages {
        let folder = slug.as_str().split_once('/');
        let kind = folder.map_or(UNTYPED, |(folder, _)| folder);
        let rank = match TYPE_NAMES.iter().position(|known| *known == kind) {
            Some(_) if kind == "raw" => usize::MAX,
            Some(known) => known,
            None => usize::MAX - 1,
        };
        sections
            .entry((rank, kind))
            .or_default()
            .push((slug, title));
    }
    let mut out = format!("# {}\n", escaped(title));
    for ((_, kind), pages) in sections {
        out.push_str("\n## ");
        let mut letters = kind.chars();
        if let Some(first) = letters.next() {
            out.push_str(&escaped(&format!(
                "{}{}",
                first.to_uppercase(),
                letters.as_str()
            )));
        }
        out.push_str("\n\n");
        for (slug, title) in pages {
            let title = one_line(title);
            let title = if title.is_empty() {
                one_line(slug.base_name())
            } else {
                title
            };
            out.push_str("- [");
            out.push_str(&escaped(&title));
            out.push_str("](");
            for c in slug.as_str().chars() {
                // What would end or change the target of a link, in Markdown or as an address.
                if c.is_whitespace() || r#"()<>"'%\#?&:[]*_`"#.contains(c) {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        let _ = write!(out, "%{byte:02X}");
                    }
                } else {
                    out.push(c);
                }
            }
            out.push_str(".md)\n");
        }
    }
    out
}

/// Text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\`*_[]<>&|~!$^".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads test data")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// One line an entry: slug, title, description, and where it may be when that is not the slug.
    fn shown(index: &Index) -> String {
        let mut out = String::new();
        for entry in &index.entries {
            let paths: Vec<&str> = entry.paths.iter().map(PageId::as_str).collect();
            let paths = match paths.as_slice() {
                [path] if *path == entry.slug.as_str() => String::new(),
                paths => format!(" <{}>", paths.join(" ")),
            };
            let line = format!(
                "{} | {} | {}{paths}",
                entry.slug, entry.title, entry.description
            );
            out.push_str(line.trim_end());
            out.push('\n');
        }
        let dropped = index.dropped;
        let _ = writeln!(
            out,
            "dropped: {} outside, {} folders, {} files, {} illegal",
            dropped.outside, dropped.folders, dropped.files, dropped.illegal
        );
        out
    }

    #[test]
    fn every_shape_of_index_is_read() {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/federation/indexes");
        let mut names: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|it| it == "md"))
            .collect();
        names.sort();
        assert!(names.len() >= 12, "{names:?}");
        let mut wrong = Vec::new();
        for path in names {
            let index = Index::parse(&std::fs::read(&path).unwrap()).unwrap();
            let found = shown(&index);
            let expected = std::fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
            if found != expected {
                wrong.push(format!("{}:\n{found}", path.display()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    fn entry_of(text: &str) -> Entry {
        let index = Index::parse(text.as_bytes()).unwrap();
        assert_eq!(index.entries.len(), 1, "{index:?}");
        index.entries[0].clone()
    }

    #[test]
    fn the_type_comes_from_the_path_and_else_from_a_heading_above() {
        let kind = |text: &str| entry_of(text).kind;
        assert_eq!(kind("## Concepts\n- [x](entities/x.md)\n"), "entities");
        assert_eq!(kind("## Concepts\n- [x](x.md)\n"), "concepts");
        assert_eq!(kind("## Core concepts (3)\n- [x](x.md)\n"), "concepts");
        assert_eq!(kind("# Concepts\n### Storage\n- [x](x.md)\n"), "concepts");
        assert_eq!(kind("# Concepts\n# Storage\n- [x](x.md)\n"), UNTYPED);
        assert_eq!(kind("- [x](decisions/x.md)\n"), "decisions");
        assert_eq!(kind("- [x](Entities/x.md)\n"), "entities");
        assert_eq!(kind("## Konzepte\n- [x](x.md)\n"), "concepts");
        assert_eq!(
            kind("## \u{6982}\u{5ff5}\u{8aac}\u{660e}\n- [x](x.md)\n"),
            "concepts"
        );
    }

    #[test]
    fn nothing_leads_out_of_the_wiki() {
        for target in [
            "../OUT.md",
            "%2e%2e/OUT.md",
            "a/../../OUT.md",
            "a/%2e%2e/%2e%2e/OUT.md",
            "..%2fOUT.md",
            "/etc/passwd.md",
            "%2fetc/passwd.md",
            "//host/x.md",
            "https://host/x.md",
            "file:x.md",
            "~/x.md",
            "%5c%5chost/x.md",
        ] {
            let index = Index::parse(format!("- [x]({target})\n").as_bytes()).unwrap();
            assert_eq!(index.entries, [], "{target}");
            assert_eq!(index.dropped.outside, 1, "{target}");
        }
        // Encoded twice it is no way out, and no page either.
        let index = Index::parse(b"- [x](%252e%252e/x.md) [y](a\\..\\y.md)\n").unwrap();
        assert_eq!(index.entries, []);
        assert_eq!(index.dropped.illegal, 2);
    }

    #[test]
    fn what_is_no_markdown_says_why() {
        let reason = |bytes: &[u8]| Index::parse(bytes).unwrap_err();
        assert_eq!(reason(b"\n<!DOCTYPE HTML><html>"), IndexError::Html);
        assert_eq!(reason(b"ab\xff"), IndexError::NotUtf8(2));
        assert_eq!(reason(b"ab\0"), IndexError::Binary(2));
        let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
        assert_eq!(reason(lfs), IndexError::LfsPointer);
        let large = vec![b' '; usize::try_from(MAX_INDEX_BYTES).unwrap() + 1];
        assert_eq!(reason(&large), IndexError::TooLarge);
        assert_eq!(Index::parse(b"").unwrap(), Index::default());
        assert_eq!(Index::parse(b"_Nothing yet._").unwrap(), Index::default());
    }

    #[test]
    fn files_stand_in_for_an_index_that_lists_nothing() {
        let index = Index::of_files(["index.md", "concepts/a.md", "b.md", "c.png", "../d.md"]);
        let slugs: Vec<&str> = index.entries.iter().map(|it| it.slug.as_str()).collect();
        assert_eq!(slugs, ["concepts/a", "pages/b"]);
        assert_eq!((index.dropped.files, index.dropped.outside), (1, 1));
    }

    #[test]
    fn a_page_at_the_top_gives_way_to_one_in_the_folder_of_its_type() {
        let index =
            Index::parse(b"- [one](a.md)\n- [two](pages/a.md)\n- [again](./a.md)\n").unwrap();
        let found: Vec<_> = index
            .entries
            .iter()
            .map(|it| (it.slug.as_str(), it.paths[0].as_str(), it.title.as_str()))
            .collect();
        assert_eq!(found, [("a", "a", "one"), ("pages/a", "pages/a", "two")]);
    }

    #[test]
    fn the_canonical_form_has_a_section_a_type() {
        let id = |text: &str| PageId::parse(text).unwrap();
        let pages = [
            (id("raw/r"), "R"),
            (id("guides/my page (1)"), "Guide *one*"),
            (id("concepts/c"), "C"),
            (id("entities/e/f"), ""),
            (id("top"), "Top"),
        ];
        let text = render("Wiki", pages.iter().map(|(id, title)| (id, *title)));
        assert_eq!(
            text,
            "# Wiki\n\n## Entities\n\n- [f](entities/e/f.md)\n\n## Concepts\n\n- [C](concepts/c.md)\n\n\
             ## Guides\n\n- [Guide \\*one\\*](guides/my%20page%20%281%29.md)\n\n## Pages\n\n- [Top](top.md)\n\n## Raw\n\n- [R](raw/r.md)\n"
        );
    }

    fn slug() -> impl Strategy<Value = PageId> {
        let segment = prop_oneof![
            "[a-z][a-z0-9-]{0,8}",
            "[a-z]\\PC{0,6}",
            "[(\\[<&#?:'\"_*` ]{0,4}[a-z]",
        ];
        vec(segment, 1..4).prop_filter_map("legal", |parts| PageId::parse(&parts.join("/")).ok())
    }

    proptest! {
        #[test]
        fn what_is_rendered_is_read_as_it_was(
            pages in vec((slug(), "\\PC{0,20}"), 0..8),
            title in "\\PC{0,10}",
        ) {
            let pages: BTreeMap<PageId, String> = pages.into_iter().collect();
            let text = render(&title, pages.iter().map(|(id, title)| (id, title.as_str())));
            let index = Index::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(index.dropped, Dropped::default());
            let read: BTreeMap<PageId, String> = index
                .entries
                .iter()
                .map(|entry| (entry.paths[0].clone(), entry.title.clone()))
                .collect();
            let expected: BTreeMap<PageId, String> = pages
                .iter()
                .map(|(id, title)| {
                    let title = one_line(title);
                    let named = if title.is_empty() { one_line(id.base_name()) } else { title };
                    (id.clone(), named)
                })
                .collect();
            prop_assert_eq!(read, expected, "{}", text);
            // The same again gives the same.
            let pages = index.entries.iter().map(|it| (&it.paths[0], it.title.as_str()));
            prop_assert_eq!(render(&title, pages), text);
        }

        #[test]
        fn any_text_gives_entries_inside_or_an_error(text in "(\\PC|[\\[\\]()|.#/\\-\n ]|\\[\\[|\\]\\(){0,200}") {
            if let Ok(index) = Index::parse(text.as_bytes()) {
                for entry in index.entries {
                    prop_assert!(!entry.paths.is_empty() && !entry.title.contains('\n'));
                    prop_assert!(PageId::parse(entry.slug.as_str()).is_ok());
                }
            }
        }
    }
}
