//! Answers to questions about the code base, with citations that hold.
//!
//! Evidence is retrieved, numbered and shown to a model, which may only name numbers; without a
//! model, or where it fails or cites nothing that holds, the evidence itself is the answer. Each
//! citation is checked against the file as it is when the answer is made: the lines that were
//! shown must be in it, where they were or elsewhere.
//!
//! Invariant: a citation that is answered opens, and holds the text that was supplied.

mod extract;
mod prompt;
mod shown;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::ground::{Dropped, Stream, ground};
use crate::id::{PageId, SourceId};
use crate::model;
use crate::search::code_query;
use crate::wiki::{SearchRequest, Wiki};

pub use extract::extract;
pub use shown::{Excerpt, Place, Shown};

/// What evidence is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Within {
    /// Code and pages.
    #[default]
    All,
    /// Code.
    Code,
    /// Pages.
    Pages,
}

/// A question.
#[derive(Debug, Clone, Default)]
pub struct AskRequest {
    /// The question.
    pub question: String,
    /// How many excerpts are looked at; 6 when not given.
    pub k: Option<usize>,
    /// What is looked through.
    pub within: Within,
    /// Answer the evidence and ask no model.
    pub retrieve_only: bool,
    /// The model to use.
    pub model: Option<String>,
    /// Use no model.
    pub no_model: bool,
}

/// Where a statement comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Citation {
    /// Lines of a file of the project.
    #[serde(rename_all = "camelCase")]
    Code {
        /// Path below the project.
        file: String,
        /// First line, 1-based.
        line: u32,
        /// Last line.
        end_line: u32,
        /// SHA-256 of the file as it was when the answer was made.
        sha256: String,
    },
    /// A section of a page.
    #[serde(rename_all = "camelCase")]
    Page {
        /// Id of the page.
        page: String,
        /// First line of the section in the page file.
        start_line: u32,
        /// Last line.
        end_line: u32,
        /// Sources that the page cites.
        source_ids: Vec<String>,
    },
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnswerMode {
    /// A model wrote it.
    Model,
    /// It is the evidence itself.
    Extractive,
}

/// A piece of evidence, as it is shown to a model.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceItem {
    /// Where it is.
    #[serde(flatten)]
    pub place: Citation,
    /// What is defined there, or the headings above it.
    pub symbol: String,
    /// Its text.
    pub text: String,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskReport {
    /// The question.
    pub question: String,
    /// The answer, in Markdown; citations are `[file:line]`. Empty when nothing relevant was found.
    pub answer: String,
    /// Where it comes from, by first appearance.
    pub citations: Vec<Citation>,
    /// What was taken out of the model's answer.
    pub dropped: Vec<Dropped>,
    /// Who wrote it.
    pub mode: AnswerMode,
    /// What else there is to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The evidence, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<EvidenceItem>>,
}

/// Excerpts when nobody says how many.
const EXCERPTS: usize = 6;
/// Most excerpts.
const MOST_EXCERPTS: usize = 50;
/// Pages that the engine made from code say nothing that the code does not.
const GENERATED: &str = "code/";

