//! The local engine: this process, as many points at a time as there are threads.

use std::path::Path;

use super::Watcher;
use crate::run::Silent;
use crate::study::batch::make::{Making, make};
use crate::study::batch::{Outcome, Plan};
use crate::study::pool::{Library, side_by_side};

pub(super) fn carry_out(
    plan: &Plan,
    dir: &Path,
    threads: usize,
    watcher: &mut dyn Watcher,
) -> Vec<Outcome> {
    let library = Library::default();
    let points = plan.points();
    side_by_side(
        points.len(),
        threads,
        |at, threads| {
            let how = Making {
                threads,
                reports: plan.reports(),
                wait: true,
                force: false,
            };
            make(dir, &points[at], &how, &library, &mut Silent)
        },
        |at, outcome| watcher.finished(&points[at], outcome),
    )
}
