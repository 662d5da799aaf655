//! What a page that is to be written claims of its sources: each `llmwiki://source/<id>#L<lines>`
//! of its body must open. Pages that people put into the tree are taken in whatever they claim;
//! lint tells what is wrong with those (`CITATION_BROKEN`).

use super::prepared::PreparedPage;
use super::sources;
use crate::error::{Error, ErrorCode, Result};
use crate::id::SourceId;
use crate::source::LineCounter;
use crate::store::View;
use crate::tree::Tree;

/// Refuses a page that cites what cannot be opened.
///
/// # Errors
/// `SOURCE_NOT_FOUND` for a source that is not there, `INVALID_PAGE` for what is no citation and
/// for lines that the source does not have; each names the line of the page.
pub(super) fn check(tree: &Tree, view: &View, page: &PreparedPage) -> Result<()> {
    for claim in &page.claims {
        let at = |code, cause: String| {
            let id = &page.id;
            let line = claim.line;
            Error::new(code, format!("line {line} of page {id} cites {cause}"))
        };
        let invalid = |cause: String| {
            at(ErrorCode::InvalidPage, cause)
                .with_hint("cite as llmwiki://source/<id>#L10-L20; the lines count from 1")
        };
        let source = match &claim.source {
            Ok(source) => *source,
            Err(text) => {
                return Err(invalid(format!(
                    "{text:?}, which is not the id of a source"
                )));
            }
        };
        sources::check_citable(tree, view, source).map_err(|error| {
            at(
                error.code(),
                format!("a source that cannot be opened: {}", error.message()),
            )
            .with_hint("`llmwiki list-sources` prints the ids; add the source first")
        })?;
        let (first, last) = match &claim.lines {
            Ok(None) => continue,
            Ok(Some(lines)) => *lines,
            Err(fragment) => {
                let cause = format!("{fragment:?}, which does not name lines");
                return Err(invalid(cause));
            }
        };
        let count = line_count(tree, view, source)?;
        if u64::from(last) > count {
            let lines = if first == last {
                format!("line {first}")
            } else {
                format!("lines {first}-{last}")
            };
            return Err(invalid(format!(
                "{lines} of source {source}, which has {count}"
            )));
        }
    }
    Ok(())
}

fn line_count(tree: &Tree, view: &View, source: SourceId) -> Result<u64> {
    let content = match view.blob(&source.hash())? {
        Some(content) => content,
        None => sources::examine(tree, source)?.content,
    };
    let mut lines = LineCounter::default();
    lines.update(&content);
    Ok(lines.count())
}
