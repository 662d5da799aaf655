//! The rows of a page: what one commit writes when a page changes or goes, whoever changed it.

use std::collections::HashMap;

use similar::{Algorithm, ChangeTag};

use super::prepared::PreparedPage;
use crate::context::Context;
use crate::error::Result;
use crate::id::{ContentHash, PageId, SourceId};
use crate::page;
use crate::search::{Analysis, AnalyzedSection};
use crate::store::{
    Batch, How, PageRecord, RevisionRecord, SectionRecord, StoreError, View,
    index::{self, IndexSet},
};

/// Who changed a page, when and why, as its revision records it.
#[derive(Debug, Clone)]
pub(crate) struct Note<'a> {
    pub(crate) how: How,
    pub(crate) at_ms: i64,
    pub(crate) actor: &'a str,
    pub(crate) message: &'a str,
}

impl<'a> Note<'a> {
    pub(crate) fn new(ctx: &Context, how: How, actor: &'a str, message: &'a str) -> Self {
        Self {
            how,
            at_ms: ctx.now().as_millisecond(),
            actor,
            message,
        }
    }
}

/// What the index has to learn from a batch: told once at its end, or made anew for all pages.
#[derive(Debug, Default)]
pub(crate) struct IndexChanges {
    removed: Vec<(u32, Vec<String>)>,
    added: Vec<(u32, AnalyzedSection)>,
    /// Write no sections at all; the caller rebuilds the index from the pages.
    deferred: bool,
}

impl IndexChanges {
    /// For bulk work that ends in [`super::reindex::rebuild_index`].
    pub(crate) fn deferred() -> Self {
        Self {
            deferred: true,
            ..Self::default()
        }
    }

    /// Tells the index.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn apply(self, batch: &mut Batch) -> Result<(), StoreError> {
        if self.removed.is_empty() && self.added.is_empty() {
            return Ok(());
        }
        let added: Vec<(u32, &AnalyzedSection)> = self
            .added
            .iter()
            .map(|(id, section)| (*id, section))
            .collect();
        index::apply(batch, IndexSet::Pages, &self.removed, &added)
    }

    fn remove(&mut self, id: u32, terms: Vec<String>) {
        // A section that the same batch added is forgotten before the index hears of it.
        if let Some(at) = self.added.iter().position(|(added, _)| *added == id) {
            self.added.swap_remove(at);
        } else {
            self.removed.push((id, terms));
        }
    }
}

/// Writes a page: its text, its revision and all that is derived from it. Returns the number of
/// the revision.
///
/// # Errors
/// Those of the store.
pub(crate) fn put_page(
    batch: &mut Batch,
    analysis: Analysis,
    prepared: &PreparedPage,
    note: &Note<'_>,
    index: &mut IndexChanges,
) -> Result<u64, StoreError> {
    let id = &prepared.id;
    let old = batch.page(id)?;
    batch.put_blob(&prepared.bytes)?;
    let revision = add_revision(batch, id, Some((prepared.sha256, &prepared.bytes)), note)?;
    let sections = put_sections(batch, analysis, id, old.as_ref(), &prepared.sections, index)?;
    let (sources, missing_sources) = split_sources(batch, &prepared.page.sources)?;
    batch.put_names(id, Some(&prepared.names))?;
    batch.put_links(id, Some(&prepared.links))?;
    batch.put_citations(id, Some(&prepared.citations))?;
    batch.put_page(
        id,
        &PageRecord {
            sha256: prepared.sha256,
            byte_count: prepared.bytes.len() as u64,
            title: prepared.page.title.clone(),
            summary: prepared.page.summary.clone(),
            sources,
            missing_sources,
            sections,
            revision,
        },
    )?;
    Ok(revision)
}

