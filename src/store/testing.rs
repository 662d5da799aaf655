//! What the tests of the store share: stores in a temporary tree, and records to put in them.

#![expect(
    clippy::disallowed_methods,
    reason = "tests damage files behind our back"
)]

use std::fmt::Write;
use std::path::PathBuf;

use super::rows;
use super::schema::TABLES;
use super::verify::walk;
use super::{
    Access, CachedFile, CitationsRecord, ClaimRecord, CodeChunkRecord, CodeChunksRecord,
    CodeFileRecord, CodeStateRow, CodeSymbolRecord, CodeTextRecord, FolderRecord, How, IntentOp,
    IntentRecord, LinkRecord, LinksRecord, Meta, NamesRecord, Opened, PageRecord,
    ProjectPageRecord, ProjectPlace, ProjectRecord, RevisionRecord, SectionRecord, SkippedRecord,
    SourceEvent, SourceEventKind, SourceRecord, StampRecord, Store, StoreError, StoreOptions, View,
};
use crate::id::{ContentHash, PageId, SourceId};
use crate::tree::{STORE_FILE, Tree};

/// A tree with a place for a store.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) tree: Tree,
}

impl Place {
    pub(crate) fn new() -> Self {
        // Most trials wait for syncs alone; in memory they cost nothing.
        let memory = std::path::Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            tempfile::tempdir_in(memory).unwrap()
        } else {
            tempfile::tempdir().unwrap()
        };
        let tree = Tree::create(&folder.path().join("wiki")).unwrap();
        Self { folder, tree }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("wiki/.store").join(STORE_FILE)
    }

    /// Puts bytes where the store is.
    pub(crate) fn put(&self, bytes: &[u8]) {
        std::fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        std::fs::write(self.path(), bytes).unwrap();
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).unwrap()
    }

    pub(crate) fn create(&self) -> Store {
        self.create_with(&StoreOptions::default()).unwrap()
    }

    pub(crate) fn create_with(&self, options: &StoreOptions) -> Result<Store, StoreError> {
        Store::create(
            &self.tree,
            STORE_FILE,
            &Meta::new("standard", [1; 16]),
            options,
        )
    }

    pub(crate) fn open(&self, access: Access) -> Opened {
        self.open_with(access, &StoreOptions::default()).unwrap()
    }

    pub(crate) fn open_with(
        &self,
        access: Access,
        options: &StoreOptions,
    ) -> Result<Opened, StoreError> {
        Store::open(&self.tree, STORE_FILE, access, options)
    }

    pub(crate) fn ready(&self, access: Access) -> Store {
        match self.open(access) {
            Opened::Ready(store) => store,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn page(id: &str) -> PageId {
    PageId::parse(id).unwrap()
}

/// Every row of the sealed tables, one a line, in key order; unreadable rows say why.
pub(crate) fn dump(view: &View) -> String {
    let mut lines = String::new();
    for &(table, _) in TABLES {
        let ended = walk(view, table, &mut |key, value| {
            let row = match rows::read(table, key, value) {
                Ok(row) => format!("{row:?}"),
                Err(error) => format!("! {error}"),
            };
            writeln!(lines, "{table} \"{}\" = {row}", key.escape_ascii()).unwrap();
            Ok(())
        });
        if let Some(error) = ended.unwrap() {
            writeln!(lines, "{table} ! {error}").unwrap();
        }
    }
    lines
}

/// Text that compresses badly, the same each time.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.push(state.to_le_bytes()[4]);
    }
    bytes
}

/// How many commits [`commit_number`] knows.
pub(crate) const COMMITS: u32 = 5;

fn put_code(batch: &mut super::Batch) -> Result<(), StoreError> {
    let text = "fn main() {}\n";
    let file = CodeFileRecord {
        size: text.len() as u64,
        inode: 7,
        mtime_ns: 1,
        ctime_ns: 2,
        seen_ns: 3,
        sha256: ContentHash::of(text.as_bytes()),
        language: "rust".to_owned(),
        skipped: String::new(),
        lossy: false,
        lines: 1,
        first_chunk: 0,
        chunks: 1,
        test_chunks: 0,
        length: 3,
    };
    let chunks = CodeChunksRecord {
        chunks: vec![CodeChunkRecord {
            start_line: 1,
            end_line: 1,
            symbols: vec![0],
            within: vec![],
        }],
        symbols: vec![CodeSymbolRecord {
            name: "main".to_owned(),
            kind: 0,
            start_line: 1,
            end_line: 1,
        }],
        references: vec![],
    };
    batch.put_code_file(b"src/main.rs", &file)?;
    batch.put_code_chunks(b"src/main.rs", &chunks, &CodeTextRecord::new(text)?)?;
    batch.put_code_state(&CodeStateRow {
        revision: 1,
        project: b"/project".to_vec(),
        changes: 3,
    })
}

/// A project with a page, which a store of the golden schema does not have yet.
pub(crate) fn put_project(batch: &mut super::Batch) -> Result<(), StoreError> {
    let project = ProjectRecord {
        place: ProjectPlace::Gitea {
            url: "https://forge.example".to_owned(),
            forge: "work".to_owned(),
            owner: "ann".to_owned(),
            repo: "billing".to_owned(),
            id: 7,
            branch: String::new(),
        },
        added: true,
        default_branch: "main".to_owned(),
        index: Some(CachedFile::new(b"- [a](concepts/a.md)\n", "\"1\"")?),
        status: None,
        files: vec![],
        synced_at: "2026-02-03T04:05:06.000Z".to_owned(),
        fault: String::new(),
    };
    batch.put_project("billing", &project)?;
    let text = CachedFile::new(b"# A\n", "\"2\"")?;
    batch.put_project_page(
        "billing",
        ".wiki/concepts/a.md",
        &ProjectPageRecord { text },
    )
}

