//! Reports as text for people. Each function gives what goes to standard output, and nothing
//! else: what is talk (a hint, a count of what was left out) is for the caller to say on standard
//! error. Whatever came out of a wiki is made safe for a terminal here.

mod ask;
mod code;
mod explain;
mod gc;
mod generate;
mod history;
mod lint;
mod pages;
mod projects;
mod restore;
mod search;
mod snippet;
mod sources;
mod status;
mod style;
mod verify;

pub(crate) use ask::ask;
pub(crate) use code::index_code;
pub(crate) use explain::explain;
pub(crate) use gc::gc;
pub(crate) use generate::{generate, show};
pub(crate) use history::history;
pub(crate) use lint::{LintText, lint};
pub(crate) use pages::{list_pages, upsert_page};
pub(crate) use projects::{ask_projects, projects};
pub(crate) use restore::restore;
pub(crate) use search::search;
pub(crate) use sources::list_sources;
pub(crate) use status::status;
pub(crate) use style::{Palette, counted, safe, safe_line};
pub(crate) use verify::verify;
