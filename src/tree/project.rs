//! The files of a project: a second root beside the wiki's, read only, with the same care. Walked
//! by directory handles; what `ignore` rules exclude is not entered.
//!
//! Rules come from `.gitignore`, `.ignore` and `.llmwikiignore` of each directory (the last wins
//! within one), from `.git/info/exclude`, and, inside a git work tree, from the directories between
//! its top and the project. They hold in a folder that is no work tree too. Rules of the user's
//! own git configuration do not: they would make the index depend on who looks.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::path::{RelPath, escape};
use super::read::FileRead;
use super::root::{RootState, Tree, locate};
use super::stamp::{Kind, Stamp};
use super::walk::Flow;
use super::{Result, TreeError};

/// Names of rule files, in rising order of their say.
const RULE_FILES: [&str; 3] = [".gitignore", ".ignore", ".llmwikiignore"];
/// A rule file is a page or two.
const MAX_RULES_BYTES: u64 = 1 << 20;
/// Folders of version control, which hold no project files.
const CONTROL_FOLDERS: [&[u8]; 5] = [b".git", b".hg", b".svn", b".jj", b".bzr"];
/// Folders that package managers fill.
const DEPENDENCY_FOLDERS: [&[u8]; 4] = [
    b"node_modules",
    b"__pycache__",
    b".venv",
    b"bower_components",
];

/// A file of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// Path below the project; any bytes.
    pub path: Vec<u8>,
    /// What `stat` says.
    pub stamp: Stamp,
}

/// Why something is not among the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excluded {
    /// A symbolic link.
    Symlink,
    /// A FIFO, socket or device.
    Special,
    /// Another repository inside.
    Submodule,
    /// What a package manager put there.
    Dependencies,
    /// A folder marked as a cache (`CACHEDIR.TAG`).
    Cache,
    /// It cannot be read.
    Unreadable,
}

impl Excluded {
    /// The reason as reports spell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Symlink => "symlink",
            Self::Special => "special",
            Self::Submodule => "submodule",
            Self::Dependencies => "dependencies",
            Self::Cache => "cache",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What a project consists of.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// Its files, in the byte order of their paths.
    pub files: Vec<ProjectFile>,
    /// What was left out though no rule excludes it, in the order in which it was met.
    pub excluded: Vec<(Vec<u8>, Excluded)>,
}

/// A located project.
#[derive(Debug, Clone)]
pub struct Project {
    tree: Tree,
}

/// The rules of one directory and of those above it.
struct Level {
    /// Length of the directory's path.
    length: usize,
    rules: Vec<Gitignore>,
}

impl Project {
    /// The project at a directory.
    ///
    /// # Errors
    /// `Missing`, `Symlink`, `NotDirectory`, `Io`.
    pub fn open(directory: &Path) -> Result<Self> {
        let shown = escape(directory.as_os_str().as_bytes());
        match locate(directory)? {
            RootState::Ready(tree) => Ok(Self { tree }),
            RootState::Missing => Err(TreeError::Missing {
                action: "open the project",
                path: shown,
            }),
            RootState::Symlink => Err(TreeError::Symlink { path: shown }),
            RootState::NotDirectory(kind) => Err(TreeError::NotDirectory { path: shown, kind }),
        }
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.tree.path()
    }

    /// Reads a file of at most `limit` bytes; nothing where there is none.
    ///
    /// # Errors
    /// As [`Tree::read`].
    pub fn read(&self, path: &RelPath, limit: u64) -> Result<Option<FileRead>> {
        self.tree.read(path, limit)
    }

    /// What is at a path; nothing where there is nothing.
    ///
    /// # Errors
    /// As [`Tree::stat`].
    pub fn stat(&self, path: &RelPath) -> Result<Option<Stamp>> {
        self.tree.stat(path)
    }

