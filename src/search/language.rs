//! Languages of the `standard` analysis: which one a text is in, function words, stems.
//!
//! Every word has a universal stem that depends on its script alone (English for Latin, Russian
//! for Cyrillic, and so on), so that one query meets pages of all languages with common
//! statistics. Pages and queries in another Latin language add that language's own stem.
//! Detection is deterministic: function words vote, and `whatlang` is asked when they are silent.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::tokenize::{UnitKind, standard_units};

/// How much text is looked at to tell its language, in bytes.
const SAMPLE_BYTES: usize = 1024;
/// Words longer than this are no words of any language.
const MAX_STEMMED_BYTES: usize = 48;
/// Cached stems of one algorithm; the cache is emptied when it is full.
const CACHED_STEMS: usize = 32_768;

/// A language whose own stems are used beside the universal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Language {
    Danish,
    Dutch,
    Finnish,
    French,
    German,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Spanish,
    Swedish,
    Turkish,
}

impl Language {
    fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "da" => Self::Danish,
            "nl" => Self::Dutch,
            "fi" => Self::Finnish,
            "fr" => Self::French,
            "de" => Self::German,
            "hu" => Self::Hungarian,
            "it" => Self::Italian,
            "no" => Self::Norwegian,
            "pt" => Self::Portuguese,
            "ro" => Self::Romanian,
            "es" => Self::Spanish,
            "sv" => Self::Swedish,
            "tr" => Self::Turkish,
            _ => return None,
        })
    }

    fn of_whatlang(lang: whatlang::Lang) -> Option<Self> {
        use whatlang::Lang;
        Some(match lang {
            Lang::Dan => Self::Danish,
            Lang::Nld => Self::Dutch,
            Lang::Fin => Self::Finnish,
            Lang::Fra => Self::French,
            Lang::Deu => Self::German,
            Lang::Hun => Self::Hungarian,
            Lang::Ita => Self::Italian,
            Lang::Nob => Self::Norwegian,
            Lang::Por => Self::Portuguese,
            Lang::Ron => Self::Romanian,
            Lang::Spa => Self::Spanish,
            Lang::Swe => Self::Swedish,
            Lang::Tur => Self::Turkish,
            _ => return None,
        })
    }

    fn algorithm(self) -> Algorithm {
        match self {
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Turkish => Algorithm::Turkish,
        }
    }
}

/// Function words of one language, folded.
struct Words {
    code: &'static str,
    words: HashSet<String>,
}

static STOP_WORDS: LazyLock<Vec<Words>> = LazyLock::new(|| {
    let lines = include_str!("stopwords.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(code, words)| Words {
            code,
            words: folded_words(words).into_iter().collect(),
        })
        .collect()
});

/// How many languages, as bits, hold a word among their function words.
static VOTES: LazyLock<HashMap<&'static str, u32>> = LazyLock::new(|| {
    let mut votes = HashMap::new();
    for (bit, language) in STOP_WORDS.iter().enumerate() {
        for word in sorted(&language.words) {
            *votes.entry(word).or_default() |= 1 << bit;
        }
    }
    votes
});

fn sorted(words: &HashSet<String>) -> Vec<&str> {
    let mut sorted: Vec<_> = words.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted
}

fn folded_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    standard_units(text, &mut |unit| {
        if unit.kind == UnitKind::Word {
            words.push(unit.text.to_owned());
        }
    });
    words
}

/// Whether a folded word is a function word of English or Russian, or of `language`.
pub(crate) fn is_stop_word(word: &str, language: Option<Language>) -> bool {
    let Some(&bits) = VOTES.get(word) else {
        return false;
    };
    STOP_WORDS.iter().enumerate().any(|(bit, words)| {
        bits & 1 << bit != 0
            && (matches!(words.code, "en" | "ru")
                || (language.is_some() && Language::of_code(words.code) == language))
    })
}

/// The language of running text, where it has stems of its own; `None` for English, for other
/// scripts, and where it cannot be told.
pub(crate) fn detect(text: &str) -> Option<Language> {
    let sample = head(text, SAMPLE_BYTES);
    let words = folded_words(sample);
    match vote(&words) {
        Vote::Winner(code) => Language::of_code(code),
        Vote::Leader(_) | Vote::Silent => {
            if sample.chars().filter(|c| c.is_alphabetic()).count() < 60 {
                return None;
            }
            let info = whatlang::detect(sample)?;
            if info.is_reliable() {
                Language::of_whatlang(info.lang())
            } else {
                None
            }
        }
    }
}

