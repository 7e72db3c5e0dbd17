//! The stores of simulated clients: what is not in them cannot be spent.

use gleaner_shared::energy::{EnergyStore, Ledger, RoundRecord, Shortfall, Snapshot, Spent};
use gleaner_shared::units::{Micros, PicoJoules};
use serde::{Deserialize, Serialize};

/// The state of a client's energy store between two rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreState {
    /// The ledger after the last round.
    pub ledger: Snapshot,
    /// Number of orders the client declined.
    pub declined: u32,
    /// Rounds in which it could not pay for all it did, waiting included.
    pub brownouts: u32,
}

impl StoreState {
    /// A store with so much in it.
    #[must_use]
    pub const fn new(stored: PicoJoules, store: EnergyStore) -> Self {
        Self {
            ledger: Ledger::new(stored, store).snapshot(),
            declined: 0,
            brownouts: 0,
        }
    }
}

/// The energy store of a simulated client during a round.
#[derive(Clone, Copy, Debug)]
pub(in crate::round) struct SimulatedStore {
    state: StoreState,
    ledger: Ledger,
}

impl SimulatedStore {
    /// Opens a store in a state; `None` if its ledger does not add up.
    pub(in crate::round) const fn open(state: StoreState, store: EnergyStore) -> Option<Self> {
        match Ledger::restore(state.ledger, store) {
            Some(ledger) => Some(Self { state, ledger }),
            None => None,
        }
    }

    /// Returns what could be promised in a round with this income.
    pub(in crate::round) fn after(&self, income: PicoJoules, period: Micros) -> PicoJoules {
        let mut ledger = self.ledger;
        ledger.begin_round(income, period);
        ledger.available()
    }

    /// Books the income of a round.
    pub(in crate::round) fn begin(&mut self, income: PicoJoules, period: Micros) {
        self.ledger.begin_round(income, period);
    }

    /// Promises an order its energy.
    ///
    /// # Errors
    /// Energy that is missing.
    pub(in crate::round) const fn reserve(&mut self, cost: PicoJoules) -> Result<(), Shortfall> {
        self.ledger.reserve(cost)
    }

    /// Notes that the client declined an order.
    pub(in crate::round) const fn note_declined(&mut self) {
        self.state.declined = self.state.declined.saturating_add(1);
    }

    /// Pays for a round and puts the store back; returns what the round did to it, and what stayed
    /// unpaid.
    pub(in crate::round) fn close(&mut self, due: &Spent) -> (RoundRecord, PicoJoules) {
        let payment = self.ledger.pay(due);
        self.ledger.settle();
        self.state.brownouts += u32::from(payment.unpaid > PicoJoules::ZERO);
        let before = std::mem::replace(&mut self.state.ledger, self.ledger.snapshot());
        (self.state.ledger.since(&before), payment.unpaid)
    }

    /// Returns it as it stands between two rounds.
    pub(in crate::round) const fn state(&self) -> StoreState {
        self.state
    }
}
