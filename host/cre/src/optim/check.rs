//! Independent verification of plans: constraints C1 to C6, and the objective recomputed.
//!
//! Shares no code with the solvers or the objective: formulas are written out again here, in
//! their plain form and with the standard library's functions, so that a mistake has to be made
//! twice to pass. C5 is a constraint over rounds that P2 replaces by queues; here it is judged
//! through the claimed objective, which holds those queues.

use thiserror::Error;

use super::{Instance, Plan, Upload};
use crate::channel::{Level, RateModel};

/// Relative tolerance for rounding in C4 and C6 and in the objective.
pub(super) const TOLERANCE: f64 = 1e-9;

/// A violated constraint of a plan.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Violation {
    /// C1: a client or channel that does not exist, or epochs that do not fit the participants.
    #[error("C1: {0}")]
    NotAChoice(String),
    /// C2: a client with more than one channel.
    #[error("C2: client {0} has more than one channel")]
    ClientTwice(usize),
    /// C3: a channel with more than one client.
    #[error("C3: channel {0} has more than one client")]
    ChannelTwice(usize),
    /// C4: a power that is not in (0, p_max].
    #[error("C4: client {client} transmits at {power_w} W, allowed are (0, {limit_w}] W")]
    Power {
        client: usize,
        power_w: f64,
        limit_w: f64,
    },
    /// C4 with circuit power, a limited rate or levels: another power is in time and cheaper.
    #[error(
        "C4: client {client} transmits at {power_w} W; another power meets the deadline at less energy"
    )]
    Wasteful { client: usize, power_w: f64 },
    /// C4 with levels: a power that is none.
    #[error("C4: client {client} transmits at {power_w} W, which is no level of the transceiver")]
    NoLevel { client: usize, power_w: f64 },
    /// C6: a participant that misses the deadline.
    #[error("C6: client {client} ends at {end_s} s, after its deadline {deadline_s} s")]
    Late {
        client: usize,
        end_s: f64,
        /// The deadline of the round minus the client's reserve.
        deadline_s: f64,
    },
    /// C5 enters P2 through the queues in J: the claimed J is not that of the plan.
    #[error("C5: J is {actual}, claimed was {claimed}")]
    Objective { actual: f64, claimed: f64 },
}

/// Verifies a plan and its claimed objective.
///
/// # Errors
/// Returns the first violation.
pub fn check(instance: &Instance, plan: &Plan, claimed: f64) -> Result<(), Violation> {
    check_choice(instance, plan)?;
    check_uploads(instance, plan)?;
    let actual = objective(instance, plan);
    let scale = magnitude(instance) + actual.abs();
    if (actual - claimed).abs() <= TOLERANCE * scale {
        Ok(())
    } else {
        Err(Violation::Objective { actual, claimed })
    }
}

fn check_choice(instance: &Instance, plan: &Plan) -> Result<(), Violation> {
    if plan.uploads.is_empty() != (plan.epochs == 0) {
        let said = format!(
            "{} epochs for {} participants",
            plan.epochs,
            plan.uploads.len()
        );
        return Err(Violation::NotAChoice(said));
    }
    check_assignment(instance, &plan.uploads)
}

/// Verifies C1 to C3 of the pairs.
pub(super) fn check_assignment(instance: &Instance, uploads: &[Upload]) -> Result<(), Violation> {
    let mut channels_of_client = vec![0; instance.samples.len()];
    let mut clients_of_channel = vec![0; instance.channels];
    for upload in uploads {
        let Some(channels) = channels_of_client.get_mut(upload.client) else {
            return Err(Violation::NotAChoice(format!(
                "no client {}",
                upload.client
            )));
        };
        let Some(clients) = clients_of_channel.get_mut(upload.channel) else {
            return Err(Violation::NotAChoice(format!(
                "no channel {}",
                upload.channel
            )));
        };
        *channels += 1;
        *clients += 1;
    }
    if let Some(client) = channels_of_client.iter().position(|&count| count > 1) {
        return Err(Violation::ClientTwice(client));
    }
    match clients_of_channel.iter().position(|&count| count > 1) {
        Some(channel) => Err(Violation::ChannelTwice(channel)),
        None => Ok(()),
    }
}

