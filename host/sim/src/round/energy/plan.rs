//! Prices as the optimiser wants them: every second of a round counted once.
//!
//! Who has no order hears the broadcast and sleeps; that is the standing cost of a round. A
//! participant is awake to the end of its window and waits whenever it does nothing else. So an
//! order costs, beside what its epochs and its upload draw more than waiting does, the difference
//! between waiting and sleeping for its whole window.

use gleaner_cre::costs::{Costs, RadioCost};
use gleaner_shared::energy::Pace;
use gleaner_shared::units::{Cycles, NanoWatts};

use super::EnergyCosts;
use crate::policy::EnergyBudget;

/// Rounding of all phases of a round together, in picojoules.
const ROUNDING_J: f64 = 1e-10;
/// Rounding of all times of a round together.
const ROUNDING_S: f64 = 4e-6;

impl EnergyCosts {
    /// Returns what a client pays beside its epochs and what it radiates.
    pub(in crate::round) fn costs(&self, client: usize, downlink_s: f64) -> Costs {
        self.costs_with(client, downlink_s, self.clients[client].evaluate)
    }

    /// Returns what an epoch of a client draws more than waiting does, of its energy and time.
    pub(in crate::round) fn above_waiting(&self, client: usize, (s, j): (f64, f64)) -> (f64, f64) {
        (s, j - watts(self.clients[client].cost.idle) * s)
    }

    /// Returns what a client can pay in a round in which it has `spendable_j`. One with a store
    /// pays what it has to reserve.
    pub(in crate::round) fn budget(
        &self,
        client: usize,
        downlink_s: f64,
        spendable_j: f64,
        has_store: bool,
    ) -> EnergyBudget {
        let it = &self.clients[client];
        let evaluate = match has_store {
            true => it.pace.evaluation(),
            false => it.evaluate,
        };
        let costs = self.costs_with(client, downlink_s, evaluate);
        let epoch = it.cost.compute.energy(it.pace.epoch, 1).as_joules();
        let idle_w = watts(it.cost.idle);
        let exact = idle_w == 0.0 && costs == Costs::PAPER && !has_store;
        let margin_j = match exact {
            true => 0.0,
            false => ROUNDING_J + ROUNDING_S * idle_w,
        };
        EnergyBudget {
            spendable_j: spendable_j - costs.standing_j - margin_j,
            epoch_j: epoch - idle_w * self.seconds(client, it.pace.epoch),
            order_j: costs.order_j,
            ..EnergyBudget::default()
        }
    }

    fn costs_with(&self, client: usize, downlink_s: f64, evaluate: Cycles) -> Costs {
        let it = &self.clients[client];
        let Pace { apply, encode, .. } = it.pace;
        let cost = &it.cost;
        let (idle_w, sleep_w) = (watts(cost.idle), watts(cost.sleep));
        let radio = RadioCost::from(cost.radio);
        let overhead = apply.saturating_add(evaluate).saturating_add(encode);
        let (order_s, period_s) = (self.seconds(client, overhead), seconds(self.period.0));
        let awake_s = (seconds(it.window.0) - downlink_s).max(0.0);
        let work_j = cost.compute.energy(overhead, 0).as_joules() - idle_w * order_s;
        let mut costs = Costs::PAPER;
        costs.radio = RadioCost {
            circuit_w: (radio.circuit_w - idle_w).max(0.0),
            ..radio
        };
        costs.order_s = order_s;
        costs.order_j = work_j.max(0.0) + (idle_w - sleep_w) * awake_s;
        costs.standing_j =
            watts(cost.receive) * downlink_s + sleep_w * (period_s - downlink_s).max(0.0);
        costs
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
