//! Bounds of a board's ledger: what a board that follows the protocol may have booked.
//!
//! Income is what the base station granted, and what an order costs at least follows from the order:
//! the radio's energy exactly, waiting from the time that the board itself booked as computing, and
//! computing as a share of the modelled cycles, since a board counts its own. A board may have spent
//! more than the base station knows of, and never less.

use gleaner_shared::energy::{
    Activity, CostModel, EnergyStore, Flows, Ledger, Pace, Phase, Snapshot, Spent,
};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::message::Order;

/// An update takes at least one in so many of the modelled cycles. Boards with other kernels than
/// those counted for the presets differ by less.
const LEAST_COMPUTE: u64 = 2;

/// Picojoules and microseconds by which rounding, repeated after resets, may lower an amount.
const ROUNDING: u64 = 16;

/// An amount of a ledger that is out of its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Name of the amount: a field of the ledger, a phase, or `radio`, `compute` or `waiting`, which
    /// are amounts of one round. `sum` is what the ledger accounts for.
    pub field: &'static str,
    /// The amount in the ledger.
    pub found: u64,
    /// Least amount that is possible.
    pub least: u64,
    /// Largest amount that is possible.
    pub most: u64,
}

/// Checks that an amount is within its bounds.
const fn within(field: &'static str, found: u64, least: u64, most: u64) -> Result<(), Deviation> {
    if least <= found && found <= most {
        return Ok(());
    }
    Err(Deviation {
        field,
        found,
        least,
        most,
    })
}

const fn exactly(field: &'static str, found: u64, expected: u64) -> Result<(), Deviation> {
    within(field, found, expected, expected)
}

const fn at_least(field: &'static str, found: u64, least: u64) -> Result<(), Deviation> {
    within(field, found, least, u64::MAX)
}

/// What the base station knows of a board's work in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The board rested, or did any part of its order.
    Unknown,
    /// The board reported that it trained as ordered.
    Trained,
    /// The same in a round that had ended before the order was accepted, for example because the
    /// order was declined first: such an order costs its work alone.
    TrainedLate,
}

impl Work {
    const fn is_trained(self) -> bool {
        matches!(self, Self::Trained | Self::TrainedLate)
    }
}

/// The store, costs and cycles that a board was provisioned with, which bound its ledger.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The energy store.
    pub store: EnergyStore,
    /// Energy of computing, radio and waiting.
    pub cost: CostModel,
    /// Expected cycles of the board's work.
    pub pace: Pace,
}

impl Bounds {
    /// Checks a ledger for itself: it accounts for its income and fits the store.
    ///
    /// # Errors
    /// Returns the amount that is out of its bounds.
    pub fn alone(&self, found: &Snapshot) -> Result<(), Deviation> {
        if !found.is_consistent() {
            let parts = [found.conversion, found.overflow, found.leaked, found.stored];
            let sum = parts
                .into_iter()
                .fold(found.spent.total(), PicoJoules::saturating_add);
            let income = found.initial.saturating_add(found.harvested).0;
            return Err(Deviation {
                field: "sum",
                found: sum.0,
                least: income,
                most: income,
            });
        }
        within("stored", found.stored.0, 0, self.store.capacity.0)
    }

    /// Checks a ledger of the round after `from`, which has not ended.
    ///
    /// # Errors
    /// Returns the first amount that is out of its bounds.
    pub fn within_round(&self, from: &Snapshot, found: &Snapshot) -> Result<(), Deviation> {
        exactly("rounds", found.rounds.into(), from.rounds.into())?;
        exactly("initial", found.initial.0, from.initial.0)?;
        exactly("harvested", found.harvested.0, from.harvested.0)?;
        exactly("conversion", found.conversion.0, from.conversion.0)?;
        exactly("overflow", found.overflow.0, from.overflow.0)?;
        exactly("leaked", found.leaked.0, from.leaked.0)?;
        exactly("off", found.off.into(), from.off.into())?;
        not_taken_back(from, found)
    }

