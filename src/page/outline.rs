//! All that one reading of a body finds: what it refers to, and its sections.

use pulldown_cmark::Parser;

use super::lines::LineIndex;
use super::links::{AnchorReader, OPTIONS, References};
use super::sections::{HeadingReader, Section};

/// References and sections of a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    /// As [`references`](super::references) finds them.
    pub references: References,
    /// As [`sections`](super::sections()) cuts them.
    pub sections: Vec<Section>,
}

/// Reads a body whose first line has the number `first_line`, parsing it once for both.
pub fn outline(body: &str, first_line: u32) -> Outline {
    let (mut anchors, mut headings) = (AnchorReader::default(), HeadingReader::default());
    for (event, range) in Parser::new_ext(body, OPTIONS).into_offset_iter() {
        anchors.event(body, &event, &range);
        headings.event(body, &event, &range);
    }
    let lines = LineIndex::new(body, first_line);
    Outline {
        references: anchors.finish(body, &lines),
        sections: headings.finish(body, &lines),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{references, sections};
    use super::*;

    proptest! {
        #[test]
        fn one_reading_finds_what_two_find(
            body in "([#>\\-] )?([a-z]{0,3}[\\[\\]()!<>`|#\n ]{0,3}){0,20}",
            first_line in 1u32..9,
        ) {
            let found = outline(&body, first_line);
            prop_assert_eq!(found.references, references(&body, first_line));
            prop_assert_eq!(found.sections, sections(&body, first_line));
        }
    }
}
