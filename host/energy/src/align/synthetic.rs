//! Small traces in memory, for tests.

use std::convert::Infallible;

use gleaner_shared::energy::Phase;
use gleaner_shared::rng::{Purpose, Rng};

use crate::mark::Mark;
use crate::trace::{About, Block, Trace};

/// A trace in memory, read in blocks that divide nothing evenly.
pub(crate) struct Recorded {
    about: About,
    power_w: Vec<f32>,
    pins: Vec<u8>,
    at: usize,
}

impl Recorded {
    pub(crate) fn new(rate_hz: f64, power_w: Vec<f32>, pins: Vec<u8>) -> Self {
        let about = About {
            source: "memory".to_owned(),
            rate_hz,
            samples: Some(power_w.len() as u64),
            has_pins: !pins.is_empty(),
        };
        Self {
            about,
            power_w,
            pins,
            at: 0,
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<u8>, Vec<f32>) {
        (self.pins, self.power_w)
    }

    pub(crate) fn of_pins(pins: &[u8]) -> Self {
        Self::new(1.0, vec![0.0; pins.len()], pins.to_vec())
    }
}

impl Trace for Recorded {
    type Error = Infallible;

    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, block: &mut Block) -> Result<bool, Infallible> {
        block.clear();
        let end = (self.at + 997).min(self.power_w.len());
        block.power_w.extend(&self.power_w[self.at..end]);
        if self.about.has_pins {
            block.pins.extend(&self.pins[self.at..end]);
        }
        let more = end > self.at;
        self.at = end;
        Ok(more)
    }
}

/// A synthetic board with known power, and the meter beside it.
pub(crate) struct Scene {
    pub(crate) rate_hz: f64,
    pub(crate) offset_s: f64,
    pub(crate) drift: f64,
    /// Noise as a share of the power.
    pub(crate) noise: f64,
    /// Quiet time after the last mark.
    pub(crate) after_s: f64,
    pub(crate) seed: u64,
    pub(crate) marks: Vec<Mark>,
    /// Power of a mark's phase at its clock.
    pub(crate) power_w: fn(&Mark) -> f64,
}

/// Power of the board in most tests: a cycle costs alpha f^2 and nothing else.
pub(crate) fn quadratic(mark: &Mark) -> f64 {
    match mark.phase {
        Phase::Sleep => 1.2e-3,
        Phase::Idle => 18e-3,
        Phase::Receive => 30e-3,
        Phase::Transmit => 45e-3,
        _ => 4.2e-26 * f64::from(mark.clk_hz).powi(3),
    }
}

/// Power of a board whose energy per cycle grows with f.
pub(crate) fn linear(mark: &Mark) -> f64 {
    match mark.phase {
        Phase::Sleep | Phase::Idle | Phase::Receive | Phase::Transmit => quadratic(mark),
        _ => 5e-18 * f64::from(mark.clk_hz).powi(2),
    }
}

impl Scene {
    /// Rounds at three clocks: sleep, receive, train, encode, transmit, idle, of uneven lengths.
    pub(crate) fn rounds(count: u32, seed: u64) -> Self {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 7, 0);
        let mut marks: Vec<Mark> = Vec::new();
        let mut t_us = 40_000;
        for round in 0..count {
            let clk_hz = [48_000_000, 96_000_000, 125_000_000][round as usize % 3];
            for (phase, ms) in [
                (Phase::Sleep, 50),
                (Phase::Receive, 20),
                (Phase::Train, 60),
                (Phase::Encode, 10),
                (Phase::Transmit, 25),
                (Phase::Idle, 15),
            ] {
                let us = u64::from(ms * 1_000 + rng.below(ms * 400));
                let computes = matches!(phase, Phase::Train | Phase::Encode);
                marks.push(Mark {
                    seq: marks.len() as u32,
                    phase,
                    t_us,
                    cycles: u64::from(computes) * us * u64::from(clk_hz) / 1_000_000,
                    samples: if phase == Phase::Train { 40 } else { 0 },
                    bytes: if matches!(phase, Phase::Receive | Phase::Transmit) {
                        400 + rng.below(800)
                    } else {
                        0
                    },
                    clk_hz,
                });
                t_us += us;
            }
        }
        marks.push(Mark {
            seq: marks.len() as u32,
            phase: Phase::Sleep,
            t_us,
            cycles: 0,
            samples: 0,
            bytes: 0,
            clk_hz: 48_000_000,
        });
        Self {
            rate_hz: 100e3,
            offset_s: 0.321_456_7,
            drift: 50e-6,
            noise: 0.01,
            after_s: 0.2,
            seed,
            marks,
            power_w: quadratic,
        }
    }

    pub(crate) fn trace_s(&self, t_us: u64) -> f64 {
        self.offset_s + (1.0 + self.drift) * t_us as f64 * 1e-6
    }

    pub(crate) fn record(&self) -> Recorded {
        let mut rng = Rng::stream(self.seed, Purpose::Synthetic, 8, 0);
        let end_s = self.marks.last().map_or(0.0, |m| self.trace_s(m.t_us)) + self.after_s;
        let samples = (end_s * self.rate_hz) as usize;
        let (mut power_w, mut pins) = (Vec::with_capacity(samples), Vec::with_capacity(samples));
        let mut next = 0;
        for n in 0..samples {
            let t = n as f64 / self.rate_hz;
            while self
                .marks
                .get(next)
                .is_some_and(|m| self.trace_s(m.t_us) <= t)
            {
                next += 1;
            }
            // Asleep until the first mark.
            let mark = next.checked_sub(1).map_or(
                Mark {
                    phase: Phase::Sleep,
                    ..self.marks[0]
                },
                |at| self.marks[at],
            );
            let level = (self.power_w)(&mark);
            power_w.push((level * (1.0 + self.noise * normal(&mut rng))) as f32);
            pins.push(mark.phase.code());
        }
        Recorded::new(self.rate_hz, power_w, pins)
    }

    pub(crate) fn record_without_pins(&self) -> Recorded {
        let with = self.record();
        Recorded::new(self.rate_hz, with.power_w, Vec::new())
    }
}

/// Draws approximately from the standard normal distribution: the sum of twelve uniform draws.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0
}
