//! What keeps energy: how much, what charging loses, what leaks away.

use micromath::F32Ext;
use serde::{Deserialize, Serialize};

use super::model::power_times_time;
use crate::units::{Micros, NanoWatts, PicoJoules};

const PERMILLE: u16 = 1_000;

/// A finite store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EnergyStore {
    /// What it holds at most.
    pub capacity: PicoJoules,
    /// What arrives in it of what is harvested, in thousandths.
    pub charge_permille: u16,
    /// What it loses by itself.
    pub leakage: NanoWatts,
}

impl EnergyStore {
    /// A store without losses.
    #[must_use]
    pub const fn lossless(capacity: PicoJoules) -> Self {
        Self {
            capacity,
            charge_permille: PERMILLE,
            leakage: NanoWatts::ZERO,
        }
    }

    /// Returns what charging loses of an income, rounded down; more than a thousand thousandths
    /// arrive as a thousand.
    #[must_use]
    pub const fn charging_loss(&self, income: PicoJoules) -> PicoJoules {
        let lost = PERMILLE.saturating_sub(self.charge_permille) as u64;
        // Exact without a wider type: thousands apart from the rest, which stays below 10^6.
        let (thousands, rest) = (income.0 / PERMILLE as u64, income.0 % PERMILLE as u64);
        PicoJoules(thousands * lost + rest * lost / PERMILLE as u64)
    }

    /// Returns what leaks away in `time`, were it there.
    #[must_use]
    pub const fn leak(&self, time: Micros) -> PicoJoules {
        power_times_time(self.leakage, time)
    }
}

/// A capacitor between two voltages, as a [`EnergyStore`] and as what a board's voltmeter reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Capacitor {
    /// Its capacitance, in microfarads.
    pub microfarads: u32,
    /// Below this voltage the board does not run.
    pub min_mv: u16,
    /// Above this voltage it is not charged.
    pub max_mv: u16,
}

impl Capacitor {
    /// Returns what it can give: C (V_most^2 - V_least^2) / 2.
    #[must_use]
    pub const fn capacity(&self) -> PicoJoules {
        self.energy_at(self.max_mv)
    }

    /// Returns what it can still give at a voltage: C (V^2 - V_least^2) / 2, none below the least.
    #[must_use]
    pub const fn energy_at(&self, millivolts: u16) -> PicoJoules {
        // One uF times one mV^2 is one pJ.
        let squares = square_of(millivolts).saturating_sub(square_of(self.min_mv));
        PicoJoules(self.microfarads as u64 * squares / 2)
    }

    /// Returns the voltage at which it can still give `energy`, to the nearest millivolt that
    /// single precision tells.
    #[must_use]
    pub fn millivolts_at(&self, energy: PicoJoules) -> u16 {
        if self.microfarads == 0 {
            return self.min_mv;
        }
        let squares = (2.0 * energy.0 as f32) / self.microfarads as f32;
        let least = f32::from(self.min_mv);
        // micromath's root is within some percent; two steps of Newton's leave the rounding alone.
        let square = squares + least * least;
        let mut root = F32Ext::sqrt(square).max(f32::MIN_POSITIVE);
        for _ in 0..2 {
            root = 0.5 * (root + square / root);
        }
        // `as` saturates.
        (root + 0.5) as u16
    }
}

const fn square_of(millivolts: u16) -> u64 {
    millivolts as u64 * millivolts as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lossless_store_loses_nothing() {
        let store = EnergyStore::lossless(PicoJoules(10));
        assert_eq!(store.charging_loss(PicoJoules::MAX), PicoJoules::ZERO);
        assert_eq!(store.leak(Micros(u64::MAX)), PicoJoules::ZERO);
    }

    #[test]
    fn charging_loses_its_share_and_leaks_grow_with_time() {
        let store = EnergyStore {
            capacity: PicoJoules::MAX,
            charge_permille: 850,
            leakage: NanoWatts(3_000),
        };
        assert_eq!(store.charging_loss(PicoJoules(1_999)), PicoJoules(299));
        assert_eq!(
            store.charging_loss(PicoJoules::MAX).0,
            (u128::from(u64::MAX) * 150 / 1_000) as u64
        );
        assert_eq!(store.leak(Micros(1_000_000)), PicoJoules(3_000_000));
    }

    #[test]
    fn a_farad_between_two_voltages_gives_half_the_difference_of_squares() {
        let capacitor = Capacitor {
            microfarads: 1_000_000,
            min_mv: 1_800,
            max_mv: 3_300,
        };
        // (3.3^2 - 1.8^2) / 2 = 3.825 J.
        assert_eq!(capacitor.capacity(), PicoJoules(3_825_000_000_000));
        assert_eq!(capacitor.energy_at(1_700), PicoJoules::ZERO);
    }

    #[test]
    fn the_voltage_of_an_energy_is_that_voltage_again() {
        for microfarads in [1, 100, 47_000, 1_000_000, u32::MAX] {
            let capacitor = Capacitor {
                microfarads,
                min_mv: 1_800,
                max_mv: 5_500,
            };
            for mv in (1_800..=5_500).step_by(37) {
                let back = capacitor.millivolts_at(capacitor.energy_at(mv));
                assert!(back.abs_diff(mv) <= 1, "{microfarads} uF, {mv} mV: {back}");
            }
        }
        let none = Capacitor {
            microfarads: 0,
            min_mv: 7,
            max_mv: 8,
        };
        assert_eq!(none.millivolts_at(PicoJoules::MAX), 7);
    }
}
