//! Energy cost of every (client, channel, tau), computed once per instance.

use std::f64::consts::LN_2;

use super::Instance;
use super::choices::Choices;
use super::epochs::{epoch_limit, whole_epochs};
use super::plan::Upload;
use super::power::{Efficient, full_power_energy};
use crate::bound::{LossBound, Sums, a1_of_sums, a2_of_sums, drift_factor};

/// The separable part of the objective, and the coefficients of the rest.
///
/// With u = tau E_i + order_i + e_up the energy part of a participant exceeds that of an absent
/// client by u (u - 2 (net income_i - Z_i)); at the best power that depends on client, channel and
/// tau alone.
/// Values are relative to nobody taking part: J = J(nobody) + sum of costs + V (bound - F_gap).
#[derive(Clone, Debug)]
pub(crate) struct Table {
    clients: usize,
    channels: usize,
    epochs: usize,
    /// `[client][channel][tau - 1]`, infinite where the deadline cannot be met.
    costs: Vec<f64>,
    limits: Vec<u32>,
    /// Each client's share of the four sums.
    pub(crate) shares: Vec<Sums>,
    /// The four sums over all clients.
    pub(crate) total: Sums,
    bound: LossBound,
    v: f64,
    /// V rho / beta ((1 + eta beta)^tau - eta beta tau - 1) for each tau: the weight of A_1.
    pub(crate) drift: Vec<f64>,
    /// V (convergence(tau) - F_gap) for each tau.
    pub(crate) gain: Vec<f64>,
}

/// The slowest upload that meets the deadline, as far as it is the same on every channel.
#[derive(Clone, Copy, Debug, Default)]
struct Slowest {
    slack_s: f64,
    /// Radiated energy times the gain.
    per_gain_j: f64,
    /// Energy of the circuit and the constant of an upload.
    fixed_j: f64,
}

/// Returns u (u - 2 (net income_i - Z_i)) of a client that spends u.
fn energy_cost(instance: &Instance, client: usize, used_j: f64) -> f64 {
    let unit = instance.energy_unit_j;
    let spare_j = instance.net_income_j(client) - instance.queue_j[client];
    (used_j / unit) * ((used_j - 2.0 * spare_j) / unit)
}

/// Largest number of entries of a table (32 MB).
const MAX_ENTRIES: usize = 1 << 22;

impl Table {
    /// Computes the table, or `None` if it would be too large.
    pub(crate) fn new(instance: &Instance) -> Option<Self> {
        let (clients, channels) = (instance.clients(), instance.channels);
        let mut limits = vec![0; clients * channels];
        for client in 0..clients {
            for channel in 0..channels {
                let upload = Upload {
                    client,
                    channel,
                    power_w: instance.power_max_w,
                };
                limits[client * channels + channel] = whole_epochs(epoch_limit(instance, &upload));
            }
        }
        let epochs = limits.iter().copied().max().unwrap_or(0) as usize;
        if epochs
            .checked_mul(clients * channels)
            .is_none_or(|entries| entries > MAX_ENTRIES)
        {
            return None;
        }
        let bound = instance.bound;
        let total_samples: f64 = instance.samples.iter().map(|&d| f64::from(d)).sum();
        let shares: Vec<Sums> = instance
            .samples
            .iter()
            .zip(&instance.delta)
            .map(|(&d, &delta)| {
                let samples = f64::from(d);
                let w = samples / total_samples;
                Sums {
                    samples,
                    s: w * delta * delta,
                    p: w * delta,
                    q: w * w * delta,
                }
            })
            .collect();
        let total = shares
            .iter()
            .fold(Sums::default(), |sum, &share| sum + share);
        let taus = || (1..=epochs).map(|tau| tau as f64);
        let scale = instance.v * bound.rho / bound.beta;
        let drift = taus()
            .map(|tau| scale * drift_factor(bound.eta * bound.beta, tau))
            .collect();
        let gain = taus()
            .map(|tau| instance.v * (bound.convergence(tau) - bound.gap))
            .collect();
        let mut table = Self {
            clients,
            channels,
            epochs,
            costs: vec![f64::INFINITY; clients * channels * epochs],
            limits,
            shares,
            total,
            bound,
            v: instance.v,
            drift,
            gain,
        };
        table.fill(instance);
        Some(table)
    }

    fn fill(&mut self, instance: &Instance) {
        match instance.rate.modem() {
            Some(_) => self.fill_from_choices(instance),
            None => self.fill_from_powers(instance),
        }
    }

