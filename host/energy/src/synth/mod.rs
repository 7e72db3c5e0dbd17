//! Synthetic traces: the recording of a meter beside a board whose profile is known.
//!
//! A [`Recipe`] describes a trace, and [`Synth`] generates it block by block, so that a study of
//! hundreds of traces needs neither disk nor memory. One recipe gives one trace, bit for bit.

mod noise;
mod plan;
mod truth;

pub use plan::Plan;
pub use truth::{Bytes, Cycle, Powers, Truth};

use crate::InputError;
use crate::mark::Mark;
use crate::trace::{About, Block, Kind, Missing, Place, Trace, TraceError, ppk2};

use noise::{Gap, Noise, draw_gaps};

const BLOCK: usize = 1 << 16;

/// Description of a synthetic trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Power and energy costs of the board.
    pub truth: Truth,
    /// Phases of the board by its own clock; the last mark lasts `tail_s`.
    pub marks: Vec<Mark>,
    /// Samples per second of the meter's clock.
    pub rate_hz: f64,
    /// Standard deviation of a sample as a share of its value.
    pub noise: f64,
    /// Standard deviation of a sample independent of its value.
    pub floor_a: f64,
    /// Resolution of the meter; 0 for none.
    pub step_a: f64,
    /// Excess of the board's second over the meter's, in parts per million.
    pub drift_ppm: f64,
    /// Time before the first mark, in which the board sleeps.
    pub lead_s: f64,
    /// Duration of the last mark by the meter.
    pub tail_s: f64,
    /// Whether the meter records the board's pins.
    pub pins: bool,
    /// Number of gaps of 1 to 63 lost samples.
    pub gaps: u32,
    /// Seed of noise and gaps.
    pub seed: u64,
}

impl Recipe {
    /// Describes a trace of a plan's marks at 100 kS/s with 1 % noise and 50 ppm of drift.
    #[must_use]
    pub fn planned(truth: Truth, plan: &Plan, seed: u64) -> Self {
        Self::of(truth, plan.marks(seed), seed)
    }

    /// Describes a trace of given marks at 100 kS/s with 1 % noise and 50 ppm of drift.
    #[must_use]
    pub const fn of(truth: Truth, marks: Vec<Mark>, seed: u64) -> Self {
        Self {
            truth,
            marks,
            rate_hz: 100_000.0,
            noise: 0.01,
            floor_a: 50e-9,
            step_a: 0.0,
            drift_ppm: 50.0,
            lead_s: 0.0715,
            tail_s: 0.1,
            pins: true,
            gaps: 0,
            seed,
        }
    }

    /// Converts a time of the board to seconds from the meter's first sample.
    #[must_use]
    pub fn meter_s(&self, t_us: u64) -> f64 {
        let first = self.marks.first().map_or(0, |mark| mark.t_us);
        let board_s = t_us.saturating_sub(first) as f64 * 1e-6;
        self.lead_s + board_s * (1.0 + self.drift_ppm * 1e-6)
    }

    /// Returns the number of samples, including lost ones.
    #[must_use]
    pub fn samples(&self) -> u64 {
        let last = self.marks.last().map_or(0, |mark| mark.t_us);
        ((self.meter_s(last) + self.tail_s) * self.rate_hz) as u64
    }

    /// Returns the energy of the whole trace without noise, lost samples included.
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        let end_s = self.samples() as f64 / self.rate_hz;
        let mut from_s = 0.0;
        let mut sum = 0.0;
        for segment in segments(self) {
            let to_s = segment.end_s.min(end_s);
            sum += segment.watts * (to_s - from_s).max(0.0);
            from_s = to_s.max(from_s);
        }
        sum
    }

    fn check(&self) -> Result<(), InputError> {
        let wrong = |problem: String| Err(InputError(problem));
        let shares = [
            ("noise", self.noise, 0.5),
            ("floor_a", self.floor_a, 1.0),
            ("step_a", self.step_a, 1.0),
            ("lead_s", self.lead_s, 1e6),
            ("tail_s", self.tail_s, 1e6),
        ];
        for (name, value, most) in shares {
            if !(0.0..=most).contains(&value) {
                return wrong(format!("{name} = {value}: must lie between 0 and {most}"));
            }
        }
        if !(1.0..=1e8).contains(&self.rate_hz) {
            return wrong(format!(
                "rate_hz = {}: must lie between 1 and 1e8",
                self.rate_hz
            ));
        }
        if !(-1e5..=1e5).contains(&self.drift_ppm) {
            return wrong(format!(
                "drift_ppm = {}: must lie between -100,000 and 100,000",
                self.drift_ppm
            ));
        }
        if self.marks.is_empty() {
            return wrong("no marks; a trace needs at least one".to_owned());
        }
        for pair in self.marks.windows(2) {
            if pair[1].t_us < pair[0].t_us {
                return wrong(format!(
                    "mark {} begins before mark {}",
                    pair[1].seq, pair[0].seq
                ));
            }
            if pair[1].t_us <= pair[0].t_us && self.truth.work_j(&pair[0]) > 0.0 {
                return wrong(format!(
                    "mark {} has work but no duration; a meter would not see it",
                    pair[0].seq
                ));
            }
        }
        Ok(())
    }
}

/// A segment of constant power with its end on the meter's clock and the code on the pins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    end_s: f64,
    watts: f64,
    code: u8,
}

impl Segment {
    /// The time after the last mark.
    const SILENCE: Self = Self {
        end_s: f64::INFINITY,
        watts: 0.0,
        code: 0,
    };
}

