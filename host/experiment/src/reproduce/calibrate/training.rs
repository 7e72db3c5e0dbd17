//! Second stage: B_1 and what else decides CRE's activity, by rounds that are planned with recorded
//! estimates, the solver and the energy queues of a run.

use gleaner_cre::optim::{Plan, Upload, evaluate};
use gleaner_sim::round::settings;
use gleaner_sim::scenario::Scenario;
use serde::Serialize;

use super::activity::Activity;
use super::planner::{self, Planner};
use super::printed;
use super::record::Estimates;
use crate::error::ExperimentError;

/// CRE over recorded estimates.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// Learning rate eta of the clients.
    pub rate: f64,
    pub b1: f64,
    /// Activity over all planned rounds.
    pub all: Activity,
    /// The rounds of the table of solutions.
    pub solutions: Activity,
    /// Rounds in which the objective is least without participants.
    pub nobody_best: u32,
    /// Energy that the participants of a round spend, on average.
    pub spent_j: f64,
    /// Mean queue after the last round.
    pub queue_j: f64,
}

/// Plans the rounds of a scenario with recorded estimates.
pub fn replay(
    scenario: &Scenario,
    estimates: &Estimates,
    rounds: u32,
) -> Result<Replay, ExperimentError> {
    let planner = Planner::new(scenario)?;
    let policy = settings::policy(scenario);
    let clients = printed::sizes().len();
    let mut replay = Replay {
        rate: scenario.learning.learning_rate,
        b1: scenario.cre.b1,
        all: Activity::new(clients),
        solutions: Activity::new(clients),
        nobody_best: 0,
        spent_j: 0.0,
        queue_j: 0.0,
    };
    let mut queue_j = vec![0.0; clients];
    for round in 1..=rounds {
        let mut instance = planner.instance(round)?;
        estimates.fill(round, scenario.cre.best_loss, &mut instance);
        instance.queue_j.clone_from(&queue_j);
        let decision = planner.decide(&*policy, round, &instance, &[])?;
        planner::note(&mut replay.all, &instance, &decision);
        if printed::SOLUTIONS.contains(&round) {
            planner::note(&mut replay.solutions, &instance, &decision);
        }
        let uploads = decision.orders.iter().map(|order| Upload {
            client: order.client.index(),
            channel: order.channel,
            power_w: order.power_w,
        });
        let epochs = decision.orders.first().map_or(0, |order| order.epochs);
        let found = evaluate(&instance, &Plan::new(epochs, uploads.collect()));
        let nobody = evaluate(&instance, &Plan::nobody());
        replay.nobody_best += u32::from(nobody.total <= found.total);
        for (client, &balance_j) in found.balance_j.iter().enumerate() {
            replay.spent_j += instance.income_j[client] - balance_j;
            queue_j[client] = (queue_j[client] - balance_j).max(0.0);
        }
    }
    replay.spent_j /= f64::from(rounds.max(1));
    replay.queue_j = queue_j.iter().sum::<f64>() / clients as f64;
    Ok(replay)
}
