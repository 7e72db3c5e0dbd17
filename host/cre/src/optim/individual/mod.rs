//! P2 with individual epochs of each client: the plan, its value and its exact solution.
//!
//! docs/reference/solvers.md derives the bound. A step count T takes the place of the common tau; every
//! participant trains for epochs of its own, at least one of them for T or more. For a given set of
//! participants and T the objective is a sum over participants, so that the rest is an assignment
//! of channels.

mod check;
mod search;
#[cfg(test)]
mod tests;

pub use check::check;

use super::objective::{drift_term, heterogeneity, upload_cost};
use super::table::Table;
use super::{Instance, SolveError, Upload, exact, nobody_objective};
use crate::bound::{BoundParts, IndividualDrift, participation_weights};
use search::Search;

/// One participant with its individual epochs tau_i.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Task {
    pub upload: Upload,
    pub epochs: u32,
}

/// The decision of a round with individual epochs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndividualPlan {
    /// T: the steps the bound compares the round with, no more than the most epochs of a
    /// participant; 0 exactly if nobody takes part.
    pub steps: u32,
    /// The participants in client order.
    pub tasks: Vec<Task>,
}

/// The value of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndividualValue {
    /// J = energy + V bound.
    pub total: f64,
    /// sum (q_i^2 - 2 Z_i q_i), in squared energy units.
    pub energy: f64,
    /// The parts of the bound, without V.
    pub bound: BoundParts,
}

/// An optimal plan with its value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct IndividualSolution {
    pub plan: IndividualPlan,
    pub value: IndividualValue,
}

/// Work beyond this many table cells (about a second) is not enumerated.
const MAX_CELLS: f64 = 3e8;

/// Solves a round exactly: every set of clients, every T, and for each the cheapest channels and
/// epochs.
///
/// # Errors
/// Names a field that cannot be, or says that the round is too large to be enumerated.
pub fn solve(instance: &Instance) -> Result<IndividualSolution, SolveError> {
    instance.validate()?;
    let (clients, channels) = (instance.clients(), instance.channels);
    let affordable = |table: &Table| {
        let epochs = table.epochs() as f64;
        exact::enumeration_work(clients, channels) * epochs * epochs <= MAX_CELLS
    };
    let Some(table) = Table::new(instance).filter(affordable) else {
        return Err(SolveError::Unaffordable(format!(
            "U = {clients} clients on C = {channels} channels are too many for epochs of each \
             client's own; set cre.epochs = \"common\""
        )));
    };
    let plan = Search::new(instance, &table).run();
    let value = evaluate(instance, &plan);
    debug_assert_eq!(check(instance, &plan, value.total), Ok(()));
    Ok(IndividualSolution { plan, value })
}

/// Returns J of a plan: sum (q_i^2 - 2 Z_i q_i) + V bound with
/// q_i = net income_i - (tau_i E_i + order_i + e_up,i) of participants, and the bound of
/// [`IndividualDrift`] and Corollary 1 at T.
#[must_use]
pub fn evaluate(instance: &Instance, plan: &IndividualPlan) -> IndividualValue {
    if plan.tasks.is_empty() {
        let total = nobody_objective(instance);
        return IndividualValue {
            total,
            energy: total - instance.v * instance.bound.gap,
            bound: BoundParts {
                drift: 0.0,
                linear: 0.0,
                convergence: instance.bound.gap,
            },
        };
    }
    let mut balance_j = instance.net_incomes_j();
    for Task { upload, epochs } in &plan.tasks {
        let (_, energy_j) = upload_cost(instance, upload);
        balance_j[upload.client] -= instance.work_j(upload.client, f64::from(*epochs)) + energy_j;
    }
    let energy: f64 = (balance_j.iter().zip(&instance.queue_j))
        .map(|(q_j, z_j)| drift_term(instance, *q_j, *z_j))
        .sum();
    let uploads: Vec<Upload> = plan.tasks.iter().map(|task| task.upload).collect();
    let clients: Vec<usize> = uploads.iter().map(|upload| upload.client).collect();
    let drift = IndividualDrift::of(
        &instance.bound,
        &instance.samples,
        &instance.delta,
        &clients,
    );
    let part = participation_weights(&instance.samples, &clients);
    let steps = plan.steps;
    let apart: f64 = (plan.tasks.iter())
        .map(|task| {
            let client = task.upload.client;
            drift.of_client(part[client], instance.delta[client], task.epochs, steps)
        })
        .sum();
    let of = heterogeneity(instance, &uploads);
    let bound = BoundParts {
        drift: apart,
        ..instance.bound.corollary1(&of, f64::from(steps))
    };
    IndividualValue {
        total: energy + instance.v * bound.total(),
        energy,
        bound,
    }
}
