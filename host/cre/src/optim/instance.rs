//! The problem P2 of one round.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::record::Record;
use crate::bound::LossBound;
use crate::channel::{RateModel, RoundState, epoch_energy, epoch_latency, upload_latency};
use crate::costs::Costs;
use crate::system::System;
use crate::units::{Bits, Gain, Hertz, Watts, WattsPerHertz};

/// One round's optimisation problem: the knowledge of the base station before it decides.
///
/// Values are plain numbers in SI units. [`Instance::paper`] states a round with the paper's costs. Deserialising reads the record `inst` of
/// the test vectors and checks it as [`Instance::validate`] does; serialising writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Record", into = "Record")]
#[non_exhaustive]
pub struct Instance {
    /// Number of uplink channels C.
    pub channels: usize,
    /// Samples D_i of each client; its length is the number of clients U.
    pub samples: Vec<u32>,
    /// Uplink power gain of each client on each channel, `[client][channel]`, linear.
    pub gain: Vec<Vec<f64>>,
    /// Duration t_down of the broadcast.
    pub downlink_s: f64,
    /// Energy queue Z_i of each client.
    pub queue_j: Vec<f64>,
    /// Data divergence delta_i of each client.
    pub delta: Vec<f64>,
    /// Time T_i of one epoch at each client.
    pub epoch_s: Vec<f64>,
    /// Energy E_i of one epoch at each client.
    pub epoch_j: Vec<f64>,
    /// Parameters of the loss bound.
    pub bound: LossBound,
    /// Lyapunov penalty factor V.
    pub v: f64,
    /// Joules per unit of energy inside the objective.
    pub energy_unit_j: f64,
    /// Deadline T_max of the round.
    pub deadline_s: f64,
    /// Length l of the model.
    pub model_bits: f64,
    /// Bandwidth B of an uplink channel.
    pub bandwidth_hz: f64,
    /// Noise density N0 of an uplink channel.
    pub noise_w_per_hz: f64,
    /// Largest transmit power p_max of a client.
    pub power_max_w: f64,
    /// Rate model of the uplink, Shannon's in the paper.
    pub rate: RateModel,
    /// Energy E_add that each client harvests in a round.
    pub income_j: Vec<f64>,
    /// Time by which each client must finish before the deadline, usually 0.
    pub reserve_s: Vec<f64>,
    /// Costs of each client beside epochs and radiated energy, [`Costs::PAPER`] in the paper.
    pub costs: Vec<Costs>,
}

/// An invalid field of an instance, by its name in instance files, with its value and the problem.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{field} = {value}: {problem}")]
#[allow(missing_docs)]
pub struct InstanceError {
    pub field: String,
    pub value: String,
    pub problem: String,
}

impl InstanceError {
    pub(crate) fn new(field: impl ToString, value: impl ToString, problem: &str) -> Self {
        Self {
            field: field.to_string(),
            value: value.to_string(),
            problem: problem.into(),
        }
    }
}

