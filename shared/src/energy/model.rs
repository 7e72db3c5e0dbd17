//! The cost of work: the paper's equations and measured profiles as one set of integers.
//!
//! Amounts that do not fit become [`PicoJoules::MAX`], which no store can pay, so an excessive
//! order is declined instead of wrapping around.

use serde::{Deserialize, Serialize};

use super::{Activity, Phase, Spent};
use crate::units::{Cycles, HertzInt, Micros, NanoWatts, PicoJoules};

const FEMTO_PER_PICO: u64 = 1_000;
const PERMILLE: u64 = 1_000;

/// The energy of computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ComputeModel {
    /// Energy of one processor cycle, in femtojoules.
    pub femtojoules_per_cycle: u64,
    /// Energy of starting one epoch, whatever its length; zero in the paper's model.
    pub per_epoch: PicoJoules,
}

impl ComputeModel {
    /// The paper's model, E_i = alpha f^2 b D_i: every cycle costs alpha f^2 joules.
    ///
    /// Rounded to the nearest femtojoule per cycle.
    #[must_use]
    pub const fn paper(alpha: f64, clock_hz: f64) -> Self {
        Self {
            femtojoules_per_cycle: (alpha * clock_hz * clock_hz * 1e15 + 0.5) as u64,
            per_epoch: PicoJoules::ZERO,
        }
    }

    /// A measured profile: `active` power while computing at `clock`.
    ///
    /// Rounded to the nearest femtojoule per cycle; a clock of zero costs more than any store.
    #[must_use]
    pub const fn profile(active: NanoWatts, clock: HertzInt) -> Self {
        // One nW is 10^6 fJ per second.
        let femtojoules_per_cycle = match active.0.checked_mul(1_000_000) {
            Some(femtojoules_per_second) if clock.0 > 0 => {
                rounded_div(femtojoules_per_second, clock.0)
            }
            _ => u64::MAX,
        };
        Self {
            femtojoules_per_cycle,
            per_epoch: PicoJoules::ZERO,
        }
    }

    /// Returns the energy of `cycles` spread over `epochs`, rounded to the nearest picojoule.
    pub const fn energy(&self, cycles: Cycles, epochs: u32) -> PicoJoules {
        let running = match cycles.0.checked_mul(self.femtojoules_per_cycle) {
            Some(femtojoules) => PicoJoules(rounded_div(femtojoules, FEMTO_PER_PICO)),
            None => return PicoJoules::MAX,
        };
        match self.per_epoch.0.checked_mul(epochs as u64) {
            Some(starting) => running.saturating_add(PicoJoules(starting)),
            None => PicoJoules::MAX,
        }
    }
}

/// The energy of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RadioModel {
    /// Radiated power over drawn power, in thousandths; 1000 in the paper's model.
    pub efficiency_permille: u16,
    /// Power the transmitter draws beside what it radiates; zero in the paper's model.
    pub circuit: NanoWatts,
    /// Energy of one upload whatever its length; zero in the paper's model.
    pub per_upload: PicoJoules,
}

impl RadioModel {
    /// The paper's model, e_up = p t_up: all that is drawn is radiated.
    pub const PAPER: Self = Self {
        efficiency_permille: 1_000,
        circuit: NanoWatts::ZERO,
        per_upload: PicoJoules::ZERO,
    };

    /// Returns the power drawn while `radiated` power is sent, p / zeta + P_c, rounded to the nearest
    /// nanowatt; an efficiency of zero draws more than any store can pay.
    pub const fn drawn(&self, radiated: NanoWatts) -> NanoWatts {
        match radiated.0.checked_mul(PERMILLE) {
            Some(scaled) if self.efficiency_permille > 0 => {
                NanoWatts(rounded_div(scaled, self.efficiency_permille as u64))
                    .saturating_add(self.circuit)
            }
            _ => NanoWatts(u64::MAX),
        }
    }

    /// Returns the energy of sending for `airtime` while `drawn` power is drawn, rounded to the
    /// nearest picojoule.
    pub const fn energy(&self, drawn: NanoWatts, airtime: Micros) -> PicoJoules {
        power_times_time(drawn, airtime).saturating_add(self.per_upload)
    }
}

impl Default for RadioModel {
    fn default() -> Self {
        Self::PAPER
    }
}

