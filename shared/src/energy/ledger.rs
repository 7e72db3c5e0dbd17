//! The store of one device and where every picojoule of it went.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::units::PicoJoules;

/// What energy is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Use {
    /// Local training.
    Compute,
    /// The upload.
    Radio,
    /// Waiting.
    Idle,
}

/// All counters of a ledger at one moment, as they travel on the wire.
///
/// The identity `stored = initial + harvested - compute - radio - idle - overflow` holds exactly
/// in every snapshot a [`Ledger`] returns; see [`Snapshot::is_consistent`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Snapshot {
    /// What the store held when the ledger was opened.
    pub initial: PicoJoules,
    /// What the store holds.
    pub stored: PicoJoules,
    /// All that arrived since, overflow included.
    pub harvested: PicoJoules,
    /// All that training spent.
    pub compute: PicoJoules,
    /// All that uploads spent.
    pub radio: PicoJoules,
    /// All that waiting spent.
    pub idle: PicoJoules,
    /// All that arrived while the store was full.
    pub overflow: PicoJoules,
    /// Rounds whose income was booked.
    pub rounds: u32,
}

impl Snapshot {
    /// Tells whether the identity of the ledger holds.
    #[must_use]
    pub const fn is_consistent(&self) -> bool {
        let Some(income) = self.initial.checked_add(self.harvested) else {
            return false;
        };
        let Some(spent) = self.compute.checked_add(self.radio) else {
            return false;
        };
        let Some(spent) = spent.checked_add(self.idle) else {
            return false;
        };
        let Some(spent) = spent.checked_add(self.overflow) else {
            return false;
        };
        let Some(total) = spent.checked_add(self.stored) else {
            return false;
        };
        total.0 == income.0
    }

    /// Orders two snapshots of one ledger in time, for its counters never run backwards: by rounds,
    /// then by all that was moved.
    #[must_use]
    pub fn age(&self) -> (u32, u128) {
        let moved = [self.harvested, self.compute, self.radio, self.idle];
        let moved = moved.iter().map(|amount| u128::from(amount.0)).sum();
        (self.rounds, moved)
    }

    /// Returns what happened between `earlier` and this moment; counters never run backwards, so
    /// an `earlier` that is later gives zeros.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> RoundRecord {
        RoundRecord {
            harvested: self.harvested.saturating_sub(earlier.harvested),
            compute: self.compute.saturating_sub(earlier.compute),
            radio: self.radio.saturating_sub(earlier.radio),
            idle: self.idle.saturating_sub(earlier.idle),
            overflow: self.overflow.saturating_sub(earlier.overflow),
        }
    }
}

/// What one round did to the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RoundRecord {
    /// The income, overflow included.
    pub harvested: PicoJoules,
    /// Spent on training.
    pub compute: PicoJoules,
    /// Spent on the upload.
    pub radio: PicoJoules,
    /// Spent on waiting.
    pub idle: PicoJoules,
    /// Lost to a full store.
    pub overflow: PicoJoules,
}

impl RoundRecord {
    /// Returns what the round spent, waiting included.
    #[must_use]
    pub const fn spent(&self) -> PicoJoules {
        self.compute
            .saturating_add(self.radio)
            .saturating_add(self.idle)
    }
}

/// An order that cannot be paid, with what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Shortfall {
    /// What the order costs.
    pub needed: PicoJoules,
    /// What is stored and not promised to another order.
    pub available: PicoJoules,
}

impl Shortfall {
    /// Returns how much more the store would have to hold.
    #[must_use]
    pub const fn missing(&self) -> PicoJoules {
        self.needed.saturating_sub(self.available)
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "order needs {}, {} available: {} missing",
            self.needed,
            self.available,
            self.missing()
        )
    }
}

impl core::error::Error for Shortfall {}

/// How a spending ended: a store cannot give what it does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[must_use = "an unpaid rest means that the device would have browned out"]
pub struct Payment {
    /// What left the store.
    pub paid: PicoJoules,
    /// What was asked for and not there.
    pub unpaid: PicoJoules,
}

/// The store of one device.
///
/// An order is [reserved](Self::reserve) before any work and [settled](Self::settle) after it, so
/// that no device starts what it cannot finish.
///
/// # Examples
/// ```
/// use gleaner_shared::energy::{Ledger, Use};
/// use gleaner_shared::units::PicoJoules;
///
/// let mut ledger = Ledger::new(PicoJoules(100), PicoJoules(1_000));
/// ledger.begin_round(PicoJoules(400));
/// assert_eq!(ledger.reserve(PicoJoules(600)).unwrap_err().missing(), PicoJoules(100));
///
/// ledger.reserve(PicoJoules(450)).unwrap();
/// assert_eq!(ledger.spend(Use::Compute, PicoJoules(300)).unpaid, PicoJoules::ZERO);
/// assert_eq!(ledger.spend(Use::Radio, PicoJoules(100)).unpaid, PicoJoules::ZERO);
/// ledger.settle();
/// assert_eq!(ledger.snapshot().stored, PicoJoules(100));
/// assert!(ledger.snapshot().is_consistent());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    counters: Snapshot,
    capacity: PicoJoules,
    reserved: PicoJoules,
}

