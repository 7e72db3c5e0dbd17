//! Execution of plans: points executed by any number of workers on any number of machines that share
//! a directory.
//!
//! | in the directory | content |
//! |---|---|
//! | `plan.json`, `scenarios/ID.toml` | the [`Plan`]: which points there are, in which order |
//! | `points/ID/` | the run of a point; exists once the run is complete |
//! | `work/ID.*` | runs in progress, or left by workers that died; empty in the end |
//! | `failed/ID.txt` | error of the last attempt |
//!
//! **Guarantees.** A worker executes a run in a folder that no other worker writes to and publishes
//! the run by one rename, which local file systems, NFS, Lustre and BeeGFS carry out atomically. The
//! bytes of a run depend on its scenario alone, so it does not matter which worker is first. A worker
//! that finds the folder of a dead one copies its last checkpoint, which carries its own hash, and
//! continues. The lock on `work/ID.lock` only keeps workers from executing a point twice: where
//! the lock does not reach other machines, or is ignored with `force`, only time is lost.

mod claim;
mod hyperqueue;
mod local;
mod place;
mod point;
mod queue;
mod slurm;
mod stopping;

use std::path::{Path, PathBuf};

use gleaner_sim::run::{RunDirectory, Summary};

use crate::error::{ExperimentError, PointError};
use crate::plan::{Plan, Point};
use hyperqueue::Hyperqueue;
pub(crate) use local::Library;
use place::Place;
pub use point::{Attempt, execute_point};
pub(crate) use point::{check_start, check_sums};
use queue::follow;
use slurm::Slurm;
pub use stopping::Stopping;

/// Summary of a completed point, or the reason why there is none.
pub type Outcome = Result<Summary, PointError>;

/// Execution engine of the points of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(
    strum::VariantArray,
    strum::EnumMessage,
    strum::EnumString,
    strum::IntoStaticStr
)]
#[derive(strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Engine {
    /// This process, on the processors of this machine.
    #[default]
    Local,
    /// A job array of Slurm, one task per point.
    Slurm,
    /// Tasks of HyperQueue, on a server that is started here or runs already.
    Hyperqueue,
}

/// Options of the execution engines.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The engine that executes the points.
    pub engine: Engine,
    /// Threads in all of the local engine, and of each point elsewhere; 0 means one per processor
    /// here, and one elsewhere.
    pub threads: usize,
    /// The program that workers start; by default this one.
    pub program: PathBuf,
    /// When the local engine stops before all points are complete; by default never.
    pub stopping: Stopping,
    /// Most points at a time on Slurm and HyperQueue.
    pub max_jobs: Option<usize>,
    /// Time limit of a Slurm task, as in `02:00:00`; by default the partition's.
    pub slurm_time: Option<String>,
    /// Seconds before the limit at which a Slurm task stops at a checkpoint and queues again.
    pub slurm_notice_s: u32,
    /// Further arguments of `sbatch`.
    pub slurm_arguments: Vec<String>,
    /// The Python with the package `hyperqueue`.
    pub python: PathBuf,
    /// The directory of a HyperQueue server that runs already; by default one is started here.
    pub server_dir: Option<PathBuf>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            engine: Engine::Local,
            threads: 0,
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("gleaner")),
            stopping: Stopping::default(),
            max_jobs: None,
            slurm_time: None,
            slurm_notice_s: 60,
            slurm_arguments: Vec::new(),
            python: PathBuf::from("python3"),
            server_dir: None,
        }
    }
}

impl EngineOptions {
    /// Returns the options of the local engine.
    pub fn local(threads: usize) -> Self {
        Self {
            threads,
            ..Self::default()
        }
    }

    /// Returns the options of a worker that executes one point of a plan.
    fn of_worker(&self, plan: &Plan) -> Vec<String> {
        let threads = self.threads_of_point().to_string();
        let allow = plan.names_programs().then_some("--allow-process");
        let options = ["--threads", &threads, "--wait", "--quiet"];
        let options = options.into_iter().chain(allow);
        options.map(str::to_owned).collect()
    }

    /// Returns the threads of a point that is a process of its own.
    fn threads_of_point(&self) -> usize {
        self.threads.max(1)
    }
}

/// Is told about the progress of an execution.
pub trait Watcher {
    /// The execution begins; some of the points may be complete already.
    fn begin(&mut self, _points: usize) {}
    /// A point is complete, or has failed.
    fn finished(&mut self, _point: &Point, _outcome: &Outcome) {}
    /// A message that is not an error.
    fn notice(&mut self, _text: &str) {}
    /// No point is left to execute.
    fn end(&mut self) {}
}

impl Watcher for () {}

/// Executes every point of a plan that is not complete in `dir`, where the plan was written to;
/// continues interrupted points from their checkpoints. Returns the outcomes in the order of the plan.
pub fn execute(
    plan: &Plan,
    dir: &Path,
    options: &EngineOptions,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Outcome>, ExperimentError> {
    plan.check(dir)?;
    // Points that failed are tried again: the cause may have been fixed.
    for point in plan.points() {
        Place::new(dir, &point.id).forget_failure();
    }
    watcher.begin(plan.points().len());
    let outcomes = match options.engine {
        Engine::Local => Ok(local::execute(plan, dir, options, watcher)),
        Engine::Slurm => Slurm::new(plan, dir, options)
            .and_then(|mut slurm| follow(plan, dir, &mut slurm, watcher)),
        Engine::Hyperqueue => Hyperqueue::new(plan, dir, options)
            .and_then(|mut queue| follow(plan, dir, &mut queue, watcher)),
    };
    watcher.end();
    outcomes
}

/// Reads the outcome of every point in the order of the plan; executes nothing.
pub fn gather(plan: &Plan, dir: &Path) -> Vec<Outcome> {
    let look = |point: &Point| point::look(dir, point, plan.keep());
    plan.points().iter().map(look).collect()
}

/// Returns the round of the newest checkpoint of a point that is not complete.
pub(crate) fn newest_checkpoint(dir: &Path, point: &Point) -> Option<u32> {
    point::newest(&Place::new(dir, &point.id))
}

/// Returns the directory of a point's run, which exists once the run is complete.
pub fn run_directory(dir: &Path, point: &Point) -> RunDirectory {
    Place::new(dir, &point.id).run()
}
