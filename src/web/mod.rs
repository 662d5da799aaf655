//! The HTTP server of `llmwiki serve`: MCP at `/mcp`, and the dashboard for people.
//!
//! `guard` and `listen` answer for who may ask and how much: Host, Origin and token, bounds of
//! each request, connections and slow senders. `dashboard` says which address shows what; the
//! `views` read through `ops` and `wiki` and write HTML, with wiki text made safe by `markdown`.
//! Invariants: on a loopback address no foreign page can reach it, beyond loopback nobody without
//! the token; a GET changes nothing; nothing is read, kept or waited for without a bound.

mod answer;
mod api;
mod assets;
mod dashboard;
mod events;
mod graph;
mod guard;
mod layout;
mod lines;
mod listen;
mod markdown;
mod openapi;
mod reply;
mod urls;
mod views;

use std::net::SocketAddr;

use axum::Router;
use axum::middleware;

pub use listen::Listening;
pub use openapi::http_reference;

use crate::id::ContentHash;
use crate::mcp::Server;
use guard::Guard;

/// Who may ask, and where.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Address and port; port 0 takes one that is free.
    pub address: SocketAddr,
    /// What each request must bring as `Authorization: Bearer`; asked for when it is set.
    pub token: Option<String>,
    /// Names besides `localhost` by which the server is reached.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may show the code wiki.
    pub allowed_origins: Vec<String>,
    /// Largest body of a request, in bytes.
    pub max_body_bytes: usize,
}

impl ServeOptions {
    /// Whether only this machine can reach the server.
    pub fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }
}

/// A token that nobody can guess: made of 256 random bits.
///
/// # Errors
/// When the system has no randomness.
pub fn new_token() -> std::io::Result<String> {
    let mut bits = [0_u8; 32];
    getrandom::fill(&mut bits).map_err(std::io::Error::other)?;
    Ok(ContentHash::of(&bits).to_string())
}

/// All routes behind the guard, and what ends their streams.
fn router(server: Server, options: &ServeOptions) -> (Router, impl FnOnce() + use<>) {
    let (mcp, end) = server.clone().route();
    let guard = Guard::new(options);
    let (views, end_views) = dashboard::routes(server);
    let router = views
        .merge(mcp)
        .layer(middleware::from_fn_with_state(guard, guard::check));
    let end_all = move || {
        end();
        end_views();
    };
    (router, end_all)
}
