//! Who listens is told of changes: one look at the history every two seconds, for all listeners
//! together and only while there are any.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, broadcast, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::dashboard::Site;
use super::reply::{self, Event};
use crate::error::ErrorCode;
use crate::mcp::{Failure, Server};
use crate::ops::{History, Operation as _};
use crate::wiki::RevisionReport;

/// How often is looked.
const LOOK: Duration = Duration::from_secs(2);

/// How often a connection on which nothing happens is used, so that nobody closes it.
const ALIVE: Duration = Duration::from_secs(20);

/// So many listen at once.
const MOST_LISTENERS: usize = 64;

/// So many changes are told of one look; who wants all reads the history.
const MOST_CHANGES: usize = 50;

/// The channel from the look to the listeners.
#[derive(Clone)]
pub(super) struct Changes {
    sender: broadcast::Sender<Arc<Value>>,
    places: Arc<Semaphore>,
    ended: Arc<watch::Sender<bool>>,
    /// The newest revision that was told, while anybody listens.
    known: Known,
}

type Known = Arc<Mutex<Option<u64>>>;

impl Changes {
    /// Begins to look, on the run-time that it is called on.
    pub(super) fn of(server: Server) -> Self {
        let (sender, _) = broadcast::channel(MOST_CHANGES * 2);
        let known = Known::default();
        tokio::spawn(look(server, sender.clone(), Arc::clone(&known)));
        Self {
            sender,
            places: Arc::new(Semaphore::new(MOST_LISTENERS)),
            ended: Arc::new(watch::Sender::new(false)),
            known,
        }
    }

    /// Lets all listeners go.
    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }
}

/// The last revisions, newest first; none where there is no wiki yet.
async fn newest(server: &Server, limit: usize) -> Option<Vec<RevisionReport>> {
    let history = History {
        limit: Some(limit),
        ..History::default()
    };
    let read = server.run(|ctx| ctx, move |wiki, ctx| history.run(wiki, ctx));
    match read.await {
        Ok(report) => Some(report.revisions),
        // The first change makes the wiki.
        Err(Failure::Engine(error)) if error.code() == ErrorCode::NotInitialized => {
            Some(Vec::new())
        }
        Err(_) => None,
    }
}

fn number(revisions: &[RevisionReport]) -> u64 {
    revisions.first().map_or(0, |revision| revision.seq)
}

async fn look(server: Server, sender: broadcast::Sender<Arc<Value>>, known: Known) {
    let mut tick = interval(LOOK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if sender.receiver_count() == 0 {
            *known.lock().unwrap_or_else(PoisonError::into_inner) = None;
            continue;
        }
        let Some(revisions) = newest(&server, MOST_CHANGES).await else {
            continue;
        };
        let since = {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody is told what was there before.
            known.replace(number(&revisions)).unwrap_or(u64::MAX)
        };
        for revision in revisions.iter().rev().filter(|it| it.seq > since) {
            let _ = sender.send(Arc::new(json!(revision)));
        }
    }
}

/// `GET /api/events`.
pub(super) async fn listen(State(site): State<Site>) -> Response {
    let Ok(place) = site.changes.places.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many listen already\n").into_response();
    };
    let mut changes = site.changes.sender.subscribe();
    // What happens from now on is told.
    if let Some(revisions) = newest(&site.server, 1).await {
        let known = site.changes.known.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert(number(&revisions));
    }
    let mut ended = site.changes.ended.subscribe();
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _place = place;
        let mut alive = interval(ALIVE);
        loop {
            let event = tokio::select! {
                _ = alive.tick() => Event::Nothing,
                () = sender.closed() => return,
                _ = ended.wait_for(|ended| *ended) => return,
                change = changes.recv() => match change {
                    Ok(change) => Event::Of("change", (*change).clone()),
                    // Who is slow missed some; the next is told.
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return,
                },
            };
            if sender.send(event).await.is_err() {
                return;
            }
        }
    });
    reply::events(receiver)
}