/// The cost of all work of a client.
///
/// # Examples
/// A device pays an order from its store, or returns what is missing:
/// ```
/// use gleaner_shared::energy::{CostModel, EnergyStore, Flows, Ledger, Phase};
/// use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
///
/// let costs = CostModel::paper(1e-26, 5e8);
/// let compute = costs.compute.energy(Cycles(300_000), 3);
/// let drawn = costs.radio.drawn(NanoWatts(200_000_000));
/// let radio = costs.radio.energy(drawn, Micros(8_000));
///
/// let store = EnergyStore::lossless(PicoJoules::from_joules(0.1));
/// let mut ledger = Ledger::new(PicoJoules::from_joules(3e-3), store);
/// ledger.reserve(compute.saturating_add(radio)).expect("2.35 mJ of 3 mJ");
/// assert_eq!(ledger.spend(Phase::Train, compute).unpaid, PicoJoules::ZERO);
/// assert_eq!(ledger.spend(Phase::Transmit, radio).unpaid, PicoJoules::ZERO);
/// let flows = Flows { income: PicoJoules::from_joules(4e-4), ..Flows::default() };
/// let _ = ledger.end_round(&flows);
/// assert_eq!(ledger.available(), PicoJoules::from_joules(1.05e-3));
/// let missing = ledger.reserve(radio).expect_err("1.6 mJ of 1.05 mJ").missing();
/// assert_eq!(missing, PicoJoules::from_joules(0.55e-3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub struct CostModel {
    pub compute: ComputeModel,
    pub radio: RadioModel,
    /// Power drawn while receiving the broadcast; zero in the paper's model.
    pub receive: NanoWatts,
    /// Power drawn while waiting awake; zero in the paper's model.
    pub idle: NanoWatts,
    /// Power drawn while asleep; zero in the paper's model.
    pub sleep: NanoWatts,
    /// Energy of writing a model to flash; zero in the paper's model.
    pub save: PicoJoules,
    /// Energy of starting after a brown-out; zero in the paper's model.
    pub boot: PicoJoules,
    /// The processor's clock, which gives the time of cycles; with zero they take none.
    pub clock: HertzInt,
}

impl CostModel {
    /// The paper's model with coefficient `alpha` and clock `clock_hz`.
    #[must_use]
    pub const fn paper(alpha: f64, clock_hz: f64) -> Self {
        Self {
            compute: ComputeModel::paper(alpha, clock_hz),
            radio: RadioModel::PAPER,
            receive: NanoWatts::ZERO,
            idle: NanoWatts::ZERO,
            sleep: NanoWatts::ZERO,
            save: PicoJoules::ZERO,
            boot: PicoJoules::ZERO,
            clock: HertzInt((clock_hz + 0.5) as u64),
        }
    }

    /// Returns the cost of a round by phase, each amount rounded to the nearest picojoule.
    ///
    /// A client receives, computes, transmits, writes the model to flash, and sleeps until the next
    /// round begins.
    pub const fn round(&self, activity: &Activity) -> Spent {
        let mut spent = Spent::ZERO;
        spent.0[Phase::Receive as usize] = power_times_time(self.receive, activity.listening);
        spent.0[Phase::Apply as usize] = self.compute.energy(activity.apply, 0);
        spent.0[Phase::Train as usize] = self.compute.energy(activity.train, activity.epochs);
        spent.0[Phase::Evaluate as usize] = self.compute.energy(activity.evaluate, 0);
        spent.0[Phase::Encode as usize] = self.compute.energy(activity.encode, 0);
        if activity.airtime.0 > 0 {
            let upload = self.radio.energy(activity.drawn, activity.airtime);
            spent.0[Phase::Transmit as usize] = upload;
        }
        if activity.saves {
            spent.0[Phase::Idle as usize] = self.save;
        }
        spent.0[Phase::Sleep as usize] = power_times_time(self.sleep, self.sleeping(activity));
        spent
    }

    /// Returns the time asleep in a round: all that is left after listening, computing and sending.
    pub const fn sleeping(&self, activity: &Activity) -> Micros {
        let busy = activity
            .listening
            .saturating_add(self.time_of(activity.cycles()))
            .saturating_add(activity.airtime);
        activity.period.saturating_sub(busy)
    }

    /// Returns the time of `cycles` by the clock, rounded to the nearest microsecond.
    pub const fn time_of(&self, cycles: Cycles) -> Micros {
        if self.clock.0 == 0 {
            return Micros::ZERO;
        }
        match cycles.0.checked_mul(1_000_000) {
            Some(scaled) => Micros(rounded_div(scaled, self.clock.0)),
            None => Micros::MAX,
        }
    }
}

/// One nW for one us is one fJ.
pub(super) const fn power_times_time(power: NanoWatts, time: Micros) -> PicoJoules {
    match power.0.checked_mul(time.0) {
        Some(femtojoules) => PicoJoules(rounded_div(femtojoules, FEMTO_PER_PICO)),
        None => PicoJoules::MAX,
    }
}

