//! The base station's own booking of a board's ledger.
//!
//! A ledger that a board sends is taken over within its [`Bounds`]. Any other is refused: the base
//! station books the round by the model, and the board is told to continue with that.

use gleaner_shared::energy::{Activity, Flows, Ledger, Shortfall, Snapshot};
use gleaner_shared::wire::message::Order;

use super::bounds::{Bounds, Deviation, Work};
use super::{Closing, ConfirmedState, LastRound};
use crate::event::EventKind;

/// The order of the open round.
#[derive(Clone, Copy, Debug)]
struct OpenRound {
    order: Order,
    /// Whether the board's ledger had ended the round before a report on this order.
    ended: bool,
}

/// The round that a possible ledger belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The open round.
    Open,
    /// The last closed round, whose end the board did not hear.
    Last,
    /// The open round, whose order the base station does not know yet.
    Unknown,
}

/// The booking of one board.
#[derive(Debug)]
pub struct Booking {
    bounds: Bounds,
    /// The state as of the last closed round.
    confirmed: ConfirmedState,
    open: Option<OpenRound>,
    /// The newest ledger of the open round: the board's, or the base station's in place of a refused
    /// one.
    current: Option<Snapshot>,
    /// A ledger that is checked as soon as the order of the round is known.
    unchecked: Option<Snapshot>,
    /// The last ledger that the board sent in this session.
    received: Option<Snapshot>,
    /// Whether the board continues with a refused ledger, as far as is known.
    refused: bool,
    /// Whether the board was provisioned again because of its ledger, in this session and round.
    corrected: bool,
    /// The last refused ledger that was published.
    published: Option<Snapshot>,
}

impl Booking {
    /// Continues from a confirmed state.
    #[must_use]
    pub const fn new(confirmed: ConfirmedState, bounds: Bounds) -> Self {
        Self {
            bounds,
            confirmed,
            open: None,
            current: None,
            unchecked: None,
            received: None,
            refused: false,
            corrected: false,
            published: None,
        }
    }

    /// Returns the confirmed state.
    #[must_use]
    pub const fn confirmed(&self) -> ConfirmedState {
        self.confirmed
    }

    /// Returns whether the board must take the confirmed ledger in place of its own.
    #[must_use]
    pub const fn is_refused(&self) -> bool {
        self.refused
    }

    /// Begins the round of an order, once; returns an event for a ledger that can be checked now.
    pub fn begin(&mut self, order: &Order) -> Option<EventKind> {
        if self.open.is_none_or(|open| open.order != *order) {
            self.open = Some(OpenRound {
                order: *order,
                ended: false,
            });
        }
        self.check_waiting()
    }

    /// Checks whether the store, as the base station booked it, can pay for the least cost of an
    /// order. A board with a true ledger declines every order that fails here by itself.
    ///
    /// # Errors
    /// Returns the shortfall.
    pub fn check_reserve(&self, order: &Order) -> Result<(), Shortfall> {
        let ledger = Ledger::restore(self.confirmed.ledger, self.bounds.store);
        let needed = self.bounds.least_reserve(order);
        ledger.map_or(Ok(()), |mut ledger| ledger.reserve(needed))
    }

    /// Notes the ledger of a provisioned board; returns an event if the base station did not expect it.
    pub fn compare(&mut self, found: Snapshot) -> Option<EventKind> {
        let expected = self.expected();
        let known = [expected, self.confirmed.ledger].contains(&found);
        let refused = self.take(found, Work::Unknown);
        if refused.is_ok() {
            self.refused = false;
            return (!known).then_some(EventKind::LedgerDiffers { expected, found });
        }
        self.publish(found, refused)
    }

    /// Keeps a ledger that the board sent in a round. A board that loses its power before the round
    /// is closed is provisioned with the ledger of the last closed round, so that it books the income
    /// of a repeated order once; the energy it had spent by then stays booked here. A refused ledger
    /// is published once.
    pub fn note(&mut self, found: Snapshot) -> Option<EventKind> {
        let taken = self.take(found, Work::Unknown);
        self.publish(found, taken)
    }

    /// Keeps the ledger of a report that the order was carried out. In place of a refused one the
    /// base station books the order by the model.
    pub fn trained(&mut self, found: Snapshot) -> Option<EventKind> {
        let ended = self.open.is_some_and(|open| open.ended);
        let work = match ended {
            true => Work::TrainedLate,
            false => Work::Trained,
        };
        let taken = self.take(found, work);
        if taken.is_err()
            && let Some(open) = self.open
            && let Some(booked) = self.bounds.book(&self.confirmed.ledger, &open.order, work)
        {
            self.advance(booked);
        }
        self.publish(found, taken)
    }

    /// Takes a ledger over if it is possible.
    fn take(&mut self, found: Snapshot, work: Work) -> Result<(), Deviation> {
        self.received = Some(found);
        match self.place(&found, work)? {
            Place::Unknown => self.unchecked = Some(found),
            Place::Last if found.age() > self.confirmed.ledger.age() => {
                self.confirmed.ledger = found;
            }
            Place::Last => {}
            Place::Open => {
                let has_ended = found.rounds > self.confirmed.ledger.rounds;
                if let Some(open) = &mut self.open {
                    open.ended |= has_ended;
                }
                self.advance(found);
            }
        }
        Ok(())
    }

