//! What the JSON API offers, said by the program itself: as an `OpenAPI` document for machines, as
//! docs/http.md for people. Both are made from the list of operations.

use std::fmt::Write as _;

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::api::offered;
use crate::ops::{Effect, OperationEntry};

/// A schema without the key that only a document of its own has.
fn schema(schema: &Schema) -> Value {
    let mut schema = schema.as_value().clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    schema
}

/// First line and the rest of what an operation says of itself.
fn words(operation: &OperationEntry) -> (String, String) {
    let schema = (operation.request_schema)();
    let text = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    (first.replace('\n', " "), rest.replace('\n', " "))
}

fn json_content(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

fn responses(report: &Value) -> Value {
    json!({
        "200": {"description": "The report.", "content": json_content(report)},
        "default": {
            "description": "An error; nothing was written. The status is that of its code.",
            "content": json_content(&json!({"$ref": "#/components/schemas/Error"})),
        },
    })
}

/// Query parameters of an operation that only reads.
fn parameters(request: &Value) -> Vec<Value> {
    let required = request.get("required").and_then(Value::as_array);
    let is_required = |key: &str| required.is_some_and(|keys| keys.iter().any(|it| it == key));
    let properties = request.get("properties").and_then(Value::as_object);
    let parameters = properties.into_iter().flatten().map(|(key, schema)| {
        json!({"name": key, "in": "query", "required": is_required(key), "schema": schema})
    });
    parameters.collect()
}

/// The document, `OpenAPI` 3.1.
pub(super) fn document() -> Value {
    let mut paths = Map::new();
    for operation in offered() {
        let (summary, description) = words(operation);
        let request = schema(&(operation.request_schema)());
        let report = schema(&(operation.report_schema)());
        let mut path = json!({"post": {
            "operationId": operation.name,
            "summary": summary,
            "description": description,
            "requestBody": {"required": true, "content": json_content(&request)},
            "responses": responses(&report),
        }});
        if operation.effect == Effect::Reads {
            path["get"] = json!({
                "operationId": format!("get-{}", operation.name),
                "summary": summary,
                "description": description,
                "parameters": parameters(&request),
                "responses": responses(&report),
            });
        }
        paths.insert(format!("/api/ops/{}", operation.name), path);
    }
    paths.insert(
        "/api/wiki".to_owned(),
        json!({"get": {
            "operationId": "wiki",
            "summary": "The sections of the code wiki",
            "responses": responses(&wiki_schema()),
        }}),
    );
    paths.insert("/api/wiki/{section}".to_owned(), json!({"get": {
        "operationId": "wiki-section",
        "summary": "One section of the code wiki",
        "parameters": [{
            "name": "section", "in": "path", "required": true, "schema": {"type": "string"},
            "description": "index, architecture, modules, data-flow or modules/PATH; its slashes \
                stand as they are",
        }],
        "responses": responses(&section_schema()),
    }}));
    let ask = offered().find(|operation| operation.name == "ask");
    let report = ask.map_or_else(|| json!({}), |ask| schema(&(ask.report_schema)()));
    paths.insert(
        "/api/wiki/ask".to_owned(),
        json!({"post": {
            "operationId": "wiki-ask",
            "summary": "Answer a question",
            "description": "With Accept: text/event-stream the answer comes while it is written: \
                events text, progress, and at the end report or error.",
            "requestBody": {"required": true, "content": json_content(&json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["question"],
                "properties": {
                    "question": {"type": "string", "minLength": 1, "maxLength": 2000},
                    "k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 6},
                },
            }))},
            "responses": responses(&report),
        }}),
    );
    paths.insert("/api/events".to_owned(), json!({"get": {
        "operationId": "events",
        "summary": "Changes of pages, as Server-Sent Events",
        "responses": {"200": {
            "description": "Events named change; the data of each is a revision as history gives it.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }},
    }}));
    json!({
        "openapi": "3.1.0",
        "info": {"title": "llmwiki", "version": env!("CARGO_PKG_VERSION")},
        "paths": paths,
        "components": {
            "schemas": {"Error": {
                "type": "object",
                "required": ["error"],
                "properties": {"error": {
                    "type": "object",
                    "required": ["code", "message"],
                    "properties": {
                        "code": {"type": "string"},
                        "message": {"type": "string"},
                        "hint": {"type": "string"},
                    },
                }},
            }},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn wiki_schema() -> Value {
    json!({
        "type": "object",
        "required": ["generated", "sections"],
        "properties": {
            "generated": {"type": "boolean"},
            "project": {"type": "string"},
            "generated_at": {"type": "string"},
            "file_count": {"type": "integer"},
            "signature": {"type": "string"},
            "message": {"type": "string"},
            "sections": {"type": "array", "items": {
                "type": "object",
                "required": ["id", "title", "citation_count"],
                "properties": {
                    "id": {"type": "string"},
                    "title": {"type": "string"},
                    "citation_count": {"type": "integer"},
                },
            }},
        },
    })
}

fn section_schema() -> Value {
    json!({
        "type": "object",
        "required": ["id", "title", "body", "citations"],
        "properties": {
            "generated": {"type": "boolean"},
            "id": {"type": "string"},
            "title": {"type": "string"},
            "body": {"type": "string", "description": "Markdown"},
            "html": {"type": "string", "description": "The body as safe HTML"},
            "diagram": {"type": "string", "description": "Mermaid"},
            "citations": {"type": "array", "items": {
                "type": "object",
                "required": ["file", "line"],
                "properties": {
                    "file": {"type": "string"},
                    "line": {"type": "integer"},
                    "source_id": {"type": "string"},
                },
            }},
        },
    })
}

/// The text of docs/http.md.
pub fn http_reference() -> String {
    let mut out = "# HTTP\n\nGenerated from the list of operations; a test fails when this file is \
        stale. `llmwiki serve` offers it, and `/api/openapi.json` describes it for machines with \
        the schema of each request and report. [dashboard.md](dashboard.md) says what a browser \
        shows and who may ask.\n\n\
        Errors are `{\"error\":{\"code\",\"message\",\"hint\"}}` with the HTTP status of the code \
        ([errors.md](errors.md)).\n\n\
        ## Operations\n\n\
        `POST /api/ops/NAME` with the arguments as a JSON object, `Content-Type: \
        application/json`. What only reads is there by GET too: `GET /api/ops/search?query=tide&limit=5`, \
        a list by repeating its key.\n\n\
        | operation | GET | |\n| --- | --- | --- |\n"
        .to_owned();
    for operation in offered() {
        let get = if operation.effect == Effect::Reads {
            "yes"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "| `{}` | {get} | {} |",
            operation.name,
            words(operation).0
        );
    }
    out.push_str(
        "\n`trust` is not offered: it is for the person at the machine.\n\n\
        ## The code wiki\n\n\
        Keys are in snake_case here, as dashboards that know this interface read them.\n\n\
        - `GET /api/wiki`: `{generated, project, generated_at, file_count, signature, sections: \
        [{id, title, citation_count}]}`; nothing generated yet: `{generated: false, sections: [], \
        message}`.\n\
        - `GET /api/wiki/SECTION`: `{id, title, body, citations: [{file, line, source_id}], html, \
        diagram?}`. A name that is neither `index`, `architecture`, `modules`, `data-flow` nor \
        `modules/PATH`: 400; nothing generated yet: `{generated: false, id, title: \"\", body: \"\", \
        citations: []}`; a section that is not there: 404.\n\
        - `POST /api/wiki/ask` with `{question, k}` (1 to 2000 characters; 1 to 20, 6 when not \
        given): the report of `ask`, with the answer also as `html`. Nothing relevant: an empty \
        answer and a note. With `Accept: text/event-stream` the answer comes while it is written: \
        events `text` `{text}`, `progress` `{stage, done, total}`, and at the end `report` or \
        `error`.\n\n\
        ## Changes\n\n\
        `GET /api/events` is a stream of Server-Sent Events: one named `change` for each revision \
        of a page, as `history` gives it, at most two seconds after it was made.\n\n\
        ## In other pages\n\n\
        `<llmwiki-browser>` shows the code wiki and answers questions in any web page:\n\n\
        ```html\n<script src=\"http://127.0.0.1:7345/assets/llmwiki-browser.js\"></script>\n\
        <llmwiki-browser src=\"http://127.0.0.1:7345\"></llmwiki-browser>\n```\n\n\
        The server must know the origin of that page: `llmwiki serve --allow-origin \
        https://dashboard.example`. Such a page reaches `/api/wiki`, its sections and `ask`, and \
        nothing else. An attribute `token` gives the token of a server that asks for one.\n",
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    if let ("$ref", Value::String(target)) = (key.as_str(), value) {
                        found.push(target);
                    }
                    references(value, found);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_operation_is_described_and_every_reference_leads_somewhere() {
        let document = document();
        for operation in offered() {
            let path = &document["paths"][format!("/api/ops/{}", operation.name)];
            assert!(
                path["post"]["summary"]
                    .as_str()
                    .is_some_and(|it| !it.is_empty())
            );
            assert_eq!(path.get("get").is_some(), operation.effect == Effect::Reads);
        }
        assert!(document["paths"].get("/api/ops/trust").is_none());
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for target in found {
            let place = target.strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{target} leads nowhere");
        }
        let mut ids: Vec<&str> = Vec::new();
        for path in document["paths"].as_object().unwrap().values() {
            for method in path.as_object().unwrap().values() {
                ids.push(method["operationId"].as_str().unwrap());
            }
        }
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "an operationId is used twice");
    }
}
