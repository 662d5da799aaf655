//! When two titles are one.

use unicode_normalization::UnicodeNormalization;

/// The form in which titles are compared, by `DUPLICATE_TITLE` and by wikilinks that name a
/// title: NFKC, then lower case by the full mapping (so a final sigma is told from others).
/// White space counts; a sharp s and a double s stay two things.
pub fn fold_title(title: &str) -> String {
    // Compatibility composition leaves ASCII as it is.
    if title.is_ascii() {
        return title.to_ascii_lowercase();
    }
    title.nfkc().collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_takes_a_shorter_way_to_the_same_end() {
        let ascii: String = (0..=127_u8).map(char::from).collect();
        let long_way = ascii.nfkc().collect::<String>().to_lowercase();
        assert_eq!(fold_title(&ascii), long_way);
    }

    fn check(a: &str, b: &str, same: bool) {
        assert_eq!(fold_title(a) == fold_title(b), same, "{a:?} {b:?}");
    }

    #[test]
    fn titles_meet_after_compatibility_and_case() {
        check("Same", "SAME", true);
        check("\u{fb01}le", "FILE", true);
        check("\u{ff37}ide", "wide", true);
        check("e\u{301}", "\u{e9}", true);
        check("Stra\u{df}e", "STRA\u{1e9e}E", true);
        check("\u{130}", "i\u{307}", true);
        check("a\u{a0}b", "a b", true);
        check("\u{2460}", "1", true);
        check("Same  title", "Same title", false);
        check("cafe", "caf\u{e9}", false);
    }
}
