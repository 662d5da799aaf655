//! Questions to other projects where no operation asks them: the calls are understood and say of
//! each project that it is not known here. They are not listed. Once an operation names one of
//! these tools, that operation answers.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, ErrorCode, Result};
use crate::ops::request_of;

pub(super) const ASK: &str = "knowledge_ask_projects";
pub(super) const GET: &str = "knowledge_get_from";

const UNKNOWN: &str = "unknown project \u{2014} run sync first";

/// One of the two calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Ask,
    Get,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read to be checked; no project can be asked yet")]
struct Ask {
    query: String,
    projects: Vec<String>,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    types: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    project: String,
    slug: String,
}

impl Question {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            ASK => Some(Self::Ask),
            GET => Some(Self::Get),
            _ => None,
        }
    }

    /// Answers as the operation would that knows no project.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for arguments that do not fit and for a question to nobody,
    /// `PROJECT_UNKNOWN`.
    pub(super) fn answer(self, arguments: Value) -> Result<Value> {
        match self {
            Self::Ask => {
                let ask: Ask = request_of(ASK, arguments)?;
                if ask.projects.is_empty() {
                    return Err(Error::new(
                        ErrorCode::InvalidArgument,
                        "projects is empty, and nobody is asked unnamed",
                    )
                    .with_hint("name the projects to ask"));
                }
                let results: Vec<Value> = ask
                    .projects
                    .iter()
                    .map(|project| json!({"project": project, "error": UNKNOWN}))
                    .collect();
                Ok(json!({
                    "asked_projects": ask.projects,
                    "results": results,
                    "next_action_hint": "no project is known here; search this wiki instead",
                }))
            }
            Self::Get => {
                let get: Get = request_of(GET, arguments)?;
                Err(Error::new(
                    ErrorCode::ProjectUnknown,
                    format!("{UNKNOWN}: {:?} has no {:?} here", get.project, get.slug),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_named_project_is_unknown_and_nobody_is_asked_unnamed() {
        let answer = Question::Ask
            .answer(json!({"query": "q", "projects": ["a", "b"]}))
            .unwrap();
        assert_eq!(answer["results"][1]["project"], "b");
        assert_eq!(answer["results"][1]["error"], UNKNOWN);
        let refuse = |arguments| Question::Ask.answer(arguments).unwrap_err();
        let error = refuse(json!({"query": "q", "projects": []}));
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        let error = refuse(json!({"query": "q", "projects": ["a"], "depth": 1}));
        assert!(error.message().contains("depth"), "{error}");
        let error = Question::Get
            .answer(json!({"project": "p", "slug": "entities/x"}))
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::ProjectUnknown);
        assert!(error.message().starts_with(UNKNOWN), "{error}");
    }
}
