//! Queries. Under `classic` a query is its distinct tokens. Under `standard` it may also hold
//! `"a phrase"`, `-word`, `-"a phrase"`, `title:word`, `id:guides/*` and `source:<id>`, each of the
//! fields also with a minus; whatever is not exactly that is plain words, so that no query fails.
//!
//! A query that only excludes asks for nothing, so its minus signs are dashes; one that only names
//! pages, by id or source, asks for all their sections and scores nothing.
//!
//! Scoring needs [`Query::terms`] only. Phrases, exclusions and filters are conditions on a
//! candidate, checked against its text by [`Query::accepts_page`] and [`Query::accepts_text`].

use std::collections::{HashMap, HashSet};

use super::Analysis;
use super::analysis::Gram;
use super::language::{self, Language};
use super::tokenize::{self, UnitKind, standard_units};
use crate::id::{PageId, SourceId};

/// Stands before a phrase's character that must touch the one before it.
const JOINED: char = '\u{2060}';
/// Fewest digits of a source id that `source:` accepts.
const MIN_SOURCE_DIGITS: usize = 6;
/// How much of a query is read under `standard`, in bytes.
const MAX_QUERY_BYTES: usize = 8192;
/// Longest pattern of `id:`; no page id is longer.
const MAX_GLOB_BYTES: usize = 1024;

/// A query as the index sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// Terms in order of first occurrence and how often each counts.
    pub terms: Vec<(String, u32)>,
    /// Folded words that must stand side by side, in a form that [`phrase_matches`] reads.
    pub phrases: Vec<Vec<String>>,
    /// Folded beginnings of words; the index knows the terms that begin so.
    pub prefixes: Vec<String>,
    /// Each word that is looked for, as it is spelled, and the terms it became.
    pub words: Vec<(String, Vec<String>)>,
    /// Whether words are looked for beside those of phrases.
    pub has_loose_words: bool,
    /// Terms that must not occur.
    pub minus: Vec<String>,
    /// Phrases that must not occur.
    pub minus_phrases: Vec<Vec<String>>,
    /// Conditions that must hold, all of them.
    pub filters: Filters,
    /// Conditions none of which may hold.
    pub excluded: Filters,
    /// The language whose own stems are among the terms.
    pub(super) language: Option<Language>,
}

/// Conditions on a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filters {
    /// Each entry is what one `title:` names: words that all stand in the title, each as the terms
    /// it may have become.
    pub title: Vec<Vec<Vec<String>>>,
    /// Patterns of page ids: `*` is any text, `?` one character; without either, a page id or a
    /// folder of pages.
    pub ids: Vec<String>,
    /// Beginnings of source ids, lower-case hexadecimal.
    pub sources: Vec<String>,
}

impl Filters {
    /// Whether there is no condition.
    pub fn is_empty(&self) -> bool {
        self.title.is_empty() && self.ids.is_empty() && self.sources.is_empty()
    }
}

/// What a section's conditions are checked against.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Page id.
    pub id: &'a PageId,
    /// Page title.
    pub title: &'a str,
    /// Page summary.
    pub summary: &'a str,
    /// Sources the page cites.
    pub sources: &'a [SourceId],
    /// Headings above and of the section.
    pub heading_trail: &'a [String],
    /// Text of the section.
    pub text: &'a str,
}

