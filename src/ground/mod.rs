//! Grounding, pure: what a model wrote, made into text whose citations are real.
//!
//! A model is shown numbered excerpts and may only name their numbers. Markers are found in prose;
//! code is left as it is. A marker that resolves becomes `[file:line]`, any other is taken out. A
//! location that the model typed itself stays only where an excerpt held it, and never makes a
//! citation. The rules are those of docs/code.md.
//!
//! Invariants: every citation is an excerpt that the caller resolved; numbers of any size neither
//! wrap around nor fail; text without markers and locations comes back byte for byte.

mod locations;
mod markers;
mod regions;
mod stream;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use locations::Location;
use regions::{Region, regions};
pub use stream::Stream;

/// Why a marker or location was taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No excerpt has that number.
    NoSuchExcerpt,
    /// The file is gone, or is no regular file inside the project.
    FileGone,
    /// The lines are no longer in the file.
    LinesGone,
    /// A location that no excerpt holds.
    Unverified,
}

impl Reason {
    /// The reason as reports spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoSuchExcerpt => "no such excerpt",
            Self::FileGone => "the file is gone",
            Self::LinesGone => "the lines are gone",
            Self::Unverified => "not among the excerpts",
        }
    }
}

/// What the caller knows about the excerpts.
pub trait Excerpts {
    /// How many were shown.
    fn count(&self) -> usize;

    /// The citation of excerpt `number`, 1-based and at most [`Excerpts::count`], as text without
    /// brackets, for example `src/a.rs:10`.
    ///
    /// # Errors
    /// Why it cannot be cited now.
    fn resolve(&self, number: usize) -> Result<String, Reason>;

    /// Whether excerpts of `file` hold the lines, and the file has them now.
    fn holds(&self, file: &str, first: u32, last: u32) -> bool;

    /// Files of the excerpts, for locations whose paths have blanks or brackets.
    fn files(&self) -> Vec<&str>;
}

/// Something that was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// The marker or location as the model wrote it.
    pub marker: String,
    /// Why it was taken out.
    #[serde(serialize_with = "as_word")]
    #[schemars(with = "String")]
    pub reason: Reason,
}

/// Reports hold the reason as text.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn as_word<S: Serializer>(reason: &Reason, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(reason.word())
}

/// Cleaned text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grounded {
    /// The text.
    pub text: String,
    /// Numbers of the excerpts that are cited, by first appearance, each citation once.
    pub citations: Vec<usize>,
    /// What was taken out, in order.
    pub dropped: Vec<Dropped>,
}

/// Cleans what a model wrote.
pub fn ground(written: &str, excerpts: &dyn Excerpts) -> Grounded {
    let mut cleaner = Cleaner {
        excerpts,
        out: Grounded::default(),
        cited: Vec::new(),
    };
    for region in regions(written) {
        match region {
            Region::Code(text) => cleaner.out.text.push_str(text),
            Region::Span(text) => cleaner.span(text),
            Region::Prose(text) => cleaner.prose(text),
        }
    }
    cleaner.out
}

/// A location with its path as all of them are spelled.
fn slashes(location: &str) -> Cow<'_, str> {
    if location.contains('\\') {
        Cow::Owned(location.replace('\\', "/"))
    } else {
        Cow::Borrowed(location)
    }
}

struct Cleaner<'a> {
    excerpts: &'a dyn Excerpts,
    out: Grounded,
    /// Labels of the citations.
    cited: Vec<String>,
}