/// Takes a page out of everything but the history. With a note the history gets a tombstone.
///
/// # Errors
/// Those of the store.
pub(crate) fn remove_page(
    batch: &mut Batch,
    analysis: Analysis,
    id: &PageId,
    note: Option<&Note<'_>>,
    index: &mut IndexChanges,
) -> Result<Option<u64>, StoreError> {
    let Some(old) = batch.page(id)? else {
        return Ok(None);
    };
    put_sections(batch, analysis, id, Some(&old), &[], index)?;
    batch.remove_page(id)?;
    match note {
        Some(note) => add_revision(batch, id, None, note).map(Some),
        None => Ok(None),
    }
}

/// Keeps a text of a page in the history without making it the page's present text.
///
/// # Errors
/// Those of the store.
pub(crate) fn keep_text(
    batch: &mut Batch,
    id: &PageId,
    bytes: &[u8],
    note: &Note<'_>,
) -> Result<u64, StoreError> {
    let sha256 = batch.put_blob(bytes)?;
    add_revision(batch, id, Some((sha256, bytes)), note)
}

/// Notes in the history that a page is gone which has no row.
///
/// # Errors
/// Those of the store.
pub(crate) fn tombstone(
    batch: &mut Batch,
    id: &PageId,
    note: &Note<'_>,
) -> Result<u64, StoreError> {
    add_revision(batch, id, None, note)
}

fn add_revision(
    batch: &mut Batch,
    id: &PageId,
    text: Option<(ContentHash, &[u8])>,
    note: &Note<'_>,
) -> Result<u64, StoreError> {
    let before = batch.last_revision(id)?.map(|(_, revision)| revision);
    let old = match before.as_ref().and_then(|revision| revision.sha256) {
        Some(hash) => batch.blob(&hash)?.unwrap_or_default(),
        None => Vec::new(),
    };
    let (added, removed) = line_changes(&old, text.map_or(&[], |(_, bytes)| bytes));
    let replica = batch.meta().replica;
    batch.add_revision(&RevisionRecord {
        page: id.as_str().to_owned(),
        sha256: text.map(|(hash, _)| hash),
        parents: before.iter().map(RevisionRecord::identity).collect(),
        at_ms: note.at_ms,
        how: note.how,
        replica,
        actor: note.actor.to_owned(),
        message: note.message.to_owned(),
        added,
        removed,
    })
}

/// Which of the cited sources are preserved here, and which are not.
fn split_sources(
    view: &View,
    cited: &[SourceId],
) -> Result<(Vec<SourceId>, Vec<SourceId>), StoreError> {
    let mut known = Vec::with_capacity(cited.len());
    let mut missing = Vec::new();
    for &source in cited {
        if view.source(source)?.is_some() {
            known.push(source);
        } else {
            missing.push(source);
        }
    }
    Ok((known, missing))
}

/// Replaces the sections of a page. A section whose terms did not change keeps its id, so that
/// the index hears of changed sections only.
fn put_sections(
    batch: &mut Batch,
    analysis: Analysis,
    id: &PageId,
    old: Option<&PageRecord>,
    new: &[AnalyzedSection],
    index: &mut IndexChanges,
) -> Result<Vec<u32>, StoreError> {
    if index.deferred {
        return Ok(Vec::new());
    }
    let old_ids: &[u32] = old.map_or(&[], |page| &page.sections);
    let mut free: HashMap<[u8; 16], Vec<(usize, u32)>> = HashMap::new();
    for (at, &section) in old_ids.iter().enumerate().rev() {
        let record = batch
            .section(section)?
            .ok_or_else(|| StoreError::damaged(format!("section {section} of {id} is missing")))?;
        free.entry(record.fingerprint)
            .or_default()
            .push((at, section));
    }
    let mut ids = Vec::with_capacity(new.len());
    let mut fresh = Vec::new();
    for section in new {
        let kept = free.get_mut(&section.fingerprint).and_then(Vec::pop);
        let number = match kept {
            Some((_, number)) => number,
            None => {
                let number = batch.new_section_id()?;
                fresh.push((number, section));
                number
            }
        };
        ids.push(number);
    }
    let mut gone: Vec<(usize, u32)> = free.into_values().flatten().collect();
    gone.sort_unstable();
    if let (false, Some(old)) = (gone.is_empty(), old) {
        let terms = section_terms(batch, analysis, id, old)?;
        for &(at, number) in &gone {
            let terms = terms.get(at).cloned().ok_or_else(|| {
                StoreError::damaged(format!("the sections of {id} do not fit its text"))
            })?;
            index.remove(number, terms);
        }
        let numbers: Vec<u32> = gone.iter().map(|&(_, number)| number).collect();
        batch.remove_sections(&numbers)?;
    }
    let records: Vec<(u32, SectionRecord)> = ids
        .iter()
        .zip(new)
        .map(|(&number, section)| (number, record_of(id, section)))
        .collect();
    batch.put_sections(records.iter().map(|(number, record)| (*number, record)))?;
    index.added.extend(
        fresh
            .into_iter()
            .map(|(number, section)| (number, section.clone())),
    );
    Ok(ids)
}