impl Instance {
    /// States a round of `system` as the paper does: every client pays for its epochs and for the
    /// energy it radiates, and for nothing else ([`Costs::PAPER`], whatever the costs of
    /// `system.device`).
    ///
    /// Energy queues and reserves are zero. The estimates are placeholders of the usual size, to be
    /// replaced where better ones are known: delta = 0.3, rho = 1, beta = 10 and a loss gap of 1.
    ///
    /// ```
    /// use gleaner_cre::channel::Emulation;
    /// use gleaner_cre::optim::Instance;
    /// use gleaner_cre::system::System;
    ///
    /// let system = System::paper_mlp();
    /// let gains = Emulation::new(1, 4, 2, system.radio).round(1);
    /// let mut instance = Instance::paper(&system, gains, vec![1000; 4]);
    /// instance.queue_j[3] = 5e-2; // this client has overspent
    /// assert_eq!((instance.clients(), instance.channels), (4, 2));
    /// assert!(instance.validate().is_ok());
    /// ```
    #[must_use]
    pub fn paper(system: &System, gains: RoundState, samples: Vec<u32>) -> Self {
        let System {
            radio,
            device,
            round,
        } = *system;
        let (clients, cycles) = (samples.len(), device.cycles_per_sample);
        let epoch_s = |&it: &u32| epoch_latency(cycles, it, device.clock_hz).0;
        let epoch_j = |&it: &u32| epoch_energy(device.alpha, device.clock_hz, cycles, it).0;
        Self {
            channels: gains.uplink.first().map_or(0, Vec::len),
            epoch_s: samples.iter().map(epoch_s).collect(),
            epoch_j: samples.iter().map(epoch_j).collect(),
            samples,
            downlink_s: radio.downlink_time(&gains, round.model_bits).0,
            gain: gains.uplink,
            queue_j: vec![0.0; clients],
            delta: vec![0.3; clients],
            bound: LossBound {
                rho: 1.0,
                beta: 10.0,
                eta: round.eta,
                b1: round.b1,
                gap: 1.0,
            },
            v: round.v,
            energy_unit_j: round.energy_unit_j.0,
            deadline_s: round.deadline_s.0,
            model_bits: round.model_bits.0,
            bandwidth_hz: radio.uplink_bandwidth_hz.0,
            noise_w_per_hz: radio.noise_w_per_hz.0,
            power_max_w: radio.uplink_power_max_w.0,
            rate: RateModel::Shannon,
            income_j: vec![device.income_j.0; clients],
            reserve_s: vec![0.0; clients],
            costs: vec![Costs::PAPER; clients],
        }
    }

    /// Returns the number of clients U.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.samples.len()
    }

    /// Returns the deadline of a client, T_max minus its reserve.
    #[must_use]
    pub fn deadline_of(&self, client: usize) -> f64 {
        self.deadline_s - self.reserve_s[client]
    }

    /// Returns the time that remains for an upload after `tau` epochs,
    /// T_max - reserve_i - t_down - order_i - tau T_i.
    #[must_use]
    pub fn slack_s(&self, client: usize, tau: f64) -> f64 {
        let ready_s = self.downlink_s + self.costs[client].order_s;
        self.deadline_of(client) - ready_s - tau * self.epoch_s[client]
    }

    /// Returns the income of a client minus its standing costs, which may be negative.
    #[must_use]
    pub fn net_income_j(&self, client: usize) -> f64 {
        self.income_j[client] - self.costs[client].standing_j
    }

    /// Returns the net income of every client.
    #[must_use]
    pub fn net_incomes_j(&self) -> Vec<f64> {
        let clients = 0..self.clients();
        clients.map(|client| self.net_income_j(client)).collect()
    }

    /// Returns the energy of an order of `tau` epochs before the upload, tau E_i + order_i.
    #[must_use]
    pub fn work_j(&self, client: usize, tau: f64) -> f64 {
        tau * self.epoch_j[client] + self.costs[client].order_j
    }

    /// Returns the duration of an upload, t_up = l / v_up: Eqs. (9) and (10), with the rate of the
    /// rate model. Infinite if no bit rate is received.
    #[must_use]
    pub fn upload_s(&self, client: usize, channel: usize, power_w: f64) -> f64 {
        let rate = self.rate.rate(
            Watts(power_w),
            Gain(self.gain[client][channel]),
            Hertz(self.bandwidth_hz),
            WattsPerHertz(self.noise_w_per_hz),
        );
        upload_latency(Bits(self.model_bits), rate).0
    }

    /// Returns the power a client draws while it sends at `power_w`: p / zeta + P_c, or what the level
    /// of a transceiver draws and P_c.
    #[must_use]
    pub fn drawn_w(&self, client: usize, power_w: f64) -> f64 {
        let radio = &self.costs[client].radio;
        let level = self.rate.modem().and_then(|modem| modem.level(power_w));
        level.map_or_else(
            || radio.drawn_w(power_w),
            |level| level.drawn_w + radio.circuit_w,
        )
    }

    /// Returns the energy of an upload of a client that sends at `power_w` for `time_s`.
    #[must_use]
    pub fn upload_j(&self, client: usize, power_w: f64, time_s: f64) -> f64 {
        self.drawn_w(client, power_w) * time_s + self.costs[client].radio.per_upload_j
    }
}