impl Cleaner<'_> {
    /// Inline code: only one that is nothing but a location is looked at.
    fn span(&mut self, text: &str) {
        let inside = text.trim_matches('`').trim();
        let files = self.excerpts.files();
        match locations::at(inside, None, &files) {
            Some(found) if found.length == inside.len() => {
                if self.stays(&found) {
                    self.out.text.push_str(&slashes(text));
                } else {
                    self.unverified(inside);
                }
            }
            _ => self.out.text.push_str(text),
        }
    }

    fn prose(&mut self, text: &str) {
        let files: Vec<String> = self
            .excerpts
            .files()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let rest = &text[at..];
            let before = self.out.text.chars().next_back();
            let step = match next {
                '\\' if rest[1..].starts_with(['[', ']', '`', '\\']) => 2,
                '[' => {
                    if self.is_line_start()
                        && let Some(length) = markers::definition(rest)
                    {
                        at += length;
                        continue;
                    }
                    if let Some(found) = markers::at(rest) {
                        let glued = before
                            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ']' | ')'));
                        if glued && found.is_index() {
                            found.length
                        } else {
                            at += found.length + self.marker(&found, &rest[found.length..]);
                            continue;
                        }
                    } else if let Some(length) = self.bracketed(rest, &files) {
                        at += length;
                        continue;
                    } else {
                        1
                    }
                }
                _ => match locations::at(rest, before, &files) {
                    Some(found) => {
                        if self.stays(&found) {
                            self.out.text.push_str(&slashes(&rest[..found.length]));
                        } else {
                            self.unverified(&rest[..found.length]);
                        }
                        at += found.length;
                        continue;
                    }
                    None => locations::word(rest, before).unwrap_or(next.len_utf8()),
                },
            };
            self.out.text.push_str(&rest[..step]);
            at += step;
        }
    }

    /// A location in brackets of its own, which go with it. Answers how much was dealt with.
    fn bracketed(&mut self, rest: &str, files: &[&str]) -> Option<usize> {
        let found = locations::at(&rest[1..], Some('['), files)?;
        let end = 1 + found.length;
        if !rest[end..].starts_with(']') || self.stays(&found) {
            return None;
        }
        self.unverified(&rest[1..end]);
        Some(end + 1 + markers::target(&rest[end + 1..]).unwrap_or(0))
    }

    fn stays(&self, found: &Location) -> bool {
        self.excerpts.holds(&found.file, found.first, found.last)
    }

    fn unverified(&mut self, location: &str) {
        self.out.text.push_str("[unverified]");
        self.drop(location, Reason::Unverified);
    }

    fn drop(&mut self, marker: &str, reason: Reason) {
        self.out.dropped.push(Dropped {
            marker: marker.to_owned(),
            reason,
        });
    }

    fn is_line_start(&self) -> bool {
        let text = &self.out.text;
        text.is_empty() || text.ends_with('\n')
    }

    /// Replaces or takes out a marker. Answers how much of `rest`, which follows it, goes too.
    fn marker(&mut self, found: &markers::Marker<'_>, rest: &str) -> usize {
        let mut labels = Vec::new();
        for member in found.members(self.excerpts.count()) {
            let label = match member {
                Some(number) => self.excerpts.resolve(number).map(|label| (number, label)),
                None => Err(Reason::NoSuchExcerpt),
            };
            match label {
                Ok(label) => labels.push(label),
                Err(reason) => {
                    let named = member.map(|number| format!("[{number}]"));
                    self.drop(named.as_deref().unwrap_or(found.text), reason);
                }
            }
        }
        if labels.is_empty() {
            return self.take_out(rest);
        }
        for (number, label) in labels {
            self.out.text.push('[');
            self.out.text.push_str(&label);
            self.out.text.push(']');
            if !self.cited.contains(&label) {
                self.cited.push(label);
                self.out.citations.push(number);
            }
        }
        0
    }

    /// Closes the gap that a marker leaves: the blank before it, or at the start of a line the one
    /// after it, and brackets with nothing left in them.
    fn take_out(&mut self, rest: &str) -> usize {
        let mut taken = 0;
        loop {
            let text = &mut self.out.text;
            let line = text.rfind('\n').map_or(0, |at| at + 1);
            let at_start = text[line..].chars().all(|c| matches!(c, ' ' | '\t'));
            if at_start {
                if rest[taken..].starts_with([' ', '\t']) {
                    taken += 1;
                }
            } else if text.ends_with([' ', '\t']) {
                text.pop();
            }
            let pair = [('(', ')'), ('[', ']')]
                .into_iter()
                .any(|(open, close)| text.ends_with(open) && rest[taken..].starts_with(close));
            if !pair {
                return taken;
            }
            text.pop();
            taken += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) struct Shown(Vec<(&'static str, u32, u32)>);

    impl Excerpts for Shown {
        fn count(&self) -> usize {
            self.0.len()
        }
        fn resolve(&self, number: usize) -> Result<String, Reason> {
            let (file, first, _) = self.0[number - 1];
            Ok(format!("{file}:{first}"))
        }
        fn holds(&self, file: &str, first: u32, last: u32) -> bool {
            let within = |line| {
                self.0
                    .iter()
                    .any(|&(name, from, to)| name == file && (from..=to).contains(&line))
            };
            within(first) && within(last)
        }
        fn files(&self) -> Vec<&str> {
            self.0.iter().map(|(file, _, _)| *file).collect()
        }
    }

    pub(super) fn shown() -> Shown {
        Shown(vec![
            ("src/a.rs", 1, 60),
            ("b.c", 61, 120),
            ("docs/my [old] notes.md", 3, 9),
        ])
    }

    fn check(written: &str, text: &str, citations: &[usize]) {
        let found = ground(written, &shown());
        assert_eq!(
            (found.text.as_str(), found.citations.as_slice()),
            (text, citations),
            "{written}"
        );
    }

    #[test]
    fn markers_that_resolve_become_locations() {
        check("It waits [1].", "It waits [src/a.rs:1].", &[1]);
        check(
            "See [2, 1] and [1].",
            "See [b.c:61][src/a.rs:1] and [src/a.rs:1].",
            &[2, 1],
        );
        check("All [1-2].", "All [src/a.rs:1][b.c:61].", &[1, 2]);
        check("[1](http://x/y_(z)) ok", "[src/a.rs:1] ok", &[1]);
        check("([1])", "([src/a.rs:1])", &[1]);
    }

    #[test]
    fn markers_that_do_not_resolve_leave_no_gap() {
        check("No [9].", "No.", &[]);
        check("[9] No.", "No.", &[]);
        check("No ([9]).", "No.", &[]);
        check("- [9] no", "- no", &[]);
        check("a [[9]] b", "a b", &[]);
        check("x [0] y", "x y", &[]);
        check("x[0] y", "x[0] y", &[]);
        check("[3-1] x", "x", &[]);
    }

    #[test]
    fn code_and_escapes_stay() {
        check("`a[1]` and \\[1\\]", "`a[1]` and \\[1\\]", &[]);
        check("```\nx[1]\n```\n[1]", "```\nx[1]\n```\n[src/a.rs:1]", &[1]);
        check("[1]: http://x\nrest", "rest", &[]);
        check("[^1] [x] [ ]", "[^1] [x] [ ]", &[]);
    }

    #[test]
    fn typed_locations_stay_only_where_an_excerpt_holds_them() {
        check("see src/a.rs:42 there", "see src/a.rs:42 there", &[]);
        check("see src/a.rs:99.", "see [unverified].", &[]);
        check("see `b.c:61`", "see `b.c:61`", &[]);
        check(
            "src\\a.rs:42, `src\\a.rs:7`",
            "src/a.rs:42, `src/a.rs:7`",
            &[],
        );
        check("see `b.c:6`", "see [unverified]", &[]);
        check("[x/y.rs:1](z)", "[unverified]", &[]);
        check(
            "docs/my [old] notes.md:4 ok",
            "docs/my [old] notes.md:4 ok",
            &[],
        );
        check("docs/my [old] notes.md:1 no", "[unverified] no", &[]);
        check(
            "http://h:80/x.rs:1 12:30 3:1 h.com:443",
            "http://h:80/x.rs:1 12:30 3:1 h.com:443",
            &[],
        );
    }

    #[test]
    fn what_was_dropped_is_named() {
        let found = ground("a [7] b x/y.rs:3", &shown());
        let dropped: Vec<_> = found
            .dropped
            .iter()
            .map(|dropped| (dropped.marker.as_str(), dropped.reason))
            .collect();
        assert_eq!(
            dropped,
            [
                ("[7]", Reason::NoSuchExcerpt),
                ("x/y.rs:3", Reason::Unverified)
            ]
        );
    }

    proptest! {
        #[test]
        fn nothing_a_model_writes_makes_a_citation_of_its_own(
            written in "([a-z \n`~\\[\\]()0-9,:./#L-]|\\[[0-9]\\]|src/a.rs:[0-9]{1,3}|\u{FF11}|\u{e9}){0,80}",
        ) {
            let found = ground(&written, &shown());
            for &number in &found.citations {
                prop_assert!((1..=3).contains(&number));
            }
            let mut unique = found.citations.clone();
            unique.sort_unstable();
            unique.dedup();
            prop_assert_eq!(unique.len(), found.citations.len());
        }

        #[test]
        fn text_without_brackets_and_colons_comes_back(written in "[a-z \n\t*_`.()/\u{e9}\u{914d}-]{0,80}") {
            prop_assert_eq!(ground(&written, &shown()).text, written);
        }
    }
}
