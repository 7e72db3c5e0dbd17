//! The numbers of a scenario in the types the model of the system wants.

use gleaner_cre::system::{DeviceParams, RoundParams, System};
use gleaner_shared::energy::CostModel;

use crate::scenario::{self, Scenario};
use gleaner_cre::channel::{Fading, FadingKind, RadioParams, epoch_energy, epoch_latency};
use gleaner_cre::estimate::DivergenceRule;
use gleaner_cre::units::{
    Bits, Db, Dbm, Gigahertz, Hertz, Joules, Metres, Seconds, Watts, WattsPerHertz,
};

/// Returns the system of a scenario: its radio, its devices and what is asked of a round.
#[must_use]
pub fn system(scenario: &Scenario) -> System {
    let (device, cre) = (&scenario.device, &scenario.cre);
    System {
        radio: radio(scenario),
        device: DeviceParams {
            alpha: device.energy_coefficient,
            cycles_per_sample: device.cycles_per_sample,
            clock_hz: Hertz(device.frequency_hz),
            income_j: Joules(device.harvest_j),
        },
        round: RoundParams {
            deadline_s: Seconds(device.deadline_s),
            model_bits: model_bits(scenario),
            eta: scenario.learning.learning_rate,
            b1: cre.b1,
            v: cre.v,
            energy_unit_j: Joules(cre.energy_unit_j),
        },
    }
}

/// Returns the radio of a scenario.
#[must_use]
pub fn radio(scenario: &Scenario) -> RadioParams {
    let (channel, link) = (&scenario.channel, &scenario.link);
    RadioParams {
        radius_m: Metres(channel.radius_m),
        carrier_ghz: Gigahertz(channel.carrier_ghz),
        antenna_db: Db(channel.antenna_gain_db),
        fading: Fading {
            k: channel.rician_k,
            sigma: channel.rician_sigma,
            kind: match channel.fading {
                scenario::Fading::Normalised => FadingKind::Normalised,
                scenario::Fading::Power => FadingKind::Power,
                scenario::Fading::Amplitude => FadingKind::Amplitude,
            },
        },
        downlink_power_w: Watts(link.downlink_power_w),
        downlink_bandwidth_hz: Hertz(link.downlink_bandwidth_hz),
        uplink_power_max_w: Dbm(link.max_power_dbm).to_watts(),
        uplink_bandwidth_hz: Hertz(link.uplink_bandwidth_hz),
        noise_w_per_hz: WattsPerHertz(Dbm(link.noise_dbm_per_hz).to_watts().0),
    }
}

/// Returns the rule by which divergence is measured.
#[must_use]
pub fn divergence_rule(scenario: &Scenario) -> DivergenceRule {
    match scenario.cre.delta_rule {
        scenario::DeltaRule::Paper => DivergenceRule::Paper,
        scenario::DeltaRule::Direction => DivergenceRule::Direction,
        scenario::DeltaRule::Plain => DivergenceRule::Plain,
    }
}

/// Returns the length of one model transfer.
#[must_use]
pub fn model_bits(scenario: &Scenario) -> Bits {
    Bits(scenario.model_bits())
}

/// Returns what work costs, in the integers a device counts in.
#[must_use]
pub fn cost_model(scenario: &Scenario) -> CostModel {
    CostModel::paper(
        scenario.device.energy_coefficient,
        scenario.device.frequency_hz,
    )
}

/// Returns the time T_i and energy E_i of one epoch of a client with `samples` samples.
#[must_use]
pub fn epoch_cost(scenario: &Scenario, samples: u32) -> (f64, f64) {
    let device = &scenario.device;
    let clock = Hertz(device.frequency_hz);
    let time = epoch_latency(device.cycles_per_sample, samples, clock);
    let energy = epoch_energy(
        device.energy_coefficient,
        clock,
        device.cycles_per_sample,
        samples,
    );
    (time.0, energy.0)
}
