//! Rates, latencies and energies of one round (Sections II-B and II-C).

use std::f64::consts::LN_2;

use crate::units::{Bits, BitsPerSecond, Gain, Hertz, Joules, Seconds, Watts, WattsPerHertz};

/// Implements Eq. (9) for one channel: v = B log2(1 + p h / (B N0)), in bit/s.
#[must_use]
pub fn shannon_rate(
    power: Watts,
    gain: Gain,
    bandwidth: Hertz,
    noise: WattsPerHertz,
) -> BitsPerSecond {
    let snr = power.0 * gain.0 / (bandwidth.0 * noise.0);
    BitsPerSecond(bandwidth.0 * libm::log1p(snr) / LN_2)
}

/// Implements Eq. (5): the broadcast runs at the rate of the slowest client.
///
/// Deviation: the paper prints a maximum where its text says "depends on the slowest one"; this
/// is the minimum. No clients give an infinite rate.
#[must_use]
pub fn broadcast_rate(
    power: Watts,
    gains: &[f64],
    bandwidth: Hertz,
    noise: WattsPerHertz,
) -> BitsPerSecond {
    let slowest = gains
        .iter()
        .map(|&gain| shannon_rate(power, Gain(gain), bandwidth, noise).0)
        .fold(f64::INFINITY, f64::min);
    BitsPerSecond(slowest)
}

/// Implements Eq. (6): t_down = l / v_down.
#[must_use]
pub fn downlink_latency(model: Bits, rate: BitsPerSecond) -> Seconds {
    Seconds(model.0 / rate.0)
}

/// Implements Eq. (10): t_up = l / v_up.
#[must_use]
pub fn upload_latency(model: Bits, rate: BitsPerSecond) -> Seconds {
    Seconds(model.0 / rate.0)
}

/// Returns the energy of an upload, e_up = p t_up.
#[must_use]
pub fn upload_energy(power: Watts, latency: Seconds) -> Joules {
    Joules(power.0 * latency.0)
}

/// Returns what an upload costs at least, l N0 ln2 / h: the limit of e_up as p falls to zero.
#[must_use]
pub fn upload_energy_infimum(model: Bits, noise: WattsPerHertz, gain: Gain) -> Joules {
    Joules(model.0 * noise.0 * LN_2 / gain.0)
}

/// Returns the time of one local epoch, T_i = b D_i / f.
#[must_use]
pub fn epoch_latency(cycles_per_sample: f64, samples: u32, clock: Hertz) -> Seconds {
    Seconds(cycles_per_sample * f64::from(samples) / clock.0)
}

/// Returns the energy of one local epoch, E_i = alpha f^2 b D_i.
#[must_use]
pub fn epoch_energy(alpha: f64, clock: Hertz, cycles_per_sample: f64, samples: u32) -> Joules {
    Joules(alpha * clock.0 * clock.0 * cycles_per_sample * f64::from(samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: WattsPerHertz = WattsPerHertz(4e-21);

    #[test]
    fn unit_signal_to_noise_gives_one_bit_per_hertz() {
        let rate = shannon_rate(Watts(4e-15), Gain(1.0), Hertz(1e6), NOISE);
        assert!((rate.0 - 1e6).abs() < 1e-6);
    }

    #[test]
    fn the_broadcast_waits_for_the_weakest_client() {
        let slow = shannon_rate(Watts(1.0), Gain(1e-9), Hertz(2e7), NOISE);
        let rate = broadcast_rate(Watts(1.0), &[1e-3, 1e-9, 1e-2], Hertz(2e7), NOISE);
        assert_eq!(rate, slow);
    }

    #[test]
    fn upload_energy_falls_towards_its_infimum_with_the_power() {
        let (model, gain, bandwidth) = (Bits(318_080.0), Gain(1e-2), Hertz(1e6));
        let infimum = upload_energy_infimum(model, NOISE, gain).0;
        let energy = |p| {
            let rate = shannon_rate(Watts(p), gain, bandwidth, NOISE);
            upload_energy(Watts(p), upload_latency(model, rate)).0
        };
        assert!(energy(1e-3) > energy(1e-9) && energy(1e-9) > infimum);
        assert!((energy(1e-19) / infimum - 1.0).abs() < 1e-3);
    }
}
