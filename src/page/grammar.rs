//! The canonical form of a page file: frontmatter of exactly three keys, a blank line, a body.
//!
//! The frontmatter is narrower than YAML on purpose, so that every tool reads the same values
//! from it and a rewritten page differs only where its content does. Invariant: what [`render`]
//! writes, [`parse`] reads back as the same values.

use std::fmt;

use super::lines::{is_blank, is_line_terminator, unix_line_ends};
use crate::error::{Error, ErrorCode};
use crate::id::SourceId;

/// A page as its file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Title, one line, not blank.
    pub title: String,
    /// Summary, one line, not blank.
    pub summary: String,
    /// Sources that the page cites, at least one, sorted and unique.
    pub sources: Vec<SourceId>,
    /// Markdown with LF line ends and exactly one newline at its end, not blank.
    pub body: String,
    /// Number of the body's first line in the file, counting from 1.
    pub body_start_line: u32,
}

/// Which rule of the page grammar a text breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PageErrorKind {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The first line is not `---`.
    FrontmatterMissing,
    /// No later line is `---`.
    FrontmatterNotClosed,
    /// A blank line stands inside the frontmatter.
    FrontmatterBlankLine,
    /// A line of the frontmatter is neither a key nor an item of `sources`.
    FrontmatterLine,
    /// A key other than title, summary and sources.
    UnknownKey,
    /// A key that was there before.
    DuplicateKey,
    /// A key is not there.
    MissingKey,
    /// The value does not follow after a colon and one space.
    Separator,
    /// The value is not in double quotes.
    NotQuoted,
    /// The quoted value is not a JSON string.
    InvalidString,
    /// Title or summary has a line break in it.
    NotOneLine,
    /// Title or summary is blank.
    BlankValue,
    /// `sources` has its value on the same line.
    SourcesNotBlockList,
    /// `sources` has no items.
    NoSources,
    /// An item is not a source id.
    InvalidSourceId,
    /// A source id stands twice.
    DuplicateSource,
    /// Source ids are not in order.
    UnsortedSources,
    /// No blank line follows the frontmatter.
    NoBlankLine,
    /// The body is blank.
    BlankBody,
}

/// Why a text is no page. Prints as one line naming the place and the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageError {
    /// The rule.
    pub kind: PageErrorKind,
    /// The line in the file, counting from 1, where there is one to name.
    pub line: Option<u32>,
    /// The cause, lower case, without a full stop and without the line.
    pub message: String,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for PageError {}

impl From<PageError> for Error {
    fn from(error: PageError) -> Self {
        Error::new(ErrorCode::InvalidPage, error.to_string()).with_source(error)
    }
}

fn fault(
    kind: PageErrorKind,
    line: impl Into<Option<u32>>,
    message: impl Into<String>,
) -> PageError {
    PageError {
        kind,
        line: line.into(),
        message: message.into(),
    }
}

/// Reads the bytes of a page file: UTF-8, one byte order mark allowed in front.
///
/// # Errors
/// [`PageError`], as [`parse`], and `NotUtf8` naming the line of the first bad byte.
pub fn parse_bytes(bytes: &[u8]) -> Result<Page, PageError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let good = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let line = number(unix_line_ends(good).matches('\n').count());
            Err(fault(
                PageErrorKind::NotUtf8,
                line,
                "the file is not valid UTF-8",
            ))
        }
    }
}

/// Reads the text of a page. CRLF and CR count as line ends.
///
/// # Errors
/// [`PageError`] with the first rule that the text breaks, and its line.
pub fn parse(text: &str) -> Result<Page, PageError> {
    use PageErrorKind as Kind;

    let text = unix_line_ends(text);
    let mut rest = text.strip_prefix("---\n").ok_or_else(|| {
        fault(
            Kind::FrontmatterMissing,
            1,
            "the file must begin with a --- line",
        )
    })?;
    let mut header = Vec::new();
    loop {
        let Some((line, after)) = rest.split_once('\n') else {
            // A last line without its newline can close the frontmatter, but no body follows.
            let message = "the frontmatter is not closed by a --- line";
            return Err(if rest == "---" {
                fault(Kind::NoBlankLine, number(header.len() + 1), NO_BLANK_LINE)
            } else {
                fault(Kind::FrontmatterNotClosed, None, message)
            });
        };
        rest = after;
        if line == "---" {
            break;
        }
        header.push(line);
    }
    let closing = header.len() + 1;
    let Some(body) = rest.strip_prefix('\n') else {
        return Err(fault(Kind::NoBlankLine, number(closing + 1), NO_BLANK_LINE));
    };
    let header = Header::read(&header)?;
    if is_blank(body) {
        return Err(fault(
            Kind::BlankBody,
            number(closing + 2),
            "the body is empty",
        ));
    }
    Ok(Page {
        title: header.title,
        summary: header.summary,
        sources: header.sources,
        body: ended(body),
        body_start_line: number(closing + 2),
    })
}

