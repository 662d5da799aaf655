//! Words of a query that the index does not hold as they are: beginnings of words, words of another
//! language than the query seemed to be in, and misspelt ones.

use super::find::Library;
use crate::search::{Analysis, Query, first_word_with, other_readings};
use crate::store::StoreError;
use crate::store::index::IndexReader;

/// A prefix stands for at most so many terms, those that most sections hold of the first
/// [`MAX_CANDIDATES`].
const MAX_EXPANSIONS: usize = 64;
/// So many terms of the dictionary are looked through for one word.
const MAX_CANDIDATES: usize = 20_000;
/// A prefix that begins no term is shortened to no fewer letters: `installa` to `instal`, the stem.
const SHORTEST_PREFIX: usize = 3;

/// Replaces prefixes by the terms that begin so. A query with words that no section holds is read
/// as one of another language if that knows more of them.
pub(super) fn complete(
    reader: &IndexReader<'_>,
    analysis: Analysis,
    text: &str,
    query: &mut Query,
) -> Result<(), StoreError> {
    let mut known = count_known(reader, query)?;
    if known < query.words.len() {
        let mut best = None;
        for other in other_readings(analysis, text) {
            let count = count_known(reader, &other)?;
            if count > known {
                known = count;
                best = Some(other);
            }
        }
        if let Some(best) = best {
            *query = best;
        }
    }
    for prefix in std::mem::take(&mut query.prefixes) {
        for (term, _) in expand(reader, &prefix)? {
            if !query.terms.iter().any(|(known, _)| *known == term) {
                query.terms.push((term, 1));
            }
        }
    }
    Ok(())
}

/// How many words of a query some section holds.
fn count_known(reader: &IndexReader<'_>, query: &Query) -> Result<usize, StoreError> {
    let mut count = 0;
    for (_, terms) in &query.words {
        count += usize::from(is_known(reader, terms)?);
    }
    Ok(count)
}

fn is_known(reader: &IndexReader<'_>, terms: &[String]) -> Result<bool, StoreError> {
    for term in terms {
        if reader.document_frequency(term)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The terms that begin so, most frequent first.
fn expand(reader: &IndexReader<'_>, prefix: &str) -> Result<Vec<(String, u64)>, StoreError> {
    let mut prefix = prefix;
    loop {
        let mut found = reader.terms(prefix, MAX_CANDIDATES)?;
        let shorter = prefix.char_indices().next_back().map_or(0, |(at, _)| at);
        if found.is_empty() && prefix[..shorter].chars().count() >= SHORTEST_PREFIX {
            prefix = &prefix[..shorter];
            continue;
        }
        found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        found.truncate(MAX_EXPANSIONS);
        return Ok(found);
    }
}

/// The query with each word that no section holds replaced by the nearest that one does; nothing
/// where none is near.
pub(super) fn correct(
    reader: &IndexReader<'_>,
    library: &mut Library<'_>,
    text: &str,
    query: &Query,
) -> Result<Option<String>, StoreError> {
    let lowered = text.to_lowercase();
    let mut corrected = lowered.clone();
    for (word, terms) in &query.words {
        if is_known(reader, terms)? {
            continue;
        }
        if let Some(near) = nearest(reader, library, word, terms)? {
            corrected = replace_word(&corrected, word, &near);
        }
    }
    Ok((corrected != lowered).then_some(corrected))
}

/// A text with one word replaced, where it stands by itself.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let end = part.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
        out.push_str(if &part[..end] == word {
            by
        } else {
            &part[..end]
        });
        out.push_str(&part[end..]);
    }
    out
}

/// The nearest word by Damerau and Levenshtein: one edit, or two for eight letters and more. The
/// first letter is taken for right. Nearer ones win, then more frequent ones.
fn nearest(
    reader: &IndexReader<'_>,
    library: &mut Library<'_>,
    word: &str,
    stems: &[String],
) -> Result<Option<String>, StoreError> {
    let length = word.chars().count();
    let most = if length < 8 { 1 } else { 2 };
    let Some(first) = word.chars().next().filter(|_| length > 3) else {
        return Ok(None);
    };
    let mut best: Option<(usize, u64, String)> = None;
    for (term, frequency) in reader.terms(first.encode_utf8(&mut [0; 4]), MAX_CANDIDATES)? {
        let size = term.chars().count();
        let forms = stems.iter().map(String::as_str).chain([word]);
        let distances = forms.map(|form| strsim::osa_distance(form, &term));
        let mut distance = distances.min().unwrap_or(usize::MAX);
        // A term is a stem: the end that the word has beyond it is no mistake.
        if size > 4 && size < length && size * 3 >= length * 2 {
            let beginning: String = word.chars().take(size).collect();
            distance = distance.min(strsim::osa_distance(&beginning, &term));
        }
        let is_better = best.as_ref().is_none_or(|(least, most, _)| {
            (distance, std::cmp::Reverse(frequency)) < (*least, std::cmp::Reverse(*most))
        });
        if size > 3 && distance <= most && is_better {
            best = Some((distance, frequency, term));
        }
    }
    let Some((_, _, term)) = best else {
        return Ok(None);
    };
    // As it is written there, where that can be told.
    for posting in reader.postings(&term)? {
        if reader.length(posting.section).is_some() {
            let spelled = first_word_with(library.text_of(posting.section)?, &term);
            return Ok(Some(spelled.unwrap_or(term)));
        }
    }
    Ok(Some(term))
}

#[cfg(test)]
mod tests {
    use super::replace_word;

    #[test]
    fn a_word_is_replaced_where_it_stands_by_itself() {
        let text = "fery, ferying id:fery/x \"fery\"";
        let expected = "ferry, ferying id:ferry/x \"ferry\"";
        assert_eq!(replace_word(text, "fery", "ferry"), expected);
        assert_eq!(replace_word("\u{E9} fery", "\u{E9}", "e"), "e fery");
    }
}