    /// Returns the round that a ledger belongs to, or what is impossible about it.
    fn place(&self, found: &Snapshot, work: Work) -> Result<Place, Deviation> {
        let (bounds, last) = (&self.bounds, &self.confirmed.ledger);
        bounds.alone(found)?;
        let has_ended = found.rounds > last.rounds;
        let checked = match (has_ended, self.open, work) {
            (true, Some(open), _) => bounds.after_round(last, &open.order, work, found),
            (true, None, _) if found.rounds == last.rounds.saturating_add(1) => {
                return Ok(Place::Unknown);
            }
            (false, _, Work::Unknown) => bounds.within_round(last, found),
            _ => Err(Deviation {
                field: "rounds",
                found: found.rounds.into(),
                least: u64::from(last.rounds) + u64::from(work != Work::Unknown),
                most: u64::from(last.rounds) + 1,
            }),
        };
        let Err(deviation) = checked else {
            return Ok(Place::Open);
        };
        match (work, &self.confirmed.before) {
            (Work::Unknown, Some(before)) if self.is_of_last_round(before, found) => {
                Ok(Place::Last)
            }
            _ => Err(deviation),
        }
    }

    /// Returns whether a board that did not hear the end of the last round may have this ledger.
    fn is_of_last_round(&self, before: &LastRound, found: &Snapshot) -> bool {
        let (from, order) = (&before.ledger, &before.order);
        let ended = || self.bounds.after_round(from, order, Work::Unknown, found);
        let open = self.bounds.within_round(from, found);
        open.or_else(|_| ended()).is_ok()
    }

    /// Keeps the newer of two ledgers of the open round.
    fn advance(&mut self, found: Snapshot) {
        if found.age() >= self.expected().age() {
            self.current = Some(found);
        }
    }

    fn publish(&mut self, found: Snapshot, taken: Result<(), Deviation>) -> Option<EventKind> {
        let Err(deviation) = taken else { return None };
        self.refused = true;
        let is_new = self.published.replace(found) != Some(found);
        is_new.then(|| EventKind::LedgerRefused {
            field: deviation.field.to_owned(),
            reported: deviation.found,
            least: deviation.least,
            most: deviation.most,
            found,
        })
    }

    fn check_waiting(&mut self) -> Option<EventKind> {
        let found = self.unchecked.take()?;
        let received = self.received;
        let taken = self.take(found, Work::Unknown);
        self.received = received;
        self.publish(found, taken)
    }

    /// Returns the newest known ledger of the board.
    fn expected(&self) -> Snapshot {
        self.current.unwrap_or(self.confirmed.ledger)
    }

    /// Closes a round; books the income and the cost of resting if the board did not book them.
    pub fn close(&mut self, closing: &Closing) -> Option<EventKind> {
        let round = closing.mark.round;
        let of_round = |open: &OpenRound| open.order.round == round;
        self.open = self
            .open
            .filter(of_round)
            .or(closing.rest.map(|order| OpenRound {
                order,
                ended: false,
            }));
        let refused = self.check_waiting();
        self.corrected = false;
        let before = self.confirmed.ledger;
        let newest = self.current.take().unwrap_or(before);
        self.confirmed = ConfirmedState {
            ledger: match newest.rounds > before.rounds {
                true => newest,
                false => self.rest(newest, closing),
            },
            last_round: Some(closing.mark),
            before: self.open.take().map(|open| LastRound {
                ledger: before,
                order: open.order,
            }),
        };
        refused
    }

    /// Ends a round in which the board rested, as far as is known.
    fn rest(&self, from: Snapshot, closing: &Closing) -> Snapshot {
        let Some(mut ledger) = Ledger::restore(from, self.bounds.store) else {
            return from;
        };
        let cost = &self.bounds.cost;
        let rest = closing.rest.map(|rest| {
            let rested = Activity::resting(rest.listening, rest.period);
            cost.round(&rested)
        });
        let _ = ledger.end_round(&Flows {
            income: closing.income,
            standing: rest.unwrap_or_default(),
            period: closing.period,
            boot: cost.boot,
        });
        ledger.snapshot()
    }

    /// Starts a session, in which the board has sent no ledger yet.
    pub const fn start_session(&mut self) {
        self.received = None;
        self.unchecked = None;
        self.corrected = false;
    }

    /// Tells whether the board continues with another ledger than the confirmed one.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.received
            .is_some_and(|received| received != self.confirmed.ledger)
    }

    /// Tells, once in a session and round, that the board must be provisioned again before it works:
    /// its ledger was refused, or a round was closed before the ledger arrived.
    pub fn must_correct(&mut self) -> bool {
        let last = self.confirmed.ledger.age();
        let is_older = self.received.is_some_and(|received| received.age() < last);
        let due = !self.corrected && (self.refused || is_older);
        self.corrected |= due;
        due
    }

    /// Restores the state of a checkpoint.
    pub const fn restore(&mut self, confirmed: ConfirmedState) {
        *self = Self::new(confirmed, self.bounds);
    }
}
