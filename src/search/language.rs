//! Languages of the `standard` analysis: which one a text is in, function words, stems.
//!
//! Every word has a universal stem that depends on its script alone (English for Latin, Russian
//! for Cyrillic, and so on), so that one query meets pages of all languages with common
//! statistics. Pages and queries in another Latin language add that language's own stem.
//! Detection is deterministic: function words vote, and `whatlang` is asked when they are silent.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use frostem::Algorithm;

use super::tokenize::{UnitKind, standard_units};
use super::vocabulary::{self, Seeded};

/// How much text is looked at to tell its language, in bytes.
const SAMPLE_BYTES: usize = 640;
/// Words longer than this are no words of any language.
const MAX_STEMMED_BYTES: usize = 48;

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
    /// All, in the order of their names.
    pub(crate) const ALL: [Self; 13] = [
        Self::Danish,
        Self::Dutch,
        Self::Finnish,
        Self::French,
        Self::German,
        Self::Hungarian,
        Self::Italian,
        Self::Norwegian,
        Self::Portuguese,
        Self::Romanian,
        Self::Spanish,
        Self::Swedish,
        Self::Turkish,
    ];

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

    pub(super) fn algorithm(self) -> Algorithm {
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
struct FunctionWords {
    code: &'static str,
    folded: Vec<String>,
    /// Words of scripts that are written without spaces.
    grams: Vec<&'static str>,
}

static STOP_WORDS: LazyLock<Vec<FunctionWords>> = LazyLock::new(|| {
    let lines = include_str!("stopwords.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(code, words)| FunctionWords {
            code,
            folded: folded_words(words),
            grams: words
                .split_whitespace()
                .filter(|_| has_grams(code))
                .collect(),
        })
        .collect()
});

/// Whether a language is indexed as grams.
fn has_grams(code: &str) -> bool {
    matches!(code, "zh" | "ja" | "ko")
}

/// The languages, as bits, that hold each function word.
static VOTES: LazyLock<HashMap<&'static str, u32, Seeded>> = LazyLock::new(|| {
    let mut votes: HashMap<_, _, Seeded> = HashMap::default();
    for (bit, language) in STOP_WORDS.iter().enumerate() {
        for word in &language.folded {
            *votes.entry(word.as_str()).or_default() |= 1 << bit;
        }
    }
    votes
});

/// Function words of scripts that are written without spaces, as the grams that they are indexed
/// as: single characters, and pairs.
static STOP_GRAMS: LazyLock<HashSet<String, Seeded>> = LazyLock::new(|| {
    let mut grams: HashSet<String, Seeded> = HashSet::default();
    for list in STOP_WORDS.iter() {
        for word in &list.grams {
            let characters: Vec<char> = word.chars().collect();
            if let [one] = characters[..] {
                grams.insert(one.to_string());
            }
            grams.extend(
                characters
                    .windows(2)
                    .map(|pair| pair.iter().collect::<String>()),
            );
        }
    }
    grams
});

/// Whether a gram is, or is part of, a function word of Chinese, Japanese or Korean; a pair is one
/// too when both of its characters are function words.
pub(super) fn is_stop_gram(gram: &str) -> bool {
    let is_listed = |text: &str| STOP_GRAMS.contains(text);
    is_listed(gram)
        || gram.char_indices().nth(1).is_some_and(|(at, _)| {
            let (one, two) = gram.split_at(at);
            is_listed(one) && is_listed(two)
        })
}

/// Longest function word of any language, folded; a test holds it to the lists.
const MAX_STOP_WORD_BYTES: usize = 24;
/// As many bits as a set of languages has.
const MAX_LANGUAGES: usize = 32;

