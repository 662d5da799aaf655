//! What was shown: numbered excerpts, and whether each still holds.

use std::cell::RefCell;
use std::collections::HashMap;

use super::{Citation, EvidenceItem};
use crate::code::Lines;
use crate::ground::{Excerpts, Reason};
use crate::id::ContentHash;

/// Where an excerpt comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file of the project.
    Code {
        /// Path below the project.
        file: String,
    },
    /// A page, which is read from the same state of the wiki.
    Page {
        /// Its id.
        id: String,
        /// Sources that it cites.
        sources: Vec<String>,
    },
}

/// Consecutive lines that are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Where they come from.
    pub place: Place,
    /// First line.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// What is defined there.
    pub symbol: String,
    /// Language of the text.
    pub language: String,
    /// The lines.
    pub text: String,
}

/// The text of a file now, with the hash of its bytes.
pub(crate) type FileNow<'a> = dyn Fn(&str) -> Option<(String, ContentHash)> + 'a;

/// Where the lines of an excerpt are now.
type Found = Result<(u32, ContentHash), Reason>;

/// Numbered excerpts, checked against the files as they are.
pub struct Shown<'a> {
    excerpts: Vec<Excerpt>,
    now: &'a FileNow<'a>,
    /// Each file is read once, so that one answer is of one state.
    read: RefCell<HashMap<String, Option<(String, ContentHash)>>>,
}

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shown")
            .field("excerpts", &self.excerpts)
            .finish_non_exhaustive()
    }
}

