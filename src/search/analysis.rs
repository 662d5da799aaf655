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
    let mut bag = Bag::default();
    let add = |bag: &mut Bag, text: &str, weight: u32| {
        let mut count = 0;
        tokenize::classic_each(&tokenize::normalized(text), &mut |token| {
            bag.add(token, weight);
            count += 1;
        });
        count
    };
    Analysis::Classic
        .cut(page)
        .into_iter()
        .map(|section| {
            add(&mut bag, &page.title, TITLE);
            let mut length = 0;
            for heading in &section.heading_trail {
                length += add(&mut bag, heading, HEADING);
            }
            length += add(&mut bag, &page.body[section.text.clone()], BODY);
            finish(section, length, bag.drain())
        })
        .collect()
}

fn standard_sections(id: &PageId, page: &Page) -> Vec<AnalyzedSection> {
    let language = language::detect(&page.body);
    let mut words = Bag::default();
    let mut stems = Bag::default();
    Analysis::Standard
        .cut(page)
        .into_iter()
        .enumerate()
        .map(|(index, section)| {
            add_standard(&mut words, &mut stems, &page.title, TITLE);
            if index == 0 {
                add_standard(&mut words, &mut stems, &page.summary, SUMMARY);
                add_standard(&mut words, &mut stems, id.as_str(), SUMMARY);
            }
            let mut length = 0;
            for heading in &section.heading_trail {
                length += add_standard(&mut words, &mut stems, heading, HEADING);
            }
            let text = &page.body[section.text.clone()];
            length += add_standard(&mut words, &mut stems, text, BODY);
            words.drain_each(|word, weight| {
                language::stems(word, language, |stem| stems.add(stem, weight));
            });
            finish(section, length, stems.drain())
        })
        .collect()
}

/// Adds words to one bag, to be stemmed once each, and grams, which are terms already, to the
/// other. Returns how many tokens there were.
fn add_standard(words: &mut Bag, terms: &mut Bag, text: &str, weight: u32) -> u32 {
    let mut count = 0;
    let mut gram = Gram::default();
    standard_units(text, &mut |unit| {
        count += 1;
        match unit.kind {
            UnitKind::Word => words.add(unit.text, weight),
            UnitKind::Gram => {
                terms.add(unit.text, weight);
                if let Some(pair) = gram.pair(&unit) {
                    terms.add(pair, weight);
                }
            }
        }
    });
    count
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

/// A multiset of terms in one arena, counted by sorting: no hash function, so no input can make
/// it slow, and the result comes out in order.
#[derive(Default)]
struct Bag {
    arena: String,
    entries: Vec<Occurrence>,
}

#[derive(Clone, Copy)]
struct Occurrence {
    /// The first eight bytes, so that most comparisons need no look at the arena.
    prefix: u64,
    start: u32,
    len: u32,
    weight: u32,
}

impl Bag {
    fn add(&mut self, term: &str, weight: u32) {
        let bytes = term.as_bytes();
        let mut prefix = [0; 8];
        let head = bytes.len().min(8);
        prefix[..head].copy_from_slice(&bytes[..head]);
        // Page bodies are limited far below 4 GiB; text beyond that is not indexed.
        let (Ok(start), Ok(len)) = (u32::try_from(self.arena.len()), u32::try_from(term.len()))
        else {
            return;
        };
        self.arena.push_str(term);
        self.entries.push(Occurrence {
            prefix: u64::from_be_bytes(prefix),
            start,
            len,
            weight,
        });
    }

    /// Calls `take` with each term once, in byte order, with the sum of its weights, and empties
    /// the bag.
    fn drain_each(&mut self, mut take: impl FnMut(&str, u32)) {
        let arena = &self.arena;
        let text = |entry: &Occurrence| {
            &arena[entry.start as usize..entry.start as usize + entry.len as usize]
        };
        self.entries.sort_unstable_by(|a, b| {
            a.prefix
                .cmp(&b.prefix)
                .then_with(|| text(a).as_bytes().cmp(text(b).as_bytes()))
        });
        let mut at = 0;
        while at < self.entries.len() {
            let first = self.entries[at];
            let mut weight = 0u32;
            while let Some(entry) = self.entries.get(at)
                && entry.prefix == first.prefix
                && entry.len == first.len
                && text(entry) == text(&first)
            {
                weight = weight.saturating_add(entry.weight);
                at += 1;
            }
            take(text(&first), weight);
        }
        self.arena.clear();
        self.entries.clear();
    }

    fn drain(&mut self) -> Vec<(String, u32)> {
        let mut terms = Vec::new();
        self.drain_each(|term, weight| terms.push((term.to_owned(), weight)));
        terms
    }
}
