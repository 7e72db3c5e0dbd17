//! Parameters of a whole system, as far as a round's problem needs them: radio, devices, targets.

use serde::{Deserialize, Serialize};

use crate::channel::{Fading, FadingKind, RadioParams};
use crate::costs::Costs;
use crate::units::{
    Bits, Db, Dbm, Gigahertz, Hertz, Joules, Metres, Seconds, Watts, WattsPerHertz,
};

/// Energy, speed and income of a device. Start from [`System::paper_mlp`] and change fields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct DeviceParams {
    /// Energy coefficient alpha of the processor, E = alpha f^2 per cycle.
    pub alpha: f64,
    /// Cycles b that one sample costs in one epoch.
    pub cycles_per_sample: f64,
    /// Clock frequency f of the processor.
    pub clock_hz: Hertz,
    /// Energy E_add that a client harvests in each round.
    pub income_j: Joules,
    /// Costs beside epochs and radiated energy.
    #[serde(default)]
    pub costs: Costs,
}

/// Targets that the base station sets for a round. Start from [`System::paper_mlp`] and change
/// fields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RoundParams {
    /// Deadline T_max of a round.
    pub deadline_s: Seconds,
    /// Length l of the model on the air.
    pub model_bits: Bits,
    /// Learning rate eta of local training.
    pub eta: f64,
    /// Distance bound B_1 of the loss bound.
    pub b1: f64,
    /// Lyapunov penalty factor V of the objective.
    pub v: f64,
    /// Joules per unit of energy inside the objective.
    pub energy_unit_j: Joules,
}

/// A system of identical devices around one base station.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct System {
    pub radio: RadioParams,
    pub device: DeviceParams,
    pub round: RoundParams,
}

impl System {
    /// Returns the paper's system for its perceptron on MNIST.
    ///
    /// ```
    /// use gleaner_cre::system::System;
    /// use gleaner_cre::units::Seconds;
    ///
    /// let mut system = System::paper_mlp();
    /// system.round.deadline_s = Seconds(0.02); // twice the paper's deadline
    /// assert_eq!(system.round.model_bits.0, 318_080.0);
    /// ```
    #[must_use]
    pub fn paper_mlp() -> Self {
        Self::paper(
            (2.4, FadingKind::Normalised),
            (100.0, 0.4e-3),
            (0.01, 318_080.0, 0.001),
        )
    }

    /// Returns the paper's system for its convolutional network on CIFAR-10.
    #[must_use]
    pub fn paper_cnn() -> Self {
        Self::paper(
            (1.0, FadingKind::Power),
            (1000.0, 1.75e-3),
            (0.1, 3_781_200.0, 1.0),
        )
    }

    fn paper(
        (carrier_ghz, kind): (f64, FadingKind),
        (cycles_per_sample, income_j): (f64, f64),
        (deadline_s, model_bits, v): (f64, f64, f64),
    ) -> Self {
        Self {
            radio: RadioParams {
                radius_m: Metres(500.0),
                carrier_ghz: Gigahertz(carrier_ghz),
                antenna_db: Db(65.0),
                fading: Fading {
                    k: 4.0,
                    sigma: 1.0,
                    kind,
                },
                downlink_power_w: Watts(1.0),
                downlink_bandwidth_hz: Hertz(20e6),
                uplink_power_max_w: Dbm(23.0).to_watts(),
                uplink_bandwidth_hz: Hertz(1e6),
                noise_w_per_hz: WattsPerHertz(Dbm(-174.0).to_watts().0),
            },
            device: DeviceParams {
                alpha: 1e-26,
                cycles_per_sample,
                clock_hz: Hertz(5e8),
                income_j: Joules(income_j),
                costs: Costs::PAPER,
            },
            round: RoundParams {
                deadline_s: Seconds(deadline_s),
                model_bits: Bits(model_bits),
                eta: 0.01,
                b1: 0.3,
                v,
                energy_unit_j: Joules(1.0),
            },
        }
    }
}