/// The language of a query. A few words tell little, so a guess is taken when letters with
/// accents say that it is not English.
pub(crate) fn detect_query(text: &str) -> Option<Language> {
    let sample = head(text, SAMPLE_BYTES);
    let words = folded_words(sample);
    let latin = |c: char| matches!(c as u32, 0xC0..=0x24F | 0x1E00..=0x1EFF);
    let accented = sample.chars().any(latin);
    match vote(&words) {
        Vote::Winner(code) => return Language::of_code(code),
        Vote::Leader(code) if accented => return Language::of_code(code),
        Vote::Leader(_) | Vote::Silent => {}
    }
    if !accented && words.len() < 4 {
        return None;
    }
    let info = DETECTOR.detect(sample)?;
    if accented || info.is_reliable() {
        Language::of_whatlang(info.lang())
    } else {
        None
    }
}

/// Knows the languages with stems of their own, and English.
static DETECTOR: LazyLock<whatlang::Detector> = LazyLock::new(|| {
    let ours = |lang: &whatlang::Lang| {
        *lang == whatlang::Lang::Eng || Language::of_whatlang(*lang).is_some()
    };
    whatlang::Detector::with_allowlist(whatlang::Lang::all().iter().copied().filter(ours).collect())
});

enum Vote {
    /// Clear enough to be trusted.
    Winner(&'static str),
    /// Ahead of the others, but of few words.
    Leader(&'static str),
    Silent,
}

/// Lets function words vote: the winner holds two of them, a tenth of all words and half as many
/// again as the next.
fn vote(words: &[String]) -> Vote {
    let mut counts = vec![0usize; STOP_WORDS.len()];
    for word in words {
        if let Some(&bits) = VOTES.get(word.as_str()) {
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += (bits >> bit & 1) as usize;
            }
        }
    }
    let best = counts
        .iter()
        .enumerate()
        .max_by_key(|&(bit, &count)| (count, usize::MAX - bit));
    let Some((winner, &most)) = best else {
        return Vote::Silent;
    };
    let code = STOP_WORDS[winner].code;
    let others = counts.iter().enumerate().filter(|&(bit, _)| bit != winner);
    let second = others.map(|(_, &count)| count).max().unwrap_or(0);
    if most >= 2 && most * 10 >= words.len() && most * 2 >= second * 3 {
        Vote::Winner(code)
    } else if most > second {
        Vote::Leader(code)
    } else {
        Vote::Silent
    }
}

/// At most `limit` bytes of the beginning, cut at a character.
fn head(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Calls `take` with the stems of a folded word: the universal one, then the own one of
/// `language` if it is another.
pub(crate) fn stems(word: &str, language: Option<Language>, mut take: impl FnMut(&str)) {
    let universal = universal_algorithm(word);
    let Some(algorithm) = universal.filter(|_| word.len() <= MAX_STEMMED_BYTES) else {
        take(word);
        return;
    };
    CACHE.with_borrow_mut(|cache| {
        cache.prepare(algorithm, word);
        let language = language.filter(|_| algorithm == Algorithm::English);
        if let Some(language) = language {
            cache.prepare(language.algorithm(), word);
        }
        let first = cache.get(algorithm, word);
        take(first);
        if let Some(language) = language {
            let own = cache.get(language.algorithm(), word);
            if own != first {
                take(own);
            }
        }
    });
}

/// Which algorithm makes the universal stem. Words with digits are names and stay.
fn universal_algorithm(word: &str) -> Option<Algorithm> {
    let first = word.chars().next()?;
    if word.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match first as u32 {
        0x61..=0x7A => Algorithm::English,
        0x370..=0x3FF => Algorithm::Greek,
        0x400..=0x52F => Algorithm::Russian,
        0x620..=0x6FF => Algorithm::Arabic,
        0xB80..=0xBFF => Algorithm::Tamil,
        _ => return None,
    })
}

thread_local! {
    static CACHE: RefCell<StemCache> = RefCell::default();
}

/// Words and their stems.
type Stems = HashMap<Box<str>, Box<str>>;

/// Stems already computed on this thread; the stemmers are several times slower than the rest.
#[derive(Default)]
struct StemCache {
    algorithms: Vec<(Algorithm, Stems)>,
}

impl StemCache {
    fn prepare(&mut self, algorithm: Algorithm, word: &str) {
        let slot = self
            .algorithms
            .iter()
            .position(|(known, _)| *known == algorithm);
        let slot = slot.unwrap_or_else(|| {
            self.algorithms.push((algorithm, Stems::new()));
            self.algorithms.len() - 1
        });
        let stems = &mut self.algorithms[slot].1;
        if stems.contains_key(word) {
            return;
        }
        if stems.len() >= CACHED_STEMS {
            stems.clear();
        }
        let stem = Stemmer::create(algorithm).stem(word);
        let stem = if stem.is_empty() { word } else { &stem };
        stems.insert(word.into(), stem.into());
    }

