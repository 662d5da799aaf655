//! Lint: what is wrong with a wiki, said exactly. Read-only: it adopts nothing, repairs nothing
//! and leaves every byte under the root as it was.
//!
//! `gather` and `gather_store` read each thing once and turn it into `facts`; the rules are pure
//! functions of facts, one file each, listed in `registry`; `look` sees to it that the facts are
//! those of one moment; `run` joins all and sorts the report. The `render` functions turn a report
//! into JSON lines, SARIF or GitHub annotations.

mod excerpt;
mod facts;
mod gather;
mod gather_store;
mod graph;
mod guide;
mod look;
mod marks;
mod reading;
mod registry;
pub mod render;
mod rules;
mod run;
mod store_facts;

#[cfg(test)]
mod testing;

pub use excerpt::Excerpts;
pub use guide::diagnostics_page;
pub use registry::{Code, RULES, Rule, Severity, nearest_code, rule};
pub use run::{Diagnostic, LintOptions, LintReport, run, run_with_store};

use facts::{Facts, PageFacts, SourceFacts};
use registry::{Check, Sink, Spot};
