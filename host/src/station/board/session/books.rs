//! A board's energy as the base station keeps it: confirmed with every closed round, noted between.

use gleaner_shared::energy::{Ledger, Snapshot};
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::message::RoundMark;

use crate::station::board::Standing;
use crate::station::event::EventKind;

/// The books of one board.
#[derive(Debug)]
pub(super) struct Books {
    /// What was confirmed when the last round was closed.
    standing: Standing,
    /// The ledger as the board last gave it in the round that is not closed yet.
    current: Option<Snapshot>,
    storage: PicoJoules,
    income: PicoJoules,
}

impl Books {
    /// Opens the books of a board with that store and that income.
    pub(super) const fn new(standing: Standing, storage: PicoJoules, income: PicoJoules) -> Self {
        Self {
            standing,
            current: None,
            storage,
            income,
        }
    }

    /// Returns what is confirmed.
    pub(super) const fn standing(&self) -> Standing {
        self.standing
    }

    /// Takes note of the ledger the board goes on with, and says when nobody knew of it.
    pub(super) fn compare(&mut self, found: Snapshot) -> Option<EventKind> {
        let expected = self.current.unwrap_or(self.standing.ledger);
        let known = found == expected || found == self.standing.ledger;
        self.note(found);
        (!known).then_some(EventKind::LedgerDiffers { expected, found })
    }

    /// Keeps what the board booked until the round is closed. A board that loses its power before
    /// is provisioned with the ledger of the last closed round, so that it books the income of
    /// the order it gets again once.
    pub(super) fn note(&mut self, found: Snapshot) {
        if found.rounds >= self.standing.ledger.rounds {
            self.current = Some(found);
        }
    }

    /// Closes a round, with the income if the board did not book it.
    pub(super) fn close(&mut self, mark: RoundMark) {
        self.standing.last_round = Some(mark);
        let confirmed = self.standing.ledger;
        let newest = self.current.take().unwrap_or(confirmed);
        self.standing.ledger = newest;
        if newest.rounds > confirmed.rounds {
            return;
        }
        if let Some(mut ledger) = Ledger::restore(newest, self.storage) {
            ledger.begin_round(self.income);
            self.standing.ledger = ledger.snapshot();
        }
    }

    /// Goes back to a checkpoint.
    pub(super) const fn restore(&mut self, standing: Standing) {
        self.standing = standing;
        self.current = None;
    }
}