impl Ledger {
    /// Opens a ledger with `initial` in a store of `capacity`; what does not fit in is not there.
    #[must_use]
    pub const fn new(initial: PicoJoules, capacity: PicoJoules) -> Self {
        let initial = PicoJoules(smaller(initial.0, capacity.0));
        Self {
            counters: Snapshot {
                initial,
                stored: initial,
                harvested: PicoJoules::ZERO,
                compute: PicoJoules::ZERO,
                radio: PicoJoules::ZERO,
                idle: PicoJoules::ZERO,
                overflow: PicoJoules::ZERO,
                rounds: 0,
            },
            capacity,
            reserved: PicoJoules::ZERO,
        }
    }

    /// Continues from `snapshot`, or returns `None` if it breaks the identity or does not fit.
    #[must_use]
    pub const fn restore(snapshot: Snapshot, capacity: PicoJoules) -> Option<Self> {
        if !snapshot.is_consistent() || snapshot.stored.0 > capacity.0 {
            return None;
        }
        Some(Self {
            counters: snapshot,
            capacity,
            reserved: PicoJoules::ZERO,
        })
    }

    /// Returns all counters.
    #[must_use]
    pub const fn snapshot(&self) -> Snapshot {
        self.counters
    }

    /// Returns how much the store can hold.
    #[must_use]
    pub const fn capacity(&self) -> PicoJoules {
        self.capacity
    }

    /// Returns what is promised to the running order.
    #[must_use]
    pub const fn reserved(&self) -> PicoJoules {
        self.reserved
    }

    /// Returns what is stored and not promised.
    #[must_use]
    pub const fn available(&self) -> PicoJoules {
        self.counters.stored.saturating_sub(self.reserved)
    }

    /// Books the income E_add of one round.
    pub const fn begin_round(&mut self, income: PicoJoules) {
        self.counters.rounds = self.counters.rounds.saturating_add(1);
        self.harvest(income);
    }

    /// Books an income; what the store cannot hold is overflow.
    pub const fn harvest(&mut self, income: PicoJoules) {
        let counters = &mut self.counters;
        // All counters stay below initial + harvested, so bounding this sum keeps every one of
        // them from overflowing: after 18 MJ a ledger takes in no more.
        let headroom = PicoJoules::MAX
            .saturating_sub(counters.initial)
            .saturating_sub(counters.harvested);
        let income = smaller(income.0, headroom.0);
        let kept = smaller(income, self.capacity.saturating_sub(counters.stored).0);
        counters.harvested.0 += income;
        counters.stored.0 += kept;
        counters.overflow.0 += income - kept;
    }

    /// Promises `cost` to an order before any of its work is done.
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

    /// Takes `amount` out of the store, first out of the running order's reservation unless it
    /// is spent on waiting.
    pub const fn spend(&mut self, on: Use, amount: PicoJoules) -> Payment {
        let counters = &mut self.counters;
        let paid = smaller(amount.0, counters.stored.0);
        counters.stored.0 -= paid;
        match on {
            Use::Compute => counters.compute.0 += paid,
            Use::Radio => counters.radio.0 += paid,
            Use::Idle => counters.idle.0 += paid,
        }
        if !matches!(on, Use::Idle) {
            self.reserved = self.reserved.saturating_sub(PicoJoules(paid));
        }
        self.reserved.0 = smaller(self.reserved.0, self.counters.stored.0);
        Payment {
            paid: PicoJoules(paid),
            unpaid: PicoJoules(amount.0 - paid),
        }
    }

    /// Ends the running order: what it did not need is available again.
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

    #[test]
    fn declines_before_spending_anything() {
        let mut ledger = Ledger::new(PicoJoules(50), PicoJoules(100));
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
        let mut ledger = Ledger::new(PicoJoules(100), PicoJoules(100));
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
        let mut ledger = Ledger::new(PicoJoules(500), PicoJoules(300));
        assert_eq!(ledger.snapshot().initial, PicoJoules(300));
        let _ = ledger.spend(Use::Idle, PicoJoules(100));
        let before = ledger.snapshot();
        ledger.begin_round(PicoJoules(250));
        let record = ledger.snapshot().since(&before);
        assert_eq!(record.harvested, PicoJoules(250));
        assert_eq!(record.overflow, PicoJoules(150));
        assert_eq!(ledger.snapshot().stored, PicoJoules(300));
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn an_overrun_is_paid_as_far_as_the_store_goes() {
        let mut ledger = Ledger::new(PicoJoules(100), PicoJoules(100));
        ledger.reserve(PicoJoules(60)).unwrap();
        let payment = ledger.spend(Use::Compute, PicoJoules(130));
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
        let mut ledger = Ledger::new(PicoJoules(7), PicoJoules::MAX);
        ledger.harvest(PicoJoules::MAX);
        ledger.harvest(PicoJoules::MAX);
        assert_eq!(ledger.snapshot().stored, PicoJoules::MAX);
        assert!(ledger.snapshot().is_consistent());
    }

    #[test]
    fn restores_only_what_adds_up() {
        let mut ledger = Ledger::new(PicoJoules(10), PicoJoules(100));
        ledger.begin_round(PicoJoules(50));
        let snapshot = ledger.snapshot();
        assert_eq!(Ledger::restore(snapshot, PicoJoules(100)), Some(ledger));
        assert_eq!(Ledger::restore(snapshot, PicoJoules(59)), None);
        let forged = Snapshot {
            stored: PicoJoules(61),
            ..snapshot
        };
        assert_eq!(Ledger::restore(forged, PicoJoules(100)), None);
        let wrapped = Snapshot {
            harvested: PicoJoules::MAX,
            ..snapshot
        };
        assert_eq!(Ledger::restore(wrapped, PicoJoules(100)), None);
    }
}
