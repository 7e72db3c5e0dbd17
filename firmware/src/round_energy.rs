//! The energy of one round: the order, the work done so far, and how much of it is charged.
//!
//! Work is counted as it is done and charged from time to time. Each charge is the difference to
//! the cost of all work done, so a round costs exactly [`CostModel::round`], however often it is
//! charged.

use gleaner_shared::energy::{Activity, CostModel, Pace, Spent};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use serde::{Deserialize, Serialize};

/// Counts the work of a round and returns what to charge for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundEnergy {
    ordered: Ordered,
    done: Activity,
    charged: Activity,
}

/// Times of a round, as ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ordered {
    listening: Micros,
    window: Micros,
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
    /// Time the client stays awake.
    pub window: Micros,
    /// Time from the start of the round to the next.
    pub period: Micros,
}

impl RoundEnergy {
    /// Opens a round without work: the client receives the broadcast and sleeps.
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
                window: saved.window,
                period: saved.period,
            },
            done,
            charged: done,
        }
    }

    /// Returns the part that survives a reset.
    pub fn unfinished(&self) -> Unfinished {
        Unfinished {
            listening: self.ordered.listening,
            heard: self.charged.listening == self.ordered.listening,
            cycles: self.charged.cycles(),
            window: self.ordered.window,
            period: self.ordered.period,
        }
    }

    /// Returns the expected cost of an order beyond what is already charged.
    pub fn expected(&self, order: &Activity, pace: &Pace, cost: &CostModel) -> PicoJoules {
        let mut whole = order.at_pace(pace);
        whole.apply = whole.apply.saturating_add(self.charged.cycles());
        let charged = cost.round(&self.charged).total();
        cost.round(&whole).total().saturating_sub(charged)
    }

    /// Accepts an order; its computing is counted as it is done.
    pub fn take(&mut self, order: &Activity) {
        self.ordered = Ordered {
            listening: order.listening,
            window: order.window,
            period: order.period,
        };
        self.done.listening = order.listening;
    }

    /// Counts work that was done.
    pub fn count(&mut self, work: impl FnOnce(&mut Activity)) {
        work(&mut self.done);
    }

    /// Counts the rest of the round as waiting.
    pub fn wait(&mut self) {
        self.done.listening = self.ordered.listening;
        self.done.window = self.ordered.window;
        self.done.period = self.ordered.period;
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
