//! Snippets: a stretch of the page's own text around the best match, at most so many bytes, cut
//! between characters as a reader sees them, with the places of the matches.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::GraphemeCursor;

use super::analysis::Gram;
use super::language;
use super::tokenize::{self, UnitKind, classic_spans, same_sigma, standard_units};
use super::{Analysis, Query};

/// A stretch of a section's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text, exactly as the section has it.
    pub text: String,
    /// Byte ranges of `text` that match the query: sorted, not overlapping, not empty.
    pub matches: Vec<(usize, usize)>,
    /// Byte of the section's text where the stretch starts.
    pub start: usize,
    /// Lines of the section's text before the stretch.
    pub lines_before: u32,
}

/// One place that matches one term of the query.
#[derive(Debug, Clone, Copy)]
struct Hit {
    start: usize,
    end: usize,
    term: usize,
}

/// The snippet of a section: the stretch that holds the most different terms of the query, or the
/// beginning when none is there. Linear in the text.
pub fn snippet(analysis: Analysis, text: &str, query: &Query, max_bytes: usize) -> Snippet {
    let hits = hits(analysis, text, query);
    let (start, end) = stretch(text, &hits, query.terms.len(), max_bytes);
    let (start, end) = trim(text, start, end);
    let mut matches: Vec<(usize, usize)> = Vec::new();
    for hit in &hits {
        let (from, to) = (hit.start.max(start), hit.end.min(end));
        if from >= to {
            continue;
        }
        match matches.last_mut() {
            Some(last) if from - start <= last.1 => last.1 = last.1.max(to - start),
            _ => matches.push((from - start, to - start)),
        }
    }
    let newlines = text[..start].matches('\n').count();
    Snippet {
        text: text[start..end].to_owned(),
        matches,
        start,
        lines_before: u32::try_from(newlines).unwrap_or(u32::MAX),
    }
}

/// The matching places, by start.
fn hits(analysis: Analysis, text: &str, query: &Query) -> Vec<Hit> {
    let mut hits = Vec::new();
    match analysis {
        Analysis::Classic => {
            let terms: HashMap<_, _> = query
                .terms
                .iter()
                .enumerate()
                .map(|(place, (term, _))| (same_sigma(term), place))
                .collect();
            for token in classic_spans(text) {
                if let Some(&term) = terms.get(token.text.as_str()) {
                    hits.push(Hit {
                        start: token.start,
                        end: token.end,
                        term,
                    });
                }
            }
        }
        Analysis::Standard => {
            let terms: HashMap<_, _> = query
                .terms
                .iter()
                .enumerate()
                .map(|(place, (term, _))| (term.as_str(), place))
                .collect();
            let mut gram = Gram::default();
            let mut before = 0;
            standard_units(text, &mut |unit| {
                let mut found = |term: &str, start| {
                    if let Some(&term) = terms.get(term) {
                        hits.push(Hit {
                            start,
                            end: unit.end,
                            term,
                        });
                    }
                };
                match unit.kind {
                    UnitKind::Word => {
                        let mut take = |word: &str| {
                            language::stems(word, query.language, |stem| found(stem, unit.start));
                        };
                        take(unit.text);
                        tokenize::extras(text, &unit, &mut take);
                    }
                    UnitKind::Gram => {
                        found(unit.text, unit.start);
                        if let Some(pair) = gram.pair(&unit) {
                            found(pair, before);
                        }
                        before = unit.start;
                    }
                }
            });
        }
    }
    hits.sort_by_key(|hit| (hit.start, hit.end));
    hits
}

/// Where to cut, before trimming.
fn stretch(text: &str, hits: &[Hit], terms: usize, max_bytes: usize) -> (usize, usize) {
    if text.len() <= max_bytes {
        return (0, text.len());
    }
    let visible = text.len() - text.trim_start().len();
    let Some((first, last)) = best_window(hits, terms, max_bytes) else {
        // No match fits: show the first one's beginning, or the text's.
        let start = hits.first().map_or(visible, |hit| hit.start);
        return border(text, start, start, start + max_bytes);
    };
    if last <= visible + max_bytes {
        return border(text, visible, first, visible + max_bytes);
    }
    let spare = max_bytes - (last - first);
    let mut start = first - (spare / 3).min(first);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    // Begin with a word, and with a line if one begins near.
    let lead = &text[start..first];
    if let Some(line) = lead.find('\n') {
        start += line + 1;
    } else if let Some((space, c)) = lead.char_indices().find(|(_, c)| c.is_whitespace()) {
        start += space + c.len_utf8();
    }
    border(text, start, first, start + max_bytes)
}

