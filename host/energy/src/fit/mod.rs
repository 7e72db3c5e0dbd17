//! The powers and energies that explain what a meter saw: weighted least squares over intervals.
//!
//! An interval of t seconds with c cycles at the clock f and n bytes is taken to cost
//!
//! ```text
//! waiting    P_sleep t   or   P_idle t
//! computing  P_idle t + e(f) c
//! transfer   P_receive t + e(f) c + j_receive n     (and likewise for sending)
//! ```
//!
//! with e(f) the energy of a cycle above idling, a number of its own at every clock. That it grows
//! as f^2 is the paper's claim, so nothing here assumes it: [`Form`] tests it.

mod form;
mod integrate;
mod least;
pub mod matrix;
mod model;
pub mod student;
mod term;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use gleaner_shared::energy::Phase;
use serde::Deserialize;

pub use form::{ABOVE_IDLING, FEWEST_CLOCKS, Form, IN_ALL};
pub use integrate::{Measured, integrate};
use least::{Estimate, dot, squares};
use matrix::Square;
pub use term::{Kind, Part, Term, computes};

use crate::align::median;

/// Coefficients with what is not known of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// What each is.
    pub terms: Vec<Term>,
    /// Their values, in watts, joules a byte and joules a cycle.
    pub values: Vec<f64>,
    /// Their covariance.
    pub covariance: Square,
    /// Intervals less coefficients.
    pub freedom: f64,
}

impl Coefficients {
    /// Returns the 95 % interval of one, by its place.
    #[must_use]
    pub fn interval(&self, at: usize) -> (f64, f64) {
        let reach =
            student::quantile(0.975, self.freedom) * self.covariance.at(at, at).max(0.0).sqrt();
        (self.values[at] - reach, self.values[at] + reach)
    }

    /// Returns what a part of a measurement should have cost.
    #[must_use]
    pub fn energy_j(&self, part: &Part) -> f64 {
        let amounts: Vec<f64> = self.terms.iter().map(|term| term.amount(part)).collect();
        dot(&amounts, &self.values)
    }

    /// Returns a coefficient: that of the clock, or else that of all clocks.
    #[must_use]
    pub fn value(&self, kind: Kind, clock_hz: u32) -> Option<f64> {
        let place = |term: Term| self.terms.iter().position(|&it| it == term);
        let at = place(Term::at(kind, clock_hz)).or_else(|| place(Term::any(kind)))?;
        Some(self.values[at])
    }
}

/// Cycles of a sample, over the marks of training: the paper's b.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleCost {
    /// Marks it is from.
    pub marks: usize,
    /// Their mean, each mark alike.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// How well intervals are predicted that the fit did not see: every fifth of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// How many.
    pub intervals: usize,
    /// The median of their relative errors.
    pub median: f64,
    /// The largest.
    pub worst: f64,
}