    /// Checks a ledger at the end of the round after `from`, in which the board had this order.
    ///
    /// The upper bound of the store is what remains after paying all that the ledger has spent, which
    /// is at least the cost of what the base station knows was done.
    ///
    /// # Errors
    /// Returns the first amount that is out of its bounds.
    pub fn after_round(
        &self,
        from: &Snapshot,
        order: &Order,
        work: Work,
        found: &Snapshot,
    ) -> Result<(), Deviation> {
        exactly("rounds", found.rounds.into(), u64::from(from.rounds) + 1)?;
        exactly("initial", found.initial.0, from.initial.0)?;
        not_taken_back(from, found)?;
        let spent = found.spent.saturating_sub(&from.spent);
        let Some(mut ledger) = Ledger::restore(*from, self.store) else {
            return exactly("initial", found.initial.0, 0);
        };
        let _ = ledger.pay(&spent);
        let _ = ledger.end_round(&Flows {
            income: order.income,
            period: order.period,
            ..Flows::default()
        });
        let most = ledger.snapshot();
        exactly("harvested", found.harvested.0, most.harvested.0)?;
        exactly("conversion", found.conversion.0, most.conversion.0)?;
        at_least("overflow", found.overflow.0, from.overflow.0)?;
        at_least("leaked", found.leaked.0, from.leaked.0)?;

        let income = most.harvested.saturating_sub(from.harvested);
        let lost = most.conversion.saturating_sub(from.conversion);
        let at_hand = from.stored.saturating_add(income).saturating_sub(lost);
        // A store that ran dry paid all it had, and no more was possible.
        if spent.total() < at_hand {
            let least = match from.off {
                true => Spent::ZERO,
                false => self.least(order, work, spent.compute()),
            };
            let rounded = |amount: PicoJoules| amount.0.saturating_sub(ROUNDING);
            at_least("radio", spent.radio().0, least.radio().0)?;
            at_least("compute", spent.compute().0, rounded(least.compute()))?;
            at_least("waiting", spent.waiting().0, rounded(least.waiting()))?;
        }
        within("stored", found.stored.0, 0, most.stored.0)?;

        let may_be_off = from.off || found.stored == PicoJoules::ZERO;
        let restart = self.store.restart.saturating_add(self.cost.boot);
        let may_be_on = !from.off || most.stored.saturating_add(spent.total()) >= restart;
        let (least, most) = (u64::from(!may_be_on), u64::from(may_be_off));
        within("off", found.off.into(), least, most)
    }

    /// Returns the least that a board paid for its part of an order, if it spent `compute` on
    /// computing in this round.
    fn least(&self, order: &Order, work: Work, compute: PicoJoules) -> Spent {
        let whole = order.activity();
        let (trained, on_time) = (work.is_trained(), work == Work::Trained);
        let modelled = whole.at_pace(&self.pace, Cycles::ZERO).cycles();
        let done = Activity {
            listening: if on_time {
                whole.listening
            } else {
                order.listening
            },
            train: match trained {
                true => Cycles(modelled.0 / LEAST_COMPUTE),
                false => Cycles::ZERO,
            },
            epochs: if trained { whole.epochs } else { 0 },
            drawn: order.drawn,
            airtime: if trained { order.airtime } else { Micros::ZERO },
            saves: on_time && order.participate,
            ..Activity::default()
        };
        let mut least = self.cost.round(&done);
        // The longest time that the board can have been busy instead of asleep.
        let busy = Activity {
            apply: self.most_cycles(compute),
            ..whole
        };
        let asleep = self.cost.sleeping(&busy).saturating_sub(Micros(ROUNDING));
        let resting = Activity::resting(Micros::ZERO, asleep);
        least[Phase::Sleep] = self.cost.round(&resting).of(Phase::Sleep);
        least
    }

    /// Returns the most cycles that an energy of computing pays for.
    fn most_cycles(&self, compute: PicoJoules) -> Cycles {
        let femtojoules = (u128::from(compute.0) + u128::from(ROUNDING)) * 1_000;
        let each = u128::from(self.cost.compute.femtojoules_per_cycle);
        let cycles = femtojoules.checked_div(each).unwrap_or(u128::MAX);
        Cycles(u64::try_from(cycles).unwrap_or(u64::MAX))
    }

    /// Returns the least that a store must hold for a board to accept an order: the cost of its work,
    /// without sleep.
    #[must_use]
    pub fn least_reserve(&self, order: &Order) -> PicoJoules {
        let mut least = self.least(order, Work::Trained, PicoJoules::ZERO);
        least[Phase::Sleep] = PicoJoules::ZERO;
        least.total()
    }

    /// Books a round by the model: the whole order if the board reported that it trained, otherwise
    /// rest.
    #[must_use]
    pub fn book(&self, from: &Snapshot, order: &Order, work: Work) -> Option<Snapshot> {
        let mut ledger = Ledger::restore(*from, self.store)?;
        let done = match work.is_trained() {
            true => order
                .activity()
                .at_pace(&self.pace, self.pace.applying(false)),
            false => Activity::resting(order.listening, order.period),
        };
        let (paid_first, standing) = match work.is_trained() {
            true => self.cost.round(&done).split(),
            false => (Spent::ZERO, self.cost.round(&done)),
        };
        let _ = ledger.pay(&paid_first);
        let _ = ledger.end_round(&Flows {
            income: order.income,
            standing,
            period: order.period,
            boot: self.cost.boot,
        });
        Some(ledger.snapshot())
    }
}

/// Checks that nothing spent before is missing.
fn not_taken_back(from: &Snapshot, found: &Snapshot) -> Result<(), Deviation> {
    Phase::ALL.into_iter().try_for_each(|phase| {
        at_least(
            phase.name(),
            found.spent.of(phase).0,
            from.spent.of(phase).0,
        )
    })
}
