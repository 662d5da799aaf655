//! Where the wiki is: `--root`, else `LLMWIKI_ROOT`, else the nearest directory of the configured
//! name upward from the working directory, else that name right here.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorCode, Result};
use crate::tree;

/// Name of a wiki's directory when nobody configured another.
const DEFAULT_NAME: &str = ".llmwiki";

/// Who chose the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chosen {
    /// The flag `--root`.
    Flag,
    /// The variable `LLMWIKI_ROOT`.
    Variable,
    /// An absolute `root` in the user's configuration.
    Configuration,
    /// It was found here or further up.
    Found,
    /// Nothing was found: this is where one would be made.
    #[default]
    Default,
}

impl Chosen {
    /// In words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Flag => "--root",
            Self::Variable => "LLMWIKI_ROOT",
            Self::Configuration => "the configuration",
            Self::Found => "the nearest upward",
            Self::Default => "the default",
        }
    }
}

/// Finds the root. `configured` is a name to look for, or an absolute path.
pub(super) fn root(
    directory: &Path,
    flag: Option<&Path>,
    variable: Option<&Path>,
    configured: Option<&Path>,
) -> Result<(PathBuf, Chosen)> {
    if let Some(flag) = flag {
        if flag.as_os_str().is_empty() {
            return Err(Error::new(ErrorCode::InvalidArgument, "--root is empty")
                .with_hint("name a directory, or leave the flag out"));
        }
        return Ok((directory.join(flag), Chosen::Flag));
    }
    if let Some(variable) = variable {
        return Ok((directory.join(variable), Chosen::Variable));
    }
    let name = configured.unwrap_or(DEFAULT_NAME.as_ref());
    if name.is_absolute() {
        return Ok((name.to_owned(), Chosen::Configuration));
    }
    Ok(match tree::find_upward(directory, name) {
        Some(root) => (root, Chosen::Found),
        None => (directory.join(name), Chosen::Default),
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests arrange files themselves")]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_wiki_upward_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b/c");
        std::fs::create_dir_all(&inner).unwrap();
        let find =
            |configured: Option<&str>| root(&inner, None, None, configured.map(Path::new)).unwrap();
        assert_eq!(find(None), (inner.join(".llmwiki"), Chosen::Default));
        std::fs::create_dir(folder.path().join(".llmwiki")).unwrap();
        std::fs::create_dir(folder.path().join("notes")).unwrap();
        assert_eq!(find(None), (folder.path().join(".llmwiki"), Chosen::Found));
        std::fs::create_dir(folder.path().join("a/.llmwiki")).unwrap();
        assert_eq!(
            find(None),
            (folder.path().join("a/.llmwiki"), Chosen::Found)
        );
        assert_eq!(
            find(Some("notes")),
            (folder.path().join("notes"), Chosen::Found)
        );
        assert_eq!(
            find(Some("/w")),
            (PathBuf::from("/w"), Chosen::Configuration)
        );
    }

    #[test]
    fn a_flag_wins_over_a_variable_and_both_start_at_the_working_directory() {
        let here = Path::new("/here");
        let both = root(here, Some(Path::new("f")), Some(Path::new("v")), None).unwrap();
        assert_eq!(both, (PathBuf::from("/here/f"), Chosen::Flag));
        let one = root(here, None, Some(Path::new("v")), None).unwrap();
        assert_eq!(one, (PathBuf::from("/here/v"), Chosen::Variable));
        assert!(root(here, Some(Path::new("")), None, None).is_err());
    }
}
