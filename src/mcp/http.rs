//! The same server over streamable HTTP, as a route for the HTTP server. Clients of the older
//! protocols have a session, so that a call in one request can be cancelled by another; the
//! newest protocol needs none.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::{Server, largest_message};

/// A session that nobody uses for so long ends. A host that comes back then begins a new one.
const IDLE: Duration = Duration::from_hours(24);

/// So many sessions are open at most; each takes some kilobytes.
const MAX_SESSIONS: usize = 1024;

impl Server {
    /// The route `/mcp`, and what ends its streams. Whoever mounts it checks Host, Origin and
    /// who is there.
    pub(crate) fn route(self) -> (Router, impl FnOnce()) {
        let mut config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_max_request_body_bytes(largest_message(&self.0.ctx.limits));
        config.json_response = true;
        let token = config.cancellation_token.clone();
        let mut session_config = SessionConfig::default();
        session_config.keep_alive = Some(IDLE);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = session_config;
        let sessions = Arc::new(sessions);
        let service =
            StreamableHttpService::new(move || Ok(self.clone()), sessions.clone(), config);
        let router = Router::new()
            .route_service("/mcp", service)
            .layer(middleware::from_fn_with_state(sessions, limit_sessions));
        (router, move || token.cancel())
    }
}

/// Refuses a request that may open a session while there are too many.
async fn limit_sessions(
    State(sessions): State<Arc<LocalSessionManager>>,
    request: Request,
    next: Next,
) -> Response {
    let opens = request.method() == Method::POST
        && !request.headers().contains_key("mcp-session-id")
        && !request.headers().contains_key("mcp-protocol-version");
    if opens && sessions.sessions.read().await.len() >= MAX_SESSIONS {
        let message = "too many sessions are open; end one and try again\n";
        return (StatusCode::SERVICE_UNAVAILABLE, message).into_response();
    }
    next.run(request).await
}
