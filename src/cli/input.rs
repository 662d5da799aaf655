//! What a person names as input: files, and `-` for standard input. Only the console reads them.

use std::io::{self, BufRead, IsTerminal as _, Read};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use super::session::Session;
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::tree::{self, TreeError};

/// Whether this names standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a named file, or standard input for `-`; `what` says what for. More than `limit` bytes
/// are refused.
pub(crate) fn read(session: &Session, path: &Path, what: &str, limit: u64) -> Result<Vec<u8>> {
    if !is_stdin(path) {
        return session
            .waiting
            .during(|| tree::read_input(path, limit))
            .map_err(unreadable);
    }
    tell_about_terminal(session, what);
    let mut content = Vec::new();
    session
        .waiting
        .during(|| {
            io::stdin()
                .lock()
                .take(limit.saturating_add(1))
                .read_to_end(&mut content)
        })
        .map_err(no_stdin)?;
    if content.len() as u64 > limit {
        return Err(Error::new(
            ErrorCode::LimitExceeded,
            format!("standard input is larger than the limit of {limit} bytes"),
        ));
    }
    Ok(content)
}

/// The same for text.
pub(crate) fn read_text(session: &Session, path: &Path, what: &str, limit: u64) -> Result<String> {
    let bytes = read(session, path, what, limit)?;
    String::from_utf8(bytes).map_err(|cause| {
        Error::new(
            ErrorCode::InvalidPage,
            format!(
                "{} is not UTF-8 at byte {}",
                if is_stdin(path) {
                    "standard input".to_owned()
                } else {
                    path.display().to_string()
                },
                cause.utf8_error().valid_up_to()
            ),
        )
    })
}

/// Opens a named file, or standard input for `-`, for reading line by line. Whoever waits for it
/// hears of a cancellation.
pub(crate) fn lines(session: &Session, path: &Path, what: &str) -> Result<impl BufRead> {
    let input: Box<dyn Read + Send> = if is_stdin(path) {
        tell_about_terminal(session, what);
        Box::new(io::stdin())
    } else {
        Box::new(tree::open_input(path).map_err(unreadable)?)
    };
    let (sender, chunks) = mpsc::sync_channel(1);
    std::thread::spawn(move || pump(input, &sender));
    Ok(Chunks {
        ctx: session.ctx.clone(),
        coming: chunks,
        chunk: Vec::new(),
        used: 0,
    })
}

/// How much is read at once.
const CHUNK_BYTES: usize = 1 << 18;
/// How often one who waits for input looks whether to go on waiting.
const LOOK: Duration = Duration::from_millis(100);

/// Reads until the end, a failure, or until nobody listens. An empty chunk is the end.
fn pump(mut input: Box<dyn Read + Send>, to: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let read = match input.read(&mut chunk) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            read => read,
        };
        let is_last = !matches!(read, Ok(1..));
        let read = read.map(|length| {
            chunk.truncate(length);
            chunk
        });
        if to.send(read).is_err() || is_last {
            return;
        }
    }
}

/// What a thread of its own reads.
struct Chunks {
    ctx: Context,
    coming: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    used: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.fill_buf()?;
        let length = there.len().min(buffer.len());
        buffer[..length].copy_from_slice(&there[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for Chunks {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.used == self.chunk.len() {
            match self.coming.recv_timeout(LOOK) {
                Ok(chunk) => {
                    self.chunk = chunk?;
                    self.used = 0;
                    if self.chunk.is_empty() {
                        break;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.ctx.check().map_err(io::Error::other)?;
                }
            }
        }
        Ok(&self.chunk[self.used..])
    }

    fn consume(&mut self, amount: usize) {
        self.used = (self.used + amount).min(self.chunk.len());
    }
}

/// Nobody should wonder why nothing happens.
fn tell_about_terminal(session: &Session, what: &str) {
    if io::stdin().is_terminal() {
        session.console.note(&format!(
            "reading {what} from the terminal; end it with Ctrl-D"
        ));
    }
}

fn no_stdin(cause: io::Error) -> Error {
    Error::new(ErrorCode::InvalidArgument, "cannot read standard input").with_source(cause)
}

/// A file that was named wrongly is a wrong argument, not a fault of the wiki.
fn unreadable(cause: TreeError) -> Error {
    match cause {
        TreeError::Missing { .. } | TreeError::NotRegular { .. } => {
            Error::new(ErrorCode::InvalidArgument, cause.to_string()).with_source(cause)
        }
        other => other.into(),
    }
}
