//! The energy account of one device: every picojoule is booked.

use serde::{Deserialize, Serialize};

use super::{EnergyStore, Phase, Spent};
use crate::units::{Micros, PicoJoules};

/// All counters of a ledger at one moment, as they travel on the wire.
///
/// The identity `stored = initial + harvested - conversion - overflow - leaked - spent` holds
/// exactly in every snapshot a [`Ledger`] returns; see [`Snapshot::is_consistent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Snapshot {
    /// Energy stored when the ledger was opened.
    pub initial: PicoJoules,
    /// Energy stored now.
    pub stored: PicoJoules,
    /// Energy harvested since, including what was lost.
    pub harvested: PicoJoules,
    /// Energy lost in charging.
    pub conversion: PicoJoules,
    /// Energy harvested while the store was full.
    pub overflow: PicoJoules,
    /// Energy lost by leakage.
    pub leaked: PicoJoules,
    /// Energy spent, by phase.
    pub spent: Spent,
    /// Rounds whose income was booked.
    pub rounds: u32,
}

impl Snapshot {
    /// Returns whether the identity of the ledger holds.
    pub const fn is_consistent(&self) -> bool {
        let Some(income) = self.initial.checked_add(self.harvested) else {
            return false;
        };
        let Some(mut total) = self.spent.checked_total() else {
            return false;
        };
        let parts = [self.stored, self.conversion, self.overflow, self.leaked];
        let mut at = 0;
        while at < parts.len() {
            total = match total.checked_add(parts[at]) {
                Some(total) => total,
                None => return false,
            };
            at += 1;
        }
        total.0 == income.0
    }

    /// Returns a key that orders snapshots of one ledger in time: rounds, then all energy moved.
    pub fn age(&self) -> (u32, u128) {
        let moved = self.spent.0.iter().chain([&self.harvested, &self.leaked]);
        (self.rounds, moved.map(|amount| u128::from(amount.0)).sum())
    }

    /// Returns the changes between `earlier` and this snapshot; an `earlier` that is later gives
    /// zeros.
    pub const fn since(&self, earlier: &Self) -> RoundRecord {
        RoundRecord {
            harvested: self.harvested.saturating_sub(earlier.harvested),
            conversion: self.conversion.saturating_sub(earlier.conversion),
            overflow: self.overflow.saturating_sub(earlier.overflow),
            leaked: self.leaked.saturating_sub(earlier.leaked),
            spent: self.spent.saturating_sub(&earlier.spent),
        }
    }
}

/// The changes of the store in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(missing_docs)]
pub struct RoundRecord {
    /// Income, including what was lost.
    pub harvested: PicoJoules,
    pub conversion: PicoJoules,
    pub overflow: PicoJoules,
    pub leaked: PicoJoules,
    pub spent: Spent,
}

/// An order that the store cannot pay.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    thiserror::Error
)]
#[error("order needs {needed}, {available} available: {} missing", self.missing())]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Shortfall {
    /// Cost of the order.
    pub needed: PicoJoules,
    /// Energy stored and not reserved.
    pub available: PicoJoules,
}

impl Shortfall {
    /// Returns the missing energy.
    pub const fn missing(&self) -> PicoJoules {
        self.needed.saturating_sub(self.available)
    }
}

/// The outcome of a spending: a store cannot give more than it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "an unpaid rest means that the device would have browned out"]
#[allow(missing_docs)]
pub struct Payment {
    pub paid: PicoJoules,
    pub unpaid: PicoJoules,
}

/// The ledger of one device.
///
/// An order is [reserved](Self::reserve) before any work and [settled](Self::settle) after it, so
/// that no device starts an order that it cannot finish.
///
/// # Examples
/// ```
/// use gleaner_shared::energy::{Ledger, Phase, EnergyStore};
/// use gleaner_shared::units::{Micros, PicoJoules};
///
/// let mut ledger = Ledger::new(PicoJoules(100), EnergyStore::lossless(PicoJoules(1_000)));
/// ledger.begin_round(PicoJoules(400), Micros::ZERO);
/// assert_eq!(ledger.reserve(PicoJoules(600)).unwrap_err().missing(), PicoJoules(100));
///
/// ledger.reserve(PicoJoules(450)).unwrap();
/// assert_eq!(ledger.spend(Phase::Train, PicoJoules(300)).unpaid, PicoJoules::ZERO);
/// assert_eq!(ledger.spend(Phase::Transmit, PicoJoules(100)).unpaid, PicoJoules::ZERO);
/// ledger.settle();
/// assert_eq!(ledger.snapshot().stored, PicoJoules(100));
/// assert!(ledger.snapshot().is_consistent());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    counters: Snapshot,
    store: EnergyStore,
    reserved: PicoJoules,
}