    /// Finds the files. `wiki` is the root of the wiki, which is never a part of the project.
    ///
    /// # Errors
    /// `Denied` or `Io` for the project's own directory; what goes wrong below is among the
    /// excluded.
    pub fn discover(&self, wiki: &Path) -> Result<Discovery> {
        let wiki = wiki.canonicalize().ok().and_then(|wiki| {
            Some(
                wiki.strip_prefix(self.path())
                    .ok()?
                    .as_os_str()
                    .as_bytes()
                    .to_vec(),
            )
        });
        let mut levels = vec![Level {
            length: 0,
            rules: self.outer_rules(),
        }];
        let mut found = Discovery::default();
        let mut whole = PathBuf::new();
        self.tree.walk(&RelPath::root(), &mut |entry| {
            let path = entry.path;
            // Back in a directory above.
            let parent = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
            while levels.len() > 1 && levels.last().is_some_and(|level| level.length > parent) {
                levels.pop();
            }
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            let is_dir = entry.kind == Kind::Directory;
            if is_dir && CONTROL_FOLDERS.contains(&name) || wiki.as_deref() == Some(path) {
                return Flow::SkipDirectory;
            }
            whole.as_mut_os_string().clear();
            whole.push(self.path());
            whole.push(std::ffi::OsStr::from_bytes(path));
            if is_excluded(&levels, &whole, is_dir) {
                return Flow::SkipDirectory;
            }
            let mut exclude = |why| {
                found.excluded.push((path.to_vec(), why));
                Flow::SkipDirectory
            };
            if entry.unreadable.is_some() {
                return exclude(Excluded::Unreadable);
            }
            match entry.kind {
                Kind::Directory => {
                    if DEPENDENCY_FOLDERS.contains(&name) {
                        return exclude(Excluded::Dependencies);
                    }
                    if entry.holds(b".git") {
                        return exclude(Excluded::Submodule);
                    }
                    if entry.holds(b"CACHEDIR.TAG") {
                        return exclude(Excluded::Cache);
                    }
                    if RULE_FILES.iter().any(|name| entry.holds(name.as_bytes())) {
                        levels.push(Level {
                            length: path.len(),
                            rules: self.rules_in(path),
                        });
                    }
                    Flow::Continue
                }
                Kind::File => match entry.stamp {
                    Some(stamp) => {
                        found.files.push(ProjectFile {
                            path: path.to_vec(),
                            stamp,
                        });
                        Flow::Continue
                    }
                    None => exclude(Excluded::Unreadable),
                },
                Kind::Symlink => exclude(Excluded::Symlink),
                _ => exclude(Excluded::Special),
            }
        })?;
        Ok(found)
    }

    /// The rules that hold for the whole project.
    fn outer_rules(&self) -> Vec<Gitignore> {
        let mut rules = Vec::new();
        if let Some(top) = git_top(self.path()) {
            let exclude = super::git::git_directory(&top).map(|dir| dir.join("info/exclude"));
            if let Some(text) =
                exclude.and_then(|path| super::read_optional(&path, MAX_RULES_BYTES).ok().flatten())
            {
                rules.extend(self.parse(&top, &text));
            }
            let mut above: Vec<&Path> = self
                .path()
                .ancestors()
                .skip(1)
                .take_while(|dir| dir.starts_with(&top))
                .collect();
            above.reverse();
            for dir in above {
                for name in RULE_FILES {
                    if let Ok(Some(text)) = super::read_optional(&dir.join(name), MAX_RULES_BYTES) {
                        rules.extend(self.parse(dir, &text));
                    }
                }
            }
        }
        rules.extend(self.rules_in(b""));
        rules
    }

    /// The rules that stand in a directory.
    fn rules_in(&self, directory: &[u8]) -> Vec<Gitignore> {
        let mut rules = Vec::new();
        for name in RULE_FILES {
            let Ok(path) = RelPath::new(directory)
                .or_else(|_| Ok::<_, TreeError>(RelPath::root()))
                .and_then(|dir| dir.join(name))
            else {
                continue;
            };
            if let Ok(Some(file)) = self.tree.read(&path, MAX_RULES_BYTES) {
                let place = self.path().join(std::ffi::OsStr::from_bytes(directory));
                rules.extend(self.parse(&place, &file.bytes));
            }
        }
        rules
    }

