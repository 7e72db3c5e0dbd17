//! The accountant: Renyi differential privacy (RDP) of a Gaussian mechanism, composed over rounds and
//! converted to (epsilon, delta).
//!
//! The sums and bounds are those of Google's `dp-accounting`, with its orders; tests compare with values
//! of that package.

/// A mechanism by its Renyi divergence at every order.
#[derive(Clone, Debug, PartialEq)]
pub struct Mechanism {
    divergences: Vec<f64>,
}

/// Largest order at which the bound on sampling is computed term by term.
const TERM_BY_TERM: u32 = 256;

/// Iterates over the orders alpha at which divergences are tracked.
fn orders() -> impl Iterator<Item = f64> {
    let low = (11..110).map(|tenths| f64::from(tenths) / 10.0);
    let high = (11..64).chain([128, 256, 512, 1024]);
    low.chain(high.map(f64::from))
}

impl Mechanism {
    /// Returns the Gaussian mechanism whose noise has `multiplier` times the sensitivity as its standard
    /// deviation: D_alpha = alpha / (2 z^2) (Mironov, "Renyi differential privacy", 2017).
    #[must_use]
    pub fn gaussian(multiplier: f64) -> Self {
        Self {
            divergences: orders().map(|order| gaussian(multiplier, order)).collect(),
        }
    }

    /// Returns the Gaussian mechanism on `sample` clients drawn uniformly from `clients` without
    /// replacement, by a draw that stays secret, under replace-one adjacency.
    ///
    /// The bound is Theorem 27 of Wang, Balle and Kasiviswanathan, "Subsampled Renyi differential privacy
    /// and analytical moments accountant", 2019, or the divergence without sampling where that is less:
    /// a mixture over draws diverges no more than its worst draw.
    #[must_use]
    pub fn sampled(multiplier: f64, sample: usize, clients: usize) -> Self {
        let share = sample as f64 / clients as f64;
        let divergence = |order| {
            let whole = gaussian(multiplier, order);
            match share < 1.0 {
                true => sampled(share, multiplier, order).min(whole),
                false => whole,
            }
        };
        Self {
            divergences: orders().map(divergence).collect(),
        }
    }

    /// Returns the least epsilon at `delta` after `times` uses: with r = `times` D_alpha, the least over
    /// the orders of r + ln(1 - 1 / alpha) - ln(delta alpha) / (alpha - 1) (Canonne, Kamath and Steinke,
    /// "The discrete Gaussian for differential privacy", 2020, Proposition 12), or 0 where
    /// sqrt(1 - exp(-r)) < delta.
    #[must_use]
    pub fn epsilon(&self, times: u32, delta: f64) -> f64 {
        let at = |(order, divergence): (f64, &f64)| {
            if times == 0 {
                return 0.0;
            }
            let r = f64::from(times) * divergence;
            if delta * delta + libm::expm1(-r) > 0.0 {
                0.0
            } else {
                let epsilon =
                    r + libm::log1p(-1.0 / order) - libm::log(delta * order) / (order - 1.0);
                epsilon.max(0.0)
            }
        };
        let all = orders().zip(&self.divergences).map(at);
        // What is not a number bounds nothing.
        all.fold(f64::INFINITY, f64::min)
    }
}

/// Returns alpha / (2 z^2).
fn gaussian(multiplier: f64, order: f64) -> f64 {
    order / (2.0 * multiplier * multiplier)
}

/// Returns the divergence of the sampled mechanism at an order; between whole orders by interpolating
/// the cumulant generating function (Corollary 10 of Wang, Balle and Kasiviswanathan).
fn sampled(share: f64, multiplier: f64, order: f64) -> f64 {
    let (low, high) = (order.floor(), order.ceil());
    let moment = |order: f64| log_moment(share, multiplier, order as u32);
    let t = order - low;
    let between = match t > 0.0 {
        true => (1.0 - t) * moment(low) + t * moment(high),
        false => moment(low),
    };
    between / (order - 1.0)
}

/// Returns ln of the bound on the moment of a whole order alpha: 1 plus, for j from 2 to alpha,
/// q^j binom(alpha, j) times
/// - for j = 2: min(4 (e^r - 1), 2 e^r) with r = D_2;
/// - for j > 2: min(4 sqrt(d(2 floor(j / 2)) d(2 ceil(j / 2))), 2 e^((j - 1) D_j)), where d(k) is the
///   k-th forward difference at 0 of x -> e^((x - 1) D_x); above order 256 the second alone.
fn log_moment(share: f64, multiplier: f64, order: u32) -> f64 {
    if order <= 1 {
        return 0.0;
    }
    let cumulant = |x: f64| x * gaussian(multiplier, x + 1.0);
    let two = gaussian(multiplier, 2.0);
    let log_two_less_one = two + libm::log1p(-libm::exp(-two));
    let differences = match order <= TERM_BY_TERM {
        true => log_forward_differences(|x| cumulant(x - 1.0), order as usize + 2),
        false => Vec::new(),
    };
    let log_share = libm::log(share);
    let (log_2, log_4) = (libm::log(2.0), libm::log(4.0));
    let term = |j: u32| {
        let plain = log_2 + cumulant(f64::from(j - 1));
        let factor = match (j, differences.is_empty()) {
            (2, _) => (log_4 + log_two_less_one).min(log_2 + two),
            (_, true) => plain,
            (_, false) => {
                let (floor, ceil) = (2 * (j as usize / 2), 2 * (j as usize).div_ceil(2));
                plain.min(log_4 + 0.5 * (differences[floor - 1] + differences[ceil - 1]))
            }
        };
        factor + f64::from(j) * log_share + log_binomial(order, j)
    };
    (2..=order).map(term).fold(0.0, log_add)
}