const NO_BLANK_LINE: &str = "one empty line must follow the frontmatter";

/// The 1-based number of the line with this 0-based index.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

/// The body with exactly one newline at its end.
fn ended(body: &str) -> String {
    let text = body.trim_end_matches('\n');
    let mut ended = String::with_capacity(text.len() + 1);
    ended.push_str(text);
    ended.push('\n');
    ended
}

struct Header {
    title: String,
    summary: String,
    sources: Vec<SourceId>,
}

impl Header {
    /// Reads the lines between the two `---`; the first of them is line 2 of the file.
    fn read(lines: &[&str]) -> Result<Self, PageError> {
        use PageErrorKind as Kind;

        let (mut title, mut summary, mut sources) = (None, None, None);
        let mut at = 0;
        while let Some(&line) = lines.get(at) {
            let here = number(at + 1);
            at += 1;
            if is_blank(line) {
                return Err(fault(
                    Kind::FrontmatterBlankLine,
                    here,
                    "the frontmatter must not contain blank lines",
                ));
            }
            let Some((key, value)) = key_line(line) else {
                return Err(fault(
                    Kind::FrontmatterLine,
                    here,
                    format!(
                        "{line:?} is not a line of frontmatter, which has title, summary and sources"
                    ),
                ));
            };
            let twice = match key {
                "title" => title.is_some(),
                "summary" => summary.is_some(),
                "sources" => sources.is_some(),
                _ => {
                    let message =
                        format!("unknown key {key:?}, a page has title, summary and sources");
                    return Err(fault(Kind::UnknownKey, here, message));
                }
            };
            if twice {
                return Err(fault(
                    Kind::DuplicateKey,
                    here,
                    format!("key {key:?} is there twice"),
                ));
            }
            match key {
                "title" => title = Some(one_line_value(key, value, here)?),
                "summary" => summary = Some(one_line_value(key, value, here)?),
                _ => {
                    if !value.is_empty() {
                        let message = "sources must be a list with one id on each following line, as in   - \"<id>\"";
                        return Err(fault(Kind::SourcesNotBlockList, here, message));
                    }
                    let items: Vec<&str> =
                        lines[at..].iter().map_while(|&line| item(line)).collect();
                    sources = Some(source_list(&items, at + 1)?);
                    at += items.len();
                }
            }
        }
        let missing = |key: &str| {
            fault(
                Kind::MissingKey,
                None,
                format!("the frontmatter has no {key}"),
            )
        };
        Ok(Self {
            title: title.ok_or_else(|| missing("title"))?,
            summary: summary.ok_or_else(|| missing("summary"))?,
            sources: sources.ok_or_else(|| missing("sources"))?,
        })
    }
}

/// Splits `key: value` behind the colon. A key is ASCII letters, digits, `_` and `-`, first a
/// letter; no line terminator that JavaScript knows may stand in the line.
fn key_line(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let well_formed = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        && !value.contains(is_line_terminator);
    well_formed.then_some((key, value))
}

/// What stands behind `  - ` in an item line.
fn item(line: &str) -> Option<&str> {
    line.strip_prefix("  - ")
        .filter(|value| !value.contains(is_line_terminator))
}

fn one_line_value(key: &str, value: &str, line: u32) -> Result<String, PageError> {
    use PageErrorKind as Kind;

    let Some(quoted) = value.strip_prefix(' ') else {
        let message = format!("one space must follow the colon of {key}");
        return Err(fault(Kind::Separator, line, message));
    };
    let text = json_string(quoted).map_err(|kind| {
        fault(
            kind,
            line,
            format!("the value of {key} {}", string_fault(kind)),
        )
    })?;
    check_one_line(key, &text, line)?;
    Ok(text)
}

/// Reads one JSON string that fills the whole text. A lone surrogate, which JSON can spell and
/// UTF-8 cannot hold, is refused.
fn json_string(text: &str) -> Result<String, PageErrorKind> {
    if !(text.starts_with('"') && text.ends_with('"')) {
        return Err(PageErrorKind::NotQuoted);
    }
    serde_json::from_str(text).map_err(|_| PageErrorKind::InvalidString)
}

fn string_fault(kind: PageErrorKind) -> &'static str {
    match kind {
        PageErrorKind::NotQuoted => "must be double-quoted",
        _ => "is not a valid double-quoted string (escapes are those of JSON)",
    }
}