/// Start of the first and end of the last hit of the window with most different terms, then most
/// hits, then the first.
fn best_window(hits: &[Hit], terms: usize, max_bytes: usize) -> Option<(usize, usize)> {
    let mut counts = vec![0u32; terms];
    let mut different = 0;
    let mut tail = 0;
    let mut best: Option<((u32, usize), usize, usize)> = None;
    for (head, hit) in hits.iter().enumerate() {
        counts[hit.term] += 1;
        different += u32::from(counts[hit.term] == 1);
        while tail <= head && hit.end - hits[tail].start > max_bytes {
            counts[hits[tail].term] -= 1;
            different -= u32::from(counts[hits[tail].term] == 0);
            tail += 1;
        }
        let worth = (different, head + 1 - tail);
        if tail <= head && best.is_none_or(|(most, ..)| worth > most) {
            best = Some((worth, hits[tail].start, hit.end));
        }
    }
    best.map(|(_, first, last)| (first, last))
}

/// The character reference, such as `&amp;`, that a cut at this place would split.
fn entity_at(text: &str, at: usize) -> Option<Range<usize>> {
    // The longest name has 31 letters.
    const LONGEST: usize = 33;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '#';
    let before = &text[..at];
    let start = before.trim_end_matches(is_name).strip_suffix('&')?.len();
    let name = text[at..].find(|c: char| !is_name(c))?;
    let end = at + name + 1;
    let is_reference = text[at + name..].starts_with(';') && end - start > 2;
    (is_reference && end - start <= LONGEST).then_some(start..end)
}

