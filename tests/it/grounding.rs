//! The anti-fabrication cases of `tests/data/grounding.jsonl`, or of the file that
//! `LLMWIKI_GROUNDING` names: excerpts that were shown, what a model wrote, the files now, and what
//! is left of it.

use std::collections::BTreeMap;

use llmwiki::ask::{Citation, Excerpt, Place, Shown, extract};
use llmwiki::config::Config;
use llmwiki::context::Context;
use llmwiki::ground::ground;
use llmwiki::wiki::Wiki;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    id: String,
    level: String,
    chunks: Vec<Chunk>,
    files: BTreeMap<String, u32>,
    completion: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Chunk {
    file: String,
    start_line: u32,
    end_line: u32,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Expect {
    citations: Vec<Cited>,
    text: Option<String>,
    #[serde(default)]
    text_contains: Vec<String>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct Cited {
    file: String,
    line: u32,
}

/// What goes wrong in a case; nothing when all is right.
fn check(case: &Case) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, &count) in &case.files {
        texts.insert(
            path,
            (1..=count)
                .map(|line| format!("{path} line {line}"))
                .collect(),
        );
    }
    for chunk in &case.chunks {
        if let (Some(text), Some(lines)) = (&chunk.text, texts.get_mut(chunk.file.as_str())) {
            for (at, line) in (chunk.start_line as usize - 1..).zip(text.lines()) {
                if let Some(slot) = lines.get_mut(at) {
                    line.clone_into(slot);
                }
            }
        }
    }
    for (path, lines) in &texts {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(path, text).unwrap();
    }
    let excerpts = case
        .chunks
        .iter()
        .map(|chunk| {
            // Lines that were not given are those of the file, as far as there are any.
            let known = texts
                .get(chunk.file.as_str())
                .map_or(&[][..], Vec::as_slice);
            let (first, last) = (chunk.start_line as usize - 1, chunk.end_line as usize);
            let filled = known.get(first..last.min(known.len())).unwrap_or_default();
            Excerpt {
                place: Place::Code {
                    file: chunk.file.clone(),
                },
                start_line: chunk.start_line,
                end_line: chunk.end_line,
                symbol: String::new(),
                language: String::new(),
                text: chunk.text.clone().unwrap_or_else(|| match filled {
                    [] => "what was here".to_owned(),
                    lines => lines.join("\n"),
                }),
            }
        })
        .collect();
    let config = Config {
        project: Some(folder.path().to_owned()),
        ..Config::default()
    };
    let wiki = Wiki::new(folder.path().join(".llmwiki"), config);
    let ctx = Context::default();
    wiki.init(&ctx).unwrap();
    let evidence = wiki.evidence(&ctx, "line", 1).unwrap();
    let now = |file: &str| evidence.file_now(file);
    let shown = Shown::new(excerpts, &now);
    let found = match &case.completion {
        Some(written) => ground(written, &shown),
        None => extract("first second line", &shown),
    };
    let citations: Vec<Cited> = shown
        .citations(&found.citations)
        .into_iter()
        .map(|citation| match citation {
            Citation::Code { file, line, .. } => Cited { file, line },
            Citation::Page { page, .. } => Cited {
                file: page,
                line: 0,
            },
        })
        .collect();
    if citations != case.expect.citations {
        return Err(format!(
            "cites {citations:?}, not {:?}",
            case.expect.citations
        ));
    }
    if let Some(text) = &case.expect.text
        && found.text.trim() != text.trim()
    {
        return Err(format!("says {:?}, not {text:?}", found.text));
    }
    for part in &case.expect.text_contains {
        if !found.text.contains(part) {
            return Err(format!("{:?} lacks {part:?}", found.text));
        }
    }
    Ok(())
}

#[test]
fn grounding_cases() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/grounding.jsonl");
    let path = std::env::var("LLMWIKI_GROUNDING").unwrap_or_else(|_| own.to_owned());
    let text = std::fs::read_to_string(&path).unwrap();
    let cases: Vec<Case> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!cases.is_empty());
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let why = check(case).err()?;
            Some(format!("{} ({}): {why}", case.id, case.level))
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
