//! What the dashboard is made of beside its pages: a style sheet, a script, a sign. All of it is
//! ours, and part of the program.

use std::sync::LazyLock;

use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::reply;
use crate::id::ContentHash;

/// Name, media type, text.
type Asset = (&'static str, &'static str, &'static str);

const ASSETS: [Asset; 4] = [
    (
        "style.css",
        "text/css; charset=utf-8",
        include_str!("assets/style.css"),
    ),
    (
        "app.js",
        "text/javascript; charset=utf-8",
        include_str!("assets/app.js"),
    ),
    (
        "llmwiki-browser.js",
        "text/javascript; charset=utf-8",
        include_str!("assets/llmwiki-browser.js"),
    ),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

/// Changes when any of them does.
static EDITION: LazyLock<String> = LazyLock::new(|| {
    let all: String = ASSETS.iter().map(|(_, _, text)| *text).collect();
    let mut hash = ContentHash::of(all.as_bytes()).to_string();
    hash.truncate(12);
    hash
});

/// The address of one.
pub(super) fn url(name: &str) -> String {
    format!("/assets/{name}?{}", *EDITION)
}

/// Answers one.
pub(super) async fn get(Path(name): Path<String>, RawQuery(query): RawQuery) -> Response {
    match ASSETS.iter().find(|(known, _, _)| *known == name) {
        Some((_, content_type, text)) => {
            reply::asset(content_type, text, query.as_ref() == Some(&EDITION))
        }
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    }
}
