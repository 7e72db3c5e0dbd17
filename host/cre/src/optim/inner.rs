//! The inner problem P3.2: epochs and powers of a fixed assignment, exactly; and Algorithm 1 of
//! the paper, which alternates between the two.

use super::choices::Choices;
use super::epochs::{best_epochs, common_limit, whole_epochs};
use super::power::best_power;
use super::{Instance, Plan, Upload, evaluate};

/// A client on an uplink channel, both counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Pair {
    pub client: usize,
    pub channel: usize,
}

/// Returns the uploads of an assignment at full power.
#[must_use]
pub fn at_full_power(instance: &Instance, pairs: &[Pair]) -> Vec<Upload> {
    let power_w = instance.power_max_w;
    pairs
        .iter()
        .map(|&Pair { client, channel }| Upload {
            client,
            channel,
            power_w,
        })
        .collect()
}

/// Returns the most epochs an assignment can finish: Eq. (35) at full power, rounded down.
#[must_use]
pub fn most_epochs(instance: &Instance, pairs: &[Pair]) -> u32 {
    whole_epochs(common_limit(instance, &at_full_power(instance, pairs)))
}

/// Returns the plan of an assignment at given epochs, every power by Eq. (39).
#[must_use]
pub fn plan_at(instance: &Instance, pairs: &[Pair], epochs: u32) -> Plan {
    Plan::new(
        epochs,
        with_best_powers(instance, &at_full_power(instance, pairs), f64::from(epochs)),
    )
}

/// Solves P3.2 for an assignment: the best whole tau >= 1 with its powers.
///
/// g(tau) = min over p of J(tau, p) is convex: J is jointly convex in tau and the upload
/// energies, and the least energy that meets the deadline is convex in tau, with circuit power too
/// (docs/reference/solvers.md). So the least tau at which g does not fall any more is best. With a
/// transceiver's bit rates g is convex between the tau at which an upload has to become faster, and the
/// best of these pieces is taken. `None` if no epoch fits.
#[must_use]
pub fn solve(instance: &Instance, pairs: &[Pair]) -> Option<Plan> {
    let limit = most_epochs(instance, pairs);
    if limit < 1 || pairs.is_empty() {
        return None;
    }
    let value = |tau| evaluate(instance, &plan_at(instance, pairs, tau)).total;
    let least = |(mut low, mut high): (u32, u32)| {
        while low < high {
            let middle = low + (high - low) / 2;
            if value(middle + 1) < value(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    let best = match convex_pieces(instance, pairs, limit)[..] {
        [piece] => least(piece),
        ref pieces => {
            let taus = pieces.iter().map(|&piece| least(piece));
            let valued = taus.map(|tau| (value(tau), tau));
            valued.min_by(|a, b| a.0.total_cmp(&b.0))?.1
        }
    };
    Some(plan_at(instance, pairs, best))
}

/// Returns the intervals of tau, both ends included, in which no upload changes its bit rate.
///
/// Each tau beside a change is an interval of its own, so rounding cannot put it into the wrong one.
fn convex_pieces(instance: &Instance, pairs: &[Pair], limit: u32) -> Vec<(u32, u32)> {
    let mut starts = vec![1];
    for &Pair { client, channel } in pairs {
        for time_s in Choices::of(instance, client, channel).times_s() {
            let last = (instance.slack_s(client, 0.0) - time_s) / instance.epoch_s[client];
            if last > -2.0 && last < f64::from(limit) + 2.0 {
                let change = last.floor() as i64;
                starts.extend((change - 1..=change + 3).filter_map(|it| u32::try_from(it).ok()));
            }
        }
    }
    starts.retain(|&start| (1..=limit).contains(&start));
    starts.sort_unstable();
    starts.dedup();
    let ends = starts[1..].iter().map(|next| next - 1).chain([limit]);
    starts.iter().copied().zip(ends).collect()
}

/// Alternation stops after so many steps even where both variables still creep: with a small
/// penalty tau can take hundreds of steps of a hundredth of an epoch.
const MAX_ALTERNATIONS: usize = 100;

/// Alternates Eqs. (36) and (39) from given powers until neither moves, then rounds tau down and
/// sets the powers again: Algorithm 1 with tolerant rounding.
///
/// `None` if it ends without a feasible point. Its end may be worse than [`solve`]'s: once a
/// power is the least that meets the deadline, tau cannot rise again.
#[must_use]
pub fn alternate(instance: &Instance, start: &[Upload]) -> Option<Plan> {
    let mut uploads = start.to_vec();
    let mut tau = f64::NAN;
    for _ in 0..MAX_ALTERNATIONS {
        let next_tau = best_epochs(instance, &uploads);
        if next_tau < 1.0 {
            return None;
        }
        let next = with_best_powers(instance, &uploads, next_tau);
        let settled = next_tau == tau && next == uploads;
        (tau, uploads) = (next_tau, next);
        if settled {
            break;
        }
    }
    let epochs = whole_epochs(tau);
    Some(Plan::new(
        epochs,
        with_best_powers(instance, &uploads, f64::from(epochs)),
    ))
}

/// Returns the same uploads with the best powers at `tau`.
pub(super) fn with_best_powers(instance: &Instance, uploads: &[Upload], tau: f64) -> Vec<Upload> {
    let mut uploads = uploads.to_vec();
    for upload in &mut uploads {
        upload.power_w = best_power(instance, upload.client, upload.channel, tau).power_w;
    }
    uploads
}
