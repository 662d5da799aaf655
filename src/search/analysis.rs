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
use crate::page::{self, Outline, Page};

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

    /// Changes when the same page may give other terms, sections, links or names than before: an
    /// index of another revision is rebuilt, and lint does not compare it with the pages. `classic`
    /// never changes.
    pub fn revision(self) -> u32 {
        match self {
            Self::Classic => 1,
            Self::Standard => 4,
        }
    }

    /// How much long sections are held back: `b` of BM25. Sections of pages differ in length for
    /// good reasons more often than the documents that the usual 0.75 was found on; docs/search.md
    /// has the figures.
    pub fn length_normalisation(self) -> f64 {
        match self {
            Self::Classic => 0.75,
            Self::Standard => 0.5,
        }
    }

    /// How a store names what built its index: name and revision.
    pub fn label(self) -> String {
        format!("{} {}", self.name(), self.revision())
    }

    /// Cuts a page into sections and counts their terms. Sections come in page order.
    pub fn sections(&self, id: &PageId, page: &Page) -> Vec<AnalyzedSection> {
        self.count(id, page, self.cut(page))
    }

    /// Counts the terms of the page's sections as [`Analysis::cut`] or [`Analysis::outline`] gave
    /// them.
    pub fn count(
        &self,
        id: &PageId,
        page: &Page,
        sections: Vec<page::Section>,
    ) -> Vec<AnalyzedSection> {
        match self {
            Self::Classic => classic_sections(page, sections),
            Self::Standard => standard_sections(id, page, sections),
        }
    }

    /// The page's sections as this analysis cuts them; the ranges are of the page's body.
    pub fn cut(&self, page: &Page) -> Vec<page::Section> {
        match self {
            Self::Classic => page::sections_classic(&page.body, page.body_start_line),
            Self::Standard => page::sections(&page.body, page.body_start_line),
        }
    }

    /// What the page refers to, and its sections as this analysis cuts them.
    pub fn outline(&self, page: &Page) -> Outline {
        match self {
            Self::Classic => Outline {
                references: page::references(&page.body, page.body_start_line),
                sections: self.cut(page),
            },
            Self::Standard => page::outline(&page.body, page.body_start_line),
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

/// Other readings of a query, for one whose words the index does not know.
pub(crate) fn other_readings(
    analysis: Analysis,
    text: &str,
) -> Box<dyn Iterator<Item = Query> + '_> {
    match analysis {
        Analysis::Classic => Box::new(std::iter::empty()),
        Analysis::Standard => Box::new(query::standard_in_each_language(text)),
    }
}

fn classic_sections(page: &Page, sections: Vec<page::Section>) -> Vec<AnalyzedSection> {
    let add = |vocabulary: &mut Vocabulary, text: &str, weight: u32| {
        let mut count = 0;
        tokenize::classic_each(&tokenize::normalized(text), &mut |token| {
            vocabulary.add_term(token, weight);
            count += 1;
        });
        count
    };
    vocabulary::with(|vocabulary| {
        sections
            .into_iter()
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

fn standard_sections(
    id: &PageId,
    page: &Page,
    sections: Vec<page::Section>,
) -> Vec<AnalyzedSection> {
    let language = language::detect(&page.body);
    let add = |vocabulary: &mut Vocabulary, text: &str, weight: u32| {
        let mut count = 0;
        let mut gram = Gram::default();
        standard_units(text, &mut |unit| {
            count += 1;
            match unit.kind {
                UnitKind::Word => {
                    vocabulary.add_word(unit.text, language, weight);
                    tokenize::extras(text, &unit, &mut |extra| {
                        vocabulary.add_word(extra, language, weight.div_ceil(2));
                    });
                }
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
    vocabulary::with(|vocabulary| {
        sections
            .into_iter()
            .enumerate()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(title: &str, summary: &str, body: &str) -> Page {
        let source = crate::id::SourceId::of(b"evidence");
        let text = page::render(title, summary, &[source], body).unwrap();
        page::parse(&text).unwrap()
    }

    fn sections(analysis: Analysis, page: &Page) -> Vec<AnalyzedSection> {
        analysis.sections(&PageId::parse("guides/pier").unwrap(), page)
    }

    fn weight(section: &AnalyzedSection, term: &str) -> u32 {
        let found = section.terms.iter().find(|(other, _)| other == term);
        found.map_or(0, |&(_, weight)| weight)
    }

    #[test]
    fn fields_weigh_as_documented() {
        let page = page(
            "Tide tide",
            "Zebra",
            "# Tide\n\ntide water\n\n## Sand\n\nwater\n",
        );
        let classic = sections(Analysis::Classic, &page);
        assert_eq!(weight(&classic[0], "tide"), 2 * TITLE + HEADING + BODY);
        assert_eq!(weight(&classic[1], "tide"), 2 * TITLE + HEADING);
        assert_eq!((classic[0].length, classic[1].length), (3, 3));
        assert_eq!(weight(&classic[0], "zebra"), 0);
        let standard = sections(Analysis::Standard, &page);
        assert_eq!(weight(&standard[0], "tide"), 2 * TITLE + HEADING + BODY);
        assert_eq!(weight(&standard[0], "zebra"), SUMMARY);
        assert_eq!(weight(&standard[0], "guid"), SUMMARY);
        assert_eq!(weight(&standard[1], "zebra"), 0);
        assert_eq!((standard[0].length, standard[1].length), (3, 3));
    }

    #[test]
    fn words_of_code_weigh_whole_and_half_in_parts() {
        let body = "HttpClient of v1.2.3 in C++";
        let section = &sections(Analysis::Standard, &page("T", "s", body))[0];
        for (term, expected) in [
            ("httpclient", BODY),
            ("http", BODY / 2),
            ("client", BODY / 2),
            ("v1.2.3", BODY / 2),
            ("c++", BODY / 2),
            ("c", BODY),
        ] {
            assert_eq!(weight(section, term), expected, "{term}");
        }
        assert_eq!(section.length, 7, "extras are no tokens");
        for query in [
            "client",
            "HTTP client",
            "httpclient",
            "v1.2.3",
            "c++",
            "C++",
        ] {
            let terms = Analysis::Standard.query(query).terms;
            assert!(
                terms.iter().any(|(term, _)| weight(section, term) > 0),
                "{query}"
            );
        }
        let excluded = Analysis::Standard.query("in -HttpClient").minus;
        assert_eq!(excluded, ["httpclient"]);
        assert_eq!(
            Analysis::Standard
                .query("title:HttpClient")
                .filters
                .title
                .len(),
            1
        );
    }

    #[test]
    fn the_fingerprint_knows_terms_and_length_and_not_the_place() {
        let one = sections(
            Analysis::Standard,
            &page("T", "s", "# A\n\nwater\n\n# B\n\nsand\n"),
        );
        let moved = sections(
            Analysis::Standard,
            &page("T", "s", "# A\n\nwater\n\n\n# B\n\nsand\n"),
        );
        assert_eq!(one[1].fingerprint, moved[1].fingerprint);
        assert_ne!(one[1].start_line, moved[1].start_line);
        assert_ne!(one[0].fingerprint, one[1].fingerprint);
    }

    #[test]
    fn pages_in_other_languages_hold_their_own_stems_too() {
        let body = "Die H\u{E4}user stehen seit dem Umbau nicht mehr am Hafen, und das ist gut so.";
        let section = &sections(Analysis::Standard, &page("Hafen", "s", body))[0];
        assert_eq!(
            (weight(section, "haus"), weight(section, "hauser")),
            (BODY + BODY / 2, BODY)
        );
        let found = |query: &str| {
            Analysis::Standard
                .query(query)
                .terms
                .iter()
                .any(|(term, _)| weight(section, term) > 0)
        };
        assert!(found("hauser") && found("wo ist das Haus") && !found("houses"));
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        // Each of these took minutes where something was quadratic.
        for piece in [
            "a\u{301}",
            "\u{301}",
            "\u{39F}\u{3A3}\u{301}",
            "\u{914D}",
            "x",
            "llmwiki://source/",
            "\u{1F468}\u{200D}",
            "\u{1F1E6}",
            "\u{E01}\u{E31}",
            "\"",
            "-",
            "\u{FDFA}",
            "\u{1100}",
        ] {
            let text = piece.repeat(40_000 / piece.len());
            let page = page("T", "s", &format!("x{text}"));
            for &analysis in Analysis::ALL {
                let cut = sections(analysis, &page);
                assert_eq!(cut.len(), 1);
                let query = analysis.query(&text);
                crate::search::snippet(analysis, &page.body, &query, 1200);
                let phrase = vec![text.clone(), text.clone()];
                assert!(!crate::search::phrase_matches(
                    analysis, &phrase, &page.body
                ));
            }
        }
    }

    proptest! {
        #[test]
        fn equal_pages_give_equal_terms_on_every_thread(
            title in "[a-zA-Z\u{E4}\u{914D}]{1,8}",
            body in "[a-z .#\n\u{E4}\u{914D}\u{7F6E}\u{E01}\u{E31}]{0,120}x",
            other in "[a-z \u{E4}\u{914D}]{1,40}x",
        ) {
            let page = page(&title, "s", &body);
            for &analysis in Analysis::ALL {
                let here = sections(analysis, &page);
                // Another history of the caches must not show.
                let _ = sections(analysis, &self::page(&other, &other, &other));
                prop_assert_eq!(&here, &sections(analysis, &page));
                let there = std::thread::scope(|scope| {
                    scope.spawn(|| sections(analysis, &page)).join()
                });
                prop_assert_eq!(&here, &there.unwrap());
                for section in &here {
                    let sorted = section.terms.windows(2).all(|pair| pair[0].0 < pair[1].0);
                    prop_assert!(sorted && section.terms.iter().all(|(term, weight)| !term.is_empty() && *weight > 0));
                }
            }
        }

        #[test]
        fn a_section_is_found_by_its_own_words(
            word in "[a-zA-Z\u{E4}\u{DF}\u{430}-\u{44F}\u{3B1}-\u{3C9}\u{915}-\u{928}]{1,9}|[\u{914D}\u{7F6E}\u{3042}\u{AC00}]{1,4}",
        ) {
            let page = page("T", "s", &format!("before {word} after"));
            for &analysis in Analysis::ALL {
                let section = &sections(analysis, &page)[0];
                let query = analysis.query(&word);
                prop_assert!(!query.is_empty());
                prop_assert!(query.terms.iter().any(|(term, _)| weight(section, term) > 0));
            }
        }
    }
}
