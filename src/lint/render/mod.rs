//! Reports for other programs: JSON lines, SARIF 2.1.0 and GitHub annotations. Pure functions of
//! a report. `base` is the root of the wiki as seen from where the consumer reads paths, for
//! example `.llmwiki`; it may be empty.

mod github;
mod jsonl;
mod sarif;

pub use github::github;
pub use jsonl::jsonl;
pub use sarif::sarif;

/// The path of a diagnostic below `base`.
fn located(base: &str, path: &str) -> String {
    let base = base
        .strip_prefix("./")
        .unwrap_or(base)
        .trim_end_matches('/');
    match (base, path) {
        ("" | ".", path) => path.to_owned(),
        (base, ".") => base.to_owned(),
        (base, path) => format!("{base}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::located;

    #[test]
    fn paths_are_told_from_the_base() {
        assert_eq!(located("", "pages/a.md"), "pages/a.md");
        assert_eq!(located("./.llmwiki/", "pages/a.md"), ".llmwiki/pages/a.md");
        assert_eq!(located(".llmwiki", "."), ".llmwiki");
        assert_eq!(located(".", "."), ".");
    }
}
