//! Counting the terms of a section. Words and terms get numbers in a vocabulary that each thread
//! keeps between pages, so that a word is stemmed once and counting is adding to an array. It is
//! a cache: what comes out depends on the text alone.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use frostem::{Algorithm, Stemmer};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::language::{self, Language};

/// The vocabulary is emptied between pages when it holds more terms or more bytes than this.
const MAX_TERMS: usize = 100_000;
const MAX_BYTES: usize = 8 << 20;

thread_local! {
    static VOCABULARY: RefCell<Vocabulary> = RefCell::default();
}

/// Runs `work` with this thread's vocabulary. Not to be nested.
pub(super) fn with<T>(work: impl FnOnce(&mut Vocabulary) -> T) -> T {
    VOCABULARY.with_borrow_mut(|vocabulary| {
        vocabulary.make_room();
        work(vocabulary)
    })
}

/// A term: up to eight bytes of UTF-8 in their order, which is most terms there are, or
/// [`LONG`] and a number. UTF-8 has no byte FF and tokens have no byte 00, so the three kinds of
/// values cannot meet, and short terms order by their text.
type Term = u64;
/// Number of a word.
type Word = u32;

/// Marks numbers of long terms.
const LONG: Term = 0xFF << 56;
/// No stem computed yet.
const UNKNOWN: Term = 0;

/// Words, their stems, and the terms of the section at hand.
#[derive(Default)]
pub(super) struct Vocabulary {
    short_words: HashMap<u64, Word, Seeded>,
    long_words: HashMap<Box<str>, Word, Seeded>,
    /// Universal stem of each word.
    universal: Vec<Term>,
    /// Own stems by language, by word; [`UNKNOWN`] until asked for.
    own: Vec<(Language, Vec<Term>)>,
    long_terms: HashMap<Box<str>, Term, Seeded>,
    /// Texts of long terms, by number.
    texts: Vec<Box<str>>,
    /// Terms of the section at hand and their weights, as they come.
    section: Vec<(Term, u32)>,
    /// Bytes of all texts.
    bytes: usize,
}

impl Vocabulary {
    fn make_room(&mut self) {
        self.section.clear();
        if self.universal.len() + self.texts.len() > MAX_TERMS || self.bytes > MAX_BYTES {
            *self = Self::default();
        }
    }

    /// Adds to the weight of a term.
    pub(super) fn add_term(&mut self, term: &str, weight: u32) {
        let term = self.term(term);
        self.section.push((term, weight));
    }

    /// Adds to the weight of each stem of a folded word.
    pub(super) fn add_word(&mut self, word: &str, language: Option<Language>, weight: u32) {
        let (universal, own) = self.stems(word, language);
        self.section.push((universal, weight));
        if let Some(own) = own {
            self.section.push((own, weight));
        }
    }

    /// The stems of a folded word: the universal one, and the own one of `language` where that
    /// is another.
    pub(super) fn stem_texts(
        &mut self,
        word: &str,
        language: Option<Language>,
    ) -> (String, Option<String>) {
        let (universal, own) = self.stems(word, language);
        (self.text(universal), own.map(|own| self.text(own)))
    }

    /// The terms of the section, in byte order, and an empty slate for the next.
    pub(super) fn take(&mut self) -> Vec<(String, u32)> {
        self.section.sort_unstable_by_key(|&(term, _)| term);
        self.section.dedup_by(|(term, weight), (kept, sum)| {
            let same = term == kept;
            if same {
                *sum = sum.saturating_add(*weight);
            }
            same
        });
        let short = self.section.partition_point(|&(term, _)| term < LONG);
        let texts = &self.texts;
        let long_text = |term: Term| &*texts[number(term)];
        let (short, long) = self.section.split_at_mut(short);
        long.sort_unstable_by(|a, b| long_text(a.0).as_bytes().cmp(long_text(b.0).as_bytes()));
        let mut terms = Vec::with_capacity(short.len() + long.len());
        let mut long = long.iter().peekable();
        for &(term, weight) in &*short {
            // A long term whose first eight bytes are a short one comes after it.
            while let Some(&(longer, weight)) =
                long.next_if(|(longer, _)| first_bytes(long_text(*longer)) < term)
            {
                terms.push((long_text(longer).to_owned(), weight));
            }
            terms.push((short_text(term), weight));
        }
        terms.extend(long.map(|&(longer, weight)| (long_text(longer).to_owned(), weight)));
        self.section.clear();
        terms
    }

    fn text(&self, term: Term) -> String {
        if term < LONG {
            short_text(term)
        } else {
            self.texts[number(term)].to_string()
        }
    }

    fn term(&mut self, text: &str) -> Term {
        if text.len() <= 8 {
            return first_bytes(text);
        }
        if let Some(&term) = self.long_terms.get(text) {
            return term;
        }
        let term = LONG | self.texts.len() as Term;
        self.long_terms.insert(text.into(), term);
        self.texts.push(text.into());
        self.bytes += 2 * text.len();
        term
    }

