//! Who may ask: Host and Origin, so that no page of another site gets through a browser to us;
//! the token; and the bounds of one request: size, time and how many at once.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, AUTHORIZATION, COOKIE, HOST, ORIGIN,
    RETRY_AFTER, SET_COOKIE, VARY, WWW_AUTHENTICATE,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use tokio::sync::Semaphore;

use super::{ServeOptions, dashboard};
use crate::id::ContentHash;

/// So many requests are in work at once; more are sent away.
const MAX_REQUESTS: usize = 64;

/// A request must have arrived whole within this time.
const BODY_TIME: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(super) struct Guard(Arc<Rules>);

struct Rules {
    loopback: bool,
    token: Option<String>,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    max_body_bytes: usize,
    requests: Semaphore,
}

impl Guard {
    pub(super) fn new(options: &ServeOptions) -> Self {
        let lower = |host: &String| host.to_ascii_lowercase();
        Self(Arc::new(Rules {
            loopback: options.is_loopback(),
            token: options.token.clone(),
            allowed_hosts: options.allowed_hosts.iter().map(lower).collect(),
            allowed_origins: options.allowed_origins.clone(),
            max_body_bytes: options.max_body_bytes,
            requests: Semaphore::new(MAX_REQUESTS),
        }))
    }
}

/// Checks a request and hands it on.
pub(super) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let rules = &guard.0;
    let origin = request.headers().get(ORIGIN).cloned();
    let guest = origin.filter(|it| is_embedded(request.uri().path()) && rules.is_allowed(it));
    let mut response = answer(rules, request, guest.is_some(), next).await;
    if let Some(origin) = guest {
        let_read(&mut response, origin);
    }
    response
}

async fn answer(rules: &Rules, request: Request, is_guest: bool, next: Next) -> Response {
    let mut asks_only = request.headers().clone();
    if is_guest && request.method() == Method::OPTIONS {
        // It brings no token, and gets nothing of the wiki.
        if let Some(token) = &rules.token
            && let Ok(value) = HeaderValue::from_str(&format!("Bearer {token}"))
        {
            asks_only.insert(AUTHORIZATION, value);
        }
        return match rules.admit(request.uri(), &asks_only) {
            Ok(()) => preflight(),
            Err(refused) => refused,
        };
    }
    if let Err(refused) = rules.admit(request.uri(), request.headers()) {
        let is_person = request.method() == Method::GET && wants_html(request.headers());
        return if refused.status() == StatusCode::UNAUTHORIZED && is_person {
            dashboard::login(StatusCode::UNAUTHORIZED, None)
        } else {
            refused
        };
    }
    let Ok(_permit) = rules.requests.try_acquire() else {
        let mut busy = refuse(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once");
        busy.headers_mut()
            .insert(RETRY_AFTER, axum::http::HeaderValue::from_static("1"));
        return busy;
    };
    let (parts, body) = request.into_parts();
    let collected = axum::body::to_bytes(body, rules.max_body_bytes);
    let bytes = match tokio::time::timeout(BODY_TIME, collected).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let largest = rules.max_body_bytes;
            return refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                &format!("the request did not arrive whole, or has more than {largest} bytes"),
            );
        }
        Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT, "the request came too slowly"),
    };
    if crate::mcp::has_too_many_values(&bytes) {
        return refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request has too many values",
        );
    }
    if parts.uri.path() == dashboard::LOGIN && parts.method == Method::POST {
        return rules.log_in(&bytes);
    }
    next.run(Request::from_parts(parts, Body::from(bytes)))
        .await
}

/// What pages of other sites may show, where they were named.
fn is_embedded(path: &str) -> bool {
    path == "/api/wiki" || path.starts_with("/api/wiki/")
}

