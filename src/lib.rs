//! llmwiki: the durable, evidence-backed memory that LLM agents and developers share.
//!
//! A wiki is a directory of immutable sources, named by the SHA-256 of their bytes, and of pages
//! that may only cite sources that exist. See ARCHITECTURE.md for the map of the modules.

#[cfg(not(unix))]
compile_error!(
    "llmwiki does not support Windows yet: its file layer needs openat, flock and atomic exchange"
);

pub mod ask;
#[cfg(feature = "cli")]
pub mod cli;
pub mod code;
pub mod config;
pub mod context;
pub mod error;
pub mod federation;
pub mod generate;
pub mod ground;
pub mod id;
pub mod limits;
pub mod lint;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod model;
#[cfg(feature = "net")]
mod net;
pub mod ops;
pub mod page;
#[cfg(feature = "cli")]
mod render;
pub mod search;
pub mod source;
pub mod store;
pub mod tree;
#[cfg(feature = "web")]
pub mod web;
pub mod wiki;

/// The README's program is a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
