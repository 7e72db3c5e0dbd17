//! The numbers of a scenario in the types the model of the system wants.

use gleaner_cre::system::System;
use gleaner_shared::energy::{ComputeModel, CostModel, RadioModel};
use gleaner_shared::units::{NanoWatts, PicoJoules};

use std::time::Duration;

use crate::policy::process::Facts;
use crate::policy::{self, Decider, Glean, Policy, Process};
use crate::scenario::{ClientDevice, Load, Scenario};
use gleaner_cre::channel::{Fading, RadioParams, epoch_energy, epoch_latency};
use gleaner_cre::units::{
    Bits, Db, Dbm, Gigahertz, Hertz, Joules, Metres, Seconds, Watts, WattsPerHertz,
};
use gleaner_learn::Uploads;
use gleaner_learn::server::Server;
use gleaner_learn::train::{Kernel, Tensor};
use gleaner_shared::mlp::Shape;

/// Returns the system of a scenario: its radio, the device of clients in no class, and what is asked
/// of a round.
#[must_use]
pub fn system(scenario: &Scenario) -> System {
    let (device, cre) = (&scenario.device, &scenario.cre);
    let mut system = System::paper_mlp();
    system.radio = radio(scenario);
    system.device.alpha = device.energy_coefficient;
    system.device.cycles_per_sample = device.cycles_per_sample;
    system.device.clock_hz = Hertz(device.frequency_hz);
    system.device.income_j = Joules(device.harvest_j);
    system.round.deadline_s = Seconds(device.deadline_s);
    system.round.model_bits = model_bits(scenario, &[]);
    system.round.eta = scenario.learning.learning_rate;
    system.round.b1 = cre.b1;
    system.round.v = cre.v;
    system.round.energy_unit_j = Joules(cre.energy_unit_j);
    system
}

/// Returns the radio of a scenario.
#[must_use]
pub fn radio(scenario: &Scenario) -> RadioParams {
    let (channel, radio) = (&scenario.channel, &scenario.radio);
    let mut params = System::paper_mlp().radio;
    params.radius_m = Metres(channel.radius_m);
    params.carrier_ghz = Gigahertz(channel.carrier_ghz);
    params.antenna_db = Db(channel.antenna_gain_db);
    params.fading = Fading {
        k: channel.rician_k,
        sigma: channel.rician_sigma,
        kind: channel.fading,
    };
    params.downlink_power_w = Watts(radio.downlink_power_w);
    params.downlink_bandwidth_hz = Hertz(radio.downlink_bandwidth_hz);
    params.uplink_power_max_w = max_power(scenario);
    params.uplink_bandwidth_hz = Hertz(radio.uplink_bandwidth_hz);
    params.noise_w_per_hz = WattsPerHertz(Dbm(radio.noise_dbm_per_hz).to_watts().0);
    params
}

/// Returns the largest transmit power of a client, or the highest level of a transceiver up to it.
fn max_power(scenario: &Scenario) -> Watts {
    let model = scenario.rate_model();
    let highest = model.modem().and_then(|modem| modem.levels.last());
    highest.map_or_else(
        || Dbm(scenario.radio.max_power_dbm).to_watts(),
        |level| Watts(level.radiated_w),
    )
}

/// Returns the scheduler of a scenario.
#[must_use]
pub fn policy(scenario: &Scenario) -> Box<dyn Policy> {
    let scheduler = match &scenario.run.scheduler {
        Decider::Own(scheduler) => scheduler,
        Decider::Process(command) => {
            let limit = Duration::try_from_secs_f64(scenario.run.decision_limit_s);
            let facts = Facts {
                seed: scenario.run.seed,
                rounds: scenario.run.rounds,
                clients: scenario.clients.count,
                channels: scenario.radio.channels,
            };
            let limit = limit.unwrap_or(Duration::MAX);
            return Box::new(Process::new(command.clone(), limit, facts));
        }
    };
    scheduler.policy(&policy::Settings {
        power: scenario.baselines.power,
        epochs: u32::try_from(scenario.baselines.epochs).unwrap_or(u32::MAX),
        solver: scenario.cre.solver,
        common_epochs: scenario.baselines.common_epochs,
        importance: scenario.baselines.importance,
        fixed_channels: scenario.baselines.fixed_channels,
        cre_epochs: scenario.cre.epochs,
        require_participants: scenario.cre.require_participants,
        glean: Glean {
            lambda: scenario.glean.lambda,
            epochs: u32::try_from(scenario.glean.epochs).unwrap_or(u32::MAX),
            claim: scenario.glean.claim,
        },
    })
}

/// Returns the base station's step on a model of so many parameters. One whose parts are not known,
/// as in a test, is one layer.
#[must_use]
pub fn server(scenario: &Scenario, tensors: &[Tensor], parameters: usize) -> Server {
    // Whoever set up the clients has refused a kernel that is not there; the bits are the same.
    let kernel = Kernel::chosen().unwrap_or_else(|_| Kernel::available()[0]);
    Server::new(scenario.server(), kernel, tensors, parameters)
}