/// Moves the cuts to borders of characters as a reader sees them: the start forward, but not
/// beyond `keep`, the end backward, to the end of a word if one is near.
fn border(text: &str, start: usize, keep: usize, limit: usize) -> (usize, usize) {
    let mut start = start.min(text.len());
    while !text.is_char_boundary(start) {
        start += 1;
    }
    if start < keep && !is_grapheme_border(text, start) {
        let mut cursor = GraphemeCursor::new(start, text.len(), true);
        if let Ok(Some(next)) = cursor.next_boundary(text, 0)
            && next <= keep
        {
            start = next;
        }
    }
    if let Some(entity) = entity_at(text, start)
        && entity.end <= keep
    {
        start = entity.end;
    }
    if limit >= text.len() {
        return (start, text.len());
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if !is_grapheme_border(text, end) {
        let mut cursor = GraphemeCursor::new(end, text.len(), true);
        if let Ok(Some(before)) = cursor.prev_boundary(text, 0)
            && before > start
        {
            end = before;
        }
    }
    if let Some(entity) = entity_at(text, end)
        && entity.start > start
    {
        end = entity.start;
    }
    if end <= start {
        return (start, start);
    }
    // A word that is cut in two is left out when that costs little.
    let inside = text[end..].starts_with(char::is_alphanumeric);
    let window = &text[start..end];
    if inside
        && let Some((space, _)) = window.char_indices().rev().find(|(_, c)| c.is_whitespace())
        && window.len() - space <= 24
        && !window[..space].trim().is_empty()
    {
        end = start + space;
    }
    (start, end)
}

fn is_grapheme_border(text: &str, at: usize) -> bool {
    GraphemeCursor::new(at, text.len(), true)
        .is_boundary(text, 0)
        .unwrap_or(true)
}

fn trim(text: &str, start: usize, end: usize) -> (usize, usize) {
    let cut = &text[start..end];
    let lead = cut.len() - cut.trim_start().len();
    let kept = cut.trim().len();
    (start + lead, start + lead + kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(analysis: Analysis, text: &str, query: &str, max: usize) -> (String, Vec<String>) {
        let cut = snippet(analysis, text, &analysis.query(query), max);
        let matches = cut
            .matches
            .iter()
            .map(|&(a, b)| cut.text[a..b].to_owned())
            .collect();
        (cut.text, matches)
    }

    #[test]
    fn a_snippet_is_the_text_itself_with_the_matches_marked() {
        let text = "\nThe NATO \u{216B} \u{FF26}\u{FF55}\u{FF4C}\u{FF4C} Canal.\n";
        for &analysis in Analysis::ALL {
            let (cut, matches) = marked(analysis, text, "canal full", 1200);
            assert_eq!(cut, text.trim());
            assert_eq!(matches, ["\u{FF26}\u{FF55}\u{FF4C}\u{FF4C}", "Canal"]);
        }
    }

    #[test]
    fn a_character_reference_is_never_cut() {
        let text = format!("zebra {}", "x&amp;&#x2014;".repeat(30));
        for max in 20..200 {
            let (cut, _) = marked(Analysis::Standard, &text, "zebra", max);
            let last = cut.rfind('&').map_or("", |at| &cut[at..]);
            assert!(last.is_empty() || last.contains(';'), "{max}: {cut}");
        }
        let around = "&amp;".repeat(60);
        let text = format!("{around} zebra {around}");
        let (cut, matches) = marked(Analysis::Standard, &text, "zebra", 60);
        assert_eq!(matches, ["zebra"]);
        assert_eq!(cut.replace("&amp;", "").trim(), "zebra");
    }

    #[test]
    fn the_stretch_with_most_terms_is_shown() {
        let filler = "lorem ipsum dolor sit amet ".repeat(40);
        let text = format!("canal {filler}boats on the canal {filler}");
        let (cut, matches) = marked(Analysis::Standard, &text, "boat canal", 80);
        assert!(cut.len() <= 80);
        assert_eq!(matches, ["boats", "canal"]);
        let start = snippet(
            Analysis::Standard,
            &text,
            &Analysis::Standard.query("boat"),
            80,
        )
        .start;
        assert!(start > 900);
    }

    #[test]
    fn without_a_match_the_beginning_is_shown() {
        let text = format!("\n\nfirst words {}", "and more ".repeat(50));
        let (cut, matches) = marked(Analysis::Standard, &text, "zebra", 64);
        assert!(cut.starts_with("first words") && cut.ends_with("and") | cut.ends_with("more"));
        assert!(matches.is_empty());
    }

    #[test]
    fn grams_and_sigmas_are_marked_where_they_stand() {
        let (_, matches) = marked(
            Analysis::Standard,
            "\u{5728}\u{914D}\u{7F6E}\u{6587}\u{4EF6}",
            "\u{914D}\u{7F6E}\u{6587}",
            99,
        );
        assert_eq!(matches, ["\u{914D}\u{7F6E}\u{6587}"]);
        let odos = "\u{39F}\u{394}\u{39F}\u{3A3}";
        for &analysis in Analysis::ALL {
            assert_eq!(marked(analysis, odos, odos, 99).1, [odos]);
        }
    }

    #[test]
    fn lines_before_the_stretch_are_counted() {
        let text = format!("{}the canal", "x\n".repeat(200));
        let cut = snippet(
            Analysis::Standard,
            &text,
            &Analysis::Standard.query("canal"),
            64,
        );
        assert_eq!(
            cut.lines_before as usize,
            text[..cut.start].matches('\n').count()
        );
        assert!(cut.lines_before > 150);
    }

    proptest! {
        #[test]
        fn snippets_keep_to_their_borders(
            text in "[a\u{301} \n\u{1F468}\u{200D}\u{1F33E}\u{1F3FD}\u{914D}\u{E9}]{0,80}|\\PC{0,60}",
            query in "[a\u{914D}\u{E9} ]{0,6}",
            max in 0usize..80,
            classic: bool,
        ) {
            let analysis = if classic { Analysis::Classic } else { Analysis::Standard };
            let cut = snippet(analysis, &text, &analysis.query(&query), max);
            prop_assert!(cut.text.len() <= max);
            prop_assert_eq!(&text[cut.start..cut.start + cut.text.len()], cut.text.as_str());
            let mut last = 0;
            for (index, &(from, to)) in cut.matches.iter().enumerate() {
                prop_assert!(from < to && to <= cut.text.len() && (index == 0 || from > last));
                prop_assert!(cut.text.is_char_boundary(from) && cut.text.is_char_boundary(to));
                last = to;
            }
        }
    }
}
