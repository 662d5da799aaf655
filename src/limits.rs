//! How large things may be. Values come from the configuration; the ranges are fixed here.
//! What a limit protects is said where it is enforced.

/// Limits that apply to one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Largest accepted source, in bytes (at least 1).
    pub max_source_bytes: u64,
    /// Largest accepted page file, in bytes (at least 1).
    pub max_page_bytes: u64,
    /// Largest number of search hits, 1 to 100; also the default when a caller names none.
    pub max_results: usize,
    /// Largest snippet, in bytes of UTF-8, 64 to 16384.
    pub max_snippet_bytes: usize,
    /// How many diagnostics the console prints before it says "n more", 1 to 100.
    pub command_diagnostic_limit: usize,
    /// Largest answer as JSON, in bytes, for callers whose context is bounded; what can be asked
    /// for piece by piece then comes in pieces. No limit when not set.
    pub max_answer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_source_bytes: 2_097_152,
            max_page_bytes: 524_288,
            max_results: 20,
            max_snippet_bytes: 1_200,
            command_diagnostic_limit: 20,
            max_answer_bytes: usize::MAX,
        }
    }
}
