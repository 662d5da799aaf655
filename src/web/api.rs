//! The JSON API: the code wiki as other dashboards read it, and every operation by its name.
//! docs/http.md and the `OpenAPI` document (`openapi`) describe it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{Sender, channel};

use super::dashboard::Site;
use super::markdown::{Surroundings, article};
use super::reply::{self, Event};
use super::{answer, openapi};
use crate::ask::AskReport;
use crate::context::{Context, Progress, ProgressSink, TextSink};
use crate::error::{Error, ErrorCode, Result};
use crate::generate::{ShowReport, ShownSection};
use crate::mcp::Failure;
use crate::ops::{
    Ask, Effect, OPERATIONS, Operation as _, OperationEntry, Scope, Show, request_of,
};
use crate::wiki::Wiki;

/// The sections about the whole; all others are `modules/PATH`.
const WHOLE: [&str; 4] = ["index", "architecture", "modules", "data-flow"];

/// The operations that are offered. `trust` is for the person at the machine alone: whoever may
/// ask over HTTP must not be able to let a project name programs to run.
pub(super) fn offered() -> impl Iterator<Item = &'static OperationEntry> {
    OPERATIONS
        .iter()
        .filter(|operation| operation.name != "trust")
}

fn answered(answer: std::result::Result<Value, Failure>) -> Response {
    match answer {
        Ok(document) => reply::json(StatusCode::OK, &document),
        Err(failure) => reply::json_failure(&failure),
    }
}

/// The code wiki, nothing where none was generated.
fn shown(wiki: &Wiki, ctx: &Context, section: Option<String>) -> Result<Option<ShowReport>> {
    match (Show { section }).run(wiki, ctx) {
        Ok(report) => Ok(Some(report)),
        Err(error) => match error.code() {
            ErrorCode::PageNotFound | ErrorCode::NotInitialized => Ok(None),
            _ => Err(error),
        },
    }
}

/// `GET /api/wiki`.
pub(super) async fn wiki(State(site): State<Site>) -> Response {
    let read = site.server.run(
        |ctx| ctx,
        |wiki, ctx| {
            let Some(report) = shown(wiki, ctx, None)? else {
                return Ok(json!({
                    "generated": false,
                    "sections": [],
                    "message": "no code wiki was generated yet: `llmwiki generate` makes it",
                }));
            };
            let sections = report.sections.iter().map(|section| {
                json!({
                    "id": section.id,
                    "title": section.title,
                    "citation_count": section.citations.len(),
                })
            });
            Ok(json!({
                "generated": true,
                "project": report.project,
                "generated_at": report.generated_at,
                "file_count": report.file_count,
                "signature": report.signature,
                "sections": sections.collect::<Vec<_>>(),
            }))
        },
    );
    answered(read.await)
}

/// `GET /api/wiki/{section}`.
pub(super) async fn section(State(site): State<Site>, Path(id): Path<String>) -> Response {
    let module = id
        .strip_prefix("modules/")
        .is_some_and(|path| !path.is_empty());
    if !WHOLE.contains(&id.as_str()) && !module {
        let error = Error::new(ErrorCode::InvalidArgument, format!("{id:?} is no section"));
        return reply::json_error(&error.with_hint(format!(
            "the sections are {}, modules/PATH",
            WHOLE.join(", ")
        )));
    }
    let read = site.server.run(
        |ctx| ctx,
        move |wiki, ctx| {
            if let Some(report) = shown(wiki, ctx, Some(id.clone()))?
                && let Some(section) = report.sections.into_iter().next()
            {
                return section_json(wiki, ctx, section);
            }
            if shown(wiki, ctx, None)?.is_some() {
                let error = format!("there is no section {id:?}");
                return Err(Error::new(ErrorCode::PageNotFound, error)
                    .with_hint("GET /api/wiki lists the sections"));
            }
            Ok(json!({
                "generated": false, "id": id, "title": "", "body": "", "citations": [],
            }))
        },
    );
    answered(read.await)
}

