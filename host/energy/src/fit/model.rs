//! Choice of the coefficients that a measurement can determine.

use std::collections::BTreeSet;

use gleaner_shared::energy::Phase;

use super::FitError;
use super::least::squares;
use super::student;
use super::term::{Kind, Part, Term, computes};

/// Smallest number of intervals of a coefficient.
const MIN_INTERVALS: usize = 3;
/// Smallest relative variation of bytes per second that separates bytes from time.
const MIN_VARIATION: f64 = 0.05;

/// The chosen coefficients, and notes about those that were left out.
pub(super) struct Model {
    pub(super) terms: Vec<Term>,
    pub(super) notes: Vec<String>,
}

/// Chooses the coefficients, or returns the variation that is missing.
pub(super) fn choose(
    parts: &[Part],
    energies: &[f64],
    variances: &[f64],
    fewest_clocks: usize,
) -> Result<Model, FitError> {
    let clocks: BTreeSet<u32> = (parts.iter())
        .filter(|part| computes(part.phase))
        .map(|part| part.clk_hz)
        .collect();
    if clocks.is_empty() {
        return Err(FitError::NoWork);
    }
    if clocks.len() < fewest_clocks {
        return Err(FitError::TooFewClocks {
            found: clocks.into_iter().collect(),
            needed: fewest_clocks,
        });
    }
    let has = |phase: Phase| parts.iter().any(|part| part.phase == phase);
    if !has(Phase::Sleep) && !has(Phase::Idle) {
        return Err(FitError::NoWaiting);
    }
    let mut model = Model {
        terms: Vec::new(),
        notes: Vec::new(),
    };
    for (phase, kind) in [(Phase::Sleep, Kind::Sleep), (Phase::Idle, Kind::Idle)] {
        if has(phase) {
            model.waiting(phase, kind, parts, energies, variances)?;
        } else {
            let name = phase.name();
            model.notes.push(format!(
                "no {name} was measured: the profile has no power for it"
            ));
        }
    }
    if !has(Phase::Idle) {
        model
            .notes
            .push("without idling, a cycle's cost is all energy drawn while computing".to_owned());
    }
    for (phase, power, byte) in [
        (Phase::Receive, Kind::Receive, Kind::ReceiveByte),
        (Phase::Transmit, Kind::Transmit, Kind::TransmitByte),
    ] {
        if !has(phase) {
            let name = phase.name();
            model.notes.push(format!(
                "no {name} was measured: the profile has no power for it"
            ));
            continue;
        }
        model.terms.push(Term::any(power));
        if varies(parts, phase) {
            model.terms.push(Term::any(byte));
        } else {
            let name = phase.name();
            model.notes.push(format!(
                "bytes and time of {name} are proportional: its bytes are in its power"
            ));
        }
    }
    // Cycles of transfers at clocks without computing have no coefficient.
    model
        .terms
        .extend(clocks.into_iter().map(|clock| Term::at(Kind::Cycle, clock)));
    model.check(parts)?;
    Ok(model)
}

impl Model {
    /// Adds the power of a waiting phase: one for all clocks, or one per clock if they differ at the
    /// level of 1 %.
    fn waiting(
        &mut self,
        phase: Phase,
        kind: Kind,
        parts: &[Part],
        energies: &[f64],
        variances: &[f64],
    ) -> Result<(), FitError> {
        let here: Vec<usize> = (0..parts.len())
            .filter(|&at| parts[at].phase == phase)
            .collect();
        let clocks: BTreeSet<u32> = here.iter().map(|&at| parts[at].clk_hz).collect();
        let of = |values: &[f64]| -> Vec<f64> { here.iter().map(|&at| values[at]).collect() };
        let (energies, variances) = (of(energies), of(variances));
        let fit = |terms: &[Term]| {
            let amounts: Vec<Vec<f64>> = (here.iter())
                .map(|&at| terms.iter().map(|term| term.amount(&parts[at])).collect())
                .collect();
            squares(&amounts, &energies, &variances)
        };
        let each: Vec<Term> = clocks.iter().map(|&clock| Term::at(kind, clock)).collect();
        let enough = here.len() >= MIN_INTERVALS * each.len();
        if each.len() > 1
            && enough
            && let (Ok(one), Ok(many)) = (fit(&[Term::any(kind)]), fit(&each))
            && many.chi_square > 0.0
        {
            let more = (each.len() - 1) as f64;
            let gained = one.chi_square * one.freedom - many.chi_square * many.freedom;
            // F with `more` and `freedom` degrees, bounded by the t of the best single contrast.
            let share = 1.0 - 0.005 / more;
            let limit = student::quantile(share, many.freedom).powi(2);
            if gained / many.chi_square > more.max(1.0) * limit {
                let name = phase.name();
                self.notes.push(format!(
                    "the power of {name} depends on the clock: one coefficient per clock"
                ));
                self.terms.extend(each);
                return Ok(());
            }
        }
        self.terms.push(Term::any(kind));
        Ok(())
    }

    fn check(&self, parts: &[Part]) -> Result<(), FitError> {
        for term in &self.terms {
            // Idling is part of computing, but only idling itself determines its power.
            let found = (parts.iter())
                .filter(|part| term.kind != Kind::Idle || part.phase == Phase::Idle)
                .filter(|part| term.amount(part) > 0.0)
                .count();
            if found < MIN_INTERVALS {
                return Err(FitError::TooFewIntervals {
                    term: term.to_string(),
                    found,
                    needed: MIN_INTERVALS,
                });
            }
        }
        Ok(())
    }
}

/// Returns whether bytes per second vary enough between the transfers of a phase.
fn varies(parts: &[Part], phase: Phase) -> bool {
    let rates: Vec<f64> = (parts.iter())
        .filter(|part| part.phase == phase)
        .map(|part| part.bytes / part.seconds)
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let square = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / rates.len() as f64;
    mean > 0.0 && square.sqrt() > MIN_VARIATION * mean
}
