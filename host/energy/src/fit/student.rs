//! Quantiles of Student's t and of the chi-square distribution.

/// Returns the quantile `share`, one half or more, of Student's t distribution with `freedom`
/// degrees.
#[must_use]
pub fn quantile(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while below(high, freedom) < share && high < 1e9 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if below(middle, freedom) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Returns the probability of a draw below `t`, which is not negative.
#[must_use]
pub fn below(t: f64, freedom: f64) -> f64 {
    let x = freedom / (freedom + t * t);
    1.0 - 0.5 * beta_share(0.5 * freedom, 0.5, x)
}

/// Returns the regularised incomplete beta function, by Lentz's continued fraction (DLMF 8.17.22).
fn beta_share(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly on one side only; the other follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(b, a, 1.0 - x);
    }
    let front = (a * x.ln() + b * (-x).ln_1p() - log_beta(a, b)).exp() / a;
    let keep = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 0.0);
    for step in 0..500 {
        let m = f64::from(step / 2);
        let part = match step {
            0 => 1.0,
            even if even % 2 == 0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 / keep(1.0 + part * d);
        c = keep(1.0 + part / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 && step > 0 {
            break;
        }
    }
    front * (fraction - 1.0)
}

fn log_beta(a: f64, b: f64) -> f64 {
    log_gamma(a) + log_gamma(b) - log_gamma(a + b)
}

/// Returns ln Gamma(x): Stirling's series (DLMF 5.11.1) from ten on, and the recurrence below.
fn log_gamma(x: f64) -> f64 {
    let (mut z, mut shift) = (x, 0.0);
    while z < 10.0 {
        shift += z.ln();
        z += 1.0;
    }
    let square = 1.0 / (z * z);
    let series =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / z;
    (z - 0.5) * z.ln() - z + 0.5 * std::f64::consts::TAU.ln() + series - shift
}

/// Returns the quantile of chi-square over its degrees of freedom that has the probability of the
/// normal quantile `normal` (Wilson and Hilferty, 1931).
#[must_use]
pub fn reduced_chi_square(normal: f64, freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    (1.0 - spread + normal * spread.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [
            (1.0, 12.706_205),
            (2.0, 4.302_653),
            (5.0, 2.570_582),
            (30.0, 2.042_272),
            (1e6, 1.959_966),
        ] {
            let found = quantile(0.975, freedom);
            assert!((found - expected).abs() < 2e-5, "{freedom}: {found}");
        }
    }

    #[test]
    fn chi_squares_are_those_of_the_tables() {
        // 99 % of chi-square with 50 degrees: 76.154.
        let found = 50.0 * reduced_chi_square(2.326_348, 50.0);
        assert!((found - 76.154).abs() < 0.1, "{found}");
    }
}