    fn get<'a>(&'a self, algorithm: Algorithm, word: &'a str) -> &'a str {
        let stems = self
            .algorithms
            .iter()
            .find(|(known, _)| *known == algorithm);
        stems
            .and_then(|(_, stems)| stems.get(word))
            .map_or(word, |stem| stem)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(word: &str, language: Option<Language>) -> Vec<String> {
        let mut out = Vec::new();
        stems(word, language, |stem| out.push(stem.to_owned()));
        out
    }

    #[test]
    fn running_text_is_told_apart_by_its_function_words() {
        let german = "Der Hafen ist seit dem Umbau nicht mehr f\u{FC}r gro\u{DF}e Schiffe offen.";
        assert_eq!(detect(german), Some(Language::German));
        assert_eq!(
            detect("The harbour is not open to large ships since it was rebuilt."),
            None
        );
        let french = "Le port n'est plus ouvert aux grands navires depuis les travaux de la ville.";
        assert_eq!(detect(french), Some(Language::French));
        assert_eq!(detect("fn main() { let x = vec![1, 2]; }"), None);
        assert_eq!(detect(""), None);
        assert_eq!(
            detect_query("H\u{E4}user f\u{FC}r die Fischer"),
            Some(Language::German)
        );
        assert_eq!(detect_query("harbour rules"), None);
    }

    #[test]
    fn own_stems_come_beside_the_universal_one() {
        assert_eq!(all("ships", None), ["ship"]);
        assert_eq!(all("hauser", Some(Language::German)), ["hauser", "haus"]);
        assert_eq!(all("haus", Some(Language::German)), ["haus"]);
        assert_eq!(all("v1s", None), ["v1s"]);
    }

    #[test]
    fn function_words_of_the_language_at_hand_are_known() {
        assert!(is_stop_word("the", None) && !is_stop_word("der", None));
        assert!(is_stop_word("der", Some(Language::German)));
        assert!(is_stop_word("fur", Some(Language::German)));
    }

    proptest! {
        // The stemmers are foreign code that reads any word a page may hold.
        #[test]
        fn no_word_makes_a_stemmer_fail(word in "\\PC{1,12}") {
            for algorithm in [Algorithm::Arabic, Algorithm::Danish, Algorithm::Dutch,
                Algorithm::English, Algorithm::Finnish, Algorithm::French, Algorithm::German,
                Algorithm::Greek, Algorithm::Hungarian, Algorithm::Italian, Algorithm::Norwegian,
                Algorithm::Portuguese, Algorithm::Romanian, Algorithm::Russian,
                Algorithm::Spanish, Algorithm::Swedish, Algorithm::Tamil, Algorithm::Turkish]
            {
                let _ = Stemmer::create(algorithm).stem(&word);
            }
        }

        #[test]
        fn stems_of_any_word_are_not_empty(word in "[a-z\u{3B1}-\u{3C9}\u{430}-\u{44F}\u{627}-\u{64A}\u{B85}-\u{BB9}]{1,14}") {
            for language in [None, Some(Language::Turkish), Some(Language::Hungarian), Some(Language::French)] {
                prop_assert!(all(&word, language).iter().all(|stem| !stem.is_empty()));
            }
        }
    }
}
