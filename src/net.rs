//! GET requests to one server, for those who ask many small things: within a deadline, with bodies
//! of bounded size, tried again where a refusal passes (429 and 5xx, a lost connection), a little
//! later each time or when the server says (`Retry-After`).
//!
//! The token belongs to the address that the user gave. Redirects are followed, to another host
//! without the token, and never from https to http. No error and no log line holds the token.

use std::io::Read as _;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use ureq::http::header::{HeaderMap, HeaderValue};
use ureq::http::{Uri, uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::config::{Forge, ModelKey};
use crate::context::Context;

/// How often a request is made.
const ATTEMPTS: u32 = 4;
/// First wait between attempts; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// How many redirects are followed.
const MAX_REDIRECTS: u32 = 5;
/// How much of what a server says about a failure is shown.
const SHOWN_BYTES: u64 = 2000;
const SHOWN_CHARS: usize = 200;
/// Largest file of certificates.
const MAX_CA_BYTES: u64 = 4 << 20;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NetError {
    /// The server said no.
    #[error("{host} answered {status}{}", meaning(*.status, .said))]
    Status {
        host: String,
        status: u16,
        said: String,
    },
    /// No answer in time.
    #[error("{host} gave no whole answer in time")]
    Timeout { host: String },
    /// It cannot be reached, or what it says is no HTTP.
    #[error("{host} cannot be reached: {why}")]
    Transport { host: String, why: String },
    /// The answer ended early.
    #[error("the answer of {host} broke off: {why}")]
    Cut { host: String, why: String },
    /// The answer is larger than what was asked for can be.
    #[error("the answer of {host} has more than {limit} bytes")]
    TooLarge { host: String, limit: u64 },
    /// Redirects that lead nowhere or where they must not.
    #[error("{host} redirects {how}")]
    Redirect { host: String, how: &'static str },
    /// The answer repeats the token, so it is neither kept nor shown.
    #[error("the answer of {host} holds the token that it was asked with")]
    Echo { host: String },
    /// The settings of the forge cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The user ended it.
    #[error("the operation was cancelled")]
    Aborted,
}

fn meaning(status: u16, said: &str) -> String {
    let words = match status {
        401 => " (the token is missing or not accepted)",
        403 => " (the token does not allow it)",
        404 => " (not found, or not to be seen with this token)",
        429 => " (too many requests)",
        _ => "",
    };
    if said.is_empty() {
        words.to_owned()
    } else {
        format!("{words}: {said}")
    }
}

/// An answer of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    /// 200, 304 or 404.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// A header as text; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// A request, relative to the base address of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// Path with its query, beginning with a slash.
    pub(crate) path: &'a str,
    /// The version that is known already.
    pub(crate) etag: &'a str,
    /// Largest body.
    pub(crate) limit: u64,
    /// When there is no use in an answer any more.
    pub(crate) deadline: Instant,
}

/// A server. Connections are kept open between requests, no more than were ever used at once.
pub(crate) struct Client {
    agent: ureq::Agent,
    base: String,
    /// `host:port`, for messages.
    host: String,
    token: Option<ModelKey>,
}

impl Client {
    /// # Errors
    /// `Settings` for an address, a token or a file of certificates that cannot be used.
    pub(crate) fn new(forge: &Forge) -> Result<Self, NetError> {
        let wrong = |what: String| NetError::Settings(what);
        let uri: Uri = forge
            .url
            .parse()
            .map_err(|_| wrong(format!("{:?} is no address", forge.url)))?;
        let host = uri
            .authority()
            .map(ToString::to_string)
            .ok_or_else(|| wrong(format!("{:?} names no host", forge.url)))?;
        if let Some(token) = &forge.token
            && HeaderValue::from_str(token.reveal()).is_err()
        {
            return Err(wrong(format!(
                "the token of forge {} holds characters that no token has",
                forge.name
            )));
        }
        let mut tls = TlsConfig::builder();
        if let Some(file) = &forge.ca_file {
            let refuse = |why: String| wrong(format!("{}: {why}", file.display()));
            let pem = crate::tree::read_input(file, MAX_CA_BYTES)
                .map_err(|cause| refuse(cause.to_string()))?;
            let certificates: Result<Vec<Certificate<'static>>, _> = parse_pem(&pem)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                    Ok(_) => None,
                    Err(error) => Some(Err(error)),
                })
                .collect();
            let certificates = certificates.map_err(|cause| refuse(cause.to_string()))?;
            if certificates.is_empty() {
                return Err(refuse("it holds no certificate".to_owned()));
            }
            tls = tls.root_certs(RootCerts::new_with_certs(&certificates));
        }
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(forge.connections)
            .max_idle_connections_per_host(forge.connections)
            .user_agent(concat!("llmwiki/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls.build())
            .build()
            .into();
        Ok(Self {
            agent,
            base: forge.url.clone(),
            host,
            token: forge.token.clone(),
        })
    }

    /// `host:port`, for messages.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Asks until there is an answer that will not change by asking again.
    ///
    /// # Errors
    /// [`NetError`]; every status but 200, 304 and 404 is one.
    pub(crate) fn get(&self, request: &Request<'_>, ctx: &Context) -> Result<Answer, NetError> {
        let mut wait = FIRST_WAIT;
        let mut attempt = 1;
        loop {
            ctx.check().map_err(|_| NetError::Aborted)?;
            let (error, asked) = match self.once(request) {
                Ok(answer) => return Ok(answer),
                Err(Refused::Final(error)) => return Err(error),
                Err(Refused::Later(error, asked)) => (error, asked),
            };
            let pause = asked.unwrap_or(wait);
            if attempt == ATTEMPTS || Instant::now() + pause >= request.deadline {
                return Err(error);
            }
            tracing::info!(%error, attempt, "asked again");
            let until = Instant::now() + pause;
            while Instant::now() < until {
                ctx.check().map_err(|_| NetError::Aborted)?;
                let left = until.saturating_duration_since(Instant::now());
                std::thread::sleep(Duration::from_millis(20).min(left));
            }
            wait *= 2;
            attempt += 1;
        }
    }

    fn once(&self, request: &Request<'_>) -> Result<Answer, Refused> {
        let mut uri: Uri = format!("{}{}", self.base, request.path)
            .parse()
            .map_err(|_| {
                Refused::Final(NetError::Settings(format!(
                    "{}{} is no address",
                    self.base, request.path
                )))
            })?;
        let home = origin(&uri);
        for _ in 0..=MAX_REDIRECTS {
            let is_home = origin(&uri) == home;
            let answer = self.send(&uri, is_home, request)?;
            if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return self.judged(answer);
            }
            let lost = |how| {
                Refused::Final(NetError::Redirect {
                    host: self.host.clone(),
                    how,
                })
            };
            let next =
                redirected(&uri, answer.header("location")).ok_or_else(|| lost("to no address"))?;
            if uri.scheme_str() == Some("https") && next.scheme_str() != Some("https") {
                return Err(lost("from https to http, which is not followed"));
            }
            if next == uri {
                return Err(lost("to the same address again"));
            }
            uri = next;
        }
        Err(Refused::Final(NetError::Redirect {
            host: self.host.clone(),
            how: "in a circle or too often",
        }))
    }

    fn send(&self, uri: &Uri, is_home: bool, request: &Request<'_>) -> Result<Answer, Refused> {
        let host = uri
            .authority()
            .map_or_else(|| self.host.clone(), ToString::to_string);
        let left = request.deadline.saturating_duration_since(Instant::now());
        let late = || Refused::Final(NetError::Timeout { host: host.clone() });
        if left.is_zero() {
            return Err(late());
        }
        let mut call = self.agent.get(uri);
        if is_home
            && let Some(token) = &self.token
            && let Ok(mut value) = HeaderValue::from_str(&format!("token {}", token.reveal()))
        {
            value.set_sensitive(true);
            call = call.header("authorization", value);
        }
        if is_home && !request.etag.is_empty() {
            call = call.header("if-none-match", request.etag);
        }
        let failed = |error: ureq::Error| match error {
            ureq::Error::Timeout(_) => late(),
            ureq::Error::Io(_) | ureq::Error::ConnectionFailed | ureq::Error::HostNotFound => {
                Refused::Later(
                    NetError::Transport {
                        host: host.clone(),
                        why: self.clean(&error.to_string()),
                    },
                    None,
                )
            }
            error => Refused::Final(NetError::Transport {
                host: host.clone(),
                why: self.clean(&error.to_string()),
            }),
        };
        let response = call
            .config()
            .timeout_global(Some(left))
            .build()
            .call()
            .map_err(failed)?;
        let status = response.status().as_u16();
        let (parts, body) = response.into_parts();
        let limit = if matches!(status, 200 | 404) {
            request.limit
        } else {
            SHOWN_BYTES
        };
        let mut bytes = Vec::new();
        let read = body
            .into_with_config()
            .limit(u64::MAX)
            .reader()
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes);
        if bytes.len() as u64 > limit {
            if status == 200 {
                return Err(Refused::Final(NetError::TooLarge { host, limit }));
            }
            bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        } else if let Err(error) = read {
            let is_late =
                error.kind() == std::io::ErrorKind::TimedOut || Instant::now() >= request.deadline;
            if is_late {
                return Err(late());
            }
            let why = self.clean(&error.to_string());
            return Err(Refused::Later(NetError::Cut { host, why }, None));
        }
        Ok(Answer {
            status,
            headers: parts.headers,
            body: bytes,
        })
    }

    /// An answer, or the failure that it stands for.
    fn judged(&self, answer: Answer) -> Result<Answer, Refused> {
        if let Some(token) = &self.token
            && let token = token.reveal().as_bytes()
            && answer.status == 200
            && answer.body.windows(token.len()).any(|part| part == token)
        {
            return Err(Refused::Final(NetError::Echo {
                host: self.host.clone(),
            }));
        }
        if matches!(answer.status, 200 | 304 | 404) {
            return Ok(answer);
        }
        let status = answer.status;
        let error = NetError::Status {
            host: self.host.clone(),
            status,
            said: self.said(&answer),
        };
        if status == 429 || status >= 500 {
            return Err(Refused::Later(
                error,
                retry_after(answer.header("retry-after")),
            ));
        }
        Err(Refused::Final(error))
    }

    /// What a server says about a failure, where it says it in JSON as forges do.
    fn said(&self, answer: &Answer) -> String {
        let message = serde_json::from_slice::<serde_json::Value>(&answer.body)
            .ok()
            .and_then(|body| Some(body.get("message")?.as_str()?.to_owned()))
            .unwrap_or_default();
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        self.clean(&line).chars().take(SHOWN_CHARS).collect()
    }

    /// A text without the token.
    fn clean(&self, text: &str) -> String {
        match &self.token {
            Some(token) => text.replace(token.reveal(), "(token)"),
            None => text.to_owned(),
        }
    }
}

