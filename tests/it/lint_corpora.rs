//! Lint on real wikis, loaded as pages with one stand-in source. The folder of the corpora is
//! named by `LLMWIKI_CORPORA`; without it the test is skipped with a word.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use llmwiki::context::Context;
use llmwiki::id::SourceId;
use llmwiki::lint::{LintOptions, run};
use llmwiki::page::{render, unix_line_ends};
use llmwiki::source::Metadata;

/// Where the pages of each corpus are.
const CORPORA: [&str; 7] = [
    "olas/.wiki",
    "beluga-ai/.wiki",
    "docmesh-ko/.wiki",
    "papers-zh/wiki",
    "foam-docs/docs",
    "rust-book/src",
    "llmwiki-cli",
];

fn markdown_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            markdown_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

/// Writes a wiki with the Markdown of `folder` as pages. Frontmatter of theirs is cut off.
fn load(folder: &Path, root: &Path) {
    let content = b"stand-in\n";
    let id = SourceId::of(content);
    let source = root.join(format!("sources/{id}"));
    std::fs::create_dir_all(&source).unwrap();
    std::fs::create_dir_all(root.join("pages")).unwrap();
    std::fs::write(root.join("schema.md"), "# Schema\n").unwrap();
    std::fs::write(source.join("content"), content).unwrap();
    let record = Metadata {
        id,
        name: "stand-in".to_owned(),
        media_type: "text/plain".to_owned(),
        byte_count: content.len() as u64,
        captured_at: "2026-02-03T04:05:06.789Z".to_owned(),
        origin: None,
    };
    std::fs::write(source.join("metadata.json"), record.render()).unwrap();
    let mut files = Vec::new();
    markdown_files(folder, &mut files);
    for file in files {
        let relative = file.strip_prefix(folder).unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let text = unix_line_ends(&String::from_utf8_lossy(&bytes)).into_owned();
        let body = match text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"))
        {
            Some((_, body)) => body.to_owned(),
            None => text,
        };
        let body = if body.trim().is_empty() { "x\n" } else { &body };
        let title = relative.to_str().unwrap();
        let page = render(
            title,
            "From a corpus.",
            &[id],
            body.trim_start_matches('\n'),
        )
        .unwrap();
        let target = root.join("pages").join(relative);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, page).unwrap();
    }
}

#[test]
fn links_of_real_wikis_are_never_called_broken_without_cause() {
    let Some(corpora) = std::env::var_os("LLMWIKI_CORPORA").map(PathBuf::from) else {
        eprintln!("skipped: LLMWIKI_CORPORA names no folder");
        return;
    };
    for corpus in CORPORA {
        let folder = tempfile::tempdir().unwrap();
        load(&corpora.join(corpus), folder.path());
        let mut files = Vec::new();
        markdown_files(&folder.path().join("pages"), &mut files);
        let names: BTreeSet<String> = files
            .iter()
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_lowercase())
            .collect();
        let report = run(folder.path(), &Context::default(), &LintOptions::default()).unwrap();
        for found in &report.diagnostics {
            let named = found.message.split('"').nth(1).unwrap_or_default();
            match found.code {
                "INDEX_MISSING" | "ORPHAN_PAGE" => {}
                // In these corpora no page is meant by a name that no file has.
                "BROKEN_PAGE_LINK" => {
                    let name = named.rsplit('/').next().unwrap_or_default().to_lowercase();
                    assert!(!names.contains(&name), "{corpus}: {found:?}");
                }
                "LINK_ESCAPES_PAGES" => assert!(named.starts_with("../"), "{corpus}: {found:?}"),
                _ => panic!("{corpus}: {found:?}"),
            }
        }
        eprintln!(
            "{corpus}: {} pages, {} findings",
            files.len(),
            report.diagnostics.len()
        );
    }
}