impl<'a> Shown<'a> {
    /// Numbers the excerpts from 1 on.
    pub fn new(excerpts: Vec<Excerpt>, now: &'a FileNow<'a>) -> Self {
        Self {
            excerpts,
            now,
            read: RefCell::default(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.excerpts.is_empty()
    }

    /// The excerpts, in the order of their numbers.
    pub fn excerpts(&self) -> &[Excerpt] {
        &self.excerpts
    }

    fn with_file<T>(
        &self,
        file: &str,
        work: impl FnOnce(Option<&(String, ContentHash)>) -> T,
    ) -> T {
        let mut read = self.read.borrow_mut();
        if !read.contains_key(file) {
            read.insert(file.to_owned(), (self.now)(file));
        }
        work(read.get(file).and_then(Option::as_ref))
    }

    /// Where the lines of an excerpt are now; for a page, its own lines.
    fn find(&self, excerpt: &Excerpt) -> Found {
        let Place::Code { file } = &excerpt.place else {
            return Ok((excerpt.start_line, ContentHash::of(b"")));
        };
        self.with_file(file, |now| {
            let (text, hash) = now.ok_or(Reason::FileGone)?;
            let line =
                find_lines(text, &excerpt.text, excerpt.start_line).ok_or(Reason::LinesGone)?;
            Ok((line, *hash))
        })
    }

    /// The citations of these excerpts; those that cannot be cited are left out.
    pub fn citations(&self, numbers: &[usize]) -> Vec<Citation> {
        let cited = numbers.iter().filter_map(|&number| {
            let excerpt = self.excerpts.get(number.checked_sub(1)?)?;
            self.citation(excerpt)
        });
        cited.collect()
    }

    fn citation(&self, excerpt: &Excerpt) -> Option<Citation> {
        let (line, hash) = self.find(excerpt).ok()?;
        let end = line + (excerpt.end_line - excerpt.start_line);
        Some(match &excerpt.place {
            Place::Code { file } => Citation::Code {
                file: file.clone(),
                line,
                end_line: end,
                sha256: hash.to_string(),
            },
            Place::Page { id, sources } => Citation::Page {
                page: id.clone(),
                start_line: line,
                end_line: end,
                source_ids: sources.clone(),
            },
        })
    }

    /// The excerpts that still hold, as reports show them.
    pub fn items(&self) -> Vec<EvidenceItem> {
        let items = self.excerpts.iter().filter_map(|excerpt| {
            Some(EvidenceItem {
                place: self.citation(excerpt)?,
                symbol: excerpt.symbol.clone(),
                text: crate::code::redact(&excerpt.text).text.into_owned(),
            })
        });
        items.collect()
    }
}

impl Excerpts for Shown<'_> {
    fn count(&self) -> usize {
        self.excerpts.len()
    }

    fn resolve(&self, number: usize) -> Result<String, Reason> {
        let excerpt = number
            .checked_sub(1)
            .and_then(|at| self.excerpts.get(at))
            .ok_or(Reason::NoSuchExcerpt)?;
        let (line, _) = self.find(excerpt)?;
        Ok(match &excerpt.place {
            Place::Code { file } => format!("{file}:{line}"),
            Place::Page { id, .. } => format!("{id}:{line}"),
        })
    }

    fn holds(&self, file: &str, first: u32, last: u32) -> bool {
        let held = |line: u32| {
            self.excerpts.iter().any(|excerpt| {
                let Place::Code { file: of } = &excerpt.place else {
                    return false;
                };
                of == file
                    && self.find(excerpt).is_ok_and(|(start, _)| {
                        (start..=start + (excerpt.end_line - excerpt.start_line)).contains(&line)
                    })
            })
        };
        let exists = self.with_file(file, |now| {
            now.is_some_and(|(text, _)| Lines::new(text).count() >= last.max(first))
        });
        exists && first <= last && held(first) && held(last)
    }

    fn files(&self) -> Vec<&str> {
        let files = self
            .excerpts
            .iter()
            .filter_map(|excerpt| match &excerpt.place {
                Place::Code { file } => Some(file.as_str()),
                Place::Page { .. } => None,
            });
        files.collect()
    }
}

/// The line at which the lines of `wanted` are in `text`: where they were, else the nearest place.
/// Line ends do not count.
fn find_lines(text: &str, wanted: &str, was: u32) -> Option<u32> {
    let lines = Lines::new(text);
    let wanted = Lines::new(wanted);
    let (count, length) = (lines.count(), wanted.count());
    if length == 0 || length > count {
        return None;
    }
    let is_at = |line: u32| (0..length).all(|at| lines.line(line + at) == wanted.line(1 + at));
    let last = count - length + 1;
    if (1..=last).contains(&was) && is_at(was) {
        return Some(was);
    }
    // A stretch of blank lines is everywhere.
    if (1..=length).all(|at| wanted.line(at).trim().is_empty()) {
        return None;
    }
    (1..=last)
        .filter(|&line| is_at(line))
        .min_by_key(|&line| line.abs_diff(was))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ground::ground;

    #[test]
    fn lines_are_found_where_they_went() {
        assert_eq!(find_lines("a\nb\nc\n", "b\nc\n", 2), Some(2));
        assert_eq!(find_lines("new\na\nb\nc\n", "b\nc\n", 2), Some(3));
        assert_eq!(find_lines("a\r\nb\r\nc", "b\nc\n", 2), Some(2));
        assert_eq!(find_lines("a\nb\nX\n", "b\nc\n", 2), None);
        assert_eq!(find_lines("", "b\n", 1), None);
        assert_eq!(find_lines("b\nx\nb\nx\nb\n", "b\n", 4), Some(3));
    }

    proptest! {
        /// Whatever a model writes and whatever is done to the files after they were read for the
        /// prompt: what is cited is there and is what was shown.
        #[test]
        fn every_citation_opens_and_holds_what_was_supplied(
            first in "([a-c]{0,2}\n){1,9}",
            start in 1u32..9,
            length in 0u32..5,
            edited in "([a-c]{0,2}(\n|\r\n|\r)){0,12}",
            keep in 0usize..3,
            written in "([a-z ]|\\[[0-9]\\]|\\[1-9\\]|f\\.rs:[0-9]|`|\n){0,30}",
        ) {
            let lines = Lines::new(&first);
            let start = start.min(lines.count());
            let end = (start + length).min(lines.count());
            let supplied = lines.slice(start, end).to_owned();
            let text = match keep {
                0 => first.clone(),
                1 => format!("{edited}{first}"),
                _ => edited,
            };
            let now = |file: &str| (file == "f.rs").then(|| (text.clone(), ContentHash::of(text.as_bytes())));
            let excerpt = |file: &str| Excerpt {
                place: Place::Code { file: file.to_owned() },
                start_line: start,
                end_line: end,
                symbol: String::new(),
                language: "rust".to_owned(),
                text: supplied.clone(),
            };
            let shown = Shown::new(vec![excerpt("f.rs"), excerpt("gone.rs")], &now);
            let grounded = ground(&written, &shown);
            let cited = shown.citations(&grounded.citations);
            prop_assert_eq!(cited.len(), grounded.citations.len());
            for citation in cited {
                let Citation::Code { file, line, end_line, .. } = citation else {
                    prop_assert!(false, "not code");
                    continue;
                };
                prop_assert_eq!(file, "f.rs");
                let strip = |text: &str| Lines::new(text).count();
                let there = Lines::new(&text);
                prop_assert_eq!(end_line - line + 1, strip(&supplied));
                for at in 0..=end_line - line {
                    prop_assert_eq!(there.line(line + at), Lines::new(&supplied).line(at + 1));
                }
            }
        }
    }
}