/// One of a few commits with fixed inputs that together touch every table.
pub(crate) fn commit_number(store: &Store, number: u32) -> Result<(), StoreError> {
    let mut batch = store.write()?;
    let source_bytes = match number {
        1 => noise(70_000, 1),
        _ => format!("source {number}\n").repeat(50).into_bytes(),
    };
    let source = SourceId::from_hash(batch.put_blob(&source_bytes)?);
    let record = SourceRecord {
        name: format!("notes-{number}.txt"),
        media_type: "text/plain".to_owned(),
        byte_count: source_bytes.len() as u64,
        captured_at: format!("2026-02-03T04:05:0{number}.000Z"),
        origin: number
            .is_multiple_of(2)
            .then(|| "https://example.org/".to_owned()),
    };
    batch.put_source(source, &record)?;
    if number == 3 {
        put_code(&mut batch)?;
    }
    if number == 2 {
        let event = SourceEvent {
            kind: SourceEventKind::RETIRED,
            at: "2026-02-04T00:00:00.000Z".to_owned(),
            name: String::new(),
            media_type: String::new(),
            origin: None,
            successor: None,
            reason: "out of date".to_owned(),
            actor: String::new(),
        };
        batch.put_source_event(source, &event)?;
    }
    // Two pages are written in turn, and the last commit deletes one.
    let id = page(if number.is_multiple_of(2) {
        "guides/even"
    } else {
        "odd"
    });
    let old = batch.page(&id)?;
    let path = format!("pages/{id}.md").into_bytes();
    let parents = batch.last_revision(&id)?.map(|(_, last)| last.identity());
    let mut revision = RevisionRecord {
        page: id.as_str().to_owned(),
        sha256: None,
        parents: parents.into_iter().collect(),
        at_ms: 1_770_000_000_000 + i64::from(number),
        how: How::DELETED,
        replica: [1; 16],
        actor: String::new(),
        message: String::new(),
        added: number,
        removed: 0,
    };
    batch.remove_sections(&old.map(|old| old.sections).unwrap_or_default())?;
    if number == COMMITS {
        batch.add_revision(&revision)?;
        batch.remove_page(&id)?;
        batch.remove_stamp(&path)?;
        batch.put_skipped(
            b"pages/\xff.md",
            &SkippedRecord {
                code: "PAGE_INVALID_PATH".to_owned(),
                message: "not UTF-8".to_owned(),
                line: None,
            },
        )?;
        batch.commit()?;
        return Ok(());
    }
    let text = format!("# Page {number}\n").repeat(40);
    let sha256 = batch.put_blob(text.as_bytes())?;
    revision.sha256 = Some(sha256);
    revision.how = How::WRITTEN;
    let seq = batch.add_revision(&revision)?;
    let section_id = batch.new_section_id()?;
    let section = SectionRecord {
        page: id.as_str().to_owned(),
        heading_trail: vec![format!("Page {number}")],
        start_line: 7,
        end_line: 46,
        fingerprint: [number.to_le_bytes()[0]; 16],
        length: 80,
    };
    batch.put_sections([(section_id, &section)])?;
    let record = PageRecord {
        sha256,
        byte_count: text.len() as u64,
        title: format!("Page {number}"),
        summary: "A page.".to_owned(),
        sources: vec![source],
        missing_sources: vec![],
        sections: vec![section_id],
        revision: seq,
    };
    batch.put_page(&id, &record)?;
    let names = NamesRecord {
        title: format!("page {number}"),
        base_name: id
            .as_str()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned(),
        id: id.as_str().to_owned(),
    };
    batch.put_names(&id, Some(&names))?;
    let link = LinkRecord {
        kind: crate::store::LinkRecordKind::Wikilink,
        target: "even".to_owned(),
        fragment: None,
        line: 9,
    };
    let links = LinksRecord {
        links: vec![link],
        needles: vec!["even".to_owned()],
    };
    batch.put_links(&id, Some(&links))?;
    let claim = ClaimRecord {
        source,
        lines: Some((1, 2)),
        line: 8,
    };
    let cited = CitationsRecord {
        sources: vec![source],
        claims: vec![claim],
    };
    batch.put_citations(&id, Some(&cited))?;
    batch.put_stamp(
        &path,
        &StampRecord {
            size: text.len() as u64,
            inode: u64::from(number),
            mtime_ns: 1,
            ctime_ns: 2,
            seen_ns: 3,
            sha256,
        },
    )?;
    let folder = FolderRecord {
        inode: u64::from(number),
        mtime_ns: 1,
        ctime_ns: 2,
        seen_ns: 3,
    };
    batch.put_folder(b"pages/folder", &folder)?;
    batch.put_intent(
        &path,
        &IntentRecord {
            op: IntentOp::Put,
            new: Some(sha256),
            old: None,
            staged: format!("tmp-{number}"),
            old_size: 0,
            old_inode: 0,
            old_mtime_ns: 0,
            revision: seq,
        },
    )?;
    if number.is_multiple_of(2) {
        batch.remove_intent(&path)?;
    }
    batch.commit()?;
    Ok(())
}

/// Silences panics that are answers about a file.
pub(crate) fn quiet_guard() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !super::in_guard() {
                loud(info);
            }
        }));
    });
}
