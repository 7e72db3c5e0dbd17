//! Synthetic marks: a sweep of clocks, epochs and transfers as `gleaner measure` orders it.

use gleaner_shared::energy::Phase;
use gleaner_shared::rng::{Purpose, Rng};

use crate::mark::Mark;

/// Activity of a synthetic board: rounds at every clock, each with random work. Pairs are minimum
/// and maximum.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Clocks of the processor, at least three for a fit.
    pub clocks_hz: Vec<u32>,
    /// Number of rounds at each clock.
    pub rounds: u32,
    /// Training samples of a round, processed once per epoch.
    pub samples: (u32, u32),
    /// Largest number of epochs.
    pub epochs: u32,
    /// Cycles per sample and epoch.
    pub cycles_per_sample: u32,
    /// Bytes of each transfer.
    pub bytes: (u32, u32),
    /// Bytes per second on the link.
    pub bytes_per_s: u32,
    /// Duration of sleep and of idling in a round, each.
    pub wait_us: (u32, u32),
}

impl Default for Plan {
    /// Returns a plan of three clocks and about twelve seconds.
    fn default() -> Self {
        Self {
            clocks_hz: vec![48_000_000, 90_000_000, 133_000_000],
            rounds: 8,
            samples: (20, 80),
            epochs: 3,
            cycles_per_sample: 60_000,
            bytes: (1_000, 8_000),
            bytes_per_s: 92_160,
            wait_us: (40_000, 120_000),
        }
    }
}

/// Phases of a round in order; a plan ends with one more sleep.
const ROUND: [Phase; 8] = [
    Phase::Sleep,
    Phase::Idle,
    Phase::Receive,
    Phase::Apply,
    Phase::Train,
    Phase::Evaluate,
    Phase::Encode,
    Phase::Transmit,
];

impl Plan {
    /// Returns the marks of the plan; the last is a sleep without an end of its own.
    #[must_use]
    pub fn marks(&self, seed: u64) -> Vec<Mark> {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 1, 0);
        let mut marks = Vec::new();
        // The clock of a board does not start with the measurement.
        let mut t_us = 1_000_000 + u64::from(rng.below(1_000_000));
        for &clk_hz in &self.clocks_hz {
            for _ in 0..self.rounds {
                let samples = between(&mut rng, self.samples);
                let epochs = 1 + rng.below(self.epochs);
                for phase in ROUND {
                    let (mark, us) = self.mark(&mut rng, phase, clk_hz, samples, epochs);
                    marks.push(Mark {
                        seq: marks.len() as u32,
                        t_us,
                        ..mark
                    });
                    t_us += us;
                }
            }
        }
        let clk_hz = self.clocks_hz.last().copied().unwrap_or(1);
        marks.push(Mark {
            seq: marks.len() as u32,
            t_us,
            ..blank(Phase::Sleep, clk_hz)
        });
        marks
    }

    /// Returns a mark without number and time, and its duration in microseconds.
    fn mark(
        &self,
        rng: &mut Rng,
        phase: Phase,
        clk_hz: u32,
        samples: u32,
        epochs: u32,
    ) -> (Mark, u64) {
        let work = u64::from(samples) * u64::from(self.cycles_per_sample);
        let mut mark = blank(phase, clk_hz);
        match phase {
            Phase::Sleep | Phase::Idle => {
                return (mark, u64::from(between(rng, self.wait_us)));
            }
            Phase::Receive | Phase::Transmit => {
                mark.bytes = between(rng, self.bytes);
                let us = u64::from(mark.bytes) * 1_000_000 / u64::from(self.bytes_per_s.max(1));
                // The link also waits, so that a fit can tell time and bytes apart.
                let us = us + u64::from(between(rng, self.wait_us)) / 2;
                // A tenth of the cycles moves bytes; the processor waits through the rest.
                mark.cycles = us * u64::from(clk_hz) / 10_000_000;
                return (mark, us);
            }
            Phase::Train => {
                mark.samples = samples * epochs;
                mark.cycles = work * u64::from(epochs);
            }
            Phase::Evaluate => {
                mark.samples = samples;
                mark.cycles = work / 3;
            }
            Phase::Apply | Phase::Encode => {
                mark.cycles = 500_000 + u64::from(rng.below(1_000_000));
            }
        }
        let us = (mark.cycles * 1_000_000).div_ceil(u64::from(clk_hz.max(1)));
        (mark, us)
    }
}

const fn blank(phase: Phase, clk_hz: u32) -> Mark {
    Mark {
        seq: 0,
        phase,
        t_us: 0,
        cycles: 0,
        samples: 0,
        bytes: 0,
        clk_hz,
    }
}

/// Draws a number from an inclusive range.
fn between(rng: &mut Rng, (least, most): (u32, u32)) -> u32 {
    least + rng.below(most.saturating_sub(least).saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_every_phase_at_every_clock_and_depends_on_its_seed() {
        let plan = Plan::default();
        let marks = plan.marks(3);
        for clk_hz in &plan.clocks_hz {
            for phase in Phase::ALL {
                let here = marks
                    .iter()
                    .filter(|mark| mark.clk_hz == *clk_hz && mark.phase == phase);
                assert!(
                    here.count() >= plan.rounds as usize,
                    "{phase:?} at {clk_hz}"
                );
            }
        }
        for (at, pair) in marks.windows(2).enumerate() {
            assert_eq!(pair[0].seq as usize, at);
            assert!(pair[0].t_us < pair[1].t_us);
        }
        assert_eq!(marks, plan.marks(3));
        assert_ne!(marks, plan.marks(4));
    }
}
