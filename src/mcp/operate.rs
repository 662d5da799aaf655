//! Runs one operation for one call, off the threads that serve the connection: cancelled when the
//! client says so or goes away, with progress where the client asked for it, within the time
//! limit, and with a defect of ours as an answer instead of an end.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotification, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::{Server, words};
use crate::context::{Cancellation, Context, Progress, ProgressSink};
use crate::error::{Error, ErrorCode};
use crate::wiki::Wiki;

/// How often progress is told at most.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(300);

/// Why a call gives no report.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It failed as it can fail.
    Engine(Error),
    /// A defect of ours; the message went to standard error.
    Defect,
}

impl From<Error> for Failure {
    fn from(cause: Error) -> Self {
        Self::Engine(cause)
    }
}

impl Failure {
    /// As the text of a failed call.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Engine(error) => words::failure(error),
            Self::Defect => "INTERNAL: a defect of llmwiki itself; nothing half-done was kept\n\
                The server goes on. Its standard error says more: please report it."
                .to_owned(),
        }
    }
}

/// Asks the operation to stop when nobody waits for it any more.
struct StopOnDrop(Cancellation);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Server {
    /// Runs `task` for a call of the protocol and waits for it.
    pub(super) async fn operate<T: Send + 'static>(
        &self,
        request: &RequestContext<RoleServer>,
        task: impl FnOnce(&Wiki, &Context) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Failure> {
        let mut ctx = self.0.ctx.clone();
        let teller = request.meta.get_progress_token().map(|token| {
            let (sink, reports) = watch::channel(None);
            ctx = ctx.clone().with_progress(Arc::new(Latest(sink)));
            Teller::new(request.peer.clone(), token, reports)
        });
        self.work(ctx, request.ct.cancelled(), teller, task).await
    }

    /// Runs `task` for a caller who takes its answer whole, and waits for it; it is asked to stop
    /// when nobody waits any more. `listening` says who hears of its progress and its pieces.
    #[cfg(feature = "web")]
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        listening: impl FnOnce(Context) -> Context,
        task: impl FnOnce(&Wiki, &Context) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Failure> {
        let mut ctx = self.0.ctx.clone();
        ctx.limits.max_answer_bytes = usize::MAX;
        let ctx = listening(ctx);
        self.work(ctx, std::future::pending(), None, task).await
    }

    async fn work<T: Send + 'static>(
        &self,
        ctx: Context,
        cancelled: impl Future<Output = ()>,
        mut teller: Option<Teller>,
        task: impl FnOnce(&Wiki, &Context) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Failure> {
        let aborted = || Error::new(ErrorCode::Aborted, "the operation was cancelled");
        tokio::pin!(cancelled);
        let running = self.0.running.clone();
        let permit = tokio::select! {
            permit = running.acquire_owned() => permit,
            () = &mut cancelled => return Err(aborted().into()),
        };
        let cancellation = Cancellation::default();
        let _stop = StopOnDrop(cancellation.clone());
        let ctx = ctx.with_cancellation(cancellation.clone());
        let wiki = self.wiki();
        let mut job = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            task(&wiki, &ctx)
        });
        let deadline = self.0.time_limit.map(|limit| Instant::now() + limit);
        let mut late = false;
        let mut tick = tokio::time::interval(PROGRESS_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                ended = &mut job => return match ended {
                    Ok(Err(error)) if late && error.code() == ErrorCode::Aborted => {
                        Err(self.too_late().into())
                    }
                    Ok(ended) => ended.map_err(Failure::Engine),
                    Err(_) => {
                        self.renew();
                        Err(Failure::Defect)
                    }
                },
                () = &mut cancelled, if !cancellation.is_cancelled() => {
                    cancellation.cancel();
                }
                () = passed(deadline), if !cancellation.is_cancelled() => {
                    late = true;
                    cancellation.cancel();
                }
                _ = tick.tick(), if teller.is_some() => {
                    if let Some(teller) = &mut teller {
                        teller.tell().await;
                    }
                }
            }
        }
    }

    fn too_late(&self) -> Error {
        let limit = self.0.time_limit.unwrap_or_default().as_secs();
        Error::new(
            ErrorCode::Aborted,
            format!("the operation took longer than {limit} s and was stopped"),
        )
        .with_hint("ask for less, or run it on the command line, where nothing limits it")
    }

    /// Forgets what this process holds of the wiki in memory.
    fn renew(&self) {
        let mut wiki = self.0.wiki.lock().unwrap_or_else(PoisonError::into_inner);
        *wiki = Arc::new(Wiki::new(wiki.root(), wiki.config().clone()));
    }
}

async fn passed(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Keeps the latest report of an operation.
struct Latest(watch::Sender<Option<Progress>>);

impl ProgressSink for Latest {
    fn report(&self, progress: Progress) {
        self.0.send_replace(Some(progress));
    }
}

/// Tells a client about progress. The numbers rise over all stages of an operation.
struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    reports: watch::Receiver<Option<Progress>>,
    stage: &'static str,
    /// What the stages before came to.
    before: u64,
    told: u64,
}

impl Teller {
    fn new(
        peer: Peer<RoleServer>,
        token: ProgressToken,
        reports: watch::Receiver<Option<Progress>>,
    ) -> Self {
        Self {
            peer,
            token,
            reports,
            stage: "",
            before: 0,
            told: 0,
        }
    }

    async fn tell(&mut self) {
        if !self.reports.has_changed().unwrap_or(false) {
            return;
        }
        let Some(now) = *self.reports.borrow_and_update() else {
            return;
        };
        if now.stage != self.stage {
            self.stage = now.stage;
            self.before = self.told;
        }
        let progress = self.before + now.done;
        if progress <= self.told {
            return;
        }
        self.told = progress;
        let words = match now.total {
            Some(total) => format!("{}: {} of {total}", now.stage, now.done),
            None => format!("{}: {}", now.stage, now.done),
        };
        let mut params =
            ProgressNotificationParam::new(self.token.clone(), progress as f64).with_message(words);
        if let Some(total) = now.total {
            params = params.with_total((self.before + total) as f64);
        }
        // Who does not listen any more is told nothing; the call itself notices.
        let _ = self
            .peer
            .send_notification(ProgressNotification::new(params).into())
            .await;
    }
}
