//! The environment of a run: the gains of its channel and the income of its harvest.

use gleaner_cre::channel::{ChannelSource, TraceError};
use gleaner_energy::harvest::{Harvest, HarvestError};

use super::channel;
use crate::scenario::Scenario;

/// The channel and the harvest of a run, ready for every round.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The gains.
    pub channel: ChannelSource,
    /// The incomes.
    pub harvest: Harvest,
}

/// Error building the environment of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The gains cannot be had.
    #[error(transparent)]
    Channel(#[from] TraceError),
    /// The incomes cannot be had.
    #[error(transparent)]
    Harvest(#[from] HarvestError),
}

/// Returns the environment of a scenario; traces are read and checked here, before any round.
///
/// # Errors
/// Names the trace and what is wrong with it or missing in it.
pub fn of(scenario: &Scenario) -> Result<Environment, EnvironmentError> {
    Ok(Environment {
        channel: channel::of(scenario)?,
        harvest: harvest(scenario)?,
    })
}

/// Returns the incomes of a scenario.
///
/// # Errors
/// As [`of`].
pub fn harvest(scenario: &Scenario) -> Result<Harvest, HarvestError> {
    let (seed, rounds) = (scenario.run.seed, scenario.run.rounds);
    let settings = scenario.income_settings();
    Harvest::try_new(
        &settings,
        seed,
        scenario.clients.count,
        rounds,
        &constant_j(scenario),
    )
}

/// Returns the incomes of a scenario whose file is at hand; `name` is what errors call it.
///
/// # Errors
/// As [`of`].
pub fn harvest_from(
    scenario: &Scenario,
    name: &str,
    bytes: &[u8],
) -> Result<Harvest, HarvestError> {
    Harvest::from_bytes(
        &scenario.income_settings(),
        scenario.run.seed,
        scenario.clients.count,
        scenario.run.rounds,
        &constant_j(scenario),
        name,
        bytes,
    )
}

fn constant_j(scenario: &Scenario) -> Vec<f64> {
    let devices = scenario.devices();
    devices.iter().map(|device| device.harvest_j).collect()
}
