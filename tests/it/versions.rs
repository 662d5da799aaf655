//! Two versions on one wiki: what the newer one made of the store is not for the older one to
//! read, to write or to replace, in its own process or through a handle that was open before.

use std::fs;

use llmwiki::error::ErrorCode;
use llmwiki::store::{Access, Opened, SCHEMA_VERSION, Store, StoreOptions};
use llmwiki::tree::{self, RootState};

use crate::cli_support::Shell;
use crate::wikis::{TestWiki, page_id};

/// Leaves the store as a version with this schema does.
fn write_schema(wiki: &TestWiki, version: u32) {
    let RootState::Ready(tree) = tree::locate(&wiki.root()).unwrap() else {
        panic!("no wiki");
    };
    let options = StoreOptions::default();
    let opened = Store::open(&tree, "wiki.redb", Access::ReadWrite, &options).unwrap();
    let Opened::Ready(store) = opened else {
        panic!("no store");
    };
    let mut batch = store.write().unwrap();
    batch.meta_mut().schema_version = version;
    batch.commit().unwrap();
}

#[test]
fn an_older_version_leaves_the_wiki_of_a_newer_one_alone() {
    let wiki = TestWiki::new();
    let source = wiki.source("Evidence.\n");
    wiki.page("a", source, "# A\n\nwords\n");
    // A server of the older version, which knows the wiki and keeps it open.
    let server = wiki.again();
    assert_eq!(server.search("words"), ["a"]);
    write_schema(&wiki, SCHEMA_VERSION + 1);

    let refused = |outcome: Result<(), llmwiki::error::Error>| {
        assert_eq!(outcome.unwrap_err().code(), ErrorCode::StoreTooNew);
    };
    refused(server.try_page("b", source, "# B\n").map(drop));
    refused(
        server
            .wiki
            .read_page(&server.ctx, &page_id("a"), None)
            .map(drop),
    );
    refused(server.wiki.reindex(&server.ctx).map(drop));
    refused(server.wiki.verify(&server.ctx).map(drop));
    drop(server);

    let store = wiki.root().join(".store/wiki.redb");
    let before = fs::read(&store).unwrap();
    let shell = Shell::new();
    shell.write("body.md", "# B\n");
    let root = wiki.root();
    let root = root.to_str().unwrap();
    let id = source.to_string();
    for command in [
        &["search", "words"][..],
        &["read-page", "a"],
        &["list-pages"],
        &["history"],
        &["read-source", &id],
        &["list-sources"],
        &["add-source", "body.md"],
        &[
            "upsert-page",
            "b",
            "--title",
            "B",
            "--summary",
            "s",
            "--source",
            &id,
            "--body",
            "body.md",
        ],
        &["delete-page", "a"],
        &["reindex"],
        &["restore", "a", "--yes"],
        &["verify"],
        &["status"],
    ] {
        let ended = shell.run([&["--json", "--root", root], command].concat());
        assert_eq!(ended.status, 3, "{command:?}: {}", ended.stderr);
        let error: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(error["error"]["code"], "STORE_TOO_NEW", "{command:?}");
    }
    // The tree is linted all the same.
    let lint = shell.run(["--json", "--root", root, "lint"]);
    let report: serde_json::Value = serde_json::from_slice(&lint.stdout).unwrap();
    assert_eq!(
        report["diagnostics"][0]["code"], "INDEX_INCOMPATIBLE",
        "{report:#}"
    );

    assert!(fs::read(&store).unwrap() == before, "the store was touched");
    let names = |folder: &str| -> Vec<_> {
        let mut names: Vec<_> = fs::read_dir(wiki.root().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("pages"), ["a.md"]);
    assert_eq!(names("sources"), [id]);
    assert!(!names(".store").iter().any(|name| name.contains("damaged")));
}
