//! A board's energy as the base station keeps it: confirmed with every closed round, noted between.

use gleaner_shared::energy::{Activity, CostModel, Ledger, Reservoir, Snapshot};

use super::check;
use crate::board::{Closing, ConfirmedState};
use crate::event::EventKind;

/// The books of one board.
#[derive(Debug)]
pub(super) struct EnergyTracker {
    /// What was confirmed when the last round was closed.
    confirmed: ConfirmedState,
    /// The ledger as the board last gave it in the round that is not closed yet.
    current: Option<Snapshot>,
    /// The ledger the board last gave in this session, whatever it was worth.
    heard: Option<Snapshot>,
    /// The impossible ledger that was last told of.
    doubted: Option<Snapshot>,
    store: Reservoir,
    cost: CostModel,
}

impl EnergyTracker {
    /// Opens the books of a board with that store and those prices.
    pub(super) const fn new(confirmed: ConfirmedState, store: Reservoir, cost: CostModel) -> Self {
        Self {
            confirmed,
            current: None,
            heard: None,
            doubted: None,
            store,
            cost,
        }
    }

    /// Returns what is confirmed.
    pub(super) const fn confirmed(&self) -> ConfirmedState {
        self.confirmed
    }

    /// Takes note of the ledger the board goes on with, and says when nobody knew of it.
    pub(super) fn compare(&mut self, found: Snapshot) -> Option<EventKind> {
        let expected = self.expected();
        let known = [expected, self.confirmed.ledger].contains(&found);
        if !self.is_possible(&found) {
            return self.note(found);
        }
        self.note(found);
        (!known).then_some(EventKind::LedgerDiffers { expected, found })
    }

    /// Keeps what the board booked until the round is closed. A board that loses its power before
    /// is provisioned with the ledger of the last closed round, so that it books the income of
    /// the order it gets again once; what it had spent by then stays booked here. A ledger that
    /// cannot be is told of, and the base station keeps its own: no board would go on with the
    /// other.
    pub(super) fn note(&mut self, found: Snapshot) -> Option<EventKind> {
        self.heard = Some(found);
        if !self.is_possible(&found) {
            let expected = self.expected();
            let news = self.doubted.replace(found) != Some(found);
            return news.then_some(EventKind::LedgerDiffers { expected, found });
        }
        if found.age() >= self.expected().age() {
            self.current = Some(found);
        }
        None
    }

    /// Returns the ledger the board has as far as anybody knows.
    fn expected(&self) -> Snapshot {
        self.current.unwrap_or(self.confirmed.ledger)
    }

    fn is_possible(&self, found: &Snapshot) -> bool {
        check::is_possible(found, &self.confirmed.ledger, self.store.capacity)
    }

    /// Closes a round, with the income if the board did not book it, and then with what resting
    /// costs, if it was to rest.
    pub(super) fn close(&mut self, closing: &Closing) {
        self.confirmed.last_round = Some(closing.mark);
        let confirmed = self.confirmed.ledger;
        let newest = self.current.take().unwrap_or(confirmed);
        self.confirmed.ledger = newest;
        if newest.rounds > confirmed.rounds {
            return;
        }
        if let Some(mut ledger) = Ledger::restore(newest, self.store) {
            ledger.begin_round(closing.income, closing.period);
            if let Some(rest) = closing.rest {
                let rested = Activity::resting(rest.listening, rest.period);
                let _ = ledger.pay(&self.cost.round(&rested));
            }
            self.confirmed.ledger = ledger.snapshot();
        }
    }

    /// Takes note of a new session: nothing is known of the board's own books.
    pub(super) const fn start_session(&mut self) {
        self.heard = None;
    }

    /// Tells whether the board goes on with other books than these after a closed round, as far as
    /// it has said.
    pub(super) fn is_behind(&self) -> bool {
        self.heard
            .is_some_and(|heard| heard != self.confirmed.ledger)
    }

    /// Goes back to a checkpoint.
    pub(super) const fn restore(&mut self, confirmed: ConfirmedState) {
        self.confirmed = confirmed;
        self.current = None;
        self.doubted = None;
    }
}
