//! The generated pages of docs/ are what the program says. `LLMWIKI_UPDATE_DOCS=1 cargo test
//! cli_docs` writes them anew.

use std::path::Path;

#[track_caller]
fn check(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    if std::env::var_os("LLMWIKI_UPDATE_DOCS").is_some() {
        std::fs::write(&path, wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/{name} is stale: run LLMWIKI_UPDATE_DOCS=1 cargo test cli_docs"
    );
}

#[test]
fn docs_commands_is_fresh() {
    check("commands.md", &llmwiki::cli::commands_reference());
}

#[test]
fn docs_errors_is_fresh() {
    check("errors.md", &llmwiki::cli::errors_reference());
}

#[test]
fn docs_tools_is_fresh() {
    check("tools.md", &llmwiki::mcp::tools_reference());
}

#[test]
fn docs_http_is_fresh() {
    check("http.md", &llmwiki::web::http_reference());
}
