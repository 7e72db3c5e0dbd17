//! The local engine: this process, as many points at a time as there are threads. While the files of
//! a point are on their way to the disk the next one begins.

use std::path::Path;

use super::Watcher;
use crate::batch::make::{Making, make};
use crate::batch::{Outcome, Plan};
use crate::pool::{Library, Turn, side_by_side};
use gleaner_sim::run::Observer;

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
        |at, threads, turn| {
            let how = Making {
                threads,
                reports: plan.reports(),
                wait: true,
                force: false,
            };
            make(dir, &points[at], &how, &library, &mut Rounds(Some(turn)))
        },
        |at, outcome| watcher.finished(&points[at], outcome),
    )
}

/// The turn of a point, which ends with its rounds.
struct Rounds<'a>(Option<Turn<'a>>);

impl Observer for Rounds<'_> {
    fn ended(&mut self) {
        self.0 = None;
    }
}
