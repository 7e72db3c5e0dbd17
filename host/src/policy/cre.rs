//! `cre`: clients, channels, powers and epochs that minimise the objective of P2.

use super::{Decision, Order, Policy, Promise, View};
use gleaner_cre::optim::{Solution, SolveError, Solver};

/// Scheduling by the round problem P2.
#[derive(Clone, Copy, Debug)]
pub struct Cre {
    solver: Solver,
}

impl Cre {
    /// Chooses how the problem is solved.
    #[must_use]
    pub const fn new(solver: Solver) -> Self {
        Self { solver }
    }

    fn solve(&self, view: &View<'_>) -> Result<Solution, SolveError> {
        // One stream per round, so that a resumed run draws what the uninterrupted one drew.
        let seed = view.seed ^ (u64::from(view.round) << 32);
        self.solver.solve(view.instance, seed)
    }
}

impl Policy for Cre {
    fn decide(&self, view: &View<'_>) -> Result<Decision, SolveError> {
        let solution = self.solve(view)?;
        let epochs = solution.plan.epochs;
        let orders = solution
            .plan
            .uploads
            .iter()
            .map(|upload| Order {
                client: upload.client,
                channel: upload.channel,
                power_w: upload.power_w,
                epochs,
            })
            .collect();
        Ok(Decision {
            orders,
            infeasible: Vec::new(),
            promise: Some(Promise {
                objective: solution.evaluation.total,
                bound: solution.evaluation.bound.total(),
            }),
        })
    }

    fn wants_estimates(&self) -> bool {
        true
    }
}
