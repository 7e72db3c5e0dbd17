//! Energy of simulated clients: the activities of a round, their costs, and the stores that pay.
//!
//! Simulation and board count in the same integers by the same sums,
//! [`gleaner_shared::energy`]. A client without a store is booked as in the paper: it may overdraw,
//! and its queue holds the amount.

mod income;
mod plan;
mod row;
mod store;

pub use income::Incomes;
pub use row::EnergyRow;
pub(super) use store::SimulatedStore;
pub use store::StoreState;

use gleaner_shared::energy::{Activity, CostModel, Pace, Spent};
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};

use super::settings;
use crate::policy::Order;
use crate::scenario::{ClientDevice, Scenario};

/// Duration and energy of every client's activities.
pub(super) struct EnergyCosts {
    clients: Vec<Client>,
    period: Micros,
}

/// Durations and costs of one client.
struct Client {
    cost: CostModel,
    /// Cycles of an epoch.
    epoch_cycles: f64,
    evaluate: Cycles,
    /// Timing by which an order is reserved.
    pace: Pace,
    window: Micros,
}

/// The radio's part of an order, as the channel has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAir {
    /// Length of the broadcast.
    pub(super) downlink_s: f64,
    /// Length of the upload.
    pub(super) upload_s: f64,
}

impl EnergyCosts {
    /// Prices the activities of clients with these devices and samples.
    pub(super) fn new(scenario: &Scenario, devices: &[ClientDevice], samples: &[u32]) -> Self {
        let deadline_s = scenario.device.deadline_s;
        let clients = devices.iter().zip(samples);
        Self {
            clients: clients
                .map(|(device, &samples)| Client::new(device, samples, deadline_s))
                .collect(),
            period: micros(scenario.period_s()),
        }
    }

    /// Returns the time from the start of a round to that of the next.
    pub(super) const fn period(&self) -> Micros {
        self.period
    }

    /// Returns what a client does that has no order, or declines it.
    pub(super) fn resting(&self, downlink_s: f64) -> Activity {
        Activity::resting(micros(downlink_s), self.period)
    }

    /// Returns what a client does to carry out an order.
    pub(super) fn working(&self, order: &Order, on_air: OnAir) -> Activity {
        let client = &self.clients[order.client.index()];
        Activity {
            apply: client.pace.apply,
            train: cycles(client.epoch_cycles * f64::from(order.epochs)),
            evaluate: client.evaluate,
            encode: client.pace.encode,
            ..self.asked(order, on_air)
        }
    }

    /// Returns what a client must have in its store before it begins an order.
    pub(super) fn reservation(&self, order: &Order, on_air: OnAir) -> PicoJoules {
        let client = &self.clients[order.client.index()];
        let expected = self.asked(order, on_air).at_pace(&client.pace);
        client.cost.round(&expected).total()
    }

    /// Returns what a client has to pay for a round.
    pub(super) fn due(&self, client: usize, activity: &Activity) -> Spent {
        self.clients[client].cost.round(activity)
    }

    /// Returns what an order asks for, its computing left out.
    fn asked(&self, order: &Order, on_air: OnAir) -> Activity {
        Activity {
            epochs: order.epochs,
            power: NanoWatts((order.power_w * 1e9).round() as u64),
            airtime: micros(on_air.upload_s),
            window: self.clients[order.client.index()].window,
            ..self.resting(on_air.downlink_s)
        }
    }
}

impl Client {
    fn new(device: &ClientDevice, samples: u32, deadline_s: f64) -> Self {
        let epoch_cycles = device.epoch_cycles(samples);
        let overheads = &device.costs;
        Self {
            cost: settings::cost_model(device),
            epoch_cycles,
            evaluate: cycles(overheads.evaluate_cycles_per_sample * f64::from(samples)),
            pace: Pace {
                epoch: cycles(epoch_cycles),
                apply: cycles(overheads.apply_cycles),
                encode: cycles(overheads.encode_cycles),
            },
            window: micros(deadline_s - device.deadline_slack_s),
        }
    }
}

fn cycles(number: f64) -> Cycles {
    Cycles(number.round() as u64)
}

/// Returns a modelled time in whole microseconds, as an order has it.
#[must_use]
pub fn micros(seconds: f64) -> Micros {
    Micros((seconds * 1e6).round() as u64)
}

#[cfg(test)]
mod tests;
