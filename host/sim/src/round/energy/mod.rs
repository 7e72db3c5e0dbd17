//! Energy of simulated clients: the activities of a round, their costs, and the stores that pay.
//!
//! Simulation and board count in the same integers by the same sums,
//! [`gleaner_shared::energy`]. A client without a store is booked as in the paper: it may overdraw,
//! and its queue holds the amount.

mod income;
mod listening;
mod plan;
mod row;
mod store;

pub use income::Incomes;
pub use listening::Listening;
pub use row::EnergyRow;
pub(super) use store::SimulatedStore;
pub use store::StoreState;

use gleaner_shared::energy::{Activity, CostModel, Flows, Pace, Spent};
use gleaner_shared::units::{Micros, NanoWatts, PicoJoules};

use super::settings;
use crate::policy::Order;
use crate::scenario::{ClientDevice, Load, Scenario};
use gleaner_cre::channel::RateModel;

/// Duration and energy of every client's activities.
pub(super) struct EnergyCosts {
    clients: Vec<Client>,
    period: Micros,
    listening: Listening,
    rate: RateModel,
}

/// Costs of one client, and the cycles of its work.
struct Client {
    cost: CostModel,
    pace: Pace,
}

/// The radio's part of an order, as the channel has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnAir {
    /// Length of the broadcast.
    pub(super) downlink_s: f64,
    /// Length of the upload.
    pub(super) upload_s: f64,
    /// Whether the client receives the whole model, because it does not hold the last one.
    pub(super) whole: bool,
}

impl EnergyCosts {
    /// Prices the activities of clients with these devices and samples.
    pub(super) fn new(
        scenario: &Scenario,
        devices: &[ClientDevice],
        loads: &[Load],
        listening: Listening,
    ) -> Self {
        let client = |(device, &load): (&ClientDevice, &Load)| Client {
            cost: settings::cost_model(device),
            pace: scenario.pace(device, load),
        };
        Self {
            clients: devices.iter().zip(loads).map(client).collect(),
            period: micros(scenario.period_s()),
            listening,
            rate: scenario.rate_model(),
        }
    }

    /// Returns what a client does that has no order, or declines it.
    pub(super) fn resting(&self, downlink_s: f64) -> Activity {
        Activity::resting(micros(self.listening.resting_s(downlink_s)), self.period)
    }

    /// Returns what a client does to carry out an order; it reserves the cost of all of this.
    pub(super) fn working(&self, order: &Order, on_air: OnAir) -> Activity {
        let pace = &self.clients[order.client.index()].pace;
        let resting = self.resting(on_air.downlink_s);
        let ordered = Activity {
            listening: (resting.listening).saturating_add(micros(on_air.downlink_s)),
            epochs: order.epochs,
            drawn: self.drawn(order),
            airtime: micros(on_air.upload_s),
            saves: true,
            ..resting
        };
        ordered.at_pace(pace, pace.applying(on_air.whole))
    }

    /// Returns the power that a client draws during an upload: amplifier or level, and circuit.
    pub(super) fn drawn(&self, order: &Order) -> NanoWatts {
        let radio = &self.clients[order.client.index()].cost.radio;
        let level = self.rate.modem().and_then(|it| it.level(order.power_w));
        level.map_or_else(
            || radio.drawn(nanowatts(order.power_w)),
            |level| nanowatts(level.drawn_w).saturating_add(radio.circuit),
        )
    }

    /// Returns what a client has to pay for a round.
    pub(super) fn due(&self, client: usize, activity: &Activity) -> Spent {
        self.clients[client].cost.round(activity)
    }

    /// Returns the flows of a round beside its order.
    pub(super) fn flows(&self, client: usize, income: PicoJoules, standing: Spent) -> Flows {
        Flows {
            income,
            standing,
            period: self.period,
            boot: self.clients[client].cost.boot,
        }
    }
}

fn nanowatts(watts: f64) -> NanoWatts {
    NanoWatts((watts * 1e9).round() as u64)
}

/// Returns a modelled time in whole microseconds, as an order has it.
#[must_use]
pub fn micros(seconds: f64) -> Micros {
    Micros((seconds * 1e6).round() as u64)
}

#[cfg(test)]
mod tests;
