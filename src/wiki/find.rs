//! Search over sections of pages.

use schemars::JsonSchema;
use serde::Serialize;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::root::Wiki;
use super::session::Reading;
use super::status::SkippedFile;
use super::wording;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{PageId, SourceId};
use crate::page::{self, Page, Section};
use crate::search::topk::Hit;
use crate::search::{Candidate, Query, WEIGHT_UNIT, bm25, snippet};
use crate::store::index::{IndexReader, IndexSet};
use crate::store::{PageRecord, SectionRecord, StoreError};

/// A search.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The query; see docs/search.md for the syntax.
    pub query: String,
    /// At most this many hits; `max_results` when not given.
    pub limit: Option<usize>,
    /// Say where each score comes from.
    pub explain: bool,
}

/// What one term of the query adds to a score.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TermShare {
    /// The term, as the index has it.
    pub term: String,
    /// How often it counts: once for each time that it stands in the query.
    pub count: u32,
    /// Number of sections that hold it.
    pub document_frequency: u64,
    /// How telling it is: `ln(1 + (N - df + 0.5) / (df + 0.5))`.
    pub idf: f64,
    /// How often it stands in the section, weighted by fields (docs/search.md).
    pub frequency: f64,
    /// What it adds: `count * idf * frequency * (k1 + 1) / (frequency + k1 * (1 - b + b * length /
    /// averageLength))`.
    pub score: f64,
}

/// Where the score of a section comes from: the shares of its terms sum to it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The terms of the query that the section holds, in the order in which they are summed.
    pub terms: Vec<TermShare>,
    /// Length of the section in terms.
    pub length: u32,
    /// Average length of all sections.
    pub average_length: f64,
    /// Number of all sections.
    pub section_count: u64,
    /// How soon more of a term stops to add.
    pub k1: f64,
    /// How much length counts.
    pub b: f64,
}

/// One section that was found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Page of the section.
    pub page_id: String,
    /// Title of the page.
    pub title: String,
    /// Headings from the top down to the section.
    pub heading_trail: Vec<String>,
    /// First line of the section in the page file, 1-based.
    pub start_line: u32,
    /// Last line of the section.
    pub end_line: u32,
    /// BM25 score.
    pub score: f64,
    /// Original text around the best match.
    pub snippet: String,
    /// Byte ranges `[start, end)` in the snippet that match the query.
    pub matches: Vec<(usize, usize)>,
    /// Sources that the page cites.
    pub source_ids: Vec<String>,
    /// Where the score comes from, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
}

/// Sections, best first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchReport {
    /// The hits; ties by page id (UTF-16 code units), then line.
    pub hits: Vec<SearchHit>,
    /// The query with misspelt words replaced by words that sections hold, when nothing was found.
    pub did_you_mean: Option<String>,
    /// What was done to find anything at all.
    pub note: Option<String>,
    /// Files kept out of the index.
    pub skipped: Vec<SkippedFile>,
    /// Changes in the tree that this answer does not know yet.
    pub pending: u64,
}

/// Largest whole number on which all JSON readers agree.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// A page of a candidate, read once a search.
struct Opened {
    id: PageId,
    record: PageRecord,
    page: Page,
    sections: Vec<Section>,
}

impl Opened {
    /// The text of the section that starts at `line`, without its heading.
    fn text(&self, line: u32) -> &str {
        self.sections
            .iter()
            .find(|section| section.start_line == line)
            .map_or("", |section| &self.page.body[section.text.clone()])
    }
}

/// Reads sections and pages for one search.
pub(super) struct Library<'a> {
    reading: &'a Reading,
    pages: HashMap<String, Opened>,
}

