//! The MCP server: every operation that names a tool, pages and sources as resources, prompts.
//!
//! It translates and bounds, nothing else: tools are a fold over
//! [`OPERATIONS`], so that an operation becomes a tool by naming one.
//! The protocol itself is rmcp's, in all of its versions, and rmcp is named in this module only.
//! Invariants: what goes out on a connection is protocol and nothing else; an answer fits the
//! context of a model and says how to go on; nothing that comes in ends the server.

mod bound;
mod handler;
mod hosts;
#[cfg(feature = "web")]
mod http;
mod operate;
mod prompts;
mod reference;
mod resources;
mod schema;
#[cfg(test)]
mod tests;
mod tools;
mod transport;
mod words;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::Tool;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use crate::context::Context;
use crate::limits::Limits;
use crate::ops::{OPERATIONS, OperationEntry};
use crate::wiki::Wiki;

pub use hosts::{HOSTS, Host, Snippet};
#[cfg(feature = "web")]
pub(crate) use operate::Failure;
pub use reference::tools as tools_reference;
#[cfg(feature = "web")]
pub(crate) use transport::has_too_many_values;

/// Largest answer of a tool as JSON text: about 20 000 tokens.
pub const MAX_ANSWER_BYTES: usize = 60_000;

/// How many operations one server runs at once; the rest waits.
const MAX_RUNNING: usize = 8;

/// How long a server whose input ended, or that was told to stop, waits for what it still runs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server of one wiki. Clones share everything, so that each connection can have one.
#[derive(Clone)]
pub struct Server(Arc<Shared>);

struct Shared {
    /// Replaced after a defect, so that no half-done state in memory is used again.
    wiki: Mutex<Arc<Wiki>>,
    ctx: Context,
    operations: &'static [OperationEntry],
    tools: Vec<Tool>,
    running: Arc<Semaphore>,
    time_limit: Option<Duration>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("wiki", &self.wiki())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server of `wiki`. The clock and the limits are those of `ctx`; each call is cancelled
    /// and reports its progress for itself.
    pub fn new(wiki: Wiki, ctx: &Context) -> Self {
        Self::with_operations(wiki, ctx, OPERATIONS)
    }

    fn with_operations(wiki: Wiki, ctx: &Context, operations: &'static [OperationEntry]) -> Self {
        let mut ctx = ctx.clone();
        ctx.limits.max_answer_bytes = MAX_ANSWER_BYTES - bound::SENTENCE;
        Self(Arc::new(Shared {
            wiki: Mutex::new(Arc::new(wiki)),
            ctx,
            operations,
            tools: tools::listed(operations),
            running: Arc::new(Semaphore::new(MAX_RUNNING)),
            time_limit: None,
        }))
    }

    /// The same server, with an end to each call: what takes longer is cancelled.
    #[must_use]
    pub fn with_time_limit(self, limit: Duration) -> Self {
        let shared = &self.0;
        Self(Arc::new(Shared {
            wiki: Mutex::new(self.wiki()),
            ctx: shared.ctx.clone(),
            operations: shared.operations,
            tools: shared.tools.clone(),
            running: shared.running.clone(),
            time_limit: Some(limit),
        }))
    }

    /// The wiki that is served.
    fn wiki(&self) -> Arc<Wiki> {
        let wiki = self.0.wiki.lock().unwrap_or_else(PoisonError::into_inner);
        wiki.clone()
    }

    /// What people call the wiki: the name of the project, or of the folder that it is.
    #[cfg(feature = "web")]
    pub(crate) fn name(&self) -> String {
        self.wiki().name()
    }

    /// Serves one connection, one JSON-RPC message a line, until its end, or until `stop`. What
    /// was begun by then is finished.
    pub async fn serve<R, W>(self, reader: R, writer: W, stop: impl Future<Output = ()>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let server = self.clone();
        let lines = transport::Lines::new(reader, writer, largest_message(&self.0.ctx.limits));
        tokio::pin!(stop);
        let served = tokio::select! {
            served = self.serve_protocol(lines) => served,
            () = &mut stop => return,
        };
        match served {
            Ok(service) => {
                let token = service.cancellation_token();
                let ended = service.waiting();
                tokio::pin!(ended);
                tokio::select! {
                    _ = &mut ended => {}
                    () = &mut stop => {
                        token.cancel();
                        let _ = ended.await;
                    }
                }
            }
            // Nobody said anything: an end like another.
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(cause) => tracing::warn!(%cause, "the connection could not be opened"),
        }
        server.finish().await;
    }

    /// Waits for the operations that still run. One that nobody waits for any more was asked to
    /// stop, and does so between two items; a commit is finished.
    pub(crate) async fn finish(&self) {
        let all = u32::try_from(MAX_RUNNING).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(PATIENCE, self.0.running.acquire_many(all)).await;
    }

    async fn serve_protocol<R, W>(
        self,
        lines: transport::Lines<R, W>,
    ) -> Result<rmcp::service::RunningService<rmcp::RoleServer, Self>, ServerInitializeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        rmcp::ServiceExt::serve(self, lines).await
    }

    /// Serves standard input and output until end of input or SIGTERM or SIGINT.
    ///
    /// # Errors
    /// When the system gives no threads or no way to listen for signals.
    pub fn serve_stdio(self) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let served = runtime.block_on(async {
            let stop = stop_signal()?;
            self.serve(tokio::io::stdin(), tokio::io::stdout(), stop)
                .await;
            Ok(())
        });
        // A thread may still wait for input that never comes; nothing of ours is in it.
        runtime.shutdown_background();
        served
    }

    /// Serves a recorded connection: the bytes of its input, then its end. Gives what was
    /// answered. For tests and measurements.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn replay(self, input: &[u8]) -> std::io::Result<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let (writer, mut answers) = tokio::io::duplex(1 << 16);
            let input = std::io::Cursor::new(input.to_vec());
            let serving = tokio::spawn(self.serve(input, writer, std::future::pending()));
            let mut output = Vec::new();
            tokio::io::AsyncReadExt::read_to_end(&mut answers, &mut output).await?;
            let _ = serving.await;
            Ok(output)
        })
    }
}

/// Resolves at SIGTERM or SIGINT.
///
/// # Errors
/// When the system gives no way to listen.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Largest message that is read: the largest source or page at its longest spelling in JSON, and
/// in any case enough that what is only a little too large gets an answer that says so.
pub(crate) fn largest_message(limits: &Limits) -> usize {
    let content = limits.max_source_bytes.max(limits.max_page_bytes);
    let spelled = usize::try_from(content)
        .unwrap_or(usize::MAX)
        .saturating_mul(6);
    spelled.saturating_add(1 << 20).max(32 << 20)
}
