//! Small things about text: sentences from comments, escaping for Markdown, parts of pages.

use super::ShownCitation;
use crate::code::Lines;

/// Longest sentence that is taken from a comment.
const MAX_SENTENCE: usize = 240;

/// The body of a page file.
pub(super) fn body_of(markdown: &str) -> &str {
    let rest = markdown.strip_prefix("---\n").unwrap_or(markdown);
    let body = rest.split_once("\n---\n").map_or(rest, |(_, body)| body);
    body.trim_start_matches('\n')
}

/// Text as Markdown that means nothing but itself, on one line.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~'
        ) {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

/// A name in a code span.
pub(super) fn code(name: &str) -> String {
    let name: String = name
        .chars()
        .filter(|c| *c != '`' && !c.is_control())
        .collect();
    format!("`{name}`")
}

/// The first sentence of the comment right above a line, or of the docstring below it.
pub(super) fn doc_of(lines: &Lines<'_>, start_line: u32) -> Option<String> {
    let mut above = Vec::new();
    let mut line = start_line;
    while line > 1 {
        line -= 1;
        let text = lines.line(line).trim();
        if text.starts_with("#[") || text.starts_with('@') || text.starts_with("template") {
            continue;
        }
        match comment(text) {
            Some(words) => above.push(words),
            None => break,
        }
    }
    above.reverse();
    sentence(&above).or_else(|| docstring(lines, start_line + 1, 4))
}

/// The first sentence of the comment at the top of a file.
pub(super) fn doc_at_top(lines: &Lines<'_>) -> Option<String> {
    let mut words = Vec::new();
    // Inside a block comment, whose lines need no mark.
    let mut is_block = false;
    for line in 1..=lines.count().min(60) {
        let text = lines.line(line).trim();
        if is_block {
            let (inside, ends) = match text.split_once("*/") {
                Some((inside, _)) => (inside, true),
                None => (text, false),
            };
            let inside = inside.trim_start_matches('*').trim();
            if is_licence(inside) {
                return docstring(lines, line, 60);
            }
            words.push(inside.to_owned());
            if ends {
                break;
            }
            continue;
        }
        if text.starts_with("/*") && !text.contains("*/") {
            is_block = true;
            let first = text.trim_start_matches(['/', '*', '!']).trim();
            words.push(first.to_owned());
            continue;
        }
        if text.is_empty() || text.starts_with("#!") || text.starts_with("<?") {
            if words.is_empty() {
                continue;
            }
            break;
        }
        if text.contains("'use strict'") || text.contains("\"use strict\"") {
            continue;
        }
        match comment(text) {
            // A licence says nothing about the file.
            Some(text) if is_licence(&text) => return docstring(lines, line, 60),
            Some(text) => words.push(text),
            None => break,
        }
    }
    sentence(&words).or_else(|| docstring(lines, 1, 60))
}

fn is_licence(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["copyright", "licen", "spdx", "all rights reserved", "***"]
        .iter()
        .any(|word| lower.contains(word))
}

/// The words of a comment line.
fn comment(text: &str) -> Option<String> {
    for mark in ["//!", "///", "//", "/**", "/*!", "/*", "*/", "--", "*", "#"] {
        if let Some(rest) = text.strip_prefix(mark) {
            return Some(rest.trim_end_matches("*/").trim().to_owned());
        }
    }
    None
}

/// The first sentence of a Python docstring that begins among `most` lines, behind comments and
/// the rest of a signature.
fn docstring(lines: &Lines<'_>, line: u32, most: u32) -> Option<String> {
    for at in line..line.saturating_add(most).min(lines.count() + 1) {
        let text = lines
            .line(at)
            .trim()
            .trim_start_matches(['r', 'u', 'b', 'R']);
        let Some(mark) = ["\"\"\"", "'''"]
            .into_iter()
            .find(|mark| text.starts_with(mark))
        else {
            // What belongs to the next definition says nothing of this one.
            if ["def ", "class ", "async ", "@"]
                .iter()
                .any(|word| text.starts_with(word))
            {
                return None;
            }
            if text.is_empty()
                || text.starts_with('#')
                || text.ends_with(':')
                || text.ends_with(',')
            {
                continue;
            }
            return None;
        };
        let mut words = Vec::new();
        for next in at..(at + 12).min(lines.count() + 1) {
            let text = lines.line(next).trim();
            let text = if next == at {
                text.trim_start_matches(['r', 'u', 'b', 'R'])
                    .trim_start_matches(mark)
            } else {
                text
            };
            match text.split_once(mark) {
                Some((last, _)) => {
                    words.push(last.to_owned());
                    break;
                }
                None => words.push(text.to_owned()),
            }
        }
        return sentence(&words);
    }
    None
}

/// The first sentence of some lines.
fn sentence(lines: &[String]) -> Option<String> {
    let mut joined = String::new();
    let is_rule = |line: &str| {
        let line = line.trim();
        line.len() >= 3
            && line
                .chars()
                .all(|c| matches!(c, '~' | '=' | '-' | '*' | '#' | '/'))
    };
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        // A line above a rule is a heading.
        if is_rule(line) || lines.get(at + 1).is_some_and(|next| is_rule(next)) {
            continue;
        }
        if line.is_empty()
            || line.starts_with("```")
            || line.starts_with('@')
            || line.starts_with("===")
        {
            if joined.is_empty() {
                continue;
            }
            break;
        }
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(line);
        if joined.len() > 2 * MAX_SENTENCE {
            break;
        }
    }
    let end = joined
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '!' | '?' | '\u{3002}'))
        .map(|(at, c)| at + c.len_utf8())
        .find(|&end| joined[end..].is_empty() || joined[end..].starts_with(' '));
    let mut text = &joined[..end.unwrap_or(joined.len())];
    let mut cut = String::new();
    if text.len() > MAX_SENTENCE {
        let mut at = MAX_SENTENCE;
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let at = text[..at].rfind(' ').unwrap_or(at);
        cut = format!("{} ...", &text[..at]);
        text = &cut;
    }
    let has_words = text.chars().filter(|c| c.is_alphabetic()).count() >= 3;
    let text = text.trim().to_owned();
    drop(cut);
    has_words.then_some(text)
}