impl Query {
    /// Whether nothing can be scored: no term at all. A query may still hold filters.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.prefixes.is_empty()
    }

    /// Whether it asks for all sections that meet its conditions: it names pages and no word.
    pub fn only_filters(&self) -> bool {
        self.is_empty() && !self.filters.is_empty()
    }

    /// Whether a hit must be checked against page or text before it counts.
    pub fn has_conditions(&self) -> bool {
        self.reads_text() || !self.filters.is_empty() || !self.excluded.is_empty()
    }

    /// Whether the text of a section must be read to accept it.
    pub fn reads_text(&self) -> bool {
        !(self.phrases.is_empty() && self.minus.is_empty() && self.minus_phrases.is_empty())
    }

    /// Whether all conditions hold.
    pub fn accepts(&self, analysis: Analysis, candidate: &Candidate<'_>) -> bool {
        self.accepts_page(analysis, candidate.id, candidate.title, candidate.sources)
            && self.accepts_text(analysis, candidate)
    }

    /// The conditions on the page alone.
    pub fn accepts_page(
        &self,
        analysis: Analysis,
        id: &PageId,
        title: &str,
        sources: &[SourceId],
    ) -> bool {
        if self.filters.is_empty() && self.excluded.is_empty() {
            return true;
        }
        let title = if self.filters.title.is_empty() && self.excluded.title.is_empty() {
            HashSet::new()
        } else {
            term_set(analysis, self.language, &[title])
        };
        let in_title = |words: &Vec<Vec<String>>| {
            words
                .iter()
                .all(|word| word.iter().any(|term| title.contains(term)))
        };
        let named = |pattern: &String| id_matches(pattern, id.as_str());
        let cites = |prefix: &String| {
            sources
                .iter()
                .any(|source| source.to_string().starts_with(prefix.as_str()))
        };
        self.filters.title.iter().all(in_title)
            && self.filters.ids.iter().all(named)
            && self.filters.sources.iter().all(cites)
            && !self.excluded.title.iter().any(in_title)
            && !self.excluded.ids.iter().any(named)
            && !self.excluded.sources.iter().any(cites)
    }

    /// The conditions on the words: every phrase stands in one of the texts (title, summary, a
    /// heading, the section), nothing excluded stands in any.
    pub fn accepts_text(&self, analysis: Analysis, candidate: &Candidate<'_>) -> bool {
        if !self.reads_text() {
            return true;
        }
        let mut texts = vec![candidate.title, candidate.summary, candidate.text];
        texts.extend(candidate.heading_trail.iter().map(String::as_str));
        let holds = |phrase: &Vec<String>| {
            texts
                .iter()
                .any(|text| phrase_matches(analysis, phrase, text))
        };
        if !self.phrases.iter().all(holds) || self.minus_phrases.iter().any(holds) {
            return false;
        }
        if self.minus.is_empty() {
            return true;
        }
        let terms = term_set(analysis, None, &texts);
        !self.minus.iter().any(|term| terms.contains(term))
    }
}

/// Whether a phrase of [`Query::phrases`] stands in a text. Linear in the text.
pub fn phrase_matches(analysis: Analysis, phrase: &[String], text: &str) -> bool {
    let mut matcher = Matcher::new(phrase);
    match analysis {
        Analysis::Classic => tokenize::classic(text)
            .iter()
            .any(|token| matcher.step(token, false)),
        Analysis::Standard => {
            let mut found = false;
            standard_units(text, &mut |unit| {
                found = found || matcher.step(unit.text, unit.joined);
            });
            found
        }
    }
}

/// Knuth, Morris and Pratt over tokens.
struct Matcher<'a> {
    /// Text of each phrase token, and whether it must touch the one before.
    phrase: Vec<(&'a str, bool)>,
    /// Length of the longest proper border of each prefix.
    border: Vec<usize>,
    matched: usize,
}

impl<'a> Matcher<'a> {
    fn new(phrase: &'a [String]) -> Self {
        let phrase: Vec<_> = phrase
            .iter()
            .map(|token| match token.strip_prefix(JOINED) {
                Some(token) => (token, true),
                None => (token.as_str(), false),
            })
            .collect();
        let mut border = vec![0; phrase.len()];
        for at in 1..phrase.len() {
            let mut length = border[at - 1];
            while length > 0 && !fits(phrase[length], phrase[at].0, phrase[at].1) {
                length = border[length - 1];
            }
            border[at] = length + usize::from(fits(phrase[length], phrase[at].0, phrase[at].1));
        }
        Self {
            phrase,
            border,
            matched: 0,
        }
    }

    /// Takes the next token of the text; true when the phrase ends here.
    fn step(&mut self, token: &str, joined: bool) -> bool {
        if self.phrase.is_empty() {
            return true;
        }
        while self.matched > 0 && !fits(self.phrase[self.matched], token, joined) {
            self.matched = self.border[self.matched - 1];
        }
        self.matched += usize::from(fits(self.phrase[self.matched], token, joined));
        if self.matched == self.phrase.len() {
            self.matched = self.border[self.matched - 1];
            return true;
        }
        false
    }
}

fn fits((text, must_join): (&str, bool), token: &str, joined: bool) -> bool {
    text == token && (joined || !must_join)
}

