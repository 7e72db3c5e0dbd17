//! Estimates of the model's constants rho and beta from the last round's participants.

use super::distance;

/// Largest eta beta; the bound needs eta beta < 1.
const ETA_BETA_LIMIT: f64 = 0.99;

/// Loss and gradient of one participant at its own model theta_i (`local`) and at the average theta
/// of the round (`global_*`).
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Observation<'a> {
    pub local: &'a [f64],
    pub local_loss: f64,
    pub local_gradient: &'a [f64],
    pub global_loss: f64,
    pub global_gradient: &'a [f64],
}

/// Implements Eq. (17a): rho^ = max |F_i(theta_i) - F_i(theta)| / ||theta_i - theta||.
///
/// `None` where every distance is 0, as after a round with one participant: the paper's quotient
/// is 0/0 there, and the caller keeps its last value.
#[must_use]
pub fn lipschitz(global: &[f64], seen: &[Observation<'_>]) -> Option<f64> {
    largest(global, seen, |o| (o.local_loss - o.global_loss).abs())
}

/// Implements Eq. (17b): beta^ = max ||grad F_i(theta_i) - grad F_i(theta)|| / ||theta_i - theta||.
///
/// `None` as for [`lipschitz`].
#[must_use]
pub fn smoothness(global: &[f64], seen: &[Observation<'_>]) -> Option<f64> {
    largest(global, seen, |o| {
        distance(o.local_gradient, o.global_gradient)
    })
}

/// Clips beta so that eta beta <= 0.99.
#[must_use]
pub fn clip_beta(beta: f64, eta: f64) -> f64 {
    beta.min(ETA_BETA_LIMIT / eta)
}

fn largest<'a>(
    global: &[f64],
    seen: &[Observation<'a>],
    change: impl Fn(&Observation<'a>) -> f64,
) -> Option<f64> {
    seen.iter()
        .map(|o| (change(o), distance(o.local, global)))
        .filter(|(_, distance)| *distance > 0.0)
        .map(|(change, distance)| change / distance)
        .reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_with_one_participant_gives_no_estimate() {
        let alone = Observation {
            local: &[1.0, 2.0],
            local_loss: 0.5,
            local_gradient: &[0.1, 0.1],
            global_loss: 0.5,
            global_gradient: &[0.1, 0.1],
        };
        assert_eq!(lipschitz(&[1.0, 2.0], &[alone]), None);
        assert_eq!(smoothness(&[1.0, 2.0], &[alone]), None);
        assert_eq!(lipschitz(&[1.0, 2.0], &[]), None);
    }

    #[test]
    fn clipping_keeps_eta_beta_below_one() {
        assert_eq!(clip_beta(50.0, 0.01), 50.0);
        assert!(clip_beta(5000.0, 0.01) * 0.01 < 1.0);
    }
}
