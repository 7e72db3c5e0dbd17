//! One round's round: what was ordered, what was done of it, and what of that is charged.
//!
//! Work is counted as it is done and charged from time to time; what is charged is always the
//! difference to the cost of all that was done, so a round costs to the picojoule what
//! [`CostModel::round`] says, however often it was charged.

use gleaner_shared::energy::{Activity, CostModel, Pace, Spent};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use serde::{Deserialize, Serialize};

/// A round whose waiting is not charged yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundEnergy {
    ordered: Ordered,
    done: Activity,
    charged: Activity,
}

/// When a round ends, by the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ordered {
    listening: Micros,
    window: Micros,
    period: Micros,
}

/// What a reset keeps of a round: enough to charge its waiting once, after the work that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unfinished {
    /// Length of the broadcast.
    pub listening: Micros,
    /// Whether hearing it was charged.
    pub heard: bool,
    /// Cycles charged.
    pub cycles: Cycles,
    /// How long the client stays awake.
    pub window: Micros,
    /// When the next round begins.
    pub period: Micros,
}

impl RoundEnergy {
    /// Opens a round in which nothing is done yet; without more it is one of hearing and sleeping.
    #[must_use]
    pub fn open(listening: Micros, period: Micros) -> Self {
        Self {
            ordered: Ordered {
                listening,
                window: listening,
                period,
            },
            done: Activity::default(),
            charged: Activity::default(),
        }
    }

    /// Goes on after a reset.
    #[must_use]
    pub fn resume(kept: &Unfinished) -> Self {
        let done = Activity {
            listening: match kept.heard {
                true => kept.listening,
                false => Micros::ZERO,
            },
            apply: kept.cycles,
            ..Activity::default()
        };
        Self {
            ordered: Ordered {
                listening: kept.listening,
                window: kept.window,
                period: kept.period,
            },
            done,
            charged: done,
        }
    }

    /// Returns what a reset is to keep.
    #[must_use]
    pub fn unfinished(&self) -> Unfinished {
        Unfinished {
            listening: self.ordered.listening,
            heard: self.charged.listening == self.ordered.listening,
            cycles: self.charged.cycles(),
            window: self.ordered.window,
            period: self.ordered.period,
        }
    }

    /// Returns what an order is expected to cost beyond what is charged.
    #[must_use]
    pub fn expected(&self, order: &Activity, pace: &Pace, cost: &CostModel) -> PicoJoules {
        let mut whole = order.at_pace(pace);
        whole.apply = whole.apply.saturating_add(self.charged.cycles());
        let charged = cost.round(&self.charged).total();
        cost.round(&whole).total().saturating_sub(charged)
    }

    /// Takes an order; its computing is counted as it is done.
    pub fn take(&mut self, order: &Activity) {
        self.ordered = Ordered {
            listening: order.listening,
            window: order.window,
            period: order.period,
        };
        self.done.listening = order.listening;
    }

    /// Counts work that was done; costs no more than an addition.
    pub fn count(&mut self, work: impl FnOnce(&mut Activity)) {
        work(&mut self.done);
    }

    /// Counts the waiting that is left of the round.
    pub fn wait(&mut self) {
        self.done.listening = self.ordered.listening;
        self.done.window = self.ordered.window;
        self.done.period = self.ordered.period;
    }

    /// Returns what is to be charged for what was done since it was last asked.
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
            idle: NanoWatts(900),
            sleep: NanoWatts(130),
            clock: HertzInt(3_000_000),
            ..CostModel::default()
        }
    }

    fn order() -> Activity {
        Activity {
            epochs: 2,
            power: NanoWatts(2_000),
            airtime: Micros(11),
            window: Micros(500),
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
            let (mut round, mut spent) = (RoundEnergy::open(Micros(7), Micros(1_000)), Spent::ZERO);
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
                (done.power, done.airtime) = (order.power, order.airtime);
            });
            round.wait();
            spent = spent.saturating_add(&round.charge(&cost));
            assert_eq!(spent, cost.round(&whole), "every {every}");
        }
    }

    #[test]
    fn a_reset_charges_the_waiting_once_and_shorter_by_the_work_before() {
        let cost = cost();
        let mut before = RoundEnergy::open(Micros(7), Micros(1_000));
        before.take(&order());
        before.count(|done| done.train = Cycles(300));
        let first = before.charge(&cost);
        assert!(first.of(Phase::Receive) > PicoJoules::ZERO);
        assert_eq!(first.waiting(), PicoJoules::ZERO);

        let mut after = RoundEnergy::resume(&before.unfinished());
        after.wait();
        let rest = after.charge(&cost);
        assert_eq!(rest.of(Phase::Receive), PicoJoules::ZERO);
        assert_eq!(rest.compute(), PicoJoules::ZERO);
        // 500 us less 7 us of listening and 100 us of computing, at 0.9 uW.
        assert_eq!(rest.of(Phase::Idle), PicoJoules(354));
        assert_eq!(rest.of(Phase::Sleep), PicoJoules(65));
    }
}