    fn stems(&mut self, word: &str, language: Option<Language>) -> (Term, Option<Term>) {
        let number = self.word(word);
        let universal = self.universal[number as usize];
        let Some(language) = language.filter(|_| language::is_latin(word)) else {
            return (universal, None);
        };
        let place = self.own.iter().position(|(known, _)| *known == language);
        let place = place.unwrap_or_else(|| {
            self.own.push((language, Vec::new()));
            self.own.len() - 1
        });
        let known = self.own[place]
            .1
            .get(number as usize)
            .copied()
            .unwrap_or(UNKNOWN);
        let own = if known == UNKNOWN {
            let own = self.stem(language.algorithm(), word);
            let stems = &mut self.own[place].1;
            stems.resize(stems.len().max(number as usize + 1), UNKNOWN);
            stems[number as usize] = own;
            own
        } else {
            known
        };
        (universal, (own != universal).then_some(own))
    }

    fn word(&mut self, word: &str) -> Word {
        let short = (word.len() <= 8).then(|| first_bytes(word));
        let known = match short {
            Some(short) => self.short_words.get(&short),
            None => self.long_words.get(word),
        };
        if let Some(&number) = known {
            return number;
        }
        let universal = match language::universal_algorithm(word) {
            Some(algorithm) => self.stem(algorithm, language::singular(word)),
            None => self.term(word),
        };
        // A page would need 2^32 distinct words to overflow.
        let number = Word::try_from(self.universal.len()).unwrap_or(Word::MAX);
        self.universal.push(universal);
        self.bytes += word.len();
        match short {
            Some(short) => self.short_words.insert(short, number),
            None => self.long_words.insert(word.into(), number),
        };
        number
    }

    fn stem(&mut self, algorithm: Algorithm, word: &str) -> Term {
        let stem = Stemmer::new(algorithm).stem(word);
        self.term(if stem.is_empty() { word } else { &stem })
    }
}

/// Place of a long term's text.
fn number(term: Term) -> usize {
    usize::try_from(term & !LONG).unwrap_or(usize::MAX)
}

/// The first eight bytes, in an order that is the texts'.
fn first_bytes(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

fn short_text(term: Term) -> String {
    let bytes = term.to_be_bytes();
    let length = bytes
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    // The bytes were a text before they were packed.
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// XXH3 with a seed that each vocabulary draws anew: several times faster than the default for
/// short words, and no text can be made to collide on purpose.
#[derive(Clone)]
pub(super) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seeded {
    type Hasher = SeededHasher;

    fn build_hasher(&self) -> SeededHasher {
        SeededHasher(self.0)
    }
}

pub(super) struct SeededHasher(u64);

impl Hasher for SeededHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// The end mark of a text; a key is one text, so it tells nothing.
    fn write_u8(&mut self, _: u8) {}

    fn write_u64(&mut self, value: u64) {
        self.write(&value.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terms_come_out_sorted_with_their_weights_and_are_then_forgotten() {
        with(|vocabulary| {
            let long = "pierside-walks";
            let terms = [
                "pier", "a\u{E9}", "pi", long, "pier", "pierside", "q", long, "\u{914D}",
            ];
            for term in terms {
                vocabulary.add_term(term, 2);
            }
            let expected = [
                ("a\u{E9}", 2),
                ("pi", 2),
                ("pier", 4),
                ("pierside", 2),
                (long, 4),
                ("q", 2),
                ("\u{914D}", 2),
            ];
            assert_eq!(
                vocabulary.take(),
                expected.map(|(term, weight)| (term.to_owned(), weight))
            );
            assert_eq!(vocabulary.take(), []);
        });
    }

    #[test]
    fn a_section_that_was_not_finished_leaves_nothing_behind() {
        with(|vocabulary| vocabulary.add_term("lost", 1));
        with(|vocabulary| assert_eq!(vocabulary.take(), []));
    }

    #[test]
    fn a_full_vocabulary_is_emptied_between_pages() {
        with(|vocabulary| {
            for number in 0..=MAX_TERMS {
                vocabulary.add_term(&format!("number{number:06}"), 1);
            }
            assert_eq!(vocabulary.take().len(), MAX_TERMS + 1);
        });
        with(|vocabulary| {
            assert!(vocabulary.texts.is_empty());
            vocabulary.add_word("ships", None, 2);
            assert_eq!(vocabulary.take(), [("ship".to_owned(), 2)]);
        });
    }

    proptest! {
        #[test]
        fn counting_is_what_a_sorted_map_does(
            terms in prop::collection::vec(("[ab\u{E9}\u{914D}]{1,12}", 1u32..5), 0..30)
        ) {
            let mut expected: BTreeMap<String, u32> = BTreeMap::new();
            let counted = with(|vocabulary| {
                for (term, weight) in &terms {
                    *expected.entry(term.clone()).or_default() += weight;
                    vocabulary.add_term(term, *weight);
                }
                vocabulary.take()
            });
            prop_assert_eq!(counted, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
