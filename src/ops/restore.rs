//! `restore`.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, page_id};
use crate::context::Context;
use crate::error::{Error, ErrorCode, Result};
use crate::id::SourceId;
use crate::wiki::{RestoreReport, RestoreRequest, Wiki};

/// Bring back what the files lost, from the store
///
/// TARGET is a page, a page at a revision (guides/install@12), or the id of a source. The plan
/// comes first: nothing is written until it is confirmed with --yes or at the terminal.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct Restore {
    /// A page, page@revision, or the id of a source.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(
        required_unless_present_any = ["deleted_since", "missing"],
        conflicts_with_all = ["deleted_since", "missing"],
    ))]
    pub target: Option<String>,
    /// Every page deleted since this moment: RFC 3339, for example 2026-02-03T04:05:06Z.
    #[serde(default)]
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "TIME", conflicts_with = "missing")
    )]
    pub deleted_since: Option<String>,
    /// Everything that the store has and the files lack.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long))]
    pub missing: bool,
    /// Carry the plan out.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, short = 'y', conflicts_with = "dry_run"))]
    pub yes: bool,
    /// Only show the plan.
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, short = 'n'))]
    pub dry_run: bool,
}

impl Restore {
    fn request(&self) -> Result<RestoreRequest> {
        let invalid = |message: String| Error::new(ErrorCode::InvalidArgument, message);
        match (&self.target, &self.deleted_since, self.missing) {
            (Some(target), None, false) => {
                if let Ok(id) = SourceId::parse(target) {
                    return Ok(RestoreRequest::Source(id));
                }
                // An id may hold `@`, a revision never does.
                let (id, revision) = match target.rsplit_once('@') {
                    Some((id, revision)) if is_revision(revision) => {
                        (id, Some(revision.to_owned()))
                    }
                    _ => (target.as_str(), None),
                };
                Ok(RestoreRequest::Page {
                    id: page_id(id)?,
                    revision,
                })
            }
            (None, Some(since), false) => since
                .parse::<Timestamp>()
                .map(RestoreRequest::DeletedSince)
                .map_err(|cause| {
                    invalid(format!("{since:?} is no moment in time"))
                        .with_source(cause)
                        .with_hint("give RFC 3339 with a zone, for example 2026-02-03T04:05:06Z")
                }),
            (None, None, true) => Ok(RestoreRequest::Missing),
            _ => Err(invalid(
                "give exactly one of a page or source, deletedSince, and missing".to_owned(),
            )),
        }
    }
}

fn is_revision(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Operation for Restore {
    const NAME: &'static str = "restore";
    const EFFECT: Effect = Effect::Writes;
    const MCP: Option<&'static str> = None;
    type Report = RestoreReport;

    fn run(self, wiki: &Wiki, ctx: &Context) -> Result<RestoreReport> {
        let request = self.request()?;
        wiki.restore(ctx, &request, self.dry_run || !self.yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> RestoreRequest {
        Restore {
            target: Some(text.to_owned()),
            ..Restore::default()
        }
        .request()
        .unwrap()
    }

    #[test]
    fn a_target_is_a_page_a_page_at_a_revision_or_a_source() {
        let RestoreRequest::Page { id, revision } = target("guides/install@12") else {
            panic!("no page")
        };
        assert_eq!(
            (id.as_str(), revision.as_deref()),
            ("guides/install", Some("12"))
        );
        let RestoreRequest::Page { id, revision } = target("people/ann@home") else {
            panic!("no page")
        };
        assert_eq!((id.as_str(), revision), ("people/ann@home", None));
        let hash = "a".repeat(64);
        assert!(matches!(target(&hash), RestoreRequest::Source(_)));
    }

    #[test]
    fn two_targets_and_none_are_refused() {
        let none = Restore::default();
        let two = Restore {
            target: Some("a".into()),
            missing: true,
            ..Restore::default()
        };
        for request in [none, two] {
            assert_eq!(
                request.request().unwrap_err().code(),
                ErrorCode::InvalidArgument
            );
        }
    }
}