/// Divides, rounding to the nearest integer and halves upward.
const fn rounded_div(numerator: u64, denominator: u64) -> u64 {
    let quotient = numerator / denominator;
    let remainder = numerator % denominator;
    if remainder >= denominator - remainder {
        quotient + 1
    } else {
        quotient
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_epoch_costs_a_quarter_millijoule() {
        // alpha f^2 b D = 1e-26 * (5e8)^2 * 100 * 1000 = 0.25 mJ.
        let model = ComputeModel::paper(1e-26, 5e8);
        assert_eq!(model.femtojoules_per_cycle, 2_500_000);
        assert_eq!(model.energy(Cycles(100_000), 1), PicoJoules(250_000_000));
    }

    #[test]
    fn papers_upload_costs_power_times_airtime() {
        // 199.526 mW for 8 ms.
        let drawn = RadioModel::PAPER.drawn(NanoWatts(199_526_231));
        let energy = RadioModel::PAPER.energy(drawn, Micros(8_000));
        assert_eq!(energy, PicoJoules(1_596_209_848));
    }

    #[test]
    fn profile_matches_the_same_power_over_the_same_time() {
        // 82.5 mW at 125 MHz for one second.
        let model = ComputeModel::profile(NanoWatts(82_500_000), HertzInt(125_000_000));
        assert_eq!(model.femtojoules_per_cycle, 660_000);
        assert_eq!(
            model.energy(Cycles(125_000_000), 1),
            PicoJoules::from_joules(0.0825)
        );
    }

    #[test]
    fn inefficiency_circuit_and_start_add_up() {
        let radio = RadioModel {
            efficiency_permille: 250,
            circuit: NanoWatts(10_000_000),
            per_upload: PicoJoules(7),
        };
        // (1 mW / 0.25 + 10 mW) * 1 ms = 14 uJ, and 7 pJ.
        let drawn = radio.drawn(NanoWatts(1_000_000));
        assert_eq!(radio.energy(drawn, Micros(1_000)), PicoJoules(14_000_007));
    }

    #[test]
    fn a_round_costs_what_its_phases_do() {
        let model = CostModel {
            compute: ComputeModel {
                femtojoules_per_cycle: 1_500,
                per_epoch: PicoJoules(10),
            },
            receive: NanoWatts(4_000),
            idle: NanoWatts(3_000),
            sleep: NanoWatts(1_000),
            save: PicoJoules(70),
            clock: HertzInt(1_000_000),
            ..CostModel::default()
        };
        let activity = Activity {
            listening: Micros(7),
            apply: Cycles(2),
            train: Cycles(12),
            epochs: 3,
            evaluate: Cycles(6),
            encode: Cycles(4),
            drawn: NanoWatts(2_000),
            airtime: Micros(5),
            saves: true,
            period: Micros(100),
        };
        let spent = model.round(&activity);
        let of = |phase| spent.of(phase).0;
        assert_eq!(of(Phase::Receive), 28);
        assert_eq!(of(Phase::Apply), 3);
        assert_eq!(of(Phase::Train), 18 + 30);
        assert_eq!((of(Phase::Evaluate), of(Phase::Encode)), (9, 6));
        assert_eq!(of(Phase::Transmit), 10);
        // Busy for 7 + 24 + 5 us of 100, asleep as soon as the upload is over.
        assert_eq!((of(Phase::Idle), of(Phase::Sleep)), (70, 64));

        let late = Activity {
            train: Cycles(162),
            ..activity
        };
        assert_eq!(model.sleeping(&late), Micros::ZERO);
        let resting = model.round(&Activity::resting(Micros(7), Micros(100)));
        assert_eq!(resting.total(), PicoJoules(28 + 93));
    }

    #[test]
    fn the_papers_client_waits_and_listens_for_nothing() {
        let activity = Activity::resting(Micros(500), Micros(u64::MAX));
        let spent = CostModel::paper(1e-26, 5e8).round(&activity);
        assert_eq!(spent, Spent::ZERO);
    }

    #[test]
    fn halves_round_upward() {
        assert_eq!(rounded_div(1_499, 1_000), 1);
        assert_eq!(rounded_div(1_500, 1_000), 2);
        assert_eq!(rounded_div(5, 3), 2);
        assert_eq!(rounded_div(4, 3), 1);
        assert_eq!(rounded_div(u64::MAX, u64::MAX), 1);
    }

    #[test]
    fn excessive_amounts_cost_more_than_any_store() {
        let model = CostModel::paper(1e-26, 5e8);
        let huge = PicoJoules::MAX;
        assert_eq!(model.compute.energy(Cycles(u64::MAX), 1), huge);
        assert_eq!(model.radio.drawn(NanoWatts(u64::MAX)), NanoWatts(u64::MAX));
        assert_eq!(model.radio.energy(NanoWatts(u64::MAX), Micros(2)), huge);
        let absurd = Activity {
            train: Cycles::MAX,
            epochs: u32::MAX,
            period: Micros::MAX,
            ..Activity::default()
        };
        assert_eq!(model.round(&absurd).total(), huge);
        assert_eq!(
            ComputeModel::profile(NanoWatts(1), HertzInt(0)).femtojoules_per_cycle,
            u64::MAX
        );
        let broken = RadioModel {
            efficiency_permille: 0,
            ..RadioModel::PAPER
        };
        assert_eq!(broken.drawn(NanoWatts(1)), NanoWatts(u64::MAX));
    }
}
