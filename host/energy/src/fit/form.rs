//! Test of the paper's form: whether the energy of a cycle is alpha f^2.

use serde::Deserialize;

use super::Coefficients;
use super::matrix::Square;
use super::student;
use super::term::{Kind, Term};

/// Growth of a cycle's energy with the clock, e = scale (f / middle)^exponent, with 95 % intervals.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Form {
    /// Number of measured clocks.
    pub clocks: usize,
    pub exponent: f64,
    /// Lower end of the exponent's interval.
    pub low: f64,
    /// Upper end of the exponent's interval.
    pub high: f64,
    /// Best alpha of alpha f^2, in J s^2.
    pub alpha: f64,
    /// Lower end of alpha's interval if the exponent is 2.
    pub alpha_low: f64,
    pub alpha_high: f64,
}

/// Smallest number of clocks whose costs can contradict a power law.
pub const FEWEST_CLOCKS: usize = 3;

/// Subject of [`Form::sentence`] for [`Form::of`].
pub const ABOVE_IDLING: &str = "the energy of a cycle above idling";
/// Subject of [`Form::sentence`] for [`Form::of_total`].
pub const IN_ALL: &str = "all that is drawn for a cycle, idling included,";

impl Form {
    /// Tests the energy of a cycle above idling.
    ///
    /// Fits a line through the logarithms of the costs, weighted by their covariance, and widens the
    /// interval if the costs lie off the line by more than that. Returns `None` for fewer than three
    /// clocks or if a cost is not above zero.
    #[must_use]
    pub fn of(found: &Coefficients) -> Option<Self> {
        let (clocks, costs, covariance) = cycles(found);
        Self::through(&clocks, &costs, &covariance, found.freedom)
    }

    /// Tests all energy drawn per cycle of computing, idling included: e + P_idle / f.
    #[must_use]
    pub fn of_total(found: &Coefficients) -> Option<Self> {
        let (clocks, _, _) = cycles(found);
        // Each total is a linear combination of coefficients, which gives its covariance.
        let parts: Vec<Vec<f64>> = (clocks.iter())
            .map(|&clock| {
                (found.terms.iter())
                    .map(|term| match term.kind {
                        Kind::Cycle if term.clock_hz == Some(clock) => 1.0,
                        Kind::Idle if term.clock_hz.is_none_or(|it| it == clock) => {
                            1.0 / f64::from(clock)
                        }
                        _ => 0.0,
                    })
                    .collect()
            })
            .collect();
        let costs: Vec<f64> = (parts.iter())
            .map(|part| super::least::dot(part, &found.values))
            .collect();
        let mut covariance = Square::zeros(clocks.len());
        for (row, left) in parts.iter().enumerate() {
            for (column, right) in parts.iter().enumerate() {
                let cell: f64 = (0..left.len())
                    .map(|a| {
                        let inner: f64 = (0..right.len())
                            .map(|b| found.covariance.at(a, b) * right[b])
                            .sum();
                        left[a] * inner
                    })
                    .sum();
                covariance.set(row, column, cell);
            }
        }
        Self::through(&clocks, &costs, &covariance, found.freedom)
    }

