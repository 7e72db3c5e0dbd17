//! Source of a run's gains: drawn, or read from a trace that covers the run.

use std::ops::RangeInclusive;

use super::draw::{Emulation, RoundState};
use super::trace::{Trace, TraceError};

/// The source of a run's gains, which depend on the round alone.
#[derive(Clone, Debug)]
pub enum ChannelSource {
    /// Gains drawn from the seed.
    Drawn(Emulation),
    /// Gains read from a trace.
    Traced(Coverage),
}

impl ChannelSource {
    /// Returns the gains of a round.
    ///
    /// # Errors
    /// Returns an error for a round for which the trace was not checked.
    pub fn round(&self, round: u32) -> Result<RoundState, TraceError> {
        match self {
            Self::Drawn(emulation) => Ok(emulation.round(round)),
            Self::Traced(coverage) => coverage.round(round),
        }
    }
}

/// A trace that was checked to have every gain of a run.
#[derive(Clone, Debug)]
pub struct Coverage {
    trace: Trace,
    clients: u32,
    channels: u32,
}

impl Coverage {
    /// Checks that a trace has every client and channel in every one of the rounds.
    ///
    /// # Errors
    /// Returns [`TraceError::Missing`] for the first missing entry.
    pub fn check(
        trace: Trace,
        mut rounds: RangeInclusive<u32>,
        clients: u32,
        channels: u32,
    ) -> Result<Self, TraceError> {
        let coverage = Self {
            trace,
            clients,
            channels,
        };
        rounds.try_for_each(|round| coverage.round(round).map(drop))?;
        Ok(coverage)
    }

    fn round(&self, round: u32) -> Result<RoundState, TraceError> {
        self.trace.round(round, self.clients, self.channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_checked_for_every_round_client_and_channel_before_it_is_a_source() {
        let mut rows = String::from("round,client,channel,gain_db\n");
        for round in 1..=3 {
            for client in 0..2 {
                for channel in 0..=2 {
                    rows.push_str(&format!("{round},{client},{channel},-60\n"));
                }
            }
        }
        let check = |text: &str, rounds| {
            let trace = Trace::read("gains.csv", text.as_bytes()).expect("well-formed");
            Coverage::check(trace, rounds, 2, 2)
        };
        let source = ChannelSource::Traced(check(&rows, 1..=3).expect("all there"));
        assert!(source.round(3).is_ok() && source.round(0).is_err());
        for (gap, rounds, named) in [
            ("", 0..=3, (0, 0, 0)),
            ("", 1..=4, (4, 0, 0)),
            ("3,1,2,-60\n", 1..=3, (3, 1, 2)),
            ("2,0,0,-60\n", 1..=3, (2, 0, 0)),
        ] {
            let error = check(&rows.replace(gap, ""), rounds).expect_err("a gap");
            let TraceError::Missing {
                round,
                client,
                channel,
                ..
            } = error
            else {
                panic!("{error}");
            };
            assert_eq!((round, client, channel), named);
        }
    }
}
