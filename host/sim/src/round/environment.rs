//! The environment of a run: the gains of its channel and the income of its harvest.

use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use gleaner_cre::channel::{ChannelSource, Coverage, Emulation, Trace, TraceError};
use gleaner_energy::harvest::{Harvest, HarvestError};
use gleaner_files::read_at_most;

use super::privacy::NoiseKey;
use super::settings;
use crate::scenario::{Estimates, Scenario};

/// Most bytes of a trace that a run reads: some nine million gains.
pub(crate) const TRACE_MAX: u64 = 256 << 20;

/// The channel, the harvest and the noise of a run, ready for every round.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The gains of every round.
    pub channel: ChannelSource,
    /// The income of every client and round.
    pub harvest: Harvest,
    /// Secret of the noise that differential privacy adds; without one it follows from the seed.
    pub noise: Option<NoiseKey>,
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
        channel: channel(scenario)?,
        harvest: harvest(scenario)?,
        noise: None,
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

/// Returns the source of a scenario's gains; a trace is read and checked here, before any round.
///
/// # Errors
/// Names the trace and what is wrong with it or missing in it.
pub fn channel(scenario: &Scenario) -> Result<ChannelSource, TraceError> {
    let path = &scenario.channel.trace;
    if path.is_empty() {
        let clients = whole(scenario.clients.count);
        let (channels, radio) = (scenario.radio.channels, settings::radio(scenario));
        let drawn = Emulation::new(scenario.run.seed, clients, channels, radio);
        let drawn = drawn.with_placement(scenario.channel.placement);
        return Ok(ChannelSource::Drawn(drawn));
    }
    channel_from(scenario, path, &read_gains(path)?[..])
}

/// Reads the file of a channel trace.
///
/// # Errors
/// Names a file that cannot be read, or is longer than [`TRACE_MAX`].
pub(crate) fn read_gains(path: &str) -> Result<Vec<u8>, TraceError> {
    read_at_most(Path::new(path), TRACE_MAX).map_err(|source| TraceError::Read {
        name: path.to_owned(),
        source,
    })
}

/// Returns the source of a scenario's gains whose trace is at hand; `name` is what errors call it.
///
/// # Errors
/// As [`of`].
pub fn channel_from(
    scenario: &Scenario,
    name: &str,
    source: impl Read,
) -> Result<ChannelSource, TraceError> {
    let trace = Trace::read(name, source)?;
    let (clients, channels) = (scenario.clients.count, scenario.radio.channels);
    let coverage = Coverage::check(
        trace,
        channel_rounds(scenario),
        whole(clients),
        whole(channels),
    )?;
    Ok(ChannelSource::Traced(coverage))
}

/// Returns the rounds whose gains a run uses; round 0 is one of them where the introduction is an
/// upload of every client.
#[must_use]
pub fn channel_rounds(scenario: &Scenario) -> RangeInclusive<u32> {
    let uploads =
        settings::policy(scenario).wants_estimates() && scenario.cre.estimates == Estimates::Uplink;
    u32::from(!uploads)..=whole(scenario.run.rounds)
}

fn whole(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
