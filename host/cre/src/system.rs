//! What a system is built of, as far as the round problem needs it: radio, devices, targets.

use serde::{Deserialize, Serialize};

use crate::channel::RadioParams;
use crate::costs::Costs;
use crate::units::{Bits, Hertz, Joules, Seconds};

/// What a device spends on an epoch and what it harvests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceParams {
    /// Energy coefficient alpha of the processor, E = alpha f^2 per cycle.
    pub alpha: f64,
    /// Cycles b a sample costs in one epoch.
    pub cycles_per_sample: f64,
    /// Clock f.
    pub clock_hz: Hertz,
    /// Energy a client harvests each round, E_add.
    pub income_j: Joules,
    /// What it pays beside epochs and radiated energy.
    #[serde(default)]
    pub costs: Costs,
}

/// What the base station asks of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundParams {
    /// Deadline of a round, T_max.
    pub deadline_s: Seconds,
    /// Length l of the model on the air.
    pub model_bits: Bits,
    /// Learning rate eta.
    pub eta: f64,
    /// The distance bound B_1.
    pub b1: f64,
    /// The Lyapunov penalty factor V.
    pub v: f64,
    /// Joules per unit of energy inside the objective.
    pub energy_unit_j: Joules,
}

/// A system of alike devices around one base station.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The radio of both ends.
    pub radio: RadioParams,
    /// Every device.
    pub device: DeviceParams,
    /// What is asked of a round.
    pub round: RoundParams,
}

#[cfg(test)]
pub(crate) mod fixture {
    //! The paper's two systems, in numbers, for this crate's tests.

    use super::*;
    use crate::channel::{Fading, FadingKind};
    use crate::units::{Db, Dbm, Gigahertz, Metres, Watts, WattsPerHertz};

    pub(crate) fn mlp() -> System {
        system(
            (2.4, FadingKind::Normalised),
            (100.0, 0.4e-3),
            (0.01, 318_080.0, 0.001),
        )
    }

    pub(crate) fn cnn() -> System {
        system(
            (1.0, FadingKind::Power),
            (1000.0, 1.75e-3),
            (0.1, 3_781_200.0, 1.0),
        )
    }

    fn system(
        (carrier_ghz, kind): (f64, FadingKind),
        (cycles_per_sample, income_j): (f64, f64),
        (deadline_s, model_bits, v): (f64, f64, f64),
    ) -> System {
        System {
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