/// Returns all segments in order, including the sleep before the first mark.
fn segments(recipe: &Recipe) -> Vec<Segment> {
    let truth = &recipe.truth;
    let lead = Segment {
        end_s: recipe.lead_s,
        watts: truth.power_w.sleep,
        code: 0,
    };
    let ends = recipe.marks.iter().skip(1).map(|mark| mark.t_us);
    let marks = recipe.marks.iter().zip(ends.map(Some).chain([None]));
    let played = marks.map(|(mark, end)| {
        let from_s = recipe.meter_s(mark.t_us);
        let end_s = end.map_or(from_s + recipe.tail_s, |t_us| recipe.meter_s(t_us));
        let seconds = end_s - from_s;
        // A segment of zero duration is never reached, so its power does not matter.
        let watts = truth.energy_j(mark, seconds) / seconds;
        Segment {
            end_s,
            watts: if watts.is_finite() { watts } else { 0.0 },
            code: mark.phase.code(),
        }
    });
    std::iter::once(lead).chain(played).collect()
}

/// Generator of a synthetic trace.
#[derive(Clone, Debug)]
pub struct Synth {
    about: About,
    segments: std::vec::IntoIter<Segment>,
    now: Segment,
    gaps: std::vec::IntoIter<Gap>,
    gap: Option<Gap>,
    noise: Noise,
    meter: Meter,
    sample: u64,
    samples: u64,
}

/// Noise and resolution of the meter.
#[derive(Clone, Debug)]
struct Meter {
    rate_hz: f64,
    share: f64,
    floor_w: f64,
    step_ua: f64,
    ua_per_w: f64,
    w_per_ua: f64,
}

impl Meter {
    fn new(recipe: &Recipe) -> Self {
        let volts = recipe.truth.voltage_v;
        Self {
            rate_hz: recipe.rate_hz,
            share: recipe.noise,
            floor_w: recipe.floor_a * volts,
            step_ua: recipe.step_a * 1e6,
            ua_per_w: 1e6 / volts,
            w_per_ua: volts * 1e-6,
        }
    }

    fn spread(&self, watts: f64) -> f64 {
        let share = self.share * watts;
        (share * share + self.floor_w * self.floor_w).sqrt()
    }

    /// Returns the power as read back from an archive of a PPK2.
    fn show(&self, watts: f64, pins: u8) -> f32 {
        let mut ua = watts * self.ua_per_w;
        if self.step_ua > 0.0 {
            ua = (ua / self.step_ua).round() * self.step_ua;
        }
        (f64::from(ppk2::shown(ua, pins)) * self.w_per_ua) as f32
    }
}

impl Synth {
    /// Starts the trace of a recipe.
    ///
    /// # Errors
    /// Returns the first field of the recipe that is out of its range.
    pub fn try_new(recipe: &Recipe) -> Result<Self, InputError> {
        recipe.check()?;
        let samples = recipe.samples();
        let mut segments = segments(recipe).into_iter();
        let mut gaps = draw_gaps(recipe.gaps, samples, recipe.seed)?.into_iter();
        Ok(Self {
            about: About {
                source: format!("synthetic trace of seed {}", recipe.seed),
                rate_hz: recipe.rate_hz,
                samples: Some(samples),
                has_pins: recipe.pins,
            },
            now: segments.next().unwrap_or(Segment::SILENCE),
            segments,
            gap: gaps.next(),
            gaps,
            noise: Noise::new(recipe.seed),
            meter: Meter::new(recipe),
            sample: 0,
            samples,
        })
    }

    /// Returns the mean power of the next sample and the pins at its start.
    fn next(&mut self) -> (f64, u8) {
        let period_s = 1.0 / self.meter.rate_hz;
        let from_s = self.sample as f64 / self.meter.rate_hz;
        let to_s = (self.sample + 1) as f64 / self.meter.rate_hz;
        while self.now.end_s <= from_s {
            self.step();
        }
        let pins = self.now.code;
        if self.now.end_s >= to_s {
            return (self.now.watts, pins);
        }
        let mut sum = 0.0;
        let mut at_s = from_s;
        while self.now.end_s < to_s {
            sum += self.now.watts * (self.now.end_s - at_s);
            at_s = self.now.end_s;
            self.step();
        }
        sum += self.now.watts * (to_s - at_s);
        (sum / period_s, pins)
    }

    fn step(&mut self) {
        self.now = self.segments.next().unwrap_or(Segment::SILENCE);
    }
}

impl Trace for Synth {
    type Error = TraceError;

    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        block.clear();
        if let Some(gap) = self.gap.filter(|gap| gap.at == self.sample) {
            for _ in 0..gap.samples {
                self.next();
                self.noise.next();
                self.sample += 1;
            }
            self.gap = self.gaps.next();
            let missing = Missing::Exactly(gap.samples);
            let place = Place::Sample(gap.at);
            return Err(TraceError::at(
                &self.about.source,
                place,
                Kind::Gap { missing },
            ));
        }
        let until = self.gap.map_or(self.samples, |gap| gap.at);
        let count = (until - self.sample).min(BLOCK as u64);
        for _ in 0..count {
            let (watts, pins) = self.next();
            let noisy = watts + self.meter.spread(watts) * self.noise.next();
            block.power_w.push(self.meter.show(noisy, pins));
            if self.about.has_pins {
                block.pins.push(pins);
            }
            self.sample += 1;
        }
        Ok(count > 0)
    }
}

#[cfg(test)]
mod tests;
