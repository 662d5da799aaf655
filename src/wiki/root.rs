//! A located wiki root, opened lazily, and what a wiki consists of before anything is in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Serialize;

use super::code::CodeTable;
use super::session::{Finished, Look};
use crate::config::Config;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::store::{BackendFaults, Store};
use crate::tree::{self, Durability, Kind, RelPath, RootState, Tree, TreeOptions};

/// Text of a new `schema.md`.
pub(crate) const DEFAULT_SCHEMA: &str = include_str!("schema.md");

/// Text of a new `.gitattributes`: evidence must survive `core.autocrlf`, and event logs of two
/// branches merge by union.
pub(crate) const GIT_ATTRIBUTES: &str =
    "sources/** -text\nsources/*/events.jsonl merge=union\npages/** text eol=lf\n";

/// What `init` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitReport {
    /// The root directory.
    pub root: String,
    /// Whether the wiki was made now; `false` when it was there already.
    pub created: bool,
    /// Paths that were made, relative to the root.
    pub files: Vec<String>,
}

/// A wiki at a root directory. Nothing is opened until an operation needs it, so a `Wiki` of a
/// root that does not exist is a fine thing to ask for its status. Cheap to share behind an
/// `Arc`; operations may run on many threads at once.
pub struct Wiki {
    root: PathBuf,
    config: Config,
    pub(super) tree_options: TreeOptions,
    pub(super) store_faults: Option<Arc<dyn BackendFaults>>,
    pub(super) store: Mutex<Option<Arc<Store>>>,
    /// What the last look at the code index found, while it is the same.
    pub(super) code: Mutex<Option<Arc<CodeTable>>>,
    /// Intents that this handle has carried out, by path; the next commit drops their rows.
    pub(super) finished: Mutex<BTreeMap<RelPath, Finished>>,
}

impl std::fmt::Debug for Wiki {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wiki")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Wiki {
    /// The wiki at `root`.
    pub fn new(root: impl Into<PathBuf>, config: Config) -> Self {
        Self::with_tree_options(root, config, TreeOptions::default())
    }

    /// The wiki at `root`, its files reached as `options` say: for tests of file systems that
    /// lack something, and of crashes.
    pub fn with_tree_options(
        root: impl Into<PathBuf>,
        config: Config,
        options: TreeOptions,
    ) -> Self {
        Self {
            root: root.into(),
            config,
            tree_options: options,
            store_faults: None,
            store: Mutex::default(),
            code: Mutex::default(),
            finished: Mutex::default(),
        }
    }

    /// Fails chosen writes and syncs of the store, for tests of crashes.
    #[must_use]
    pub fn with_store_faults(mut self, faults: Arc<dyn BackendFaults>) -> Self {
        self.store_faults = Some(faults);
        self
    }

    /// The root directory as given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Makes the wiki, or completes one that lacks a folder or its `schema.md`.
    ///
    /// # Errors
    /// `UNSAFE_FILESYSTEM` when the root is no plain directory or cannot be written.
    pub fn init(&self, ctx: &Context) -> Result<InitReport> {
        ctx.check()?;
        let (tree, made) = self.make_tree()?;
        Ok(InitReport {
            root: tree.path().display().to_string(),
            created: made.created,
            files: made.files,
        })
    }

    /// The tree, when there is a wiki.
    pub(super) fn find_tree(&self) -> Result<Option<Tree>> {
        let tree = match tree::locate_with(&self.root, &self.tree_options)? {
            RootState::Missing => return Ok(None),
            RootState::Ready(tree) => tree,
            RootState::Symlink => {
                return Err(self.unsafe_root("is a symbolic link"));
            }
            RootState::NotDirectory(kind) => {
                return Err(self.unsafe_root(&format!("is {kind}, not a directory")));
            }
        };
        Ok(check_layout(&tree)?.then_some(tree))
    }

    /// The tree of a wiki that must be there.
    pub(super) fn tree(&self) -> Result<Tree> {
        self.find_tree()?.ok_or_else(|| {
            Error::new(
                ErrorCode::NotInitialized,
                format!("there is no wiki at {}", self.root.display()),
            )
            .with_hint("make one with `llmwiki init`, or name another with --root")
        })
    }

    /// The tree, made or completed where needed.
    pub(super) fn make_tree(&self) -> Result<(Tree, Made)> {
        let found = self.find_tree()?;
        let created = found.is_none();
        let tree = match found {
            Some(tree) => tree,
            None => {
                let tree = Tree::create_with(&self.root, &self.tree_options)?;
                // Somebody may have made it meanwhile.
                check_layout(&tree)?;
                tree
            }
        };
        let mut files = Vec::new();
        for folder in [RelPath::sources(), RelPath::pages()] {
            if tree.stat(&folder)?.is_none() {
                self.must_not_be_lost(&tree, &folder)?;
                tree.make_dirs(&folder, Durability::Now)?;
                files.push(folder.to_string());
            }
        }
        for (name, text) in [
            ("schema.md", DEFAULT_SCHEMA),
            (".gitattributes", GIT_ATTRIBUTES),
        ] {
            let path = RelPath::new(name)?;
            if tree.stat(&path)?.is_none()
                && tree.write_new(&path, text.as_bytes(), Durability::Now)?
            {
                files.push(name.to_owned());
            }
        }
        Ok((tree, Made { created, files }))
    }

    /// Refuses to make a folder anew when the store knows what was in it: an empty one would say
    /// that all of it was deleted.
    pub(super) fn must_not_be_lost(&self, tree: &Tree, folder: &RelPath) -> Result<()> {
        let Look::Ready(_, view) = self.look(tree)? else {
            return Ok(());
        };
        let known = view.stamps(format!("{folder}/").as_bytes()).count();
        if known == 0 {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::UnsafeFilesystem,
            format!("the folder {folder} is gone, and with it {known} files or folders that the store knows"),
        )
        .with_hint(format!(
            "`llmwiki restore --missing --yes` brings them back; to delete them all, make an \
             empty folder {folder}"
        )))
    }

    fn unsafe_root(&self, what: &str) -> Error {
        Error::new(
            ErrorCode::UnsafeFilesystem,
            format!("the wiki root {} {what}", self.root.display()),
        )
        .with_hint("name a plain directory with --root")
    }
}

/// What [`Wiki::make_tree`] made.
#[derive(Debug, Clone, Default)]
pub(super) struct Made {
    pub(super) created: bool,
    pub(super) files: Vec<String>,
}

/// Whether a wiki is there; fails when one of its parts is not what it must be.
fn check_layout(tree: &Tree) -> Result<bool> {
    let mut any = false;
    for (name, want) in [
        ("schema.md", Kind::File),
        ("sources", Kind::Directory),
        ("pages", Kind::Directory),
        (".index", Kind::Directory),
    ] {
        let path = RelPath::new(name)?;
        let Some(stamp) = tree.stat(&path)? else {
            continue;
        };
        if stamp.kind != want {
            return Err(Error::new(
                ErrorCode::UnsafeFilesystem,
                format!("{name} is {}, not {want}", stamp.kind),
            )
            .with_hint(format!("move it away; the wiki needs {name} for itself")));
        }
        any |= name != ".index";
    }
    // Where everything else is gone, the store can bring it back.
    Ok(any || tree.stat(&RelPath::new(".store/wiki.redb")?)?.is_some())
}