/// The links of a body to lines of snapshots.
pub(super) fn citations(body: &str) -> Vec<ShownCitation> {
    let mut found: Vec<ShownCitation> = Vec::new();
    for (at, _) in body.match_indices("](llmwiki://source/") {
        let rest = &body[at + "](llmwiki://source/".len()..];
        let Some((target, _)) = rest.split_once(')') else {
            continue;
        };
        let Some((id, anchor)) = target.split_once("#L") else {
            continue;
        };
        let line = anchor.split('-').next().and_then(|line| line.parse().ok());
        let label = body[..at].rfind('[').map_or("", |open| &body[open + 1..at]);
        let file = label.rsplit_once(':').map_or(label, |(file, _)| file);
        if let Some(line) = line {
            let citation = ShownCitation {
                file: file.replace('\\', ""),
                line,
                source_id: id.to_owned(),
            };
            if !found.contains(&citation) {
                found.push(citation);
            }
        }
    }
    found
}

/// The first Mermaid diagram of a body.
pub(super) fn diagram(body: &str) -> Option<String> {
    let (_, rest) = body.split_once("```mermaid\n")?;
    rest.split_once("\n```").map(|(text, _)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_come_from_comments_and_docstrings() {
        let of = |text: &str, line: u32| doc_of(&Lines::new(text), line);
        assert_eq!(
            of("/// Waits a bit. Then more.\n#[x]\nfn f() {}\n", 3).unwrap(),
            "Waits a bit."
        );
        assert_eq!(
            of("/**\n * Waits\n * a bit.\n */\nfunction f() {}\n", 5).unwrap(),
            "Waits a bit."
        );
        assert_eq!(
            of("def f():\n    \"\"\"Waits.\"\"\"\n", 1).unwrap(),
            "Waits."
        );
        assert_eq!(of("let a = 1;\nfn f() {}\n", 2), None);
        assert_eq!(
            of("class A:\n    def f(self):\n        \"\"\"Of f.\"\"\"\n", 1),
            None
        );
        let top = |text: &str| doc_at_top(&Lines::new(text));
        assert_eq!(
            top("/*!\nWalks folders. More.\n*/\n").unwrap(),
            "Walks folders."
        );
        assert_eq!(
            top("\"\"\"\nrequests.api\n~~~~~~~~~~~~\n\nThe functions. More.\n\"\"\"\n").unwrap(),
            "The functions."
        );
        assert_eq!(
            top("//! The store: one file.\n\nuse x;\n").unwrap(),
            "The store: one file."
        );
        assert_eq!(
            top("#  __\n# /_/\n#\n\n\"\"\"\nLibrary\n~~~~~~~\n\nFor people.\n\"\"\"\n").unwrap(),
            "For people."
        );
        assert_eq!(
            top("// Copyright 2020 X\n// All rights reserved.\nint x;\n"),
            None
        );
        assert_eq!(
            top("#!/usr/bin/env python\n\"\"\"Tool to wait.\n\nMore.\n\"\"\"\n").unwrap(),
            "Tool to wait."
        );
    }

    #[test]
    fn bodies_citations_and_diagrams_are_found() {
        let body = body_of("---\ntitle: \"T\"\n---\n\n# T\n\ntext\n");
        assert_eq!(body, "# T\n\ntext\n");
        let cited = citations("a [`x`](m.md) [src/a\\_b.rs:3](llmwiki://source/ab#L3-L9) x");
        assert_eq!((cited[0].file.as_str(), cited[0].line), ("src/a_b.rs", 3));
        assert_eq!(
            diagram("x\n```mermaid\nflowchart LR\n```\n").unwrap(),
            "flowchart LR"
        );
    }
}
