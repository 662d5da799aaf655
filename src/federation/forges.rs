//! What the configured forges hold: each repository that the user of its token can read.

use super::known::{Known, Project};
use super::sync::SyncOutcome;
use crate::context::Context;
use crate::error::Result;
#[cfg(feature = "net")]
use {
    super::backend::ProjectError,
    super::gitea,
    super::known::{call, check_repository, new_record},
    crate::store::ProjectPlace,
    std::collections::BTreeSet,
    std::time::Instant,
};

/// Adds the repositories of all forges to the jobs, and what is listed no more to the removed.
#[cfg(feature = "net")]
pub(super) fn list(
    known: &Known<'_>,
    ctx: &Context,
    jobs: &mut Vec<Project>,
    removed: &mut Vec<String>,
    outcome: &mut SyncOutcome,
) -> Result<()> {
    let mut names: BTreeSet<String> = known.projects.keys().cloned().collect();
    for forge in known.forges() {
        ctx.check()?;
        let found = known.client(&forge).and_then(|client| {
            let deadline = Instant::now() + forge.timeout;
            gitea::repositories(&client, call(ctx, deadline))
        });
        let found = match found {
            Ok(found) => found,
            Err(ProjectError::Aborted) => {
                ctx.check()?;
                continue;
            }
            Err(error) => {
                outcome
                    .faults
                    .push(format!("forge {}: {error}", forge.name));
                continue;
            }
        };
        if found.missing > 0 {
            outcome.faults.push(format!(
                "forge {}: its list lacks {} of the repositories that it counts",
                forge.name, found.missing
            ));
        }
        let mut still: BTreeSet<String> = BTreeSet::new();
        for repository in &found.found {
            let owner = &repository.owner.login;
            if let Err(error) = check_repository(owner, &repository.name, "") {
                outcome.skipped += 1;
                outcome
                    .faults
                    .push(format!("forge {}: {error}", forge.name));
                continue;
            }
            // One that was added by name is read as such, on the branch that was asked for.
            let is_added = known.projects.values().any(|project| {
                (project.record.added || project.configured)
                    && matches!(&project.record.place,
                        ProjectPlace::Gitea { url, owner: of, repo, .. }
                            if *url == forge.url && of == owner && *repo == repository.name)
            });
            if is_added {
                continue;
            }
            let row = known.projects.values().find(|project| {
                matches!(&project.record.place,
                    ProjectPlace::Gitea { forge: of, id, .. } if *of == forge.name && *id == repository.id)
            });
            if repository.empty {
                outcome.skipped += 1;
                continue;
            }
            let mut project = match row {
                Some(row) => row.clone(),
                None => {
                    let full = format!("{owner}/{}", repository.name);
                    let name = [repository.name.clone(), full.clone()]
                        .into_iter()
                        .find(|name| !names.contains(name))
                        .unwrap_or_else(|| format!("{}/{}", forge.name, repository.id));
                    Project {
                        name,
                        record: new_record(ProjectPlace::Directory(Vec::new()), false),
                        configured: false,
                    }
                }
            };
            names.insert(project.name.clone());
            still.insert(project.name.clone());
            // A repository may have a new name, or a new owner, and is the same one.
            project.record.place = ProjectPlace::Gitea {
                url: forge.url.clone(),
                forge: forge.name.clone(),
                owner: owner.clone(),
                repo: repository.name.clone(),
                id: repository.id,
                branch: String::new(),
            };
            project
                .record
                .default_branch
                .clone_from(&repository.default_branch);
            jobs.push(project);
        }
        if found.missing == 0 {
            let gone = known.projects.values().filter(|project| {
                let of = matches!(&project.record.place,
                    ProjectPlace::Gitea { forge: of, .. } if *of == forge.name);
                of && !project.record.added && !still.contains(&project.name)
            });
            removed.extend(gone.map(|project| project.name.clone()));
        }
    }
    Ok(())
}

/// Without a client there is nobody to ask.
#[cfg(not(feature = "net"))]
pub(super) fn list(
    known: &Known<'_>,
    _: &Context,
    _: &mut Vec<Project>,
    _: &mut Vec<String>,
    outcome: &mut SyncOutcome,
) -> Result<()> {
    for forge in known.forges() {
        outcome.faults.push(format!(
            "forge {}: this build has no HTTP client",
            forge.name
        ));
    }
    Ok(())
}
