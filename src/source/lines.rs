//! Lines of a source, as citations number them.

/// Counts the lines of content that comes in pieces: line feeds, and one more if something follows
/// the last.
#[derive(Debug, Default)]
pub struct LineCounter {
    feeds: u64,
    is_open: bool,
}

impl LineCounter {
    /// Takes the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.feeds += bytes
            .iter()
            .map(|byte| u64::from(*byte == b'\n'))
            .sum::<u64>();
        if let Some(last) = bytes.last() {
            self.is_open = *last != b'\n';
        }
    }

    /// How many lines there were.
    pub fn count(&self) -> u64 {
        self.feeds + u64::from(self.is_open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_without_line_feed_counts() {
        for (text, count) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)] {
            let mut lines = LineCounter::default();
            text.as_bytes()
                .chunks(1)
                .for_each(|piece| lines.update(piece));
            assert_eq!(lines.count(), count, "{text:?}");
        }
    }
}
