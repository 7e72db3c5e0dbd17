//! A board's marks brought together with a meter's trace: which samples belong to which phase.
//!
//! With pins, every change of their code is a mark's beginning ([`by_pins`]). Without, the marks'
//! times are moved along the trace until its power is as even as can be within each phase
//! ([`by_power`]). Both end in a [`Clock`]: an offset and a drift, and what each edge misses it by.

mod clock;
mod edges;
mod envelope;
mod matching;
mod power;
mod power_search;
#[cfg(test)]
pub(crate) mod synthetic;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use clock::Clock;
pub(crate) use clock::median;
pub use edges::{Level, Levels};
pub use envelope::{Column, envelopes};

use crate::mark::Mark;
use crate::trace::Trace;

/// How edges are told from noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The meter's input that shows the lowest bit; the other two follow.
    pub pin: u32,
    /// Samples a code must stay to count.
    pub hold: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { pin: 0, hold: 3 }
    }
}

/// How a trace was aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By the code on three pins.
    Pins,
    /// By the times of the marks and the trace's power alone.
    Power,
}

/// An edge that was used, and by how much it misses the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// The mark that begins there, by its place in the log.
    pub mark: usize,
    /// Where the edge is in the trace.
    pub trace_s: f64,
    /// How much later it is than the clock says.
    pub miss_s: f64,
}

/// Marks with their place in a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// How it was found.
    pub method: Method,
    /// From the board's time to the trace's.
    pub clock: Clock,
    /// Every edge that was used.
    pub residuals: Vec<Residual>,
    /// Glitches on the pins that were passed over.
    pub glitches: u64,
    /// Samples of the trace a second.
    pub rate_hz: f64,
    /// Samples in all.
    pub samples: u64,
}

impl Alignment {
    /// Returns where a mark's phase lies in the trace, in seconds; the last mark has no end.
    #[must_use]
    pub fn interval(&self, marks: &[Mark], at: usize) -> Option<Range<f64>> {
        let (mark, next) = (marks.get(at)?, marks.get(at + 1)?);
        Some(self.clock.to_trace(board_s(mark))..self.clock.to_trace(board_s(next)))
    }

    /// Returns a robust deviation of the edges from the clock: 1.48 times the median.
    #[must_use]
    pub fn spread_s(&self) -> f64 {
        1.4826 * median(self.residuals.iter().map(|r| r.miss_s.abs())).unwrap_or(0.0)
    }

    /// Returns the edge that misses most.
    #[must_use]
    pub fn worst(&self) -> Option<&Residual> {
        (self.residuals.iter()).max_by(|a, b| a.miss_s.abs().total_cmp(&b.miss_s.abs()))
    }

    /// Returns how far from an edge samples are left out of a fit: three deviations, and three
    /// samples at least.
    #[must_use]
    pub fn guard_s(&self) -> f64 {
        (3.0 * self.spread_s()).max(3.0 / self.rate_hz)
    }
}

/// Why a trace cannot be aligned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AlignError {
    /// The trace cannot be read.
    #[error("{0}")]
    Trace(String),
    /// A trace without logic levels.
    #[error("the trace has no logic channels; align by power instead (--by power)")]
    NoPins,
    /// A rate that is none.
    #[error("the trace has {0} samples a second; it must be a number above 0")]
    Rate(f64),
    /// Marks that are out of order, or lost.
    #[error("mark {seq} {what}")]
    Marks {
        /// Its number.
        seq: u32,
        /// What is wrong with it.
        what: String,
    },
    /// Too few marks to say anything.
    #[error("{0} marks make too few edges; a clock needs 3 at least")]
    TooFew(usize),
    /// Pins and marks tell different stories.
    #[error(
        "the pins show {levels} levels and the marks tell {told}; after {agreed} that agree, {place}"
    )]
    CountsDiffer {
        /// Levels on the pins.
        levels: usize,
        /// Levels the marks tell.
        told: usize,
        /// How many agree in a row from the start.
        agreed: usize,
        /// What comes next on both sides.
        place: String,
    },
    /// The order fits, the times do not.
    #[error(
        "the pins change in the marks' order but not at their times: mark {seq} is {miss_s:.6} s off \
         with a drift of {drift_ppm:.0} ppm; check the trace's sample rate and that log and trace are \
         of one measurement"
    )]
    TimesDiffer {
        /// The mark that is off most.
        seq: u32,
        /// By how much.
        miss_s: f64,
        /// The drift of the best line.
        drift_ppm: f64,
    },
    /// The trace is shorter than the measurement.
    #[error(
        "the trace lasts {trace_s:.3} s and the marks span {marks_s:.3} s; record the whole measurement"
    )]
    TooShort {
        /// How long the trace is.
        trace_s: f64,
        /// From the first mark to the last.
        marks_s: f64,
    },
    /// The power does not follow the marks.
    #[error(
        "the power does not follow the marks: at best they explain {0:.0} % of its variance; check that \
         log and trace are of one measurement, or wire the pins"
    )]
    Unrelated(f64),
    /// Several places fit as well.
    #[error(
        "the marks fit the trace at {first_s:.3} s and about as well at {second_s:.3} s; vary the plan's \
         durations, or wire the pins"
    )]
    Ambiguous {
        /// The better place of the first mark.
        first_s: f64,
        /// The other one.
        second_s: f64,
    },
}

