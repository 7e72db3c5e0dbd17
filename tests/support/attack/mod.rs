//! Attacks on a base station and its boards, each as a test of a few seconds and as a figure:
//! frames nobody may take, peers nobody may suffer from, runs that are broken off at any moment.

pub mod aborts;
pub mod frames;
pub mod hostile;
pub mod marks;
pub mod siege;
mod talk;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use indicatif::ProgressBar;

/// Works `total` steps in batches on every processor and returns what came of each, in order:
/// the same for any number of processors.
pub(crate) fn in_batches<T: Send>(
    total: u64,
    batch: u64,
    bar: &ProgressBar,
    work: impl Fn(u64, u64) -> T + Sync,
) -> Vec<T> {
    let next = AtomicU64::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= total.div_ceil(batch) {
                return done;
            }
            let count = batch.min(total - number * batch);
            done.push((number, work(number, count)));
            bar.inc(count);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(u64, T)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|done| done.expect("no batch panics"))
            .collect()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, done)| done).collect()
}
