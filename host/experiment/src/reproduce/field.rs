//! The six in one cell, and how their order compares with the paper's.

use super::edition::{Edition, Network};
use super::paper::{Paper, paper};
use super::results::{Group, Results};
use super::scale::Cell;
use super::setting::{SIX, Setting};
use crate::compare::Statistic;
use gleaner_sim::policy::Scheduler;

/// The runs of the six in one cell.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    groups: Vec<(Scheduler, Group<'a>)>,
}

impl<'a> Field<'a> {
    /// Finds the six, CRE in an edition; `None` unless all of them are there.
    #[must_use]
    pub fn of(
        results: &'a Results,
        network: Network,
        edition: Edition,
        cell: Cell,
    ) -> Option<Self> {
        let group = |scheduler: Scheduler| {
            let setting = match scheduler {
                Scheduler::Cre => Setting::cre(network, edition, cell),
                baseline => Setting::new(network, baseline, cell),
            };
            Some((scheduler, results.of(&setting)?))
        };
        let groups: Option<Vec<_>> = SIX.into_iter().map(group).collect();
        groups.map(|groups| Self { groups })
    }

    /// Returns the runs of one of the six.
    #[must_use]
    pub fn group(&self, scheduler: Scheduler) -> Option<&Group<'a>> {
        let found = self.groups.iter().find(|(it, _)| *it == scheduler);
        found.map(|(_, group)| group)
    }

    /// Returns the mean accuracy of one of them, in percent; no number of any other.
    #[must_use]
    pub fn accuracy(&self, scheduler: Scheduler) -> f64 {
        self.group(scheduler)
            .map_or(f64::NAN, |group| group.accuracy().mean)
    }

    /// Returns the best of the five that CRE is compared with.
    #[must_use]
    pub fn best_other(&self) -> Scheduler {
        let others = self.groups.iter().map(|(it, _)| *it);
        others
            .filter(|it| it.is_baseline())
            .max_by(|&a, &b| self.accuracy(a).total_cmp(&self.accuracy(b)))
            .unwrap_or(Scheduler::Random)
    }

    /// Returns by how many points CRE is ahead of another, mean and standard error over the seeds,
    /// which pair: both have the same clients, samples and channels.
    #[must_use]
    pub fn lead(&self, other: Scheduler) -> (f64, Option<f64>) {
        let tail = |it: Scheduler| {
            let group = self.group(it);
            group.map_or_else(Vec::new, |group| {
                group.values(|made| 100.0 * made.summary.tail_accuracy)
            })
        };
        let (cre, other) = (tail(Scheduler::Cre), tail(other));
        let differences: Vec<f64> = cre.iter().zip(&other).map(|(a, b)| a - b).collect();
        let all = Statistic::of(&differences);
        let error = (all.count > 1).then(|| all.deviation / (all.count as f64).sqrt());
        (all.mean, error)
    }

    /// Compares the order of the six with the paper's.
    #[must_use]
    pub fn order(&self, network: Network, cell: Cell) -> Order {
        Order::of(paper(), network, cell, |it| self.accuracy(it))
    }
}

/// How far the paper's order of the six holds in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Whether CRE is first.
    pub cre_first: bool,
    /// Pairs whose order is the paper's.
    pub held: usize,
    /// Pairs whose order the paper tells.
    pub pairs: usize,
}

impl Order {
    /// Compares accuracies with the paper's. A pair holds if the one that is ahead in the paper is
    /// ahead here; equals hold nothing.
    #[must_use]
    pub fn of(
        paper: &Paper,
        network: Network,
        cell: Cell,
        accuracy: impl Fn(Scheduler) -> f64,
    ) -> Self {
        let printed = |it| paper.accuracy(network, cell, it).unwrap_or(f64::NAN);
        let (mut held, mut pairs) = (0, 0);
        for (n, &a) in SIX.iter().enumerate() {
            for &b in &SIX[..n] {
                let (theirs, ours) = (printed(a) - printed(b), accuracy(a) - accuracy(b));
                pairs += usize::from(theirs != 0.0);
                held += usize::from(theirs * ours > 0.0);
            }
        }
        let cre = accuracy(Scheduler::Cre);
        let mut others = SIX.iter().filter(|it| it.is_baseline());
        Self {
            cre_first: others.all(|&it| accuracy(it) < cre),
            held,
            pairs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_numbers_hold_every_pair_and_their_reverse_none() {
        let printed = |it| paper().accuracy(Network::Mlp, Cell::MIDDLE, it).unwrap();
        let order =
            |sign: f64| Order::of(paper(), Network::Mlp, Cell::MIDDLE, |it| sign * printed(it));
        assert_eq!(
            order(1.0),
            Order {
                cre_first: true,
                held: 15,
                pairs: 15
            }
        );
        assert_eq!(
            order(-1.0),
            Order {
                cre_first: false,
                held: 0,
                pairs: 15
            }
        );
    }

    #[test]
    fn equals_are_in_no_order_and_cre_is_not_first_among_them() {
        let flat = Order::of(paper(), Network::Mlp, Cell::MIDDLE, |_| 80.0);
        assert_eq!((flat.cre_first, flat.held), (false, 0));
        let nothing = Order::of(paper(), Network::Mlp, Cell::MIDDLE, |_| f64::NAN);
        assert_eq!((nothing.cre_first, nothing.held), (false, 0));
    }
}
