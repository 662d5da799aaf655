//! Other projects, and what they answer.

use std::fmt::Write as _;

use super::style::{Palette, counted, safe_line};
use crate::federation::{AskProjectsReport, ProjectsReport};

/// Each project with where it is, and how a sync went.
pub(crate) fn projects(report: &ProjectsReport, palette: Palette) -> String {
    let mut out = String::new();
    for project in &report.projects {
        let _ = writeln!(
            out,
            "{}  {}",
            palette.name(&safe_line(&project.name)),
            palette.dim(&safe_line(&project.place))
        );
        let mut facts = Vec::new();
        if let Some(pages) = project.page_count {
            facts.push(counted(pages as u64, "page"));
        } else if project.has_wiki {
            facts.push("read each time it is asked".to_owned());
        }
        if let Some(branch) = &project.branch {
            facts.push(format!("branch {}", safe_line(branch)));
        }
        if let Some(at) = &project.synced_at {
            facts.push(format!("read {at}"));
        }
        if let Some(status) = &project.status {
            facts.push(format!("status: {}", safe_line(status)));
        }
        if !facts.is_empty() {
            let _ = writeln!(out, "    {}", facts.join(", "));
        }
        if let Some(error) = &project.error {
            let _ = writeln!(out, "    {}", palette.warning(&safe_line(error)));
        }
    }
    for name in &report.removed {
        let _ = writeln!(out, "removed {}", safe_line(name));
    }
    if let Some(sync) = &report.sync {
        let _ = writeln!(
            out,
            "{} read, {} without a wiki, {} failed",
            counted(sync.synced, "project"),
            sync.skipped,
            sync.failed
        );
    }
    out
}

/// The matches of each project.
pub(crate) fn ask_projects(report: &AskProjectsReport, palette: Palette) -> String {
    let mut out = String::new();
    for answer in &report.results {
        let Some(matches) = &answer.matches else {
            continue;
        };
        let age = answer
            .index_age_seconds
            .map_or_else(String::new, |seconds| {
                format!(", index {} old", age(seconds))
            });
        let _ = writeln!(
            out,
            "{}  {}{age}",
            palette.strong(&safe_line(&answer.project)),
            counted(matches.len() as u64, "page")
        );
        for page in matches {
            let _ = writeln!(
                out,
                "  {}  {}",
                palette.name(&safe_line(&page.slug)),
                safe_line(&page.title)
            );
            let _ = writeln!(out, "    {}", safe_line(&page.snippet));
        }
    }
    out
}

/// A span of time in its largest unit.
fn age(seconds: i64) -> String {
    let (number, unit) = match seconds {
        ..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    counted(u64::try_from(number).unwrap_or_default(), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        assert_eq!(age(1), "1 second");
        assert_eq!(age(3599), "59 minutes");
        assert_eq!(age(7200), "2 hours");
        assert_eq!(age(200_000), "2 days");
    }
}