impl Ledger {
    /// Opens a ledger with `initial` in a store; energy above the capacity is ignored.
    pub const fn new(initial: PicoJoules, store: EnergyStore) -> Self {
        let initial = PicoJoules(smaller(initial.0, store.capacity.0));
        Self {
            counters: Snapshot {
                initial,
                stored: initial,
                harvested: PicoJoules::ZERO,
                conversion: PicoJoules::ZERO,
                overflow: PicoJoules::ZERO,
                leaked: PicoJoules::ZERO,
                spent: Spent::ZERO,
                rounds: 0,
            },
            store,
            reserved: PicoJoules::ZERO,
        }
    }

    /// Continues from `snapshot`; returns `None` if it breaks the identity or exceeds the capacity.
    #[must_use]
    pub const fn restore(snapshot: Snapshot, store: EnergyStore) -> Option<Self> {
        if !snapshot.is_consistent() || snapshot.stored.0 > store.capacity.0 {
            return None;
        }
        Some(Self {
            counters: snapshot,
            store,
            reserved: PicoJoules::ZERO,
        })
    }

    /// Returns all counters.
    pub const fn snapshot(&self) -> Snapshot {
        self.counters
    }

    /// Returns the properties of the store.
    pub const fn store(&self) -> EnergyStore {
        self.store
    }

    /// Returns the energy reserved for the current order.
    pub const fn reserved(&self) -> PicoJoules {
        self.reserved
    }

    /// Returns the energy stored and not reserved.
    pub const fn available(&self) -> PicoJoules {
        self.counters.stored.saturating_sub(self.reserved)
    }

    /// Books the income of one round, then the leakage until the next round, which begins after
    /// `period`.
    pub const fn begin_round(&mut self, income: PicoJoules, period: Micros) {
        self.counters.rounds = self.counters.rounds.saturating_add(1);
        self.harvest(income);
        self.leak(self.store.leak(period));
    }

    /// Books an income: charging loses a share, and energy above the capacity is overflow.
    pub const fn harvest(&mut self, income: PicoJoules) {
        let counters = &mut self.counters;
        // All counters stay below initial + harvested, so bounding this sum keeps every one of them
        // from overflowing: after 18 MJ a ledger accepts no more income.
        let headroom = PicoJoules::MAX
            .saturating_sub(counters.initial)
            .saturating_sub(counters.harvested);
        let income = smaller(income.0, headroom.0);
        let lost = self.store.charging_loss(PicoJoules(income)).0;
        let arrived = income - lost;
        let room = self.store.capacity.saturating_sub(counters.stored);
        let kept = smaller(arrived, room.0);
        counters.harvested.0 += income;
        counters.conversion.0 += lost;
        counters.stored.0 += kept;
        counters.overflow.0 += arrived - kept;
    }

    /// Books leakage, at most the energy stored.
    pub const fn leak(&mut self, amount: PicoJoules) {
        let leaked = smaller(amount.0, self.counters.stored.0);
        self.counters.stored.0 -= leaked;
        self.counters.leaked.0 += leaked;
        self.reserved.0 = smaller(self.reserved.0, self.counters.stored.0);
    }

    /// Reserves `cost` for an order before its work.
    ///
    /// # Errors
    /// The shortfall, with nothing changed, if less than `cost` is available.
    pub const fn reserve(&mut self, cost: PicoJoules) -> Result<(), Shortfall> {
        let available = self.available();
        if cost.0 > available.0 {
            return Err(Shortfall {
                needed: cost,
                available,
            });
        }
        self.reserved.0 += cost.0;
        Ok(())
    }

    /// Spends `amount`, first from the reservation of the current order.
    pub const fn spend(&mut self, on: Phase, amount: PicoJoules) -> Payment {
        let counters = &mut self.counters;
        let paid = smaller(amount.0, counters.stored.0);
        counters.stored.0 -= paid;
        counters.spent.0[on as usize].0 += paid;
        self.reserved = self.reserved.saturating_sub(PicoJoules(paid));
        self.reserved.0 = smaller(self.reserved.0, self.counters.stored.0);
        Payment {
            paid: PicoJoules(paid),
            unpaid: PicoJoules(amount.0 - paid),
        }
    }

    /// Pays for each phase in the order of a round: in an empty store, waiting is unpaid first.
    pub const fn pay(&mut self, due: &Spent) -> Payment {
        let mut total = Payment {
            paid: PicoJoules::ZERO,
            unpaid: PicoJoules::ZERO,
        };
        let mut at = 0;
        while at < Phase::COUNT {
            let phase = Phase::IN_TIME[at];
            let payment = self.spend(phase, due.of(phase));
            total.paid = total.paid.saturating_add(payment.paid);
            total.unpaid = total.unpaid.saturating_add(payment.unpaid);
            at += 1;
        }
        total
    }

    /// Ends the current order: the unused part of its reservation is available again.
    pub const fn settle(&mut self) {
        self.reserved = PicoJoules::ZERO;
    }
}

