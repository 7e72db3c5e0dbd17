//! The energy account of every client: harvest, costs and queue.
//!
//! Amounts are the integers a device counts in, so that a board's own ledger can be compared to
//! the picojoule.

use gleaner_shared::energy::{EnergyQueue, RoundRecord, Spent};
use gleaner_shared::units::PicoJoules;
use serde::{Deserialize, Serialize};

/// One client's account since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    queue: EnergyQueue,
    harvested: PicoJoules,
    spent: Spent,
}

impl Account {
    /// Adds the harvest and the costs of one round.
    pub fn book(&mut self, record: &RoundRecord) {
        self.queue.update(record);
        self.harvested = self.harvested.saturating_add(record.harvested);
        self.spent = self.spent.saturating_add(&record.spent);
    }

    /// Returns the queue Z_i.
    #[must_use]
    pub const fn queue_j(&self) -> f64 {
        self.queue.0.as_joules()
    }

    /// Returns the sum of q_i so far: income less use, negative when overdrawn.
    #[must_use]
    pub fn balance_j(&self) -> f64 {
        self.harvested.as_joules()
            - self.spent.compute().as_joules()
            - self.spent.radio().as_joules()
            - self.spent.waiting().as_joules()
    }

    /// Says whether C5 holds after this round: never more spent than harvested, on average.
    #[must_use]
    pub fn within_income(&self) -> bool {
        self.spent.total() <= self.harvested
    }

    /// Returns everything spent so far.
    #[must_use]
    pub fn spent_j(&self) -> f64 {
        self.spent.compute().as_joules()
            + self.spent.radio().as_joules()
            + self.spent.waiting().as_joules()
    }
}

/// Returns the booking of a round without an order.
#[must_use]
pub fn rest(income_j: f64) -> RoundRecord {
    RoundRecord {
        harvested: PicoJoules::from_joules(income_j),
        ..RoundRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::energy::Phase;

    use super::*;

    #[test]
    fn a_stable_queue_does_not_keep_the_budget_in_every_round() {
        // Z/N tends to 0, yet round 1 overdraws: the limit does not imply C5 for every n.
        let mut account = Account::default();
        let kept = [3.0, 0.0, 0.0, 1.0].map(|used_j| {
            let mut record = rest(1.0);
            record.spent[Phase::Train] = PicoJoules::from_joules(used_j);
            account.book(&record);
            account.within_income()
        });
        assert_eq!(kept, [false, false, true, true]);
        assert_eq!(account.queue_j(), 0.0);
    }

    #[test]
    fn overdrawing_fills_the_queue_and_breaks_c5_until_income_catches_up() {
        let mut account = Account::default();
        let mut overdrawn = rest(4e-4);
        overdrawn.spent[Phase::Train] = PicoJoules::from_joules(5e-4);
        account.book(&overdrawn);
        assert!((account.queue_j() - 1e-4).abs() < 1e-15 && !account.within_income());
        account.book(&rest(4e-4));
        assert!(account.queue_j() == 0.0 && account.within_income());
        assert!((account.balance_j() - 3e-4).abs() < 1e-15);
    }
}
