//! Test rig of the integration tests and the figures.
#![deny(unsafe_code)]

pub mod attack;
pub mod client;
pub mod cut_run;
pub mod driver;
pub mod emulated;
pub mod gateway;
pub mod in_process;
pub mod inference;
pub mod lies;
pub mod line;
pub mod nor;
pub mod pair;
pub mod peers;
pub mod power_cut;
pub mod reference;
pub mod reset;
pub mod restartable;
pub mod runs;
pub mod scripted;
pub mod served;
pub mod shard;
pub mod station;
pub mod transfer;
pub mod wire;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar over `total` steps with an estimate of the time left; silent where standard
/// error is not a terminal.
#[must_use]
pub fn progress(what: &'static str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style).with_message(what)
}

/// Works `total` steps in batches on every processor and returns the results in order: the same for
/// any number of processors. `work` takes the number of its batch and of its steps.
///
/// # Panics
/// When a batch panics.
pub fn in_batches<T: Send>(
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
