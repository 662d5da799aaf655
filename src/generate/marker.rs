//! The comment at the end of a generated page: what it was made from, and what it said then.

use crate::id::ContentHash;

/// How the comment begins.
const OPENING: &str = "<!-- llmwiki:generated ";

/// What a page says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// Hash of what the page was made from.
    pub(super) input: String,
    /// Hash of the text above the comment.
    text: String,
}

/// A short hash of some texts.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    let mut hash = ContentHash::of(&bytes).to_string();
    hash.truncate(32);
    hash
}

/// A body with its comment.
pub(super) fn mark(body: &str, input: &str) -> String {
    let body = body.trim_end();
    format!(
        "{body}\n\n{OPENING}input={input} text={} -->\n",
        hash(&[body])
    )
}

impl Marker {
    /// The comment of a body, where it has one.
    pub(super) fn of(body: &str) -> Option<Self> {
        let start = body.rfind(OPENING)?;
        let inside = body[start + OPENING.len()..]
            .trim_end()
            .strip_suffix("-->")?;
        let field = |name: &str| {
            inside
                .split_whitespace()
                .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
                .map(str::to_owned)
        };
        Some(Self {
            input: field("input")?,
            text: field("text")?,
        })
    }

    /// Whether the text is as it was written.
    pub(super) fn holds(&self, body: &str) -> bool {
        let above = body.rfind(OPENING).map_or(body, |start| &body[..start]);
        hash(&[above.trim_end()]) == self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_shows_wherever_it_is() {
        let body = mark("# A\n\ntext\n", "abc");
        let marker = Marker::of(&body).unwrap();
        assert_eq!(marker.input, "abc");
        assert!(marker.holds(&body));
        assert!(!marker.holds(&body.replace("text\n", "other\n")));
        assert!(Marker::of(&format!("{body}more\n")).is_none());
        assert!(Marker::of("# A\n").is_none());
    }
}
