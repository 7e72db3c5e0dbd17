//! Number of rounds per day that an energy store, an income and a profile sustain.
//!
//! Rounds are evenly spaced, day and night. A rate is sustained if the store, full at first, never
//! falls below the energy of a round over two passes of the income. The largest rate with a store of
//! any size follows from the means alone.

use crate::profile::{Costs, ProfileError};

/// Number of seconds per day.
pub const DAY_S: f64 = 86_400.0;

/// The activity of a device in one round. `cycles` counts all phases that compute.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Work {
    pub clock_hz: f64,
    pub cycles: f64,
    pub receive_s: f64,
    pub receive_bytes: f64,
    pub transmit_s: f64,
    pub transmit_bytes: f64,
    pub idle_s: f64,
}

/// Energy and awake time of a round, and the power between rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Load {
    pub round_j: f64,
    pub round_s: f64,
    pub sleep_w: f64,
}

impl Work {
    /// Returns the load of this work with the costs of a profile.
    ///
    /// # Errors
    /// Returns [`ProfileError::Unknown`] for a power that the work needs and the profile lacks.
    pub fn load(&self, costs: &Costs) -> Result<Load, ProfileError> {
        let power = |seconds: f64, power_w: Option<f64>, name| match power_w {
            Some(power_w) => Ok(seconds * power_w),
            None if seconds > 0.0 => Err(ProfileError::Unknown(name)),
            None => Ok(0.0),
        };
        Ok(Load {
            round_j: self.cycles * costs.cycle_j
                + power(self.receive_s, costs.receive_w, "receive")?
                + self.receive_bytes * costs.receive_byte_j
                + power(self.transmit_s, costs.transmit_w, "transmit")?
                + self.transmit_bytes * costs.transmit_byte_j
                + power(self.idle_s, costs.idle_w, "idle")?,
            round_s: self.cycles / self.clock_hz + self.receive_s + self.transmit_s + self.idle_s,
            sleep_w: costs.sleep_w.ok_or(ProfileError::Unknown("sleep"))?,
        })
    }
}

/// Dimensions of an energy store. `efficiency` is the share of the income that is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct StoreSize {
    pub capacity_j: f64,
    pub efficiency: f64,
    pub leakage_w: f64,
}

/// Periodic income in slots of one length.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Income {
    pub slot_s: f64,
    pub slots_j: Vec<f64>,
}

impl Income {
    /// Returns the mean power of the income.
    #[must_use]
    pub fn mean_w(&self) -> f64 {
        self.slots_j.iter().sum::<f64>() / (self.slots_j.len().max(1) as f64 * self.slot_s)
    }
}

