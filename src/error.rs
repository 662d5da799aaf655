//! The one error of the public API: a stable code to branch on, a message to read, a hint that
//! says what to do next. Each area has its own small error type; they become this one at the
//! border of `wiki` and `ops`. One table maps a code to exit status, HTTP status and JSON-RPC
//! code; docs/errors.md is generated from it.

use std::fmt;

/// Stable codes, in the order in which docs/errors.md lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// There is no wiki at the root.
    NotInitialized,
    /// A path or page id breaks the grammar, or collides with another.
    InvalidPath,
    /// An argument is missing, malformed or out of range.
    InvalidArgument,
    /// A configuration file or variable cannot be used.
    InvalidConfig,
    /// No such source.
    SourceNotFound,
    /// No such page or revision.
    PageNotFound,
    /// Page text breaks the page grammar.
    InvalidPage,
    /// Something is larger than its limit.
    LimitExceeded,
    /// The page is not in the state the caller expected.
    Conflict,
    /// The operation was cancelled.
    Aborted,
    /// The file system holds something that is not safe to follow or read, or refused us.
    UnsafeFilesystem,
    /// The store or index is damaged.
    IndexCorrupt,
    /// Somebody else holds the wiki.
    StoreBusy,
    /// The store was written by a newer version.
    StoreTooNew,
    /// No space is left.
    StoreFull,
    /// A language model failed.
    ModelFailed,
    /// No project of that name.
    ProjectUnknown,
    /// A remote server failed.
    RemoteFailed,
}

/// What one code means at each door.
#[derive(Debug, Clone, Copy)]
pub struct ErrorRow {
    /// The code.
    pub code: ErrorCode,
    /// Its stable name.
    pub name: &'static str,
    /// Exit status of the command line: 2 for usage, 3 for failure, 130 for interruption.
    pub exit_status: u8,
    /// HTTP status.
    pub http_status: u16,
    /// JSON-RPC error code.
    pub json_rpc: i32,
    /// One sentence for the reference page.
    pub meaning: &'static str,
}

macro_rules! table {
    ($($variant:ident $name:literal $exit:literal $http:literal $rpc:literal $meaning:literal),+ $(,)?) => {
        const TABLE: &[ErrorRow] = &[$(ErrorRow {
            code: ErrorCode::$variant,
            name: $name,
            exit_status: $exit,
            http_status: $http,
            json_rpc: $rpc,
            meaning: $meaning,
        }),+];
        impl ErrorCode {
            /// Every code, in documentation order.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),+];
        }
    };
}

table! {
    NotInitialized "NOT_INITIALIZED" 3 404 -32010 "there is no wiki at the root",
    InvalidPath "INVALID_PATH" 2 400 -32602 "a page id or path breaks the grammar, or collides with an existing one",
    InvalidArgument "INVALID_ARGUMENT" 2 400 -32602 "an argument is missing, malformed or out of range",
    InvalidConfig "INVALID_CONFIG" 2 500 -32011 "a configuration file or variable cannot be used",
    SourceNotFound "SOURCE_NOT_FOUND" 3 404 -32012 "no source has that id",
    PageNotFound "PAGE_NOT_FOUND" 3 404 -32013 "no page or revision has that id",
    InvalidPage "INVALID_PAGE" 3 422 -32014 "page text breaks the page grammar",
    LimitExceeded "LIMIT_EXCEEDED" 3 413 -32015 "something is larger than its limit",
    Conflict "CONFLICT" 3 409 -32016 "the page is not in the state that the caller expected",
    Aborted "ABORTED" 130 499 -32017 "the operation was cancelled",
    UnsafeFilesystem "UNSAFE_FILESYSTEM" 3 500 -32018 "the file system holds something that is not safe to follow or read, or refused access",
    IndexCorrupt "INDEX_CORRUPT" 3 500 -32019 "the store is damaged",
    StoreBusy "STORE_BUSY" 3 503 -32020 "somebody else holds the wiki",
    StoreTooNew "STORE_TOO_NEW" 3 500 -32021 "the store was written by a newer version",
    StoreFull "STORE_FULL" 3 507 -32022 "no space is left where the wiki lives",
    ModelFailed "MODEL_FAILED" 3 502 -32023 "a language model failed",
    ProjectUnknown "PROJECT_UNKNOWN" 3 404 -32024 "no project has that name",
    RemoteFailed "REMOTE_FAILED" 3 502 -32025 "a remote server failed",
}

impl ErrorCode {
    /// The row of this code.
    pub fn row(self) -> &'static ErrorRow {
        // `table!` makes the enum order and the table order one; the test below proves it.
        &TABLE[self as usize]
    }

    /// The stable name, for example `PAGE_NOT_FOUND`.
    pub fn as_str(self) -> &'static str {
        self.row().name
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Any failure of the public API. It means that nothing was written.
#[derive(Debug)]
pub struct Error {
    code: ErrorCode,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with a message (lower case, no full stop).
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// Adds what to do next.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message, lower case, without a full stop.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message with its causes, where a cause says something new.
    pub fn explained(&self) -> String {
        let mut text = self.message.clone();
        let mut cause = std::error::Error::source(self);
        while let Some(inner) = cause {
            let inner_text = inner.to_string();
            if !text.contains(&inner_text) {
                text = format!("{text}: {inner_text}");
            }
            cause = inner.source();
        }
        text
    }

    /// What to do next, when there is something.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// Result of the public API.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_finds_its_own_row() {
        for &code in ErrorCode::ALL {
            assert_eq!(code.row().code, code);
        }
    }

    #[test]
    fn a_message_names_each_cause_once() {
        let full = || std::io::Error::other("the disk is full");
        let error = Error::new(ErrorCode::StoreFull, "cannot write").with_source(full());
        assert_eq!(error.explained(), "cannot write: the disk is full");
        let error =
            Error::new(ErrorCode::StoreFull, "cannot write: the disk is full").with_source(full());
        assert_eq!(error.explained(), "cannot write: the disk is full");
    }
}