    /// Rules that are relative to `place`. A line that is no rule is left out, as git does.
    #[expect(clippy::unused_self, reason = "reads as a part of the two above")]
    fn parse(&self, place: &Path, text: &[u8]) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(place);
        for line in String::from_utf8_lossy(text)
            .trim_start_matches('\u{feff}')
            .lines()
        {
            let _ = builder.add_line(None, line);
        }
        builder.build().ok().filter(|rules| !rules.is_empty())
    }
}

/// The top of the git work tree that holds a directory.
pub fn git_top(directory: &Path) -> Option<PathBuf> {
    let found = super::find_upward(directory, Path::new(".git"))?;
    found.parent().map(Path::to_owned)
}

/// Whether the rules exclude an entry: the last rule of the nearest directory wins.
fn is_excluded(levels: &[Level], whole: &Path, is_dir: bool) -> bool {
    for rules in levels
        .iter()
        .rev()
        .flat_map(|level| level.rules.iter().rev())
    {
        match rules.matched(whole, is_dir) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn names(dir: &Path) -> (Vec<String>, Vec<(String, Excluded)>) {
        let found = Project::open(dir)
            .unwrap()
            .discover(&dir.join(".llmwiki"))
            .unwrap();
        (
            found.files.iter().map(|file| escape(&file.path)).collect(),
            found
                .excluded
                .iter()
                .map(|(path, why)| (escape(path), *why))
                .collect(),
        )
    }

    #[test]
    fn nested_anchored_and_negated_rules_hold_with_and_without_git() {
        let dir = place(&[
            (".gitignore", "dist/\n/coverage\n"),
            ("web/.gitignore", ".output/\n*.gen.js\n!keep.gen.js\n"),
            ("web/app.js", ""),
            ("web/.output/chunk.js", ""),
            ("web/a.gen.js", ""),
            ("web/keep.gen.js", ""),
            ("web/dist/x.js", ""),
            ("coverage/report.js", ""),
            ("src/routes/coverage/page.js", ""),
            (".llmwiki/pages/a.md", ""),
        ]);
        let right = [
            ".gitignore",
            "src/routes/coverage/page.js",
            "web/.gitignore",
            "web/app.js",
            "web/keep.gen.js",
        ];
        assert_eq!(names(dir.path()).0, right);
        fs::create_dir_all(dir.path().join(".git/info")).unwrap();
        assert_eq!(names(dir.path()).0, right);
        fs::write(dir.path().join(".git/info/exclude"), "app.js\n").unwrap();
        assert!(!names(dir.path()).0.contains(&"web/app.js".to_owned()));
        // Rules above a project hold inside one work tree.
        assert_eq!(
            names(&dir.path().join("web")).0,
            [".gitignore", "keep.gen.js"]
        );
    }

    #[test]
    fn rules_above_a_folder_without_git_do_not_reach_into_it() {
        let dir = place(&[(".gitignore", "*\n"), ("inner/a.rs", "")]);
        assert_eq!(names(&dir.path().join("inner")).0, ["a.rs"]);
    }

    #[test]
    fn what_is_no_project_file_is_named_with_its_reason() {
        let dir = place(&[
            ("a.rs", ""),
            ("sub/.git", "gitdir: ../.git/modules/sub\n"),
            ("sub/b.rs", ""),
            ("node_modules/x/i.js", ""),
            ("out/CACHEDIR.TAG", ""),
            ("out/c.rs", ""),
        ]);
        std::os::unix::fs::symlink("a.rs", dir.path().join("link.rs")).unwrap();
        super::super::testing::make_special(&dir.path().join("pipe"), Kind::Fifo);
        let (files, excluded) = names(dir.path());
        assert_eq!(files, ["a.rs"]);
        let why: Vec<_> = excluded
            .iter()
            .map(|(path, why)| (path.as_str(), why.word()))
            .collect();
        assert_eq!(
            why,
            [
                ("link.rs", "symlink"),
                ("node_modules", "dependencies"),
                ("out", "cache"),
                ("pipe", "special"),
                ("sub", "submodule"),
            ]
        );
    }
}