fn term_set(analysis: Analysis, language: Option<Language>, texts: &[&str]) -> HashSet<String> {
    let mut set = HashSet::new();
    for text in texts {
        match analysis {
            Analysis::Classic => set.extend(tokenize::classic(text)),
            Analysis::Standard => standard_terms(text, language, &mut |word| {
                set.extend(word.terms);
            }),
        }
    }
    set
}

/// Whether an id fits a pattern of [`Filters::ids`], without regard to case.
pub fn id_matches(pattern: &str, id: &str) -> bool {
    let (pattern, id) = (pattern.to_lowercase(), id.to_lowercase());
    if !pattern.contains(['*', '?']) {
        let folder = pattern.trim_end_matches('/');
        return id == folder
            || id
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'));
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let id: Vec<char> = id.chars().collect();
    // Greedy with one point of return: the last star.
    let (mut p, mut i) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while i < id.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, i));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == id[i]) {
            p += 1;
            i += 1;
        } else if let Some((at, eaten)) = star {
            star = Some((at, eaten + 1));
            p = at + 1;
            i = eaten + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The distinct tokens, in order.
pub(super) fn classic(text: &str) -> Query {
    let mut seen = HashSet::new();
    let mut terms = Vec::new();
    for token in tokenize::classic(text) {
        if seen.insert(token.clone()) {
            terms.push((token, 1));
        }
    }
    Query {
        terms,
        ..Query::default()
    }
}

/// One word of a query or title, or one gram.
struct Word {
    text: String,
    terms: Vec<String>,
    stop: bool,
}

/// Calls `take` with the terms of each word and gram of a text. A character inside a longer run
/// is no term of its own here: the pairs are more telling.
fn standard_words(text: &str, language: Option<Language>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut gram = Gram::default();
    let mut single = false;
    standard_units(text, &mut |unit| match unit.kind {
        UnitKind::Word => {
            let mut terms = Vec::with_capacity(1);
            language::stems(unit.text, language, |stem| terms.push(stem.to_owned()));
            words.push(Word {
                text: unit.text.to_owned(),
                terms,
                stop: language::is_stop_word(unit.text, language),
            });
            single = false;
        }
        UnitKind::Gram => {
            let pair = gram.pair(&unit).map(str::to_owned);
            if let Some(pair) = pair {
                if single {
                    words.pop();
                }
                words.push(Word {
                    text: String::new(),
                    stop: language::is_stop_gram(&pair),
                    terms: vec![pair],
                });
                single = false;
            } else {
                words.push(Word {
                    text: String::new(),
                    terms: vec![unit.text.to_owned()],
                    stop: language::is_stop_gram(unit.text),
                });
                single = true;
            }
        }
    });
    words
}

/// What else the words of a text are looked for by: parts, and wholes that are cut.
fn extra_words(text: &str, language: Option<Language>) -> Vec<Word> {
    let mut words = Vec::new();
    standard_units(text, &mut |unit| {
        if unit.kind == UnitKind::Word {
            tokenize::extras(text, &unit, &mut |extra| {
                let mut terms = Vec::with_capacity(1);
                language::stems(extra, language, |stem| terms.push(stem.to_owned()));
                words.push(Word {
                    text: String::new(),
                    terms,
                    stop: language::is_stop_word(extra, language),
                });
            });
        }
    });
    words
}

/// Every term that the index would hold for a text.
fn standard_terms(text: &str, language: Option<Language>, take: &mut impl FnMut(Word)) {
    let mut gram = Gram::default();
    standard_units(text, &mut |unit| {
        let mut terms = Vec::with_capacity(2);
        match unit.kind {
            UnitKind::Word => {
                let mut take = |word: &str| {
                    language::stems(word, language, |stem| terms.push(stem.to_owned()));
                };
                take(unit.text);
                tokenize::extras(text, &unit, &mut take);
            }
            UnitKind::Gram => {
                terms.push(unit.text.to_owned());
                terms.extend(gram.pair(&unit).map(str::to_owned));
            }
        }
        take(Word {
            text: String::new(),
            terms,
            stop: false,
        });
    });
}

/// The first word of a text that the universal stem `term` stands for, folded.
pub(crate) fn first_word_with(text: &str, term: &str) -> Option<String> {
    let mut found = None;
    standard_units(text, &mut |unit| {
        if found.is_none() && unit.kind == UnitKind::Word {
            language::stems(unit.text, None, |stem| {
                if stem == term {
                    found = Some(unit.text.to_owned());
                }
            });
        }
    });
    found
}

fn phrase_of(text: &str) -> Vec<String> {
    let mut phrase = Vec::new();
    standard_units(text, &mut |unit| {
        let mut token = String::with_capacity(unit.text.len() + 3);
        if unit.joined {
            token.push(JOINED);
        }
        token.push_str(unit.text);
        phrase.push(token);
    });
    phrase
}

/// Reads the `standard` syntax.
pub(super) fn standard(text: &str) -> Query {
    let parts = parts(language::head(text, MAX_QUERY_BYTES));
    let spoken: Vec<&str> = parts
        .iter()
        .filter(|p| p.is_words())
        .map(|p| p.text)
        .collect();
    read(&parts, language::detect_query(&spoken.join(" ")))
}

/// The same in each language with stems of its own, for a query whose language was told wrongly:
/// a few words tell little.
pub(super) fn standard_in_each_language(text: &str) -> impl Iterator<Item = Query> {
    let parts = parts(language::head(text, MAX_QUERY_BYTES));
    // Germans without umlauts on their keys write them so; ids and quotations are as they are.
    let without_umlauts: Vec<String> = parts
        .iter()
        .map(|part| {
            let text = part.text;
            if part.negative || part.quoted || part.field.is_some() {
                return text.to_owned();
            }
            text.replace("ae", "a")
                .replace("oe", "o")
                .replace("ue", "u")
        })
        .collect();
    let mut others: Vec<Query> = Language::ALL
        .iter()
        .map(|&it| read(&parts, Some(it)))
        .collect();
    let german: Vec<Part<'_>> = parts
        .iter()
        .zip(&without_umlauts)
        .map(|(part, text)| Part { text, ..*part })
        .collect();
    others.push(read(&german, Some(Language::German)));
    others.into_iter()
}

fn read(parts: &[Part<'_>], language: Option<Language>) -> Query {
    let positive = |part: &Part<'_>| {
        !part.negative && (part.field.is_some() || !phrase_of(part.text).is_empty())
    };
    let only_minus = !parts.iter().any(positive);
    let mut query = Query {
        language,
        ..Query::default()
    };
    let mut words: Vec<Word> = Vec::new();
    for part in parts {
        if only_minus && part.field.is_none() {
            // Nothing to find is asked for, so the minus was meant as a dash.
            words.extend(standard_words(part.text, language));
            words.extend(extra_words(part.text, language));
            continue;
        }
        query.take(part, &mut words);
    }
    query.count(words);
    query
}

impl Query {
    fn take(&mut self, part: &Part<'_>, words: &mut Vec<Word>) {
        let filters = if part.negative {
            &mut self.excluded
        } else {
            &mut self.filters
        };
        match (part.field, part.negative) {
            (Some(Field::Id), _) => filters.ids.push(part.text.to_owned()),
            (Some(Field::Source), _) => filters.sources.push(part.text.to_ascii_lowercase()),
            (Some(Field::Title), negative) => {
                let title = standard_words(part.text, self.language);
                let named = title.iter().map(|word| word.terms.clone());
                filters.title.push(named.collect());
                if !negative {
                    words.extend(title);
                }
            }
            (None, false) => {
                if let Some(prefix) = prefix_of(part) {
                    self.prefixes.push(prefix);
                    return;
                }
                if part.quoted {
                    let phrase = phrase_of(part.text);
                    // A phrase of one word asks for that very word, not for its relatives.
                    if !phrase.is_empty() {
                        self.phrases.push(phrase);
                    }
                }
                let found = standard_words(part.text, self.language);
                self.has_loose_words |= !part.quoted && found.iter().any(|word| !word.stop);
                words.extend(found);
                words.extend(extra_words(part.text, self.language));
            }
            (None, true) => {
                let phrase = phrase_of(part.text);
                let mut terms = standard_words(part.text, None);
                let mut whole = None;
                standard_units(part.text, &mut |unit| {
                    tokenize::wholes(part.text, unit.start, unit.end, &mut |text| {
                        whole = Some(text.to_owned());
                    });
                });
                match (phrase.len(), terms.pop()) {
                    // C++ is not C.
                    (1, Some(_)) if !part.quoted && whole.is_some() => self.minus.extend(whole),
                    (1, Some(word)) if !part.quoted => self.minus.extend(word.terms),
                    (0, _) => {}
                    _ => self.minus_phrases.push(phrase),
                }
            }
        }
    }

    /// Counts terms in order of first occurrence; function words only when there is nothing else.
    fn count(&mut self, words: Vec<Word>) {
        let only_stop = words.iter().all(|word| word.stop);
        let mut places: HashMap<String, usize> = HashMap::new();
        for word in words {
            if word.stop && !only_stop {
                continue;
            }
            if !word.text.is_empty() {
                self.words.push((word.text, word.terms.clone()));
            }
            for term in word.terms {
                if let Some(&place) = places.get(&term) {
                    self.terms[place].1 = self.terms[place].1.saturating_add(1);
                } else {
                    places.insert(term.clone(), self.terms.len());
                    self.terms.push((term, 1));
                }
            }
        }
    }
}

/// What stands before the star of `instal*`: one word of two letters or more.
fn prefix_of(part: &Part<'_>) -> Option<String> {
    let text = part.text.strip_suffix('*').filter(|_| !part.quoted)?;
    let mut words = Vec::new();
    standard_units(text, &mut |unit| {
        words.push((unit.text.to_owned(), unit.kind, unit.end));
    });
    match words.as_slice() {
        [(word, UnitKind::Word, end)] if *end == text.len() && word.chars().nth(1).is_some() => {
            Some(word.clone())
        }
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Title,
    Id,
    Source,
}

/// One piece of a query.
#[derive(Debug, Clone, Copy)]
struct Part<'a> {
    field: Option<Field>,
    negative: bool,
    quoted: bool,
    text: &'a str,
}

impl Part<'_> {
    fn is_words(&self) -> bool {
        !self.negative && matches!(self.field, None | Some(Field::Title))
    }
}

