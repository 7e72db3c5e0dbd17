//! Rate models: the bit rate of a power and a gain, and the power a transmitter draws.
//!
//! The paper's radio reaches Shannon's rate at any power. [`RateModel::Capped`] limits that rate;
//! [`RateModel::Gfsk`] is a transceiver with a list of power levels and a list of bit rates.

use serde::{Deserialize, Serialize};

use super::draw::{RadioParams, RoundState};
use super::rate::{broadcast_rate, downlink_latency, shannon_rate};
use crate::units::{Bits, BitsPerSecond, Gain, Hertz, Seconds, Watts, WattsPerHertz};

/// A power is taken for a level up to this relative difference, which units cost in conversion.
const SAME_POWER: f64 = 1e-9;

/// The rate model of a radio, the same in both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateModel {
    /// The paper's: Shannon's rate without a limit.
    #[default]
    Shannon,
    /// Shannon's rate up to a limit.
    Capped(Cap),
    /// Listed power levels and bit rates.
    Gfsk(Modem),
}

/// Limits of a bit rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// Largest spectral efficiency, in bit/s/Hz.
    pub max_bits_per_hz: f64,
    /// Largest bit rate.
    pub max_rate_bps: f64,
}

impl Cap {
    /// Returns the largest rate in a band.
    #[must_use]
    pub const fn rate_bps(&self, bandwidth: Hertz) -> f64 {
        (self.max_bits_per_hz * bandwidth.0).min(self.max_rate_bps)
    }
}

/// A transceiver with power levels and bit rates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modem {
    /// Power levels, rising in radiated power.
    pub levels: Vec<Level>,
    /// Bit rates in rising order.
    pub rates: Vec<BitRate>,
    /// Factor by which a signal must exceed the sensitivity, linear.
    pub margin: f64,
}

/// A power level of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Power radiated at this level.
    pub radiated_w: f64,
    /// Power the transmitter draws at this level.
    pub drawn_w: f64,
}

/// A bit rate of a transceiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BitRate {
    /// Bits per second on the air.
    pub bps: f64,
    /// Least received power at which it is received.
    pub sensitivity_w: f64,
}

impl Modem {
    /// Returns the level a power is sent with: the lowest of at least this power, or the highest;
    /// `None` without levels.
    #[must_use]
    pub fn level(&self, power_w: f64) -> Option<&Level> {
        let reaches = |level: &&Level| level.radiated_w >= power_w * (1.0 - SAME_POWER);
        self.levels.iter().find(reaches).or(self.levels.last())
    }

    /// Says whether a bit rate is received at this power and gain.
    #[must_use]
    pub fn receives(&self, rate: &BitRate, power_w: f64, gain: f64) -> bool {
        power_w * gain >= rate.sensitivity_w * self.margin
    }

    /// Returns the fastest bit rate that is received; 0 if none is.
    #[must_use]
    pub fn fastest_bps(&self, power_w: f64, gain: f64) -> f64 {
        let rates = self.rates.iter().rev();
        let mut received = rates.filter(|rate| self.receives(rate, power_w, gain));
        received.next().map_or(0.0, |rate| rate.bps)
    }
}

impl RateModel {
    /// Returns the transceiver, if the model lists one.
    #[must_use]
    pub fn modem(&self) -> Option<&Modem> {
        match self {
            Self::Gfsk(modem) => Some(modem),
            Self::Shannon | Self::Capped(_) => None,
        }
    }

    /// Returns the rate of an upload. A transceiver sends at the level of `power` and at the fastest
    /// bit rate that is received; the rate is 0 if none is.
    #[must_use]
    pub fn rate(
        &self,
        power: Watts,
        gain: Gain,
        bandwidth: Hertz,
        noise: WattsPerHertz,
    ) -> BitsPerSecond {
        let shannon = || shannon_rate(power, gain, bandwidth, noise);
        match self {
            Self::Shannon => shannon(),
            Self::Capped(cap) => BitsPerSecond(shannon().0.min(cap.rate_bps(bandwidth))),
            Self::Gfsk(modem) => {
                let sent = |level: &Level| modem.fastest_bps(level.radiated_w, gain.0);
                BitsPerSecond(modem.level(power.0).map_or(0.0, sent))
            }
        }
    }