fn check_uploads(instance: &Instance, plan: &Plan) -> Result<(), Violation> {
    let mut uploads = plan.uploads.iter();
    uploads.try_for_each(|upload| check_upload(instance, upload, plan.epochs))
}

/// Verifies C4 and C6 of a participant with the given epochs.
pub(super) fn check_upload(
    instance: &Instance,
    upload: &Upload,
    epochs: u32,
) -> Result<(), Violation> {
    let (client, power_w) = (upload.client, upload.power_w);
    let limit_w = instance.power_max_w;
    if !(power_w > 0.0 && power_w <= limit_w * (1.0 + TOLERANCE)) {
        return Err(Violation::Power {
            client,
            power_w,
            limit_w,
        });
    }
    let train_s = epochs as f64 * instance.epoch_s[client] + instance.costs[client].order_s;
    let end_s = instance.downlink_s + train_s + upload_s(instance, upload);
    // A limit may be rounded up by 1e-9 epochs.
    let late_s = TOLERANCE * (instance.deadline_s + 2.0 * instance.epoch_s[client]);
    let deadline_s = instance.deadline_s - instance.reserve_s[client];
    let surely_s = deadline_s - late_s - instance.downlink_s - train_s;
    check_power(instance, upload, surely_s)?;
    if end_s.is_nan() || end_s > deadline_s + late_s {
        return Err(Violation::Late {
            client,
            end_s,
            deadline_s,
        });
    }
    Ok(())
}

/// Verifies that no admissible power within `slack_s` would save energy.
fn check_power(instance: &Instance, upload: &Upload, slack_s: f64) -> Result<(), Violation> {
    let (client, power_w) = (upload.client, upload.power_w);
    let at = |power_w| Upload { power_w, ..*upload };
    let now_j = airtime_j(instance, upload);
    let is_wasteful = match &instance.rate {
        RateModel::Shannon => is_louder_cheaper(instance, upload),
        RateModel::Capped(_) => {
            let softer = at(power_w * (1.0 - 1e-3));
            let no_slower = upload_s(instance, &softer) <= upload_s(instance, upload);
            no_slower || is_louder_cheaper(instance, upload)
        }
        RateModel::Gfsk(modem) => {
            let same = |w: f64| (w - power_w).abs() <= TOLERANCE * power_w;
            if !modem.levels.iter().any(|level| same(level.radiated_w)) {
                return Err(Violation::NoLevel { client, power_w });
            }
            modem.levels.iter().any(|level| {
                let other = at(level.radiated_w);
                upload_s(instance, &other) <= slack_s
                    && airtime_j(instance, &other) < (1.0 - 1e-9) * now_j
            })
        }
    };
    match is_wasteful {
        true => Err(Violation::Wasteful { client, power_w }),
        false => Ok(()),
    }
}

/// Returns whether one percent more power would be faster and save energy.
fn is_louder_cheaper(instance: &Instance, upload: &Upload) -> bool {
    let louder = Upload {
        power_w: 1.01 * upload.power_w,
        ..*upload
    };
    upload.power_w < instance.power_max_w * (1.0 - TOLERANCE)
        && instance.costs[upload.client].radio.circuit_w > 0.0
        && airtime_j(instance, &louder) < (1.0 - 1e-5) * airtime_j(instance, upload)
}

pub(super) fn upload_j(instance: &Instance, upload: &Upload) -> f64 {
    airtime_j(instance, upload) + instance.costs[upload.client].radio.per_upload_j
}

fn airtime_j(instance: &Instance, upload: &Upload) -> f64 {
    let radio = instance.costs[upload.client].radio;
    let transmitter_w = match &instance.rate {
        RateModel::Gfsk(modem) => {
            // The level nearest to the power; it is one of them.
            let off = |level: &Level| (level.radiated_w - upload.power_w).abs();
            let nearest = modem.levels.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
            nearest.map_or(f64::NAN, |level| level.drawn_w)
        }
        RateModel::Shannon | RateModel::Capped(_) => upload.power_w / radio.efficiency,
    };
    (transmitter_w + radio.circuit_w) * upload_s(instance, upload)
}

