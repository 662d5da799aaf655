//! A snippet as a terminal shows it: the words of the Markdown, the matched ones marked.

use std::borrow::Cow;

use super::style::{Palette, safe};
use crate::page;

/// Original text with byte ranges of matches, as words with marks on the matched ones.
pub(super) fn snippet(text: &str, matches: &[(usize, usize)], palette: Palette) -> String {
    let pieces = page::words(text, matches).into_iter();
    let shown = pieces.map(|(shown, is_match)| {
        let shown = safe(&shown);
        if is_match {
            Cow::from(palette.matched(&shown))
        } else {
            Cow::from(shown.into_owned())
        }
    });
    shown.collect()
}
