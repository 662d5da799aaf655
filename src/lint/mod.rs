//! Lint: what is wrong with a wiki, said exactly. Read-only: it adopts nothing, repairs nothing
//! and leaves every byte under the root as it was.
//!
//! `gather` reads each thing once and turns it into `facts`; the rules are pure functions of
//! facts, one file each, listed in `registry`; `run` joins the two and sorts the report. The
//! `render` functions turn a report into text, JSON lines, SARIF or GitHub annotations.

mod facts;
mod store_facts;
mod reading;
mod anchors;
mod graph;
mod gather;
mod gather_store;
mod registry;
mod run;
mod rules;
mod guide;
pub mod render;

#[cfg(test)]
mod testing;

pub use guide::{diagnostics_page, explain};
pub use registry::{Code, RULES, Rule, Severity, rule};
pub use run::{Diagnostic, LintOptions, LintReport, run, run_with_store};

use facts::{Facts, PageFacts, SourceFacts};
use registry::{Check, Sink};
