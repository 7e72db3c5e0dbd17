//! Algorithms 1 and 2 as printed, to show what the printed text does. Not for use.
//!
//! Kept as printed: the random start of the powers, the plain floor, 1 epoch wherever J rises at
//! 0 whether it fits or not, the neighbourhood that checks C3 but not C2, and the sign of the
//! acceptance, under which every worse assignment is taken. Filled in where the text says
//! nothing: T = 1, decay 0.995, 1000 steps; thresholds 1e-9 of the values; 100 alternations at
//! most; an assignment that breaks a constraint has J = +inf; nobody if none was feasible. Costs the
//! paper does not have enter J and its slope, and the three cases of Eq. (39) are those of `power`.

use gleaner_shared::rng::{Purpose, Rng};

use super::epochs::{common_limit, unconstrained};
use super::inner::Pair;
use super::power::{best_power, least_power};
use super::{Instance, Plan, Upload, evaluate, nobody_objective};

const STEPS: u32 = 1000;
const TEMPERATURE: f64 = 1.0;
const DECAY: f64 = 0.995;
const THRESHOLD: f64 = 1e-9;
const MAX_ALTERNATIONS: usize = 100;

/// Algorithm 2 as printed: returns the best plan seen, or nobody.
pub(crate) fn solve(instance: &Instance, seed: u64) -> Plan {
    let mut rng = Rng::stream(seed, Purpose::Solver, 0, 1);
    let mut allocation = vec![None; instance.channels];
    let (mut value, mut temperature) = (f64::INFINITY, TEMPERATURE);
    let mut best = (nobody_objective(instance), Plan::nobody());
    for _ in 0..STEPS {
        let next = neighbour(&allocation, instance.clients(), &mut rng);
        let plan = feasible_pairs(&next)
            .and_then(|pairs| algorithm_1_as_printed(instance, &pairs, &mut rng));
        let next_value = plan
            .as_ref()
            .map_or(f64::INFINITY, |p| evaluate(instance, p).total);
        let probability = libm::exp((next_value - value) / temperature);
        // inf - inf is no number; the printed rule then has no reason to refuse.
        if next_value < value || probability.is_nan() || rng.uniform() < probability {
            (allocation, value) = (next, next_value);
        }
        if let Some(plan) = plan.filter(|_| next_value < best.0) {
            best = (next_value, plan);
        }
        temperature *= DECAY;
    }
    best.1
}

/// Draws from Eq. (40): at most one entry of R changes, and no channel has two clients.
fn neighbour(allocation: &[Option<usize>], clients: usize, rng: &mut Rng) -> Vec<Option<usize>> {
    let mut moves = vec![None];
    for (channel, client) in allocation.iter().enumerate() {
        match client {
            Some(_) => moves.push(Some((channel, None))),
            None => moves.extend((0..clients).map(|client| Some((channel, Some(client))))),
        }
    }
    let mut next = allocation.to_vec();
    let drawn = rng.below(u32::try_from(moves.len()).unwrap_or(u32::MAX)) as usize;
    if let Some((channel, client)) = moves[drawn] {
        next[channel] = client;
    }
    next
}

/// Returns the pairs, unless a client has two channels: C2 would need a_i = 2.
fn feasible_pairs(allocation: &[Option<usize>]) -> Option<Vec<Pair>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for (channel, client) in allocation.iter().enumerate() {
        if let &Some(client) = client {
            if pairs.iter().any(|pair| pair.client == client) {
                return None;
            }
            pairs.push(Pair { client, channel });
        }
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// Algorithm 1 as printed; `None` if it ends at a point that breaks a constraint.
pub(crate) fn algorithm_1_as_printed(
    instance: &Instance,
    pairs: &[Pair],
    rng: &mut Rng,
) -> Option<Plan> {
    let mut uploads: Vec<Upload> = pairs
        .iter()
        .map(|&Pair { client, channel }| {
            // In (0, p_max]: a power of 0 has no rate.
            let power_w = instance.power_max_w * (1.0 - rng.uniform());
            Upload {
                client,
                channel,
                power_w,
            }
        })
        .collect();
    let mut tau = common_limit(instance, &uploads).floor();
    for _ in 0..MAX_ALTERNATIONS {
        let next_tau = printed_epochs(instance, &uploads);
        let next = printed_powers(instance, &uploads, next_tau)?;
        let moved: f64 = next
            .iter()
            .zip(&uploads)
            .map(|(a, b)| (a.power_w - b.power_w).powi(2))
            .sum();
        let settled = moved.sqrt() <= THRESHOLD * instance.power_max_w
            && (next_tau - tau).abs() <= THRESHOLD * next_tau;
        (tau, uploads) = (next_tau, next);
        if settled {
            break;
        }
    }
    let tau = tau.floor();
    if tau < 1.0 {
        return None;
    }
    let uploads = printed_powers(instance, &uploads, tau)?;
    Some(Plan::new(tau as u32, uploads))
}

/// Eq. (36) as printed.
fn printed_epochs(instance: &Instance, uploads: &[Upload]) -> f64 {
    let limit = common_limit(instance, uploads).floor();
    let stationary = unconstrained(instance, uploads);
    if stationary == 0.0 {
        1.0
    } else {
        stationary.min(limit)
    }
}

/// Eq. (39) as printed; `None` where even p_max misses the deadline.
fn printed_powers(instance: &Instance, uploads: &[Upload], tau: f64) -> Option<Vec<Upload>> {
    uploads
        .iter()
        .map(
            |&Upload {
                 client, channel, ..
             }| {
                let slack_s = instance.slack_s(client, tau);
                let least_w = least_power(instance, client, channel, slack_s);
                if !tau.is_finite() || least_w > instance.power_max_w * (1.0 + THRESHOLD) {
                    return None;
                }
                let power_w = best_power(instance, client, channel, tau).power_w;
                Some(Upload {
                    client,
                    channel,
                    power_w,
                })
            },
        )
        .collect()
}
