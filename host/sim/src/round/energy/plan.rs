//! Prices as the optimiser wants them: every second of a round counted once.
//!
//! A client without an order listens to the beacon and sleeps; that is the standing cost of a round.
//! A participant sleeps whenever it neither listens, computes nor sends. So an order costs what the
//! broadcast and its work draw more than sleep does.

use gleaner_cre::costs::{Costs, RadioCost};
use gleaner_shared::units::{Cycles, NanoWatts};

use super::{EnergyCosts, micros};
use crate::policy::EnergyBudget;

/// Rounding of all phases of a round together, in picojoules.
const ROUNDING_J: f64 = 1e-10;
/// Rounding of all times of a round together.
const ROUNDING_S: f64 = 4e-6;

impl EnergyCosts {
    /// Returns what a client pays beside its epochs and what it radiates; `whole` tells whether it
    /// would receive the whole model.
    pub(in crate::round) fn costs(&self, client: usize, downlink_s: f64, whole: bool) -> Costs {
        let it = &self.clients[client];
        let cost = &it.cost;
        let sleep_w = watts(cost.sleep);
        let radio = RadioCost::from(cost.radio);
        let overhead = (it.pace.applying(whole))
            .saturating_add(it.pace.evaluate)
            .saturating_add(it.pace.encode)
            .saturating_add(it.pace.seal);
        let (order_s, period_s) = (self.seconds(client, overhead), seconds(self.period.0));
        // As the books have them, in whole microseconds.
        let listening_s = seconds(self.resting(downlink_s).listening.0);
        let receiving_s = seconds(micros(downlink_s).0);
        let receive_w = watts(cost.receive);
        let mut costs = Costs::PAPER;
        costs.radio = RadioCost {
            circuit_w: radio.circuit_w - sleep_w,
            ..radio
        };
        costs.order_s = order_s;
        costs.order_j = cost.compute.energy(overhead, 0).as_joules() - sleep_w * order_s
            + cost.save.as_joules()
            + (receive_w - sleep_w) * receiving_s;
        costs.standing_j = receive_w * listening_s + sleep_w * (period_s - listening_s).max(0.0);
        costs
    }

    /// Returns what an epoch of a client draws more than sleep does, of its energy and time.
    pub(in crate::round) fn above_sleep(&self, client: usize, (s, j): (f64, f64)) -> (f64, f64) {
        (s, j - watts(self.clients[client].cost.sleep) * s)
    }

    /// Returns what a client can pay in a round in which it has `spendable_j`: what it has to reserve
    /// for an order, down to the last picojoule where it has a store.
    pub(in crate::round) fn budget(
        &self,
        client: usize,
        costs: &Costs,
        spendable_j: f64,
        has_store: bool,
    ) -> EnergyBudget {
        let it = &self.clients[client];
        let epoch = it.cost.compute.energy(it.pace.epoch, 1).as_joules();
        let sleep_w = watts(it.cost.sleep);
        let exact = sleep_w == 0.0 && *costs == Costs::PAPER && !has_store;
        let margin_j = match exact {
            true => 0.0,
            false => ROUNDING_J + ROUNDING_S * sleep_w,
        };
        EnergyBudget {
            spendable_j: spendable_j - costs.standing_j - margin_j,
            epoch_j: epoch - sleep_w * self.seconds(client, it.pace.epoch),
            order_j: costs.order_j,
            ..EnergyBudget::default()
        }
    }

    fn seconds(&self, client: usize, cycles: Cycles) -> f64 {
        cycles.0 as f64 / self.clients[client].cost.clock.0.max(1) as f64
    }
}

fn watts(power: NanoWatts) -> f64 {
    power.0 as f64 / 1e9
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
