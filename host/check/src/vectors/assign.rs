//! Assignments in vectors, and the size of the terms objectives are summed from.

use gleaner_cre::optim::inner::Pair;
use gleaner_cre::optim::{Evaluation, Instance, Plan, Upload};

use super::Unfit;

/// Reads `assign`, a list of `[channel, client]`.
pub(super) fn pairs(instance: &Instance, rows: &[Vec<usize>]) -> Result<Vec<Pair>, Unfit> {
    let mut pairs: Vec<Pair> = Vec::with_capacity(rows.len());
    for row in rows {
        let pair = pair(instance, row)?;
        if pairs
            .iter()
            .any(|p| p.client == pair.client || p.channel == pair.channel)
        {
            return Err(format!("assign: client or channel of {row:?} is given twice").into());
        }
        pairs.push(pair);
    }
    Ok(pairs)
}

/// Reads one `[channel, client]`.
pub(super) fn pair(instance: &Instance, row: &[usize]) -> Result<Pair, Unfit> {
    match *row {
        [channel, client] if channel < instance.channels && client < instance.clients() => {
            Ok(Pair { client, channel })
        }
        _ => Err(format!("assign: {row:?} is no [channel, client] of the instance").into()),
    }
}

/// Reads `assign` with the powers `p_w` in the same order.
pub(super) fn uploads(
    instance: &Instance,
    rows: &[Vec<usize>],
    powers: &[f64],
) -> Result<Vec<Upload>, Unfit> {
    let pairs = pairs(instance, rows)?;
    let uploads = pairs.iter().zip(powers);
    Ok(uploads
        .map(|(pair, &power_w)| Upload {
            client: pair.client,
            channel: pair.channel,
            power_w,
        })
        .collect())
}

/// Returns a plan's powers in the order of an assignment.
pub(super) fn powers(plan: &Plan, pairs: &[Pair]) -> Vec<f64> {
    let power = |pair: &Pair| {
        let upload = plan.uploads.iter().find(|u| u.client == pair.client);
        upload.map_or(f64::NAN, |upload| upload.power_w)
    };
    pairs.iter().map(power).collect()
}

/// Returns the largest term J is summed from.
pub(super) fn largest_term(instance: &Instance, found: &Evaluation) -> f64 {
    let unit = instance.energy_unit_j;
    let terms = found.balance_j.iter().zip(&instance.queue_j);
    let energy = terms.map(|(q, z)| (q / unit).powi(2).max((2.0 * q * z / unit / unit).abs()));
    energy.fold(found.penalty.abs(), f64::max)
}

/// Returns the largest term dJ/dtau is summed from.
pub(super) fn slope_term(instance: &Instance, uploads: &[Upload], tau: f64) -> f64 {
    let unit = instance.energy_unit_j;
    let bound = instance.bound;
    let fall = instance.v * bound.k() * bound.gap * bound.gap / 2.0;
    uploads
        .iter()
        .map(|u| {
            let epoch = instance.epoch_j[u.client] / unit;
            let most = instance.queue_j[u.client].max(instance.income_j[u.client]) / unit;
            2.0 * epoch * most.max(tau * epoch)
        })
        .fold(fall, f64::max)
}
