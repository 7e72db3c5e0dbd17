//! The energy of one round: the order, the work done so far, and how much of it is charged.
//!
//! Work is counted as it is done and charged from time to time. Each charge is the difference to
//! the cost of all work done, so a round costs exactly [`CostModel::round`], however often it is
//! charged.

use gleaner_shared::energy::{Activity, CostModel, Flows, Pace, Spent};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::message::Order;
use serde::{Deserialize, Serialize};

/// Counts the work of a round and returns what to charge for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundEnergy {
    ordered: Ordered,
    income: PicoJoules,
    done: Activity,
    charged: Activity,
    ended: bool,
}

/// Times of a round, as ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ordered {
    listening: Micros,
    saves: bool,
    period: Micros,
}

/// The part of a round that survives a reset: enough to charge its waiting once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Length of the broadcast.
    pub listening: Micros,
    /// Whether receiving the broadcast was charged.
    pub heard: bool,
    /// Cycles charged so far.
    pub cycles: Cycles,
    /// Whether the model is written to flash at the end of the round.
    pub saves: bool,
    /// Time from the start of the round to the next.
    pub period: Micros,
    /// Energy harvested in the round, booked at its end.
    pub income: PicoJoules,
    /// Whether the round had ended before more work was ordered in it.
    pub ended: bool,
}

impl RoundEnergy {
    /// Opens a round without work: the client receives the broadcast and sleeps.
    #[must_use]
    pub fn open(listening: Micros, period: Micros, income: PicoJoules) -> Self {
        Self {
            ordered: Ordered {
                listening,
                saves: false,
                period,
            },
            income,
            done: Activity::default(),
            charged: Activity::default(),
            ended: false,
        }
    }

    /// Opens a round that has ended for more work, which alone is charged.
    #[must_use]
    pub fn reopen() -> Self {
        Self {
            ended: true,
            ..Self::open(Micros::ZERO, Micros::ZERO, PicoJoules::ZERO)
        }
    }

    /// Continues after a reset.
    #[must_use]
    pub fn resume(saved: &Unfinished) -> Self {
        let done = Activity {
            listening: match saved.heard {
                true => saved.listening,
                false => Micros::ZERO,
            },
            apply: saved.cycles,
            ..Activity::default()
        };
        Self {
            ordered: Ordered {
                listening: saved.listening,
                saves: saved.saves,
                period: saved.period,
            },
            income: saved.income,
            done,
            charged: done,
            ended: saved.ended,
        }
    }

    /// Returns the part that survives a reset.
    pub fn unfinished(&self) -> Unfinished {
        Unfinished {
            listening: self.ordered.listening,
            heard: self.charged.listening == self.ordered.listening,
            cycles: self.charged.cycles(),
            saves: self.ordered.saves,
            period: self.ordered.period,
            income: self.income,
            ended: self.ended,
        }
    }

    /// Returns the activity of an order in this round, without its cycles.
    pub fn ordered(&self, order: &Order) -> Activity {
        match self.ended {
            false => order.activity(),
            true => Activity {
                listening: Micros::ZERO,
                period: Micros::ZERO,
                saves: false,
                ..order.activity()
            },
        }
    }

    /// Returns the expected cost of an order beyond what is already charged; `apply` are the cycles
    /// of receiving its model.
    pub fn expected(
        &self,
        order: &Activity,
        pace: &Pace,
        apply: Cycles,
        cost: &CostModel,
    ) -> PicoJoules {
        let mut whole = order.at_pace(pace, apply);
        whole.apply = whole.apply.saturating_add(self.charged.cycles());
        let charged = cost.round(&self.charged).total();
        cost.round(&whole).total().saturating_sub(charged)
    }

    /// Accepts an order; its computing is counted as it is done.
    pub fn take(&mut self, order: &Activity) {
        self.ordered = Ordered {
            listening: order.listening,
            saves: order.saves,
            period: order.period,
        };
        self.done.listening = order.listening;
    }

