//! Which address shows what. Each view is read on a thread of its own, within the bounds that all
//! operations have; every one is a GET, and changes nothing. What is asked by POST is in `api`.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use maud::html;

use super::events::Changes;
use super::layout::{self, Part, View};
use super::views::{ask, changes, files, graph, home, lint, page, pages, projects, search, status};
use super::{api, assets, events, guard, reply};
use crate::context::Context;
use crate::error::Result;
use crate::mcp::Server;
use crate::ops::{Ask, Operation as _, Scope};
use crate::wiki::Wiki;

/// Where a person gives the token.
pub(super) const LOGIN: &str = "/login";

/// What every view is made from.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) server: Server,
    /// What the wiki is called.
    name: Arc<str>,
    pub(super) changes: Changes,
}

/// All addresses, and what ends the streams that some of them are.
pub(super) fn routes(server: Server) -> (Router, impl FnOnce() + use<>) {
    let name = server.name();
    let site = Site {
        changes: Changes::of(server.clone()),
        server,
        name: name.into(),
    };
    let changes = site.changes.clone();
    let router = Router::new()
        .route("/", get(show_home))
        .route("/page/{*id}", get(show_page))
        .route("/history/{*id}", get(show_history))
        .route("/source/{id}", get(show_source))
        .route("/source/{id}/raw", get(raw_source))
        .route("/file/{*path}", get(show_file))
        .route("/pages", get(show_pages))
        .route("/sources", get(show_sources))
        .route("/changes", get(show_changes))
        .route("/search", get(show_search))
        .route("/lint", get(show_lint))
        .route("/status", get(show_status))
        .route("/graph", get(show_graph))
        .route("/projects", get(show_projects).post(ask_projects))
        .route("/projects/{project}/{*slug}", get(show_project_page))
        .route("/ask", get(show_ask).post(answer_ask))
        .route("/api/wiki", get(api::wiki))
        .route("/api/wiki/ask", post(api::ask))
        .route("/api/wiki/{*section}", get(api::section))
        .route("/api/ops/{name}", get(api::consult).post(api::operate))
        .route("/api/events", get(events::listen))
        .route("/api/openapi.json", get(api::description))
        .route(LOGIN, get(show_login))
        .route("/assets/{name}", get(assets::get))
        .fallback(no_such_view)
        .with_state(site);
    (router, move || changes.end())
}

impl Site {
    async fn show(
        &self,
        view: impl FnOnce(&Wiki, &Context, &str) -> Result<View> + Send + 'static,
    ) -> Response {
        let name = Arc::clone(&self.name);
        let made = self.server.run(
            |ctx| ctx,
            move |wiki, ctx| {
                let view = view(wiki, ctx, &name)?;
                Ok(layout::document(&name, &view))
            },
        );
        match made.await {
            Ok(text) => reply::html(StatusCode::OK, text),
            Err(failure) => layout::failure(&self.name, &failure),
        }
    }
}

async fn show_home(State(site): State<Site>) -> Response {
    let mut response = site.show(home::view).await;
    // That there is no wiki yet is what the start has to say then.
    if response.status() == StatusCode::NOT_FOUND {
        *response.status_mut() = StatusCode::OK;
    }
    response
}

async fn show_page(
    State(site): State<Site>,
    Path(id): Path<String>,
    Query(asked): Query<page::Asked>,
) -> Response {
    site.show(move |wiki, ctx, _| page::view(wiki, ctx, &id, &asked))
        .await
}

async fn show_source(
    State(site): State<Site>,
    Path(id): Path<String>,
    Query(asked): Query<files::Asked>,
) -> Response {
    site.show(move |wiki, ctx, _| files::source(wiki, ctx, &id, &asked))
        .await
}

async fn raw_source(State(site): State<Site>, Path(id): Path<String>) -> Response {
    let read = site
        .server
        .run(|ctx| ctx, move |wiki, ctx| files::raw(wiki, ctx, &id));
    match read.await {
        Ok(response) => response,
        Err(failure) => layout::failure(&site.name, &failure),
    }
}

async fn show_file(
    State(site): State<Site>,
    Path(path): Path<String>,
    Query(asked): Query<files::Asked>,
) -> Response {
    site.show(move |wiki, ctx, _| files::code(wiki, ctx, &path, &asked))
        .await
}

/// Which part of a long list.
#[derive(Debug, Default, serde::Deserialize)]
struct Listed {
    #[serde(rename = "in")]
    folder: Option<String>,
    after: Option<String>,
    before: Option<String>,
}

