//! The six in one cell, and how their order compares with the paper's.

use super::paper::Paper;
use super::*;

/// The runs of the six in one cell.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    groups: Vec<(Scheduler, Group<'a>)>,
}

impl<'a> Field<'a> {
    /// Returns the runs of the six, CRE with given formulas; `None` unless all of them are complete.
    pub fn of(
        records: &'a Records,
        network: Network,
        formulas: Formulas,
        cell: Cell,
    ) -> Option<Self> {
        let group = |scheduler: Scheduler| {
            let setting = match scheduler {
                Scheduler::Cre => Setting::cre(network, formulas, cell),
                baseline => Setting::new(network, baseline, cell),
            };
            Some((scheduler, records.of(&setting)?))
        };
        let groups: Option<Vec<_>> = SIX.into_iter().map(group).collect();
        groups.map(|groups| Self { groups })
    }

    pub fn group(&self, scheduler: Scheduler) -> Option<&Group<'a>> {
        let found = self.groups.iter().find(|(it, _)| *it == scheduler);
        found.map(|(_, group)| group)
    }

    /// Returns the mean accuracy of one of the six in percent, or NaN.
    pub fn accuracy(&self, scheduler: Scheduler) -> f64 {
        self.group(scheduler)
            .map_or(f64::NAN, |group| group.accuracy().mean)
    }

    /// Returns the best of the five that CRE is compared with.
    pub fn best_other(&self) -> Scheduler {
        let others = self.groups.iter().map(|(it, _)| *it);
        others
            .filter(|it| it.is_baseline())
            .max_by(|&a, &b| self.accuracy(a).total_cmp(&self.accuracy(b)))
            .unwrap_or(Scheduler::Random)
    }

    /// Returns the lead of CRE over another in points: mean and standard error over the seeds, paired
    /// because both have the same clients, samples and channels.
    pub fn lead(&self, other: Scheduler) -> (f64, Option<f64>) {
        let tail = |it: Scheduler| {
            let percent = |group: &Group<'_>| group.values(|run| 100.0 * run.summary.tail_accuracy);
            self.group(it).map_or_else(Vec::new, percent)
        };
        let (cre, other) = (tail(Scheduler::Cre), tail(other));
        let differences: Vec<f64> = cre.iter().zip(&other).map(|(a, b)| a - b).collect();
        let all = Statistic::of(&differences);
        let error = (all.count > 1).then(|| all.deviation / (all.count as f64).sqrt());
        (all.mean, error)
    }

    pub fn order(&self, network: Network, cell: Cell) -> Order {
        Order::of(paper(), network, cell, |it| self.accuracy(it))
    }
}

/// How far the paper's order of the six holds in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub cre_first: bool,
    /// Pairs in the paper's order, of those that differ in the paper.
    pub held: usize,
    pub pairs: usize,
}

impl Order {
    /// Compares accuracies with the paper's: a pair holds if the one that is ahead in the paper is ahead
    /// here.
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
    fn the_papers_own_numbers_hold_every_pair_their_reverse_none_and_equals_none() {
        let printed = |it| paper().accuracy(Network::Mlp, Cell::MIDDLE, it).unwrap();
        let order = |accuracy: &dyn Fn(Scheduler) -> f64| {
            let order = Order::of(paper(), Network::Mlp, Cell::MIDDLE, accuracy);
            (order.cre_first, order.held, order.pairs)
        };
        assert_eq!(order(&printed), (true, 15, 15));
        assert_eq!(order(&|it| -printed(it)), (false, 0, 15));
        assert_eq!(order(&|_| 80.0), (false, 0, 15));
        assert_eq!(order(&|_| f64::NAN), (false, 0, 15));
    }
}
