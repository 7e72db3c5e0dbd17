//! Batches: a list of points, each a run, made by any number of workers on any number of machines
//! that share a directory.
//!
//! | in the directory | what |
//! |---|---|
//! | `plan.json`, `scenarios/ID.toml` | the [`Plan`]: which points there are, in which order |
//! | `points/ID/` | the run of a point; there once it is complete |
//! | `work/ID.*` | what workers are at, or left when they died; empty in the end |
//! | `failed/ID.txt` | why the last attempt failed |
//!
//! **What is relied on.** A worker makes its run in a folder that no other writes to and gives it the
//! point's name by one rename, which local file systems, NFS, Lustre and BeeGFS carry out whole or
//! not at all. A run's bytes depend on its scenario alone, so it does not matter who was first. A
//! worker that finds what a dead one left copies its last checkpoint, which carries its own hash,
//! and goes on from there. The lock on `work/ID.lock` only keeps workers from making the same point
//! twice: where it does not reach other machines, or is ignored with `force`, time is lost and
//! nothing else.

mod claim;
mod engine;
mod error;
mod gather;
mod make;
mod place;
mod plan;
mod point;

pub use engine::{
    Engine, EngineError, EngineOptions, HyperqueueOptions, SlurmOptions, Watcher, carry_out,
};
pub use error::{PlanError, PointError};
pub(super) use gather::check_sums;
pub use gather::gather;
pub use make::{Making, make_point};
pub use plan::Plan;
pub use point::Point;

use std::path::Path;

use gleaner_sim::run::{RunDirectory, Summary};

/// What became of a point.
pub type Outcome = Result<Summary, PointError>;

/// Returns the directory of a point's run, which is there once the run is complete.
#[must_use]
pub fn run_directory(dir: &Path, point: &Point) -> RunDirectory {
    place::Place::new(dir, &point.id).run()
}