const fn smaller(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::NanoWatts;

    fn store(capacity: u64) -> EnergyStore {
        EnergyStore::lossless(PicoJoules(capacity))
    }

    #[test]
    fn declines_before_spending_anything() {
        let mut ledger = Ledger::new(PicoJoules(50), store(100));
        let before = ledger;
        let shortfall = ledger.reserve(PicoJoules(80)).unwrap_err();
        assert_eq!(shortfall.missing(), PicoJoules(30));
        assert_eq!(ledger, before);
        assert_eq!(
            shortfall.to_string(),
            "order needs 80 pJ, 50 pJ available: 30 pJ missing"
        );
    }

    #[test]
    fn a_reservation_is_not_promised_twice() {
        let mut ledger = Ledger::new(PicoJoules(100), store(100));
        ledger.reserve(PicoJoules(70)).unwrap();
        assert_eq!(
            ledger.reserve(PicoJoules(40)).unwrap_err().available,
            PicoJoules(30)
        );
        ledger.settle();
        ledger.reserve(PicoJoules(100)).unwrap();
    }

    #[test]
    fn income_beyond_the_store_is_overflow() {
        let mut ledger = Ledger::new(PicoJoules(500), store(300));
        assert_eq!(ledger.snapshot().initial, PicoJoules(300));
        let _ = ledger.spend(Phase::Idle, PicoJoules(100));
        let before = ledger.snapshot();
        ledger.begin_round(PicoJoules(250), Micros::ZERO);
        let record = ledger.snapshot().since(&before);
        assert_eq!(record.harvested, PicoJoules(250));
        assert_eq!(record.overflow, PicoJoules(150));
        assert_eq!(ledger.snapshot().stored, PicoJoules(300));
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn an_empty_store_leaves_waiting_unpaid_first() {
        let mut ledger = Ledger::new(PicoJoules(25), store(100));
        let mut due = Spent::ZERO;
        (due[Phase::Train], due[Phase::Idle]) = (PicoJoules(20), PicoJoules(7));
        due[Phase::Sleep] = PicoJoules(3);
        let payment = ledger.pay(&due);
        assert_eq!(payment.paid, PicoJoules(25));
        assert_eq!(payment.unpaid, PicoJoules(5));
        let spent = ledger.snapshot().spent;
        assert_eq!(spent.of(Phase::Train), PicoJoules(20));
        assert_eq!(spent.of(Phase::Idle), PicoJoules(5));
        assert_eq!(spent.of(Phase::Sleep), PicoJoules::ZERO);
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn charging_and_leaking_are_booked_apart() {
        let lossy = EnergyStore {
            capacity: PicoJoules(1_000),
            charge_permille: 800,
            leakage: NanoWatts(2_000),
        };
        let mut ledger = Ledger::new(PicoJoules(100), lossy);
        ledger.reserve(PicoJoules(90)).unwrap();
        ledger.begin_round(PicoJoules(1_500), Micros(30));
        let snapshot = ledger.snapshot();
        // 300 of 1,500 are lost, 900 of the rest fit, 60 leak.
        assert_eq!(snapshot.conversion, PicoJoules(300));
        assert_eq!(snapshot.overflow, PicoJoules(300));
        assert_eq!(snapshot.leaked, PicoJoules(60));
        assert_eq!(snapshot.stored, PicoJoules(940));
        ledger.leak(PicoJoules::MAX);
        assert_eq!(ledger.snapshot().stored, PicoJoules::ZERO);
        assert_eq!(ledger.reserved(), PicoJoules::ZERO);
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn an_overrun_is_paid_as_far_as_the_store_goes() {
        let mut ledger = Ledger::new(PicoJoules(100), store(100));
        ledger.reserve(PicoJoules(60)).unwrap();
        let payment = ledger.spend(Phase::Train, PicoJoules(130));
        assert_eq!(
            payment,
            Payment {
                paid: PicoJoules(100),
                unpaid: PicoJoules(30)
            }
        );
        assert_eq!(ledger.reserved(), PicoJoules::ZERO);
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn counters_stop_before_they_overflow() {
        let mut ledger = Ledger::new(PicoJoules(7), store(u64::MAX));
        ledger.harvest(PicoJoules::MAX);
        ledger.harvest(PicoJoules::MAX);
        assert_eq!(ledger.snapshot().stored, PicoJoules::MAX);
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn restores_only_what_adds_up() {
        let mut ledger = Ledger::new(PicoJoules(10), store(100));
        ledger.begin_round(PicoJoules(50), Micros::ZERO);
        let snapshot = ledger.snapshot();
        assert_eq!(Ledger::restore(snapshot, store(100)), Some(ledger));
        assert_eq!(Ledger::restore(snapshot, store(59)), None);
        let forged = Snapshot {
            stored: PicoJoules(61),
            ..snapshot
        };
        assert_eq!(Ledger::restore(forged, store(100)), None);
        let wrapped = Snapshot {
            harvested: PicoJoules::MAX,
            ..snapshot
        };
        assert_eq!(Ledger::restore(wrapped, store(100)), None);
    }
}