/// Returns the length of one transfer of a model of these parts; without any it is as long as the
/// paper's.
#[must_use]
pub fn model_bits(scenario: &Scenario, tensors: &[Tensor]) -> Bits {
    match tensors.iter().map(Tensor::len).sum() {
        0 => Bits(scenario.model_bits()),
        parameters => Bits(scenario.model_bits_of(parameters)),
    }
}

/// Returns the length of one upload of a model of these parts; without any it is the paper's.
#[must_use]
pub fn upload_bits(scenario: &Scenario, tensors: &[Tensor]) -> Bits {
    let Some(code) = scenario.upload.code.code() else {
        return model_bits(scenario, tensors);
    };
    let bytes = match tensors {
        [] => code.encoded_len(&Shape::PAPER),
        tensors => Uploads::new(code, tensors).bytes(),
    };
    Bits(8.0 * bytes as f64)
}

/// Returns what work costs on a device, in the integers it counts in.
#[must_use]
pub fn cost_model(device: &ClientDevice) -> CostModel {
    let costs = &device.costs;
    let nanowatts = |watts: f64| NanoWatts((watts * 1e9).round() as u64);
    let paper = CostModel::paper(device.energy_coefficient, device.frequency_hz);
    CostModel {
        compute: ComputeModel {
            per_epoch: PicoJoules::from_joules(costs.epoch_j),
            ..paper.compute
        },
        radio: RadioModel {
            efficiency_permille: (costs.amplifier_efficiency * 1e3).round() as u16,
            circuit: nanowatts(costs.circuit_w),
            per_upload: PicoJoules::from_joules(costs.upload_j),
        },
        receive: nanowatts(costs.receive_w),
        idle: nanowatts(costs.idle_w),
        sleep: nanowatts(costs.sleep_w),
        save: PicoJoules::from_joules(costs.save_w * costs.save_s),
        boot: PicoJoules::from_joules(costs.idle_w * costs.boot_s),
        ..paper
    }
}

/// Returns the time T_i and energy E_i of one epoch of a client with this device and samples: the
/// paper's, and those of its cycles per epoch and per non-zero input.
#[must_use]
pub fn epoch_cost(device: &ClientDevice, load: Load) -> (f64, f64) {
    let clock = Hertz(device.frequency_hz);
    let time = epoch_latency(device.cycles_per_sample, load.samples, clock);
    let energy = epoch_energy(
        device.energy_coefficient,
        clock,
        device.cycles_per_sample,
        load.samples,
    );
    let joules_per_cycle = device.energy_coefficient * clock.0 * clock.0;
    let more = device.cycles_per_epoch + device.cycles_per_nonzero * load.nonzero as f64;
    (
        time.0 + more / clock.0,
        energy.0 + joules_per_cycle * more + device.costs.epoch_j,
    )
}

#[cfg(test)]
mod tests {
    use super::epoch_cost;
    use crate::scenario::{Load, resolve};
    use gleaner_energy::harvest::Harvest;

    #[test]
    fn several_epochs_of_a_board_fit_its_round() {
        for (board, watts) in [
            ("rp2040", 0.0825),
            ("rp2350", 0.0825),
            ("stm32l4r5", 0.04356),
            ("stm32l496", 0.024_024),
        ] {
            let scenario = resolve(board, &[]).unwrap();
            let load = Load {
                samples: scenario.partition.mean_samples as u32,
                nonzero: 150 * scenario.partition.mean_samples as u64,
            };
            let (seconds, joules) = epoch_cost(&scenario.device.common(), load);
            assert!((joules / seconds / watts - 1.0).abs() < 1e-3, "{board}");
            assert!(5.0 * seconds < scenario.device.deadline_s, "{board}");
        }
    }

    #[test]
    fn the_income_of_boards_pays_for_their_sleep_and_their_store_for_a_night() {
        for board in [
            "rp2040",
            "rp2040-as-if-lightsleep",
            "rp2350",
            "stm32l4r5",
            "stm32l4r5-as-if-stop2",
            "stm32l496",
        ] {
            let scenario = resolve(board, &[]).unwrap();
            let (clients, from) = (scenario.clients.count, &scenario.harvest);
            let incomes = vec![0.0; clients];
            let settings = scenario.income_settings();
            let harvest = Harvest::try_new(&settings, 0, clients, 1, &incomes).unwrap();
            let device = &scenario.device;
            for client in 0..clients {
                let stored_w = harvest.mean_w(client) * from.charge_efficiency;
                assert!(
                    stored_w > device.sleep_w + from.leakage_w,
                    "{board} {client}"
                );
            }
            // A night of 16 hours.
            let capacity = from.store().unwrap().capacity.as_joules();
            let night_j = 57_600.0 * (device.sleep_w + from.leakage_w);
            assert!(capacity > night_j, "{board}: {capacity} J");
        }
    }
}