    /// Returns the duration of a model's broadcast: Eqs. (5) and (6) at the rate of the client with
    /// the least gain. Infinite if that client receives no bit rate.
    #[must_use]
    pub fn downlink_time(&self, radio: &RadioParams, state: &RoundState, model: Bits) -> Seconds {
        let (power, band) = (radio.downlink_power_w, radio.downlink_bandwidth_hz);
        let shannon = broadcast_rate(power, &state.downlink, band, radio.noise_w_per_hz);
        let rate_bps = match self {
            Self::Shannon => shannon.0,
            Self::Capped(cap) => shannon.0.min(cap.rate_bps(band)),
            Self::Gfsk(modem) => {
                let least = state.downlink.iter().copied().fold(f64::INFINITY, f64::min);
                modem.fastest_bps(power.0, least)
            }
        };
        downlink_latency(model, BitsPerSecond(rate_bps))
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;
    use crate::units::Dbm;

    const NOISE: WattsPerHertz = WattsPerHertz(4e-21);

    /// A transceiver with random lists, which rise.
    fn draw(rng: &mut Rng) -> Modem {
        let mut dbm = -20.0;
        let levels = (0..1 + rng.below(6)).map(|_| {
            dbm += 0.5 + 8.0 * rng.uniform();
            let radiated_w = Dbm(dbm).to_watts().0;
            let drawn_w = 0.05 + radiated_w * (1.0 + 3.0 * rng.uniform());
            Level {
                radiated_w,
                drawn_w,
            }
        });
        let levels = levels.collect();
        let (mut bps, mut dbm) = (500.0, -126.0);
        let rates = (0..1 + rng.below(6)).map(|_| {
            bps *= 1.1 + 4.0 * rng.uniform();
            dbm += 4.0 * rng.uniform();
            let sensitivity_w = Dbm(dbm).to_watts().0;
            BitRate { bps, sensitivity_w }
        });
        Modem {
            levels,
            rates: rates.collect(),
            margin: 1.0 + 9.0 * rng.uniform(),
        }
    }

    /// Returns 60 powers from a picowatt to 100 W, rising.
    fn powers() -> impl Iterator<Item = f64> {
        (0..60).map(|step| libm::pow(10.0, -12.0 + 14.0 * f64::from(step) / 59.0))
    }

    #[test]
    fn rates_rise_with_power_and_gain_and_a_cap_never_raises_one() {
        for seed in 0..300 {
            let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 90);
            let band = Hertz(libm::pow(10.0, 3.0 + 5.0 * rng.uniform()));
            let cap = Cap {
                max_bits_per_hz: 0.1 + 20.0 * rng.uniform(),
                max_rate_bps: libm::pow(10.0, 3.0 + 6.0 * rng.uniform()),
            };
            let models = [
                RateModel::Shannon,
                RateModel::Capped(cap),
                RateModel::Gfsk(draw(&mut rng)),
            ];
            let gain = libm::pow(10.0, -12.0 * rng.uniform());
            let mut before = [0.0; 3];
            for power in powers() {
                for (model, before) in models.iter().zip(&mut before) {
                    let rate = |gain| model.rate(Watts(power), Gain(gain), band, NOISE).0;
                    let found = rate(gain);
                    assert!(found >= *before, "seed {seed}: {model:?}");
                    assert!(rate(2.0 * gain) >= found, "seed {seed}: {model:?}");
                    *before = found;
                }
                assert!(before[1] <= before[0], "seed {seed}: capped is faster");
                assert!(
                    before[1] <= cap.rate_bps(band),
                    "seed {seed}: above the cap"
                );
            }
        }
    }

    #[test]
    fn a_higher_margin_or_a_lower_gain_leaves_a_subset_of_the_pairs() {
        let mut lost = 0;
        for seed in 0..300 {
            let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 91);
            let modem = draw(&mut rng);
            let gain = libm::pow(10.0, -7.0 - 5.0 * rng.uniform());
            let stricter = Modem {
                margin: modem.margin * (1.0 + rng.uniform()),
                ..modem.clone()
            };
            for level in &modem.levels {
                for rate in &modem.rates {
                    let now = modem.receives(rate, level.radiated_w, gain);
                    let strict = stricter.receives(rate, level.radiated_w, gain);
                    let far = modem.receives(rate, level.radiated_w, 0.5 * gain);
                    assert!(now || !(strict || far), "seed {seed}: a pair was gained");
                    lost += u32::from(now && !strict);
                }
            }
        }
        assert!(lost > 100, "{lost}");
    }

    #[test]
    fn a_power_is_sent_with_the_lowest_level_that_reaches_it() {
        let level = |radiated_w| Level {
            radiated_w,
            drawn_w: 1.0,
        };
        let modem = Modem {
            levels: vec![level(1e-3), level(1e-2)],
            rates: Vec::new(),
            margin: 1.0,
        };
        let sent = |power_w| modem.level(power_w).map(|level| level.radiated_w);
        assert_eq!(sent(1e-6), Some(1e-3));
        assert_eq!(sent(1e-3 * (1.0 + 1e-12)), Some(1e-3));
        assert_eq!(sent(1.1e-3), Some(1e-2));
        assert_eq!(sent(5.0), Some(1e-2));
        assert_eq!(modem.fastest_bps(1.0, 1.0), 0.0);
    }

    #[test]
    fn the_broadcast_runs_at_what_the_weakest_client_receives() {
        let radio = RadioParams {
            downlink_power_w: Watts(0.025),
            ..crate::system::System::paper_mlp().radio
        };
        let rate = |bps, dbm| BitRate {
            bps,
            sensitivity_w: Dbm(dbm).to_watts().0,
        };
        let model = RateModel::Gfsk(Modem {
            levels: vec![Level {
                radiated_w: 1e-2,
                drawn_w: 0.1,
            }],
            rates: vec![rate(4_800.0, -118.0), rate(250_000.0, -104.0)],
            margin: 2.0,
        });
        let time = |weakest| {
            let state = RoundState {
                downlink: vec![1e-3, weakest],
                uplink: Vec::new(),
            };
            model.downlink_time(&radio, &state, Bits(250_000.0)).0
        };
        assert_eq!(time(1e-6), 1.0);
        // 25 mW at -120 dB are -106 dBm: below -104 dBm, above -118 dBm and 3 dB.
        assert!((time(1e-12) - 250_000.0 / 4_800.0).abs() < 1e-9);
        assert_eq!(time(1e-14), f64::INFINITY);
    }
}
