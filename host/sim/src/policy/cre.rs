//! `cre`: clients, channels, powers and epochs that minimise the objective of P2.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::{Decision, Order, Policy, PolicyError, Promise, View};
use crate::ClientId;
use gleaner_cre::optim::individual::{self, Task};
use gleaner_cre::optim::inner::{self, Pair};
use gleaner_cre::optim::{Instance, Plan, Solution, Solver, best_by_participants, evaluate};

/// Epochs that CRE decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CreEpochs {
    /// the same number for all participants, as in the paper
    Common,
    /// a number for each participant, by the bound of docs/reference/solvers.md; exact, for small rounds
    PerClient,
}

/// Scheduling by the round problem P2.
#[derive(Clone, Copy, Debug)]
pub struct Cre {
    solver: Solver,
    epochs: CreEpochs,
    require_participants: bool,
}

impl Cre {
    /// Chooses how the problem is solved, and whose epochs are decided.
    #[must_use]
    pub const fn new(solver: Solver, epochs: CreEpochs) -> Self {
        Self {
            solver,
            epochs,
            require_participants: false,
        }
    }

    /// Excludes the plan without participants, where a client can meet the deadline at all. Common
    /// epochs only; a round too large to try every assignment then gets its best single participant.
    #[must_use]
    pub const fn require_participants(mut self, required: bool) -> Self {
        self.require_participants = required;
        self
    }

    fn decide_together(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        // One stream per round, so that a resumed run draws what the uninterrupted one drew.
        let seed = view.seed ^ (u64::from(view.round) << 32);
        let mut solution = self.solver.solve(view.instance, seed)?;
        if self.require_participants && solution.plan.uploads.is_empty() {
            let plan = best_with_participants(view.instance);
            solution = Solution::new(view.instance, plan.unwrap_or(solution.plan), None);
        }
        let epochs = solution.plan.epochs;
        let uploads = solution.plan.uploads.into_iter();
        let promise = Promise {
            objective: solution.evaluation.total,
            bound: solution.evaluation.bound.total(),
        };
        Ok(decision(
            uploads.map(|upload| Task { upload, epochs }),
            promise,
        ))
    }
}

impl Policy for Cre {
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        if self.epochs == CreEpochs::Common {
            return self.decide_together(view);
        }
        let solution = individual::solve(view.instance)?;
        let promise = Promise {
            objective: solution.value.total,
            bound: solution.value.bound.total(),
        };
        Ok(decision(solution.plan.tasks.into_iter(), promise))
    }

    fn wants_estimates(&self) -> bool {
        true
    }
}

/// Returns the best plan with at least one participant, or `None` if nobody can meet the deadline.
fn best_with_participants(instance: &Instance) -> Option<Plan> {
    let plans = match best_by_participants(instance) {
        Some(sizes) => sizes.into_iter().flatten().collect(),
        None => best_alone(instance),
    };
    let best = plans.into_iter().min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map(|(_, plan)| plan)
}

/// Returns the best plan of every single client.
fn best_alone(instance: &Instance) -> Vec<(f64, Plan)> {
    let clients = 0..instance.clients();
    let pairs = clients.flat_map(|client| (0..instance.channels).map(move |it| (client, it)));
    let plan = |(client, channel)| {
        let plan = inner::solve(instance, &[Pair { client, channel }])?;
        Some((evaluate(instance, &plan).total, plan))
    };
    pairs.filter_map(plan).collect()
}

fn decision(tasks: impl Iterator<Item = Task>, promise: Promise) -> Decision {
    let order = |Task { upload, epochs }: Task| Order {
        client: ClientId::at(upload.client),
        channel: upload.channel,
        power_w: upload.power_w,
        epochs,
        bit_rate_bps: None,
    };
    Decision {
        orders: tasks.map(order).collect(),
        promise: Some(promise),
        ..Decision::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fixture::Round;

    #[test]
    fn the_plan_without_participants_is_excluded_where_it_is_best_and_another_exists() {
        let mut round = Round::first(4, 2);
        // Without a weight on learning every participant only costs.
        round.instance.queue_j.fill(1.0);
        let free = Cre::new(Solver::Exact, CreEpochs::Common);
        let bound = free.require_participants(true);
        assert!(round.orders(&free).is_empty());
        let chosen = round.decide(&bound);
        assert_eq!(chosen.orders.len(), 1);
        // The best single participant is the best of all plans here.
        let alone = best_alone(&round.instance)
            .into_iter()
            .map(|(value, _)| value);
        let least = alone.fold(f64::INFINITY, f64::min);
        assert_eq!(chosen.promise.unwrap().objective, least);
        round
            .instance
            .gain
            .iter_mut()
            .flatten()
            .for_each(|gain| *gain = 1e-30);
        assert!(round.orders(&bound).is_empty());
    }
}
