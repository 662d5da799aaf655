//! Whether git is in the middle of changing the work tree that holds a wiki.

use std::fs;
use std::path::{Path, PathBuf};

/// Whether `index.lock` stands in the git directory of the work tree around `root`: a checkout,
/// merge or reset is rewriting files. Answers no where there is no git, or it cannot be looked at.
pub fn git_is_busy(root: &Path) -> bool {
    git_directory(root).is_some_and(|dir| dir.join("index.lock").exists())
}

/// The git directory of the work tree around `root`: `.git` in the nearest ancestor, or what a
/// `.git` file (a linked work tree, a submodule) names.
pub(super) fn git_directory(root: &Path) -> Option<PathBuf> {
    let found = super::find_upward(root, Path::new(".git"))?;
    if found.is_dir() {
        return Some(found);
    }
    let text = fs::read_to_string(&found).ok()?;
    let named = Path::new(text.strip_prefix("gitdir:")?.trim());
    Some(found.parent()?.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_counts_for_the_work_tree_around_the_root_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work/docs/.llmwiki");
        fs::create_dir_all(&root).unwrap();
        assert!(!git_is_busy(&root));
        fs::create_dir(dir.path().join("work/.git")).unwrap();
        assert!(!git_is_busy(&root));
        fs::write(dir.path().join("work/.git/index.lock"), "").unwrap();
        assert!(git_is_busy(&root));
    }

    #[test]
    fn a_linked_work_tree_has_its_lock_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("linked/.llmwiki");
        let admin = dir.path().join("main/.git/worktrees/linked");
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&admin).unwrap();
        fs::write(
            dir.path().join("linked/.git"),
            "gitdir: ../main/.git/worktrees/linked\n",
        )
        .unwrap();
        assert!(!git_is_busy(&root));
        fs::write(admin.join("index.lock"), "").unwrap();
        assert!(git_is_busy(&root));
    }
}
