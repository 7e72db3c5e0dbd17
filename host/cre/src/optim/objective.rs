//! The objective J of P2, its parts, and its derivative by tau.

use crate::bound::{BoundParts, Heterogeneity};

use super::{Instance, Plan, Upload};

/// The objective of a plan and its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// J = energy + penalty.
    pub total: f64,
    /// sum (q_i^2 - 2 Z_i q_i), in squared energy units.
    pub energy: f64,
    /// V times the bound.
    pub penalty: f64,
    /// The parts of the bound, without V.
    pub bound: BoundParts,
    /// Energy balance q_i of every client, in joules.
    pub balance_j: Vec<f64>,
    /// Time between the end of each upload and the deadline, in the order of the plan.
    pub spare_s: Vec<f64>,
}

/// Returns time and energy of an upload: Eqs. (9) and (10), and e_up of the client's radio.
#[must_use]
pub(crate) fn upload_cost(instance: &Instance, upload: &Upload) -> (f64, f64) {
    let time_s = instance.upload_s(upload.client, upload.channel, upload.power_w);
    let energy_j = instance.upload_j(upload.client, upload.power_w, time_s);
    (time_s, energy_j)
}

/// Implements Eq. (27) without its constant: J = sum (q_i^2 - 2 Z_i q_i) + V bound, with
/// q_i = E_add,i - a_i (tau E_i + e_up,i) of Eq. (13), less standing costs and those of an order
/// (see [`Costs`](crate::costs::Costs)), and energies in `energy_unit_j`.
///
/// The plan without participants has tau = 0 and the bound F_gap.
#[must_use]
pub fn evaluate(instance: &Instance, plan: &Plan) -> Evaluation {
    let tau = f64::from(plan.epochs);
    let mut balance_j = instance.net_incomes_j();
    let mut spare_s = Vec::with_capacity(plan.uploads.len());
    for upload in &plan.uploads {
        let (time_s, energy_j) = upload_cost(instance, upload);
        balance_j[upload.client] -= instance.work_j(upload.client, tau) + energy_j;
        spare_s.push(instance.slack_s(upload.client, tau) - time_s);
    }
    let energy: f64 = balance_j
        .iter()
        .zip(&instance.queue_j)
        .map(|(q_j, z_j)| drift_term(instance, *q_j, *z_j))
        .sum();
    let bound = if plan.uploads.is_empty() {
        BoundParts {
            drift: 0.0,
            linear: 0.0,
            convergence: instance.bound.gap,
        }
    } else {
        instance
            .bound
            .corollary1(&heterogeneity(instance, &plan.uploads), tau)
    };
    let penalty = instance.v * bound.total();
    Evaluation {
        total: energy + penalty,
        energy,
        penalty,
        bound,
        balance_j,
        spare_s,
    }
}

/// Returns J of the plan without participants, sum (q_i^2 - 2 Z_i q_i) + V F_gap with q_i the net incomes.
#[must_use]
pub fn nobody_objective(instance: &Instance) -> f64 {
    let energy: f64 = (0..instance.clients())
        .map(|client| (instance.net_income_j(client), instance.queue_j[client]))
        .map(|(q_j, z_j)| drift_term(instance, q_j, z_j))
        .sum();
    energy + instance.v * instance.bound.gap
}

/// Returns dJ/dtau at fixed powers: sum over participants of
/// 2 E_i (Z_i + tau E_i + order_i + e_up,i - net income_i), plus V times the slope of the bound.
#[must_use]
pub fn slope_by_epochs(instance: &Instance, uploads: &[Upload], tau: f64) -> f64 {
    let unit = instance.energy_unit_j;
    let energy: f64 = uploads
        .iter()
        .map(|upload| {
            let (_, energy_j) = upload_cost(instance, upload);
            let epoch_j = instance.epoch_j[upload.client];
            let (queue_j, income_j) = (
                instance.queue_j[upload.client],
                instance.net_income_j(upload.client),
            );
            let pull_j = queue_j + instance.work_j(upload.client, tau) + energy_j - income_j;
            2.0 * (epoch_j / unit) * (pull_j / unit)
        })
        .sum();
    energy + instance.v * instance.bound.slope(&heterogeneity(instance, uploads), tau)
}

/// Returns A_1 and A_2 of a plan's participants.
pub(crate) fn heterogeneity(instance: &Instance, uploads: &[Upload]) -> Heterogeneity {
    let clients: Vec<usize> = uploads.iter().map(|upload| upload.client).collect();
    Heterogeneity::of(&instance.samples, &instance.delta, &clients)
}

/// Returns q^2 - 2 Z q of one client, in squared energy units.
pub(crate) fn drift_term(instance: &Instance, q_j: f64, z_j: f64) -> f64 {
    let (q, z) = (q_j / instance.energy_unit_j, z_j / instance.energy_unit_j);
    q * (q - 2.0 * z)
}