    fn through(clocks: &[u32], costs: &[f64], covariance: &Square, freedom: f64) -> Option<Self> {
        let count = clocks.len();
        if count < FEWEST_CLOCKS || costs.iter().any(|&cost| cost <= 0.0) {
            return None;
        }
        let mut relative = covariance.clone();
        for a in 0..count {
            for b in 0..count {
                relative.set(a, b, covariance.at(a, b) / costs[a] / costs[b]);
            }
        }
        let lower = relative.cholesky(0.0).ok()?;
        let logs: Vec<f64> = costs.iter().map(|cost| cost.ln()).collect();
        let middle = clocks
            .iter()
            .map(|&clock| f64::from(clock).ln())
            .sum::<f64>()
            / count as f64;
        let along: Vec<f64> = (clocks.iter())
            .map(|&clock| f64::from(clock).ln() - middle)
            .collect();
        let line = generalised(&lower, &[vec![1.0; count], along.clone()], &logs)?;
        let extra = (line.chi_square / (count - 2) as f64).max(1.0);
        let quantile = student::quantile(0.975, freedom);
        let reach = quantile * (extra * line.covariance.at(1, 1)).sqrt();
        // With the exponent fixed at 2, the rest is the logarithm of alpha.
        let rest: Vec<f64> = (logs.iter().zip(clocks))
            .map(|(log, &clock)| log - 2.0 * f64::from(clock).ln())
            .collect();
        let level = generalised(&lower, &[vec![1.0; count]], &rest)?;
        let spread = quantile * level.covariance.at(0, 0).sqrt();
        Some(Self {
            clocks: count,
            exponent: line.values[1],
            low: line.values[1] - reach,
            high: line.values[1] + reach,
            alpha: level.values[0].exp(),
            alpha_low: (level.values[0] - spread).exp(),
            alpha_high: (level.values[0] + spread).exp(),
        })
    }

    /// Returns whether alpha f^2 is rejected at 5 %: whether 2 lies outside the exponent's interval.
    #[must_use]
    pub fn rejects_square(&self) -> bool {
        !(self.low..=self.high).contains(&2.0)
    }

    /// Returns the result as a sentence about [`ABOVE_IDLING`] or [`IN_ALL`].
    #[must_use]
    pub fn sentence(&self, what: &str) -> String {
        let Self {
            clocks,
            exponent,
            low,
            high,
            ..
        } = self;
        let seen = format!(
            "over {clocks} clocks {what} grows as f^{exponent:.4} (95 % interval {low:.4} to {high:.4})"
        );
        if self.rejects_square() {
            format!("The paper's alpha f^2 is rejected at 5 %: {seen}.")
        } else {
            format!(
                "The paper's alpha f^2 is not rejected at 5 %: {seen}, with alpha = {:.3e} J s^2.",
                self.alpha
            )
        }
    }
}

fn cycles(found: &Coefficients) -> (Vec<u32>, Vec<f64>, Square) {
    let places: Vec<(usize, u32)> = (found.terms.iter().enumerate())
        .filter_map(|(at, term)| match term {
            Term {
                kind: Kind::Cycle,
                clock_hz: Some(clock),
            } => Some((at, *clock)),
            _ => None,
        })
        .collect();
    let mut covariance = Square::zeros(places.len());
    for (row, a) in places.iter().enumerate() {
        for (column, b) in places.iter().enumerate() {
            covariance.set(row, column, found.covariance.at(a.0, b.0));
        }
    }
    let costs = places.iter().map(|&(at, _)| found.values[at]).collect();
    (
        places.iter().map(|place| place.1).collect(),
        costs,
        covariance,
    )
}

struct Line {
    values: Vec<f64>,
    covariance: Square,
    chi_square: f64,
}

/// Least squares of `right` on `columns` with the covariance L Lᵀ.
fn generalised(lower: &Square, columns: &[Vec<f64>], right: &[f64]) -> Option<Line> {
    let solved: Vec<Vec<f64>> = columns.iter().map(|column| lower.solve(column)).collect();
    let size = columns.len();
    let mut normal = Square::zeros(size);
    let mut sides = vec![0.0; size];
    for a in 0..size {
        sides[a] = super::least::dot(&solved[a], right);
        for (b, column) in columns.iter().enumerate() {
            normal.set(a, b, super::least::dot(&solved[a], column));
        }
    }
    let factor = normal.cholesky(1e-12).ok()?;
    let values = factor.solve(&sides);
    let left: Vec<f64> = (0..right.len())
        .map(|row| {
            let fitted: f64 = (columns.iter().zip(&values))
                .map(|(column, value)| column[row] * value)
                .sum();
            right[row] - fitted
        })
        .collect();
    Some(Line {
        values,
        covariance: factor.inverse(),
        chi_square: super::least::dot(&lower.solve(&left), &left),
    })
}
