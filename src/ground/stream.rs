//! Cleaning a text while a model still writes it: paragraph by paragraph, each as soon as nothing
//! that follows can change it.

use super::regions::{closes, fence};
use super::{Excerpts, ground};

/// A text that is being written.
///
/// Invariant: what is given out, put together, is the beginning of what [`ground`] makes of the
/// whole text.
pub struct Stream<'a> {
    excerpts: &'a dyn Excerpts,
    paragraphs: Paragraphs,
    /// What is clean and not given out: nothing of a text is shown before it cites something.
    held: String,
    cites: bool,
}

impl std::fmt::Debug for Stream<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("held", &self.held)
            .field("cites", &self.cites)
            .finish_non_exhaustive()
    }
}

impl<'a> Stream<'a> {
    /// A text of which nothing is written yet.
    pub fn new(excerpts: &'a dyn Excerpts) -> Self {
        Self {
            excerpts,
            paragraphs: Paragraphs::default(),
            held: String::new(),
            cites: false,
        }
    }

    /// Takes more of the text, and gives out what became certain; nothing where nothing did.
    pub fn push(&mut self, more: &str) -> Option<String> {
        let settled = self.paragraphs.push(more)?;
        let clean = ground(&settled, self.excerpts);
        self.held.push_str(&clean.text);
        self.cites |= !clean.citations.is_empty();
        (self.cites && !self.held.is_empty()).then(|| std::mem::take(&mut self.held))
    }
}

/// Cuts a growing text behind blank lines that are not in a fenced block.
#[derive(Default)]
struct Paragraphs {
    text: String,
    /// Start of the first line that was not looked at.
    line: usize,
    /// The fence of the block that is open.
    open: Option<(char, usize)>,
}

impl Paragraphs {
    fn push(&mut self, more: &str) -> Option<String> {
        let seen = self.text.len();
        self.text.push_str(more);
        let mut settled = 0;
        let mut from = seen;
        while let Some(length) = self.text[from..].find('\n') {
            let end = from + length + 1;
            let line = &self.text[self.line..end];
            match self.open {
                Some((mark, length)) if closes(line, mark, length) => self.open = None,
                Some(_) => {}
                None => {
                    self.open = fence(line);
                    if line == "\n" {
                        settled = end;
                    }
                }
            }
            self.line = end;
            from = end;
        }
        if settled == 0 {
            return None;
        }
        let rest = self.text.split_off(settled);
        self.line -= settled;
        Some(std::mem::replace(&mut self.text, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::shown;
    use super::*;

    fn streamed(pieces: &[&str]) -> Vec<String> {
        let shown = shown();
        let mut stream = Stream::new(&shown);
        pieces
            .iter()
            .filter_map(|piece| stream.push(piece))
            .collect()
    }

    #[test]
    fn a_paragraph_is_given_out_once_the_next_begins() {
        assert_eq!(
            streamed(&["It wa", "its [1].\n", "\nThen ", "[9] ends.\n\n", "x"]),
            ["It waits [src/a.rs:1].\n\n", "Then ends.\n\n"]
        );
    }

    #[test]
    fn nothing_is_given_out_before_something_is_cited() {
        assert_eq!(
            streamed(&["Sure!\n\n", "It [7].\n\n", "It waits [1].\n\nx"]),
            ["Sure!\n\nIt.\n\nIt waits [src/a.rs:1].\n\n"]
        );
    }

    #[test]
    fn a_fenced_block_is_never_cut() {
        assert_eq!(
            streamed(&["[1]\n\n```\na\n\n", "[2]\n\n", "```\n[2]\n\nx"]),
            ["[src/a.rs:1]\n\n", "```\na\n\n[2]\n\n```\n[b.c:61]\n\n"]
        );
    }

    proptest! {
        #[test]
        fn what_is_given_out_is_the_beginning_of_the_whole(
            pieces in proptest::collection::vec(prop::sample::select(vec![
                "[1]", "[2]", "[9]", "[1", ", 2]", "[1]: x", "[1](", "y)", "src/a.rs:42", "src/a.rs:99",
                "docs/my [old]", " notes.md:4", "\n", "\n\n", "\r\n", "`", "```", "~~~", "> ", "- ",
                "1. ", "\\", " ", "\t", "word", "(", ")", "]", "b.c", ":61",
            ]), 0..40),
        ) {
            let whole = pieces.concat();
            let shown = shown();
            let mut stream = Stream::new(&shown);
            let mut out = String::new();
            for piece in &pieces {
                out.extend(stream.push(piece));
            }
            let clean = ground(&whole, &shown).text;
            prop_assert!(clean.starts_with(&out), "{out:?} of {clean:?}");
        }
    }
}