fn section_json(wiki: &Wiki, ctx: &Context, section: ShownSection) -> Result<Value> {
    let page = crate::id::PageId::parse(&format!("code/{}", section.id))?;
    let open = wiki.open_page(ctx, &page, None)?;
    let around = Surroundings {
        page: Some(&page),
        links: &open.links,
        sources: &open.sources,
        first_line: 1,
        ..Surroundings::default()
    };
    let html = article(&section.body, &around).html;
    let citations = section.citations.iter().map(|citation| {
        json!({"file": citation.file, "line": citation.line, "source_id": citation.source_id})
    });
    let mut document = json!({
        "id": section.id,
        "title": section.title,
        "citations": citations.collect::<Vec<_>>(),
        "html": html,
    });
    document["body"] = section.body.into();
    if let Some(diagram) = section.diagram {
        document["diagram"] = diagram.into();
    }
    Ok(document)
}

/// What `POST /api/wiki/ask` takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    question: String,
    #[serde(default)]
    k: Option<usize>,
}

/// A JSON object from a request that says it is JSON: no form of another site can.
#[expect(
    clippy::result_large_err,
    reason = "the error is the response, made once a refused request"
)]
fn object(headers: &HeaderMap, body: &[u8]) -> std::result::Result<Value, Response> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = kind
        .and_then(|kind| kind.split(';').next())
        .unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        let error = "send JSON, with Content-Type: application/json";
        return Err(reply::json(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            &json!({"error": {"code": "INVALID_ARGUMENT", "message": error}}),
        ));
    }
    serde_json::from_slice(body).map_err(|cause| {
        let error = Error::new(
            ErrorCode::InvalidArgument,
            format!("the body is no JSON: {cause}"),
        );
        reply::json_error(&error)
    })
}

fn question(value: Value) -> Result<Question> {
    let asked: Question = request_of("ask", value)?;
    let refuse = |what: String| Err(Error::new(ErrorCode::InvalidArgument, what));
    let length = asked.question.chars().count();
    if !(1..=2000).contains(&length) {
        return refuse(format!("question has {length} characters, not 1 to 2000"));
    }
    match asked.k {
        Some(k) if !(1..=20).contains(&k) => refuse(format!("k {k} is not between 1 and 20")),
        _ => Ok(asked),
    }
}

/// `POST /api/wiki/ask`: the report, or with `Accept: text/event-stream` the answer while it is
/// written and then the report.
pub(super) async fn ask(State(site): State<Site>, headers: HeaderMap, body: Bytes) -> Response {
    let asked = match object(&headers, &body) {
        Ok(value) => question(value),
        Err(refused) => return refused,
    };
    let asked = match asked {
        Ok(asked) => asked,
        Err(error) => return reply::json_error(&error),
    };
    let ask = Ask {
        question: asked.question,
        k: asked.k,
        scope: Scope::All,
        retrieve_only: false,
        model: None,
        no_model: false,
    };
    if !accepts_events(&headers) {
        let run = site
            .server
            .run(|ctx| ctx, move |wiki, ctx| ask.run(wiki, ctx));
        return answered(run.await.and_then(|report| document(&report)));
    }
    let (sender, receiver) = channel(EVENTS);
    tokio::spawn(async move {
        let said = sender.clone();
        let run = site.server.run(
            move |ctx| {
                let sink = Arc::new(Told(said));
                ctx.with_progress(sink.clone()).with_texts(sink)
            },
            move |wiki, ctx| ask.run(wiki, ctx),
        );
        // Who went away is not answered, and what was asked for is given up.
        let ended = tokio::select! {
            ended = run => ended,
            () = sender.closed() => return,
        };
        let event = match ended.and_then(|report| document(&report)) {
            Ok(report) => Event::Of("report", report),
            Err(Failure::Engine(error)) => Event::Of(
                "error",
                json!({"code": error.code().as_str(), "message": error.message()}),
            ),
            Err(Failure::Defect) => Event::Of("error", json!({"code": "INTERNAL"})),
        };
        let _ = sender.send(event).await;
    });
    reply::events(receiver)
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// The report, with the answer as HTML beside it.
fn document(report: &AskReport) -> std::result::Result<Value, Failure> {
    let mut document = serde_json::to_value(report).map_err(|_| Failure::Defect)?;
    document["html"] = answer::answer(report).into_string().into();
    Ok(document)
}

/// So many events wait for a slow reader; pieces beyond are left out, the report has them all.
const EVENTS: usize = 256;

/// Tells a reader about an operation that runs.
struct Told(Sender<Event>);

impl TextSink for Told {
    fn text(&self, piece: &str) {
        let _ = self.0.try_send(Event::Of("text", json!({"text": piece})));
    }
}

impl ProgressSink for Told {
    fn report(&self, progress: Progress) {
        // The last places are for the answer.
        if self.0.capacity() > EVENTS / 2 {
            let said =
                json!({"stage": progress.stage, "done": progress.done, "total": progress.total});
            let _ = self.0.try_send(Event::Of("progress", said));
        }
    }
}

#[expect(
    clippy::result_large_err,
    reason = "the error is the response, made once a refused request"
)]
fn operation(name: &str) -> std::result::Result<&'static OperationEntry, Response> {
    offered()
        .find(|operation| operation.name == name)
        .ok_or_else(|| {
            let error = json!({"error": {
                "code": "INVALID_ARGUMENT",
                "message": format!("there is no operation {name:?}"),
                "hint": "/api/openapi.json lists them",
            }});
            reply::json(StatusCode::NOT_FOUND, &error)
        })
}

