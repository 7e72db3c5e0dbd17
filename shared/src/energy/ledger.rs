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
    /// Rounds that were ended.
    pub rounds: u32,
    /// Whether the device is off: it browned out and its store is below the restart level.
    #[serde(default)]
    pub off: bool,
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

/// The flows of a whole round beside its order, from its start to the start of the next.
///
/// They happen at the same time, so they are netted: income pays standing costs and leakage before
/// any of it overflows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Energy harvested, including the charging loss.
    pub income: PicoJoules,
    /// Costs that no order reserved: listening and sleeping. A device that is off has none.
    pub standing: Spent,
    /// Length of the round, in which the store leaks.
    pub period: Micros,
    /// Energy of starting after a brown-out.
    pub boot: PicoJoules,
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
/// An order is [reserved](Self::reserve) from what is stored before any of its work, so that no
/// device starts an order that it cannot finish. The income of a round arrives while it lasts and is
/// booked when it [ends](Self::end_round): no order is paid from it.
///
/// # Examples
/// ```
/// use gleaner_shared::energy::{EnergyStore, Flows, Ledger, Phase};
/// use gleaner_shared::units::PicoJoules;
///
/// let mut ledger = Ledger::new(PicoJoules(500), EnergyStore::lossless(PicoJoules(1_000)));
/// assert_eq!(ledger.reserve(PicoJoules(600)).unwrap_err().missing(), PicoJoules(100));
///
/// ledger.reserve(PicoJoules(450)).unwrap();
/// assert_eq!(ledger.spend(Phase::Train, PicoJoules(300)).unpaid, PicoJoules::ZERO);
/// assert_eq!(ledger.spend(Phase::Transmit, PicoJoules(100)).unpaid, PicoJoules::ZERO);
/// let flows = Flows { income: PicoJoules(400), ..Flows::default() };
/// assert_eq!(ledger.end_round(&flows).unpaid, PicoJoules::ZERO);
/// assert_eq!(ledger.snapshot().stored, PicoJoules(500));
/// assert!(ledger.snapshot().is_consistent());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    counters: Snapshot,
    store: EnergyStore,
    reserved: PicoJoules,
    /// Costs of the round that the store could not pay when they fell due.
    owed: Spent,
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
                off: false,
            },
            store,
            reserved: PicoJoules::ZERO,
            owed: Spent::ZERO,
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
            owed: Spent::ZERO,
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

    /// Returns the energy stored and not reserved; none in a device that is off.
    pub const fn available(&self) -> PicoJoules {
        if self.counters.off {
            return PicoJoules::ZERO;
        }
        self.counters.stored.saturating_sub(self.reserved)
    }

    /// Ends a round: books its flows, netted, and returns the payment of all that was still due.
    ///
    /// Charging loses a share of the income. What is left of income and store pays what the round
    /// still owes, the standing costs and the leakage, in this order; only then energy above the
    /// capacity is overflow. So a round never has both overflow and an unpaid rest. A device with an
    /// unpaid rest is off until its store has reached the restart level; then it pays for the start.
    pub const fn end_round(&mut self, flows: &Flows) -> Payment {
        self.counters.rounds = self.counters.rounds.saturating_add(1);
        self.settle();
        self.take_in(flows.income);
        let mut due = self.owed;
        if !self.counters.off {
            due = due.saturating_add(&flows.standing);
        }
        self.owed = Spent::ZERO;
        let payment = self.pay(&due);
        self.owed = Spent::ZERO;
        let counters = &mut self.counters;
        let leaked = smaller(self.store.leak(flows.period).0, counters.stored.0);
        counters.stored.0 -= leaked;
        counters.leaked.0 += leaked;
        let above = counters.stored.saturating_sub(self.store.capacity);
        counters.stored.0 -= above.0;
        counters.overflow.0 += above.0;
        counters.off |= payment.unpaid.0 > 0;
        let restart = self.store.restart.saturating_add(flows.boot);
        if counters.off && counters.stored.0 >= restart.0 {
            counters.off = false;
            let _ = self.spend(Phase::Idle, flows.boot);
        }
        payment
    }

    /// Books an income less its charging loss; the store may exceed its capacity until the round is
    /// netted.
    const fn take_in(&mut self, income: PicoJoules) {
        let counters = &mut self.counters;
        // All counters stay below initial + harvested, so bounding this sum keeps every one of them
        // from overflowing: after 18 MJ a ledger accepts no more income.
        let headroom = PicoJoules::MAX
            .saturating_sub(counters.initial)
            .saturating_sub(counters.harvested);
        let income = smaller(income.0, headroom.0);
        let lost = self.store.charging_loss(PicoJoules(income)).0;
        counters.harvested.0 += income;
        counters.conversion.0 += lost;
        counters.stored.0 += income - lost;
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

    /// Spends `amount`, first from the reservation of the current order. The round owes what the
    /// store cannot pay.
    pub const fn spend(&mut self, on: Phase, amount: PicoJoules) -> Payment {
        let counters = &mut self.counters;
        let paid = smaller(amount.0, counters.stored.0);
        counters.stored.0 -= paid;
        counters.spent.0[on as usize].0 += paid;
        let owed = &mut self.owed.0[on as usize];
        *owed = owed.saturating_add(PicoJoules(amount.0 - paid));
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

    fn flows(income: u64, sleep: u64) -> Flows {
        let mut standing = Spent::ZERO;
        standing[Phase::Sleep] = PicoJoules(sleep);
        Flows {
            income: PicoJoules(income),
            standing,
            ..Flows::default()
        }
    }

    #[test]
    fn income_beyond_the_store_is_overflow() {
        let mut ledger = Ledger::new(PicoJoules(500), store(300));
        assert_eq!(ledger.snapshot().initial, PicoJoules(300));
        let _ = ledger.spend(Phase::Idle, PicoJoules(100));
        let before = ledger.snapshot();
        let _ = ledger.end_round(&flows(250, 0));
        let record = ledger.snapshot().since(&before);
        assert_eq!(record.harvested, PicoJoules(250));
        assert_eq!(record.overflow, PicoJoules(150));
        assert_eq!(ledger.snapshot().stored, PicoJoules(300));
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn income_pays_for_sleep_before_it_overflows() {
        // 12 mW of income against 7.5 mW of sleep for ten minutes, with a store of 3 J.
        let joules = |j: f64| PicoJoules::from_joules(j).0;
        let mut ledger = Ledger::new(PicoJoules::ZERO, store(joules(3.0)));
        for _ in 0..300 {
            let before = ledger.snapshot();
            let payment = ledger.end_round(&flows(joules(7.2), joules(4.5)));
            assert_eq!(payment.unpaid, PicoJoules::ZERO);
            assert!(ledger.snapshot().since(&before).overflow.0 <= joules(2.7));
        }
        assert_eq!(ledger.snapshot().stored.0, joules(3.0));
    }

    #[test]
    fn an_order_is_not_paid_from_income_that_is_yet_to_arrive() {
        let mut ledger = Ledger::new(PicoJoules::ZERO, store(1_000));
        assert!(ledger.reserve(PicoJoules(1)).is_err());
        let _ = ledger.end_round(&flows(400, 0));
        assert!(ledger.reserve(PicoJoules(400)).is_ok());
    }

    #[test]
    fn costs_beyond_the_store_are_paid_by_the_income_of_their_round() {
        let mut ledger = Ledger::new(PicoJoules(10), store(20));
        assert_eq!(
            ledger.spend(Phase::Train, PicoJoules(14)).unpaid,
            PicoJoules(4)
        );
        assert_eq!(ledger.end_round(&flows(50, 0)).unpaid, PicoJoules::ZERO);
        let after = ledger.snapshot();
        assert_eq!(after.spent.of(Phase::Train), PicoJoules(14));
        assert_eq!((after.stored.0, after.overflow.0), (20, 26));
        assert!(after.is_consistent() && !after.off);
    }

    #[test]
    fn a_device_that_browned_out_stays_off_until_its_store_has_recovered() {
        let hysteresis = EnergyStore {
            restart: PicoJoules(30),
            ..store(100)
        };
        let mut ledger = Ledger::new(PicoJoules(5), hysteresis);
        let night = Flows {
            boot: PicoJoules(7),
            ..flows(0, 10)
        };
        assert_eq!(ledger.end_round(&night).unpaid, PicoJoules(5));
        assert!(ledger.snapshot().off);
        // It does not sleep, listen or take orders while it is off.
        let morning = Flows {
            income: PicoJoules(36),
            ..night
        };
        assert_eq!(ledger.end_round(&morning).unpaid, PicoJoules::ZERO);
        assert_eq!(ledger.snapshot().stored, PicoJoules(36));
        assert!(ledger.snapshot().off && ledger.reserve(PicoJoules(1)).is_err());
        // At 30 and the 7 of its start it switches on.
        let _ = ledger.end_round(&Flows {
            income: PicoJoules(1),
            ..night
        });
        let after = ledger.snapshot();
        assert!(!after.off && after.is_consistent());
        assert_eq!((after.stored.0, after.spent.of(Phase::Idle).0), (30, 7));
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
            restart: PicoJoules::ZERO,
        };
        let mut ledger = Ledger::new(PicoJoules(100), lossy);
        ledger.reserve(PicoJoules(90)).unwrap();
        let _ = ledger.end_round(&Flows {
            period: Micros(30),
            ..flows(1_500, 0)
        });
        let snapshot = ledger.snapshot();
        // 300 of 1,500 are lost, 60 leak, 1,000 fit.
        assert_eq!(snapshot.conversion, PicoJoules(300));
        assert_eq!(snapshot.leaked, PicoJoules(60));
        assert_eq!(snapshot.overflow, PicoJoules(240));
        assert_eq!(snapshot.stored, PicoJoules(1_000));
        let _ = ledger.end_round(&Flows {
            period: Micros::MAX,
            ..Flows::default()
        });
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
        let _ = ledger.end_round(&flows(u64::MAX, 0));
        let _ = ledger.end_round(&flows(u64::MAX, 0));
        assert_eq!(ledger.snapshot().stored, PicoJoules::MAX);
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn restores_only_what_adds_up() {
        let mut ledger = Ledger::new(PicoJoules(10), store(100));
        let _ = ledger.end_round(&flows(50, 0));
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
