//! The paper's settings, as far as the round problem needs them.

use serde::{Deserialize, Serialize};

use crate::channel::{Fading, FadingKind, RadioParams};
use crate::units::{
    Bits, Db, Dbm, Gigahertz, Hertz, Joules, Metres, Seconds, Watts, WattsPerHertz,
};

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

/// A named set of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The MLP on MNIST, with the harvest and penalty under which queues act.
    PaperMlp,
    /// The CNN on CIFAR-10.
    PaperCnn,
    /// The MLP with every value as printed.
    PrintedMlp,
}

impl Preset {
    /// Returns the name used on the command line and in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PaperMlp => "paper-mlp",
            Self::PaperCnn => "paper-cnn",
            Self::PrintedMlp => "printed-mlp",
        }
    }

    /// Returns the number of clients.
    #[must_use]
    pub const fn clients(self) -> u32 {
        10
    }

    /// Returns the number of uplink channels.
    #[must_use]
    pub const fn channels(self) -> u32 {
        3
    }

    /// Returns the radio.
    #[must_use]
    pub fn radio(self) -> RadioParams {
        let (carrier_ghz, kind) = match self {
            Self::PaperMlp | Self::PrintedMlp => (2.4, FadingKind::Normalised),
            Self::PaperCnn => (1.0, FadingKind::Power),
        };
        RadioParams {
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
        }
    }

    /// Returns the devices.
    #[must_use]
    pub const fn device(self) -> DeviceParams {
        let (cycles_per_sample, income_j) = match self {
            // The printed income exceeds what any schedule can spend, so queues would never act.
            Self::PaperMlp => (100.0, 0.4e-3),
            Self::PaperCnn => (1000.0, 1.75e-3),
            Self::PrintedMlp => (100.0, 1.75e-3),
        };
        DeviceParams {
            alpha: 1e-26,
            cycles_per_sample,
            clock_hz: Hertz(5e8),
            income_j: Joules(income_j),
        }
    }

    /// Returns what the base station asks of a round.
    #[must_use]
    pub const fn round(self) -> RoundParams {
        let (deadline_s, model_bits, v) = match self {
            Self::PaperMlp => (0.01, 318_080.0, 0.001),
            Self::PaperCnn => (0.1, 3_781_200.0, 1.0),
            Self::PrintedMlp => (0.01, 318_080.0, 0.1),
        };
        RoundParams {
            deadline_s: Seconds(deadline_s),
            model_bits: Bits(model_bits),
            eta: 0.01,
            b1: 0.3,
            v,
            energy_unit_j: Joules(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::settings;
    use crate::scenario::resolve;

    /// Both kinds of preset state the same numbers: these for single rounds, those for runs.
    #[test]
    fn a_preset_of_rounds_is_the_scenario_of_the_same_name() {
        for preset in [Preset::PaperMlp, Preset::PaperCnn, Preset::PrintedMlp] {
            let scenario = resolve(preset.name(), &[]).unwrap();
            let device = DeviceParams {
                alpha: scenario.device.energy_coefficient,
                cycles_per_sample: scenario.device.cycles_per_sample,
                clock_hz: Hertz(scenario.device.frequency_hz),
                income_j: Joules(scenario.device.harvest_j),
            };
            let round = RoundParams {
                deadline_s: Seconds(scenario.device.deadline_s),
                model_bits: settings::model_bits(&scenario),
                eta: scenario.learning.learning_rate,
                b1: scenario.cre.b1,
                v: scenario.cre.v,
                energy_unit_j: Joules(scenario.cre.energy_unit_j),
            };
            let name = preset.name();
            assert_eq!(preset.radio(), settings::radio(&scenario), "{name}");
            assert_eq!(preset.device(), device, "{name}");
            assert_eq!(preset.round(), round, "{name}");
            assert_eq!(preset.clients() as usize, scenario.clients.count, "{name}");
            assert_eq!(preset.channels() as usize, scenario.link.channels, "{name}");
        }
    }
}
