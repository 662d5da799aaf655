//! `explain`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::lint;
use crate::wiki::Wiki;

/// Say what a diagnostic or error code means and what to do about it
///
/// Without a code: every code there is.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Explain {
    /// The code, for example `BROKEN_PAGE_LINK` or `CONFLICT`; all codes are listed without one.
    #[serde(default)]
    pub code: Option<String>,
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
    /// The code; null where none was asked for.
    pub code: Option<String>,
    /// Its meanings: one, or two where an error and a diagnostic share the name.
    pub explanations: Vec<Explanation>,
    /// Every code, where none was asked for: errors first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<KnownCode>,
}

/// A code that there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownCode {
    /// The code.
    pub code: String,
    /// Where it turns up: `error` or `diagnostic`.
    pub kind: String,
    /// What it means.
    pub meaning: String,
}

fn known_codes() -> Vec<KnownCode> {
    let known = |code: &str, kind: &str, meaning: &str| KnownCode {
        code: code.to_owned(),
        kind: kind.to_owned(),
        meaning: meaning.to_owned(),
    };
    let errors = ErrorCode::ALL.iter().map(|code| code.row());
    let errors = errors.map(|row| known(row.name, "error", row.meaning));
    let diagnostics = lint::RULES.iter();
    errors
        .chain(diagnostics.map(|rule| known(rule.code.as_str(), "diagnostic", rule.meaning)))
        .collect()
}

impl Operation for Explain {
    const NAME: &'static str = "explain";
    const EFFECT: Effect = Effect::Reads;
    const MCP: Option<&'static str> = None;
    type Report = ExplainReport;

    fn run(self, _: &Wiki, _: &Context) -> Result<ExplainReport> {
        let Some(asked) = self.code else {
            return Ok(ExplainReport {
                code: None,
                explanations: Vec::new(),
                codes: known_codes(),
            });
        };
        let code = asked.trim().to_ascii_uppercase().replace('-', "_");
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
            let message = format!("there is no code {asked:?}");
            let all = "`llmwiki explain` lists every code";
            let hint = match lint::nearest_code(&asked) {
                Some(meant) => format!("did you mean {meant}? {all}"),
                None => all.to_owned(),
            };
            return Err(Error::new(ErrorCode::InvalidArgument, message).with_hint(hint));
        }
        Ok(ExplainReport {
            code: Some(code),
            explanations,
            codes: Vec::new(),
        })
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
                code: Some(code.to_owned()),
            }
            .run(&wiki, &Context::default())
        };
        assert_eq!(
            explain("page-not-found").unwrap().code.as_deref(),
            Some("PAGE_NOT_FOUND")
        );
        let report = explain("BROKEN_PAGE_LINK").unwrap();
        assert_eq!(report.explanations[0].kind, "diagnostic");
        assert_eq!(
            explain("NO_SUCH").unwrap_err().code(),
            ErrorCode::InvalidArgument
        );
    }

    #[test]
    fn without_a_code_every_code_is_listed_and_each_can_be_explained() {
        let wiki = Wiki::new("nowhere", crate::config::Config::default());
        let list = Explain { code: None };
        let list = list.run(&wiki, &Context::default()).unwrap();
        assert_eq!(list.codes.len(), ErrorCode::ALL.len() + lint::RULES.len());
        for known in list.codes {
            let explained = Explain {
                code: Some(known.code),
            };
            let explained = explained.run(&wiki, &Context::default()).unwrap();
            let kinds: Vec<_> = explained.explanations.iter().map(|it| &it.kind).collect();
            assert!(kinds.contains(&&known.kind));
        }
    }
}
