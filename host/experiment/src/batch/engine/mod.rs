//! Engines: who makes the points of a plan.

mod error;
mod follow;
mod hyperqueue;
mod local;
mod slurm;

use std::path::{Path, PathBuf};

pub use error::EngineError;

use super::place::Place;
use super::plan::Plan;
use super::{Outcome, Point};
use follow::follow;
use hyperqueue::Hyperqueue;
use slurm::Slurm;

/// Who makes the points.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::VariantArray,
    strum::EnumMessage,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::Display
)]
#[strum(serialize_all = "lowercase")]
pub enum Engine {
    /// This process, on the processors of this machine.
    #[default]
    Local,
    /// A job array of Slurm, one task a point.
    Slurm,
    /// Tasks of HyperQueue, on a server of their own or one that is there.
    Hyperqueue,
}

/// How an engine works.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Which one.
    pub engine: Engine,
    /// Threads in all of the local engine, and of each point elsewhere; 0 means one per processor
    /// here, and one elsewhere.
    pub threads: usize,
    /// The program that workers start; by default this one.
    pub program: PathBuf,
    /// Most points at a time on Slurm and HyperQueue, if there is a limit.
    pub max_jobs: Option<usize>,
    /// What Slurm is told.
    pub slurm: SlurmOptions,
    /// What HyperQueue is told.
    pub hyperqueue: HyperqueueOptions,
}

/// What Slurm is told.
#[derive(Clone, Debug)]
pub struct SlurmOptions {
    /// The limit of one task, in Slurm's words, as in `02:00:00`; by default the partition's.
    pub time: Option<String>,
    /// Seconds ahead of the limit at which a task stops at a checkpoint and queues again.
    pub notice_s: u32,
    /// Further arguments of `sbatch`.
    pub arguments: Vec<String>,
}

/// What HyperQueue is told.
#[derive(Clone, Debug)]
pub struct HyperqueueOptions {
    /// The Python with the package `hyperqueue`.
    pub python: PathBuf,
    /// The directory of a server that runs already; by default one is started here.
    pub server_dir: Option<PathBuf>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            engine: Engine::Local,
            threads: 0,
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("gleaner")),
            max_jobs: None,
            slurm: SlurmOptions {
                time: None,
                notice_s: 60,
                arguments: Vec::new(),
            },
            hyperqueue: HyperqueueOptions {
                python: PathBuf::from("python3"),
                server_dir: None,
            },
        }
    }
}

impl EngineOptions {
    /// Returns the options of the local engine.
    #[must_use]
    pub fn local(threads: usize) -> Self {
        Self {
            threads,
            ..Self::default()
        }
    }

    /// Threads of one point where each is a process of its own.
    fn threads_of_point(&self) -> usize {
        self.threads.max(1)
    }
}

/// Hears how the points go.
pub trait Watcher {
    /// So many points are about to be made, some of which may be complete already.
    fn begin(&mut self, _points: usize) {}
    /// A point is complete, or has failed.
    fn finished(&mut self, _point: &Point, _outcome: &Outcome) {}
    /// Something worth saying that stops nothing.
    fn notice(&mut self, _text: &str) {}
    /// All points are done with.
    fn end(&mut self) {}
}

/// Makes every point of a plan that is not complete in `dir`, where the plan was written to; points
/// that were interrupted are continued. Returns what became of each, in the order of the plan.
///
/// # Errors
/// The directory has no plan or another, or there is no such engine on this machine.
pub fn carry_out(
    plan: &Plan,
    dir: &Path,
    options: &EngineOptions,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Outcome>, EngineError> {
    plan.check(dir)?;
    // What failed is tried again: its cause may have been mended.
    for point in plan.points() {
        Place::new(dir, &point.id).forget_failure();
    }
    watcher.begin(plan.points().len());
    let outcomes = match options.engine {
        Engine::Local => Ok(local::carry_out(plan, dir, options.threads, watcher)),
        Engine::Slurm => Slurm::new(plan, dir, options)
            .and_then(|mut slurm| follow(plan, dir, &mut slurm, watcher)),
        Engine::Hyperqueue => Hyperqueue::new(plan, dir, options)
            .and_then(|mut queue| follow(plan, dir, &mut queue, watcher)),
    };
    watcher.end();
    outcomes
}