/// Returns the largest sustained number of evenly spaced rounds per day; 0 if the store cannot even
/// sustain sleep.
///
/// ```
/// use gleaner_energy::predict::{Income, Load, StoreSize, rounds_a_day};
///
/// let load = Load { round_j: 0.1, round_s: 1.0, sleep_w: 10e-6 };
/// let store = StoreSize { capacity_j: 10.0, efficiency: 1.0, leakage_w: 0.0 };
/// // Twelve hours of 2 mW and twelve hours of darkness, in slots of one hour.
/// let slots_j = (0..24).map(|hour| if hour < 12 { 7.2 } else { 0.0 }).collect();
/// let income = Income { slot_s: 3_600.0, slots_j };
/// let rounds = rounds_a_day(&load, &store, &income);
/// assert!((150.0..200.0).contains(&rounds), "{rounds}");
/// ```
#[must_use]
pub fn rounds_a_day(load: &Load, store: &StoreSize, income: &Income) -> f64 {
    let sustained = |rounds: f64| sustains(load, store, income, rounds);
    if !sustained(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, most(load, store, income));
    if high <= 0.0 || sustained(high) {
        return high.max(0.0);
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if sustained(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the largest number of rounds per day that the mean income sustains with any store, up to
/// a device that is awake all day.
#[must_use]
pub fn most(load: &Load, store: &StoreSize, income: &Income) -> f64 {
    let left_w = store.efficiency * income.mean_w() - load.sleep_w - store.leakage_w;
    let extra_j = load.round_j - load.sleep_w * load.round_s;
    let by_energy = if extra_j > 0.0 {
        left_w * DAY_S / extra_j
    } else {
        f64::INFINITY
    };
    by_energy.min(DAY_S / load.round_s).max(0.0)
}

fn sustains(load: &Load, store: &StoreSize, income: &Income, rounds: f64) -> bool {
    let extra_j = load.round_j - load.sleep_w * load.round_s;
    let drawn_j = income.slot_s * (load.sleep_w + store.leakage_w + rounds / DAY_S * extra_j);
    let least_j = if rounds > 0.0 { load.round_j } else { 0.0 };
    let mut stored_j = store.capacity_j;
    if stored_j < least_j {
        return false;
    }
    for slot_j in income.slots_j.iter().chain(&income.slots_j) {
        stored_j = (stored_j + store.efficiency * slot_j - drawn_j).min(store.capacity_j);
        if stored_j < least_j {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: StoreSize = StoreSize {
        capacity_j: 10.0,
        efficiency: 1.0,
        leakage_w: 0.0,
    };

    const LOAD: Load = Load {
        round_j: 0.1,
        round_s: 1.0,
        sleep_w: 10e-6,
    };

    fn steady(power_w: f64) -> Income {
        Income {
            slot_s: 600.0,
            slots_j: vec![600.0 * power_w; 144],
        }
    }

    /// Twelve hours of light, twelve of none.
    fn days(power_w: f64) -> Income {
        let slots = |n: usize| if n < 72 { 1_200.0 * power_w } else { 0.0 };
        Income {
            slot_s: 600.0,
            slots_j: (0..144).map(slots).collect(),
        }
    }

    #[test]
    fn steady_income_sustains_the_rate_of_its_mean() {
        // (1 mW - 10 uW) a day over 0.1 J less a second of sleep.
        let expected = 0.99e-3 * DAY_S / (0.1 - 10e-6);
        let found = rounds_a_day(&LOAD, &STORE, &steady(1e-3));
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn a_smaller_store_sustains_less_through_the_night() {
        let found = |capacity_j| {
            let store = StoreSize {
                capacity_j,
                ..STORE
            };
            rounds_a_day(&LOAD, &store, &days(1e-3))
        };
        let most = most(&LOAD, &STORE, &days(1e-3));
        assert!((found(1_000.0) / most - 1.0).abs() < 1e-6);
        // From a full store through 12 hours, down to one round's energy.
        let night = (10.0 - 0.1 - 43_200.0 * 10e-6) / (0.1 - 10e-6) * 2.0;
        assert!(
            (found(10.0) / night - 1.0).abs() < 0.02,
            "{} {night}",
            found(10.0)
        );
        assert!(found(1.0) < found(5.0) && found(5.0) < found(10.0));
        assert!(found(0.05) == 0.0);
    }

    #[test]
    fn sleep_that_costs_more_than_the_income_sustains_no_round() {
        let hungry = Load {
            sleep_w: 2e-3,
            ..LOAD
        };
        assert!(rounds_a_day(&hungry, &STORE, &steady(1e-3)) == 0.0);
        let leaking = StoreSize {
            leakage_w: 1e-3,
            ..STORE
        };
        assert!(rounds_a_day(&LOAD, &leaking, &steady(1e-3)) == 0.0);
    }

    #[test]
    fn rounds_are_limited_by_the_length_of_the_day() {
        assert!((rounds_a_day(&LOAD, &STORE, &steady(10.0)) - DAY_S).abs() < 1.0);
    }

    #[test]
    fn work_is_rejected_if_the_profile_lacks_a_power() {
        let costs = Costs {
            cycle_j: 1e-9,
            sleep_w: Some(1e-5),
            idle_w: None,
            receive_w: Some(0.03),
            receive_byte_j: 1e-6,
            transmit_w: Some(0.04),
            transmit_byte_j: 2e-6,
        };
        let work = Work {
            clock_hz: 1e8,
            cycles: 1e8,
            receive_s: 1.0,
            receive_bytes: 1e3,
            transmit_s: 0.5,
            transmit_bytes: 1e3,
            idle_s: 0.0,
        };
        let load = work.load(&costs).unwrap();
        assert!((load.round_j - (0.1 + 0.03 + 1e-3 + 0.02 + 2e-3)).abs() < 1e-12);
        assert!((load.round_s - 2.5).abs() < 1e-12);
        let waits = Work {
            idle_s: 1.0,
            ..work
        };
        assert_eq!(waits.load(&costs), Err(ProfileError::Unknown("idle")));
    }
}