const QUOTES: [char; 4] = ['"', '\u{201C}', '\u{201D}', '\u{201E}'];

/// Cuts a query into pieces. Linear: a search for a closing quote fails at most once.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut quotes_left = true;
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let after_minus = rest.strip_prefix('-').filter(|after| {
            after.starts_with(|c: char| c.is_alphanumeric() || QUOTES.contains(&c))
        });
        let negative = after_minus.is_some();
        let body = after_minus.unwrap_or(rest);
        let (field, value) = field_of(body);
        let mut piece = None;
        if quotes_left
            && field != Some(Field::Source)
            && let Some(inside) = value.strip_prefix(QUOTES)
        {
            if let Some(end) = inside.find(QUOTES) {
                let after = inside[end..].chars().next().map_or(0, char::len_utf8);
                piece = Some((true, &inside[..end], &inside[end + after..]));
            } else {
                quotes_left = false;
            }
        }
        let (quoted, value, next) = piece.unwrap_or_else(|| {
            let end = value.find(char::is_whitespace).unwrap_or(value.len());
            (false, &value[..end], &value[end..])
        });
        let field = field.filter(|field| field.accepts(value));
        let text = if field.is_none() && !quoted {
            // Give back a prefix that turned out to be no field.
            &body[..body.len() - next.len()]
        } else {
            value
        };
        parts.push(Part {
            field,
            negative,
            quoted,
            text,
        });
        rest = next.trim_start();
    }
    parts
}