/// Two crystals differ by less; more is a wrong rate.
const MOST_DRIFT: f64 = 2e-3;
/// An edge may miss by a few interrupts' time; a lost or foreign one misses by more.
const MOST_MISS_S: f64 = 1e-3;

/// Aligns by the code on three pins.
///
/// # Errors
/// Whatever keeps pins and marks from agreeing one to one, with the first place.
pub fn by_pins<T: Trace>(
    trace: &mut T,
    marks: &[Mark],
    options: Options,
) -> Result<Alignment, AlignError> {
    check(marks)?;
    let about = trace.about().clone();
    if !about.has_pins {
        return Err(AlignError::NoPins);
    }
    let rate_hz = rate(about.rate_hz)?;
    let seen = edges::read(trace, options.pin, options.hold).map_err(broken)?;
    let pairs = matching::pair(marks, &seen, rate_hz, options.hold)?;
    let times: Vec<(f64, f64)> = pairs.iter().map(|p| (p.board_s, p.trace_s)).collect();
    let clock = Clock::through(&times, 1.0 / rate_hz).ok_or(AlignError::TooFew(times.len()))?;
    let residuals: Vec<Residual> = (pairs.iter())
        .map(|pair| Residual {
            mark: pair.mark,
            trace_s: pair.trace_s,
            miss_s: pair.trace_s - clock.to_trace(pair.board_s),
        })
        .collect();
    let alignment = Alignment {
        method: Method::Pins,
        clock,
        residuals,
        glitches: seen.glitches,
        rate_hz,
        samples: seen.samples,
    };
    match alignment.worst() {
        Some(worst) if worst.miss_s.abs() > MOST_MISS_S || clock.drift.abs() > MOST_DRIFT => {
            Err(AlignError::TimesDiffer {
                seq: marks[worst.mark].seq,
                miss_s: worst.miss_s,
                drift_ppm: clock.drift_ppm(),
            })
        }
        _ => Ok(alignment),
    }
}

/// Aligns by the times of the marks and the trace's power.
///
/// # Errors
/// A trace that is too short, that does not follow the marks, or that does so in two places.
pub fn by_power<T: Trace>(trace: &mut T, marks: &[Mark]) -> Result<Alignment, AlignError> {
    check(marks)?;
    let rate_hz = rate(trace.about().rate_hz)?;
    let binned = power::Binned::read(trace, rate_hz).map_err(broken)?;
    let (clock, residuals) = power_search::find(&binned, marks)?;
    Ok(Alignment {
        method: Method::Power,
        clock,
        residuals,
        glitches: 0,
        rate_hz,
        samples: binned.samples(),
    })
}

fn broken<E: std::error::Error>(error: E) -> AlignError {
    AlignError::Trace(error.to_string())
}

fn rate(rate_hz: f64) -> Result<f64, AlignError> {
    let usable = rate_hz.is_finite() && rate_hz > 0.0;
    usable.then_some(rate_hz).ok_or(AlignError::Rate(rate_hz))
}

fn board_s(mark: &Mark) -> f64 {
    mark.t_us as f64 * 1e-6
}

/// Marks come in order, one by one; a lost one would shift all after it.
fn check(marks: &[Mark]) -> Result<(), AlignError> {
    for pair in marks.windows(2) {
        let (mark, next) = (&pair[0], &pair[1]);
        if mark.seq.checked_add(1) != Some(next.seq) {
            return Err(AlignError::Marks {
                seq: next.seq,
                what: format!("follows mark {}: some are lost; measure again", mark.seq),
            });
        }
        if next.t_us < mark.t_us {
            return Err(AlignError::Marks {
                seq: next.seq,
                what: format!("begins at {} us, before mark {}", next.t_us, mark.seq),
            });
        }
    }
    if marks.len() < clock::FEWEST {
        return Err(AlignError::TooFew(marks.len()));
    }
    Ok(())
}
