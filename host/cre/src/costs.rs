//! Costs of a client beside its epochs and its radiated energy.
//!
//! The paper has none of these costs, [`Costs::PAPER`]. With its values every formula of [`crate::optim`]
//! gives the paper's result to the last bit: x / 1, x + 0 and x - 0 are x.

use gleaner_shared::energy::RadioModel;
use serde::{Deserialize, Serialize};

/// Cost of an upload: e_up = (p / zeta + P_c) t_up + a constant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RadioCost {
    /// Amplifier efficiency zeta, radiated over drawn power, in (0, 1].
    pub efficiency: f64,
    /// Circuit power P_c, drawn during an upload independent of the radiated power.
    pub circuit_w: f64,
    /// Energy of an upload independent of its length.
    pub per_upload_j: f64,
}

impl RadioCost {
    /// The paper's radio, e_up = p t_up.
    pub const PAPER: Self = Self {
        efficiency: 1.0,
        circuit_w: 0.0,
        per_upload_j: 0.0,
    };

    /// Returns the power drawn while `power_w` is radiated, p / zeta + P_c.
    #[must_use]
    pub fn drawn_w(&self, power_w: f64) -> f64 {
        power_w / self.efficiency + self.circuit_w
    }

    /// Returns the energy of an upload that radiates `power_w` for `time_s`.
    #[must_use]
    pub fn energy_j(&self, power_w: f64, time_s: f64) -> f64 {
        self.drawn_w(power_w) * time_s + self.per_upload_j
    }
}

impl From<RadioModel> for RadioCost {
    /// Converts from the integers of a device.
    fn from(model: RadioModel) -> Self {
        Self {
            efficiency: f64::from(model.efficiency_permille) / 1e3,
            circuit_w: model.circuit.0 as f64 / 1e9,
            per_upload_j: model.per_upload.as_joules(),
        }
    }
}

impl Default for RadioCost {
    fn default() -> Self {
        Self::PAPER
    }
}

/// Costs of one client beside its epochs and its radiated energy. Start from [`Costs::PAPER`] and
/// change fields.
///
/// With a_i = 1 for participants, q_i = income_i - standing_i - a_i (tau E_i + order_i + e_up,i).
/// If waiting draws power, `standing_j` covers a whole round of waiting, and all other costs are
/// in excess of waiting, so that every second counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Costs {
    /// Radio costs of an upload.
    pub radio: RadioCost,
    /// Time of an order beside epochs and upload: apply, evaluate and encode.
    pub order_s: f64,
    /// Energy of an order beside epochs and upload, independent of tau.
    pub order_j: f64,
    /// Energy of every client in each round, with or without an order: waiting and receiving the
    /// broadcast.
    pub standing_j: f64,
}

impl Costs {
    /// The paper's cost model: only epochs and radiated energy cost anything.
    pub const PAPER: Self = Self {
        radio: RadioCost::PAPER,
        order_s: 0.0,
        order_j: 0.0,
        standing_j: 0.0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::units::{Micros, NanoWatts, PicoJoules};

    #[test]
    fn the_default_is_the_papers_radio_to_the_bit() {
        assert_eq!(Costs::default(), Costs::PAPER);
        for power_w in [1e-12, 0.123_456_789, 0.199_526_231_496_888] {
            let energy_j = RadioCost::PAPER.energy_j(power_w, 7.3e-3);
            assert_eq!(energy_j.to_bits(), (power_w * 7.3e-3).to_bits());
        }
    }

    #[test]
    fn costs_agree_with_the_integers_of_a_device() {
        assert_eq!(RadioCost::from(RadioModel::PAPER), RadioCost::PAPER);
        let model = RadioModel {
            efficiency_permille: 250,
            circuit: NanoWatts(10_000_000),
            per_upload: PicoJoules(7_000_000),
        };
        // (1 mW / 0.25 + 10 mW) * 1 ms + 7 uJ.
        let booked = model.energy(model.drawn(NanoWatts(1_000_000)), Micros(1_000));
        assert_eq!(booked, PicoJoules(21_000_000));
        let energy_j = RadioCost::from(model).energy_j(1e-3, 1e-3);
        assert!((energy_j - booked.as_joules()).abs() < 1e-18);
    }
}
