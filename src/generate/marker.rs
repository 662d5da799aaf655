//! The comment at the end of a generated page: what it said when it was made, and of which code.

use crate::id::ContentHash;

/// How the comment begins.
const OPENING: &str = "<!-- llmwiki:generated ";

/// The code that the whole was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct About {
    /// Hash of the code.
    pub(super) signature: String,
    /// Number of its files.
    pub(super) files: u64,
    /// Hash of what every other page says of itself, and of how pages are made.
    pub(super) pages: String,
}

/// A text of a model, and what it was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Author {
    /// Hash of what the page would say without a model.
    pub(super) from: String,
    /// The model, as [`name`] spells it.
    pub(super) by: String,
}

/// The name of a model, fit for the comment.
pub(super) fn name(model: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    let plain: String = model
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    // Two hyphens and a bracket would end the comment.
    plain.replace("--", "-_")
}

/// What a page says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// Hash of the text above the comment.
    text: String,
    /// Hash of title and summary.
    head: String,
    /// Where a model wrote a part of it.
    pub(super) author: Option<Author>,
    /// On the page about the whole.
    pub(super) about: Option<About>,
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

/// A body with its comment. `more` is what is said beside the body, in the frontmatter.
pub(super) fn mark(
    body: &str,
    more: &[&str],
    author: Option<&Author>,
    about: Option<&About>,
) -> String {
    let body = body.trim_end();
    let author = author.map_or_else(String::new, |author| {
        format!(" from={} by={}", author.from, author.by)
    });
    let about = about.map_or_else(String::new, |about| {
        format!(
            " code={} files={} pages={}",
            about.signature, about.files, about.pages
        )
    });
    format!(
        "{body}\n\n{OPENING}text={} head={}{author}{about} -->\n",
        hash(&[body]),
        hash(more)
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
            text: field("text")?,
            head: field("head")?,
            author: field("from").and_then(|from| {
                Some(Author {
                    from,
                    by: field("by")?,
                })
            }),
            about: field("code").and_then(|signature| {
                Some(About {
                    signature,
                    files: field("files")?.parse().ok()?,
                    pages: field("pages")?,
                })
            }),
        })
    }

    /// What the page says of itself.
    pub(super) fn said(&self) -> String {
        format!("{} {}", self.text, self.head)
    }

    /// Whether body, title and summary are as they were written.
    pub(super) fn holds(&self, body: &str, more: &[&str]) -> bool {
        hash(&[above(body)]) == self.text && hash(more) == self.head
    }
}

/// What a page says above its comment.
pub(super) fn above(body: &str) -> &str {
    let above = body.rfind(OPENING).map_or(body, |start| &body[..start]);
    above.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_shows_wherever_it_is() {
        let about = About {
            signature: "abc".to_owned(),
            files: 7,
            pages: "d".to_owned(),
        };
        let author = Author {
            from: "e".to_owned(),
            by: name("a model --> x"),
        };
        assert_eq!(author.by, "a_model_-___x");
        let body = mark("# A\n\ntext\n", &["A"], Some(&author), Some(&about));
        let marker = Marker::of(&body).unwrap();
        assert_eq!(marker.author, Some(author));
        assert_eq!(marker.about, Some(about));
        assert!(marker.holds(&body, &["A"]));
        assert!(!marker.holds(&body, &["B"]));
        assert!(!marker.holds(&body.replace("text\n", "other\n"), &["A"]));
        assert!(Marker::of(&format!("{body}more\n")).is_none());
        assert!(Marker::of("# A\n").is_none());
    }
}
