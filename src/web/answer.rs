//! An answer as a person reads it: its citations as numbered chips that open what they cite, what
//! was left out with the reasons, and how it came about.

use maud::{Markup, html};

use super::layout::{counted, made, sentence};
use super::markdown::{Chip, Surroundings, article, chip_target};
use super::urls;
use crate::ask::{AnswerMode, AskReport, Citation};

/// What a citation is called, and where it opens.
fn place(citation: &Citation) -> (String, String) {
    match citation {
        Citation::Code {
            file,
            line,
            end_line,
            ..
        } => {
            let name = format!("{file}:{line}");
            (name, urls::file(file, Some((*line, *end_line))))
        }
        Citation::Page {
            page,
            start_line,
            end_line,
            ..
        } => {
            let name = format!("{page}:{start_line}");
            (name, urls::page_lines(page, (*start_line, *end_line)))
        }
    }
}

/// The answer with all that belongs to it.
pub(super) fn answer(report: &AskReport) -> Markup {
    let chips: Vec<Chip> = report
        .citations
        .iter()
        .map(|citation| {
            let (title, url) = place(citation);
            Chip { title, url }
        })
        .collect();
    let mut text = report.answer.clone();
    for (at, chip) in chips.iter().enumerate() {
        let marker = format!("[{}]", chip.title);
        text = text.replace(&marker, &format!("[{}]({})", at + 1, chip_target(at)));
    }
    let around = Surroundings {
        chips: &chips,
        first_line: 1,
        ..Surroundings::default()
    };
    let (badge, how) = match report.mode {
        AnswerMode::Model => (
            "model",
            "Written by a model; each citation was checked against the files.",
        ),
        AnswerMode::Extractive => (
            "extractive",
            "No model wrote this: it is the evidence itself.",
        ),
    };
    html! {
        section.answer aria-label="Answer" data-markdown=(report.answer) {
            @if report.answer.is_empty() {
                p.nothing { "Nothing relevant was found." }
            } @else {
                p { span.badge title=(how) { (badge) } " " span.faint { (how) } }
                div.text { (made(&article(&text, &around).html)) }
            }
            @if let Some(note) = &report.note { p.faint { (sentence(note)) } }
            @if !report.dropped.is_empty() {
                details.dropped {
                    summary { (counted(report.dropped.len() as u64, "citation")) " left out" }
                    ul {
                        @for dropped in &report.dropped {
                            li { code { (dropped.marker) } " " (dropped.reason.word()) }
                        }
                    }
                }
            }
            @if !chips.is_empty() {
                h2 { "Sources of this answer" }
                ol.cited {
                    @for chip in &chips {
                        li { a.cite href=(chip.url) { (chip.title) } }
                    }
                }
            }
        }
    }
}
