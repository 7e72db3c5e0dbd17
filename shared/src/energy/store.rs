//! The energy store of a device: capacity, charging loss and leakage.

use micromath::F32Ext;
use serde::{Deserialize, Serialize};

use super::model::power_times_time;
use crate::units::{Micros, NanoWatts, PicoJoules};

const PERMILLE: u16 = 1_000;

/// A store of finite capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct EnergyStore {
    /// The largest amount it holds.
    pub capacity: PicoJoules,
    /// Share of the income that reaches the store, in thousandths.
    pub charge_permille: u16,
    /// Power lost by leakage.
    pub leakage: NanoWatts,
    /// Energy at which a device that browned out switches on again.
    pub restart: PicoJoules,
}

impl EnergyStore {
    /// Returns a store without losses.
    #[must_use]
    pub const fn lossless(capacity: PicoJoules) -> Self {
        Self {
            capacity,
            charge_permille: PERMILLE,
            leakage: NanoWatts::ZERO,
            restart: PicoJoules::ZERO,
        }
    }

    /// Returns the charging loss of an income, rounded down; a share above 1000 counts as 1000.
    pub const fn charging_loss(&self, income: PicoJoules) -> PicoJoules {
        let lost = PERMILLE.saturating_sub(self.charge_permille) as u64;
        // Exact without a wider type: thousands and remainder separately, the latter below 10^6.
        let (thousands, rest) = (income.0 / PERMILLE as u64, income.0 % PERMILLE as u64);
        PicoJoules(thousands * lost + rest * lost / PERMILLE as u64)
    }

    /// Returns the leakage in `time`, as if the store never ran empty.
    pub const fn leak(&self, time: Micros) -> PicoJoules {
        power_times_time(self.leakage, time)
    }
}

/// A capacitor between two voltages, as an [`EnergyStore`] and as the reading of a board's
/// voltmeter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Capacitor {
    /// Capacitance in microfarads.
    pub microfarads: u32,
    /// The lowest voltage at which the board runs.
    pub min_mv: u16,
    /// The highest voltage to which it is charged.
    pub max_mv: u16,
}

impl Capacitor {
    /// Returns the usable energy when full: C (V_max^2 - V_min^2) / 2.
    pub const fn capacity(&self) -> PicoJoules {
        self.energy_at(self.max_mv)
    }

    /// Returns the usable energy at a voltage: C (V^2 - V_min^2) / 2, zero below the minimum.
    pub const fn energy_at(&self, millivolts: u16) -> PicoJoules {
        // One uF times one mV^2 is one pJ.
        let squares = square_of(millivolts).saturating_sub(square_of(self.min_mv));
        PicoJoules(self.microfarads as u64 * squares / 2)
    }

    /// Returns the voltage at which the usable energy is `energy`, to the nearest millivolt within
    /// single precision.
    pub fn millivolts_at(&self, energy: PicoJoules) -> u16 {
        if self.microfarads == 0 {
            return self.min_mv;
        }
        let squares = (2.0 * energy.0 as f32) / self.microfarads as f32;
        let least = f32::from(self.min_mv);
        // micromath's root is accurate to a few percent; two Newton steps leave only rounding.
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
            restart: PicoJoules::ZERO,
        };
        assert_eq!(store.charging_loss(PicoJoules(1_999)), PicoJoules(299));
        assert_eq!(
            store.charging_loss(PicoJoules::MAX).0,
            (u128::from(u64::MAX) * 150 / 1_000) as u64
        );
        assert_eq!(store.leak(Micros(1_000_000)), PicoJoules(3_000_000));
    }

    #[test]
    fn a_farad_between_two_voltages_holds_half_the_difference_of_squares() {
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
    fn energy_at_and_millivolts_at_are_inverse() {
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
