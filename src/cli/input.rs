//! What a person names as input: files, and `-` for standard input. Only the console reads them.

use std::io::{self, BufRead, IsTerminal as _, Read as _};
use std::path::Path;

use super::session::Session;
use super::signals::Waiting;
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

/// Opens a named file, or standard input for `-`, for reading line by line.
pub(crate) fn lines<'a>(
    session: &'a Session,
    path: &Path,
    what: &str,
) -> Result<Box<dyn BufRead + 'a>> {
    let inner: Box<dyn BufRead> = if is_stdin(path) {
        tell_about_terminal(session, what);
        Box::new(io::BufReader::with_capacity(1 << 20, io::stdin()))
    } else {
        Box::new(tree::open_input(path).map_err(unreadable)?)
    };
    Ok(Box::new(Interruptible {
        inner,
        waiting: &session.waiting,
    }))
}

/// A reader during whose waits a signal ends the process at once.
struct Interruptible<'a> {
    inner: Box<dyn BufRead>,
    waiting: &'a Waiting,
}

impl io::Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.waiting.during(|| self.inner.read(buffer))
    }
}

impl BufRead for Interruptible<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.waiting.during(|| self.inner.fill_buf())
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
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
