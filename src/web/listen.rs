//! Accepts connections, so many at once, and closes those that say nothing.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::{ServeOptions, router};
use crate::mcp::{Server, stop_signal};

/// So many connections are open at once; more wait to be accepted.
const MAX_CONNECTIONS: usize = 256;

/// The head of a request must have come within this time.
const HEAD_TIME: Duration = Duration::from_secs(15);

/// How long requests in work may take when the server stops.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait when the system has no descriptor left for a new connection.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that has its address but answers nobody yet.
#[derive(Debug)]
pub struct Listening {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl Listening {
    /// Takes the address.
    ///
    /// # Errors
    /// When it is taken or not ours to take, and when the system gives no threads.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        Ok(Self {
            runtime,
            listener,
            address,
        })
    }

    /// The address that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT; requests in work are finished.
    ///
    /// # Errors
    /// When the system gives no way to listen for signals.
    pub fn serve(self, server: Server, options: &ServeOptions) -> io::Result<()> {
        let served = self.runtime.block_on(async {
            let stop = stop_signal()?;
            accept(&self.listener, server, options, stop).await;
            Ok(())
        });
        self.runtime.shutdown_background();
        served
    }
}

async fn accept(
    listener: &TcpListener,
    server: Server,
    options: &ServeOptions,
    stop: impl Future<Output = ()>,
) {
    let idle = server.clone();
    let (router, end_streams) = router(server, options);
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME);
    tokio::pin!(stop);
    loop {
        let next = async {
            // Never closed.
            let permit = connections.clone().acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(cause) => {
                tracing::warn!(%cause, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = builder
            .serve_connection(TokioIo::new(stream), service)
            .into_owned();
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            let _permit = permit;
            if let Err(cause) = connection.await {
                tracing::debug!(%cause, "a connection ended badly");
            }
        });
    }
    end_streams();
    let _ = tokio::time::timeout(PATIENCE, graceful.shutdown()).await;
    idle.finish().await;
}