/// Answers a question.
///
/// # Errors
/// `INVALID_ARGUMENT` for a blank question, or a model that is not configured; `LIMIT_EXCEEDED`
/// for a number of excerpts out of range; `NOT_INITIALIZED`; those of the store. A model that fails is no error.
pub fn ask(wiki: &Wiki, ctx: &Context, request: &AskRequest) -> Result<AskReport> {
    let k = request.k.unwrap_or(EXCERPTS);
    if !(1..=MOST_EXCERPTS).contains(&k) {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("k {k} is not between 1 and {MOST_EXCERPTS}"),
        )
        .with_hint("leave it out for the default"));
    }
    if code_query(&request.question).is_empty() {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            format!(
                "{:?} has no letter or digit to search for",
                request.question
            ),
        )
        .with_hint("ask with at least one word"));
    }
    let models = &wiki.config().models;
    let model = if request.no_model || request.retrieve_only {
        None
    } else {
        models.choose(request.model.as_deref())?
    };
    let mut notes: Vec<String> = Vec::new();
    let mut excerpts: Vec<Excerpt> = Vec::new();
    let mut evidence = None;
    let mut within = request.within;
    if within == Within::All && !wiki.has_project()? {
        within = Within::Pages;
        notes.push(
            "no project belongs to this wiki, so its pages alone were looked through".to_owned(),
        );
    }
    if within != Within::Pages {
        let found = wiki.evidence(ctx, &request.question, k)?;
        if found.pending > 0 {
            notes.push(format!(
                "{} changed files are not indexed yet",
                found.pending
            ));
        }
        let relevant = found.chunks.iter().filter(|chunk| {
            let (matched, wanted) = chunk.matched;
            matched * 3 >= wanted || matched >= 4
        });
        excerpts.extend(relevant.map(|chunk| Excerpt {
            place: Place::Code {
                file: chunk.file.clone(),
            },
            start_line: chunk.start_line,
            end_line: chunk.end_line,
            symbol: chunk.symbol.clone(),
            language: chunk.language.clone(),
            text: chunk.text.clone(),
        }));
        evidence = Some(found);
    }
    if within != Within::Code {
        let most = if within == Within::Pages {
            k
        } else {
            k.div_ceil(3)
        };
        let pages = pages(wiki, ctx, &request.question, most)?;
        excerpts.truncate(k - pages.len().min(k - 1).min(k));
        excerpts.extend(pages);
    }
    let now = |file: &str| evidence.as_ref().and_then(|found| found.file_now(file));
    let shown = Shown::new(excerpts, &now);
    let mut report = AskReport {
        question: request.question.clone(),
        answer: String::new(),
        citations: Vec::new(),
        dropped: Vec::new(),
        mode: AnswerMode::Extractive,
        note: None,
        evidence: None,
    };
    if request.retrieve_only {
        report.evidence = Some(shown.items());
    }
    if shown.is_empty() {
        notes.insert(0, "nothing relevant was found".to_owned());
        report.note = Some(notes.join("; "));
        return Ok(report);
    }
    let mut answered = None;
    if let Some(model) = model {
        let (prompt, redacted) = prompt::prompt(&request.question, &shown);
        if redacted > 0 {
            notes.push(format!(
                "{redacted} secrets or names were kept from the model"
            ));
        }
        let mut stream = Stream::new(&shown);
        let mut piece = |text: &str| {
            if let Some(certain) = stream.push(text) {
                ctx.text(&certain);
            }
        };
        match model::complete(&model, &prompt, ctx, &mut piece) {
            Ok(written) => {
                let mut grounded = ground(&written, &shown);
                report.dropped = std::mem::take(&mut grounded.dropped);
                if grounded.citations.is_empty() {
                    notes.push(format!(
                        "the answer of {} cites nothing that holds, so here is the evidence",
                        model.name
                    ));
                } else {
                    report.mode = AnswerMode::Model;
                    answered = Some(grounded);
                }
            }
            Err(model::ModelError::Aborted) => {
                return Err(Error::new(
                    ErrorCode::Aborted,
                    "the operation was cancelled",
                ));
            }
            Err(error) => notes.push(format!("the model {} failed: {error}", model.name)),
        }
    } else if !request.no_model && !request.retrieve_only {
        notes.push(models.why_none());
    }
    let grounded = answered.unwrap_or_else(|| extract(&request.question, &shown));
    report.citations = shown.citations(&grounded.citations);
    report.answer = grounded.text;
    if report.citations.is_empty() {
        report.answer.clear();
        notes.push("what was found is no longer in the files".to_owned());
    }
    report.note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(report)
}

/// Sections of pages that hold much of the question.
fn pages(wiki: &Wiki, ctx: &Context, question: &str, most: usize) -> Result<Vec<Excerpt>> {
    let request = SearchRequest {
        query: question.to_owned(),
        limit: Some(most.saturating_mul(4)),
        explain: false,
    };
    let found = match wiki.search(ctx, &request) {
        Ok(found) => found,
        Err(error) if error.code() == ErrorCode::InvalidPage => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let wanted = code_query(question);
    let mut excerpts = Vec::new();
    for hit in found.hits {
        if hit.page_id.starts_with(GENERATED) || excerpts.len() == most {
            continue;
        }
        let Ok(id) = PageId::parse(&hit.page_id) else {
            continue;
        };
        let page = wiki.read_page(ctx, &id, None)?;
        let lines = crate::code::Lines::new(&page.markdown);
        let text = lines.slice(hit.start_line, hit.end_line);
        let held = code_query(&format!(
            "{} {} {text}",
            hit.title,
            hit.heading_trail.join(" ")
        ));
        let matched = wanted
            .iter()
            .filter(|(term, _)| held.iter().any(|(other, _)| other == term))
            .count();
        if matched * 2 < wanted.len() {
            continue;
        }
        excerpts.push(Excerpt {
            place: Place::Page {
                id: hit.page_id,
                sources: page
                    .metadata
                    .sources
                    .iter()
                    .filter(|id| SourceId::parse(id).is_ok())
                    .cloned()
                    .collect(),
            },
            start_line: hit.start_line,
            end_line: hit.end_line,
            symbol: hit.heading_trail.join(" > "),
            language: "markdown".to_owned(),
            text: text.to_owned(),
        });
    }
    Ok(excerpts)
}