impl Library<'_> {
    fn section(&self, number: u32) -> Result<SectionRecord, StoreError> {
        let found = self.reading.snapshot.section(number)?;
        found.ok_or_else(|| StoreError::Damaged {
            what: format!("section {number} is missing"),
        })
    }

    fn page(&mut self, id: &str) -> Result<&Opened, StoreError> {
        match self.pages.entry(id.to_owned()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let damaged = |what: &str| StoreError::Damaged {
                    what: format!("page {id} {what}"),
                };
                let page_id = PageId::parse(id).map_err(|_| damaged("has no legal id"))?;
                let view = &self.reading.snapshot;
                let record = view.page(&page_id)?.ok_or_else(|| damaged("is missing"))?;
                let bytes = view
                    .blob(&record.sha256)?
                    .ok_or_else(|| damaged("has no text"))?;
                let page = page::parse_bytes(&bytes).map_err(|_| damaged("is no page"))?;
                let sections = self.reading.analysis.cut(&page);
                Ok(place.insert(Opened {
                    id: page_id,
                    record,
                    page,
                    sections,
                }))
            }
        }
    }

    /// Whether a section meets the conditions of a query.
    fn accepts(&mut self, query: &Query, number: u32) -> Result<bool, StoreError> {
        let analysis = self.reading.analysis;
        let section = self.section(number)?;
        let opened = self.page(&section.page)?;
        let candidate = Candidate {
            id: &opened.id,
            title: &opened.page.title,
            summary: &opened.page.summary,
            sources: &opened.record.sources,
            heading_trail: &section.heading_trail,
            text: opened.text(section.start_line),
        };
        Ok(query.accepts(analysis, &candidate))
    }
}

impl Library<'_> {
    /// The sections that meet the conditions of a query without words, in page and line order.
    fn list(&mut self, ctx: &Context, query: &Query, limit: usize) -> Result<Vec<Hit>> {
        let mut pages: Vec<(PageId, PageRecord)> = Vec::new();
        for row in self.reading.snapshot.pages("", None) {
            ctx.check()?;
            let (id, page) = row?;
            if query.accepts_page(self.reading.analysis, &id, &page.title, &page.sources) {
                pages.push((id, page));
            }
        }
        pages.sort_by(|(a, _), (b, _)| a.cmp_utf16(b));
        let mut hits = Vec::new();
        for (_, page) in pages {
            ctx.check()?;
            for section in page.sections {
                if hits.len() == limit {
                    return Ok(hits);
                }
                if !query.reads_text() || self.accepts(query, section)? {
                    hits.push(Hit {
                        section,
                        score: 0.0,
                    });
                }
            }
        }
        Ok(hits)
    }
}

impl Library<'_> {
    /// The best sections of a query.
    fn rank(
        &mut self,
        reader: &IndexReader<'_>,
        query: &Query,
        limit: usize,
    ) -> Result<Vec<Hit>, StoreError> {
        let has_conditions = query.has_conditions();
        let library = std::cell::RefCell::new(self);
        reader.search::<StoreError>(
            &query.terms,
            limit,
            &mut |number| Ok(!has_conditions || library.borrow_mut().accepts(query, number)?),
            &mut |number| {
                let section = library.borrow().section(number)?;
                Ok((section.page, section.start_line))
            },
        )
    }

    /// The text of a section.
    pub(super) fn text_of(&mut self, number: u32) -> Result<&str, StoreError> {
        let section = self.section(number)?;
        Ok(self.page(&section.page)?.text(section.start_line))
    }
}

/// Where the scores of hits come from.
fn explain(
    reader: &IndexReader<'_>,
    query: &Query,
    hits: &[Hit],
) -> Result<Vec<Explanation>, StoreError> {
    let scorer = reader.scorer();
    let section_count = reader.document_count();
    let mut explanations: Vec<Explanation> = hits
        .iter()
        .map(|hit| Explanation {
            terms: Vec::new(),
            length: reader.length(hit.section).unwrap_or(0),
            average_length: scorer.avg,
            section_count,
            k1: scorer.k1,
            b: scorer.b,
        })
        .collect();
    for (term, count) in &query.terms {
        let document_frequency = reader.document_frequency(term)?;
        if document_frequency == 0 || *count == 0 {
            continue;
        }
        let idf = bm25::idf(section_count, document_frequency);
        let weights: HashMap<u32, u32> = reader
            .postings(term)?
            .into_iter()
            .map(|posting| (posting.section, posting.weight))
            .collect();
        for (hit, explanation) in hits.iter().zip(&mut explanations) {
            let Some(&weight) = weights.get(&hit.section) else {
                continue;
            };
            let score = scorer.term_score(idf, weight, explanation.length) * f64::from(*count);
            explanation.terms.push(TermShare {
                term: term.clone(),
                count: *count,
                document_frequency,
                idf,
                frequency: f64::from(weight) / f64::from(WEIGHT_UNIT),
                score,
            });
        }
    }
    Ok(explanations)
}