/// Returns ln |d(k)| for k from 1 to `count`, where d(k) is the k-th forward difference at 0 of e to the
/// power of a function. Values are kept as logarithms with signs, since exp overflows.
fn log_forward_differences(function: impl Fn(f64) -> f64, count: usize) -> Vec<f64> {
    let mut values: Vec<(bool, f64)> = (0..=count).map(|x| (true, function(x as f64))).collect();
    let mut found = Vec::with_capacity(count);
    for left in (1..=count).rev() {
        for at in 0..left {
            let ((sign, low), (next_sign, high)) = (values[at], values[at + 1]);
            values[at] = match sign == next_sign {
                true => (
                    next_sign == (high >= low),
                    log_subtract(high.max(low), high.min(low)),
                ),
                false => (next_sign, log_add(low, high)),
            };
        }
        found.push(values[0].1);
    }
    found
}

/// Returns ln(e^a + e^b).
fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = (a.min(b), a.max(b));
    match low == f64::NEG_INFINITY {
        true => high,
        false => high + libm::log1p(libm::exp(low - high)),
    }
}

/// Returns ln(e^a - e^b) for a >= b.
fn log_subtract(a: f64, b: f64) -> f64 {
    match a == b {
        true => f64::NEG_INFINITY,
        false => a + libm::log1p(-libm::exp(b - a)),
    }
}

/// Returns ln binom(n, k).
fn log_binomial(n: u32, k: u32) -> f64 {
    let gamma = |x: u32| libm::lgamma(f64::from(x) + 1.0);
    gamma(n) - gamma(k) - gamma(n - k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// One line of `tests/vectors/privacy/accountant.json`, whose README says how it was made.
    #[derive(Debug, Deserialize)]
    struct Reference {
        clients: usize,
        sample: usize,
        multiplier: f64,
        rounds: u32,
        delta: f64,
        epsilon: f64,
    }

    #[test]
    fn epsilon_is_that_of_the_published_accountant_within_one_per_cent() {
        let text = include_str!("../../../../tests/vectors/privacy/accountant.json");
        let references: Vec<Reference> = serde_json::from_str(text).unwrap();
        let (mut sampled, mut whole) = (0, 0);
        for reference in references {
            let Reference {
                clients,
                sample,
                multiplier,
                rounds,
                delta,
                epsilon,
            } = reference;
            let mechanism = match sample < clients {
                true => Mechanism::sampled(multiplier, sample, clients),
                false => Mechanism::gaussian(multiplier),
            };
            let found = mechanism.epsilon(rounds, delta);
            let without = Mechanism::gaussian(multiplier).epsilon(rounds, delta);
            // The package does not take the divergence without sampling where that is less.
            let expected = epsilon.min(without);
            assert!(
                (found / expected - 1.0).abs() < 0.01,
                "{found} for {expected}: {sample} of {clients}, {multiplier}, {rounds}"
            );
            sampled += usize::from(expected < 0.99 * without);
            whole += usize::from(sample == clients);
        }
        assert!(sampled >= 10 && whole >= 5, "{sampled} {whole}");
    }

    #[test]
    fn epsilon_rises_with_rounds_and_sampling_and_falls_with_noise() {
        let delta = 1e-5;
        let sampled = |z, sample| Mechanism::sampled(z, sample, 100);
        let mut last = 0.0;
        for rounds in [0, 1, 2, 10, 100, 100_000] {
            let epsilon = sampled(2.0, 10).epsilon(rounds, delta);
            assert!(epsilon > last || rounds == 0, "{rounds}: {epsilon}");
            last = epsilon;
        }
        let epsilon = |z, sample| sampled(z, sample).epsilon(50, delta);
        assert!(epsilon(1.0, 10) > epsilon(2.0, 10) && epsilon(2.0, 10) > epsilon(4.0, 10));
        assert!(epsilon(2.0, 5) < epsilon(2.0, 10) && epsilon(2.0, 10) < epsilon(2.0, 100));
        assert_eq!(sampled(2.0, 100), Mechanism::gaussian(2.0));
        assert_eq!(sampled(2.0, 200), Mechanism::gaussian(2.0));
    }

    #[test]
    fn no_noise_has_no_epsilon_and_vast_noise_none_to_speak_of() {
        assert_eq!(Mechanism::gaussian(0.0).epsilon(1, 1e-5), f64::INFINITY);
        assert_eq!(
            Mechanism::sampled(0.0, 3, 10).epsilon(1, 1e-5),
            f64::INFINITY
        );
        assert_eq!(Mechanism::gaussian(0.0).epsilon(0, 1e-5), 0.0);
        assert_eq!(Mechanism::gaussian(1e9).epsilon(1, 1e-5), 0.0);
        for z in [1e-9, 1e-3, 1e3, 1e6] {
            let epsilon = Mechanism::sampled(z, 3, 10).epsilon(7, 1e-5);
            assert!(epsilon >= 0.0 && !epsilon.is_nan(), "{z}: {epsilon}");
        }
    }
}
