//! The stores of simulated clients: what is not in them cannot be spent.

use gleaner_shared::energy::{EnergyStore, Flows, Ledger, RoundRecord, Shortfall, Snapshot, Spent};
use gleaner_shared::units::PicoJoules;
use serde::{Deserialize, Serialize};

/// The state of a client's energy store between two rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreState {
    /// The ledger after the last round.
    pub ledger: Snapshot,
    /// Number of orders the client declined.
    pub declined: u32,
    /// Rounds in which it could not pay for all it did, sleep included.
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

    /// Returns what an order may cost: what is stored before the round.
    pub(in crate::round) const fn available(&self) -> PicoJoules {
        self.ledger.available()
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

    /// Pays for the work of an order from what is stored.
    pub(in crate::round) const fn pay(&mut self, due: &Spent) {
        let _ = self.ledger.pay(due);
    }

    /// Ends a round; returns what it did to the store, and what stayed unpaid.
    pub(in crate::round) fn close(&mut self, flows: &Flows) -> (RoundRecord, PicoJoules) {
        let payment = self.ledger.end_round(flows);
        self.state.brownouts += u32::from(payment.unpaid > PicoJoules::ZERO);
        let before = std::mem::replace(&mut self.state.ledger, self.ledger.snapshot());
        (self.state.ledger.since(&before), payment.unpaid)
    }

    /// Returns it as it stands between two rounds.
    pub(in crate::round) const fn state(&self) -> StoreState {
        self.state
    }
}