fn check_one_line(key: &str, text: &str, line: impl Into<Option<u32>>) -> Result<(), PageError> {
    let line = line.into();
    if text.contains(is_line_terminator) {
        return Err(fault(
            PageErrorKind::NotOneLine,
            line,
            format!("{key} must be one line"),
        ));
    }
    if is_blank(text) {
        return Err(fault(
            PageErrorKind::BlankValue,
            line,
            format!("{key} must not be blank"),
        ));
    }
    Ok(())
}

/// Reads item values; the first of them stands at index `first` of the file's lines.
fn source_list(items: &[&str], first: usize) -> Result<Vec<SourceId>, PageError> {
    use PageErrorKind as Kind;

    if items.is_empty() {
        let message =
            "sources must list at least one id, each on a line of its own as in   - \"<id>\"";
        return Err(fault(Kind::NoSources, number(first - 1), message));
    }
    let mut ids: Vec<SourceId> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let line = number(first + at);
        let text = json_string(item)
            .map_err(|kind| fault(kind, line, format!("a source id {}", string_fault(kind))))?;
        let id = SourceId::parse(&text)
            .map_err(|error| fault(Kind::InvalidSourceId, line, error.to_string()))?;
        ids.push(id);
    }
    let in_order = |pair: &[SourceId]| pair[0] < pair[1];
    if let Some(at) = ids.windows(2).position(|pair| !in_order(pair)) {
        let line = number(first + at + 1);
        return Err(if ids[at] == ids[at + 1] {
            fault(
                Kind::DuplicateSource,
                line,
                format!("source {} is there twice", ids[at]),
            )
        } else {
            fault(Kind::UnsortedSources, line, "sources must be sorted")
        });
    }
    Ok(ids)
}

/// Writes a page in its canonical form. Sources are sorted; the body gets LF line ends and one
/// newline at its end.
///
/// # Errors
/// [`PageError`] for what [`parse`] would refuse: a blank or broken title or summary, no
/// sources, a source twice, a blank body. Lines are not named, the file does not exist yet.
pub fn render(
    title: &str,
    summary: &str,
    sources: &[SourceId],
    body: &str,
) -> Result<String, PageError> {
    use PageErrorKind as Kind;

    check_one_line("title", title, None)?;
    check_one_line("summary", summary, None)?;
    if sources.is_empty() {
        return Err(fault(
            Kind::NoSources,
            None,
            "a page must cite at least one source",
        ));
    }
    let mut sources = sources.to_vec();
    sources.sort_unstable();
    if let Some(at) = sources.windows(2).position(|pair| pair[0] == pair[1]) {
        let message = format!("source {} is given twice", sources[at]);
        return Err(fault(Kind::DuplicateSource, None, message));
    }
    let body = unix_line_ends(body);
    if is_blank(&body) {
        return Err(fault(Kind::BlankBody, None, "the body is empty"));
    }
    let mut text = format!(
        "---\ntitle: {}\nsummary: {}\nsources:\n",
        quoted(title),
        quoted(summary)
    );
    for id in sources {
        text.push_str("  - \"");
        text.push_str(&id.to_string());
        text.push_str("\"\n");
    }
    text.push_str("---\n\n");
    text.push_str(&ended(&body));
    Ok(text)
}