/// Lets the page that asked read the answer.
fn let_read(response: &mut Response, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// Answers a browser that asks before it asks.
fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let mut set = |name: HeaderName, value| {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    };
    set(ACCESS_CONTROL_ALLOW_METHODS, "GET, POST");
    set(ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type");
    set(ACCESS_CONTROL_MAX_AGE, "600");
    set(
        HeaderName::from_static("access-control-allow-private-network"),
        "true",
    );
    response
}

/// What is shown to who has no token yet: nothing of the wiki.
fn is_open(path: &str) -> bool {
    path == dashboard::LOGIN || path.starts_with("/assets/")
}

fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// What a browser keeps in place of the token, for this server and no other.
fn pass_of(token: &str) -> String {
    ContentHash::of(format!("llmwiki pass {token}").as_bytes()).to_string()
}

fn refuse(status: StatusCode, why: &str) -> Response {
    (status, format!("{why}\n")).into_response()
}

impl Rules {
    #[expect(
        clippy::result_large_err,
        reason = "the error is the response, made once a refused request"
    )]
    fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Response> {
        let forbidden = |why: &str| Err(refuse(StatusCode::FORBIDDEN, why));
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok().and_then(|host| host.parse().ok()),
            (None, None) => uri.authority().cloned(),
            _ => None,
        };
        let Some(host) = host else {
            return Err(refuse(
                StatusCode::BAD_REQUEST,
                "the Host header is missing or malformed",
            ));
        };
        if !self.knows(&host) {
            return forbidden("this server does not go by that name; --allow-host NAME allows one");
        }
        for origin in headers.get_all(ORIGIN) {
            let same = origin
                .to_str()
                .is_ok_and(|origin| is_origin_of(origin, &host));
            let is_guest = is_embedded(uri.path()) && self.is_allowed(origin);
            if !same && !is_guest {
                return forbidden("requests of other sites are not answered");
            }
        }
        match &self.token {
            Some(token) if !brings(headers, token) && !is_open(uri.path()) => {
                let mut refused = refuse(
                    StatusCode::UNAUTHORIZED,
                    "send the token as Authorization: Bearer TOKEN",
                );
                refused.headers_mut().insert(
                    WWW_AUTHENTICATE,
                    axum::http::HeaderValue::from_static("Bearer"),
                );
                Err(refused)
            }
            _ => Ok(()),
        }
    }

    /// Whether a page of this origin may show the code wiki.
    fn is_allowed(&self, origin: &HeaderValue) -> bool {
        let known = |allowed: &String| allowed.as_bytes() == origin.as_bytes();
        self.allowed_origins.iter().any(known)
    }

    /// Gives the browser of a person who knows the token a pass; it ends with the browser.
    fn log_in(&self, form: &[u8]) -> Response {
        let given = form_values(form, "token").concat();
        let Some(token) = &self.token else {
            return Redirect::to("/").into_response();
        };
        if !equal(given.trim(), token) {
            return dashboard::login(StatusCode::UNAUTHORIZED, Some("That is not the token."));
        }
        let cookie = format!(
            "{PASS}={}; HttpOnly; SameSite=Strict; Path=/",
            pass_of(token)
        );
        let mut response = Redirect::to("/").into_response();
        if let Ok(value) = cookie.parse() {
            response.headers_mut().insert(SET_COOKIE, value);
        }
        response
    }

    /// Whether the server goes by this name. A name that an attacker can make point here is never
    /// an address, so addresses are good: those of this machine, and any when the server listens
    /// beyond it.
    fn knows(&self, host: &Authority) -> bool {
        let name = host.host().to_ascii_lowercase();
        if name == "localhost" || self.allowed_hosts.contains(&name) {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>()
            .is_ok_and(|address| !self.loopback || address.is_loopback())
    }
}

/// Whether an origin is the very server that is asked.
fn is_origin_of(origin: &str, host: &Authority) -> bool {
    let authority = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    authority
        .and_then(|authority| authority.parse::<Authority>().ok())
        .is_some_and(|authority| authority == *host)
}

/// Name of the cookie with the pass.
const PASS: &str = "llmwiki-pass";

/// Whether the request brings the token, or the pass that stands for it.
fn brings(headers: &HeaderMap, token: &str) -> bool {
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, given)| given.trim());
    if let Some(given) = bearer {
        return equal(given, token);
    }
    let cookies = headers.get_all(COOKIE).iter();
    let mut passes = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().strip_prefix(PASS)?.strip_prefix('='));
    passes.any(|given| equal(given, &pass_of(token)))
}