fn votes(word: &str) -> u32 {
    if word.len() > MAX_STOP_WORD_BYTES {
        return 0;
    }
    VOTES.get(word).copied().unwrap_or(0)
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
    let bits = votes(word);
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
    match Ballot::of(sample).result() {
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
    let latin = |c: char| matches!(c as u32, 0xC0..=0x24F | 0x1E00..=0x1EFF);
    let accented = sample.chars().any(latin);
    let ballot = Ballot::of(sample);
    match ballot.result() {
        Vote::Winner(code) => return Language::of_code(code),
        Vote::Leader(code) if accented => return Language::of_code(code),
        Vote::Leader(_) | Vote::Silent => {}
    }
    if !accented && ballot.words < 4 {
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

/// How many function words of each language a text holds.
struct Ballot {
    counts: [u32; MAX_LANGUAGES],
    words: u32,
}

impl Ballot {
    fn of(text: &str) -> Self {
        let mut ballot = Self {
            counts: [0; MAX_LANGUAGES],
            words: 0,
        };
        standard_units(text, &mut |unit| {
            if unit.kind != UnitKind::Word {
                return;
            }
            ballot.words += 1;
            let mut bits = votes(unit.text);
            while bits != 0 {
                ballot.counts[bits.trailing_zeros() as usize] += 1;
                bits &= bits - 1;
            }
        });
        ballot
    }

    /// The winner holds two function words, a tenth of all words and half as many again as the
    /// next.
    fn result(&self) -> Vote {
        let candidates = || self.counts.iter().zip(STOP_WORDS.iter());
        let best = candidates().max_by_key(|(count, _)| **count);
        let Some((&most, FunctionWords { code, .. })) = best else {
            return Vote::Silent;
        };
        let others = candidates().filter(|(_, words)| words.code != *code);
        let second = others.map(|(&count, _)| count).max().unwrap_or(0);
        if most >= 2 && most * 10 >= self.words && most * 2 >= second * 3 {
            Vote::Winner(code)
        } else if most > second {
            Vote::Leader(code)
        } else {
            Vote::Silent
        }
    }
}

/// At most `limit` bytes of the beginning, cut at a character.
pub(super) fn head(text: &str, limit: usize) -> &str {
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
    vocabulary::with(|vocabulary| {
        let (universal, own) = vocabulary.stem_texts(word, language);
        take(&universal);
        if let Some(own) = own {
            take(&own);
        }
    });
}

/// Which algorithm makes the universal stem. Words with digits are names and stay.
pub(super) fn universal_algorithm(word: &str) -> Option<Algorithm> {
    let first = word.chars().next()?;
    if word.len() > MAX_STEMMED_BYTES || word.bytes().any(|byte| byte.is_ascii_digit()) {
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

/// An abbreviation without the `s` of its plural (`llms`, `pcs`), any other word as it is. Without
/// a vowel Snowball's English stemmer sees no plural.
pub(super) fn singular(word: &str) -> &str {
    let is_consonant = |byte: u8| byte.is_ascii_lowercase() && !b"aeiouy".contains(&byte);
    match word.strip_suffix('s') {
        Some(rest) if rest.len() > 1 && !rest.ends_with('s') && rest.bytes().all(is_consonant) => {
            rest
        }
        _ => word,
    }
}

/// Whether a folded word is one that languages of the Latin script stem each in its way.
pub(super) fn is_latin(word: &str) -> bool {
    universal_algorithm(word) == Some(Algorithm::English)
}

#[cfg(test)]
mod tests {
    use frostem::Stemmer;
    use proptest::prelude::*;

    use super::*;

    /// Function words, and a Greek one on whose forms a stemmer once failed.
    static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let greek = "\u{3B1}\u{3BD}\u{3C4}\u{3B9}\u{3B8}\u{3B5}\u{3C4}\u{3B5}";
        let words = include_str!("stopwords.txt")
            .lines()
            .filter(|line| !line.starts_with('#'));
        words
            .flat_map(str::split_whitespace)
            .chain([greek])
            .collect()
    });

    #[test]
    fn a_greek_word_whose_ending_is_put_back_has_a_stem() {
        let word = "\u{3B1}\u{3BD}\u{3C4}\u{3B9}\u{3B8}\u{3B5}\u{3C4}\u{3B5}";
        assert_eq!(all(word, None), ["\u{3B1}\u{3BD}\u{3B5}\u{3C4}"]);
    }

    fn all(word: &str, language: Option<Language>) -> Vec<String> {
        let mut out = Vec::new();
        stems(word, language, |stem| out.push(stem.to_owned()));
        out
    }

    #[test]
    fn abbreviations_without_vowels_have_a_plural() {
        for (plural, word) in [
            ("llms", "llm"),
            ("pcs", "pc"),
            ("rxrs", "rxr"),
            ("https", "http"),
        ] {
            assert_eq!(singular(plural), word);
            assert_eq!(all(plural, None), all(word, None));
        }
        for word in [
            "css",
            "apis",
            "gas",
            "s",
            "ts",
            "x86s",
            "\u{43C}\u{43C}s",
            "glass",
            "",
        ] {
            assert_eq!(singular(word), word);
        }
    }

    #[test]
    fn function_words_without_spaces_are_grams() {
        // zh: what, is-what (both are function words), of-goal; ja: is, the-thing
        for gram in [
            "\u{4EC0}\u{4E48}",
            "\u{662F}\u{4EC0}",
            "\u{7684}",
            "\u{3067}\u{3059}",
        ] {
            assert!(is_stop_gram(gram), "{gram}");
        }
        // zh: occupation, goal, of-occupation
        for gram in [
            "\u{804C}\u{4E1A}",
            "\u{76EE}\u{7684}",
            "\u{7684}\u{804C}",
            "x",
        ] {
            assert!(!is_stop_gram(gram), "{gram}");
        }
        // Alone they are looked for all the same.
        for query in ["\u{4EC0}\u{4E48}", "\u{662F}\u{4EC0}\u{4E48}"] {
            assert!(!super::super::Analysis::Standard.query(query).is_empty());
        }
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
    fn lists_of_function_words_fit_their_bounds() {
        assert!(STOP_WORDS.len() <= MAX_LANGUAGES);
        let longest = VOTES.keys().map(|word| word.len()).max();
        assert!(
            longest.is_some_and(|longest| longest <= MAX_STOP_WORD_BYTES),
            "{longest:?}"
        );
        for words in STOP_WORDS.iter() {
            let known =
                matches!(words.code, "en" | "ru") || Language::of_code(words.code).is_some();
            let count = words.folded.len().max(words.grams.len());
            assert!(
                known != has_grams(words.code) && count > 20,
                "{}",
                words.code
            );
        }
    }

    #[test]
    fn function_words_of_the_language_at_hand_are_known() {
        assert!(is_stop_word("the", None) && !is_stop_word("der", None));
        assert!(is_stop_word("der", Some(Language::German)));
        assert!(is_stop_word("fur", Some(Language::German)));
    }

    proptest! {
        // The stemmers are foreign code that reads any word a page may hold. Endings make them work,
        // so words are put together from pieces of words.
        #[test]
        fn no_word_makes_a_stemmer_fail(
            word in "\\PC{1,12}",
            pieces in prop::collection::vec(
                (prop::sample::select(&*WORDS), any::<prop::sample::Index>()), 1..4),
        ) {
            let made: String = pieces
                .iter()
                .flat_map(|(word, from)| {
                    let letters: Vec<char> = word.chars().collect();
                    let from = from.index(letters.len());
                    letters.into_iter().skip(from)
                })
                .collect();
            for word in [word, made] {
                for algorithm in Algorithm::all() {
                    let _ = Stemmer::new(*algorithm).stem(&word);
                }
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
