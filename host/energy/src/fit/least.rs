//! Weighted least squares with a variance that is partly known.
//!
//! The meter's noise gives each interval a variance v. If the residuals agree with v, the covariance
//! is scaled by their size. If they are much larger, the model differs from interval to interval by
//! a share rho of the energy: v + (rho y)^2, with the rho that explains the residuals (Mandel and
//! Paule, 1970).

use super::matrix::Square;
use super::student::reduced_chi_square;

/// Result of a weighted fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) values: Vec<f64>,
    pub(super) covariance: Square,
    /// Degrees of freedom: intervals minus coefficients.
    pub(super) freedom: f64,
    /// Squared residuals over the meter's variance, divided by the freedom.
    pub(super) chi_square: f64,
    /// Relative error of the model beyond noise.
    pub(super) misfit: f64,
}

/// Relative pivot below which a column counts as a combination of those before it.
const DEPENDENT: f64 = 1e-9;
/// The 99 % quantile of the normal distribution, beyond which residuals are not noise alone.
const BEYOND_NOISE: f64 = 2.326_348;

/// Fits `energies` by `amounts`, one row each, with the meter's variances. The error is the index of
/// a column that depends on those before it.
pub(super) fn squares(
    amounts: &[Vec<f64>],
    energies: &[f64],
    variances: &[f64],
) -> Result<Estimate, usize> {
    let columns = amounts.first().map_or(0, Vec::len);
    let freedom = energies.len().saturating_sub(columns).max(1) as f64;
    let plain = weighted(amounts, energies, variances)?;
    let chi_square = plain.chi_square / freedom;
    if chi_square <= reduced_chi_square(BEYOND_NOISE, freedom) {
        return Ok(Estimate {
            values: plain.values,
            covariance: plain.covariance.scaled(chi_square),
            freedom,
            chi_square,
            misfit: 0.0,
        });
    }
    let with = |rho: f64| {
        let wider: Vec<f64> = (variances.iter().zip(energies))
            .map(|(variance, energy)| variance + (rho * energy).powi(2))
            .collect();
        weighted(amounts, energies, &wider)
    };
    let (mut low, mut high) = (0.0, 1e-6);
    while with(high)?.chi_square > freedom && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if with(middle)?.chi_square > freedom {
            low = middle;
        } else {
            high = middle;
        }
    }
    let wider = with(high)?;
    Ok(Estimate {
        values: wider.values,
        covariance: wider.covariance,
        freedom,
        chi_square,
        misfit: high,
    })
}

struct Weighted {
    values: Vec<f64>,
    covariance: Square,
    chi_square: f64,
}

fn weighted(amounts: &[Vec<f64>], energies: &[f64], variances: &[f64]) -> Result<Weighted, usize> {
    let columns = amounts.first().map_or(0, Vec::len);
    let rows = || amounts.iter().zip(energies).zip(variances);
    // Columns differ by many orders of magnitude (seconds, cycles) and are normalised first.
    let lengths: Vec<f64> = (0..columns)
        .map(|column| {
            let square: f64 = rows()
                .map(|((row, _), variance)| row[column] * row[column] / variance)
                .sum();
            square.sqrt()
        })
        .collect();
    if let Some(empty) = lengths.iter().position(|&length| length <= 0.0) {
        return Err(empty);
    }
    let mut normal = Square::zeros(columns);
    let mut right = vec![0.0; columns];
    for ((row, energy), variance) in rows() {
        for a in 0..columns {
            let scaled = row[a] / lengths[a] / variance;
            right[a] += scaled * energy;
            for b in 0..columns {
                normal.add(a, b, scaled * row[b] / lengths[b]);
            }
        }
    }
    let lower = normal.cholesky(DEPENDENT)?;
    let scaled = lower.solve(&right);
    let mut covariance = lower.inverse();
    for a in 0..columns {
        for b in 0..columns {
            covariance.set(a, b, covariance.at(a, b) / lengths[a] / lengths[b]);
        }
    }
    let values: Vec<f64> = (scaled.iter().zip(&lengths))
        .map(|(value, length)| value / length)
        .collect();
    let chi_square = rows()
        .map(|((row, energy), variance)| (energy - dot(row, &values)).powi(2) / variance)
        .sum();
    Ok(Weighted {
        values,
        covariance,
        chi_square,
    })
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_data_give_exact_coefficients() {
        let amounts = vec![
            vec![1.0, 0.0],
            vec![0.0, 2e6],
            vec![1.0, 1e6],
            vec![2.0, 3e6],
        ];
        let energies: Vec<f64> = amounts.iter().map(|row| dot(row, &[0.5, 3e-9])).collect();
        let found = squares(&amounts, &energies, &[1e-12; 4]).unwrap();
        assert!((found.values[0] - 0.5).abs() < 1e-12);
        assert!((found.values[1] - 3e-9).abs() < 1e-18);
    }

    #[test]
    fn residuals_beyond_the_noise_widen_the_covariance() {
        let amounts: Vec<Vec<f64>> = (0..40).map(|_| vec![1.0]).collect();
        let energies: Vec<f64> = (0..40).map(|n| 1.0 + 0.02 * f64::from(n % 2)).collect();
        let found = squares(&amounts, &energies, &[1e-8; 40]).unwrap();
        assert!(found.misfit > 0.009 && found.misfit < 0.011, "{found:?}");
        let error = found.covariance.at(0, 0).sqrt();
        assert!((error - 0.01 / 40f64.sqrt()).abs() < 2e-4, "{error}");
    }

    #[test]
    fn a_dependent_column_is_named() {
        let amounts = vec![vec![1.0, 2.0], vec![2.0, 4.0], vec![3.0, 6.0]];
        assert_eq!(squares(&amounts, &[1.0, 2.0, 3.0], &[1.0; 3]), Err(1));
        let empty = vec![vec![0.0], vec![0.0]];
        assert_eq!(squares(&empty, &[1.0, 2.0], &[1.0; 2]), Err(0));
    }
}