async fn run(site: &Site, operation: &'static OperationEntry, request: Value) -> Response {
    let run = site.server.run(
        |ctx| ctx,
        move |wiki, ctx| (operation.run)(request, wiki, ctx),
    );
    answered(run.await)
}

/// `POST /api/ops/NAME`, with the arguments as a JSON object.
pub(super) async fn operate(
    State(site): State<Site>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let operation = match operation(&name) {
        Ok(operation) => operation,
        Err(refused) => return refused,
    };
    let request = match object(&headers, &body) {
        Ok(request) => request,
        Err(refused) => return refused,
    };
    run(&site, operation, request).await
}

/// `GET /api/ops/NAME?KEY=VALUE`, for operations that only read.
pub(super) async fn consult(
    State(site): State<Site>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
) -> Response {
    let operation = match operation(&name) {
        Ok(operation) => operation,
        Err(refused) => return refused,
    };
    if operation.effect != Effect::Reads {
        let error = json!({"error": {
            "code": "INVALID_ARGUMENT",
            "message": format!("{name} does more than read: POST it"),
        }});
        return reply::json(StatusCode::METHOD_NOT_ALLOWED, &error);
    }
    match arguments(operation, query.as_deref().unwrap_or_default()) {
        Ok(request) => run(&site, operation, request).await,
        Err(error) => reply::json_error(&error),
    }
}

/// The arguments in a query, each of the type that the schema gives it; a list by repetition.
fn arguments(operation: &OperationEntry, query: &str) -> Result<Value> {
    let schema = (operation.request_schema)();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut request = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decoded(key)?, decoded(value)?);
        let property = properties.and_then(|known| known.get(&key));
        let is = |wanted: &str| {
            let kind = property.and_then(|property| property.get("type"));
            kind.is_some_and(|kind| match kind {
                Value::Array(kinds) => kinds.iter().any(|it| it == wanted),
                kind => kind == wanted,
            })
        };
        if is("array") {
            let list = request.entry(key).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(value.into());
            }
            continue;
        }
        let typed = if is("integer") {
            value
                .parse::<u64>()
                .map_or_else(|_| value.into(), Value::from)
        } else if is("boolean") {
            value
                .parse::<bool>()
                .map_or_else(|_| value.into(), Value::from)
        } else {
            value.into()
        };
        request.insert(key, typed);
    }
    Ok(Value::Object(request))
}

fn decoded(text: &str) -> Result<String> {
    let text = text.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&text).decode_utf8();
    decoded
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| Error::new(ErrorCode::InvalidArgument, format!("{text:?} is not UTF-8")))
}

/// `GET /api/openapi.json`.
pub(super) async fn description() -> Response {
    reply::json(StatusCode::OK, &openapi::document())
}
