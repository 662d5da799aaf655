//! Every command, written once: a request type whose doc comments are the help, the tool schema
//! and the reference page; a report type; and `run`. The doors (console, MCP, web) are folds over
//! [`OPERATIONS`] and only translate. No request can name a path of this machine: `-`, `@file`
//! and file arguments are understood at the console alone, before a request is made.

mod ask;
mod budget;
mod code;
mod explain;
mod export;
mod gc;
mod generate;
mod history;
mod import;
mod init;
mod lint;
mod pages;
mod projects;
mod reindex;
mod restore;
mod search;
mod sources;
mod status;
mod verify;

pub use ask::{Ask, Trust, TrustReport};
pub use code::IndexCode;
pub use explain::{Explain, ExplainReport, Explanation};
pub use export::{Export, ExportFormat};
pub use gc::Gc;
pub use generate::{Generate, Show};
pub use history::History;
pub use import::Import;
pub use init::Init;
pub use lint::Lint;
pub use pages::{DeletePage, ListPages, ReadPage, UpsertPage};
pub use projects::{AskProjects, GetFrom, Projects, ProjectsAction};
pub use reindex::Reindex;
pub use restore::Restore;
pub use search::{FoundHit, Scope, Search, SearchAnswer};
pub use sources::{AddSource, Content, ListSources, ReadSource};
pub use status::Status;
pub use verify::Verify;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{ContentHash, PageId, SourceId, strip_extension};
use crate::wiki::{Expectation, Wiki};

/// What an operation does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It changes the wiki.
    Writes,
    /// It opens sockets or starts processes.
    ReachesOut,
}

/// One command.
pub trait Operation: DeserializeOwned + JsonSchema {
    /// Name on the command line.
    const NAME: &'static str;
    /// What it does to the world.
    const EFFECT: Effect;
    /// Name of the MCP tool, for those that are tools.
    const MCP: Option<&'static str>;
    /// Whether it may replace or remove what was there; only said of what writes.
    const DESTRUCTIVE: bool = false;
    /// Whether it may open sockets or start processes.
    const REACHES_OUT: bool = matches!(Self::EFFECT, Effect::ReachesOut);
    /// How to ask for less, for callers whose answer had to be cut: one sentence.
    const NARROW: &'static str = "Ask for less to see the rest.";
    /// What it answers.
    type Report: Serialize + JsonSchema;

    /// Does it.
    ///
    /// # Errors
    /// An [`Error`] with a stable code; nothing was written then.
    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<Self::Report>;
}

/// An operation whose types were erased, for doors that speak JSON.
#[derive(Debug, Clone, Copy)]
pub struct OperationEntry {
    /// Name on the command line.
    pub name: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    /// Name of the MCP tool, for those that are tools.
    pub mcp: Option<&'static str>,
    /// Whether it may replace or remove what was there.
    pub destructive: bool,
    /// Whether it may open sockets or start processes.
    pub reaches_out: bool,
    /// How to ask for less, for callers whose answer had to be cut.
    pub narrow: &'static str,
    /// JSON schema of the request.
    pub request_schema: fn() -> Schema,
    /// JSON schema of the report.
    pub report_schema: fn() -> Schema,
    /// Reads the request, runs it, and gives the report as JSON.
    pub run: fn(Value, &Wiki, &Context) -> Result<Value>,
}

/// The entry of an operation.
pub(crate) const fn entry<O: Operation>() -> OperationEntry {
    OperationEntry {
        name: O::NAME,
        effect: O::EFFECT,
        mcp: O::MCP,
        destructive: O::DESTRUCTIVE,
        reaches_out: O::REACHES_OUT,
        narrow: O::NARROW,
        request_schema: || schema_of::<O>(SchemaSettings::draft2020_12()),
        report_schema: || schema_of::<O::Report>(SchemaSettings::draft2020_12().for_serialize()),
        run: |request, wiki, ctx| {
            let request: O = request_of(O::NAME, request)?;
            to_value(&request.run(wiki, ctx)?)
        },
    }
}

/// The schema of a type, whole in itself: several readers do not follow references.
fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|it| it.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>()
}

/// A request from JSON.
///
/// # Errors
/// `INVALID_ARGUMENT` naming the argument that is missing, unknown or of the wrong type.
pub fn request_of<T: DeserializeOwned>(operation: &str, request: Value) -> Result<T> {
    serde_path_to_error::deserialize(request).map_err(|cause| {
        let path = cause.path().to_string();
        let cause = cause.into_inner();
        let message = if path == "." || cause.to_string().contains(&format!("`{path}`")) {
            format!("the arguments of {operation} do not fit: {cause}")
        } else {
            format!("the arguments of {operation} do not fit: {path}: {cause}")
        };
        Error::new(ErrorCode::InvalidArgument, message)
    })
}

/// A report as a JSON value.
fn to_value(report: &impl Serialize) -> Result<Value> {
    serde_json::to_value(report).map_err(|cause| {
        Error::new(
            ErrorCode::IndexCorrupt,
            "the report cannot be written as JSON",
        )
        .with_source(cause)
    })
}

