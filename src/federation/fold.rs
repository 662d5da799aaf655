//! Words found whatever their case, and shown as they stand: texts are compared decomposed and
//! fully folded, and a place in the folded text leads back to the original.

use crate::id::fold_with_places;

/// A text as it is compared: decomposed, full case folding.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    fold_with_places(text).map(|(_, c)| c).collect()
}

/// Where `needle`, which is folded and not empty, first stands in `text`: a range of the original
/// at character borders.
fn find(text: &str, needle: &str) -> Option<(usize, usize)> {
    if text.is_ascii() {
        let at = text.to_ascii_lowercase().find(needle)?;
        return Some((at, at + needle.len()));
    }
    let mut folded = String::with_capacity(text.len());
    // Where each character that was folded begins, here and there.
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (at, c) in fold_with_places(text) {
        if places.last().is_none_or(|&(_, known)| known != at) {
            places.push((folded.len(), at));
        }
        folded.push(c);
    }
    let start = folded.find(needle)?;
    let end = start + needle.len();
    let first = places.partition_point(|&(place, _)| place <= start) - 1;
    let behind = places.partition_point(|&(place, _)| place < end);
    let original = |index: usize| places.get(index).map_or(text.len(), |&(_, at)| at);
    Some((original(first), original(behind)))
}

/// About `length` characters of `text` around the first place of `needle`, which is folded; the
/// beginning where it does not stand there. Runs of white space become one space, and words at the
/// ends are not cut where that can be helped.
pub fn snippet(text: &str, needle: &str, length: usize) -> String {
    let (start, end) = if needle.is_empty() {
        (0, 0)
    } else {
        find(text, needle).unwrap_or((0, 0))
    };
    let matched = text[start..end].chars().count();
    let beside = length.saturating_sub(matched) / 2;
    let mut before = text[..start].char_indices().rev();
    let mut from = start;
    for _ in 0..beside {
        match before.next() {
            Some((at, _)) => from = at,
            None => break,
        }
    }
    // What is not used before the match is used behind it.
    let used = text[from..start].chars().count();
    let mut to = end;
    for (at, c) in text[end..]
        .char_indices()
        .take(length.saturating_sub(matched + used))
    {
        to = end + at + c.len_utf8();
    }
    let head = &text[from..start];
    if from > 0
        && !text[..from].ends_with(char::is_whitespace)
        && let Some(at) = head.find(char::is_whitespace)
    {
        from += at;
    }
    let tail = &text[end..to];
    if to < text.len()
        && !text[to..].starts_with(char::is_whitespace)
        && let Some(at) = tail.rfind(char::is_whitespace)
        && (at > 0 || end > start)
    {
        to = end + at;
    }
    let words: Vec<&str> = text[from..to].split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, needle: &str, expected: Option<&str>) {
        let found = find(text, &fold(needle)).map(|(start, end)| &text[start..end]);
        assert_eq!(found, expected, "{needle:?} in {text:?}");
    }

    #[test]
    fn a_word_is_found_whatever_its_case_and_shown_as_it_stands() {
        check("The Retry policy", "RETRY", Some("Retry"));
        check("Stra\u{df}e 5", "STRASSE", Some("Stra\u{df}e"));
        check("xx Stra\u{df}e", "ss", Some("\u{df}"));
        check("\u{c9}COLE", "\u{e9}cole", Some("\u{c9}COLE"));
        check("e\u{301}cole", "\u{c9}COLE", Some("e\u{301}cole"));
        check(
            "\u{6f22}\u{5b57}\u{691c}\u{7d22}",
            "\u{691c}",
            Some("\u{691c}"),
        );
        check("none here", "nowhere", None);
    }

    #[test]
    fn a_snippet_has_the_match_in_its_middle_and_whole_words_at_its_ends() {
        let text = "alpha ".repeat(40) + "Needle\n\n" + &"omega ".repeat(40);
        let shown = snippet(&text, "needle", 80);
        assert!(shown.contains("alpha Needle omega"), "{shown}");
        assert!((60..=80).contains(&shown.len()), "{shown}");
        assert!(
            shown
                .split(' ')
                .all(|word| ["alpha", "Needle", "omega"].contains(&word))
        );
        assert_eq!(snippet("short text", "text", 80), "short text");
        assert_eq!(snippet("no such word", "other", 80), "no such word");
        assert_eq!(snippet("", "x", 80), "");
    }

    proptest! {
        #[test]
        fn a_snippet_is_words_of_the_text_and_no_longer_than_asked(
            text in "(\\PC|\\s){0,200}",
            needle in "\\PC{0,6}",
            length in 10usize..100,
        ) {
            let folded = fold(&needle);
            let shown = snippet(&text, &folded, length);
            prop_assert!(shown.chars().count() <= length.max(needle.chars().count() * 4));
            let spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert!(spaced(&text).contains(&shown));
            if let Some((start, end)) = find(&text, &folded).filter(|_| !folded.is_empty()) {
                prop_assert!(shown.contains(&spaced(&text[start..end])));
            }
        }
    }
}
