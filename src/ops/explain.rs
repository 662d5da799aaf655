//! `explain`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::lint;
use crate::wiki::Wiki;

/// Say what a diagnostic or error code means and what to do about it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Explain {
    /// The code, for example `BROKEN_PAGE_LINK` or `CONFLICT`.
    pub code: String,
}

/// What one code means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Where the code turns up: `error` or `diagnostic`.
    pub kind: String,
    /// How bad a diagnostic is: `error` or `warning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Exit status of a command that fails with this error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<u8>,
    /// What it means.
    pub meaning: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// An example of the fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// The same, sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<String>,
}

/// What a code means, as an error and as a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExplainReport {
    /// The code.
    pub code: String,
    /// Its meanings: one, or two where an error and a diagnostic share the name.
    pub explanations: Vec<Explanation>,
}

impl Operation for Explain {
    const NAME: &'static str = "explain";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = None;
    type Report = ExplainReport;

    fn run(self, _: &Wiki, _: &Context) -> Result<ExplainReport> {
        let code = self.code.trim().to_ascii_uppercase().replace('-', "_");
        let mut explanations = Vec::new();
        for row in ErrorCode::ALL
            .iter()
            .map(|code| code.row())
            .filter(|row| row.name == code)
        {
            explanations.push(Explanation {
                kind: "error".to_owned(),
                severity: None,
                exit_status: Some(row.exit_status),
                meaning: row.meaning.to_owned(),
                hint: None,
                wrong: None,
                right: None,
            });
        }
        if let Some(rule) = lint::rule(&code) {
            explanations.push(Explanation {
                kind: "diagnostic".to_owned(),
                severity: Some(rule.severity.as_str().to_owned()),
                exit_status: None,
                meaning: rule.meaning.to_owned(),
                hint: Some(rule.hint.to_owned()),
                wrong: Some(rule.bad.to_owned()),
                right: Some(rule.good.to_owned()),
            });
        }
        if explanations.is_empty() {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                format!("there is no code {:?}", self.code),
            )
            .with_hint("docs/errors.md and docs/diagnostics.md list every code"));
        }
        Ok(ExplainReport { code, explanations })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_explained_however_it_is_spelled_and_an_unknown_one_is_refused() {
        let wiki = Wiki::new("nowhere", crate::config::Config::default());
        let explain = |code: &str| {
            Explain {
                code: code.to_owned(),
            }
            .run(&wiki, &Context::default())
        };
        assert_eq!(explain("page-not-found").unwrap().code, "PAGE_NOT_FOUND");
        let report = explain("BROKEN_PAGE_LINK").unwrap();
        assert_eq!(report.explanations[0].kind, "diagnostic");
        assert_eq!(
            explain("NO_SUCH").unwrap_err().code(),
            ErrorCode::InvalidArgument
        );
    }
}