    /// Fills the table for a transceiver, whose upload is the cheapest that meets the deadline.
    fn fill_from_choices(&mut self, instance: &Instance) {
        for client in 0..self.clients {
            for channel in 0..self.channels {
                let choices = Choices::of(instance, client, channel);
                let limit = self.limits[client * self.channels + channel];
                let start = (client * self.channels + channel) * self.epochs;
                let row = &mut self.costs[start..start + self.epochs];
                for (cost, tau) in row.iter_mut().zip(1..=limit) {
                    let slack_s = instance.slack_s(client, f64::from(tau));
                    if let Some(upload) = choices.cheapest_or_fastest(slack_s) {
                        let work_j = instance.work_j(client, f64::from(tau));
                        *cost = energy_cost(instance, client, work_j + upload.energy_j);
                    }
                }
            }
        }
    }

    /// Fills the table for a radio of any power, by the closed form of the best one.
    fn fill_from_powers(&mut self, instance: &Instance) {
        let noise_w = instance.bandwidth_hz * instance.noise_w_per_hz;
        let mut slowest = vec![Slowest::default(); self.epochs];
        for client in 0..self.clients {
            let limit = self.client_limit(client);
            let radio = &instance.costs[client].radio;
            for (slot, tau) in slowest.iter_mut().zip(1..=limit) {
                let slack_s = instance.slack_s(client, f64::from(tau));
                let exponent = LN_2 * instance.model_bits / (instance.bandwidth_hz * slack_s);
                *slot = Slowest {
                    slack_s,
                    per_gain_j: libm::expm1(exponent) * noise_w * slack_s,
                    fixed_j: radio.circuit_w * slack_s + radio.per_upload_j,
                };
            }
            let spare_j = instance.net_income_j(client) - instance.queue_j[client];
            for channel in 0..self.channels {
                let e_max_j = full_power_energy(instance, client, channel);
                let efficient = Efficient::of(instance, client, channel);
                let drawn_gain = radio.efficiency * instance.gain[client][channel];
                let limit = self.limits[client * self.channels + channel];
                let start = (client * self.channels + channel) * self.epochs;
                let row = &mut self.costs[start..start + self.epochs];
                for ((cost, slowest), tau) in row.iter_mut().zip(&slowest).zip(1..=limit) {
                    let work_j = instance.work_j(client, f64::from(tau));
                    let mut e_min_j = if efficient.time_s <= slowest.slack_s {
                        efficient.energy_j
                    } else {
                        slowest.per_gain_j / drawn_gain + slowest.fixed_j
                    };
                    if !e_min_j.is_finite() || e_min_j > e_max_j {
                        e_min_j = e_max_j; // The limit was rounded up to this tau.
                    }
                    let upload_j = (spare_j - work_j).clamp(e_min_j, e_max_j);
                    *cost = energy_cost(instance, client, work_j + upload_j);
                }
            }
        }
    }

    /// Returns the number of clients.
    pub(crate) const fn clients(&self) -> usize {
        self.clients
    }

    /// Returns the number of channels.
    pub(crate) const fn channels(&self) -> usize {
        self.channels
    }

    /// Returns the most epochs anyone can finish.
    pub(crate) const fn epochs(&self) -> usize {
        self.epochs
    }

    /// Returns the most epochs a client can finish on its best channel.
    pub(crate) fn client_limit(&self, client: usize) -> u32 {
        let start = client * self.channels;
        self.limits[start..start + self.channels]
            .iter()
            .copied()
            .max()
            .unwrap_or(0)
    }

    /// Returns the costs of a client on a channel for tau = 1, 2, ...
    pub(crate) fn row(&self, client: usize, channel: usize) -> &[f64] {
        let start = (client * self.channels + channel) * self.epochs;
        &self.costs[start..start + self.epochs]
    }

    /// Returns the cost of a client on a channel at `tau` >= 1.
    pub(crate) fn cost(&self, client: usize, channel: usize, tau: usize) -> f64 {
        self.costs[(client * self.channels + channel) * self.epochs + tau - 1]
    }

    /// Returns A_1 and V A_3 of a set of participants, by its sums.
    pub(crate) fn set_terms(&self, sums: &Sums) -> (f64, f64) {
        let a3 = self.bound.a3(a2_of_sums(sums, &self.total));
        (a1_of_sums(sums, &self.total), self.v * a3)
    }

    /// Returns V A_3 as a function of A_2.
    pub(crate) fn weighted_a3(&self, a2: f64) -> f64 {
        self.v * self.bound.a3(a2)
    }

    /// Returns the derivative of V A_3 by A_2 > 0.
    pub(crate) fn weighted_a3_slope(&self, a2: f64) -> f64 {
        let LossBound { beta, eta, gap, .. } = self.bound;
        let root = eta * (1.0 - eta * beta) * (2.0 * beta * gap / a2).sqrt() / 2.0;
        self.v * (root + eta * eta * beta / 2.0)
    }

    /// Returns J - J(nobody) of a set of participants with the given energy costs at `tau`.
    pub(crate) fn value(&self, sums: &Sums, costs: f64, tau: usize) -> f64 {
        let (a1, va3) = self.set_terms(sums);
        costs + self.drift[tau - 1] * a1 + tau as f64 * va3 + self.gain[tau - 1]
    }
}
