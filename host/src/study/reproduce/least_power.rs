//! What a run at full power would have spent at the least power that meets the deadline.
//!
//! A baseline that sends more softly schedules the same clients on the same channels for the same
//! epochs, so one run tells both energies. An upload that has t seconds instead of the t_max it took
//! at p_max needs the signal-to-noise ratio 2^(l/(B t)) - 1 instead of 2^(l/(B t_max)) - 1, at a power
//! that is lower by their quotient. Valid for the paper's books, where sending costs p t.

use crate::round::{ClientRow, RoundRow};
use crate::scenario::Scenario;

/// Returns the energy of an upload at the least power, given a row at full power.
#[must_use]
pub fn upload_j(scenario: &Scenario, downlink_s: f64, row: &ClientRow) -> f64 {
    let bits = scenario.model_bits();
    let bandwidth_hz = scenario.radio.uplink_bandwidth_hz;
    let slack_s = scenario.device.deadline_s - downlink_s - row.compute_s;
    // A client that is late at full power has none to spare.
    if row.upload_s <= 0.0 || slack_s <= row.upload_s {
        return row.radio_j;
    }
    let ratio = |seconds: f64| (bits / (bandwidth_hz * seconds)).exp2() - 1.0;
    let power_w = row.power_w * ratio(slack_s) / ratio(row.upload_s);
    power_w * slack_s
}

/// Adds up what the clients of a run would have spent.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeastEnergy {
    total_j: f64,
}

impl LeastEnergy {
    /// Adds a client's row of a round.
    pub fn add(&mut self, scenario: &Scenario, round: &RoundRow, row: &ClientRow) {
        let upload = upload_j(scenario, round.downlink_s, row);
        self.total_j += row.compute_j + upload;
    }

    /// Returns the sum.
    #[must_use]
    pub const fn total_j(self) -> f64 {
        self.total_j
    }
}
