//! What a file imports, as paths that a file of the same project may have.
//!
//! Lines are read, not parsed: an import is one line in every language here, but for the names
//! that follow it. What leads out of the project leads to no file and falls away.

/// An import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The line that says so, 1-based.
    pub line: u32,
    /// Paths without ending that the file may have, the likeliest first.
    pub candidates: Vec<String>,
    /// Whether a candidate may be the end of a longer path.
    pub anywhere: bool,
}

/// Candidates, and whether they may be the ends of longer paths.
type Target = (Vec<String>, bool);

/// The imports of a file at `path`, in order.
pub fn imports(path: &str, language: &str, text: &str) -> Vec<Import> {
    let read: fn(&str, &str) -> Vec<Target> = match language {
        "javascript" | "typescript" | "tsx" => script,
        "python" => python,
        "rust" => rust,
        "c" | "c++" => c,
        "ruby" => ruby,
        "java" => java,
        "php" => php,
        "lua" => lua,
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    let lines = super::Lines::new(text);
    for line in 1..=lines.count() {
        for (candidates, anywhere) in read(path, lines.line(line).trim()) {
            if !candidates.is_empty() {
                found.push(Import {
                    line,
                    candidates,
                    anywhere,
                });
            }
        }
    }
    found
}

/// Whether a file of this language can only use what it imports.
pub fn must_import(language: &str) -> bool {
    matches!(language, "javascript" | "typescript" | "tsx" | "python")
}

/// A path without the endings of source files.
pub fn stem(path: &str) -> &str {
    let (folder, name) = path
        .rfind('/')
        .map_or(("", path), |at| path.split_at(at + 1));
    let name = name.strip_suffix(".d.ts").unwrap_or(name);
    let length = match name.rfind('.') {
        Some(at) if at > 0 => at,
        _ => name.len(),
    };
    &path[..folder.len() + length]
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `to` as it is seen from a folder; nothing where it leads out of the project.
fn join(folder: &str, to: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in to.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// What stands in quotes at the beginning of a text.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let rest = &text[1..];
    Some(&rest[..rest.find(quote)?])
}

fn one(candidate: Option<String>) -> Vec<Target> {
    vec![(candidate.into_iter().collect(), false)]
}

fn script(path: &str, line: &str) -> Vec<Target> {
    let mut found = Vec::new();
    for word in ["require(", "import(", "import ", "from "] {
        for (at, _) in line.match_indices(word) {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$')) {
                continue;
            }
            let Some(to) = quoted(line[at + word.len()..].trim_start()) else {
                continue;
            };
            if !to.starts_with('.') {
                continue;
            }
            let Some(whole) = join(folder(path), to) else {
                continue;
            };
            // `./a.js` may stand for a.ts.
            let endings = [".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts"];
            let cut = endings.iter().find_map(|ending| whole.strip_suffix(ending));
            let mut candidates: Vec<String> = cut.map(str::to_owned).into_iter().collect();
            candidates.push(whole);
            found.push((candidates, false));
        }
    }
    found
}

fn python(path: &str, line: &str) -> Vec<Target> {
    if let Some(rest) = line.strip_prefix("from ") {
        let Some((module, names)) = rest.split_once(" import ") else {
            return Vec::new();
        };
        let module = module.trim();
        let dots = module.bytes().take_while(|&byte| byte == b'.').count();
        let inner = module[dots..].replace('.', "/");
        let (base, anywhere) = if dots == 0 {
            (Some(inner), true)
        } else {
            (
                join(folder(path), &format!("{}{inner}", "../".repeat(dots - 1))),
                false,
            )
        };
        let Some(base) = base else {
            return Vec::new();
        };
        // A name may be a module of the package.
        let names = names.split('#').next().unwrap_or_default();
        let mut found: Vec<Target> = names
            .split(',')
            .filter_map(|name| name.trim_matches(['(', ')', ' ', '\\']).split(' ').next())
            .filter(|name| !name.is_empty() && *name != "*")
            .map(|name| {
                let inner = format!("{base}/{name}");
                let inner = inner.trim_start_matches('/').to_owned();
                (vec![inner, base.clone()], anywhere)
            })
            .collect();
        if found.is_empty() {
            found.push((vec![base], anywhere));
        }
        return found;
    }
    let Some(rest) = line.strip_prefix("import ") else {
        return Vec::new();
    };
    let modules = rest.split('#').next().unwrap_or_default().split(',');
    modules
        .filter_map(|module| module.trim().split(' ').next())
        .filter(|module| !module.is_empty())
        .map(|module| (vec![module.replace('.', "/")], true))
        .collect()
}

fn rust(path: &str, line: &str) -> Vec<Target> {
    let line = line
        .strip_prefix("pub(crate) ")
        .or_else(|| line.strip_prefix("pub(super) "))
        .or_else(|| line.strip_prefix("pub "))
        .unwrap_or(line);
    let Some(used) = line.strip_prefix("use ") else {
        return Vec::new();
    };
    let own = folder(path);
    let is_head = matches!(stem(path).rsplit('/').next(), Some("mod" | "lib" | "main"));
    // The folder of the modules below this one.
    let inside = if is_head {
        own.to_owned()
    } else {
        stem(path).to_owned()
    };
    let (base, rest) = if let Some(rest) = used.strip_prefix("crate::") {
        let root = path.rfind("src/").map_or("", |at| &path[..at + 3]);
        (Some(root.to_owned()), rest)
    } else if let Some(rest) = used.strip_prefix("self::") {
        (Some(inside), rest)
    } else if used.starts_with("super::") {
        let mut rest = used;
        let mut base = Some(inside);
        while let Some(further) = rest.strip_prefix("super::") {
            base = base.and_then(|base| join(&base, ".."));
            rest = further;
        }
        (base, rest)
    } else {
        return Vec::new();
    };
    let Some(base) = base else {
        return Vec::new();
    };
    let rest = rest.trim_end_matches(';');
    let (head, list) = match rest.split_once('{') {
        Some((head, list)) => (head, list.trim_end_matches('}')),
        None => ("", rest),
    };
    // The names of a long list follow on lines of their own.
    let items: Vec<&str> = if list.trim().is_empty() {
        vec![""]
    } else {
        list.split(',').collect()
    };
    items
        .into_iter()
        .map(|item| item.split(" as ").next().unwrap_or_default())
        .filter(|item| list.trim().is_empty() || !item.trim().is_empty())
        .map(|item| {
            let whole = format!("{head}{}", item.trim());
            let mut parts: Vec<&str> = whole.split("::").filter(|part| !part.is_empty()).collect();
            let mut candidates = Vec::new();
            while !parts.is_empty() {
                candidates.extend(join(&base, &parts.join("/")));
                parts.pop();
            }
            candidates.push(base.clone());
            (candidates, false)
        })
        .collect()
}

fn c(path: &str, line: &str) -> Vec<Target> {
    let Some(rest) = line.strip_prefix('#') else {
        return Vec::new();
    };
    let Some(to) = rest
        .trim_start()
        .strip_prefix("include")
        .and_then(|rest| quoted(rest.trim_start()))
    else {
        return Vec::new();
    };
    let near = join(folder(path), to);
    let far = join("", to.trim_start_matches("../"));
    let mut candidates: Vec<String> = near.into_iter().chain(far).collect();
    candidates.dedup();
    vec![(candidates, true)]
}

fn ruby(path: &str, line: &str) -> Vec<Target> {
    if let Some(rest) = line.strip_prefix("require_relative") {
        let to = quoted(rest.trim_start_matches(['(', ' ']));
        return one(to.and_then(|to| join(folder(path), to.trim_end_matches(".rb"))));
    }
    let to = line
        .strip_prefix("require")
        .and_then(|rest| quoted(rest.trim_start_matches(['(', ' '])));
    vec![(to.and_then(|to| join("", to)).into_iter().collect(), true)]
}

fn java(_: &str, line: &str) -> Vec<Target> {
    let Some(rest) = line.strip_prefix("import ") else {
        return Vec::new();
    };
    let whole = rest
        .trim_start_matches("static ")
        .trim_end_matches(';')
        .trim();
    let path = whole.replace('.', "/");
    // A static import names a member of the class.
    let class = folder(&path).to_owned();
    let candidates = vec![path, class];
    vec![(
        candidates
            .into_iter()
            .filter(|path| path.contains('/'))
            .collect(),
        true,
    )]
}

fn php(_: &str, line: &str) -> Vec<Target> {
    let Some(rest) = line.strip_prefix("use ") else {
        return Vec::new();
    };
    let name = rest.split([';', ' ', ',', '{']).next().unwrap_or_default();
    let path = name.trim_matches('\\').replace('\\', "/");
    // The first part of a namespace is seldom a folder.
    let candidates: Vec<String> = path
        .split_once('/')
        .map(|(_, rest)| rest.to_owned())
        .into_iter()
        .filter(|rest| rest.contains('/'))
        .collect();
    vec![(
        [vec![path.clone()], candidates].concat(),
        path.contains('/'),
    )]
}

fn lua(_: &str, line: &str) -> Vec<Target> {
    let to = line
        .find("require")
        .and_then(|at| quoted(line[at + "require".len()..].trim_start_matches(['(', ' '])));
    let path = to.map(|to| to.replace('.', "/"));
    vec![(path.into_iter().collect(), true)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, language: &str, line: &str) -> Vec<Vec<String>> {
        let found = imports(path, language, line);
        found.into_iter().map(|import| import.candidates).collect()
    }

    #[test]
    fn scripts_import_what_is_near() {
        for line in [
            "module.exports = require('./lib/express');",
            "import express from \"./lib/express\"",
            "import './lib/express'",
            "export * from './lib/express';",
            "const express = await import('./lib/express')",
        ] {
            assert_eq!(
                of("index.js", "javascript", line),
                [["lib/express"]],
                "{line}"
            );
        }
        assert_eq!(
            of("src/a/b.ts", "typescript", "import { x } from '../c.js';"),
            [["src/c", "src/c.js"]]
        );
        assert!(of("a.js", "javascript", "const fs = require('fs');").is_empty());
        assert!(of("a.js", "javascript", "require('../../x')").is_empty());
    }

    #[test]
    fn modules_of_packages_are_found_by_their_dots() {
        assert_eq!(
            of("p/q/a.py", "python", "from . import b, c as d"),
            [["p/q/b", "p/q"], ["p/q/c", "p/q"]]
        );
        assert_eq!(
            of("p/q/a.py", "python", "from ..r.s import (T,"),
            [["p/r/s/T", "p/r/s"]]
        );
        assert_eq!(of("a.py", "python", "import x.y as z, w"), [["x/y"], ["w"]]);
        assert!(of("a.py", "python", "from .. import b").is_empty());
    }

    #[test]
    fn paths_of_a_crate_are_tried_from_the_longest() {
        assert_eq!(
            of(
                "k/src/a/mod.rs",
                "rust",
                "pub(crate) use crate::b::{C, d::E as F};"
            ),
            [
                vec!["k/src/b/C", "k/src/b", "k/src"],
                vec!["k/src/b/d/E", "k/src/b/d", "k/src/b", "k/src"]
            ]
        );
        assert_eq!(
            of("src/a/b.rs", "rust", "use super::c::D;"),
            [["src/a/c/D", "src/a/c", "src/a"]]
        );
        assert_eq!(
            of("src/a.rs", "rust", "use crate::b::c::{"),
            [["src/b/c", "src/b", "src"]]
        );
        assert!(of("src/a.rs", "rust", "use std::fmt;").is_empty());
    }

    #[test]
    fn other_languages_name_files_or_their_ends() {
        assert_eq!(
            of("src/a.c", "c", "#  include \"b/c.h\""),
            [["src/b/c.h", "b/c.h"]]
        );
        assert_eq!(
            of("lib/a.rb", "ruby", "require_relative 'b/c'"),
            [["lib/b/c"]]
        );
        assert_eq!(of("lib/a.rb", "ruby", "require \"a/b\""), [["a/b"]]);
        assert_eq!(
            of("A.java", "java", "import org.x.Y;"),
            [["org/x/Y", "org/x"]]
        );
        assert_eq!(
            of("a.php", "php", "use Acme\\Web\\Page;"),
            [["Acme/Web/Page", "Web/Page"]]
        );
        assert_eq!(of("a.lua", "lua", "local b = require(\"c.b\")"), [["c/b"]]);
    }

    #[test]
    fn endings_are_taken_off() {
        assert_eq!(stem("a/b.test.js"), "a/b.test");
        assert_eq!(stem("a/b.d.ts"), "a/b");
        assert_eq!(stem("a.b/c"), "a.b/c");
        assert_eq!(stem(".x"), ".x");
    }
}
