//! `lint` on real trees: the fixtures of each code, and the documents made from the rules.

use std::path::Path;

use llmwiki::lint::diagnostics_page;

#[test]
fn diagnostics_page_is_what_the_rules_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/diagnostics.md");
    if std::env::var_os("LLMWIKI_UPDATE").is_some() {
        std::fs::write(&path, diagnostics_page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == diagnostics_page(),
        "docs/diagnostics.md is stale: run `LLMWIKI_UPDATE=1 cargo test diagnostics_page`"
    );
}