/// Every operation, in the order of the help and the reference page.
pub const OPERATIONS: &[OperationEntry] = &[
    entry::<Init>(),
    entry::<Status>(),
    entry::<AddSource>(),
    entry::<ReadSource>(),
    entry::<ListSources>(),
    entry::<UpsertPage>(),
    entry::<ReadPage>(),
    entry::<ListPages>(),
    entry::<DeletePage>(),
    entry::<History>(),
    entry::<Search>(),
    entry::<IndexCode>(),
    entry::<Ask>(),
    entry::<AskProjects>(),
    entry::<GetFrom>(),
    entry::<Projects>(),
    entry::<Generate>(),
    entry::<Show>(),
    entry::<Gc>(),
    entry::<Lint>(),
    entry::<Explain>(),
    entry::<Reindex>(),
    entry::<Restore>(),
    entry::<Verify>(),
    entry::<Import>(),
    entry::<Export>(),
    entry::<Trust>(),
];

/// How many entries a list gives when the caller names no limit.
const LIST_LIMIT: usize = 100;

fn list_limit(limit: Option<usize>) -> Result<usize> {
    match limit {
        None => Ok(LIST_LIMIT),
        Some(0) => Err(
            Error::new(ErrorCode::LimitExceeded, "limit 0 is not at least 1")
                .with_hint("leave it out for the default"),
        ),
        Some(limit) => Ok(limit),
    }
}

fn page_id(raw: &str) -> Result<PageId> {
    PageId::parse(raw).map_err(|cause| {
        let hint = match page_meant(raw) {
            Some(id) => format!("a page id is a relative path without .md; {id} may be meant"),
            None => "a page id is a relative path without .md, for example guides/install".into(),
        };
        Error::new(ErrorCode::InvalidPath, cause.to_string()).with_hint(hint)
    })
}

/// The page that somebody means who names its file.
fn page_meant(raw: &str) -> Option<PageId> {
    let name = raw.trim_end_matches('/');
    let name = name.rsplit_once("pages/").map_or(name, |(_, name)| name);
    PageId::parse(strip_extension(name).unwrap_or(name)).ok()
}

fn source_id(raw: &str) -> Result<SourceId> {
    SourceId::parse(raw).map_err(|_| {
        Error::new(
            ErrorCode::InvalidPath,
            format!("source id {raw:?} is not 64 lower-case hexadecimal digits"),
        )
        .with_hint("`llmwiki list-sources` prints the ids")
    })
}

fn expectation(raw: Option<&str>) -> Result<Expectation> {
    match raw {
        None => Ok(Expectation::Any),
        Some("absent") => Ok(Expectation::Absent),
        Some(hash) => ContentHash::parse(hash)
            .map(Expectation::Sha256)
            .map_err(|_| {
                Error::new(
                    ErrorCode::InvalidArgument,
                    format!("the expected SHA-256 {hash:?} is neither a hash nor the word absent"),
                )
                .with_hint("`llmwiki read-page ID --json` prints the current hash as sha256")
            }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_tool_names_fit_every_host() {
        let mut names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), OPERATIONS.len());
        for tool in OPERATIONS.iter().filter_map(|operation| operation.mcp) {
            assert!(tool.len() <= 40, "{tool}");
            assert!(
                tool.bytes()
                    .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')),
                "{tool}"
            );
        }
    }

    #[test]
    fn every_request_refuses_unknown_keys_and_every_key_is_described() {
        for operation in OPERATIONS {
            let schema = (operation.request_schema)();
            assert_eq!(
                schema.get("additionalProperties"),
                Some(&Value::Bool(false)),
                "{} takes unknown keys",
                operation.name
            );
            assert!(
                schema.get("description").is_some(),
                "{} is not described",
                operation.name
            );
            let properties = schema.get("properties").and_then(Value::as_object);
            for (key, property) in properties.into_iter().flatten() {
                assert!(
                    property.get("description").is_some() || property.get("$ref").is_some(),
                    "{}.{key} is not described",
                    operation.name
                );
            }
            assert_eq!(
                (operation.report_schema)()
                    .get("type")
                    .and_then(Value::as_str),
                Some("object"),
                "the report of {} is no object",
                operation.name
            );
        }
    }

    #[test]
    fn an_argument_of_the_wrong_shape_is_refused_by_name() {
        let wiki = Wiki::new("nowhere", crate::config::Config::default());
        let search = OPERATIONS
            .iter()
            .find(|operation| operation.name == "search")
            .unwrap();
        let request = serde_json::json!({"query": "x", "colour": "red"});
        let error = (search.run)(request, &wiki, &Context::default()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().contains("colour"), "{}", error.message());
        let request = serde_json::json!({"query": "x", "limit": "many"});
        let error = (search.run)(request, &wiki, &Context::default()).unwrap_err();
        assert!(error.message().contains("limit: "), "{}", error.message());
    }

    #[test]
    fn whoever_names_the_file_of_a_page_is_told_its_id() {
        for raw in [
            "guides/a.md",
            ".llmwiki/pages/guides/a.md",
            "/w/pages/guides/a.md",
        ] {
            let error = page_id(raw).unwrap_err();
            assert!(
                error.hint().unwrap().contains("; guides/a may"),
                "{error:?}"
            );
        }
        assert!(
            page_id("../..")
                .unwrap_err()
                .hint()
                .unwrap()
                .contains("install")
        );
    }

    #[test]
    fn an_expectation_is_a_hash_or_the_word_absent() {
        assert_eq!(expectation(None).unwrap(), Expectation::Any);
        assert_eq!(expectation(Some("absent")).unwrap(), Expectation::Absent);
        let hash = ContentHash::of(b"x");
        assert_eq!(
            expectation(Some(&hash.to_string())).unwrap(),
            Expectation::Sha256(hash)
        );
        assert_eq!(
            expectation(Some("ABSENT")).unwrap_err().code(),
            ErrorCode::InvalidArgument
        );
    }
}