/// Whether two texts are the same; the time this takes says nothing about them.
fn equal(given: &str, known: &str) -> bool {
    let differences = given
        .bytes()
        .zip(known.bytes())
        .fold(0_u8, |seen, (a, b)| seen | (a ^ b));
    given.len() == known.len() && differences == 0
}

/// The values of a form under a name.
pub(super) fn form_values(form: &[u8], name: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(form);
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| {
        let value = value.replace('+', " ");
        let decoded = percent_encoding::percent_decode_str(&value).decode_utf8_lossy();
        decoded.into_owned()
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(address: &str, token: Option<&str>) -> Guard {
        Guard::new(&ServeOptions {
            address: address.parse().unwrap(),
            token: token.map(str::to_owned),
            allowed_hosts: vec!["Wiki.example".to_owned()],
            allowed_origins: vec!["https://board.example".to_owned()],
            max_body_bytes: 1,
        })
    }

    fn status(guard: &Guard, headers: &[(&str, &str)]) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        match guard.0.admit(&Uri::from_static("/mcp"), &map) {
            Ok(()) => 200,
            Err(refused) => refused.status().as_u16(),
        }
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_answered() {
        let guard = rules("127.0.0.1:80", None);
        for host in [
            "localhost",
            "LOCALHOST:7",
            "127.0.0.1:80",
            "[::1]:80",
            "wiki.example",
        ] {
            assert_eq!(status(&guard, &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "127.0.0.1.nip.io",
        ] {
            assert_eq!(status(&guard, &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&guard, &[]), 400);
        assert_eq!(status(&guard, &[("host", "a b")]), 400);
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(status(&guard, &twice), 400);
    }

    #[test]
    fn a_page_of_another_site_is_not_answered() {
        let guard = rules("127.0.0.1:80", None);
        let from = |origin: &str| status(&guard, &[("host", "localhost:80"), ("origin", origin)]);
        assert_eq!(from("http://localhost:80"), 200);
        for origin in [
            "null",
            "http://localhost",
            "http://localhost:81",
            "http://evil.example",
            "file://localhost:80",
            "",
        ] {
            assert_eq!(from(origin), 403, "{origin}");
        }
    }

    #[test]
    fn a_page_that_was_named_reaches_the_code_wiki_and_nothing_else() {
        let guard = rules("127.0.0.1:80", None);
        let from = |path: &'static str, origin: &'static str| {
            let mut map = HeaderMap::new();
            map.append(HOST, HeaderValue::from_static("localhost:80"));
            map.append(ORIGIN, HeaderValue::from_static(origin));
            let admitted = guard.0.admit(&Uri::from_static(path), &map);
            admitted.map_or_else(|refused| refused.status().as_u16(), |()| 200)
        };
        let board = "https://board.example";
        for path in ["/api/wiki", "/api/wiki/index", "/api/wiki/ask"] {
            assert_eq!(from(path, board), 200, "{path}");
            assert_eq!(
                from(path, "https://board.example.evil.example"),
                403,
                "{path}"
            );
            assert_eq!(from(path, "http://board.example"), 403, "{path}");
        }
        for path in [
            "/",
            "/mcp",
            "/api/ops/upsert-page",
            "/api/wikix",
            "/page/api/wiki",
        ] {
            assert_eq!(from(path, board), 403, "{path}");
        }
    }

    #[test]
    fn the_token_is_asked_for_when_there_is_one() {
        let guard = rules("0.0.0.0:80", Some("secret"));
        let with = |value: &str| status(&guard, &[("host", "10.0.0.1"), ("authorization", value)]);
        assert_eq!(status(&guard, &[("host", "10.0.0.1")]), 401);
        assert_eq!(with("Bearer secret"), 200);
        assert_eq!(with("bearer  secret"), 200);
        for wrong in [
            "Bearer secre",
            "Bearer secrets",
            "Bearer Secret",
            "Basic secret",
            "secret",
        ] {
            assert_eq!(with(wrong), 401, "{wrong}");
        }
    }
}
