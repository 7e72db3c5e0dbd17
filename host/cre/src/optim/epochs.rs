//! The best number of epochs at given powers (P3.2'.1).

use super::objective::upload_cost;
use super::{Instance, Upload, slope_by_epochs};

/// A computed limit this little below a whole number counts as that number.
const FLOOR_TOLERANCE: f64 = 1e-9;

/// Rounds an epoch limit down, 1e-9 epochs upward; limits that are negative or not a number
/// give 0.
///
/// Deviation: the plain floor of tau_max(p_min(tau)) loses an epoch to rounding.
#[must_use]
pub fn whole_epochs(limit: f64) -> u32 {
    (limit + FLOOR_TOLERANCE).floor() as u32
}

/// Implements Eq. (35) for one upload: the epochs that fit before the deadline at its power,
/// (T_max - reserve_i - t_down - l / v_up) / T_i.
#[must_use]
pub fn epoch_limit(instance: &Instance, upload: &Upload) -> f64 {
    let (time_s, _) = upload_cost(instance, upload);
    (instance.slack_s(upload.client, 0.0) - time_s) / instance.epoch_s[upload.client]
}

/// Implements Eq. (35): the epochs every participant can finish at these powers.
#[must_use]
pub fn common_limit(instance: &Instance, uploads: &[Upload]) -> f64 {
    uploads
        .iter()
        .map(|upload| epoch_limit(instance, upload))
        .fold(f64::INFINITY, f64::min)
}

/// Returns the real tau >= 0 that minimises J at fixed powers: 0 if J rises there already, else
/// the root of dJ/dtau.
///
/// Deviation: the paper says dJ2/dtau tends to 0; it grows without bound, for every participant's
/// energy enters squared, so the root always exists.
#[must_use]
pub fn unconstrained(instance: &Instance, uploads: &[Upload]) -> f64 {
    let slope = |tau| slope_by_epochs(instance, uploads, tau);
    if slope(0.0) >= 0.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while slope(high) < 0.0 && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    // Bisection to the last bit: the slope rises throughout, J being convex.
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Implements Eq. (36): the best tau at fixed powers, min(max(tau', 1), floor(tau_max)).
///
/// Below 1 if not even one epoch fits. Deviation: the paper returns 1 whenever J rises at 0,
/// even then.
#[must_use]
pub fn best_epochs(instance: &Instance, uploads: &[Upload]) -> f64 {
    let limit = f64::from(whole_epochs(common_limit(instance, uploads)));
    unconstrained(instance, uploads).max(1.0).min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_not_lost_to_rounding() {
        assert_eq!(whole_epochs(3.0 - 1e-12), 3);
        assert_eq!(whole_epochs(3.0 - 1e-6), 2);
        assert_eq!(whole_epochs(-4.0), 0);
        assert_eq!(whole_epochs(f64::NAN), 0);
    }
}
