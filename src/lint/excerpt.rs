//! Lines of the files that a report names, for people to look at.

use std::path::Path;

use crate::page::unix_line_ends;
use crate::tree::{RelPath, RootState, Tree, locate};

/// Largest file that is read for a line of it.
const MAX_BYTES: u64 = 16 << 20;

/// Gives lines of the files below a root. Keeps the file that it read last.
#[derive(Debug)]
pub struct Excerpts {
    tree: Option<Tree>,
    last: Option<(String, String)>,
}

impl Excerpts {
    /// Lines of the files below `root`. Where there is no root there are no lines.
    pub fn new(root: &Path) -> Self {
        let tree = match locate(root) {
            Ok(RootState::Ready(tree)) => Some(tree),
            _ => None,
        };
        Self { tree, last: None }
    }

    /// The line with this number, from 1, of the file at `path`; none where it cannot be read.
    /// Bytes that are not UTF-8 are replaced.
    pub fn line(&mut self, path: &str, number: u32) -> Option<String> {
        if self.last.as_ref().is_none_or(|(known, _)| known != path) {
            let file = self
                .tree
                .as_ref()?
                .read(&RelPath::new(path).ok()?, MAX_BYTES)
                .ok()??;
            let text = String::from_utf8_lossy(&file.bytes);
            self.last = Some((path.to_owned(), unix_line_ends(&text).into_owned()));
        }
        let (_, text) = self.last.as_ref()?;
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        text.lines().nth(at).map(ToOwned::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_as_the_page_parser_counts_them() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.md");
        std::os::unix::fs::symlink("a.md", dir.path().join("link.md")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test arranges files itself")]
        std::fs::write(file, b"one\r\ntwo\rthr\xffee\n").unwrap();
        let mut excerpts = Excerpts::new(dir.path());
        assert_eq!(excerpts.line("a.md", 2).as_deref(), Some("two"));
        assert_eq!(excerpts.line("a.md", 3).as_deref(), Some("thr\u{fffd}ee"));
        for (path, line) in [
            ("a.md", 0),
            ("a.md", 4),
            ("gone.md", 1),
            ("link.md", 1),
            ("..", 1),
        ] {
            assert_eq!(excerpts.line(path, line), None, "{path}:{line}");
        }
    }
}
