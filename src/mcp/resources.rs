//! Pages, sources and the schema as resources, by `llmwiki://` URIs. A citation in a page is such
//! a URI, so a host can open what a page cites: `llmwiki://source/<id>#L10-L20` gives those lines.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use rmcp::model::{
    CompletionInfo, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{PageId, SourceId};
use crate::ops::OperationEntry;
use crate::wiki::Wiki;

const SCHEMA: &str = "llmwiki://schema";
const PAGES: &str = "llmwiki://pages";
const PAGE_TEMPLATE: &str = "llmwiki://page/{+id}";
const SOURCE_TEMPLATE: &str = "llmwiki://source/{id}";
const SECTION_TEMPLATE: &str = "llmwiki://wiki/{+section}";

const MARKDOWN: &str = "text/markdown";

/// How many pages one answer of a list has.
const LIST_LIMIT: usize = 100;

/// What a URI spells with percent signs; everything else of a page id stands as it is.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b']')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The operation that serves sections of a generated wiki, where there is one.
fn show(operations: &'static [OperationEntry]) -> Option<&'static OperationEntry> {
    operations.iter().find(|operation| operation.name == "show")
}

/// The templates.
pub(super) fn templates(operations: &'static [OperationEntry]) -> ListResourceTemplatesResult {
    let mut templates = vec![
        ResourceTemplate::new(PAGE_TEMPLATE, "page")
            .with_title("Page")
            .with_description("A page as its Markdown file")
            .with_mime_type(MARKDOWN),
        ResourceTemplate::new(SOURCE_TEMPLATE, "source")
            .with_title("Source")
            .with_description(
                "The preserved bytes of a source; #L10-L20 behind it gives these lines",
            ),
    ];
    if show(operations).is_some() {
        templates.push(
            ResourceTemplate::new(SECTION_TEMPLATE, "wiki")
                .with_title("Generated wiki")
                .with_description("A section of the wiki that was generated from the code")
                .with_mime_type(MARKDOWN),
        );
    }
    ListResourceTemplatesResult::with_all_items(templates)
}

/// The resources: what always is there, then the pages, a hundred at a time after `cursor`.
///
/// # Errors
/// Those of listing pages. A wiki that does not exist yet has no resources.
pub(super) fn list(
    wiki: &Wiki,
    ctx: &Context,
    cursor: Option<&str>,
) -> Result<ListResourcesResult> {
    let mut resources = Vec::new();
    if cursor.is_none() {
        resources.push(
            Resource::new(SCHEMA, "schema")
                .with_title("How this wiki is written")
                .with_description("The schema.md of this wiki")
                .with_mime_type(MARKDOWN),
        );
        resources.push(
            Resource::new(PAGES, "pages")
                .with_title("All pages")
                .with_description("The id and title of each page, one a line")
                .with_mime_type("text/tab-separated-values"),
        );
    }
    let report = match wiki.list_pages(ctx, "", cursor, LIST_LIMIT) {
        Ok(report) => report,
        Err(error) if error.code() == ErrorCode::NotInitialized => {
            return Ok(ListResourcesResult::default());
        }
        Err(error) => return Err(error),
    };
    for page in report.pages {
        resources.push(
            Resource::new(page_uri(&page.id), page.id)
                .with_title(page.title)
                .with_description(page.summary)
                .with_mime_type(MARKDOWN),
        );
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = report.next;
    Ok(result)
}

fn page_uri(id: &str) -> String {
    format!("llmwiki://page/{}", utf8_percent_encode(id, ESCAPED))
}

/// Reads a resource.
///
/// # Errors
/// `INVALID_ARGUMENT` for a URI of another form, `PAGE_NOT_FOUND`, `SOURCE_NOT_FOUND`, and those
/// of reading.
pub(super) fn read(
    wiki: &Wiki,
    ctx: &Context,
    operations: &'static [OperationEntry],
    uri: &str,
) -> Result<ReadResourceResult> {
    // A resource is opened whole, by a host or a person: only tools are cut for models.
    let mut ctx = ctx.clone();
    ctx.limits.max_answer_bytes = usize::MAX;
    let contents = match parse(uri)? {
        Target::Schema => text(uri, MARKDOWN, schema(wiki, &ctx)?),
        Target::Pages => text(uri, "text/tab-separated-values", pages(wiki, &ctx)?),
        Target::Page(id) => {
            let report = wiki.read_page(&ctx, &id, None)?;
            text(uri, MARKDOWN, report.markdown)
        }
        Target::Source(id, lines) => source(wiki, &ctx, uri, id, lines)?,
        Target::Section(section) => {
            let operation = show(operations).ok_or_else(|| unknown(uri))?;
            let report = (operation.run)(json!({"section": section}), wiki, &ctx)?;
            text(uri, MARKDOWN, section_text(&report))
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn text(uri: &str, media_type: &str, text: String) -> ResourceContents {
    ResourceContents::text(text, uri).with_mime_type(media_type)
}

fn schema(wiki: &Wiki, ctx: &Context) -> Result<String> {
    let report = wiki.status(ctx)?;
    report.schema_text.ok_or_else(|| {
        Error::new(
            ErrorCode::NotInitialized,
            "this wiki has no schema.md".to_owned(),
        )
    })
}

fn pages(wiki: &Wiki, ctx: &Context) -> Result<String> {
    let report = wiki.list_pages(ctx, "", None, usize::MAX)?;
    let lines = report
        .pages
        .iter()
        .flat_map(|page| [page.id.as_str(), "\t", page.title.as_str(), "\n"]);
    Ok(lines.collect())
}

fn source(
    wiki: &Wiki,
    ctx: &Context,
    uri: &str,
    id: SourceId,
    lines: Option<(usize, usize)>,
) -> Result<ResourceContents> {
    let report = wiki.read_source(ctx, id, None, None)?;
    let media_type = report.metadata.media_type;
    match (report.content, report.content_base64) {
        (Some(content), _) => {
            let content = match lines {
                None => content,
                Some((first, last)) => {
                    let count = content.split_inclusive('\n').count();
                    if first > count {
                        return Err(Error::new(
                            ErrorCode::InvalidArgument,
                            format!("source {id} has {count} lines, none is number {first}"),
                        ));
                    }
                    let kept = content.split_inclusive('\n').skip(first - 1);
                    kept.take(last + 1 - first).collect()
                }
            };
            Ok(text(uri, &media_type, content))
        }
        (None, blob) => {
            if lines.is_some() {
                return Err(Error::new(
                    ErrorCode::InvalidArgument,
                    format!("source {id} is not UTF-8 and has no lines"),
                ));
            }
            Ok(ResourceContents::blob(blob.unwrap_or_default(), uri).with_mime_type(media_type))
        }
    }
}

/// The bodies of the sections in a report of `show`.
fn section_text(report: &Value) -> String {
    let sections = report.get("sections").and_then(Value::as_array);
    let bodies = sections
        .into_iter()
        .flatten()
        .filter_map(|section| section.get("body").and_then(Value::as_str));
    bodies.collect::<Vec<_>>().join("\n")
}

/// What a URI names.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Schema,
    Pages,
    Page(PageId),
    Source(SourceId, Option<(usize, usize)>),
    Section(String),
}

fn unknown(uri: &str) -> Error {
    Error::new(
        ErrorCode::InvalidArgument,
        format!("there is no resource {uri:?}"),
    )
    .with_hint("resources/list and resources/templates/list say which there are")
}

fn parse(uri: &str) -> Result<Target> {
    let (place, fragment) = match uri.split_once('#') {
        Some((place, fragment)) => (place, Some(fragment)),
        None => (uri, None),
    };
    let path = place
        .strip_prefix("llmwiki://")
        .ok_or_else(|| unknown(uri))?;
    let decoded = percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| unknown(uri))?;
    match decoded.split_once('/') {
        None if decoded == "schema" => Ok(Target::Schema),
        None if decoded == "pages" => Ok(Target::Pages),
        Some(("page", id)) => PageId::parse(id)
            .map(Target::Page)
            .map_err(|cause| Error::new(ErrorCode::InvalidPath, cause.to_string())),
        Some(("source", id)) => {
            let id = SourceId::parse(id).map_err(|_| {
                Error::new(
                    ErrorCode::InvalidPath,
                    format!("source id {id:?} is not 64 lower-case hexadecimal digits"),
                )
            })?;
            let lines = match fragment {
                None => None,
                Some(fragment) => Some(lines(fragment).ok_or_else(|| unknown(uri))?),
            };
            Ok(Target::Source(id, lines))
        }
        Some(("wiki", section)) if !section.is_empty() => Ok(Target::Section(section.to_owned())),
        _ => Err(unknown(uri)),
    }
}

/// `L10` or `L10-L20` as first and last line.
fn lines(fragment: &str) -> Option<(usize, usize)> {
    let number = |text: &str| text.strip_prefix('L')?.parse::<usize>().ok();
    let (first, last) = match fragment.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(fragment)?, number(fragment)?),
    };
    (1 <= first && first <= last && last < usize::MAX).then_some((first, last))
}

/// Completes the variable of a template. What is no variable of ours has no completion.
///
/// # Errors
/// Those of listing.
pub(super) fn complete(
    wiki: &Wiki,
    ctx: &Context,
    operations: &'static [OperationEntry],
    template: &str,
    argument: &str,
    value: &str,
) -> Result<CompletionInfo> {
    let (mut values, more) = match (template, argument) {
        (PAGE_TEMPLATE, "id") => {
            let report = wiki.list_pages(ctx, value, None, CompletionInfo::MAX_VALUES)?;
            let ids = report.pages.into_iter().map(|page| page.id);
            (ids.collect(), report.next.is_some())
        }
        (SOURCE_TEMPLATE, "id") => sources(wiki, ctx, value)?,
        (SECTION_TEMPLATE, "section") => {
            let report = match show(operations) {
                Some(operation) => (operation.run)(json!({}), wiki, ctx)?,
                None => Value::Null,
            };
            let sections = report.get("sections").and_then(Value::as_array);
            let ids: Vec<String> = sections
                .into_iter()
                .flatten()
                .filter_map(|section| section.get("id")?.as_str())
                .filter(|id| id.starts_with(value))
                .map(str::to_owned)
                .collect();
            let more = ids.len() > CompletionInfo::MAX_VALUES;
            (ids, more)
        }
        _ => (Vec::new(), false),
    };
    values.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(values, None, more)
        .map_err(|cause| Error::new(ErrorCode::LimitExceeded, cause))
}

/// Ids of sources that begin with `prefix`, and whether there are more.
fn sources(wiki: &Wiki, ctx: &Context, prefix: &str) -> Result<(Vec<String>, bool)> {
    if !prefix
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        || prefix.len() > 64
    {
        return Ok((Vec::new(), false));
    }
    // The list goes on *after* an id: begin just below the first one with the prefix.
    let mut ids: Vec<String> = Vec::new();
    let mut cursor = just_below(prefix);
    loop {
        let report = wiki.list_sources(ctx, cursor.as_deref(), CompletionInfo::MAX_VALUES)?;
        for source in report.sources {
            if !source.id.starts_with(prefix) {
                return Ok((ids, false));
            }
            if ids.len() == CompletionInfo::MAX_VALUES {
                return Ok((ids, true));
            }
            ids.push(source.id);
        }
        if report.next.is_none() {
            return Ok((ids, false));
        }
        cursor = report.next;
    }
}

/// The hash just below all that begin with a prefix of hexadecimal digits.
fn just_below(prefix: &str) -> Option<String> {
    let digits = prefix.trim_end_matches('0');
    let mut digits = digits.to_owned();
    let lowered = match digits.pop()? {
        'a' => '9',
        digit => char::from(u8::try_from(digit).ok()? - 1),
    };
    digits.push(lowered);
    Some(format!("{digits:f<64}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_one_thing_or_is_refused() {
        let page = |id: &str| Target::Page(PageId::parse(id).unwrap());
        assert_eq!(parse("llmwiki://schema").unwrap(), Target::Schema);
        assert_eq!(parse("llmwiki://pages").unwrap(), Target::Pages);
        assert_eq!(parse("llmwiki://page/a/b").unwrap(), page("a/b"));
        assert_eq!(parse("llmwiki://page/a%2Fb%20c").unwrap(), page("a/b c"));
        let id = SourceId::of(b"x");
        let uri = format!("llmwiki://source/{id}");
        assert_eq!(parse(&uri).unwrap(), Target::Source(id, None));
        let parsed = parse(&format!("{uri}#L3-L4")).unwrap();
        assert_eq!(parsed, Target::Source(id, Some((3, 4))));
        for wrong in [
            "llmwiki://",
            "llmwiki://page",
            "llmwiki://page/../x",
            "llmwiki://page/..%2f..%2fetc",
            "llmwiki://page/%ff",
            "llmwiki://source/abc",
            "llmwiki://nothing/x",
            "file:///etc/passwd",
            &format!("{uri}#L0"),
            &format!("{uri}#L4-L3"),
            &format!("{uri}#x"),
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_uri_of_a_page_leads_back_to_it() {
        for id in ["a", "a/b c", "\u{6f22}\u{5b57}/#1?", "q&a/[x]"] {
            let uri = page_uri(id);
            assert_eq!(
                parse(&uri).unwrap(),
                Target::Page(PageId::parse(id).unwrap()),
                "{uri}"
            );
        }
    }

    #[test]
    fn the_hash_below_a_prefix_is_the_one_before_it() {
        let below = |prefix: &str, digits: &str| {
            assert_eq!(just_below(prefix).unwrap(), format!("{digits:f<64}"));
        };
        below("1", "0");
        below("a0", "9f");
        below("2b00", "2aff");
        assert_eq!(just_below("00"), None);
        assert_eq!(just_below(""), None);
    }

    #[test]
    fn sections_of_a_generated_wiki_are_joined() {
        let report =
            json!({"sections": [{"id": "a", "body": "one\n"}, {"id": "b", "body": "two\n"}]});
        assert_eq!(section_text(&report), "one\n\ntwo\n");
        assert_eq!(section_text(&Value::Null), "");
    }
}
