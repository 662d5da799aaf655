//! Many small waits at once, on threads, with a bound for each group.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Runs `work` on each job, at most as many of a group at a time as `bound` says, and gives each
/// result to `done` on this thread, as it comes.
pub(super) fn for_each<J: Sync, R: Send>(
    jobs: &[J],
    group: impl Fn(&J) -> String,
    bound: impl Fn(&str) -> usize,
    work: impl Fn(&J) -> R + Sync,
    mut done: impl FnMut(usize, R),
) {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, job) in jobs.iter().enumerate() {
        groups.entry(group(job)).or_default().push(at);
    }
    let (sender, results) = mpsc::channel();
    let work = &work;
    std::thread::scope(|scope| {
        let counters: Vec<(usize, Vec<usize>, AtomicUsize)> = groups
            .into_iter()
            .map(|(name, members)| {
                let workers = bound(&name).clamp(1, members.len());
                (workers, members, AtomicUsize::new(0))
            })
            .collect();
        // What the threads share outlives them: it is given to them for good.
        for (workers, members, next) in counters {
            let shared = std::sync::Arc::new((members, next));
            for _ in 0..workers {
                let (shared, sender) = (std::sync::Arc::clone(&shared), sender.clone());
                scope.spawn(move || {
                    let (members, next) = &*shared;
                    while let Some(&at) = members.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if sender.send((at, work(&jobs[at]))).is_err() {
                            break;
                        }
                    }
                });
            }
        }
        drop(sender);
        for (at, result) in results {
            done(at, result);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_no_group_has_more_at_once_than_its_bound() {
        let jobs: Vec<usize> = (0..60).collect();
        let running = [const { AtomicUsize::new(0) }; 2];
        let most = [const { AtomicUsize::new(0) }; 2];
        let mut squares = vec![0; jobs.len()];
        for_each(
            &jobs,
            |job| (job % 2).to_string(),
            |group| if group == "0" { 1 } else { 3 },
            |job| {
                let group = job % 2;
                let now = running[group].fetch_add(1, Ordering::SeqCst) + 1;
                most[group].fetch_max(now, Ordering::SeqCst);
                std::thread::yield_now();
                running[group].fetch_sub(1, Ordering::SeqCst);
                job * job
            },
            |at, square| squares[at] = square,
        );
        assert_eq!(
            squares,
            jobs.iter().map(|job| job * job).collect::<Vec<_>>()
        );
        assert_eq!(most[0].load(Ordering::SeqCst), 1);
        assert!(most[1].load(Ordering::SeqCst) <= 3);
    }
}
