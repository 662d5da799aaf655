//! A located wiki root, opened lazily.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::Config;
use crate::context::Context;
use crate::error::Result;

/// What `init` did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitReport {
    /// The root directory.
    pub root: String,
    /// Whether the wiki was made now; `false` when it was there already.
    pub created: bool,
    /// Paths that were written, relative to the root.
    pub files: Vec<String>,
}

/// A wiki at a root directory. Nothing is opened until an operation needs it, so a `Wiki` of a
/// root that does not exist is a fine thing to ask for its status.
#[derive(Debug)]
pub struct Wiki {
    root: PathBuf,
    config: Config,
}

impl Wiki {
    /// The wiki at `root`.
    pub fn new(root: impl Into<PathBuf>, config: Config) -> Self {
        Self {
            root: root.into(),
            config,
        }
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
        let _ = ctx;
        unimplemented!()
    }
}
