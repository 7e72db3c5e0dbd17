//! The channel of a run: drawn from its seed, or read from the trace its scenario names.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;

use crate::scenario::{Estimates, Scenario};
use gleaner_cre::channel::{ChannelSource, Coverage, Emulation, Trace, TraceError};

use super::settings;

/// Returns the source of a scenario's gains; a trace is read and checked here, before any round.
///
/// # Errors
/// Names the trace and what is wrong with it or missing in it.
pub fn of(scenario: &Scenario) -> Result<ChannelSource, TraceError> {
    let path = &scenario.channel.trace;
    if path.is_empty() {
        let clients = whole(scenario.clients.count);
        let (channels, radio) = (scenario.radio.channels, settings::radio(scenario));
        let drawn = Emulation::new(scenario.run.seed, clients, channels, radio);
        return Ok(ChannelSource::Drawn(drawn));
    }
    let file = File::open(path).map_err(|source| TraceError::Read {
        name: path.clone(),
        source,
    })?;
    traced(scenario, path, file)
}

/// Returns the source of a scenario's gains in a trace from elsewhere than its own path; `name`
/// is what errors call it.
///
/// # Errors
/// As [`of`].
pub fn traced(
    scenario: &Scenario,
    name: &str,
    source: impl Read,
) -> Result<ChannelSource, TraceError> {
    let trace = Trace::read(name, source)?;
    let (clients, channels) = (scenario.clients.count, scenario.radio.channels);
    let coverage = Coverage::check(trace, rounds(scenario), whole(clients), whole(channels))?;
    Ok(ChannelSource::Traced(coverage))
}

/// Returns the rounds whose gains a run uses; round 0 is one of them where the introduction is an
/// upload of every client.
#[must_use]
pub fn rounds(scenario: &Scenario) -> RangeInclusive<u32> {
    let uploads =
        settings::policy(scenario).wants_estimates() && scenario.cre.estimates == Estimates::Uplink;
    u32::from(!uploads)..=whole(scenario.run.rounds)
}

fn whole(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
