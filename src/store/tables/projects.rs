//! Table `projects`, since schema 1, durable: other projects that can be asked, with what was read
//! of them last. Key: the name. Written by `projects add` and `projects sync`, removed by `projects
//! remove`, and by a sync whose forge no longer lists the repository.
//!
//! Table `project_pages`, since schema 1, local: pages of other projects as they were read last, so
//! that an unchanged one is not sent again. Key: name of the project, NUL, path in its repository.
//! Written by `ask-projects`, removed with the project.

use bincode::{Decode, Encode};

use crate::store::codec::{MAX_RECORD_BYTES, Record};
use crate::store::error::StoreError;

/// A text of another project, compressed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CachedFile {
    /// What the server calls this version; empty when it does not say.
    pub etag: String,
    /// Length in bytes.
    pub length: u64,
    /// The bytes, as one zstd frame.
    pub frame: Vec<u8>,
}

/// Fast, since somebody waits.
const LEVEL: i32 = 1;

impl CachedFile {
    /// Compresses a text.
    ///
    /// # Errors
    /// `TooLarge` when zstd refuses it.
    pub fn new(bytes: &[u8], etag: &str) -> Result<Self, StoreError> {
        let frame = zstd::bulk::compress(bytes, LEVEL).map_err(|_| StoreError::TooLarge {
            what: "project_pages",
            limit: u64::MAX,
        })?;
        Ok(Self {
            etag: etag.to_owned(),
            length: bytes.len() as u64,
            frame,
        })
    }

    /// The bytes.
    ///
    /// # Errors
    /// `Damaged` when they are not what was compressed.
    pub fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        let damaged = || StoreError::damaged("a cached text of another project does not unpack");
        let length = usize::try_from(self.length)
            .ok()
            .filter(|&length| length <= MAX_RECORD_BYTES)
            .ok_or_else(damaged)?;
        let bytes = zstd::bulk::decompress(&self.frame, length).map_err(|_| damaged())?;
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(damaged())
        }
    }
}

/// Where a project is.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ProjectPlace {
    /// A directory of this machine, as bytes.
    Directory(Vec<u8>),
    /// A repository on a Gitea or Forgejo server.
    Gitea {
        /// Base address of the server.
        url: String,
        /// Name of the forge in the configuration that listed it; empty for one that was added.
        forge: String,
        /// Who the repository belongs to.
        owner: String,
        /// Its name there.
        repo: String,
        /// Its number there, which a new name does not change; 0 where it is not known.
        id: u64,
        /// The branch that was asked for; empty for the default branch.
        branch: String,
    },
}

/// A project that can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ProjectRecord {
    /// Where it is.
    pub place: ProjectPlace,
    /// Somebody added it by name; otherwise a sync found it.
    pub added: bool,
    /// Default branch at the last sync; empty where there is none.
    pub default_branch: String,
    /// `.wiki/index.md`.
    pub index: Option<CachedFile>,
    /// `.tasks/STATUS.md`.
    pub status: Option<CachedFile>,
    /// Markdown files below `.wiki/`, where the index lists none.
    pub files: Vec<String>,
    /// When it was read last, RFC 3339; empty when never.
    pub synced_at: String,
    /// Why the last sync failed; empty when it did not.
    pub fault: String,
}

impl Record for ProjectRecord {
    const TABLE: &'static str = "projects";
}

/// A page of another project.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ProjectPageRecord {
    /// Its text.
    pub text: CachedFile,
}

impl Record for ProjectPageRecord {
    const TABLE: &'static str = "project_pages";
}

pub(crate) fn page_key(project: &str, path: &str) -> Vec<u8> {
    [project.as_bytes(), &[0], path.as_bytes()].concat()
}

pub(crate) fn page_prefix(project: &str) -> Vec<u8> {
    [project.as_bytes(), &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_text_comes_back_and_damage_is_an_error() {
        let file = CachedFile::new(b"# Index\n", "\"a\"").unwrap();
        assert_eq!(file.bytes().unwrap(), b"# Index\n");
        for length in [3, u64::MAX] {
            let broken = CachedFile {
                length,
                ..file.clone()
            };
            assert!(broken.bytes().is_err());
        }
        let broken = CachedFile {
            frame: vec![1],
            ..file
        };
        assert!(broken.bytes().is_err());
    }
}
