//! Recorded runs that planning takes the place of training with: estimates of CRE and gradient norms.

use std::path::Path;

use gleaner_cre::estimate::clip_beta;
use gleaner_cre::optim::Instance;
use serde::Deserialize;

use super::printed::sizes;
use crate::error::ExperimentError;

/// What the base station knew before every round of a run under CRE.
#[derive(Clone, Debug, Default)]
pub struct Estimates {
    rows: Vec<Vec<f64>>,
}

/// One round of a recording; other fields are of no interest here.
#[derive(Deserialize)]
struct Problem {
    inst: Instance,
}

/// The gradient norms of all clients in every round of a run.
#[derive(Clone, Debug, Default)]
pub struct Norms {
    rows: Vec<Vec<f64>>,
}

/// Estimates of a run of the preset; `docs/results/cnn.md` has its command.
const ESTIMATES: &str = include_str!("recorded/estimates.csv");
/// Gradient norms of a run of the preset's network; `docs/results/cnn.md` has its command.
const NORMS: &str = include_str!("recorded/norms.csv");

/// Columns of the estimates before those of delta: round, loss gap, rho, beta.
const BEFORE_DELTA: usize = 4;

impl Estimates {
    /// Returns the record inside the program.
    pub fn built_in() -> Self {
        Self {
            rows: rows(ESTIMATES, BEFORE_DELTA + sizes().len()),
        }
    }

    /// Reads the problems that `gleaner simulate --record-instances` wrote.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let refused = |problem: String| ExperimentError::Problems {
            path: path.to_owned(),
            problem,
        };
        let text = gleaner_files::read_text(path).map_err(gleaner_files::at(path))?;
        let problems: Vec<Problem> =
            serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        let of_ten = |it: &Problem| it.inst.clients() == sizes().len();
        if problems.is_empty() || !problems.iter().all(of_ten) {
            return Err(refused("expected rounds of ten clients".to_owned()));
        }
        let row = |(round, Problem { inst }): (u32, &Problem)| {
            let bound = &inst.bound;
            let mut row = vec![f64::from(round), bound.gap, bound.rho, bound.beta];
            row.extend(&inst.delta);
            row
        };
        Ok(Self {
            rows: (1..).zip(&problems).map(row).collect(),
        })
    }

    /// Returns the number of recorded rounds.
    pub fn rounds(&self) -> usize {
        self.rows.len()
    }

    /// Writes the estimates of a round into its problem.
    pub fn fill(&self, round: u32, best_loss: f64, instance: &mut Instance) {
        let row = at(&self.rows, round);
        let [_, gap, rho, beta, delta @ ..] = row else {
            return;
        };
        instance.bound.gap = (gap - best_loss).max(f64::MIN_POSITIVE.sqrt());
        instance.bound.rho = *rho;
        instance.bound.beta = clip_beta(*beta, instance.bound.eta);
        instance.delta = delta.to_vec();
    }
}

impl Norms {
    /// Returns the record inside the program.
    pub fn built_in() -> Self {
        Self {
            rows: rows(NORMS, 1 + sizes().len()),
        }
    }

    /// Returns the norms of a round.
    pub fn of_round(&self, round: u32) -> &[f64] {
        at(&self.rows, round).get(1..).unwrap_or_default()
    }
}

/// Returns the row of a round; beyond the record its last quarter repeats.
fn at(rows: &[Vec<f64>], round: u32) -> &[f64] {
    let (index, count) = (round.saturating_sub(1) as usize, rows.len());
    let last = (count / 4).max(1);
    let index = match index < count {
        true => index,
        false => count - last + (index - count) % last,
    };
    rows.get(index).map_or(&[], Vec::as_slice)
}

/// Reads the rows of a file of the program, which a test reads whole.
fn rows(text: &str, columns: usize) -> Vec<Vec<f64>> {
    let lines = text.lines().skip(1);
    let row = |line: &str| line.split(',').map(|cell| cell.parse().ok()).collect();
    lines
        .filter_map(row)
        .filter(|row: &Vec<f64>| row.len() == columns)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_records_is_read_and_is_of_the_next_round() {
        for (text, rows) in [
            (ESTIMATES, Estimates::built_in().rows),
            (NORMS, Norms::built_in().rows),
        ] {
            assert_eq!(rows.len(), text.lines().count() - 1);
            assert!(rows.len() >= 40);
            let rounds = rows.iter().map(|row| row[0]);
            assert!(
                rounds
                    .zip(1..)
                    .all(|(round, number)| round == f64::from(number))
            );
            assert!(rows.iter().flatten().all(|it| it.is_finite() && *it > 0.0));
        }
    }

    #[test]
    fn beyond_the_record_its_last_quarter_repeats() {
        let rows: Vec<Vec<f64>> = (1..=8).map(|it| vec![f64::from(it)]).collect();
        let seen: Vec<f64> = (1..=13).map(|round| at(&rows, round)[0]).collect();
        assert_eq!(seen[..8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(seen[8..], [7.0, 8.0, 7.0, 8.0, 7.0]);
    }
}