/// What a measurement says.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The coefficients.
    pub coefficients: Coefficients,
    /// The paper's form, tested on the cost of a cycle above idling.
    pub form: Option<Form>,
    /// The same on all that is drawn while computing.
    pub total_form: Option<Form>,
    /// Cycles of a sample.
    pub sample: Option<SampleCost>,
    /// The check on intervals that were held out; `None` of short measurements.
    pub held_out: Option<HeldOut>,
    /// Intervals fitted.
    pub used: usize,
    /// Intervals too short to be.
    pub short: usize,
    /// Squared residuals over what the meter's noise allows; 1 is a model that explains all else.
    pub chi_square: f64,
    /// The share by which intervals differ from the model beyond noise.
    pub misfit: f64,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Why a measurement cannot be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Nothing but waiting.
    #[error("no interval computes; order epochs of training in the plan (gleaner measure --plan)")]
    NoWork,
    /// Nothing but work.
    #[error("no interval waits; order sleep or idling in the plan (gleaner measure --plan)")]
    NoWaiting,
    /// Clocks that do not vary.
    #[error(
        "{}; order at least {needed} clocks (gleaner measure --plan), or fit without the test of alpha f^2 \
         (--no-exponent)",
        clocks(found)
    )]
    TooFewClocks {
        /// The clocks that computed.
        found: Vec<u32>,
        /// How many are needed.
        needed: usize,
    },
    /// A coefficient that hardly anything tells.
    #[error(
        "{term} has {found} usable intervals and needs {needed}; repeat it in the plan (gleaner measure --plan)"
    )]
    TooFewIntervals {
        /// The coefficient.
        term: String,
        /// How many intervals have it.
        found: usize,
        /// How many it needs.
        needed: usize,
    },
    /// Two coefficients that always go together.
    #[error(
        "{term} cannot be told from the coefficients before it: it never varies without them; vary it in the plan \
         (gleaner measure --plan)"
    )]
    Dependent {
        /// The coefficient.
        term: String,
    },
    /// A mark that contradicts itself.
    #[error("mark {seq} ({phase}) counts {cycles} cycles in {seconds:.6} s at {clk_hz} Hz; {fix}")]
    Implausible {
        /// Its number.
        seq: u32,
        /// Its phase.
        phase: &'static str,
        /// Its cycles.
        cycles: u64,
        /// How long it lasted.
        seconds: f64,
        /// Its clock.
        clk_hz: u32,
        /// What may be wrong.
        fix: &'static str,
    },
}

fn clocks(found: &[u32]) -> String {
    let list: Vec<String> = (found.iter())
        .map(|&clock| format!("{}", f64::from(clock) / 1e6))
        .collect();
    match found.len() {
        1 => format!("all computing ran at one clock ({} MHz)", list[0]),
        n => format!(
            "computing ran at {n} clocks only ({} MHz)",
            list.join(" and ")
        ),
    }
}

/// Every this many intervals of a kind, one is held out.
const HOLD_OUT_EVERY: usize = 5;
/// More cycles than the clock can make are a wrong clock; a counter may round by this share.
const MOST_CYCLES: f64 = 1.02;

/// Fits the intervals of a measurement.
///
/// # Errors
/// The variation that is missing, by name.
pub fn fit(measured: &[Measured], fewest_clocks: usize) -> Result<Fit, FitError> {
    check(measured)?;
    let usable: Vec<Measured> = (measured.iter())
        .filter(|interval| interval.inner_s > 0.0)
        .copied()
        .collect();
    let parts: Vec<Part> = usable.iter().map(Measured::inner).collect();
    let energies: Vec<f64> = usable.iter().map(|interval| interval.inner_j).collect();
    let variances = variances(&usable);
    let model = model::choose(&parts, &energies, &variances, fewest_clocks)?;
    let all: Vec<usize> = (0..usable.len()).collect();
    let solve = |chosen: &[usize]| estimate(&model.terms, &parts, &energies, &variances, chosen);
    let found = solve(&all)?;
    let held_out = held_out(&usable, &parts, solve, &model.terms);
    let coefficients = coefficients(&model.terms, &found);
    Ok(Fit {
        form: Form::of(&coefficients),
        total_form: Form::of_total(&coefficients),
        sample: sample(&usable),
        held_out,
        used: usable.len(),
        short: measured.len() - usable.len(),
        chi_square: found.chi_square,
        misfit: found.misfit,
        notes: model.notes,
        coefficients,
    })
}

fn check(measured: &[Measured]) -> Result<(), FitError> {
    for Measured {
        mark, from_s, to_s, ..
    } in measured
    {
        let seconds = to_s - from_s;
        let most = f64::from(mark.clk_hz) * seconds * MOST_CYCLES + 1e3;
        let fix = if mark.clk_hz == 0 {
            "the board must say its clock"
        } else if computes(mark.phase) && mark.cycles == 0 {
            "the board must count its cycles"
        } else if mark.cycles as f64 > most {
            "more than the clock makes in that time"
        } else {
            continue;
        };
        return Err(FitError::Implausible {
            seq: mark.seq,
            phase: mark.phase.name(),
            cycles: mark.cycles,
            seconds,
            clk_hz: mark.clk_hz,
            fix,
        });
    }
    Ok(())
}

