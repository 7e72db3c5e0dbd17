//! The loss bound: A_3, Theorems 1 and 2, Corollary 1 and its derivative.

use super::heterogeneity::Heterogeneity;

/// Parameters of the loss bound: estimates, learning rate eta, distance bound B_1 and the loss gap.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct LossBound {
    /// Estimate rho of the Lipschitz constant.
    pub rho: f64,
    /// Estimate beta of the smoothness; eta beta < 1.
    pub beta: f64,
    pub eta: f64,
    pub b1: f64,
    /// Loss gap F(theta^{n-1}) - F(theta*).
    pub gap: f64,
}

/// The three parts of Corollary 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundParts {
    /// Effect of training apart: rho A_1 / beta ((eta beta + 1)^tau - eta beta tau - 1).
    pub drift: f64,
    /// Effect of absent clients: tau A_3.
    pub linear: f64,
    /// Remaining loss gap after training: 2 / (k tau + 2 / F_gap).
    pub convergence: f64,
}

impl BoundParts {
    /// Returns the sum of the three parts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.drift + self.linear + self.convergence
    }
}

/// Largest tau for which (x + 1)^tau - x tau - 1 is summed exactly; beyond it the power dominates.
const RECURRENCE_LIMIT: f64 = 512.0;

/// Returns (x + 1)^tau - x tau - 1 for x in (0, 1) and tau >= 0.
///
/// For whole tau by g(0) = 0, g(m + 1) = (1 + x) g(m) + m x^2, a sum of positive terms: the
/// printed form loses 2 lg(1/x) digits, and at tau = 1 is 0.
#[must_use]
pub(crate) fn drift_factor(x: f64, tau: f64) -> f64 {
    if tau.fract() == 0.0 && tau <= RECURRENCE_LIMIT {
        let (mut factor, mut m) = (0.0, 0.0);
        while m < tau {
            factor += x * factor + m * x * x;
            m += 1.0;
        }
        factor
    } else {
        libm::expm1(tau * libm::log1p(x)) - x * tau
    }
}

impl LossBound {
    /// Returns k = (2 eta - eta^2 beta) / B_1^2.
    #[must_use]
    pub fn k(&self) -> f64 {
        self.eta * (2.0 - self.eta * self.beta) / (self.b1 * self.b1)
    }

    /// Returns A_3 = (eta - eta^2 beta) sqrt(2 beta A_2 F_gap) + eta^2 beta A_2 / 2.
    #[must_use]
    pub fn a3(&self, a2: f64) -> f64 {
        let eta_beta = self.eta * self.beta;
        self.eta * (1.0 - eta_beta) * (2.0 * self.beta * a2 * self.gap).sqrt()
            + self.eta * eta_beta * a2 / 2.0
    }

    /// Implements Eq. (20), Theorem 1: the distance of the averaged model from the auxiliary one,
    /// A_1 / beta ((eta beta + 1)^tau - eta beta tau - 1).
    #[must_use]
    pub fn model_gap(&self, a1: f64, tau: f64) -> f64 {
        a1 / self.beta * drift_factor(self.eta * self.beta, tau)
    }

    /// Implements Eq. (21), Theorem 2: the loss gap of the auxiliary model, in the form
    /// (1 + sqrt(1 + 4 tau A_3 y)) / (2 y) with y = 1/F_gap + k tau / 2.
    ///
    /// Deviation: the printed quotient is 0/0 for A_3 = 0; this is the same root multiplied out.
    #[must_use]
    pub fn theorem2(&self, a3: f64, tau: f64) -> f64 {
        let y = 1.0 / self.gap + self.k() * tau / 2.0;
        (1.0 + (1.0 + 4.0 * tau * a3 * y).sqrt()) / (2.0 * y)
    }

    /// Returns the remaining loss gap after training, 2 / (k tau + 2 / F_gap).
    #[must_use]
    pub fn convergence(&self, tau: f64) -> f64 {
        2.0 / (self.k() * tau + 2.0 / self.gap)
    }

    /// Implements Eq. (22), Corollary 1: rho A_1 / beta ((eta beta + 1)^tau - eta beta tau - 1)
    /// + tau A_3 + 2 / (k tau + 2 / F_gap), part by part.
    #[must_use]
    pub fn corollary1(&self, of: &Heterogeneity, tau: f64) -> BoundParts {
        BoundParts {
            drift: self.rho * self.model_gap(of.a1, tau),
            linear: tau * self.a3(of.a2),
            convergence: self.convergence(tau),
        }
    }

    /// Returns the derivative of Corollary 1 by tau:
    /// rho A_1 / beta ((eta beta + 1)^tau ln(eta beta + 1) - eta beta) + A_3
    /// - 2 k / (k tau + 2 / F_gap)^2.
    #[must_use]
    pub fn slope(&self, of: &Heterogeneity, tau: f64) -> f64 {
        let x = self.eta * self.beta;
        let log = libm::log1p(x);
        let drift = if of.a1 == 0.0 {
            0.0 // Also where the power overflows: one client never drifts.
        } else {
            self.rho * of.a1 / self.beta * (libm::exp(tau * log) * log - x)
        };
        let half = self.k() * tau / 2.0 + 1.0 / self.gap;
        drift + self.a3(of.a2) - self.k() / (2.0 * half * half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: LossBound = LossBound {
        rho: 1.2,
        beta: 10.0,
        eta: 0.01,
        b1: 0.3,
        gap: 2.0,
    };

    #[test]
    fn drift_factor_keeps_its_digits_for_tiny_steps() {
        // To second order tau (tau - 1) / 2 x^2.
        assert!((drift_factor(1e-9, 5.0) / (10.0 * 1e-18) - 1.0).abs() < 1e-8);
        assert_eq!(drift_factor(0.3, 0.0), 0.0);
        assert_eq!(drift_factor(0.3, 1.0), 0.0);
        assert!((drift_factor(0.5, 3.0) - (1.5f64.powi(3) - 2.5)).abs() < 1e-15);
        let (whole, real) = (drift_factor(0.1, 40.0), drift_factor(0.1, 40.0 + 1e-12));
        assert!((whole / real - 1.0).abs() < 1e-11);
    }

    #[test]
    fn corollary1_lies_above_theorem2() {
        for tau in [1.0, 4.0, 20.0] {
            let of = Heterogeneity { a1: 0.4, a2: 0.3 };
            let parts = BOUND.corollary1(&of, tau);
            let theorem2 = BOUND.theorem2(BOUND.a3(of.a2), tau);
            assert!(theorem2 <= parts.linear + parts.convergence);
            assert!(theorem2 > 0.0);
        }
    }

    #[test]
    fn theorem2_without_absent_clients_is_the_convergence_part() {
        assert!((BOUND.theorem2(0.0, 6.0) - BOUND.convergence(6.0)).abs() < 1e-15);
    }

    #[test]
    fn slope_matches_a_finite_difference() {
        let of = Heterogeneity { a1: 0.4, a2: 0.3 };
        let at = |tau| BOUND.corollary1(&of, tau).total();
        let difference = (at(3.5001) - at(3.4999)) / 2e-4;
        assert!((BOUND.slope(&of, 3.5) - difference).abs() < 1e-9);
    }

    #[test]
    fn training_without_an_epoch_keeps_the_loss_gap() {
        let of = Heterogeneity { a1: 0.4, a2: 0.3 };
        assert_eq!(BOUND.corollary1(&of, 0.0).total(), 2.0);
    }
}
