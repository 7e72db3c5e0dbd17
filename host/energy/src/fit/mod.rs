//! Fit of powers and energies to a measurement: weighted least squares over intervals.
//!
//! The model of an interval of t seconds with c cycles at the clock f and n bytes is
//!
//! ```text
//! waiting    P_sleep t   or   P_idle t
//! computing  P_idle t + e(f) c
//! transfer   P_receive t + e(f) c + j_receive n     (and likewise for transmit)
//! ```
//!
//! with e(f) the energy of a cycle above idling, a separate coefficient at every clock. The paper
//! assumes that e(f) grows as f^2; [`Form`] tests this.

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

/// Fitted coefficients and their covariance.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Coefficients {
    pub terms: Vec<Term>,
    /// Values in watts, joules per byte and joules per cycle.
    pub values: Vec<f64>,
    pub covariance: Square,
    /// Degrees of freedom: intervals minus coefficients.
    pub freedom: f64,
}

impl Coefficients {
    /// Returns the 95 % confidence interval of a coefficient by its index.
    #[must_use]
    pub fn interval(&self, at: usize) -> (f64, f64) {
        let reach =
            student::quantile(0.975, self.freedom) * self.covariance.at(at, at).max(0.0).sqrt();
        (self.values[at] - reach, self.values[at] + reach)
    }

    /// Returns the energy of a part of a measurement by the model.
    #[must_use]
    pub fn energy_j(&self, part: &Part) -> f64 {
        let amounts: Vec<f64> = self.terms.iter().map(|term| term.amount(part)).collect();
        dot(&amounts, &self.values)
    }

    /// Returns the coefficient of a clock, or else that of all clocks.
    #[must_use]
    pub fn value(&self, kind: Kind, clock_hz: u32) -> Option<f64> {
        let place = |term: Term| self.terms.iter().position(|&it| it == term);
        let at = place(Term::at(kind, clock_hz)).or_else(|| place(Term::any(kind)))?;
        Some(self.values[at])
    }
}

/// Cycles per sample over the marks of training, the paper's b. Every mark has the same weight.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct SampleCost {
    pub marks: usize,
    pub mean: f64,
    pub deviation: f64,
    pub least: f64,
    pub most: f64,
}

/// Relative errors of intervals that were not fitted: every fifth of a phase and clock.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct HeldOut {
    pub intervals: usize,
    pub median: f64,
    pub worst: f64,
}

/// Result of a fit.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Fit {
    pub coefficients: Coefficients,
    /// The paper's form, tested on the energy of a cycle above idling.
    pub form: Option<Form>,
    /// The paper's form, tested on all energy drawn while computing.
    pub total_form: Option<Form>,
    pub sample: Option<SampleCost>,
    /// Check on held-out intervals; `None` for short measurements.
    pub held_out: Option<HeldOut>,
    /// Number of fitted intervals.
    pub used: usize,
    /// Number of intervals that were too short to be fitted.
    pub short: usize,
    /// Squared residuals relative to the meter's noise; 1 if noise explains all residuals.
    pub chi_square: f64,
    /// Share by which intervals differ from the model beyond noise.
    pub misfit: f64,
    /// Coefficients that were left out, with the reasons.
    pub notes: Vec<String>,
}

/// Error of a fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum FitError {
    /// The measurement has no phase that computes.
    #[error("no interval computes; order epochs of training in the plan (gleaner measure --plan)")]
    NoWork,
    /// The measurement has neither sleep nor idling.
    #[error("no interval waits; order sleep or idling in the plan (gleaner measure --plan)")]
    NoWaiting,
    /// The clocks vary too little.
    #[error(
        "{}; order at least {needed} clocks (gleaner measure --plan), or fit without the test of alpha f^2 \
         (--no-exponent)",
        clocks(found)
    )]
    TooFewClocks { found: Vec<u32>, needed: usize },
    /// A coefficient has too few intervals.
    #[error(
        "{term} has {found} usable intervals and needs {needed}; repeat it in the plan (gleaner measure --plan)"
    )]
    TooFewIntervals {
        term: String,
        found: usize,
        needed: usize,
    },
    /// A coefficient is a combination of others.
    #[error(
        "{term} cannot be separated from the coefficients before it: it never varies without them; vary it in the \
         plan (gleaner measure --plan)"
    )]
    Dependent { term: String },
    /// The cycles of a mark contradict its clock or duration.
    #[error("mark {seq} ({phase}) counts {cycles} cycles in {seconds:.6} s at {clk_hz} Hz; {fix}")]
    Implausible {
        seq: u32,
        phase: &'static str,
        cycles: u64,
        seconds: f64,
        clk_hz: u32,
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

/// One of this many intervals of a phase and clock is held out.
const HOLD_OUT_EVERY: usize = 5;
/// Tolerance of the cycle counter relative to the clock; more cycles mean a wrong clock.
const MAX_CYCLES: f64 = 1.02;

/// Fits the intervals of a measurement. `fewest_clocks` is usually [`FEWEST_CLOCKS`]; with 1 the
/// test of the paper's form is skipped.
///
/// # Errors
/// Returns the variation that the measurement lacks, by name.
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
        let most = f64::from(mark.clk_hz) * seconds * MAX_CYCLES + 1e3;
        let fix = if mark.clk_hz == 0 {
            "the board must report its clock"
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

/// Returns the variance of each interval's energy by the meter's noise: the variance of its samples,
/// pooled over intervals of one phase and clock.
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
            // A trace without noise still has rounding errors.
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