pub(super) fn upload_s(instance: &Instance, upload: &Upload) -> f64 {
    let gain = instance.gain[upload.client][upload.channel];
    let noise_w = instance.bandwidth_hz * instance.noise_w_per_hz;
    let shannon = instance.bandwidth_hz * (upload.power_w * gain / noise_w).ln_1p() / 2f64.ln();
    let rate = match &instance.rate {
        RateModel::Shannon => shannon,
        RateModel::Capped(cap) => {
            let efficiency = shannon / instance.bandwidth_hz;
            let allowed = efficiency.min(cap.max_bits_per_hz) * instance.bandwidth_hz;
            allowed.min(cap.max_rate_bps)
        }
        RateModel::Gfsk(modem) => {
            let received_w = upload.power_w * gain * (1.0 + TOLERANCE);
            let rates = modem.rates.iter();
            rates
                .filter(|rate| received_w / modem.margin >= rate.sensitivity_w)
                .fold(0.0, |most, rate| f64::max(most, rate.bps))
        }
    };
    instance.model_bits / rate
}

fn objective(instance: &Instance, plan: &Plan) -> f64 {
    let tau = plan.epochs as f64;
    let unit = instance.energy_unit_j;
    let mut sum = 0.0;
    for client in 0..instance.samples.len() {
        let costs = instance.costs[client];
        let mut q = instance.income_j[client] - costs.standing_j;
        if let Some(upload) = plan.uploads.iter().find(|upload| upload.client == client) {
            q -= tau * instance.epoch_j[client] + costs.order_j + upload_j(instance, upload);
        }
        sum += (q / unit).powi(2) - 2.0 * (instance.queue_j[client] / unit) * (q / unit);
    }
    sum + instance.v * bound(instance, plan)
}

fn bound(instance: &Instance, plan: &Plan) -> f64 {
    let super::super::bound::LossBound {
        rho,
        beta,
        eta,
        b1,
        gap,
    } = instance.bound;
    if plan.uploads.is_empty() {
        return gap;
    }
    let tau = plan.epochs as f64;
    let all: f64 = instance.samples.iter().map(|&d| d as f64).sum();
    let inside: f64 = plan
        .uploads
        .iter()
        .map(|u| instance.samples[u.client] as f64)
        .sum();
    let (mut a1, mut spread) = (0.0, 0.0);
    for client in 0..instance.samples.len() {
        let samples = instance.samples[client] as f64;
        let delta = instance.delta[client];
        if plan.uploads.iter().any(|upload| upload.client == client) {
            let share = samples / inside;
            a1 += 2.0 * (share - share * share) * delta;
            spread += (share - samples / all) * delta * delta;
        } else {
            spread += samples / all * delta * delta;
        }
    }
    // Whole numbers, so the result is exactly 0 if all clients take part.
    let a2 = 2.0 * ((all - inside) / all) * spread;
    let a3 = (eta - eta * eta * beta) * (2.0 * beta * a2.max(0.0) * gap).sqrt()
        + eta * eta * beta * a2 / 2.0;
    let growth = (eta * beta + 1.0).powf(tau) - eta * beta * tau - 1.0;
    let pace = (2.0 * eta - eta * eta * beta) / (b1 * b1);
    rho * a1 / beta * growth + tau * a3 + 2.0 / (pace * tau + 2.0 / gap)
}

/// Returns the magnitude of the objective's terms.
pub(super) fn magnitude(instance: &Instance) -> f64 {
    let unit = instance.energy_unit_j;
    let energy: f64 = instance
        .queue_j
        .iter()
        .zip(instance.income_j.iter().zip(&instance.costs))
        .map(|(z, (income, costs))| (z, income + costs.standing_j))
        .map(|(z, moved)| (moved / unit).powi(2) + 2.0 * (z / unit) * (moved / unit))
        .sum();
    energy + instance.v * instance.bound.gap
}
