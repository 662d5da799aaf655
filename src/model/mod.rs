//! Language models: a stub for tests, a program, or an OpenAI-compatible endpoint. The only module
//! that starts programs or opens sockets.
//!
//! Every answer is bounded in time and size. Only a model that the user configured or named is
//! used. What a model writes is never trusted: that is the business of `ground`.

mod command;
#[cfg(feature = "net")]
mod http;

use std::fmt::Write as _;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

use crate::code::redact;
use crate::context::Context;

pub use crate::config::{Model, ModelKind};

/// Largest answer in bytes; what goes on is stopped.
pub const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Why a model gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The program cannot be started.
    #[error("{program} cannot be started: {why}")]
    NotStarted {
        /// Its name.
        program: String,
        /// What the system said.
        why: String,
    },
    /// It took too long.
    #[error("it gave no answer within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// The program failed.
    #[error("it ended with {status}{}", said(.stderr))]
    Failed {
        /// How it ended.
        status: String,
        /// The end of what it said on standard error.
        stderr: String,
    },
    /// The server refused or failed.
    #[error("the server answered {status}{}", said(.body))]
    Status {
        /// The HTTP status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The server cannot be reached, or its answer not be read.
    #[error("{0}")]
    Transport(String),
    /// The answer is larger than [`MAX_ANSWER_BYTES`].
    #[error("its answer is larger than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
    /// There is nothing in the answer.
    #[error("its answer is empty")]
    Empty,
    /// This build cannot reach such a model.
    #[error("this build has no HTTP client")]
    NoClient,
    /// The user ended it.
    #[error("the operation was cancelled")]
    Aborted,
}

fn said(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        String::new()
    } else {
        format!(": {}", redact(text).text)
    }
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What it is to do.
    pub instructions: String,
    /// The question with its evidence.
    pub text: String,
}

impl Prompt {
    /// Adds lines of a file or page, below a heading, without secrets and names, between marks that
    /// they cannot hold. Answers how much was taken out.
    pub fn add_excerpt(&mut self, heading: &str, text: &str) -> u32 {
        let heading = redact(heading);
        let clean = redact(text);
        // The text cannot hold a mark that is made from it.
        let mark = format!("{:016x}", xxh3_64(clean.text.as_bytes()));
        let _ = write!(
            self.text,
            "{}\n<excerpt {mark}>\n{}\n</excerpt {mark}>\n\n",
            heading.text,
            clean.text.trim_end_matches(['\n', '\r'])
        );
        heading.secrets + heading.names + clean.secrets + clean.names
    }
}

/// Asks a model. `piece` is given the answer as it comes: in pieces from a server that streams,
/// whole from others.
///
/// # Errors
/// [`ModelError`]; pieces may have been given then.
pub fn complete(
    model: &Model,
    prompt: &Prompt,
    ctx: &Context,
    piece: &mut dyn FnMut(&str),
) -> Result<String, ModelError> {
    ctx.check().map_err(|_| ModelError::Aborted)?;
    let answer = match &model.kind {
        ModelKind::Stub(text) => text.clone(),
        ModelKind::Command(argv) => command::complete(argv, prompt, model.timeout, ctx)?,
        #[cfg(feature = "net")]
        ModelKind::Http(endpoint) => http::complete(endpoint, prompt, model.timeout, ctx, piece)?,
        #[cfg(not(feature = "net"))]
        ModelKind::Http(_) => return Err(ModelError::NoClient),
    };
    if answer.len() > MAX_ANSWER_BYTES {
        return Err(ModelError::TooLong);
    }
    if answer.trim().is_empty() {
        return Err(ModelError::Empty);
    }
    if !matches!(model.kind, ModelKind::Http(_)) {
        piece(&answer);
    }
    Ok(answer)
}
