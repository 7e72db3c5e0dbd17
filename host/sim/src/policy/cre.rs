//! `cre`: clients, channels, powers and epochs that minimise the objective of P2.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use super::{Decision, Order, Policy, PolicyError, Promise, View};
use crate::ClientId;
use gleaner_cre::optim::Solver;
use gleaner_cre::optim::individual::{self, Task};

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
}

impl Cre {
    /// Chooses how the problem is solved, and whose epochs are decided.
    #[must_use]
    pub const fn new(solver: Solver, epochs: CreEpochs) -> Self {
        Self { solver, epochs }
    }

    fn decide_together(&self, view: &View<'_>) -> Result<Decision, PolicyError> {
        // One stream per round, so that a resumed run draws what the uninterrupted one drew.
        let seed = view.seed ^ (u64::from(view.round) << 32);
        let solution = self.solver.solve(view.instance, seed)?;
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
