//! `cre`: clients, channels, powers and epochs that minimise the objective of P2.

use super::{Decision, Policy, Promise, View};
use crate::aggregate::Averaging;
use crate::engine::Order;
use crate::optim::{Solution, SolveError, Solver};
use crate::scenario;

/// Scheduling by the round problem P2.
#[derive(Clone, Copy, Debug)]
pub struct Cre {
    solver: scenario::Solver,
}

impl Cre {
    /// Chooses how the problem is solved.
    #[must_use]
    pub const fn new(solver: scenario::Solver) -> Self {
        Self { solver }
    }

    fn solve(&self, view: &View<'_>) -> Result<Solution, SolveError> {
        // One stream per round, so that a resumed run draws what the uninterrupted one drew.
        let seed = view.seed ^ (u64::from(view.round) << 32);
        let solve = |solver: Solver| solver.solve(view.instance, seed);
        match self.solver {
            scenario::Solver::Auto => match solve(Solver::Exact) {
                Err(SolveError::Unaffordable(_)) => match solve(Solver::Large) {
                    Err(SolveError::Unaffordable(_)) => solve(Solver::Anneal),
                    other => other,
                },
                other => other,
            },
            scenario::Solver::Exact => solve(Solver::Exact),
            scenario::Solver::Large => solve(Solver::Large),
            scenario::Solver::Anneal => solve(Solver::Anneal),
            scenario::Solver::Paper => solve(Solver::Paper),
        }
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
            averaging: Averaging::Weighted,
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
