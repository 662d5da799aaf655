//! Answers of the dashboard: pages, files and failures, each with the headers that keep it from
//! doing more than it should.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;
use tokio::sync::mpsc::Receiver;

use crate::error::Error;
use crate::mcp::Failure;

/// What a page of the dashboard may load: its own style sheet, script and images, and nothing
/// inline.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; \
    img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// What a preserved source may do when it is opened by itself: nothing.
const FILE_POLICY: &str = "default-src 'none'; sandbox";

/// An answer with the headers that all have.
fn answer(status: StatusCode, content_type: &str, policy: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let mut set = |name: HeaderName, value: HeaderValue| {
        response.headers_mut().insert(name, value);
    };
    if let Ok(value) = HeaderValue::from_str(content_type) {
        set(CONTENT_TYPE, value);
    }
    set(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    set(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With `no-referrer` browsers say `Origin: null` when a form of ours is sent.
    set(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    // What the wiki says now is not what it says later.
    set(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    response
}

/// A page.
pub(super) fn html(status: StatusCode, text: String) -> Response {
    answer(status, "text/html; charset=utf-8", PAGE_POLICY, text.into())
}

/// A JSON document.
pub(super) fn json(status: StatusCode, document: &serde_json::Value) -> Response {
    let text = format!("{document}\n");
    answer(status, "application/json", FILE_POLICY, text.into())
}

/// An error as JSON, with the status that its code has.
pub(super) fn json_error(error: &Error) -> Response {
    let status = StatusCode::from_u16(error.code().row().http_status);
    let mut said = json!({"code": error.code().as_str(), "message": error.message()});
    if let Some(hint) = error.hint() {
        said["hint"] = hint.into();
    }
    json(
        status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        &json!({"error": said}),
    )
}

/// A failure as JSON.
pub(super) fn json_failure(failure: &Failure) -> Response {
    match failure {
        Failure::Engine(error) => json_error(error),
        Failure::Defect => json(
            StatusCode::INTERNAL_SERVER_ERROR,
            &json!({"error": {
                "code": "INTERNAL",
                "message": "a defect of llmwiki itself; nothing half-done was kept",
            }}),
        ),
    }
}

/// A stream of Server-Sent Events, which ends when `events` has no sender any more.
pub(super) fn events(events: Receiver<Event>) -> Response {
    let parts = futures_util::stream::unfold(events, |mut events| async {
        let event = events.recv().await?;
        Some((Ok::<_, Infallible>(event.text()), events))
    });
    let body = Body::from_stream(parts);
    answer(StatusCode::OK, "text/event-stream", FILE_POLICY, body)
}

/// One Server-Sent Event.
#[derive(Debug)]
pub(super) enum Event {
    /// Of a kind, with data.
    Of(&'static str, serde_json::Value),
    /// Keeps the connection open.
    Nothing,
}

impl Event {
    fn text(&self) -> String {
        match self {
            Self::Of(kind, data) => format!("event: {kind}\ndata: {data}\n\n"),
            Self::Nothing => ":\n\n".to_owned(),
        }
    }
}

/// A part of the dashboard itself. Its address changes with its content.
pub(super) fn asset(content_type: &'static str, text: &'static str, is_exact: bool) -> Response {
    let mut response = answer(StatusCode::OK, content_type, FILE_POLICY, text.into());
    if is_exact {
        let value = HeaderValue::from_static("public, max-age=31536000, immutable");
        response.headers_mut().insert(CACHE_CONTROL, value);
    }
    response
}

/// The bytes of a source: shown when it is one of the images that are nothing but images, a
/// download otherwise.
pub(super) fn file(bytes: Vec<u8>, media_type: &str, name: &str) -> Response {
    let is_image = super::markdown::IMAGES.contains(&media_type);
    let content_type = if is_image {
        media_type
    } else {
        "application/octet-stream"
    };
    let mut response = answer(StatusCode::OK, content_type, FILE_POLICY, bytes.into());
    if !is_image {
        let name = super::urls::value(name);
        let value = format!("attachment; filename*=UTF-8''{name}");
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(CONTENT_DISPOSITION, value);
        }
    }
    response
}