/// The row of a section.
pub(crate) fn record_of(id: &PageId, section: &AnalyzedSection) -> SectionRecord {
    SectionRecord {
        page: id.as_str().to_owned(),
        heading_trail: section.heading_trail.clone(),
        start_line: section.start_line,
        end_line: section.end_line,
        fingerprint: section.fingerprint,
        length: section.length,
    }
}

/// The terms of each section of the text that the store holds, in the order of its sections.
fn section_terms(
    view: &View,
    analysis: Analysis,
    id: &PageId,
    record: &PageRecord,
) -> Result<Vec<Vec<String>>, StoreError> {
    let text = view
        .blob(&record.sha256)?
        .ok_or_else(|| StoreError::damaged(format!("the text of {id} is missing")))?;
    let page = page::parse_bytes(&text)
        .map_err(|error| StoreError::damaged(format!("the text of {id} is no page: {error}")))?;
    let terms =
        |section: AnalyzedSection| section.terms.into_iter().map(|(term, _)| term).collect();
    Ok(analysis
        .sections(id, &page)
        .into_iter()
        .map(terms)
        .collect())
}

/// Lines added and removed between two texts.
pub(crate) fn line_changes(old: &[u8], new: &[u8]) -> (u32, u32) {
    if old == new {
        return (0, 0);
    }
    let old: Vec<&[u8]> = lines(old);
    let new: Vec<&[u8]> = lines(new);
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev());
    let tail = tail.take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let (mut added, mut removed) = (0, 0);
    // The exact difference costs lines times changes. A page at the size limit, rewritten whole,
    // would hold the lock for seconds, so it is counted as rewritten.
    if old.len().saturating_mul(new.len()) > 4_000_000 {
        return (clamp(new.len()), clamp(old.len()));
    }
    for op in similar::capture_diff_slices(Algorithm::Myers, old, new) {
        for change in op.iter_changes(old, new) {
            match change.tag() {
                ChangeTag::Insert => added += 1,
                ChangeTag::Delete => removed += 1,
                ChangeTag::Equal => {}
            }
        }
    }
    (added, removed)
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    lines.retain(|line| !line.is_empty());
    lines
}

fn clamp(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_changes_count_what_a_reader_sees() {
        assert_eq!(line_changes(b"", b"a\nb\n"), (2, 0));
        assert_eq!(line_changes(b"a\nb\n", b""), (0, 2));
        assert_eq!(line_changes(b"a\nb\nc\n", b"a\nx\nc\n"), (1, 1));
        assert_eq!(line_changes(b"a\nb\nc\n", b"c\na\nb\n"), (1, 1));
        assert_eq!(line_changes(b"a\n", b"a\n"), (0, 0));
        assert_eq!(line_changes(b"a\na\n", b"a\na\na\n"), (1, 0));
    }

    #[test]
    fn a_long_page_rewritten_whole_is_counted_at_once() {
        let text = |word: &str| -> Vec<u8> {
            (0..20_000)
                .flat_map(|n| format!("{word} {n}\n").into_bytes())
                .collect()
        };
        assert_eq!(line_changes(&text("old"), &text("new")), (20_000, 20_000));
    }
}
