//! All integration tests, one binary: a module for each feature or family of vectors.
#![allow(missing_docs, unreachable_pub, reason = "test code")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    reason = "said the short way"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "tests arrange files themselves, behind the back of `tree`"
)]

mod adoption;
mod architecture;
mod claims;
mod cli_consoles;
mod cli_docs;
mod cli_readme;
mod cli_support;
mod cli_terminal;
mod cli_usage;
mod cli_wiki;
mod code;
mod crash;
mod dashboard;
mod engine_properties;
mod fake_forge;
mod field_reports_page;
mod field_reports_wiki;
mod full_disk;
mod generate;
mod generate_models;
mod git;
mod grounding;
mod hostile_markdown;
mod http_api;
mod lint;
mod lint_corpora;
mod lint_damage;
mod lint_moving;
mod lint_trees;
mod mcp;
mod mcp_hostile;
mod mcp_many;
mod mcp_support;
mod one_bad_item;
mod projects;
mod projects_forge;
mod regressions;
mod search_cases;
mod search_standard;
mod serve;
mod torture;
mod vectors;
mod vectors_index_v1;
mod vectors_lint;
mod vectors_page;
mod vectors_search_scoring;
mod vectors_service;
mod vectors_tokenize;
mod versions;
mod wikis;
