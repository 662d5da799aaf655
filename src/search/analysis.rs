//! How a page becomes terms: one value decides on section cutting, tokens, field weights and how
//! queries are read; nothing else branches on it. `classic` repeats the peer to the letter,
//! `standard` is better for people.
//!
//! Field weights: title 2, heading trail 1.5, body 1; `standard` adds summary and page id at 0.5
//! to a page's first section. Weights are kept in half units, so they are exact integers.

use xxhash_rust::xxh3::Xxh3;

use super::language;
use super::query::{self, Query};
use super::tokenize::{self, Unit, UnitKind, standard_units};
use super::vocabulary::{self, Vocabulary};
use crate::id::PageId;
use crate::page::{self, Page};

/// Term frequencies are stored in halves.
pub const WEIGHT_UNIT: u32 = 2;

const TITLE: u32 = 4;
const HEADING: u32 = 3;
const BODY: u32 = 2;
const SUMMARY: u32 = 1;

/// How text becomes terms; one a wiki, and a change reindexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Analysis {
    /// The ranking of `dsh-llmwiki`, to the letter.
    Classic,
    /// Better for people; the default.
    #[default]
    Standard,
}

/// One section, ready for the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalyzedSection {
    /// Headings from the outermost to the section's own.
    pub heading_trail: Vec<String>,
    /// First line in the page file, 1-based.
    pub start_line: u32,
    /// Last line in the page file.
    pub end_line: u32,
    /// Tokens of the heading trail and the body.
    pub length: u32,
    /// Terms and their weighted frequency in half units, sorted by the bytes of the term, each once.
    pub terms: Vec<(String, u32)>,
    /// XXH3-128 over length and terms: equal for sections that the index cannot tell apart.
    pub fingerprint: [u8; 16],
}

impl Analysis {
    /// Both analyses.
    pub const ALL: &[Analysis] = &[Analysis::Classic, Analysis::Standard];

    /// The name in the configuration and the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Standard => "standard",
        }
    }

    /// The analysis of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|analysis| analysis.name() == name)
    }

    /// Cuts a page into sections and counts their terms. Sections come in page order.
    pub fn sections(&self, id: &PageId, page: &Page) -> Vec<AnalyzedSection> {
        match self {
            Self::Classic => classic_sections(page),
            Self::Standard => standard_sections(id, page),
        }
    }

    /// The page's sections as this analysis cuts them; the ranges are of the page's body.
    pub fn cut(&self, page: &Page) -> Vec<page::Section> {
        match self {
            Self::Classic => page::sections_classic(&page.body, page.body_start_line),
            Self::Standard => page::sections(&page.body, page.body_start_line),
        }
    }

    /// Reads a query. Never fails: what is no syntax is plain words.
    pub fn query(&self, text: &str) -> Query {
        match self {
            Self::Classic => query::classic(text),
            Self::Standard => query::standard(text),
        }
    }
}

fn classic_sections(page: &Page) -> Vec<AnalyzedSection> {
    let add = |vocabulary: &mut Vocabulary, text: &str, weight: u32| {
        let mut count = 0;
        tokenize::classic_each(&tokenize::normalized(text), &mut |token| {
            vocabulary.add_term(token, weight);
            count += 1;
        });
        count
    };
    let sections = Analysis::Classic.cut(page).into_iter();
    vocabulary::with(|vocabulary| {
        sections
            .map(|section| {
                add(vocabulary, &page.title, TITLE);
                let mut length = 0;
                for heading in &section.heading_trail {
                    length += add(vocabulary, heading, HEADING);
                }
                length += add(vocabulary, &page.body[section.text.clone()], BODY);
                finish(section, length, vocabulary.take())
            })
            .collect()
    })
}

fn standard_sections(id: &PageId, page: &Page) -> Vec<AnalyzedSection> {
    let language = language::detect(&page.body);
    let add = |vocabulary: &mut Vocabulary, text: &str, weight: u32| {
        let mut count = 0;
        let mut gram = Gram::default();
        standard_units(text, &mut |unit| {
            count += 1;
            match unit.kind {
                UnitKind::Word => vocabulary.add_word(unit.text, language, weight),
                UnitKind::Gram => {
                    vocabulary.add_term(unit.text, weight);
                    if let Some(pair) = gram.pair(&unit) {
                        vocabulary.add_term(pair, weight);
                    }
                }
            }
        });
        count
    };
    let sections = Analysis::Standard.cut(page).into_iter().enumerate();
    vocabulary::with(|vocabulary| {
        sections
            .map(|(index, section)| {
                add(vocabulary, &page.title, TITLE);
                if index == 0 {
                    add(vocabulary, &page.summary, SUMMARY);
                    add(vocabulary, id.as_str(), SUMMARY);
                }
                let mut length = 0;
                for heading in &section.heading_trail {
                    length += add(vocabulary, heading, HEADING);
                }
                length += add(vocabulary, &page.body[section.text.clone()], BODY);
                finish(section, length, vocabulary.take())
            })
            .collect()
    })
}

/// Joins grams that follow each other to pairs.
#[derive(Default)]
pub(super) struct Gram {
    pair: String,
    last: usize,
}

impl Gram {
    /// The pair of this gram and the one before it, if they touch.
    pub(super) fn pair(&mut self, unit: &Unit<'_>) -> Option<&str> {
        if unit.joined {
            self.pair.drain(..self.last);
        } else {
            self.pair.clear();
        }
        self.last = self.pair.len();
        self.pair.push_str(unit.text);
        unit.joined.then_some(self.pair.as_str())
    }
}

fn finish(section: page::Section, length: u32, terms: Vec<(String, u32)>) -> AnalyzedSection {
    let mut hash = Xxh3::new();
    hash.update(&length.to_le_bytes());
    for (term, weight) in &terms {
        hash.update(&u64::try_from(term.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(term.as_bytes());
        hash.update(&weight.to_le_bytes());
    }
    AnalyzedSection {
        heading_trail: section.heading_trail,
        start_line: section.start_line,
        end_line: section.end_line,
        length,
        terms,
        fingerprint: hash.digest128().to_le_bytes(),
    }
}
