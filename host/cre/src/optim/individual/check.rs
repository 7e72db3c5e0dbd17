//! Independent verification of plans with individual epochs, as in [`crate::optim::check`].

use super::{IndividualPlan, Task};
use crate::bound::LossBound;
use crate::optim::check::{
    TOLERANCE, Violation, check_assignment, check_upload, magnitude, upload_j,
};
use crate::optim::{Instance, Upload};

/// Verifies a plan and its claimed objective.
///
/// # Errors
/// Returns the first violation.
pub fn check(instance: &Instance, plan: &IndividualPlan, claimed: f64) -> Result<(), Violation> {
    let most = plan.tasks.iter().map(|task| task.epochs).max().unwrap_or(0);
    let idle = plan.tasks.iter().any(|task| task.epochs == 0);
    if idle || plan.steps > most || plan.tasks.is_empty() != (plan.steps == 0) {
        let said = format!("T = {} for {} participants", plan.steps, plan.tasks.len());
        return Err(Violation::NotAChoice(said));
    }
    let uploads: Vec<Upload> = plan.tasks.iter().map(|task| task.upload).collect();
    check_assignment(instance, &uploads)?;
    for Task { upload, epochs } in &plan.tasks {
        check_upload(instance, upload, *epochs)?;
    }
    let actual = objective(instance, plan);
    match (actual - claimed).abs() <= TOLERANCE * (magnitude(instance) + actual.abs()) {
        true => Ok(()),
        false => Err(Violation::Objective { actual, claimed }),
    }
}

fn objective(instance: &Instance, plan: &IndividualPlan) -> f64 {
    let unit = instance.energy_unit_j;
    let mut sum = 0.0;
    for client in 0..instance.samples.len() {
        let costs = instance.costs[client];
        let mut q = instance.income_j[client] - costs.standing_j;
        if let Some(task) = plan.tasks.iter().find(|task| task.upload.client == client) {
            let trained = task.epochs as f64 * instance.epoch_j[client];
            q -= trained + costs.order_j + upload_j(instance, &task.upload);
        }
        sum += (q / unit).powi(2) - 2.0 * (instance.queue_j[client] / unit) * (q / unit);
    }
    sum + instance.v * bound(instance, plan)
}

fn bound(instance: &Instance, plan: &IndividualPlan) -> f64 {
    let LossBound {
        rho,
        beta,
        eta,
        b1,
        gap,
    } = instance.bound;
    if plan.tasks.is_empty() {
        return gap;
    }
    let all: f64 = instance.samples.iter().map(|&d| d as f64).sum();
    let samples = |task: &Task| instance.samples[task.upload.client] as f64;
    let inside: f64 = plan.tasks.iter().map(samples).sum();
    let steps = plan.steps as f64;
    let (mut apart, mut spread) = (0.0, 0.0);
    for task in &plan.tasks {
        let (share, delta) = (samples(task) / inside, instance.delta[task.upload.client]);
        let others: f64 = plan
            .tasks
            .iter()
            .filter(|other| other.upload.client != task.upload.client)
            .map(|other| samples(other) / inside * instance.delta[other.upload.client])
            .sum();
        let tau = task.epochs as f64;
        let c = (1.0 - share) * delta + others;
        let together = tau.min(steps);
        let growth = (eta * beta + 1.0).powf(together) - eta * beta * together - 1.0;
        apart += share * (c / beta * growth + eta * rho * (steps - tau).abs());
        spread += (share - samples(task) / all) * delta * delta;
    }
    for client in 0..instance.samples.len() {
        if plan.tasks.iter().all(|task| task.upload.client != client) {
            spread += instance.samples[client] as f64 / all * instance.delta[client].powi(2);
        }
    }
    let a2 = 2.0 * ((all - inside) / all) * spread;
    let a3 = (eta - eta * eta * beta) * (2.0 * beta * a2.max(0.0) * gap).sqrt()
        + eta * eta * beta * a2 / 2.0;
    let pace = (2.0 * eta - eta * eta * beta) / (b1 * b1);
    rho * apart + steps * a3 + 2.0 / (pace * steps + 2.0 / gap)
}