enum Refused {
    /// Worth another attempt, after the time that the server asked for.
    Later(NetError, Option<Duration>),
    Final(NetError),
}

/// Scheme, host and port: where the token may go.
fn origin(uri: &Uri) -> (String, String, u16) {
    let scheme = uri.scheme_str().unwrap_or_default().to_ascii_lowercase();
    let default = if scheme == "https" { 443 } else { 80 };
    let host = uri.host().unwrap_or_default().to_ascii_lowercase();
    (scheme, host, uri.port_u16().unwrap_or(default))
}

/// The address that a `Location` means.
fn redirected(from: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next().unwrap_or_default();
    if location.is_empty() {
        return None;
    }
    let (scheme, authority) = (from.scheme_str()?, from.authority()?.as_str());
    let absolute = if location.contains("://") {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let folder = from
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    let uri: Uri = absolute.parse().ok()?;
    let is_http = matches!(
        uri.scheme().map(uri::Scheme::as_str),
        Some("http" | "https")
    );
    (is_http && uri.host().is_some()).then_some(uri)
}

/// The wait that a server asks for: seconds, or a date.
fn retry_after(value: &str) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::DateTimeParser::new()
        .parse_timestamp(value)
        .or_else(|_| rfc2822::DateTimeParser::new().parse_timestamp(value.replace("GMT", "+0000")))
        .ok()?;
    let left = at.duration_since(Timestamp::now());
    Some(Duration::try_from(left).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_resolved_and_other_schemes_are_none() {
        let from: Uri = "http://h:3000/forge/api/v1/repos/a/b".parse().unwrap();
        let to = |location: &str| redirected(&from, location).map(|uri| uri.to_string());
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(to("/x?y=1#z"), is("http://h:3000/x?y=1"));
        assert_eq!(to("c"), is("http://h:3000/forge/api/v1/repos/a/c"));
        assert_eq!(to("//other/x"), is("http://other/x"));
        assert_eq!(to("https://other/x"), is("https://other/x"));
        assert_eq!(to("file:///etc/passwd"), None);
        assert_eq!(to(""), None);
    }

    #[test]
    fn the_token_belongs_to_scheme_host_and_port() {
        let of = |text: &str| origin(&text.parse().unwrap());
        assert_eq!(of("https://H/x"), of("https://h:443/y"));
        assert_ne!(of("https://h/x"), of("http://h/x"));
        assert_ne!(of("http://h:3000/x"), of("http://h/x"));
        assert_ne!(of("http://h.evil/x"), of("http://h/x"));
    }

    #[test]
    fn a_wait_is_given_in_seconds_or_as_a_date() {
        assert_eq!(retry_after("3"), Some(Duration::from_secs(3)));
        assert_eq!(
            retry_after("Wed, 21 Oct 2015 07:28:00 GMT"),
            Some(Duration::ZERO)
        );
        assert_eq!(retry_after("soon"), None);
        assert_eq!(retry_after(""), None);
    }
}