async fn show_pages(State(site): State<Site>, Query(listed): Query<Listed>) -> Response {
    site.show(move |wiki, ctx, _| {
        let folder = listed.folder.as_deref().unwrap_or_default();
        pages::view(wiki, ctx, folder.trim_matches('/'), listed.after.as_deref())
    })
    .await
}

async fn show_sources(State(site): State<Site>, Query(listed): Query<Listed>) -> Response {
    site.show(move |wiki, ctx, _| pages::sources(wiki, ctx, listed.after.as_deref()))
        .await
}

async fn show_changes(State(site): State<Site>, Query(listed): Query<Listed>) -> Response {
    site.show(move |wiki, ctx, _| changes::all(wiki, ctx, listed.before.as_deref()))
        .await
}

async fn show_history(
    State(site): State<Site>,
    Path(id): Path<String>,
    Query(listed): Query<Listed>,
) -> Response {
    site.show(move |wiki, ctx, _| changes::of_page(wiki, ctx, &id, listed.before.as_deref()))
        .await
}

async fn show_search(State(site): State<Site>, Query(asked): Query<search::Asked>) -> Response {
    site.show(move |wiki, ctx, _| search::view(wiki, ctx, &asked))
        .await
}

async fn show_lint(State(site): State<Site>, Query(asked): Query<lint::Asked>) -> Response {
    site.show(move |wiki, ctx, _| lint::view(wiki, ctx, &asked))
        .await
}

async fn show_status(State(site): State<Site>) -> Response {
    site.show(|wiki, ctx, _| status::view(wiki, ctx)).await
}

async fn show_graph(State(site): State<Site>, Query(asked): Query<graph::Asked>) -> Response {
    site.show(move |wiki, ctx, _| graph::view(wiki, ctx, &asked))
        .await
}

async fn show_projects(State(site): State<Site>) -> Response {
    site.show(|wiki, ctx, _| projects::view(wiki, ctx, "", &[]))
        .await
}

async fn ask_projects(State(site): State<Site>, body: Bytes) -> Response {
    let query = guard::form_values(&body, "query").into_iter().next();
    let asked = guard::form_values(&body, "project");
    site.show(move |wiki, ctx, _| {
        projects::view(wiki, ctx, query.as_deref().unwrap_or_default(), &asked)
    })
    .await
}

async fn show_project_page(
    State(site): State<Site>,
    Path((project, slug)): Path<(String, String)>,
) -> Response {
    site.show(move |wiki, ctx, _| projects::page(wiki, ctx, &project, &slug))
        .await
}

async fn show_ask(State(site): State<Site>, Query(asked): Query<Asked>) -> Response {
    let view = ask::view(&asked.q, None);
    reply::html(StatusCode::OK, layout::document(&site.name, &view))
}

/// What is to be asked.
#[derive(Debug, Default, serde::Deserialize)]
struct Asked {
    #[serde(default)]
    q: String,
}

/// The form without the script.
async fn answer_ask(State(site): State<Site>, body: Bytes) -> Response {
    let question = guard::form_values(&body, "question").concat();
    site.show(move |wiki, ctx, _| {
        let ask = Ask {
            question: question.clone(),
            k: None,
            scope: Scope::All,
            retrieve_only: false,
            model: None,
            no_model: false,
        };
        let report = ask.run(wiki, ctx)?;
        Ok(ask::view(&question, Some(&report)))
    })
    .await
}

async fn show_login() -> Response {
    login(StatusCode::OK, None)
}

async fn no_such_view(State(site): State<Site>) -> Response {
    let main = html! {
        article.notice {
            h1 { "There is nothing at this address" }
            p { a href="/" { "To the start" } " " a href="/pages" { "All pages" } }
        }
    };
    let view = View::new(Part::Other, "Nothing here", main);
    reply::html(StatusCode::NOT_FOUND, layout::document(&site.name, &view))
}

/// Asks a person for the token. Says nothing of the wiki.
pub(super) fn login(status: StatusCode, fault: Option<&str>) -> Response {
    let main = html! {
        form.notice.login method="post" action=(LOGIN) {
            h1 { "This wiki asks for its token" }
            p { code { "llmwiki serve" } " printed it when it started, or it is the one of " code { "LLMWIKI_TOKEN" } "." }
            @if let Some(fault) = fault { p.bad role="alert" { (fault) } }
            label for="w-token" { "Token" }
            input #w-token type="password" name="token" autocomplete="current-password" required autofocus;
            button type="submit" { "Open" }
        }
    };
    let view = View::new(Part::Other, "Token", main);
    reply::html(status, layout::document("llmwiki", &view))
}