/// A JSON string, escaped as JavaScript's `JSON.stringify` does.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn page_with(header: &str) -> String {
        format!("---\n{header}\n---\n\nBody.\n")
    }

    fn check_fault(text: &str, kind: PageErrorKind, printed: &str) {
        let error = parse(text).expect_err(text);
        assert_eq!(
            (error.kind, error.to_string().as_str()),
            (kind, printed),
            "{text}"
        );
    }

    #[test]
    fn an_error_names_the_line_and_the_cause() {
        use PageErrorKind as Kind;

        let sources = format!("sources:\n  - \"{ID}\"");
        check_fault(
            "# Title\n",
            Kind::FrontmatterMissing,
            "line 1: the file must begin with a --- line",
        );
        check_fault(
            "---\ntitle: \"x\"\n",
            Kind::FrontmatterNotClosed,
            "the frontmatter is not closed by a --- line",
        );
        check_fault(
            &page_with(&format!("title: Notes: May\nsummary: \"s\"\n{sources}")),
            Kind::NotQuoted,
            "line 2: the value of title must be double-quoted",
        );
        check_fault(
            &page_with(&format!("title: \"t\"\nsummary: \"\"\n{sources}")),
            Kind::BlankValue,
            "line 3: summary must not be blank",
        );
        check_fault(
            &page_with(&format!("title: \"t\"\nsummary: \"a\\nb\"\n{sources}")),
            Kind::NotOneLine,
            "line 3: summary must be one line",
        );
        check_fault(
            &page_with(&format!("title: \"t\"\n\nsummary: \"s\"\n{sources}")),
            Kind::FrontmatterBlankLine,
            "line 3: the frontmatter must not contain blank lines",
        );
        check_fault(
            &page_with(&format!("{sources}\ntags: x")),
            Kind::UnknownKey,
            "line 4: unknown key \"tags\", a page has title, summary and sources",
        );
        check_fault(
            &page_with("title: \"t\"\nsummary: \"s\"\nsources:\n  - \"abc\""),
            Kind::InvalidSourceId,
            "line 5: \"abc\" is not a SHA-256 in 64 lower-case hexadecimal digits",
        );
        check_fault(
            &page_with(&format!(
                "title: \"t\"\nsummary: \"s\"\n{sources}\n  - \"{ID}\""
            )),
            Kind::DuplicateSource,
            &format!("line 6: source {ID} is there twice"),
        );
        check_fault(
            &page_with(&format!(
                "title: \"t\"\nsummary: \"s\"\n{sources}\n  - \"{}\"",
                "a".repeat(64)
            )),
            Kind::UnsortedSources,
            "line 6: sources must be sorted",
        );
        check_fault(
            &page_with(&sources),
            Kind::MissingKey,
            "the frontmatter has no title",
        );
        check_fault(
            &format!("---\ntitle: \"t\"\nsummary: \"s\"\n{sources}\n---\nBody.\n"),
            Kind::NoBlankLine,
            "line 7: one empty line must follow the frontmatter",
        );
        check_fault(
            &format!("---\ntitle: \"t\"\nsummary: \"s\"\n{sources}\n---\n\n \n"),
            Kind::BlankBody,
            "line 8: the body is empty",
        );
    }

    #[test]
    fn a_byte_order_mark_is_read_past_in_bytes_only() {
        let text = page_with(&format!(
            "title: \"t\"\nsummary: \"s\"\nsources:\n  - \"{ID}\""
        ));
        let marked = format!("\u{feff}{text}");
        assert_eq!(parse_bytes(marked.as_bytes()), parse(&text));
        assert!(parse(&marked).is_err());
    }

    #[test]
    fn bad_utf8_is_found_by_its_line() {
        let error = parse_bytes(b"---\r\ntitle: \"a\xffb\"\r\n").unwrap_err();
        assert_eq!((error.kind, error.line), (PageErrorKind::NotUtf8, Some(2)));
    }

    #[test]
    fn an_error_becomes_an_invalid_page() {
        let error = Error::from(parse("x").unwrap_err());
        assert_eq!(error.code(), ErrorCode::InvalidPage);
        assert_eq!(
            error.message(),
            "line 1: the file must begin with a --- line"
        );
    }

    #[test]
    fn long_source_lists_are_checked_in_linear_time() {
        let ids: Vec<SourceId> = (0..20_000_u32)
            .map(|n| SourceId::of(&n.to_le_bytes()))
            .collect();
        let text = render("t", "s", &ids, "b").unwrap();
        assert_eq!(parse(&text).unwrap().sources.len(), ids.len());
    }

    fn one_line() -> impl Strategy<Value = String> {
        "[^\n\r\u{2028}\u{2029}]{1,30}".prop_filter("not blank", |text| !is_blank(text))
    }

    fn body() -> impl Strategy<Value = String> {
        "([a-z#`\\[\\]|: \"\u{e9}\u{feff}-]{0,8}(\n|\r\n|\r)?){1,10}"
            .prop_filter("not blank", |text| !is_blank(text))
    }

    fn ids() -> impl Strategy<Value = Vec<SourceId>> {
        proptest::collection::btree_set(any::<[u8; 2]>(), 1..5)
            .prop_map(|seeds| seeds.iter().map(|seed| SourceId::of(seed)).collect())
    }

    proptest! {
        #[test]
        fn render_then_parse_is_identity(title in one_line(), summary in one_line(), ids in ids(), body in body()) {
            let text = render(&title, &summary, &ids, &body).unwrap();
            let page = parse(&text).unwrap();
            prop_assert_eq!(&page.title, &title);
            prop_assert_eq!(&page.summary, &summary);
            let mut sorted = ids;
            sorted.sort();
            prop_assert_eq!(&page.sources, &sorted);
            prop_assert_eq!(&page.body, &ended(&unix_line_ends(&body)));
            let again = render(&page.title, &page.summary, &page.sources, &page.body).unwrap();
            prop_assert_eq!(&again, &text);
            let first = text.lines().nth(page.body_start_line as usize - 1);
            prop_assert_eq!(first, page.body.lines().next());
            let dos = text.replace('\n', "\r\n");
            prop_assert_eq!(parse_bytes(dos.as_bytes()).unwrap(), page);
        }

        #[test]
        fn any_bytes_are_a_page_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut text = b"---\ntitle: \"t\"\n".to_vec();
            text.extend(&bytes);
            let _ = (parse_bytes(&bytes).is_ok(), parse_bytes(&text).is_ok());
        }
    }
}
