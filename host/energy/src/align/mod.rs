//! Alignment of a board's marks with a meter's trace: the samples that belong to each phase.
//!
//! With pins, every change of their code is the start of a mark ([`by_pins`]). Without pins, the
//! marks are moved along the trace until its power is most even within each phase ([`by_power`]).
//! Both return a [`Clock`], an offset and a drift, and the residual of each edge.

mod clock;
mod envelope;
mod pins;
mod power;
#[cfg(test)]
pub(crate) mod synthetic;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use clock::Clock;
pub(crate) use clock::median;
pub use envelope::{Column, envelopes};
pub use pins::{Level, Levels};

use crate::mark::Mark;
use crate::trace::Trace;

/// Options of the detection of edges on pins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The meter's input with the lowest bit; the other two follow.
    pub pin: u32,
    /// Number of samples that a code must hold to count.
    pub hold: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { pin: 0, hold: 3 }
    }
}

/// Method of an alignment: by the code on three pins, or by the power alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Method {
    Pins,
    Power,
}

/// An edge that was used, and its deviation from the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// Index of the mark that begins at the edge.
    pub mark: usize,
    /// Time of the edge in the trace.
    pub trace_s: f64,
    /// Delay of the edge against the clock.
    pub miss_s: f64,
}

/// Marks with their place in a trace.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Alignment {
    pub method: Method,
    /// Conversion from the board's time to the trace's.
    pub clock: Clock,
    /// Every edge that was used.
    pub residuals: Vec<Residual>,
    /// Number of ignored glitches on the pins.
    pub glitches: u64,
    pub rate_hz: f64,
    pub samples: u64,
}

impl Alignment {
    /// Returns the interval of a mark's phase in the trace, in seconds; the last mark has no end.
    #[must_use]
    pub fn interval(&self, marks: &[Mark], at: usize) -> Option<Range<f64>> {
        let (mark, next) = (marks.get(at)?, marks.get(at + 1)?);
        Some(self.clock.to_trace(board_s(mark))..self.clock.to_trace(board_s(next)))
    }

    /// Returns the robust standard deviation of the edges: 1.48 times the median deviation.
    #[must_use]
    pub fn spread_s(&self) -> f64 {
        1.4826 * median(self.residuals.iter().map(|r| r.miss_s.abs())).unwrap_or(0.0)
    }

    /// Returns the edge with the largest deviation.
    #[must_use]
    pub fn worst(&self) -> Option<&Residual> {
        (self.residuals.iter()).max_by(|a, b| a.miss_s.abs().total_cmp(&b.miss_s.abs()))
    }

    /// Returns the distance from an edge within which a fit ignores samples: three deviations, at
    /// least three samples.
    #[must_use]
    pub fn guard_s(&self) -> f64 {
        (3.0 * self.spread_s()).max(3.0 / self.rate_hz)
    }
}

/// Error of an alignment.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum AlignError {
    /// The trace cannot be read.
    #[error("{0}")]
    Trace(String),
    /// The trace has no logic levels.
    #[error("the trace has no logic channels; align by power instead (--by power)")]
    NoPins,
    #[error("the trace has {0} samples per second; the rate must be a number above 0")]
    Rate(f64),
    /// Marks are lost or out of order.
    #[error("mark {seq} {what}")]
    Marks { seq: u32, what: String },
    #[error("{0} marks make too few edges; a clock needs at least 3")]
    TooFew(usize),
    /// Pins and marks show different levels.
    #[error(
        "the pins show {levels} levels and the marks {told}; after {agreed} that agree, {place}"
    )]
    CountsDiffer {
        levels: usize,
        told: usize,
        agreed: usize,
        place: String,
    },
    /// The order of pins and marks agrees, but not the times.
    #[error(
        "the pins change in the marks' order but not at their times: mark {seq} is {miss_s:.6} s off \
         with a drift of {drift_ppm:.0} ppm; check the trace's sample rate and that log and trace are \
         of one measurement"
    )]
    TimesDiffer {
        seq: u32,
        miss_s: f64,
        drift_ppm: f64,
    },
    /// The trace is shorter than the measurement.
    #[error(
        "the trace lasts {trace_s:.3} s and the marks span {marks_s:.3} s; record the whole measurement"
    )]
    TooShort { trace_s: f64, marks_s: f64 },
    /// The marks explain too little of the power's variance.
    #[error(
        "the power does not follow the marks: at best they explain {0:.0} % of its variance; check that \
         log and trace are of one measurement, or wire the pins"
    )]
    Unrelated(f64),
    /// The marks fit the trace at several places.
    #[error(
        "the marks fit the trace at {first_s:.3} s and about as well at {second_s:.3} s; vary the plan's \
         durations, or wire the pins"
    )]
    Ambiguous { first_s: f64, second_s: f64 },
}

/// Largest accepted drift; two crystals differ by less, so more is a wrong rate.
const MAX_DRIFT: f64 = 2e-3;
/// Largest accepted deviation of an edge, a few interrupts long.
const MAX_MISS_S: f64 = 1e-3;

/// Aligns by the code on three pins.
///
/// # Errors
/// Returns the first place at which pins and marks do not agree one to one.
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
    let seen = pins::read(trace, options.pin, options.hold).map_err(broken)?;
    let pairs = pins::pair(marks, &seen, rate_hz, options.hold)?;
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
        Some(worst) if worst.miss_s.abs() > MAX_MISS_S || clock.drift.abs() > MAX_DRIFT => {
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
/// Returns an error if the trace is too short, or if it fits the marks nowhere or at several places.
pub fn by_power<T: Trace>(trace: &mut T, marks: &[Mark]) -> Result<Alignment, AlignError> {
    check(marks)?;
    let rate_hz = rate(trace.about().rate_hz)?;
    let binned = power::Binned::read(trace, rate_hz).map_err(broken)?;
    let (clock, residuals) = power::find(&binned, marks)?;
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

/// Checks that no mark is lost and that times do not decrease.
fn check(marks: &[Mark]) -> Result<(), AlignError> {
    for pair in marks.windows(2) {
        let (mark, next) = (&pair[0], &pair[1]);
        if mark.seq.checked_add(1) != Some(next.seq) {
            return Err(AlignError::Marks {
                seq: next.seq,
                what: format!("follows mark {}: marks were lost; measure again", mark.seq),
            });
        }
        if next.t_us < mark.t_us {
            return Err(AlignError::Marks {
                seq: next.seq,
                what: format!("begins at {} us, before mark {}", next.t_us, mark.seq),
            });
        }
    }
    if marks.len() < clock::MIN_EDGES {
        return Err(AlignError::TooFew(marks.len()));
    }
    Ok(())
}
