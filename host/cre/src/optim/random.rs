//! Random rounds of a system, for measurements and tests.

use gleaner_shared::rng::{Purpose, Rng};

use super::Instance;
use crate::channel::{BitRate, Cap, Emulation, Level, Modem, RateModel, gaussian_pair};
use crate::costs::{Costs, RadioCost};
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
    let device = &system.device;
    let mut rngs: Vec<Rng> = (0..clients)
        .map(|client| Rng::stream(seed, Purpose::Synthetic, client, 1))
        .collect();
    let draw_samples = |rng: &mut Rng| (1000.0 + 150.0 * gaussian_pair(rng).0).round().max(1.0);
    let samples = rngs
        .iter_mut()
        .map(|rng| draw_samples(rng) as u32)
        .collect();
    let gains = Emulation::new(seed, clients, channels, system.radio).round(0);
    let mut instance = Instance::paper(system, gains, samples);
    instance.costs.fill(device.costs);
    for (client, rng) in rngs.iter_mut().enumerate() {
        instance.queue_j[client] = 10.0 * device.income_j.0 * rng.uniform();
        instance.delta[client] = 0.1 + 0.9 * rng.uniform();
    }
    let mut rng = Rng::stream(seed, Purpose::Synthetic, clients, 2);
    instance.bound.rho = 0.5 + rng.uniform();
    instance.bound.beta = 5.0 + 10.0 * rng.uniform();
    instance.bound.gap = 0.3 + 2.0 * rng.uniform();
    instance
}

/// Gives every client of a round random costs of its own: amplifiers from bad to perfect, circuits
/// from nothing to a hundred times the power limit, orders that take up to a third of the round, and
/// standing costs up to three times the income. A few keep the paper's.
pub fn draw_costs(instance: &mut Instance, seed: u64) {
    let income_j = instance.income_j.iter().copied().fold(0.0, f64::max);
    for (client, costs) in (0..).zip(&mut instance.costs) {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, client, 4);
        let mut some = |part: f64, of: f64| match rng.uniform() < part {
            true => of * rng.uniform(),
            false => 0.0,
        };
        let decades = some(0.8, 5.0);
        let circuit_w = match decades > 0.0 {
            true => instance.power_max_w * libm::pow(10.0, decades - 3.0),
            false => 0.0,
        };
        *costs = Costs {
            radio: RadioCost {
                efficiency: 1.0 - some(0.7, 0.95),
                circuit_w,
                per_upload_j: some(0.5, 0.5 * income_j),
            },
            order_s: some(0.5, instance.deadline_s / 3.0),
            order_j: some(0.5, income_j),
            standing_j: some(0.5, 3.0 * income_j),
        };
    }
}

/// Gives a round a random limit of its rate, from a tenth of what an upload at full power has to a
/// hundredfold.
pub fn draw_cap(instance: &mut Instance, seed: u64) {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 5);
    let rate_bps = instance.model_bits / instance.upload_s(0, 0, instance.power_max_w);
    let mut some = || rate_bps * libm::pow(10.0, 3.0 * rng.uniform() - 1.0);
    instance.rate = RateModel::Capped(Cap {
        max_bits_per_hz: some() / instance.bandwidth_hz,
        max_rate_bps: some(),
    });
}

/// Gives a round a random transceiver: up to eight levels within 30 dB, and up to five bit rates from
/// some that are too slow for the round to some that most clients are too weak for. The highest level
/// is p_max.
pub fn draw_modem(instance: &mut Instance, seed: u64) {
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 6);
    let mut falling_w = instance.power_max_w;
    let mut levels: Vec<Level> = (0..1 + rng.below(8))
        .map(|_| {
            let radiated_w = falling_w;
            falling_w *= libm::pow(10.0, -0.01 - 0.4 * rng.uniform());
            let drawn_w = radiated_w + instance.power_max_w * rng.uniform();
            Level {
                radiated_w,
                drawn_w,
            }
        })
        .collect();
    levels.reverse();
    let gains = instance.gain.iter().flatten().copied();
    let strongest_w = instance.power_max_w * gains.fold(0.0, f64::max);
    let mut bps = instance.model_bits / instance.deadline_s * (0.2 + 2.0 * rng.uniform());
    let mut sensitivity_w = strongest_w * libm::pow(10.0, -5.0 * rng.uniform());
    let rates = (0..1 + rng.below(5))
        .map(|_| {
            let rate = BitRate { bps, sensitivity_w };
            bps *= 1.05 + 3.0 * rng.uniform();
            sensitivity_w *= libm::pow(10.0, rng.uniform());
            rate
        })
        .collect();
    instance.rate = RateModel::Gfsk(Modem {
        levels,
        rates,
        margin: 1.0 + rng.uniform(),
    });
}