impl Wiki {
    /// Searches, after taking in what changed in the tree. The hits are the exact best of the
    /// score.
    ///
    /// # Errors
    /// `NOT_INITIALIZED`; `INVALID_PAGE` for a query that asks for nothing; `LIMIT_EXCEEDED`
    /// for a limit of zero (one above `max_results` is taken for that).
    pub fn search(&self, ctx: &Context, request: &SearchRequest) -> Result<SearchReport> {
        self.mending(ctx, || search_in(ctx, request, || self.reading_whole(ctx)))
    }

    /// Searches a wiki of somebody else: what its store knows, and nothing is written.
    ///
    /// # Errors
    /// As [`Wiki::search`], and `STORE_TOO_NEW`.
    pub(crate) fn search_untouched(
        &self,
        ctx: &Context,
        request: &SearchRequest,
    ) -> Result<SearchReport> {
        search_in(ctx, request, || self.reading_untouched(ctx))
    }
}

fn search_in(
    ctx: &Context,
    request: &SearchRequest,
    read: impl FnOnce() -> Result<Reading>,
) -> Result<SearchReport> {
    let largest = ctx.limits.max_results;
    let limit = match request.limit {
        Some(0) => {
            return Err(
                Error::new(ErrorCode::LimitExceeded, "limit 0 is not between 1 and 100")
                    .with_hint("leave it out for the default"),
            );
        }
        Some(limit) if limit as u64 > MAX_SAFE_INTEGER => {
            return Err(Error::new(
                ErrorCode::LimitExceeded,
                format!("limit {limit} is larger than JSON numbers can say exactly"),
            )
            .with_hint("leave it out for the default"));
        }
        limit => limit.unwrap_or(largest).min(largest),
    };
    let reading = read()?;
    let mut query = reading.analysis.query(&request.query);
    if query.is_empty() && !query.only_filters() {
        let (what, hint) = if query.excluded.is_empty() {
            (
                "has no letter or digit to search for",
                "give at least one word",
            )
        } else {
            ("only excludes", "say what to look for, too")
        };
        return Err(Error::new(
            ErrorCode::InvalidPage,
            format!("query {:?} {what}", request.query),
        )
        .with_hint(hint));
    }
    let mut library = Library {
        reading: &reading,
        pages: HashMap::new(),
    };
    let (mut note, mut did_you_mean) = (None, None);
    let mut explanations = Vec::new();
    let found = if query.only_filters() {
        library.list(ctx, &query, limit)?
    } else {
        let reader = IndexReader::open(
            &reading.snapshot,
            IndexSet::Pages,
            reading.analysis,
            reading.store.index_cache(IndexSet::Pages),
        )?;
        wording::complete(&reader, reading.analysis, &request.query, &mut query)?;
        let mut found = library.rank(&reader, &query, limit)?;
        // A phrase alone is meant to the letter; one in a sentence may be somebody's quotation.
        if found.is_empty() && !query.phrases.is_empty() && query.has_loose_words {
            query.phrases.clear();
            found = library.rank(&reader, &query, limit)?;
            if !found.is_empty() {
                note = Some(
                    "no section holds the phrase word for word; these hold its words".to_owned(),
                );
            }
        }
        if found.is_empty() {
            did_you_mean = wording::correct(&reader, &mut library, &request.query, &query)?;
        }
        if request.explain {
            explanations = explain(&reader, &query, &found)?;
        }
        found
    };
    let mut explanations = explanations.into_iter();
    let mut hits = Vec::with_capacity(found.len());
    for hit in found {
        ctx.check()?;
        let section = library.section(hit.section)?;
        let analysis = reading.analysis;
        let opened = library.page(&section.page)?;
        let snippet = snippet(
            analysis,
            opened.text(section.start_line),
            &query,
            ctx.limits.max_snippet_bytes,
        );
        hits.push(SearchHit {
            page_id: section.page,
            title: opened.page.title.clone(),
            heading_trail: section.heading_trail,
            start_line: section.start_line,
            end_line: section.end_line,
            score: hit.score,
            snippet: snippet.text,
            matches: snippet.matches,
            source_ids: opened
                .page
                .sources
                .iter()
                .map(SourceId::to_string)
                .collect(),
            explanation: explanations.next(),
        });
    }
    Ok(SearchReport {
        hits,
        did_you_mean,
        note,
        skipped: reading.skipped()?,
        pending: reading.pending,
    })
}