/// The variance of each interval's energy by the meter's noise: that of its samples, pooled over
/// intervals of one phase and clock, for so many independent samples.
fn variances(usable: &[Measured]) -> Vec<f64> {
    let mut pools: BTreeMap<(Phase, u32), (f64, f64)> = BTreeMap::new();
    for interval in usable {
        let pool = pools
            .entry((interval.mark.phase, interval.mark.clk_hz))
            .or_default();
        pool.0 += interval.noise_w2 * interval.inner_s;
        pool.1 += interval.inner_s;
    }
    (usable.iter())
        .map(|interval| {
            let pool = pools[&(interval.mark.phase, interval.mark.clk_hz)];
            let step_s = interval.inner_s / interval.inner_samples as f64;
            let noise = pool.0 / pool.1 * step_s * interval.inner_s;
            // A trace without any noise still has digits.
            noise
                .max((1e-7 * interval.inner_j).powi(2))
                .max(f64::MIN_POSITIVE)
        })
        .collect()
}

fn estimate(
    terms: &[Term],
    parts: &[Part],
    energies: &[f64],
    variances: &[f64],
    chosen: &[usize],
) -> Result<Estimate, FitError> {
    let amounts: Vec<Vec<f64>> = (chosen.iter())
        .map(|&at| terms.iter().map(|term| term.amount(&parts[at])).collect())
        .collect();
    let of = |values: &[f64]| -> Vec<f64> { chosen.iter().map(|&at| values[at]).collect() };
    squares(&amounts, &of(energies), &of(variances)).map_err(|column| FitError::Dependent {
        term: terms[column].to_string(),
    })
}

fn coefficients(terms: &[Term], found: &Estimate) -> Coefficients {
    Coefficients {
        terms: terms.to_vec(),
        values: found.values.clone(),
        covariance: found.covariance.clone(),
        freedom: found.freedom,
    }
}

fn held_out(
    usable: &[Measured],
    parts: &[Part],
    solve: impl Fn(&[usize]) -> Result<Estimate, FitError>,
    terms: &[Term],
) -> Option<HeldOut> {
    let mut counts: BTreeMap<(Phase, u32), usize> = BTreeMap::new();
    let (mut kept, mut out) = (Vec::new(), Vec::new());
    for (at, interval) in usable.iter().enumerate() {
        let count = counts
            .entry((interval.mark.phase, interval.mark.clk_hz))
            .or_default();
        *count += 1;
        if (*count).is_multiple_of(HOLD_OUT_EVERY) {
            out.push(at);
        } else {
            kept.push(at);
        }
    }
    let found = coefficients(terms, &solve(&kept).ok()?);
    let errors: Vec<f64> = (out.iter())
        .map(|&at| (found.energy_j(&parts[at]) / usable[at].inner_j - 1.0).abs())
        .collect();
    Some(HeldOut {
        intervals: errors.len(),
        median: median(errors.iter().copied())?,
        worst: errors.iter().copied().fold(0.0, f64::max),
    })
}

fn sample(usable: &[Measured]) -> Option<SampleCost> {
    let costs: Vec<f64> = (usable.iter())
        .filter(|interval| interval.mark.phase == Phase::Train && interval.mark.samples > 0)
        .map(|interval| interval.mark.cycles as f64 / f64::from(interval.mark.samples))
        .collect();
    let count = costs.len() as f64;
    let mean = costs.iter().sum::<f64>() / count;
    let square: f64 = costs.iter().map(|cost| (cost - mean).powi(2)).sum();
    (!costs.is_empty()).then(|| SampleCost {
        marks: costs.len(),
        mean,
        deviation: (square / (count - 1.0).max(1.0)).sqrt(),
        least: costs.iter().copied().fold(f64::INFINITY, f64::min),
        most: costs.iter().copied().fold(0.0, f64::max),
    })
}
