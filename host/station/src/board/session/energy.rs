//! The base station's copy of a board's ledger: confirmed with every closed round, noted between.

use gleaner_shared::energy::{Activity, CostModel, EnergyStore, Flows, Ledger, Snapshot};

use super::check;
use crate::board::{Closing, ConfirmedState};
use crate::event::EventKind;

/// Tracks the ledger of one board.
#[derive(Debug)]
pub(super) struct EnergyTracker {
    /// The state as of the last closed round.
    confirmed: ConfirmedState,
    /// The last possible ledger that the board sent since then.
    current: Option<Snapshot>,
    /// The last ledger that the board sent in this session, possible or not.
    received: Option<Snapshot>,
    /// The last impossible ledger that was published.
    impossible: Option<Snapshot>,
    store: EnergyStore,
    cost: CostModel,
}

impl EnergyTracker {
    /// Tracks a board with that energy store and cost model.
    pub(super) const fn new(
        confirmed: ConfirmedState,
        store: EnergyStore,
        cost: CostModel,
    ) -> Self {
        Self {
            confirmed,
            current: None,
            received: None,
            impossible: None,
            store,
            cost,
        }
    }

    /// Returns the confirmed state.
    pub(super) const fn confirmed(&self) -> ConfirmedState {
        self.confirmed
    }

    /// Notes the ledger of a provisioned board; returns an event if the base station did not expect it.
    pub(super) fn compare(&mut self, found: Snapshot) -> Option<EventKind> {
        let expected = self.expected();
        let known = [expected, self.confirmed.ledger].contains(&found);
        if !self.is_possible(&found) {
            return self.note(found);
        }
        self.note(found);
        (!known).then_some(EventKind::LedgerDiffers { expected, found })
    }

    /// Keeps the board's ledger until the round is closed. A board that loses its power before that
    /// is provisioned with the ledger of the last closed round, so that it books the income of a
    /// repeated order once; the energy it had spent by then stays booked here. An impossible ledger
    /// is published once, and the base station keeps its own.
    pub(super) fn note(&mut self, found: Snapshot) -> Option<EventKind> {
        self.received = Some(found);
        if !self.is_possible(&found) {
            let expected = self.expected();
            let is_new = self.impossible.replace(found) != Some(found);
            return is_new.then_some(EventKind::LedgerDiffers { expected, found });
        }
        if found.age() >= self.expected().age() {
            self.current = Some(found);
        }
        None
    }

    /// Returns the newest known ledger of the board.
    fn expected(&self) -> Snapshot {
        self.current.unwrap_or(self.confirmed.ledger)
    }

    fn is_possible(&self, found: &Snapshot) -> bool {
        check::is_possible(found, &self.confirmed.ledger, self.store.capacity)
    }

    /// Closes a round; books the income and the cost of resting if the board did not book them.
    pub(super) fn close(&mut self, closing: &Closing) {
        self.confirmed.last_round = Some(closing.mark);
        let before = self.confirmed.ledger;
        let newest = self.current.take().unwrap_or(before);
        self.confirmed.ledger = newest;
        if newest.rounds > before.rounds {
            return;
        }
        if let Some(mut ledger) = Ledger::restore(newest, self.store) {
            let rest = closing.rest.map(|rest| {
                let rested = Activity::resting(rest.listening, rest.period);
                self.cost.round(&rested)
            });
            let _ = ledger.end_round(&Flows {
                income: closing.income,
                standing: rest.unwrap_or_default(),
                period: closing.period,
                boot: self.cost.boot,
            });
            self.confirmed.ledger = ledger.snapshot();
        }
    }

    /// Starts a session, in which the board has sent no ledger yet.
    pub(super) const fn start_session(&mut self) {
        self.received = None;
    }

    /// Tells whether the board continues with another ledger than the confirmed one.
    pub(super) fn is_behind(&self) -> bool {
        self.received
            .is_some_and(|received| received != self.confirmed.ledger)
    }

    /// Restores the state of a checkpoint.
    pub(super) const fn restore(&mut self, confirmed: ConfirmedState) {
        self.confirmed = confirmed;
        self.current = None;
        self.impossible = None;
    }
}
