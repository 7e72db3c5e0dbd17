//! The decision of a solver and its proof.

use serde::Serialize;

use super::objective::{Evaluation, evaluate};
use super::{Instance, nobody_objective};

/// One participant, its uplink channel, both counted from 0, and its transmit power.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Upload {
    pub client: usize,
    pub channel: usize,
    pub power_w: f64,
}

/// The decision of a round: participants, channels, transmit powers and epochs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Local epochs tau; 0 exactly if there are no participants.
    pub epochs: u32,
    /// The participants in client order.
    pub uploads: Vec<Upload>,
}

impl Plan {
    /// Returns the plan without participants, which is always feasible.
    #[must_use]
    pub const fn nobody() -> Self {
        Self {
            epochs: 0,
            uploads: Vec::new(),
        }
    }

    /// Returns a plan with its participants in client order.
    #[must_use]
    pub fn new(epochs: u32, mut uploads: Vec<Upload>) -> Self {
        uploads.sort_unstable_by_key(|upload| upload.client);
        Self { epochs, uploads }
    }
}

/// A plan with its objective and a proven lower bound on the objective of all plans.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Participants, channels, powers and epochs.
    pub plan: Plan,
    /// The objective of the plan and its parts.
    pub evaluation: Evaluation,
    /// No plan has a lower J; `None` if the solver proves nothing.
    pub lower_bound: Option<f64>,
}

impl Solution {
    /// Evaluates a plan and adds its lower bound.
    #[must_use]
    pub fn new(instance: &Instance, plan: Plan, lower_bound: Option<f64>) -> Self {
        let evaluation = evaluate(instance, &plan);
        // Both are sums of the same terms in another order: the bound is never above the value.
        let lower_bound = lower_bound.map(|bound| bound.min(evaluation.total));
        Self {
            plan,
            evaluation,
            lower_bound,
        }
    }

    /// Evaluates a plan that is proven best.
    #[must_use]
    pub fn optimal(instance: &Instance, plan: Plan) -> Self {
        let evaluation = evaluate(instance, &plan);
        let lower_bound = Some(evaluation.total);
        Self {
            plan,
            evaluation,
            lower_bound,
        }
    }

    /// Returns the gap (J - LB) / (J(nobody) - LB): 0 if proven optimal, 1 if the plan is no
    /// better than doing nothing and that is not proven best.
    #[must_use]
    pub fn gap(&self, instance: &Instance) -> Option<f64> {
        self.lower_bound.map(|bound| {
            let excess = self.evaluation.total - bound;
            if excess <= 0.0 {
                0.0
            } else {
                excess / (nobody_objective(instance) - bound)
            }
        })
    }
}
