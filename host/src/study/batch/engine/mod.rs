//! Engines: who makes the points of a plan.

mod local;

use std::path::Path;

use super::error::PlanError;
use super::place::Place;
use super::plan::Plan;
use super::{Outcome, Point};

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
}

/// How an engine works.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Which one.
    pub engine: Engine,
    /// Threads in all of the local engine, and of each point elsewhere; 0 means one per processor
    /// here, and one elsewhere.
    pub threads: usize,
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

/// Why an engine could not work at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The plan is not in the directory.
    #[error(transparent)]
    Plan(#[from] PlanError),
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
    };
    watcher.end();
    outcomes
}
