//! The best power of one participant at a given number of epochs (P3.2'.2).

use std::f64::consts::LN_2;

use super::Instance;
use crate::channel::{upload_energy, upload_energy_infimum};
use crate::units::{Bits, Gain, Hertz, Joules, Seconds, Watts, WattsPerHertz};

/// Which of the three cases of Eq. (39) holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCase {
    /// Less energy would be better, but the deadline does not allow it.
    Min,
    /// The upload spends exactly the target.
    Interior,
    /// More energy would be better, but the device has no more power.
    Max,
}

/// The best power and what led to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerChoice {
    /// Least power that meets the deadline.
    pub p_min_w: f64,
    /// Energy of an upload at the least power.
    pub e_min_j: f64,
    /// Energy of an upload at full power.
    pub e_max_j: f64,
    /// The energy that minimises J, E_add,i - Z_i - tau E_i.
    pub e_target_j: f64,
    /// The best power.
    pub power_w: f64,
    /// Which case it is.
    pub case: PowerCase,
}

/// Returns the power whose upload spends `energy`, or `None` if none spends so little.
///
/// Implements Eq. (38). With x = p h / (B N0) and e_inf = l N0 ln2 / h it reads
/// x / ln(1 + x) = e / e_inf.
///
/// Deviation: the printed Lambert W_-1 loses all digits near its branch point e = e_inf, so the
/// equation is solved as (x - ln(1 + x)) - d ln(1 + x) = 0 with d = (e - e_inf)/e_inf, a convex
/// function whose first part has a series near 0; Newton's method then converges from the right.
#[must_use]
pub fn power_for_energy(
    energy: Joules,
    gain: Gain,
    model: Bits,
    bandwidth: Hertz,
    noise: WattsPerHertz,
) -> Option<Watts> {
    let infimum_j = upload_energy_infimum(model, noise, gain).0;
    let d = (energy.0 - infimum_j) / infimum_j;
    (d > 0.0).then(|| Watts(solve_excess(d) * bandwidth.0 * noise.0 / gain.0))
}

/// Solves x / ln(1 + x) = 1 + d for x > 0.
fn solve_excess(d: f64) -> f64 {
    // Right of the root in both regimes: x / ln(1 + x) >= 1 + x/2 - x^2/12, and <= at the guess.
    let ratio = 1.0 + d;
    let mut x = if d < 0.5 {
        2.0 * d + d * d
    } else {
        ratio * (2.0 * libm::log(ratio) + 1.0)
    };
    for _ in 0..64 {
        let step = (x_minus_log1p(x) - d * libm::log1p(x)) * (1.0 + x) / (x - d);
        let next = x - step;
        if (next - x).abs() <= f64::EPSILON * x || next <= d {
            return next.max(d);
        }
        x = next;
    }
    x
}

/// Returns x - ln(1 + x) without the cancellation near 0.
fn x_minus_log1p(x: f64) -> f64 {
    if x > 0.3 {
        return x - libm::log1p(x);
    }
    // ln(1 + x) = 2 atanh(r) with r = x / (2 + x); x = 2 r / (1 - r).
    let r = x / (2.0 + x);
    let square = r * r;
    let (mut power, mut sum, mut odd) = (r * square, 0.0, 3.0);
    while power > f64::EPSILON * 1e-3 * r * square && odd < 60.0 {
        sum += power / odd;
        power *= square;
        odd += 2.0;
    }
    // x - 2 r = 2 r^2 / (1 - r).
    2.0 * square / (1.0 - r) - 2.0 * sum
}

/// Returns the least power that uploads within `slack_s`: p_min = (2^(l/(B slack)) - 1) B N0 / h.
///
/// Infinite if there is no slack.
#[must_use]
pub fn least_power(instance: &Instance, client: usize, channel: usize, slack_s: f64) -> f64 {
    if slack_s <= 0.0 {
        return f64::INFINITY;
    }
    let exponent = LN_2 * instance.model_bits / (instance.bandwidth_hz * slack_s);
    libm::expm1(exponent) * instance.bandwidth_hz * instance.noise_w_per_hz
        / instance.gain[client][channel]
}

/// Returns the energy of an upload at full power,
/// e_max = p_max l / (B log2(1 + p_max h / (B N0))).
#[must_use]
pub fn full_power_energy(instance: &Instance, client: usize, channel: usize) -> f64 {
    let time_s = instance.upload_s(client, channel, instance.power_max_w);
    upload_energy(Watts(instance.power_max_w), Seconds(time_s)).0
}

/// Implements Eq. (39): the best power of a client on a channel after `tau` epochs.
///
/// `tau` is at most the client's epoch limit there; where rounding puts p_min above p_max at the
/// limit, it is p_max.
#[must_use]
pub fn best_power(instance: &Instance, client: usize, channel: usize, tau: f64) -> PowerChoice {
    let slack_s = instance.slack_s(client, tau);
    let p_min_w = least_power(instance, client, channel, slack_s);
    let e_max_j = full_power_energy(instance, client, channel);
    let (p_min_w, e_min_j) = if p_min_w < instance.power_max_w {
        (p_min_w, p_min_w * slack_s)
    } else {
        (instance.power_max_w, e_max_j)
    };
    let spare_j = instance.income_j[client] - instance.queue_j[client];
    let e_target_j = spare_j - tau * instance.epoch_j[client];
    let (power_w, case) = if e_target_j < e_min_j {
        (p_min_w, PowerCase::Min)
    } else if e_target_j > e_max_j {
        (instance.power_max_w, PowerCase::Max)
    } else {
        let exact = power_for_energy(
            Joules(e_target_j),
            Gain(instance.gain[client][channel]),
            Bits(instance.model_bits),
            Hertz(instance.bandwidth_hz),
            WattsPerHertz(instance.noise_w_per_hz),
        );
        // Near e_inf a rounding error of the energy is a large one of the power.
        let power = exact.map_or(p_min_w, |w| w.0.clamp(p_min_w, instance.power_max_w));
        (power, PowerCase::Interior)
    };
    PowerChoice {
        p_min_w,
        e_min_j,
        e_max_j,
        e_target_j,
        power_w,
        case,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_equation_is_solved_from_the_branch_point_to_the_far_end() {
        for exponent in -15..=12 {
            let d = 10f64.powi(exponent);
            let x = solve_excess(d);
            let back = x_minus_log1p(x) / libm::log1p(x);
            assert!(
                (back / d - 1.0).abs() < 1e-13,
                "d = {d}: x = {x} gives {back}"
            );
        }
    }

    #[test]
    fn x_minus_log1p_is_smooth_where_its_two_forms_meet() {
        for x in [0.299_999, 0.300_001] {
            let direct = x - libm::log1p(x);
            assert!((x_minus_log1p(x) / direct - 1.0).abs() < 1e-13);
        }
        assert!((x_minus_log1p(1e-8) / (0.5e-16 - 1e-24 / 3.0) - 1.0).abs() < 1e-14);
    }
}