    /// Counts work that was done.
    pub fn count(&mut self, work: impl FnOnce(&mut Activity)) {
        work(&mut self.done);
    }

    /// Ends the round: returns its flows beside the work that was charged before, or `None` if they
    /// were booked at its first end.
    pub fn end(mut self, cost: &CostModel) -> Option<Flows> {
        if self.ended {
            return None;
        }
        self.done.listening = self.ordered.listening;
        self.done.saves = self.ordered.saves;
        self.done.period = self.ordered.period;
        Some(Flows {
            income: self.income,
            standing: self.charge(cost),
            period: self.ordered.period,
            boot: cost.boot,
        })
    }

    /// Returns the energy to charge for the work since the last call.
    pub fn charge(&mut self, cost: &CostModel) -> Spent {
        let before = cost.round(&self.charged);
        self.charged = self.done;
        cost.round(&self.done).saturating_sub(&before)
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::energy::{ComputeModel, Phase};
    use gleaner_shared::units::{HertzInt, NanoWatts};

    use super::*;

    fn cost() -> CostModel {
        CostModel {
            compute: ComputeModel {
                femtojoules_per_cycle: 1_499,
                per_epoch: PicoJoules(3),
            },
            receive: NanoWatts(1_700),
            sleep: NanoWatts(130),
            save: PicoJoules(17),
            clock: HertzInt(3_000_000),
            ..CostModel::default()
        }
    }

    fn order() -> Activity {
        Activity {
            epochs: 2,
            drawn: NanoWatts(2_000),
            airtime: Micros(11),
            saves: true,
            ..Activity::resting(Micros(7), Micros(1_000))
        }
    }

    #[test]
    fn however_often_it_is_charged_a_round_costs_the_same() {
        let (cost, order) = (cost(), order());
        let whole = Activity {
            train: Cycles(70),
            encode: Cycles(9),
            ..order
        };
        for every in [1, 3, 70] {
            let (mut round, mut spent) = (
                RoundEnergy::open(Micros(7), Micros(1_000), PicoJoules(5)),
                Spent::ZERO,
            );
            round.take(&order);
            for cycle in 1..=70 {
                round.count(|done| done.train.0 += 1);
                if cycle % 35 == 0 {
                    round.count(|done| done.epochs += 1);
                }
                if cycle % every == 0 {
                    spent = spent.saturating_add(&round.charge(&cost));
                }
            }
            round.count(|done| {
                done.encode = Cycles(9);
                (done.drawn, done.airtime) = (order.drawn, order.airtime);
            });
            let flows = round.end(&cost).expect("the first end");
            spent = spent.saturating_add(&flows.standing);
            assert_eq!((flows.income, flows.period), (PicoJoules(5), order.period));
            assert_eq!(spent, cost.round(&whole), "every {every}");
        }
    }

    #[test]
    fn a_reset_charges_the_sleep_once_and_shorter_by_the_work_before() {
        let cost = cost();
        let mut before = RoundEnergy::open(Micros(7), Micros(1_000), PicoJoules(5));
        before.take(&order());
        before.count(|done| done.train = Cycles(300));
        let first = before.charge(&cost);
        assert!(first.of(Phase::Receive) > PicoJoules::ZERO);
        assert_eq!(first.waiting(), PicoJoules::ZERO);

        let after = RoundEnergy::resume(&before.unfinished());
        let flows = after.end(&cost).expect("the first end");
        assert_eq!(flows.income, PicoJoules(5));
        assert_eq!(flows.standing.of(Phase::Receive), PicoJoules::ZERO);
        assert_eq!(flows.standing.compute(), PicoJoules::ZERO);
        assert_eq!(flows.standing.of(Phase::Idle), PicoJoules(17));
        // 1,000 us less 7 us of listening and 100 us of computing, at 0.13 uW.
        assert_eq!(flows.standing.of(Phase::Sleep), PicoJoules(116));
    }
}