fn field_of(body: &str) -> (Option<Field>, &str) {
    for (name, field) in [
        ("title:", Field::Title),
        ("id:", Field::Id),
        ("source:", Field::Source),
    ] {
        if let Some(head) = body.get(..name.len())
            && head.eq_ignore_ascii_case(name)
        {
            return (Some(field), &body[name.len()..]);
        }
    }
    (None, body)
}

impl Field {
    fn accepts(self, value: &str) -> bool {
        match self {
            Self::Title => !phrase_of(value).is_empty(),
            Self::Id => !value.is_empty() && value.len() <= MAX_GLOB_BYTES,
            Self::Source => {
                (MIN_SOURCE_DIGITS..=64).contains(&value.len())
                    && value.bytes().all(|byte| byte.is_ascii_hexdigit())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str) -> Vec<(String, u32)> {
        standard(text).terms
    }

    fn words(list: &[&str]) -> Vec<(String, u32)> {
        list.iter().map(|&word| (word.to_owned(), 1)).collect()
    }

    #[test]
    fn classic_queries_are_distinct_tokens_in_order() {
        assert_eq!(
            classic("b -a \"b\" id:x").terms,
            words(&["b", "a", "id", "x"])
        );
        assert!(!classic("b -a").has_conditions());
    }

    #[test]
    fn repeated_words_count_and_function_words_do_not() {
        assert_eq!(terms("the pier and the piers"), [("pier".to_owned(), 2)]);
        assert_eq!(terms("to be or not to be").len(), 4);
        assert_eq!(terms(""), []);
    }

    #[test]
    fn runs_without_spaces_become_pairs_and_single_characters_stay() {
        assert_eq!(
            terms("\u{914D}\u{7F6E}\u{6587}"),
            words(&["\u{914D}\u{7F6E}", "\u{7F6E}\u{6587}"])
        );
        assert_eq!(terms("\u{8239}"), words(&["\u{8239}"]));
        assert_eq!(terms("2026\u{5E74}"), words(&["2026", "\u{5E74}"]));
    }

    #[test]
    fn phrases_exclusions_and_filters_are_read() {
        let query = standard(
            "tide \"harbour rules\" -storm -\"low water\" id:guides/* -id:old title:pier source:ABCDEF12",
        );
        assert_eq!(query.terms, words(&["tide", "harbour", "rule", "pier"]));
        assert_eq!(query.phrases, [["harbour", "rules"]]);
        assert_eq!(query.minus, ["storm"]);
        assert_eq!(query.minus_phrases, [["low", "water"]]);
        assert_eq!(query.filters.ids, ["guides/*"]);
        assert_eq!(query.excluded.ids, ["old"]);
        assert_eq!(query.filters.title, [[["pier"]]]);
        assert_eq!(query.filters.sources, ["abcdef12"]);
    }

    #[test]
    fn another_reading_changes_words_and_neither_ids_nor_quotations() {
        let text = "Muehle id:queue/* \"blue poem\" -title:true";
        let readings: Vec<Query> = standard_in_each_language(text).collect();
        assert_eq!(readings.len(), Language::ALL.len() + 1);
        for query in &readings {
            assert_eq!(query.filters.ids, ["queue/*"]);
            assert_eq!(query.phrases, [["blue", "poem"]]);
            assert_eq!(query.excluded.title.len(), 1);
        }
        let german = readings.last().map(|query| query.words[0].0.clone());
        assert_eq!(german.as_deref(), Some("muhle"));
    }

    #[test]
    fn a_star_ends_a_prefix_and_nothing_else() {
        let query = standard("Instal* tide");
        assert_eq!(query.prefixes, ["instal"]);
        assert_eq!(query.terms, words(&["tide"]));
        for text in ["a*", "*", "a b* c*d", "\"instal*\"", "in-stal*"] {
            let prefixes = standard(text).prefixes;
            assert!(prefixes.is_empty(), "{text}: {prefixes:?}");
        }
        assert!(!standard("instal*").is_empty());
    }

    #[test]
    fn an_exclusion_of_code_or_title_means_all_of_it() {
        assert_eq!(standard("x -C++").minus, ["c++"]);
        let query = standard("coffee -title:\"coffee harbour\"");
        let id = PageId::parse("a").unwrap();
        let accepts = |title| query.accepts_page(Analysis::Standard, &id, title, &[]);
        assert!(accepts("Coffee") && accepts("The harbour") && !accepts("Coffee at the harbour"));
    }

    #[test]
    fn what_is_no_syntax_is_plain_words() {
        assert_eq!(
            terms("open source: history"),
            words(&["open", "sourc", "histori"])
        );
        assert_eq!(terms("source:xyz"), words(&["sourc", "xyz"]));
        assert_eq!(terms("-5"), words(&["5"]));
        assert_eq!(terms("pier - storm"), words(&["pier", "storm"]));
        assert_eq!(terms("pier --storm"), words(&["pier", "storm"]));
        assert_eq!(terms("5\" pipe"), words(&["5", "pipe"]));
        assert_eq!(terms("\"open pier"), words(&["open", "pier"]));
        assert_eq!(terms("title:"), words(&["titl"]));
    }

    #[test]
    fn filters_alone_ask_for_all_that_they_let_through() {
        for text in [
            "id:guides/*",
            "source:abcdef12",
            "id:* -storm",
            "source:abcdef12 -id:old",
        ] {
            assert!(standard(text).only_filters(), "{text}");
        }
        for text in ["", "-id:old", "-storm", "id:guides/* tide", "title:tide"] {
            assert!(!standard(text).only_filters(), "{text}");
        }
    }

    #[test]
    fn a_query_is_read_up_to_its_limit() {
        let long = "\u{E9}-\"a ".repeat(100_000);
        let query = standard(&long);
        assert!(query.terms.len() < 10 && !query.is_empty());
    }

    #[test]
    fn phrases_stand_side_by_side() {
        let phrase = phrase_of("Harbour Rules");
        assert!(phrase_matches(
            Analysis::Standard,
            &phrase,
            "the harbour, rules of"
        ));
        assert!(!phrase_matches(
            Analysis::Standard,
            &phrase,
            "rules of the harbour"
        ));
        assert!(!phrase_matches(
            Analysis::Standard,
            &phrase,
            "harbour the rules"
        ));
        let repeated = phrase_of("a a b");
        assert!(phrase_matches(Analysis::Standard, &repeated, "a a a b"));
        let characters = phrase_of("\u{914D}\u{7F6E}");
        assert!(phrase_matches(
            Analysis::Standard,
            &characters,
            "\u{6587}\u{914D}\u{7F6E}"
        ));
        assert!(!phrase_matches(
            Analysis::Standard,
            &characters,
            "\u{914D}, \u{7F6E}"
        ));
    }

    #[test]
    fn ids_fit_patterns_and_folders() {
        for (pattern, id, fits) in [
            ("guides/*", "guides/a/b", true),
            ("guides/*", "guides", false),
            ("guides", "guides/a", true),
            ("guides/", "guides/a", true),
            ("guide", "guides/a", false),
            ("*tide*", "harbour/Tides", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*", "x", true),
        ] {
            assert_eq!(id_matches(pattern, id), fits, "{pattern} {id}");
        }
    }

    fn candidate<'a>(id: &'a PageId, text: &'a str) -> Candidate<'a> {
        Candidate {
            id,
            title: "Tide tables",
            summary: "s",
            sources: &[],
            heading_trail: &[],
            text,
        }
    }

    #[test]
    fn conditions_are_checked_against_page_and_text() {
        let id = PageId::parse("guides/tides").unwrap();
        let accepts = |query: &str, text: &str| {
            standard(query).accepts(Analysis::Standard, &candidate(&id, text))
        };
        assert!(accepts("pier -storm", "a pier"));
        assert!(!accepts("pier -storm", "a pier in storms"));
        assert!(accepts("title:table pier", "x") && !accepts("title:chair pier", "x"));
        assert!(accepts("x \"tide tables\"", "x"));
        assert!(!accepts("x -\"tide tables\"", "x"));
        assert!(accepts("x id:guides/*", "x") && !accepts("x -id:guides/*", "x"));
        assert!(!accepts("x source:abcdef", "x"));
        assert!(accepts("\"piers\"", "the piers") && !accepts("\"piers\"", "a pier"));
    }

    proptest! {
        #[test]
        fn any_text_is_a_query(text in "[-a-z\" :*\u{201C}\u{914D}\u{301}]{0,24}|\\PC{0,24}") {
            let query = standard(&text);
            let id = PageId::parse("p").unwrap();
            let _ = query.accepts(Analysis::Standard, &candidate(&id, &text));
            let words = tokenize::classic(&text);
            // A query that holds an ASCII word asks for something.
            if words.iter().any(|word| word.bytes().all(|b| b.is_ascii_alphanumeric())) {
                prop_assert!(!query.is_empty() || query.has_conditions());
            }
            prop_assert_eq!(query, standard(&text));
        }

        #[test]
        fn phrase_matching_is_what_comparing_every_place_gives(
            phrase in prop::collection::vec("[ab]", 1..4),
            text in prop::collection::vec("[ab]", 0..12),
        ) {
            let plain = text.windows(phrase.len()).any(|window| window == phrase);
            prop_assert_eq!(phrase_matches(Analysis::Standard, &phrase, &text.join(" ")), plain);
        }
    }
}
