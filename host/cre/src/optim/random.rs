//! Random rounds of a system, for measurements and tests.

use gleaner_shared::rng::{Purpose, Rng};

use super::Instance;
use crate::bound::LossBound;
use crate::channel::{Emulation, epoch_energy, epoch_latency, gaussian_pair};
use crate::system::System;

/// Draws a round of a system with any number of clients and channels.
///
/// Positions and fading come from the channel emulation; D_i ~ N(1000, 150^2); queues, estimates
/// and the loss gap are uniform over what runs of the paper pass through: Z_i in [0, 10 E_add],
/// delta_i in [0.1, 1], rho in [0.5, 1.5], beta in [5, 15], F_gap in [0.3, 2.3].
///
/// # Panics
/// If there is not at least one client and one channel.
#[must_use]
pub fn random_instance(system: &System, clients: u32, channels: usize, seed: u64) -> Instance {
    assert!(
        clients > 0 && channels > 0,
        "a round needs clients and channels"
    );
    let System {
        radio,
        device,
        round,
    } = *system;
    let state = Emulation::new(seed, clients, channels, radio).round(0);
    let mut instance = Instance {
        channels,
        samples: Vec::new(),
        downlink_s: radio.downlink_time(&state, round.model_bits).0,
        gain: state.uplink,
        queue_j: Vec::new(),
        delta: Vec::new(),
        epoch_s: Vec::new(),
        epoch_j: Vec::new(),
        bound: LossBound {
            rho: 0.0,
            beta: 0.0,
            eta: round.eta,
            b1: round.b1,
            gap: 0.0,
        },
        v: round.v,
        energy_unit_j: round.energy_unit_j.0,
        deadline_s: round.deadline_s.0,
        model_bits: round.model_bits.0,
        bandwidth_hz: radio.uplink_bandwidth_hz.0,
        noise_w_per_hz: radio.noise_w_per_hz.0,
        power_max_w: radio.uplink_power_max_w.0,
        income_j: vec![device.income_j.0; clients as usize],
        reserve_s: vec![0.0; clients as usize],
        costs: vec![device.costs; clients as usize],
    };
    for client in 0..clients {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, client, 1);
        let samples = (1000.0 + 150.0 * gaussian_pair(&mut rng).0)
            .round()
            .max(1.0) as u32;
        let cycles = device.cycles_per_sample;
        instance.samples.push(samples);
        instance
            .epoch_s
            .push(epoch_latency(cycles, samples, device.clock_hz).0);
        instance
            .epoch_j
            .push(epoch_energy(device.alpha, device.clock_hz, cycles, samples).0);
        instance
            .queue_j
            .push(10.0 * device.income_j.0 * rng.uniform());
        instance.delta.push(0.1 + 0.9 * rng.uniform());
    }
    let mut rng = Rng::stream(seed, Purpose::Synthetic, clients, 2);
    instance.bound.rho = 0.5 + rng.uniform();
    instance.bound.beta = 5.0 + 10.0 * rng.uniform();
    instance.bound.gap = 0.3 + 2.0 * rng.uniform();
    instance
}
